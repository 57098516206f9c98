package store

import (
	"context"
	"errors"
	"testing"
)

// Class: outcomes that claim less than is known. If the context ends before a request is sent, its events
// are not stored, whatever the way in which they are written.
func TestWritesWithEndedContext(t *testing.T) {
	bt := newBigtable(t, days())
	w := NewWriter(bt.Client, []*Mapping[sample]{days()})
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the request was abandoned")
	cancel(why)
	one, two := sample{Series: "a", Time: at(1)}, sample{Series: "b", Time: at(2)}
	for name, err := range map[string]error{
		"Write":    w.Write(ended, one),
		"WriteAll": w.WriteAll(ended, []sample{one, two}),
		"IfAbsent": w.WriteAll(ended, []sample{one, two}, WriteOptions{IfAbsent: true}),
		"Replace":  w.Replace(ended, one, two),
	} {
		var failed *WriteError
		if !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, f := range failed.Failures {
			if f.Outcome != Failed || !errors.Is(f.Err, why) {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
	r := NewReader(bt.Client, days())
	for _, series := range []string{"a", "b"} {
		if got, err := collect(t.Context(), r, series, at(0), at(9)); err != nil || len(got) != 0 {
			t.Errorf("series %s has %v: %v", series, got, err)
		}
	}
}
