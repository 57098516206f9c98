package alltypes

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// refusing is a client whose tables reject everything.
type refusing struct{ bigtable.TableAPI }

func (r refusing) OpenTable(string) bigtable.TableAPI { return r }

func (refusing) Apply(context.Context, string, *bigtable.Mutation, ...bigtable.ApplyOption) error {
	return status.Error(codes.PermissionDenied, "no")
}

func (r refusing) ApplyBulk(ctx context.Context, keys []string, _ []*bigtable.Mutation, _ ...bigtable.ApplyOption) ([]error, error) {
	return nil, r.Apply(ctx, "", nil)
}

// shared returns an event with memory in every part that can refer to memory.
func shared() SampleEvent {
	e := full()
	e.Tag, e.Raw, e.Document = []byte("tag"), []byte("raw"), json.RawMessage(`{"a":1}`)
	e.MaybeRaw, e.MaybeDocument = []byte("maybe"), json.RawMessage(`[1]`)
	e.DefaultRaw, e.DefaultDocument = []byte("default"), json.RawMessage(`{}`)
	return e
}

// scribble overwrites all memory that an event shares.
func scribble(e *SampleEvent) {
	for _, b := range [][]byte{e.Tag, e.Raw, e.Document, e.MaybeRaw, e.MaybeDocument, e.DefaultRaw, e.DefaultDocument} {
		for i := range b {
			b[i] = 'x'
		}
	}
	*e.MaybeText, *e.MaybeFlag, *e.MaybeSmall, *e.MaybeCount, *e.MaybeMask, *e.MaybeTotal = "x", true, -1, -1, 99, 99
	*e.MaybeLoad, *e.MaybeRatio, *e.MaybeAt, *e.MaybeTook, *e.MaybeID, *e.MaybeState = -1, -1, end, -1, codec.UUID{99}, 99
}

// TestBatcherOwnsItsEvents reuses the memory of an event as soon as Add has returned:
// the failed event must equal the one that was added.
func TestBatcherOwnsItsEvents(t *testing.T) {
	var got []SampleEvent
	b := NewSampleBatcher(NewSampleWriter(refusing{}, writing), func(e SampleEvent, err error) { got = append(got, e) }, store.BatcherOptions{MaxAge: time.Hour})
	e := shared()
	check(t, b.Add(t.Context(), e))
	scribble(&e)
	sparse := plain() // what is nil or empty stays so
	sparse.Time = sparse.Time.Add(time.Minute)
	check(t, b.Add(t.Context(), sparse))
	if b.Close(t.Context()) == nil {
		t.Error("nothing failed")
	}
	if diff := cmp.Diff([]SampleEvent{shared(), sparse}, got); diff != "" {
		t.Errorf("(-added +failed)\n%s", diff)
	}
}

// TestBatcherDistinguishesSeries reuses the memory of a series value for the next
// series: the events must go to the rows of their series.
func TestBatcherDistinguishesSeries(t *testing.T) {
	bt := newServer(t)
	b := NewSampleBatcher(NewSampleWriter(bt.Client, writing), func(_ SampleEvent, err error) { t.Error(err) }, store.BatcherOptions{MaxAge: time.Hour})
	e := shared()
	for i, tag := range []string{"one", "two"} {
		copy(e.Tag, tag)
		e.Time, e.Count = start.Add(time.Duration(i)*time.Minute), int64(i)
		check(t, b.Add(t.Context(), e))
	}
	check(t, b.Close(t.Context()))
	for _, l := range sampleMappings {
		for i, tag := range []string{"one", "two"} {
			base := seriesOf(shared())
			base.Tag = []byte(tag)
			var counts []int64
			for _, e := range all(t, readTable(t, bt.Client, l, base)) {
				counts = append(counts, e.Count)
			}
			if diff := cmp.Diff([]int64{int64(i)}, counts); diff != "" {
				t.Errorf("%s, series %s (-want +got)\n%s", l.Table.ID, tag, diff)
			}
		}
	}
}
