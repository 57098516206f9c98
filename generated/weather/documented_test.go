package weather_test

import (
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// clock is a time at which the documented data is a day old, and has not expired.
func clock() time.Time { return time.Date(2021, 3, 6, 0, 0, 0, 0, time.UTC) }

// noon is the time of the first documented event.
var noon = time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)

var (
	options = store.ReaderOptions{Now: clock}
	writing = store.WriterOptions{Now: clock}
)

// The rows of each pattern are those of the documentation of Bigtable.
func TestDocumented(t *testing.T) {
	bt := weathertest.New(t)
	const family = `family measurements: age() > 364d`

	columns := weather.BalloonNewColumnsEvent{Time: noon, Pressure: 94558, Temperature: 9.6, Humidity: 61, Altitude: 612}
	columns.Location, columns.BalloonID = "us-west2", 3698
	storetest.Write(t, weather.NewBalloonNewColumnsWriter(bt.Client, writing).WriteAll, []weather.BalloonNewColumnsEvent{columns})
	storetest.Stored(t, bt, weather.BalloonNewColumnsTableID, family,
		`row "us-west2#3698#altitude#week1" measurements 1614945600000000 "612"=""`,
		`row "us-west2#3698#humidity#week1" measurements 1614945600000000 "61"=""`,
		`row "us-west2#3698#pressure#week1" measurements 1614945600000000 "94558"=""`,
		`row "us-west2#3698#temperature#week1" measurements 1614945600000000 "9.6"=""`)

	cells := weather.BalloonNewCellsEvent{Time: noon, Pressure: 94558, Temperature: 9.5, Humidity: 65, Altitude: 601}
	cells.Location, cells.BalloonID = "asia-south2", 3698
	storetest.Write(t, weather.NewBalloonNewCellsWriter(bt.Client, writing).WriteAll, []weather.BalloonNewCellsEvent{cells})
	storetest.Stored(t, bt, weather.BalloonNewCellsTableID, family,
		`row "asia-south2#3698#week1" measurements 1614945600000000 "altitude"="601" "humidity"="65"`,
		`row "asia-south2#3698#week1" measurements 1614945600000000 "pressure"="94558" "temperature"="9.5"`)

	rows := weather.BalloonUnserializedEvent{Time: noon, Pressure: 94558, Temperature: 9.6, Humidity: 61, Altitude: 612}
	rows.Location, rows.BalloonID = "us-west2", 3698
	storetest.Write(t, weather.NewBalloonUnserializedWriter(bt.Client, writing).WriteAll, []weather.BalloonUnserializedEvent{rows})
	storetest.Stored(t, bt, weather.BalloonUnserializedTableID, family,
		`row "us-west2#3698#2021-03-05-1200" measurements 1614945600000000 "altitude"="612" "humidity"="61"`,
		`row "us-west2#3698#2021-03-05-1200" measurements 1614945600000000 "pressure"="94558" "temperature"="9.6"`)

	// Field 1 varint, 2 double, 3 varint, 4 varint, as in balloon_serialized.proto.
	blobs := weather.BalloonSerializedEvent{Time: noon, Pressure: 94558, Temperature: 9.6, Humidity: 61, Altitude: 612}
	blobs.Location, blobs.BalloonID = "us-west2", 3698
	storetest.Write(t, weather.NewBalloonSerializedWriter(bt.Client, writing).WriteAll, []weather.BalloonSerializedEvent{blobs})
	storetest.Stored(t, bt, weather.BalloonSerializedTableID, family,
		`row "us-west2#3698#2021-03-05-1200" measurements 1614945600000000 "measurements_blob"="\b\xde\xe2\x05\x11333333#@\x18= \xe4\x04"`)

	first := weather.BalloonCombinedEvent{Time: noon, Pressure: 94558, Temperature: 9.6, Humidity: 61, Altitude: 612}
	first.Location, first.BalloonID = "us-west2", 3698
	later := first
	later.Time = noon.AddDate(0, 0, 7)
	storetest.Write(t, weather.NewBalloonCombinedWriter(bt.Client, writing).WriteAll, []weather.BalloonCombinedEvent{first, later})
	storetest.Stored(t, bt, weather.BalloonCombinedTableID, family,
		`row "us-west2#3698#week0001" measurements 1614945600000000 "measurements_blob"="\b\xde\xe2\x05\x11333333#@\x18= \xe4\x04"`,
		`row "us-west2#3698#week0002" measurements 1615550400000000 "measurements_blob"="\b\xde\xe2\x05\x11333333#@\x18= \xe4\x04"`)
}
