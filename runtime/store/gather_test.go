package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// gatheredMappings are mappings of which several spans are read with one request.
func gatheredMappings() []*mappingOf[sample] {
	return []*mappingOf[sample]{metrics(), unsorted(metrics()), days(), singles()}
}

// gatheredSamples returns two samples per day for each series.
func gatheredSamples(days int, series ...string) (out []sample) {
	for i := range 2 * days {
		for _, s := range series {
			out = append(out, sample{Series: s, Time: at(i/2*86400 + 60*i), Value: uint64(i), Note: []byte("note"), Class: 1, ExpiresAt: at(86400 * 100)})
		}
	}
	return out
}

// gatheredQuery returns a query of several spans.
func gatheredQuery(l *mappingOf[sample], r *readerOf[sample]) *testQuery[sample] {
	if l.Pattern == codec.BucketNewColumns {
		return wholeOf(r)
	}
	return of("s0", "s1")
}

// A read of several spans yields no event after its context has ended, wherever that happens: in the loop, during a
// request for all or for the rest, or when the rows are in memory.
func TestGatheredContextEnds(t *testing.T) {
	type end struct {
		gathered, request, chunk int // before so many chunks of which request are sent
		events                   int // or after so many events; 0 if it does not end there
	}
	never := end{maxGathered, -1, 0, 0}
	for i, l := range append(gatheredMappings(), offsets(), classed(metrics()), expires(singles())) {
		client, b := inChunks(t, holding(t, l, 0, gatheredSamples(3, "s0", "s1")))
		var now end
		var cancel context.CancelFunc
		b.sends = func(request, chunks int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if request == now.request && chunks == now.chunk {
				cancel()
			}
		}
		read := func(e end, newestFirst bool) (out []string, late int, last error) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			b.mu.Lock()
			now, cancel, b.requests = e, stop, 0
			b.mu.Unlock()
			r := newReaderOf(client, l, clockAt(86400*3))
			r.reader.gathered = e.gathered
			ended := false
			for event, err := range readOf(ctx, r, gatheredQuery(l, r), seriesOf(sample{Series: "s0"}), at(0), at(86400*3), ReadOptions{NewestFirst: newestFirst}) {
				if err != nil {
					return out, late, err
				}
				if ended {
					late++
				}
				if out = append(out, rowText(event)); len(out) == e.events {
					stop()
				}
				ended = ctx.Err() != nil
			}
			return out, late, nil
		}
		for _, newestFirst := range []bool{false, true} {
			want, _, err := read(never, newestFirst)
			must(t, err)
			for _, gathered := range []int{0, 100, 300, 1000, 3000} {
				got, _, err := read(end{gathered, -1, 0, 0}, newestFirst)
				if must(t, err); len(want) < 6 || !slices.Equal(got, want) {
					t.Errorf("%s, %d bytes, newest first %v:\n%v\nwant\n%v", l.Table.ID, gathered, newestFirst, got, want)
				}
			}
			if i > 3 {
				continue
			}
			for _, e := range []end{
				{maxGathered, 0, 0, 0}, {maxGathered, 0, 1, 0}, {maxGathered, 0, 3, 0}, {maxGathered, -1, 0, 1}, {maxGathered, -1, 0, 3}, {maxGathered, -1, 0, len(want) - 1},
				{1, 0, 0, 0}, {1, 1, 0, 0}, {1, -1, 0, 1}, {1, -1, 0, 3}, {1, -1, 0, len(want) - 1},
			} {
				got, late, err := read(e, newestFirst)
				if !errors.Is(err, context.Canceled) || late > 0 {
					t.Errorf("%s, %+v: %d events of %d, %d of them late, %v", l.Table.ID, e, len(got), len(want), late, err)
				}
				if len(got) >= len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Errorf("%s, %+v:\n%v\nof\n%v", l.Table.ID, e, got, want)
				}
			}
		}
	}
}

// A read of several spans holds no more than the limit and the rows that arrived last.
func TestGatheredMemory(t *testing.T) {
	for _, l := range gatheredMappings() {
		bt := holding(t, l, 0, gatheredSamples(100, "s0", "s1"))
		for _, connect := range paths {
			client := opened(t)(connect(t.Context(), bt.Addr))
			r := newReaderOf(client, l, clockAt(86400*100))
			r.reader.gathered = 2000
			of, _ := gatheredQuery(l, r).of(Selection{})
			read := r.reader.begin(t.Context(), of, event{&sample{Series: "s0"}}, at(0), at(86400*100), nil)
			plan, err := read.plan()
			must(t, err)
			p := request.Part{Part: &plan.Parts[0]}
			several := read.severalSpans(p)
			must(t, several.Gather(r.reader.gathered))
			var held []wire.Row
			for _, s := range several.Gathered {
				for _, row := range s.Queue {
					held = append(held, row.Row)
				}
			}
			slices.SortFunc(held, func(a, b wire.Row) int { return strings.Compare(a.Key(), b.Key()) })
			size, last := 0, held[len(held)-1]
			for _, row := range held {
				if row.Last() && !row.With(last) {
					size += row.Size()
				}
			}
			if several.Part.Complete || size > r.reader.gathered || size+last.Size() <= r.reader.gathered || several.Part.Read != last.Key() {
				t.Errorf("%s: all: %v; %d bytes and %d; up to %q of %q", l.Table.ID, several.Part.Complete, size, last.Size(), several.Part.Read, last.Key())
			}
		}
	}
}
