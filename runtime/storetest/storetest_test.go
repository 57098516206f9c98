package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// makeTable creates table t with family f.
func makeTable(ctx context.Context, b *storetest.Bigtable) error {
	return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{
		TableID: "t", ColumnFamilies: map[string]bigtable.Family{"f": {}},
	})
}

// write writes a cell of the given size.
func write(ctx context.Context, client *bigtable.Client, column string, size int) error {
	m := bigtable.NewMutation()
	m.Set("f", column, 1000, bytes.Repeat([]byte{'x'}, size))
	return client.Open("t").Apply(ctx, "row", m)
}

// A row may be larger than gRPC's default limit for messages.
func TestLargeRow(t *testing.T) {
	b := storetest.New(t, makeTable)
	const size = 6 << 20
	for _, column := range []string{"a", "b"} {
		must(t, write(t.Context(), b.Client, column, size))
	}
	row, err := b.Client.Open("t").ReadRow(t.Context(), "row")
	must(t, err)
	if n := len(row["f"]); n != 2 || len(row["f"][1].Value) != size {
		t.Errorf("read %d cells", n)
	}
}

// The environment variable for another emulator does not affect the clients.
func TestOtherEmulator(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Setenv("BIGTABLE_EMULATOR_HOST", l.Addr().String())
	must(t, l.Close())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := storetest.New(t, makeTable)
	assert.Is(t, nil, write(ctx, b.Client, "a", 1))
}

// A test may close what New closes at the end, even after garbage collection has
// started.
func TestCloseTwice(t *testing.T) {
	b := storetest.New(t, makeTable)
	if err := b.Admin.CreateColumnFamily(t.Context(), "t", "g"); err != nil { // starts garbage collection
		t.Fatal(err)
	}
	for range 2 {
		assert.Is(t, nil, b.Close())
	}
	if conn, err := net.Dial("tcp", b.Addr); err == nil {
		t.Error("the server listens after Close")
		_ = conn.Close()
	}
}

func TestStartAtTakenAddress(t *testing.T) {
	b := storetest.New(t, makeTable)
	if other, err := storetest.StartAt(t.Context(), b.Addr); err == nil {
		t.Error("started twice at one address")
		_ = other.Close()
	}
}

// A row is read as it was before or after each mutation, also while others add columns.
func TestReadsBesideWrites(t *testing.T) {
	b := storetest.New(t, makeTable)
	columns := testlong.Pick(150, 500)
	m := bigtable.NewMutation()
	for i := range columns {
		m.Set("f", fmt.Sprintf("b%03d", i), 1000, nil)
	}
	table := b.Client.Open("t")
	must(t, table.Apply(t.Context(), "row", m))
	done := make(chan error)
	go func() {
		var err error
		for i := 0; i < columns && err == nil; i++ {
			err = write(t.Context(), b.Client, fmt.Sprintf("a%03d", columns-i), 1)
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		row, err := table.ReadRow(t.Context(), "row")
		must(t, err)
		seen := map[string]int{}
		for _, cell := range row["f"] {
			seen[cell.Column]++
		}
		for i := range columns {
			if n := seen[fmt.Sprintf("f:b%03d", i)]; n != 1 {
				t.Fatalf("column b%03d was read %d times", i, n)
			}
		}
	}
}

var must = assert.Must

// Class: a form of lines that says less than the cells. Lines with one cell and lines with several say the same, in any order of
// the cells, and each change of a character is a difference.
func TestStoredForms(t *testing.T) {
	b := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "t", Families: map[string]bigtable.GCPolicy{"m": bigtable.NoGcPolicy(), "n": bigtable.NoGcPolicy()}})
	})
	for key, values := range map[string][]string{"a b": {"1", `"=\x00`}, "c#d": {"", "ä 1"}} {
		m := bigtable.NewMutation()
		for i, v := range values {
			m.Set("m", fmt.Sprintf("%d = \"x", i), 4102444800000000, []byte(v))
			m.Set("m", "other", 4102444800000000+1000*bigtable.Timestamp(i), []byte(v))
			m.Set("n", "", 4102444800000000, []byte(v))
		}
		must(t, b.Client.OpenTable("t").Apply(t.Context(), key, m))
	}
	single := []string{
		"family m: never", "family n: never",
		`row "a b"`, `m:"0 = \"x" 4102444800000000 "1"`, `m:"1 = \"x" 4102444800000000 "\"=\\x00"`, `m:"other" 4102444800000000 "1"`,
		`m:"other" 4102444800001000 "\"=\\x00"`, `n:"" 4102444800000000 "\"=\\x00"`,
		`row "c#d"`, `m:"0 = \"x" 4102444800000000 ""`, `m:"1 = \"x" 4102444800000000 "ä 1"`, `m:"other" 4102444800000000 ""`,
		`m:"other" 4102444800001000 "ä 1"`, `n:"" 4102444800000000 "ä 1"`,
	}
	several := []string{
		"family m: never", "family n: never",
		`row "a b" n 4102444800000000 ""="\"=\\x00"`,
		`row "a b" m 4102444800000000 "1 = \"x"="\"=\\x00" "0 = \"x"="1"`, `row "a b" m 4102444800000000 "other"="1"`,
		`row "a b" m 4102444800001000 "other"="\"=\\x00"`,
		`row "c#d" m 4102444800000000 "0 = \"x"="" "1 = \"x"="ä 1" "other"=""`, `row "c#d" m 4102444800001000 "other"="ä 1"`,
		`row "c#d" n 4102444800000000 ""="ä 1"`,
	}
	for _, lines := range [][]string{single, several} {
		storetest.Stored(t, b, "t", lines...)
		for i, line := range lines {
			if i < 2 {
				continue
			}
			changed := append([]string{}, lines...)
			var offsets []int
			for at := range line {
				offsets = append(offsets, at)
			}
			for _, at := range testlong.Sample(offsets, 7) {
				for _, with := range []string{"", "7", `"`, " "} {
					if changed[i] = line[:at] + with + line[at+1:]; changed[i] == line || strings.HasPrefix(line[at:], "ä") {
						continue
					}
					f := &failures{TB: t}
					if storetest.Stored(f, b, "t", changed...); f.text.Len() == 0 {
						t.Errorf("%s is the same as %s", changed[i], line)
					}
				}
			}
			f := &failures{TB: t}
			if storetest.Stored(f, b, "t", append(append([]string{}, lines[:i]...), lines[i+1:]...)...); f.text.Len() == 0 {
				t.Errorf("%s may be left out", line)
			}
		}
	}
}

// fill creates a table with families f, fg and f.g, and cells in columns whose names begin with each other.
func fill(ctx context.Context, b *storetest.Bigtable) error {
	families := []string{"f", "fg", "f.g"}
	if err := b.Admin.CreateTable(ctx, "t"); err != nil {
		return err
	}
	for _, family := range families { // one after the other, for their order
		if err := b.Admin.CreateColumnFamily(ctx, "t", family); err != nil {
			return err
		}
	}
	for row := range 8 {
		m := bigtable.NewMutation()
		for _, family := range families {
			for n, column := range []string{"", "a", "ab", "b", "a|b", "a.c", "x y", "ü"} {
				for at := range (row + n) % 3 {
					m.Set(family, column, bigtable.Timestamp(1000*(at+row)), fmt.Append(nil, row, n, at))
				}
			}
		}
		if err := b.Client.Open("t").Apply(ctx, fmt.Sprint("row", row), m); err != nil {
			return err
		}
	}
	return nil
}

// randomFilter returns a chain of filters as readers send them, and others.
func randomFilter(r *rand.Rand) bigtable.Filter {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	names := func() string {
		var out []string
		for range 1 + r.IntN(3) {
			out = append(out, pick("a", "ab", "b", "a|b", "a.c", "a\\.c", "x y", "", "ü", "none"))
		}
		return strings.Join(out, "|")
	}
	all := []func() bigtable.Filter{
		func() bigtable.Filter {
			return bigtable.FamilyFilter(pick("f", "fg", "f.g", "f|fg", "f\\.g", "none", ""))
		},
		func() bigtable.Filter { return bigtable.ColumnFilter(names()) },
		func() bigtable.Filter { return bigtable.StripValueFilter() },
		func() bigtable.Filter { return bigtable.LatestNFilter(1 + r.IntN(2)) },
		func() bigtable.Filter {
			return bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(1000*r.IntN(3)), bigtable.Timestamp(1000*(3+r.IntN(8))))
		},
		func() bigtable.Filter {
			return bigtable.InterleaveFilters(bigtable.ColumnFilter("a"), bigtable.FamilyFilter("fg"))
		},
	}
	var chain []bigtable.Filter
	for range 2 + r.IntN(3) {
		chain = append(chain, all[r.IntN(len(all))]())
	}
	if r.IntN(3) == 0 {
		chain = append(chain, bigtable.ChainFilters(chain...))
	}
	if r.IntN(3) == 0 { // among several families, the server takes them in any order
		chain = append(append([]bigtable.Filter{bigtable.FamilyFilter("f")}, chain...), bigtable.CellsPerRowLimitFilter(1+r.IntN(4)))
	}
	return bigtable.ChainFilters(chain...)
}

// TestFilters reads with random filters: the same as from the server without the interceptors of this package.
func TestFilters(t *testing.T) {
	plain, err := bttest.NewServer("127.0.0.1:0")
	must(t, err)
	defer plain.Close()
	var clients []*bigtable.Client
	for _, addr := range []string{plain.Addr, storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil }).Addr} {
		client, err1 := storetest.ConnectPlain(t.Context(), addr)
		admin, err2 := storetest.ConnectAdmin(t.Context(), addr)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		defer client.Close()
		defer admin.Close()
		must(t, fill(t.Context(), &storetest.Bigtable{Client: client, Admin: admin}))
		clients = append(clients, client)
	}
	r := rand.New(rand.NewPCG(1, 2))
	cells := 0
	for range testlong.Pick(100, 2000) {
		filter := randomFilter(r)
		var read [2][]bigtable.Row
		var errs [2]error
		for i, client := range clients {
			errs[i] = client.Open("t").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
				read[i] = append(read[i], row)
				for _, items := range row {
					cells += len(items)
				}
				return true
			}, bigtable.RowFilter(filter))
		}
		if fmt.Sprint(errs[0]) != fmt.Sprint(errs[1]) || !reflect.DeepEqual(read[0], read[1]) {
			t.Fatalf("%v:\n%v, %v\n%v, %v", filter, read[0], errs[0], read[1], errs[1])
		}
	}
	if cells == 0 {
		t.Error("no filter selects anything")
	}
}

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
