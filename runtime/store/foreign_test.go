package store

import (
	"errors"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// offsets returns days with one column per sample.
func offsets() *mappingOf[sample] {
	l := days()
	l.Pattern, l.Table.ID, l.Columns = codec.BucketOffsets, "offsets", []Column{{Name: "v", Whole: true}}
	l.Put = putValue(l)
	return l
}

// everywhere returns a query of all series whose keys select the time.
func everywhere(l *mappingOf[sample]) *testQuery[sample] {
	q := all("")
	q.Keys = func(*sample) (*codec.KeyPattern, error) {
		return &codec.KeyPattern{Before: codec.KeyPieces{{Any: true}, {Text: "#"}}, Timed: true}, nil
	}
	return q
}

// spread returns samples of series s, one per day.
func spread(n int) []sample {
	samples := numbered(n)
	for i := range samples {
		samples[i].Series, samples[i].Time = "s", at(i*86400)
	}
	return samples
}

// In a bucket, the cell timestamp is the event time. A cell of another program whose
// timestamp is not in the bucket of its row is an error and not an event; the other
// events of the row are read. If it is newer than them, it hides the newest event, and Latest reports it.
func TestTimestampsOutsideTheBucket(t *testing.T) {
	for _, l := range []*mappingOf[sample]{days(), metrics()} {
		for _, stray := range []time.Time{at(0), at(2 * 86400), at(90 * 86400)} {
			bt, one := newBigtable(t, l), *l
			one.Columns = l.Columns[:1]
			must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(1)).WriteAll(t.Context(), spread(2)))
			row, qualifier := "s#2021-03-06", "v.1"
			if l.Pattern == codec.BucketNewColumns {
				row, qualifier = "s#v.1#2021-03-06", "77"
			}
			m := bigtable.NewMutation()
			m.Set("f.1", qualifier, bigtable.Time(stray), codec.Binary.Uint64.Append(nil, 77))
			must(t, bt.Client.Open(l.Table.ID).Apply(t.Context(), row, m))
			r := newReaderOf(bt.Client, &one, clockAt(1))
			for _, o := range []ReadOptions{{}, {NewestFirst: true}} {
				events, failed := 0, []error(nil)
				for _, err := range r.Read(t.Context(), seriesOf(sample{Series: "s"}), at(0), at(100*86400), o) {
					if events++; err != nil {
						failed = append(failed, err)
					}
				}
				var decode *DecodeError
				if events != 3 || len(failed) != 1 || !errors.As(failed[0], &decode) || !errors.Is(failed[0], codec.ErrTimeRange) || decode.Row != row || !decode.Time.Equal(stray) {
					t.Errorf("%s, %v, %+v: %v, %v", l.Table.ID, stray, o, events, failed)
				}
			}
			if e, err := r.Latest(t.Context(), sample{Series: "s"}); stray.After(at(86400)) && !errors.Is(err, codec.ErrTimeRange) {
				t.Errorf("%s: %+v, %v", l.Table.ID, e, err)
			}
		}
	}
}
