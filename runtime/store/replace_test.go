package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
)

// TestReplaceAmongReads steps a read of two rows and a Replace of an event in one of them by an event
// in the other one through all interleavings, in both directions. A read that began after the event
// was written, or ended before the other was deleted, finds one of them. A read around both steps finds
// none if it had passed the first row before the write and reached the second after the deletion, which
// no order of the steps could prevent in both directions: Bigtable reads several rows at several moments.
func TestReplaceAmongReads(t *testing.T) {
	l := singles()
	bt := newBigtable(t, l)
	event := func(second int) sample { return sample{Series: "s", Time: at(second), Value: uint64(second)} }
	key := func(second int) string { return fmt.Sprintf("s#%d", at(second).UnixMilli()) }
	for _, old := range []int{1, 2} {
		for _, newestFirst := range []bool{false, true} {
			rows := []int{1, 2}
			if newestFirst {
				slices.Reverse(rows)
			}
			// The write and the deletion come before the row with their number, or after the last one.
			for write := range len(rows) + 1 {
				for deletion := write; deletion <= len(rows); deletion++ {
					r := &replaces{t: t, l: l, bt: bt.Client}
					must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(10)).Write(t.Context(), event(old)))
					reading := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
						return tableFunc{TableAPI: api, readRows: func(ctx context.Context, _ bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
							for i, second := range append(slices.Clone(rows), 0) {
								if i == write {
									r.start(event(old), event(3-old))
								}
								if i == deletion {
									r.finish()
								}
								if second > 0 {
									if err := api.ReadRows(ctx, bigtable.SingleRow(key(second)), f, opts...); err != nil {
										return err
									}
								}
							}
							return nil
						}}
					}}
					var got []uint64
					for e, err := range NewReader(reading, l, clockAt(10)).Read(t.Context(), SeriesOf(sample{Series: "s"}), at(0), at(10), ReadOptions{NewestFirst: newestFirst}) {
						must(t, err)
						got = append(got, e.Value)
					}
					missed := slices.Index(rows, 3-old) < write && slices.Index(rows, old) >= deletion
					if (len(got) == 0) != missed {
						t.Errorf("old %d, newest first %v, write before %d, deletion before %d: found %v", old, newestFirst, write, deletion, got)
					}
					_, err := NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(10)).DeleteAll(t.Context(), SeriesOf(sample{Series: "s"}))
					must(t, err)
				}
			}
		}
	}
}

// replaces is a Replace that waits before it deletes the old event.
type replaces struct {
	t        *testing.T
	l        *Mapping[sample]
	bt       Client
	deletes  chan struct{} // closed when it deletes next
	goOn     chan struct{}
	finished chan error
}

// start starts the Replace, and waits until it has written the event.
func (r *replaces) start(old, updated sample) {
	r.deletes, r.goOn, r.finished = make(chan struct{}), make(chan struct{}), make(chan error, 1)
	hooks := Hooks{Start: func(ctx context.Context, op Operation) context.Context {
		if op.Name == "Delete" {
			close(r.deletes)
			<-r.goOn
		}
		return ctx
	}}
	w := NewWriter(r.bt, []*Mapping[sample]{r.l}, WriterOptions{Now: clockAt(10).Now, Hooks: hooks})
	go func() { r.finished <- w.Replace(context.Background(), old, updated) }()
	select {
	case <-r.deletes:
	case <-time.After(time.Minute):
		r.t.Fatal("Replace deletes nothing")
	}
}

// finish lets the Replace delete the old event.
func (r *replaces) finish() {
	close(r.goOn)
	must(r.t, <-r.finished)
}
