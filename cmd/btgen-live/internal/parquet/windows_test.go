package parquet_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/parquet"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// TestWindowsInParquet checks the types of the columns of windows in Parquet, and their values. The
// series value start has the name of a column of windows.
func TestWindowsInParquet(t *testing.T) {
	l := dynamictest.Resolve(t, []byte(`btgen: v1
package: trips
name: Trip
series: {start: string}
fields:
  speed: {type: float32, optional: true}
  stops: {type: uint32, example: 3}
  took: {type: duration, optional: true}
  kind: {type: enum, of: [local, express]}
tables:
  trips:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [start, bucket]}
    bucket: 1d
    family: m
    ttl: {keep: forever}
`))
	s := dynamic.New(l)
	b := dynamictest.Start(t, s)
	at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	events := []dynamic.Event{
		{Series: []any{"a"}, Time: at, Values: []any{0.1, uint64(3), time.Hour, "local"}},
		{Series: []any{"a"}, Time: at.Add(time.Minute), Values: []any{nil, uint64(4294967295), nil, "express"}},
	}
	assert.Must(t, s.NewWriter(b.Client).WriteAll(t.Context(), events))
	o := format.WindowOptions{By: []int{0}, Zone: time.UTC, Micros: true}
	for i := range l.Fields {
		for which := dynamic.Count; which <= dynamic.Rate; which++ {
			if _, ok := which.Type(&l.Fields[i]); ok {
				o.Statistics = append(o.Statistics, format.Statistic{Field: i, Statistic: which})
			}
		}
	}
	rows := format.NewWindows(l, o)
	var out, csv bytes.Buffer
	w := parquet.NewWriter(&out, l, rows.Columns())
	for of, err := range s.NewReader(b.Client).Windows(t.Context(), dynamic.Series([]any{"a"}), time.Time{}, at.Add(time.Hour), window.Every(time.Hour)) {
		assert.Must(t, err)
		assert.Must(t, w.Write(rows.Row(&of)))
		csv.Write(format.NewCSV(rows.Columns()).Append(nil, rows.Row(&of)))
	}
	assert.Must(t, w.Close())
	file, err := pq.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	assert.Must(t, err)
	if got := file.Schema().String(); got != tripWindows || file.NumRows() != 1 {
		t.Errorf("%d rows of\n%s", file.NumRows(), got)
	}
	const want = `a,2026-03-05T12:00:00Z,2026-03-05T13:00:00Z,2,0,` +
		`1,0.1,0.1,2026-03-05T12:00:00Z,2026-03-05T12:00:00Z,0.1,0.1,0.10000000149011612,0.10000000149011612,0,,` +
		`2,3,4294967295,2026-03-05T12:00:00Z,2026-03-05T12:01:00Z,3,4294967295,4294967298,2147483649,4294967292,71582788.2,` +
		`1,1h0m0s,1h0m0s,2026-03-05T12:00:00Z,2026-03-05T12:00:00Z,1h0m0s,1h0m0s,1h0m0s,1h0m0s,0s,,` +
		`2,local,express,2026-03-05T12:00:00Z,2026-03-05T12:01:00Z`
	assert.Same(t, want, strings.TrimSpace(csv.String()))
}

const tripWindows = `message Trip {
	required binary start (STRING);
	required int64 window_start (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	required int64 end (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	required int64 events (INT(64,true));
	required int64 undecodable (INT(64,true));
	required int64 speed_count (INT(64,true));
	optional float speed_first;
	optional float speed_last;
	optional int64 speed_first_time (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional int64 speed_last_time (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional float speed_min;
	optional float speed_max;
	optional double speed_sum;
	optional double speed_mean;
	optional double speed_increase;
	optional double speed_rate;
	required int64 stops_count (INT(64,true));
	optional int32 stops_first (INT(32,false));
	optional int32 stops_last (INT(32,false));
	optional int64 stops_first_time (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional int64 stops_last_time (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional int32 stops_min (INT(32,false));
	optional int32 stops_max (INT(32,false));
	optional int64 stops_sum (INT(64,true));
	optional double stops_mean;
	optional double stops_increase;
	optional double stops_rate;
	required int64 took_count (INT(64,true));
	optional int64 took_first (INT(64,true));
	optional int64 took_last (INT(64,true));
	optional int64 took_first_time (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional int64 took_last_time (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional int64 took_min (INT(64,true));
	optional int64 took_max (INT(64,true));
	optional int64 took_sum (INT(64,true));
	optional int64 took_mean (INT(64,true));
	optional int64 took_increase (INT(64,true));
	optional double took_rate;
	required int64 kind_count (INT(64,true));
	optional binary kind_first (STRING);
	optional binary kind_last (STRING);
	optional int64 kind_first_time (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional int64 kind_last_time (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
}`
