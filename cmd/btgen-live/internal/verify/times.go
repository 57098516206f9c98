package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// By how much the timestamp of a cell and the time of its event may differ.
const (
	tolerance = 24 * time.Hour       // clocks differ, and events are written later
	ahead     = 366 * 24 * time.Hour // forecasts and bookings are written before their time
)

// checkTime compares the timestamp of a cell with the time of its event in the row key or the
// column name, which should be the same, or that of the write. A time that was read in another
// unit or format is far away from it. It reports whether there is anything to compare.
//
// A cell may be written long after its event, for example by an import, and some time before it,
// for example a forecast, except where an age counts from the event. In buckets whose cells contain the
// times of events, timestamps are checked by [Cell.doubt].
func (c *Cell) checkTime(family string, item bigtable.ReadItem) (compared bool, err error) {
	t := c.Table
	i := slices.IndexFunc(t.Families, func(f layout.Family) bool { return f.Name == family })
	if i < 0 || t.Pattern.EventTimed() {
		return false, nil
	}
	life, written, at, early := t.Families[i].Life, codec.FromMicros(int64(item.Timestamp)), c.At, ahead
	if life.Dated() {
		early = tolerance
	}
	named := t.Pattern.Naming() == codec.NamedByTime
	if named {
		at = c.Time
	}
	event, cell := at.Format(time.RFC3339), written.Format(time.RFC3339)
	switch {
	case life.Timestamp != codec.TimestampEvent && life.Timestamp != codec.TimestampWrite, named && at.IsZero():
		return false, nil // it says when the event expires, or the time cannot be read
	case nearEpoch(at) && !written.Before(plausibleFrom):
		return true, fmt.Errorf("the time of the event, %s, is decades before the timestamp of the cell, %s", event, cell)
	case !life.Dated() && written.Before(plausibleFrom):
		return false, nil // a program that sets no times, such as 0
	case written.Before(at.Add(-early)):
		return true, fmt.Errorf("the timestamp of the cell, %s, precedes the time of the event, %s", cell, event)
	case life.Dated() && written.After(at.Add(tolerance)):
		return true, fmt.Errorf("the timestamp of the cell, %s, is not the time of the event, %s", cell, event)
	}
	return true, nil
}

// nearEpoch reports whether a time is where those of this century are if they are read in a unit that
// is a thousand times too small, such as seconds as milliseconds.
func nearEpoch(t time.Time) bool {
	return !t.Before(time.Unix(0, 0)) && t.Before(time.Date(1972, 1, 1, 0, 0, 0, 0, time.UTC))
}

// plausibleFrom is the time before which timestamps are no times.
var plausibleFrom = time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC)

// guessTime guesses why a timestamp disagrees with the time of its event.
func guessTime(row string) string {
	for _, segment := range strings.FieldsFunc(row, func(r rune) bool { return r < '0' || r > '9' }) {
		for _, text := range []string{"2006010215", "200601021504", "20060102150405"} {
			if at, err := time.Parse(text, segment); err == nil && at.Year() > 1995 && at.Year() < 2100 {
				return fmt.Sprintf("the time in the key has the form %s, as %s", text, segment)
			}
		}
	}
	return "the time in the key has another unit or format, is local, or other programs wrote the cells at other times"
}
