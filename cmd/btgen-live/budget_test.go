package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// largeEvents is an input of events that are large, as a small file can describe them: a
// dictionary of Parquet has a value once, and any number of events have it.
type largeEvents struct {
	format.Reader
	sizes []int
	line  int
	read  atomic.Int64 // bytes
}

func (r *largeEvents) Next() (dynamic.Event, int, error) {
	if r.line == len(r.sizes) {
		return dynamic.Event{}, r.line, io.EOF
	}
	size := r.sizes[r.line]
	r.line++
	r.read.Add(int64(size))
	return dynamic.Event{Values: []any{strings.Repeat("x", size)}}, r.line, nil
}

// The events that were read and are not yet written take a bounded part of the memory, however
// large they are, and each is written.
func TestMemoryOfEvents(t *testing.T) {
	for name, sizes := range testlong.SampleMap(map[string][]int{
		"large":  slices.Repeat([]int{2 << 20}, 300),
		"larger": {1, memoryBytes - 1000, memoryBytes, memoryBytes + 1, 1, 3 * memoryBytes, 1},
		"mixed":  slices.Concat(slices.Repeat([]int{100}, 6000), slices.Repeat([]int{30 << 20}, 5), slices.Repeat([]int{100}, 6000)),
	}, 3) {
		t.Run(name, func(t *testing.T) {
			in := &largeEvents{sizes: sizes}
			var written, most atomic.Int64
			r := newRequest("write", &cobra.Command{})
			r.fromLine, r.schema = 1, dynamic.New(&layout.Layout{Precision: time.Nanosecond})
			l := newLoading(r, "events")
			l.write = func(_ context.Context, events []dynamic.Event) error {
				most.Store(max(most.Load(), in.read.Load()-written.Load()))
				for i := range events {
					written.Add(int64(len(events[i].Values[0].(string))))
				}
				return nil
			}
			must(t, l.run(t.Context(), in))
			total, largest := int64(0), 0
			for _, size := range sizes {
				total, largest = total+int64(size), max(largest, size)
			}
			if written.Load() != total || l.events != len(sizes) {
				t.Errorf("%d events and %d bytes are written, instead of %d and %d", l.events, written.Load(), len(sizes), total)
			}
			if limit := int64(memoryBytes + 2*largest); most.Load() > limit { // the last may be read before it waits
				t.Errorf("%d bytes were in memory, which is over %d", most.Load(), limit)
			}
		})
	}
}
