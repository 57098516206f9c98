package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Place is a series, reading an event, and readings the columns of events.
type Place struct{ Name string }

type reading struct {
	Place
	Time  time.Time
	Value int64
	Note  *string
	Raw   []byte
}

type readings struct {
	Series []Place
	Time   []time.Time
	Value  []int64
	Note   []*string
	Raw    [][]byte
}

// noon is the time of all readings.
var noon = time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)

// of returns a reading with the given value.
func of(value int64) reading { return reading{Place: Place{"a"}, Time: noon, Value: value} }

// noted returns a reading with the given value and note.
func noted(value int64, note string) reading {
	e := of(value)
	e.Note = &note
	return e
}

// yielding returns a read that yields events and then err, unless it is nil.
func yielding(err error, events ...reading) iter.Seq2[reading, error] {
	return func(yield func(reading, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(reading{}, err)
		}
	}
}

// failures is a testing.TB that records failures.
type failures struct {
	testing.TB
	text strings.Builder
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) { fmt.Fprintf(&f.text, format+"\n", args...) }

// Messages describe the differences readably.
func TestSame(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		same func(t testing.TB, what string, got iter.Seq2[reading, error], want ...reading)
		got  iter.Seq2[reading, error]
		want []reading
		text string
	}{
		"the same":               {storetest.Same[reading], yielding(nil, of(1), noted(2, "x")), []reading{of(1), noted(2, "x")}, ""},
		"nothing":                {storetest.Same[reading], yielding(nil), nil, ""},
		"an error":               {storetest.Same[reading], yielding(broken, of(1)), []reading{of(1)}, "Read: broken\n"},
		"differing":              {storetest.Same[reading], yielding(nil, of(1), noted(2, "x")), []reading{of(1), of(3)}, "Read: got 2 events, want 2; event 1 differs:\n\tValue: got 2, want 3\n\tNote: got \"x\", want nil\n"},
		"too few":                {storetest.Same[reading], yielding(nil, of(1)), []reading{of(1), noted(2, "x")}, "Read: got 1 events, want 2; the next is missing:\n\t{Place: {Name: \"a\"}, Time: 2021-03-05T12:00:00Z, Value: 2, Note: \"x\", Raw: nil}\n"},
		"too many":               {storetest.Same[reading], yielding(nil, of(1)), nil, "Read: got 1 events, want 0; one more is\n\t{Place: {Name: \"a\"}, Time: 2021-03-05T12:00:00Z, Value: 1, Note: nil, Raw: nil}\n"},
		"order":                  {storetest.Same[reading], yielding(nil, of(2), of(1)), []reading{of(1), of(2)}, "Read: got 2 events, want 2; event 0 differs:\n\tValue: got 2, want 1\n"},
		"another order":          {storetest.SameInAnyOrder[reading], yielding(nil, of(2), of(1), of(1)), []reading{of(1), of(1), of(2)}, ""},
		"too few, in any order":  {storetest.SameInAnyOrder[reading], yielding(nil, of(1)), []reading{of(1), of(1)}, "Read: an event is missing:\n\t{Place: {Name: \"a\"}, Time: 2021-03-05T12:00:00Z, Value: 1, Note: nil, Raw: nil}\nremaining events: none\n"},
		"too many, in any order": {storetest.SameInAnyOrder[reading], yielding(nil, of(1), of(2)), []reading{of(2)}, "Read: got 1 events more than the 1 wanted:\n\t{Place: {Name: \"a\"}, Time: 2021-03-05T12:00:00Z, Value: 1, Note: nil, Raw: nil}\n"},
		"an error, in any order": {storetest.SameInAnyOrder[reading], yielding(broken), nil, "Read: broken\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &failures{TB: t}
			c.same(f, "Read", c.got, c.want...)
			assert.Same(t, c.text, f.text.String())
		})
	}
}

// Columns are converted to events, and a column that is too short is detected.
func TestColumns(t *testing.T) {
	want := []reading{of(1), noted(2, "x")}
	read := func(short bool, err error) iter.Seq2[reading, error] {
		return storetest.Columns[reading](func(c *readings) error {
			for _, e := range want {
				c.Series, c.Time, c.Value = append(c.Series, e.Place), append(c.Time, e.Time), append(c.Value, e.Value)
				c.Note, c.Raw = append(c.Note, e.Note), append(c.Raw, e.Raw)
			}
			if short {
				c.Value = c.Value[:1]
			}
			return err
		})
	}
	storetest.Same(t, "ReadColumns", read(false, nil), want...)
	for text, got := range map[string]iter.Seq2[reading, error]{
		"broken": read(false, errors.New("broken")),
		"the columns have 2 series, and Value 1 values": read(true, nil),
	} {
		f := &failures{TB: t}
		storetest.Same(f, "ReadColumns", got, want...)
		assert.Same(t, "ReadColumns: "+text+"\n", f.text.String())
	}
}

func TestOne(t *testing.T) {
	storetest.Same(t, "Latest", storetest.One(of(1), nil), of(1))
	f := &failures{TB: t}
	storetest.Same(f, "Latest", storetest.One(reading{}, errors.New("broken")), of(1))
	assert.Same(t, "Latest: broken\n", f.text.String())
}

// shelf is a generated reader of some readings. It is faulty if broken changes what a read returns.
type shelf struct {
	stored []reading
	broken func(events []reading) []reading
}

// options are the options of its reads.
type options struct{ newest bool }

func (s *shelf) Read(_ context.Context, series Place, from, to time.Time, opts ...options) iter.Seq2[reading, error] {
	var out []reading
	for _, e := range s.stored {
		if e.Place == series && !e.Time.Before(from) && e.Time.Before(to) {
			out = append(out, e)
		}
	}
	if opts != nil && opts[0].newest {
		slices.Reverse(out)
		out = out[:min(1, len(out))]
	}
	return yielding(nil, s.broken(out)...)
}

func (s *shelf) ReadColumns(ctx context.Context, series Place, from, to time.Time, columns *readings, _ ...options) error {
	for e := range s.Read(ctx, series, from, to) {
		columns.Series, columns.Time = append(columns.Series, e.Place), append(columns.Time, e.Time)
		columns.Value, columns.Note, columns.Raw = append(columns.Value, e.Value), append(columns.Note, e.Note), append(columns.Raw, e.Raw)
	}
	return nil
}

func (s *shelf) Latest(ctx context.Context, series Place) (latest reading, err error) {
	for e := range s.Read(ctx, series, time.Time{}, noon.Add(time.Hour)) {
		latest = e
	}
	return latest, nil
}

// TestReads reads with a reader that is right, and with some that are not.
func TestReads(t *testing.T) {
	events := []reading{{Place: Place{"a"}, Time: noon, Value: 1}, {Place: Place{"a"}, Time: noon.Add(1), Value: 2}, {Place: Place{"a"}, Time: noon.Add(2), Value: 3}}
	for name, c := range map[string]struct {
		broken func(events []reading) []reading
		text   []string
	}{
		"right": {func(events []reading) []reading { return events }, nil},
		"nothing": {func([]reading) []reading { return nil },
			[]string{"Read:", "Read of a range:", "Read, newest first:", "ReadColumns:", "Latest:"}},
		"another order": {func(events []reading) []reading { slices.Reverse(events); return events },
			[]string{"Read:", "Read of a range:", "ReadColumns:", "Latest:"}},
	} {
		got := &failures{TB: t}
		storetest.Reads(got, &shelf{events, c.broken}, Place{"a"}, noon.Add(3), events, options{newest: true})
		var failed []string
		for line := range strings.Lines(got.text.String()) {
			if name, _, found := strings.Cut(line, ": got "); found && !strings.HasPrefix(line, "\t") {
				failed = append(failed, name+":")
			}
		}
		if !slices.Equal(failed, c.text) {
			t.Errorf("%s: %q, want %q; all: %s", name, failed, c.text, got.text.String())
		}
	}
}
