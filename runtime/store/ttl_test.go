package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// aged returns a family with a maximum age.
func aged(name string, age time.Duration) Family {
	rule := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: age}
	return Family{Name: name, GC: rule, Life: codec.Lifetime{Retention: rule.Retention(0)}}
}

// oldAndMany returns a family that loses a cell once it is older than an hour and its
// column has the given number of newer ones.
func oldAndMany(name string, versions int) Family {
	rule := codec.GCRule{Kind: codec.GCIntersection, Rules: []codec.GCRule{
		{Kind: codec.GCMaxAge, MaxAge: time.Hour}, {Kind: codec.GCMaxVersions, MaxVersions: versions},
	}}
	return Family{Name: name, GC: rule, Life: codec.Lifetime{Retention: rule.Retention(0)}}
}

// singles returns days with one row per sample.
func singles() *Mapping[sample] {
	l := days()
	key := codec.TimeFormat{Kind: codec.UnixMillis}
	l.Table.ID, l.Pattern = "singles", codec.SingleUnserialized
	l.Key = codec.Key{Delimiter: "#", Segments: []codec.Segment{{Name: "series"}, {Kind: codec.TimeSegment}}, Time: key}
	l.Put = func(e *sample, c *Cells) {
		w := codec.NewKeyWriter(nil, "#")
		w.String("series", codec.KeyForm{}, e.Series)
		w.Time(key, e.Time)
		c.Row(w.Key())
		c.Set(0, codec.AppendBinaryUint64(nil, e.Value))
		if e.Note != nil {
			c.Set(1, e.Note)
		}
	}
	return l
}

// metrics returns days with one row per column, whose qualifiers are the data.
func metrics() *Mapping[sample] {
	l := days()
	l.Table.ID, l.Pattern = "metrics", codec.BucketNewColumns
	l.Key.Segments = []codec.Segment{{Name: "series"}, {Kind: codec.MetricSegment}, {Kind: codec.BucketSegment}}
	prefix := func(e *sample, column int) codec.KeyWriter {
		w := codec.NewKeyWriter(nil, "#")
		w.String("series", codec.KeyForm{}, e.Series)
		w.Const(l.Columns[column].Name)
		return w
	}
	l.Put = func(e *sample, c *Cells) {
		put := func(column int, datum []byte) {
			w := prefix(e, column)
			w.Bucket(l.Key.Bucket, e.Time)
			c.Row(w.Key())
			c.Set(column, datum)
		}
		put(0, strconv.AppendUint(nil, e.Value, 10))
		if e.Note != nil {
			put(1, e.Note)
		}
	}
	l.Set = func(e *sample, column int, datum []byte) (err error) {
		if column == 0 {
			e.Value, err = strconv.ParseUint(string(datum), 10, 64)
			return err
		}
		e.Note = bytes.Clone(datum)
		return nil
	}
	return l
}

// mortal is a sample that specifies how long it lives.
type mortal struct {
	sample
	Class     int
	ExpiresAt time.Time
}

// mortals returns a mapping of samples that specify how long they live, by class with
// one family each, or by expiry.
func mortals(l *Mapping[sample]) *Mapping[mortal] {
	classes := l.Table.hasClasses()
	return &Mapping[mortal]{
		Table: l.Table, Pattern: l.Pattern, Key: l.Key, Columns: l.Columns, Precision: l.Precision,
		Time:    func(e *mortal) *time.Time { return &e.Time },
		Check:   func(e *mortal) error { return l.Check(&e.sample) },
		Put:     func(e *mortal, c *Cells) { l.Put(&e.sample, c) },
		series:  seriesValues[mortal]{of: func(e *mortal, to []any) []any { return append(to, &e.Series) }},
		Set:     func(e *mortal, column int, datum []byte) error { return l.Set(&e.sample, column, datum) },
		Missing: func(e *mortal, column int) error { return l.Missing(&e.sample, column) },
		TTLFields: func(e *mortal) TTLFields {
			if classes {
				return TTLFields{Class: &e.Class}
			}
			return TTLFields{ExpiresAt: &e.ExpiresAt}
		},
	}
}

// classFamilies returns the families of class 1, which keeps an hour, and class 2,
// which keeps a day.
func classFamilies() []Family {
	short, long := aged("short", time.Hour), aged("long", 24*time.Hour)
	short.Class, long.Class = 1, 2
	return []Family{short, long}
}

// serve starts a server with the table of a mapping.
func serve[E any](t *testing.T, l *Mapping[E]) *storetest.Bigtable {
	t.Helper()
	return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return SetUp(ctx, b, "", []Table{l.Table})
	})
}

// clockAt returns options with a clock that always shows n seconds into day0.
func clockAt(n int) ReaderOptions { return ReaderOptions{Now: func() time.Time { return at(n) }} }

// writeAt is clockAt for writers.
func writeAt(n int) WriterOptions { return WriterOptions{Now: clockAt(n).Now} }

// values formats the results of a read: values with notes, and undecodable events.
func values[E any](t *testing.T, r *Reader[E], base E, from, to time.Time, of func(E) string) []string {
	t.Helper()
	var out []string
	for e, err := range r.Read(t.Context(), SeriesOf(base), from, to) {
		var decode *DecodeError
		switch {
		case err == nil:
			out = append(out, of(e))
		case errors.As(err, &decode):
			out = append(out, "error "+decode.Column)
		default:
			t.Fatal(err)
		}
	}
	return out
}

func sampleText(e sample) string { return fmt.Sprintf("%d%s", e.Value, e.Note) }

func mortalText(e mortal) string { return fmt.Sprintf("%d%s class %d", e.Value, e.Note, e.Class) }

// columnsOf returns the number of cells in each column of a table, by family and
// qualifier.
func columnsOf(t *testing.T, client *bigtable.Client, table string) map[string]int {
	t.Helper()
	out := map[string]int{}
	must(t, client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, items := range row {
			for _, item := range items {
				out[item.Column]++
			}
		}
		return true
	}))
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // much faster, for large values
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A rule keeps young cells, and the newest two at any age. During the loop all exceed
// the age, so their rank decides. It counts newer cells, not those that are still to be
// yielded.
func TestRankDecidesWhenAgePassesDuringRead(t *testing.T) {
	l := days()
	l.Table.Families = []Family{oldAndMany("f.1", 2)}
	bt := newBigtable(t, l)
	var samples []sample
	for i := range 6 {
		samples = append(samples, sample{Series: "s", Time: at(i * 600), Value: uint64(i)})
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(3000)).WriteAll(t.Context(), samples))
	for after, want := range map[string][]string{ // by the value after which an age passes
		"":  {"0", "1", "2", "3", "4", "5"},
		"0": {"0", "4", "5"},
		"2": {"0", "1", "2", "4", "5"},
		"4": {"0", "1", "2", "3", "4", "5"},
	} {
		now := at(3000)
		r := NewReader(bt.Client, l, ReaderOptions{Now: func() time.Time { return now }})
		same(t, want, values(t, r, sample{Series: "s"}, day0, at(86400), func(e sample) string {
			if s := sampleText(e); s == after {
				now = at(90000)
				return s
			}
			return sampleText(e)
		}))
	}
}

// The rank also counts cells after the range: the end of a range does not make a cell
// the newest.
func TestRankCountsBeyondTheRange(t *testing.T) {
	l := days()
	l.Table.Families = []Family{oldAndMany("f.1", 2)}
	bt := newBigtable(t, l)
	var samples []sample
	for i := range 6 {
		samples = append(samples, sample{Series: "s", Time: at(i * 600), Value: uint64(i)})
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(3000)).WriteAll(t.Context(), samples))
	for to, want := range map[int][]string{600: {"0"}, 1800: {"0"}, 2400: {"0"}, 3000: {"0", "4"}, 3001: {"0", "4", "5"}} {
		now := at(3000)
		r := NewReader(bt.Client, l, ReaderOptions{Now: func() time.Time { return now }})
		same(t, want, values(t, r, sample{Series: "s"}, day0, at(to), func(e sample) string {
			now = at(90000)
			return sampleText(e)
		}))
	}
}

// A column is read from its own family only. Another family may contain an older
// version, from before the column was moved.
func TestColumnsOfOtherFamiliesAreNotRead(t *testing.T) {
	for _, l := range []*Mapping[sample]{days(), singles(), metrics()} {
		l.Table.Families = []Family{{Name: "now"}, {Name: "before"}}
		l.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 1}}
		bt := newBigtable(t, l)
		event := sample{Series: "s", Time: at(0), Value: 1, Note: []byte("n")}
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}).Write(t.Context(), event))
		moved := *l
		moved.Columns = []Column{{Name: "v.1", Family: 1}, {Name: "note"}}
		must(t, NewWriter(bt.Client, []*Mapping[sample]{&moved}).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 2, Note: []byte("m")}))
		r := NewReader(bt.Client, l)
		got, err := collect(t.Context(), r, "s", day0, at(1))
		must(t, err)
		same(t, []sample{event}, got)
		latest, err := r.Latest(t.Context(), sample{Series: "s"})
		must(t, err)
		same(t, event, latest)
	}
}

// Each row has its own ranks: each bucket keeps its newest cells.
func TestRankCountsInEachBucket(t *testing.T) {
	l := days()
	l.Table.Families = []Family{oldAndMany("f.1", 1)}
	bt := newBigtable(t, l)
	var samples []sample
	for i := range 6 {
		samples = append(samples, sample{Series: "s", Time: at(i * 43200), Value: uint64(i)}) // two a day
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(0)).WriteAll(t.Context(), samples))
	now := at(0)
	r := NewReader(bt.Client, l, ReaderOptions{Now: func() time.Time { return now }})
	got := values(t, r, sample{Series: "s"}, day0, at(10*86400), func(e sample) string {
		now = at(10 * 86400)
		return sampleText(e)
	})
	same(t, []string{"0", "1", "3", "5"}, got)
}

// filterOfDay0 returns the filter of a read of all of day0, or of its newest event.
func filterOfDay0(l *Mapping[sample], now time.Time, newest int) string {
	shape := l.untyped().shape()
	plan := shape.Plan(&scan.Read{Spans: make([]codec.Span, 1), From: day0, To: at(86400), NewestFirst: newest > 0, LatestOnly: newest > 0}, now)
	if len(plan.Parts) == 0 {
		return "none"
	}
	return fmt.Sprint(new(filters).of(plan.Parts[0].Filter))
}

// Families with equal windows share a branch, and their names are quoted. A family
// whose cells have all expired is left out, and the limit to the newest cells comes
// last.
func TestFilterOfSeveralFamilies(t *testing.T) {
	ms := func(n int) string { return fmt.Sprint(at(n).UnixMicro()) }
	whole := "timestamp_range(" + ms(0) + "," + ms(86400) + ")"
	hour := "timestamp_range(" + ms(82800) + "," + ms(86400) + ")"
	old := "(col(*,2) | timestamp_range(" + ms(0) + "," + ms(82800) + "))"
	for _, tt := range []struct {
		name     string
		now      int
		families []Family
		newest   int
		want     string
	}{
		{"one", 86400, []Family{aged("a", 48*time.Hour)}, 0, "(col(a:) | " + whole + ")"},
		{"the same window of other ages", 86400, []Family{aged("a.b", 48*time.Hour), aged("c-d", 72*time.Hour), aged("e.f", 96*time.Hour)}, 0, `(col(a\.b|c-d|e\.f:) | ` + whole + ")"},
		{"the same window with another between", 86400, []Family{aged("a.b", 48*time.Hour), aged("young", time.Hour), aged("axb", 72*time.Hour)}, 0,
			`((col(a\.b|axb:) | ` + whole + ") + (col(young:) | " + hour + "))"},
		{"the newest", 86400, []Family{aged("a", 48*time.Hour), aged("young", time.Hour)}, 1,
			"(((col(a:) | " + whole + ") + (col(young:) | " + hour + ")) | col(*,1))"},
		{"one is dead", 86400 + 3601, []Family{aged("a", 48*time.Hour), aged("dead", time.Hour)}, 0, "(col(a:) | " + whole + ")"},
		{"two are the same and one is dead", 86400 + 3601, []Family{aged("dead", time.Hour), aged("a", 48*time.Hour), aged("b", 47*time.Hour)}, 1, "(col(a|b:) | " + whole + " | col(*,1))"},
		{"all are dead", 86400 + 3601, []Family{aged("a", time.Hour), aged("b", time.Minute)}, 0, "none"},
		{"old and many", 86400, []Family{oldAndMany("a", 2), oldAndMany("b", 2), aged("c", 48*time.Hour)}, 0,
			"((col(a|b:) | (" + hour + " + " + old + ")) + (col(c:) | " + whole + "))"},
	} {
		l := days()
		l.Table.Families = tt.families
		if got := filterOfDay0(l, at(tt.now), tt.newest); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// The server accepts the filter of families with equal windows, which selects exactly
// their cells.
func TestFilterOfSeveralFamiliesPasses(t *testing.T) {
	l := days()
	l.Table.Families = []Family{aged("f.1", 48*time.Hour), aged("young", time.Minute), aged("g.1", 72*time.Hour)}
	l.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 2}}
	other := l.Table
	other.Families = append(slices.Clone(other.Families), Family{Name: "fx1"}, Family{Name: "gx1"}, Family{Name: "g"}, Family{Name: "f.1-g.1"})
	bt := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return SetUp(ctx, b, "", []Table{other})
	})
	want := sample{Series: "s", Time: at(0), Value: 7, Note: []byte("n")}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(0)).Write(t.Context(), want))
	m := bigtable.NewMutation()
	for _, family := range []string{"fx1", "gx1", "g", "f.1-g.1"} {
		m.Set(family, "v.1", bigtable.Time(at(1)), binary.BigEndian.AppendUint64(nil, 8))
	}
	must(t, bt.Client.Open("days").Apply(t.Context(), "s#2021-03-05", m))
	crossed := map[string]bool{}
	client := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
			return api.ReadRows(ctx, set, func(row bigtable.Row) bool {
				for family := range row {
					crossed[family] = true
				}
				return f(row)
			}, opts...)
		}}
	}}
	r := NewReader(client, l, clockAt(600))
	got, err := collect(t.Context(), r, "s", day0, at(86400))
	must(t, err)
	same(t, []sample{want}, got)
	latest, err := r.Latest(t.Context(), sample{Series: "s"})
	must(t, err)
	same(t, want, latest)
	same(t, map[string]bool{"f.1": true, "g.1": true}, crossed)
}

// If no event in the range can be live, the read sends no request.
func TestNoRequestIfNothingIsLive(t *testing.T) {
	for _, l := range []*Mapping[sample]{days(), singles(), metrics()} {
		l.Table.Families = []Family{aged("f.1", time.Hour), aged("g", 2*time.Hour)}
		l.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 1}}
		requests, ended := 0, Operation{}
		client := faked(tableFunc{readRows: func(context.Context, bigtable.RowSet, func(bigtable.Row) bool, ...bigtable.ReadOption) error {
			requests++
			return nil
		}})
		o := clockAt(86400)
		o.Hooks.End = func(_ context.Context, op Operation, err error) { ended = op; must(t, err) }
		r := NewReader(client, l, o)
		for _, to := range []int{0, 3600, 86400 - 2*3600} {
			got, err := collect(t.Context(), r, "s", day0, at(to))
			if len(got) > 0 || err != nil || requests > 0 {
				t.Errorf("%s: %v, %v after %d requests", l.Table.ID, got, err, requests)
			}
			same(t, Operation{Name: "Read", Table: l.Table.ID}, ended)
		}
		if _, err := collect(t.Context(), r, "s", day0, at(86400-2*3600).Add(time.Millisecond)); err != nil || requests == 0 {
			t.Errorf("%s: %v after %d requests, although one event may be alive", l.Table.ID, err, requests)
		}
	}
}

// Rewriting an event in another class removes its cells from the first class, including
// optional columns that it no longer has. Events of the same class at other times stay.
func TestClassesWithOptionalColumns(t *testing.T) {
	for _, base := range []*Mapping[sample]{days(), singles()} {
		t.Run(base.Table.ID, func(t *testing.T) {
			for _, classes := range [][2]int{{1, 2}, {2, 1}, {1, 1}, {2, 2}} {
				for _, together := range []bool{false, true} {
					base.Table.Families = classFamilies()
					l := mortals(base)
					bt := serve(t, l)
					w := NewWriter(bt.Client, []*Mapping[mortal]{l}, writeAt(10))
					r := NewReader(bt.Client, l, clockAt(10))
					event := func(n, class int, note string) mortal {
						e := mortal{sample: sample{Series: "s", Time: at(n), Value: uint64(n)}, Class: class}
						if note != "" {
							e.Note = []byte(note)
						}
						return e
					}
					first := []mortal{event(0, 1, "a"), event(1, classes[0], "b"), event(2, 2, "c")}
					second := []mortal{event(1, classes[1], "")}
					if together {
						must(t, w.WriteAll(t.Context(), append(first, second...), WriteOptions{LastWins: true}))
					} else {
						must(t, w.WriteAll(t.Context(), first))
						must(t, w.WriteAll(t.Context(), second))
					}
					want := []string{"0a class 1", "1 class " + strconv.Itoa(classes[1]), "2c class 2"}
					same(t, want, values(t, r, mortal{sample: sample{Series: "s"}}, day0, at(86400), mortalText))
					cells := 0
					for _, n := range columnsOf(t, bt.Client, l.Table.ID) {
						cells += n
					}
					if cells != 5 {
						t.Errorf("%v, together %v: %d cells, want 5", classes, together, cells)
					}

					latest, err := r.Latest(t.Context(), mortal{sample: sample{Series: "s"}})
					must(t, err)
					same(t, "2c class 2", mortalText(latest))
					// An hour later, only those of class 2 are left.
					want = slices.DeleteFunc(want, func(s string) bool { return s[len(s)-1] == '1' })
					old := NewReader(bt.Client, l, clockAt(3603))
					same(t, want, values(t, old, mortal{sample: sample{Series: "s"}}, day0, at(86400), mortalText))
				}
			}
		})
	}
}

// Events of the only class of a table have that class, whichever optional columns they lack.
func TestOnlyClassWithOptionalColumns(t *testing.T) {
	for _, base := range []*Mapping[sample]{days(), singles()} {
		t.Run(base.Table.ID, func(t *testing.T) {
			base.Table.Families = classFamilies()[:1]
			l := mortals(base)
			bt := serve(t, l)
			var events []mortal
			for n, note := range []string{"", "b", "", "d"} {
				e := mortal{sample: sample{Series: "s", Time: at(n), Value: uint64(n)}, Class: 1}
				if note != "" {
					e.Note = []byte(note)
				}
				events = append(events, e)
			}
			must(t, NewWriter(bt.Client, []*Mapping[mortal]{l}, writeAt(10)).WriteAll(t.Context(), events))
			r := NewReader(bt.Client, l, clockAt(10))
			for n := range events {
				want := []string{"0 class 1", "1b class 1", "2 class 1", "3d class 1"}[n:]
				same(t, want, values(t, r, mortal{sample: sample{Series: "s"}}, at(n), at(86400), mortalText))
			}
		})
	}
}

// A row of a single event is replaced entirely in all classes, including cells with
// other timestamps and unknown columns.
func TestRowOfClassIsReplacedEntirely(t *testing.T) {
	base := singles()
	base.Table.Families = classFamilies()
	l := mortals(base)
	bt := serve(t, l)
	m := bigtable.NewMutation()
	for _, family := range []string{"short", "long"} {
		m.Set(family, "v.1", bigtable.Time(at(60)), binary.BigEndian.AppendUint64(nil, 8))
		m.Set(family, "of an older schema", bigtable.Time(at(0)), nil)
	}
	must(t, bt.Client.Open("singles").Apply(t.Context(), fmt.Sprintf("s#%013d", day0.UnixMilli()), m))
	must(t, NewWriter(bt.Client, []*Mapping[mortal]{l}, writeAt(0)).Write(t.Context(), mortal{sample: sample{Series: "s", Time: at(0)}, Class: 1}))
	same(t, map[string]int{"short:v.1": 1}, columnsOf(t, bt.Client, "singles"))
}

// Two writes of an event keep their order even if the row continues in another request,
// which deletes what the first one set.
func TestClassesAcrossRequests(t *testing.T) {
	for _, base := range []*Mapping[sample]{days(), singles()} {
		base.Table.Families = classFamilies()
		l := mortals(base)
		bt := serve(t, l)
		large := make([]byte, 2<<20)
		var events []mortal
		for i := range 5 {
			events = append(events, mortal{sample: sample{Series: "s", Time: at(0), Value: uint64(i), Note: large}, Class: 1 + i%2})
		}
		events = append(events, mortal{sample: sample{Series: "s", Time: at(0), Value: 9}, Class: 2})
		requests := 0
		o := writeAt(0)
		o.Hooks.End = func(_ context.Context, op Operation, _ error) { requests = op.Requests }
		must(t, NewWriter(bt.Client, []*Mapping[mortal]{l}, o).WriteAll(t.Context(), events, WriteOptions{LastWins: true}))
		if requests < 3 {
			t.Errorf("%d requests: the row went on in no other", requests)
		}
		same(t, map[string]int{"long:v.1": 1}, columnsOf(t, bt.Client, l.Table.ID))
	}
}

// An event with an expiry is replaced entirely, whichever version lives longer, even if
// it has fewer columns.
func TestExpiriesWithOptionalColumns(t *testing.T) {
	for _, life := range []codec.Lifetime{{Timestamp: codec.TimestampExpiry}, {Timestamp: codec.TimestampShifted, Default: time.Hour}} {
		for _, ends := range [][2]int{{100, 200}, {200, 100}, {100, 100}} {
			base := singles()
			base.Table.Families = []Family{{Name: "a", Life: life}, {Name: "b", Life: life}}
			base.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 1}}
			l := mortals(base)
			bt := serve(t, l)
			w := NewWriter(bt.Client, []*Mapping[mortal]{l}, writeAt(0))
			other := mortal{sample: sample{Series: "s", Time: at(1), Value: 2, Note: []byte("n")}, ExpiresAt: at(1000)}
			must(t, w.WriteAll(t.Context(), []mortal{
				{sample: sample{Series: "s", Time: at(0), Value: 1, Note: []byte("n")}, ExpiresAt: at(ends[0])}, other,
				{sample: sample{Series: "s", Time: at(0), Value: 3}, ExpiresAt: at(ends[1])},
			}, WriteOptions{LastWins: true}))
			same(t, map[string]int{"a:v.1": 2, "b:note": 1}, columnsOf(t, bt.Client, "singles"))
			text := func(e mortal) string { return fmt.Sprintf("%s until %v", sampleText(e.sample), e.ExpiresAt.Sub(day0)) }
			base0 := mortal{sample: sample{Series: "s"}}
			want := []string{fmt.Sprintf("3 until %v", time.Duration(ends[1])*time.Second), "2n until 16m40s"}
			same(t, want, values(t, NewReader(bt.Client, l, clockAt(ends[1]-1)), base0, day0, at(86400), text))
			same(t, want[1:], values(t, NewReader(bt.Client, l, clockAt(ends[1])), base0, day0, at(86400), text))
		}
	}
}

// If another program has left several cells in a single-event row, the newest of each
// column counts.
func TestNewestCellOfRowCounts(t *testing.T) {
	l := singles()
	bt := newBigtable(t, l)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}).Write(t.Context(), sample{Series: "s", Time: at(10), Value: 7, Note: []byte("n")}))
	m := bigtable.NewMutation()
	m.Set("f.1", "v.1", bigtable.Time(at(20)), binary.BigEndian.AppendUint64(nil, 8))
	m.Set("f.1", "note", bigtable.Time(at(0)), []byte("old"))
	must(t, bt.Client.Open("singles").Apply(t.Context(), fmt.Sprintf("s#%013d", at(10).UnixMilli()), m))
	r := NewReader(bt.Client, l)
	same(t, []string{"8n"}, values(t, r, sample{Series: "s"}, day0, at(86400), sampleText))
	latest, err := r.Latest(t.Context(), sample{Series: "s"})
	must(t, err)
	same(t, "8n", sampleText(latest))
}

// The write time is not part of the event: it is not written without other columns, and
// a row that contains nothing else is not an event.
func TestWrittenAtAloneIsNoEvent(t *testing.T) {
	for _, base := range []*Mapping[sample]{days(), singles()} {
		l := *base
		l.Columns = []Column{{Name: "v.1", WrittenAt: true}, {Name: "note"}}
		bt := newBigtable(t, &l)
		err := NewWriter(bt.Client, []*Mapping[sample]{&l}).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 1})
		if !errors.Is(err, codec.ErrNoValue) {
			t.Errorf("%s: %v, want ErrNoValue", l.Table.ID, err)
		}
		same(t, map[string]int{}, columnsOf(t, bt.Client, l.Table.ID))

		must(t, NewWriter(bt.Client, []*Mapping[sample]{base}).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 1}))
		r := NewReader(bt.Client, &l)
		same(t, []string(nil), values(t, r, sample{Series: "s"}, day0, at(86400), sampleText))
		if e, err := r.Latest(t.Context(), sample{Series: "s"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, %v", l.Table.ID, e, err)
		}
	}
}

// The part of a late event in a family that keeps events longer is stored, in each
// pattern. A row that would be empty is not written.
func TestLateEventInPart(t *testing.T) {
	for _, l := range []*Mapping[sample]{days(), singles(), metrics()} {
		l.Table.Families = []Family{aged("f.1", 48*time.Hour), aged("young", time.Hour)}
		l.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 1}}
		bt := newBigtable(t, l)
		var ended Operation
		o := writeAt(7200)
		o.Hooks.End = func(_ context.Context, op Operation, _ error) { ended = op }
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, o).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 1, Note: []byte("n")}))
		same(t, Operation{Name: "Write", Table: l.Table.ID, Events: 1, Rows: 1, Requests: 1}, ended)
		cells := 0
		for _, n := range columnsOf(t, bt.Client, l.Table.ID) {
			cells += n
		}
		same(t, 1, cells)
		r := NewReader(bt.Client, l, clockAt(7200))
		same(t, []string{"1"}, values(t, r, sample{Series: "s"}, day0, at(86400), sampleText))
		latest, err := r.Latest(t.Context(), sample{Series: "s"})
		must(t, err)
		same(t, "1", sampleText(latest))
	}
}

// An event is not replaced by one that no table would store, also if writes skip those.
func TestReplaceByExpired(t *testing.T) {
	for _, skipped := range []bool{false, true} {
		l := days()
		l.Table.Families = []Family{aged("f.1", time.Hour)}
		bt := newBigtable(t, l)
		o := writeAt(7200)
		o.SkipExpired = skipped
		w := NewWriter(bt.Client, []*Mapping[sample]{l}, o)
		old := sample{Series: "s", Time: at(7000), Value: 1}
		must(t, w.Write(t.Context(), old))
		if err := w.Replace(t.Context(), old, sample{Series: "s", Time: at(0), Value: 2}); !errors.Is(err, codec.ErrExpired) {
			t.Errorf("skipped %t: %v", skipped, err)
		}
		same(t, []string{"1"}, values(t, NewReader(bt.Client, l, clockAt(7200)), sample{Series: "s"}, day0, at(86400), sampleText))
	}
}

// An event is refused if all of its values belong to a family that it is too late for,
// although another family, for which it has none, would accept it.
func TestLateEventWithoutOtherValues(t *testing.T) {
	l := days()
	l.Table.Families = []Family{aged("young", time.Hour), aged("old", 48*time.Hour)}
	l.Columns = []Column{{Name: "v.1"}, {Name: "note", Family: 1}}
	err := NewWriter(faked(tableFunc{}), []*Mapping[sample]{l}, writeAt(7200)).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 1})
	var failed *WriteError
	if !errors.Is(err, codec.ErrExpired) || !errors.As(err, &failed) || failed.Failures[0].Outcome != Refused {
		t.Errorf("%v", err)
	}
}

// If timestamps are write times, only row keys select the time range, and the age
// counts from the write.
func TestAgeFromWriteTime(t *testing.T) {
	l := singles()
	family := aged("w", time.Hour)
	family.Life.Timestamp = codec.TimestampWrite
	l.Table.Families = []Family{family}
	bt := newBigtable(t, l)
	mappings := []*Mapping[sample]{l}
	must(t, NewWriter(bt.Client, mappings, writeAt(50_000)).WriteAll(t.Context(), []sample{
		{Series: "s", Time: at(0), Value: 1, Note: []byte("n")}, {Series: "s", Time: at(10), Value: 2}, {Series: "s", Time: at(90_000), Value: 3},
	}))
	must(t, NewWriter(bt.Client, mappings, writeAt(50_010)).Write(t.Context(), sample{Series: "s", Time: at(0), Value: 4})) // lives ten seconds longer
	for now, want := range map[int][]string{
		50_010: {"4", "2", "3"}, 53_600: {"4", "2", "3"}, 53_601: {"4"}, 53_610: {"4"}, 53_611: nil,
	} {
		r := NewReader(bt.Client, l, clockAt(now))
		same(t, want, values(t, r, sample{Series: "s"}, day0, at(100_000), sampleText))
		if len(want) > 1 {
			same(t, []string{"2"}, values(t, r, sample{Series: "s"}, at(1), at(11), sampleText))
		}
	}
}

// Events of the same time are in the order of their sequence numbers, whatever their
// classes.
func TestSequencesOfClasses(t *testing.T) {
	type tied struct {
		mortal
		Sequence uint32
	}
	typed := &Mapping[tied]{
		Pattern: codec.BucketOffsets, Table: Table{Families: classFamilies()}, Columns: []Column{{Name: "v"}},
		Time:      func(e *tied) *time.Time { return &e.Time },
		TTLFields: func(e *tied) TTLFields { return TTLFields{Class: &e.Class} },
		Sequence:  func(e *tied) *uint32 { return &e.Sequence },
		Set:       func(*tied, int, []byte) error { return nil },
		Missing:   Required[tied],
	}
	l := typed.untyped()
	shape := l.shape()
	a := &assembler{mapping: l, rowAssembler: l.rowAssembler("", &shape, func() time.Time { return day0 }), base: l.new(), event: l.new()}
	a.from, a.to, a.memory = day0, at(60), l.newMemory()
	us := day0.UnixMicro()
	for i, g := range a.empty(new(wire.Rows).At(0)) {
		c := &g.columns[0]
		c.cells, c.times, c.sequences = []wire.Cell{{Micros: us}, {Micros: us}}, []int64{us, us}, []uint32{uint32(i), uint32(i) + 2}
	}
	var got []string
	a.bucket(func(of event, err error) bool {
		must(t, err)
		e := of.pointer.(*tied)
		got = append(got, fmt.Sprint(e.Sequence, " of class ", e.Class))
		return true
	})
	same(t, []string{"0 of class 1", "1 of class 2", "2 of class 1", "3 of class 2"}, got)
}

// expiring returns days with one column per sample, which expires Value seconds into
// day0.
func expiring() *Mapping[sample] {
	l := days()
	l.Pattern, l.Table.ID = codec.BucketOffsets, "expiring"
	family := aged("f.1", time.Second)
	family.Life = codec.Lifetime{Timestamp: codec.TimestampExpiry}
	l.Table.Families, l.Columns = []Family{family}, []Column{{Name: "v", Whole: true}}
	l.TTLFields = func(e *sample) TTLFields {
		end := at(int(e.Value))
		return TTLFields{ExpiresAt: &end}
	}
	l.Put = putValue(l)
	return l
}

// Data that expires between the request and the next look at the clock does not hide an
// older event that lives longer.
func TestLatestOnlyOfExpiringEvents(t *testing.T) {
	l := expiring()
	bt := newBigtable(t, l)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(3)).WriteAll(t.Context(), []sample{
		{Series: "s", Time: at(1), Value: 5000}, {Series: "s", Time: at(2), Value: 200},
	}))
	for _, o := range []ReadOptions{{}, {NewestFirst: true}, {LatestOnly: true}} {
		now := at(100) // time of the request
		r := NewReader(bt.Client, l, ReaderOptions{Now: func() time.Time {
			defer func() { now = at(300) }()
			return now
		}})
		same(t, []string{"5000"}, read(t, r, at(0), at(1000), o))
	}
}

// If the newest data expires between the request and the next look at the clock, Latest
// requests the same rows again and finds an older event or none.
func TestLatestRepeatsAfterExpiry(t *testing.T) {
	l := metrics()
	l.Table.Families = []Family{aged("f.1", 48*time.Hour)}
	bt := newBigtable(t, l)
	m := bigtable.NewMutation() // the first column has no row at all
	m.Set("f.1", "note", bigtable.Timestamp(at(60).UnixMicro()), nil)
	must(t, bt.Client.Open(l.Table.ID).Apply(t.Context(), "s#note#2021-03-05", m))
	now, requests := 2*86400+5, 0
	r := NewReader(bt.Client, l, ReaderOptions{
		Now: func() time.Time {
			now += 20
			return at(now)
		},
		Hooks: Hooks{End: func(_ context.Context, op Operation, _ error) { requests = op.Requests }},
	})
	if e, err := r.Latest(t.Context(), sample{Series: "s"}); !errors.Is(err, ErrNotFound) || requests != 5 {
		t.Errorf("%v, %v after %d requests", e, err, requests)
	}

	l = expiring()
	bt = newBigtable(t, l)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(3)).WriteAll(t.Context(), []sample{{Series: "s", Time: at(2), Value: 200}}))
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(3)).WriteAll(t.Context(), []sample{{Series: "s", Time: at(1), Value: 5000}}))
	now = 100
	r = NewReader(bt.Client, l, ReaderOptions{Now: func() time.Time {
		defer func() { now += 200 }()
		return at(now)
	}})
	e, err := r.Latest(t.Context(), sample{Series: "s"})
	must(t, err)
	same(t, uint64(5000), e.Value)
}
