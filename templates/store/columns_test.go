package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
	"github.com/btgen-dev/btgen/templates/storetest"
)

// sampleColumns is samples as columns, as generated code has them.
type sampleColumns struct {
	Series []string
	Time   []time.Time
	Value  []uint64
	Note   [][]byte

	appended int // samples that came one by one
}

// intoColumns is how samples become columns.
var intoColumns = Columns[sample, sampleColumns]{
	Append: func(c *sampleColumns, e *sample) {
		c.Series, c.Time = append(c.Series, e.Series), append(c.Time, e.Time)
		c.Value, c.Note = append(c.Value, e.Value), append(c.Note, e.Note)
		c.appended++
	},
	Truncate: func(c *sampleColumns, n int) {
		c.Series, c.Time, c.Value, c.Note = c.Series[:n], c.Time[:n], c.Value[:n], c.Note[:n]
	},
	Extend: func(c *sampleColumns, e *sample, times Data) int {
		n := len(c.Time)
		c.Series = ExtendSeries(c.Series, times, e.Series)
		c.Time = ExtendTimes(c.Time, times)
		return n
	},
	Decode: func(c *sampleColumns, column int, data Data) (err error) {
		switch column {
		case 0:
			c.Value, err = Extend(c.Value, data, codec.BinaryUint64)
		case 1:
			c.Note, err = Extend(c.Note, data, codec.BinaryBytes)
		}
		return err
	},
}

// text is the samples, one by one.
func (c *sampleColumns) text() (out []string) {
	for i := range c.Time {
		out = append(out, rowText(&sample{c.Series[i], c.Time[i], c.Value[i], c.Note[i]}))
	}
	return out
}

func rowText(e *sample) string {
	return fmt.Sprintf("%s@%d=%d%q", e.Series, e.Time.UnixMicro(), e.Value, e.Note)
}

// sparse returns samples some of which have a note, none or all of a day.
func sparse(random *rand.Rand, days, each int) (samples []sample) {
	for day := range days {
		notes := random.IntN(3)
		for i := range each {
			e := sample{Series: fmt.Sprint("s", random.IntN(2)), Time: at(86400*day + 60*i), Value: random.Uint64()}
			if notes == 1 || notes == 2 && random.IntN(2) == 0 {
				e.Note = fmt.Append(nil, i)
			}
			samples = append(samples, e)
		}
	}
	return samples
}

// ReadColumns gives the events of Query, in its order, with any options and on both
// paths, whether the columns of a bucket agree or not, and those that do not decode.
func TestColumnsAreThoseOfEvents(t *testing.T) {
	const n = 6
	random := rand.New(rand.NewPCG(1, 2))
	for _, l := range []*Layout[sample]{days(), singles(), metrics()} {
		bt := newBigtable(t, l)
		now := clockAt(86400 * n)
		must(t, NewWriter(bt.Client, []*Layout[sample]{l}, now).WriteAll(t.Context(), sparse(random, n, 20)))
		if l.Kind == BucketCells { // one value that is none
			m := bigtable.NewMutation()
			m.Set(l.Table.Families[0].Name, l.Columns[0].Name, bigtable.Timestamp(at(86400*2+120).UnixMicro()), []byte("x"))
			must(t, bt.Client.Open(l.Table.ID).Apply(t.Context(), "s0#2021-03-07", m))
		}
		without, err := storetest.ConnectPlain(t.Context(), bt.Addr)
		must(t, err)
		defer func() { _ = without.Close() }()
		var straight int
		for i := range 60 {
			client := []*bigtable.Client{bt.Client, without}[i%2]
			r := NewReader(client, l, now)
			q, base := &r.whole, sample{Series: "s0"}
			if l.Kind != BucketColumns && random.IntN(3) == 0 {
				q, base = of("s0", "s1"), sample{}
			}
			o := ReadOptions{NewestFirst: random.IntN(2) == 0, Limit: random.IntN(2) * random.IntN(60), TimeOrder: random.IntN(2) == 0, LatestOnly: random.IntN(8) == 0}
			if random.IntN(4) == 0 {
				o.Fields = []Field{Field(l.Columns[random.IntN(2)].Name)}
			}
			from, to := at(random.IntN(86400*2)), at(86400*2+random.IntN(86400*n))
			straight += sameColumns(t, r, q, base, from, to, o)
		}
		if l.Kind == BucketCells && straight == 0 {
			t.Errorf("%s: no bucket was taken by the column", l.Table.ID)
		}
	}
}

// sameColumns compares ReadColumns with Query. It returns how many events came by
// the column.
func sameColumns(t *testing.T, r *Reader[sample], q *Query[sample], base sample, from, to time.Time, o ReadOptions) int {
	t.Helper()
	var want []string
	var failed error
	for e, err := range r.Query(t.Context(), q, base, from, to, o) {
		switch {
		case err == nil:
			want = append(want, rowText(&e))
		case failed == nil:
			failed = err
		}
	}
	columns := sampleColumns{Series: []string{"kept"}, Time: []time.Time{{}}, Value: []uint64{7}, Note: [][]byte{nil}}
	err := ReadColumns(t.Context(), r, intoColumns, &columns, q, base, from, to, o)
	if fmt.Sprint(err) != fmt.Sprint(failed) {
		t.Errorf("%s %+v: %v, want %v", r.id, o, err, failed)
	}
	if got := columns.text(); !slices.Equal(got[1:], want) || columns.Series[0] != "kept" {
		t.Errorf("%s %+v from %v to %v:\n%v\nwant\n%v", r.id, o, from, to, got, want)
	}
	return len(want) - columns.appended
}
