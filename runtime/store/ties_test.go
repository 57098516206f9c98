package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// tickText describes a sample with a sequence number.
func tickText(e sample) string {
	return fmt.Sprintf("%s%d.%d", e.Series, e.Time.Sub(day0)/time.Second, e.Sequence)
}

// ticks returns one row per sample. Keys consist of the series, the reversed time, the sequence number and a constant.
func ticks() *mappingOf[sample] {
	l := singles()
	l.Key = codec.Key{Delimiter: "#", Time: codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}, Segments: []codec.Segment{
		{Name: "series", Series: 1}, {Kind: codec.TimeSegment}, {Kind: codec.SequenceSegment}, {Kind: codec.ConstSegment, Const: "end"},
	}}
	l.Columns, l.Missing, l.Sequence = l.Columns[:1], Required[sample], func(e *sample) *uint32 { return &e.Sequence }
	l.series.of = func(e *sample, to []any) []any {
		first := e.Series[:min(1, len(e.Series))]
		return append(to, &first, &e.Series)
	}
	l.Put = func(e *sample, c *eventCells) {
		c.Row(l.Key.Append(c.Buffer(), &codec.KeyValues{Series: l.series.of(e, nil), At: &e.Time, Sequence: &e.Sequence}))
		c.Set(0, codec.Binary.Uint64.Append(c.Cell(0), e.Value))
	}
	return l
}

// tickQueries returns queries of all series.
func tickQueries() map[string]*testQuery[sample] {
	all := func(*sample) ([]codec.Span, error) { return []codec.Span{{Prefix: ""}}, nil }
	return map[string]*testQuery[sample]{
		"scattered": {Name: "scattered", MultiSeries: true, AllTimes: true, Spans: all},
		"all":       {Name: "all", MultiSeries: true, AllTimes: true, Contiguous: true, Spans: all},
	}
}

// tied returns ticks of a series, sorted by time and sequence number. Four of them have the same time.
func tied() (out []sample) {
	for i, of := range [][2]int{{1, 5}, {4, 0}, {4, 1}, {4, 2}, {4, 10}} {
		out = append(out, sample{Series: "b", Time: at(of[0]), Value: uint64(i), Sequence: uint32(of[1])})
	}
	return out
}

// newTicks starts a server with ticks. Those in unknown have only a column that is not in the mapping.
func newTicks(t *testing.T, l *mappingOf[sample], known, unknown []sample) *storetest.Bigtable {
	t.Helper()
	bt := serve(t, l)
	other := *l
	other.Columns = []Column{{Name: "unknown"}}
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(1)).WriteAll(t.Context(), known))
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{&other}, writeAt(1)).WriteAll(t.Context(), unknown))
	return bt
}

// showTicks formats the ticks of a read.
func showTicks(ticks []sample, o ReadOptions) string {
	ticks = slices.Clone(ticks)
	if o.NewestFirst {
		slices.Reverse(ticks)
	}
	if o.Limit > 0 {
		ticks = ticks[:min(o.Limit, len(ticks))]
	}
	var out []string
	for _, e := range ticks {
		out = append(out, tickText(e))
	}
	return strings.Join(out, " ")
}

// Rows of an instant without events are skipped: Latest finds the newest event in it or before it.
func TestTiesWithoutEvents(t *testing.T) {
	l := ticks()
	all := tied()
	for n := range len(all) + 1 {
		left := all[:n]
		bt := newTicks(t, l, left, all[n:])
		for path, connect := range paths {
			r := newReaderOf(opened(t)(connect(t.Context(), bt.Addr)), l, clockAt(1))
			want := showTicks(left, ReadOptions{NewestFirst: true, Limit: 1})
			latest, err := r.Latest(t.Context(), sample{Series: "b"})
			if errors.Is(err, ErrNotFound) != (n == 0) || err == nil && tickText(latest) != want {
				t.Errorf("%s, %d events: %v, %v, want %s", path, n, latest, err, want)
			}
			for query, q := range tickQueries() {
				events := readOf(t.Context(), r, q, seriesOf(sample{}), at(0), at(60), ReadOptions{LatestOnly: true})
				assert.Same(t, want, strings.Join(made(t, events, tickText), " "), path, n, query)
			}
			for limit := range len(all) {
				o := ReadOptions{NewestFirst: true, Limit: limit}
				events := r.Read(t.Context(), seriesOf(sample{Series: "b"}), at(0), at(60), o)
				same(t, showTicks(left, o), strings.Join(made(t, events, tickText), " "))
			}
		}
	}
}

// A read that fails within an instant yields nothing of it, because the first events may not have arrived.
func TestErrorWithinAnInstant(t *testing.T) {
	l := ticks()
	bt := newTicks(t, l, append(tied(), sample{Series: "a", Time: at(4)}, sample{Series: "ba", Time: at(4)}), nil)
	lost := errors.New("lost")
	all := tied()
	for _, o := range []ReadOptions{{NewestFirst: true}, {NewestFirst: true, Limit: 3}, {}, {Limit: 4}, {LatestOnly: true}} {
		want := showTicks(all, ReadOptions{NewestFirst: o.NewestFirst || o.LatestOnly, Limit: o.Limit})
		for after := range len(all) {
			client, _ := breaksAfter(bt.Client, after, lost)
			var got []string
			var failed error
			for e, err := range newReaderOf(client, l, clockAt(1)).Read(t.Context(), seriesOf(sample{Series: "b"}), at(0), at(60), o) {
				if failed = err; err == nil {
					got = append(got, tickText(e))
				}
			}
			text := strings.Join(got, " ")
			if !strings.HasPrefix(want, text) || text != want && !o.LatestOnly && !errors.Is(failed, lost) {
				t.Errorf("%+v, after %d rows: %q, %v, want a beginning of %q", o, after, text, failed, want)
			}
		}
	}
}
