package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/assert"
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

// A cell whose timestamp is outside its bucket is an error and not an event, and hides the newest event if it is
// newer. The other events of the row are read.
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
			setCell(t, bt.Client, l.Table.ID, row, "f.1", qualifier, stray, codec.Binary.Uint64.Append(nil, 77))
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
			if _, err := r.Latest(t.Context(), sample{Series: "s"}); stray.After(at(86400)) {
				assert.Is(t, codec.ErrTimeRange, err, l.Table.ID)
			}
		}
	}
}

// In a row with one column per event, the first cell of a column counts. A server may repeat names of columns or
// interleave families. Each column that is no time is one error, and the events around it are read.
func TestOffsetsOfUnusualRows(t *testing.T) {
	l := offsetBlobs()
	offset := func(second, sequence uint32) string {
		shape := l.untyped().shape()
		return string(shape.Offset.Append(nil, at(int(second)), sequence))
	}
	value := func(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
	key, err := rowOf(l, &sample{Series: "s0", Time: at(0)}, 0)
	must(t, err)
	row := new(bigtablepb.ReadRowsResponse)
	for _, c := range []struct {
		family, qualifier string
		millis            int64
		value             string
	}{
		{"f.1", offset(1, 0), 9, value(10)},
		{"f.1", offset(1, 0), 8, value(99)}, // an older cell
		{"f.1", offset(1, 1), 9, value(11)}, // another event
		{"other", "x", 9, value(99)},
		{"f.1", offset(1, 1), 7, value(99)},
		{"f.1", "bad", 9, value(99)},
		{"f.1", "bad", 8, value(99)},
		{"other", "x", 8, value(99)},
		{"f.1", "bad", 7, value(99)},
		{"f.1", "worse", 9, value(99)},
		{"f.1", offset(2, 0), 9, value(20)},
		{"f.1", offset(2, 0), 9, value(99)},
		{"f.1", "bad", 9, value(99)},
	} {
		row.Chunks = append(row.Chunks, &bigtablepb.ReadRowsResponse_CellChunk{
			FamilyName: wrapperspb.String(c.family), Qualifier: wrapperspb.Bytes([]byte(c.qualifier)),
			TimestampMicros: at(0).UnixMicro() + c.millis*1000, Value: []byte(c.value),
		})
	}
	row.Chunks[0].RowKey = key
	row.Chunks[len(row.Chunks)-1].RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
	addr := startServer(t, &scripted{read: func(_ int, _ *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
		return stream.Send(row)
	}})
	for name, connect := range paths {
		var got []string
		r := newReaderOf(opened(t)(connect(t.Context(), addr)), l, clockAt(10))
		for e, err := range r.Read(t.Context(), seriesOf(sample{Series: "s0"}), at(0), at(100)) {
			if failed, undecodable := errors.AsType[*DecodeError](err); undecodable {
				got = append(got, failed.Column)
				continue
			}
			must(t, err)
			got = append(got, fmt.Sprintf("%d/%d=%d", int(e.Time.Sub(at(0)).Seconds()), e.Sequence, e.Value))
		}
		assert.Same(t, []string{"bad", "worse", "bad", "1/0=10", "1/1=11", "2/0=20"}, got, name)
	}
}
