package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
)

// guessKey guesses why a row key cannot be read.
func guessKey(s Schema, row string, err error) string {
	t := s.Table
	if other := otherOrder(s, row); other != "" {
		return "the segments were in a different order: " + other
	}
	if t.Delimiter != "" {
		if guess := guessSegments(t, row); guess != "" {
			return guess
		}
	}
	field := ""
	if refused, ok := errors.AsType[*codec.FieldError](err); ok {
		field = refused.Field
	}
	switch field {
	case "salt":
		return "the salt had a different number of buckets, was computed from other values, or did not exist"
	case "bucket":
		return guessLabel(t, row)
	case "time":
		return "the time had a different format"
	}
	for _, f := range s.Layout.Series {
		if f.Name == field {
			return fmt.Sprintf("series value %s had a different type or encoding, or different segments before it", field)
		}
	}
	return "the key had different segments, or another program wrote the row"
}

// guessSegments guesses from the number of segments.
func guessSegments(t *layout.Table, row string) string {
	have, want := strings.Count(row, t.Delimiter)+1, len(t.Segments)
	for _, g := range t.Segments {
		if g.Form.Escape || g.Form.Encoding >= codec.KeyRaw || g.Kind == codec.ConstSegment {
			return "" // may contain the delimiter
		}
	}
	switch {
	case have == want:
		return ""
	case have == 1:
		for _, other := range []string{"#", "/", ":", "|", "@", "."} {
			if other != t.Delimiter && strings.Count(row, other)+1 == want {
				return fmt.Sprintf("the delimiter was %q", other)
			}
		}
	case have == want+1:
		return fmt.Sprintf("the key has %d segments, not %d: a salt or another segment was removed from the schema", have, want)
	case have == want-1:
		return fmt.Sprintf("the key has %d segments, not %d: a salt or another segment was added to the schema", have, want)
	}
	return fmt.Sprintf("the key has %d segments, not %d: the delimiter or the segments changed", have, want)
}

// labels are the layouts of times in usual labels of buckets.
var labels = []string{"2006-01-02", "20060102", "2006-01-02T15", "2006010215", "2006-01-02T15:04", "200601021504", "2006-01", "200601", "2006"}

// guessLabel guesses from the labels that buckets of other widths have.
func guessLabel(t *layout.Table, row string) string {
	segments := strings.Split(row, t.Delimiter)
	for i, g := range t.Segments {
		if g.Kind != codec.BucketSegment || t.Delimiter == "" || len(segments) != len(t.Segments) {
			continue
		}
		if t.Bucket.Label.Kind == codec.TimeLabel && t.Bucket.Label.Format.Kind == codec.LayoutTime {
			if _, err := time.Parse(t.Bucket.Label.Format.Layout, segments[i]); err == nil {
				return "the bucket was narrower or had a different origin, with the same label"
			}
		}
		for _, text := range labels {
			if _, err := time.Parse(text, segments[i]); err == nil {
				return fmt.Sprintf("the bucket had a different width or label: %q has the form %s", segments[i], text)
			}
		}
	}
	return "the bucket had a different width, origin or label"
}

// maxOrdered is the most segments whose orders are tried: 720 orders.
const maxOrdered = 6

// otherOrder returns the order of segments in which a key can be read; empty if there is none.
func otherOrder(s Schema, row string) string {
	if len(s.Table.Segments) > maxOrdered {
		return ""
	}
	key, found := s.Table.Key, ""
	series := value.Pointers(s.Layout, nil, nil)
	permute(append([]codec.Segment(nil), s.Table.Segments...), 0, func(order []codec.Segment) bool {
		key.Segments = order
		if err := key.Verify(row, &codec.KeyValues{Series: series}); err != nil {
			return true
		}
		var names []string
		for _, g := range order {
			names = append(names, g.Title())
		}
		found = strings.Join(names, ", ")
		return false
	})
	return found
}

// permute calls try with all orders, until it returns false.
func permute(segments []codec.Segment, fixed int, try func([]codec.Segment) bool) bool {
	if fixed == len(segments) {
		return try(segments)
	}
	for i := fixed; i < len(segments); i++ {
		segments[fixed], segments[i] = segments[i], segments[fixed]
		more := permute(segments, fixed+1, try)
		segments[fixed], segments[i] = segments[i], segments[fixed]
		if !more {
			return false
		}
	}
	return true
}

// guessColumn guesses why the schema has no such column.
func (v *verifier) guessColumn(family, qualifier string) string {
	for _, s := range v.schemas {
		for _, f := range s.Table.Families {
			if f.Name == family {
				return "a field was removed, or its column renamed, or another program writes it"
			}
		}
	}
	if rollup.Known(qualifier) {
		return "the family is that of a rollup which the schema lacks: programs without it change events without marks, " +
			"and its windows are wrong until btgen-live rollup with --all"
	}
	return "the family was renamed or removed, or another program writes it"
}

// guess guesses why a value cannot be read.
func (c *Cell) guess(err error) string {
	switch {
	case errors.Is(err, errStray):
		return "the bucket was wider with the same label, or a program wrote the cell with a server timestamp"
	case errors.Is(err, errImplausible):
		return "the column was an integer: its bits are not those of a plausible float"
	case c.Column.Field == layout.WholeEvent:
		return guessBlob(c.Table.Blob, c.Datum, err)
	case c.Column.Field < 0:
		return blobChanged
	}
	return guessCoding(&c.Layout.Fields[c.Column.Field], c.Column.Values, c.Datum, err)
}

// blobChanged is the guess about an event that none of the known edits explains.
const blobChanged = "the types or numbers of fields changed"

// guessBlob guesses why a serialized event cannot be read.
func guessBlob(format layout.Format, datum []byte, err error) string {
	switch {
	case format == layout.Protobuf && strings.HasPrefix(string(datum), "{"):
		return "events were stored as JSON: the format of the blob changed"
	case format == layout.JSONText && !json.Valid(datum):
		return "events were stored as protobuf, or by another program: the format of the blob changed"
	case errors.Is(err, codec.ErrMissing):
		return "a required field was added, or its number or name changed, without a default"
	case errors.Is(err, codec.ErrEnum):
		return "a value of an enum was removed"
	}
	return blobChanged
}

// guessCoding guesses which coding a value has that its field cannot read: one of the same type, or else one of another type.
func guessCoding(f *layout.Field, as codec.Values, datum []byte, err error) string {
	reads := func(f *layout.Field, as codec.Values) bool {
		_, err := value.Coding(f, as).Decode(datum)
		return err == nil
	}
	for other := codec.BinaryValues; other <= codec.LittleEndianValues; other++ {
		if other != as && reads(f, other) {
			return fmt.Sprintf("values were stored as %s: `values` changed", other)
		}
	}
	switch {
	case errors.Is(err, codec.ErrEnum):
		return "a value of the enum was removed or renamed"
	case len(datum) == 8 && as.Text():
		return "the value has 8 bytes, like a binary number: `values` or the type changed"
	}
	for _, other := range schema.Types() {
		switch of := (&layout.Field{Type: other}); {
		case other == f.Type || !other.Traits().Usual:
		case reads(of, codec.TextValues):
			return fmt.Sprintf("the type was different: the value is the text of a %s", other)
		case reads(of, codec.BinaryValues):
			return fmt.Sprintf("the type was different: the value is as long as a binary %s", other)
		}
	}
	return "the type of the field changed, or another program wrote the value"
}

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
