package store

import (
	"errors"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestMerge merges events in a table, one by one, in a call, and in batches: fields that they lack are kept, and a usual write
// replaces them.
func TestMerge(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l})
	merge := WriteOptions{Merge: true}
	check := func(value uint64, note string) {
		t.Helper()
		got, err := collect(t.Context(), newReaderOf(bt.Client, l), "a", day0, at(100))
		must(t, err)
		want := sample{Series: "a", Time: at(1), Value: value, Note: []byte(note)}
		if note == "" {
			want.Note = nil
		}
		if len(got) != 1 || got[0].same() != want.same() {
			t.Errorf("%v, want %v", got, want)
		}
	}
	e := func(value uint64, note string) sample {
		return sample{Series: "a", Time: at(1), Value: value, Note: []byte(note)}
	}
	less := func(value uint64) sample { return sample{Series: "a", Time: at(1), Value: value} }
	must(t, w.Write(t.Context(), e(1, "x")))
	must(t, w.Write(t.Context(), less(2), merge))
	check(2, "x")
	must(t, w.WriteAll(t.Context(), []sample{less(3), e(4, "y"), less(5)}, merge))
	check(5, "y")
	b := newBatcherOf(w, nil, BatcherOptions{Merge: true})
	must(t, b.Add(t.Context(), e(6, "z")))
	must(t, b.Add(t.Context(), less(7)))
	must(t, b.Close(t.Context()))
	check(7, "z")
	if err := w.Write(t.Context(), less(8), WriteOptions{Merge: true, IfAbsent: true}); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	must(t, w.Write(t.Context(), less(8)))
	check(8, "")
}

// TestMergeRefused checks which tables do not support Merge: nothing is written.
func TestMergeRefused(t *testing.T) {
	for _, p := range codec.Patterns() {
		l := days()
		l.Pattern = p
		for _, life := range []codec.TimestampSource{codec.TimestampEvent, codec.TimestampWrite} {
			l.Table.Families[0].Life.Timestamp = life
			err := l.untyped().unmergeable("days")
			refused := p.OneValue() || p == codec.SingleUnserialized && life == codec.TimestampWrite
			if _, is := errors.AsType[*MergeError](err); is != refused {
				t.Errorf("%s by %d: %v", p, life, err)
			}
		}
	}
	l := days()
	l.Pattern = codec.BucketSerialized
	bt := newBigtable(t, l)
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l})
	_, one := errors.AsType[*MergeError](w.Write(t.Context(), sample{Series: "a", Time: at(1)}, WriteOptions{Merge: true}))
	_, batched := errors.AsType[*MergeError](newBatcherOf(w, nil, BatcherOptions{Merge: true}).Add(t.Context(), sample{Series: "a", Time: at(1)}))
	got, err := collect(t.Context(), newReaderOf(bt.Client, l), "a", day0, at(100))
	if !one || !batched || len(got) > 0 || err != nil {
		t.Errorf("refused: %t, %t; stored: %v, %v", one, batched, got, err)
	}
}

// TestMergeStates merges events of a table of states. The row may lack the stored event, whose writer was killed: readers search
// until a newer event arrives. The class: rows with a part of an event.
func TestMergeStates(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	w := c.writer(c.Client)
	merge := WriteOptions{Merge: true}
	must(t, w.Write(t.Context(), nowSample(1, 'a', "a")))
	must(t, c.events().Write(t.Context(), nowSample(2, 'b', "killed")))
	must(t, w.Write(t.Context(), nowSample(2, 'c', ""), merge))
	c.agree("a")
	got, err := c.reader(c.Client).Latest(t.Context(), sample{Series: "a"})
	if must(t, err); got.same() != nowSample(2, 'c', "killed").same() {
		t.Errorf("%s", got.same())
	}
	must(t, w.Write(t.Context(), nowSample(1, 'd', ""), merge)) // an older one
	c.agree("a")
	must(t, w.Write(t.Context(), nowSample(3, 'e', "whole"), merge))
	same(t, 1, c.requests())
	must(t, w.WriteAll(t.Context(), []sample{nowSample(4, 'f', "f"), nowSample(5, 'g', ""), nowSample(5, 'h', "h"), nowSample(5, 'i', "")}, merge))
	c.agree("a")
	report, err := backfillOf(t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Repair: true, Now: c.clock, Workers: -1})
	must(t, err)
	if c.agree("a"); report.Changed != 1 || c.requests() != 1 {
		t.Errorf("repaired: %+v, %d requests", report.BackfillCounts, c.requests())
	}
}
