package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// tick is a sample with a sequence number.
type tick struct {
	sample
	Sequence uint32
}

func (e tick) String() string {
	return fmt.Sprintf("%s%d.%d", e.Series, e.Time.Sub(day0)/time.Second, e.Sequence)
}

// ticks returns a mapping with one row per tick. Keys consist of the series, the reversed time, the sequence number and a constant.
func ticks() *mappingOf[tick] {
	s := singles()
	key := codec.Key{Delimiter: "#", Time: codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}, Segments: []codec.Segment{
		{Name: "series", Series: 1}, {Kind: codec.TimeSegment}, {Kind: codec.SequenceSegment}, {Kind: codec.ConstSegment, Const: "end"},
	}}
	return &mappingOf[tick]{
		Table: s.Table, Pattern: codec.SingleUnserialized, Columns: s.Columns[:1], Precision: time.Millisecond,
		Time:     func(e *tick) *time.Time { return &e.Time },
		Sequence: func(e *tick) *uint32 { return &e.Sequence },
		Check:    func(e *tick) error { return s.Check(&e.sample) },
		Set:      func(e *tick, column int, datum []byte) error { return s.Set(&e.sample, column, datum) },
		Missing:  Required[tick],
		Put: func(e *tick, c *eventCells) {
			first := e.Series[:min(1, len(e.Series))]
			c.Row(key.Append(c.Buffer(), &codec.KeyValues{Series: []any{&first, &e.Series}, At: &e.Time, Sequence: &e.Sequence}))
			c.Set(0, codec.Binary.Uint64.Append(c.Cell(0), e.Value))
		},
		Key: key,
		series: seriesValues[tick]{of: func(e *tick, to []any) []any {
			first := e.Series[:min(1, len(e.Series))]
			return append(to, &first, &e.Series)
		}},
	}
}

// tickQueries returns queries of all series.
func tickQueries() map[string]*testQuery[tick] {
	all := func(*tick) ([]codec.Span, error) { return []codec.Span{{Prefix: ""}}, nil }
	return map[string]*testQuery[tick]{
		"scattered": {Name: "scattered", MultiSeries: true, AllTimes: true, Spans: all},
		"all":       {Name: "all", MultiSeries: true, AllTimes: true, Contiguous: true, Spans: all},
	}
}

// tickEvents returns ticks of three series in no order. Several of them have the same
// time.
func tickEvents() []tick {
	var out []tick
	for i, e := range []string{"a 1 2", "a 0 0", "a 1 0", "a 3 7", "a 1 1", "ab 1 0", "ab 1 1", "ab 2 4000000000", "ab 2 9", "b 1 5", "b 4 1", "b 4 10", "b 4 2", "b 4 0"} {
		var series string
		var second int
		var sequence uint32
		if _, err := fmt.Sscan(e, &series, &second, &sequence); err != nil {
			panic(err)
		}
		out = append(out, tick{sample{Series: series, Time: at(second), Value: uint64(i)}, sequence})
	}
	return out
}

// inOrder returns the selected ticks, sorted by time and sequence number.
func inOrder(of func(e tick) bool) []tick {
	out := slices.DeleteFunc(tickEvents(), func(e tick) bool { return !of(e) })
	slices.SortFunc(out, func(a, b tick) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Sequence, b.Sequence))
	})
	return out
}

// newTicks starts a server with ticks. Those in unknown have only a column that is not
// in the mapping.
func newTicks(t *testing.T, l *mappingOf[tick], known, unknown []tick) *storetest.Bigtable {
	t.Helper()
	bt := serve(t, l)
	other := *l
	other.Columns = []Column{{Name: "unknown"}}
	must(t, newWriterOf(bt.Client, []*mappingOf[tick]{l}, writeAt(1)).WriteAll(t.Context(), known))
	must(t, newWriterOf(bt.Client, []*mappingOf[tick]{&other}, writeAt(1)).WriteAll(t.Context(), unknown))
	return bt
}

// onBothReaders runs a test with a reader of each path.
func onBothReaders(t *testing.T, bt *storetest.Bigtable, l *mappingOf[tick], test func(path string, r *readerOf[tick])) {
	t.Helper()
	wired := opened(t)(storetest.Connect(t.Context(), bt.Addr))
	test("wire", newReaderOf(wired, l, clockAt(1)))
	test("ordinary", newReaderOf(bt.Client, l, clockAt(1)))
}

// tickTexts formats the ticks of a read.
func tickTexts(t *testing.T, r *readerOf[tick], q *testQuery[tick], series string, from, to time.Time, o ReadOptions) string {
	t.Helper()
	return strings.Join(made(t, readOf(t.Context(), r, q, seriesOf(tick{sample: sample{Series: series}}), from, to, o), tick.String), " ")
}

// showTicks formats ticks like tickTexts.
func showTicks(ticks []tick, o ReadOptions) string {
	ticks = slices.Clone(ticks)
	if o.NewestFirst {
		slices.Reverse(ticks)
	}
	if o.Limit > 0 {
		ticks = ticks[:min(o.Limit, len(ticks))]
	}
	var out []string
	for _, e := range ticks {
		out = append(out, e.String())
	}
	return strings.Join(out, " ")
}

// Rows of an instant without events are skipped: Latest finds the newest event in the
// same instant or before it.
func TestTiesWithoutEvents(t *testing.T) {
	l := ticks()
	all := inOrder(func(e tick) bool { return e.Series == "b" })
	for n := range len(all) + 1 {
		left := all[:n]
		onBothReaders(t, newTicks(t, l, left, all[n:]), l, func(path string, r *readerOf[tick]) {
			want := showTicks(left, ReadOptions{NewestFirst: true, Limit: 1})
			latest, err := r.Latest(t.Context(), tick{sample: sample{Series: "b"}})
			if errors.Is(err, ErrNotFound) != (n == 0) || err == nil && latest.String() != want {
				t.Errorf("%s, %d events: %v, %v, want %s", path, n, latest, err, want)
			}
			for query, q := range tickQueries() {
				if got := tickTexts(t, r, q, "", at(0), at(60), ReadOptions{LatestOnly: true}); got != want {
					t.Errorf("%s, %d events: %s: %s, want %s", path, n, query, got, want)
				}
			}
			for limit := range len(all) {
				o := ReadOptions{NewestFirst: true, Limit: limit}
				if got := tickTexts(t, r, wholeOf(r), "b", at(0), at(60), o); got != showTicks(left, o) {
					t.Errorf("%s, %d events: %+v: %s, want %s", path, n, o, got, showTicks(left, o))
				}
			}
		})
	}
}

// A read that fails within an instant yields nothing of it, because the first events
// may be in rows that did not arrive.
func TestErrorWithinAnInstant(t *testing.T) {
	l := ticks()
	bt := newTicks(t, l, tickEvents(), nil)
	lost := errors.New("lost")
	all := inOrder(func(e tick) bool { return e.Series == "b" })
	for _, o := range []ReadOptions{{NewestFirst: true}, {NewestFirst: true, Limit: 3}, {}, {Limit: 4}, {LatestOnly: true}} {
		want := showTicks(all, ReadOptions{NewestFirst: o.NewestFirst || o.LatestOnly, Limit: o.Limit})
		for after := range len(all) {
			client := tableClient{bt.Client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI {
				left := after
				return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
					stopped := false
					err := api.ReadRows(ctx, set, func(row bigtable.Row) bool {
						if left == 0 {
							return false
						}
						left--
						stopped = !f(row)
						return !stopped
					}, opts...)
					if err == nil && left == 0 && !stopped {
						err = lost
					}
					return err
				}}
			}}
			var got []string
			var failed error
			for e, err := range newReaderOf(client, l, clockAt(1)).Read(t.Context(), seriesOf(tick{sample: sample{Series: "b"}}), at(0), at(60), o) {
				if failed = err; err == nil {
					got = append(got, e.String())
				}
			}
			text := strings.Join(got, " ")
			if !strings.HasPrefix(want, text) || text != want && !o.LatestOnly && !errors.Is(failed, lost) {
				t.Errorf("%+v, after %d rows: %q, %v, want a beginning of %q", o, after, text, failed, want)
			}
		}
	}
}
