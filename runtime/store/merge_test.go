package store

import (
	"errors"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestMerge merges events of a batch: fields that they lack are kept. With IfAbsent, those that exist are refused.
func TestMerge(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l})
	e := func(value uint64, note []byte) sample {
		return sample{Series: "a", Time: at(1), Value: value, Note: note}
	}
	must(t, w.Write(t.Context(), e(1, []byte("x"))))
	for value, note := range map[uint64][]byte{7: []byte("z"), 8: nil} {
		b := newBatcherOf(w, nil, BatcherOptions{Merge: true})
		must(t, errors.Join(b.Add(t.Context(), e(6, note)), b.Add(t.Context(), e(value, nil)), b.Close(t.Context())))
		got, err := collect(t.Context(), newReaderOf(bt.Client, l), "a", day0, at(100))
		if len(got) != 1 || got[0].Value != value || len(got[0].Note) != 1 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
	assert.Is(t, ErrExists, w.Write(t.Context(), e(8, nil), WriteOptions{Merge: true, IfAbsent: true}))
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
	e, b := sample{Series: "a", Time: at(1)}, newBatcherOf(w, nil, BatcherOptions{Merge: true})
	asError[*MergeError](t, w.Write(t.Context(), e, WriteOptions{Merge: true}))
	asError[*MergeError](t, b.Add(t.Context(), e))
	same(t, 0, storedCells(t, bt, l.Table.ID))
}
