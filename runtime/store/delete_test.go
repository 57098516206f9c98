package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// inTable moves a mapping and the earlier ones to another table.
func inTable(id string, of func() *mappingOf[sample]) *mappingOf[sample] {
	l := of()
	for _, p := range l.Periods() {
		p.Table.ID = id
	}
	return l
}

// storedCells returns the number of cells in a table.
func storedCells(t *testing.T, s *storetest.Bigtable, table string) (n int) {
	t.Helper()
	eachCell(t, s.Client, table, func(bigtable.ReadItem) { n++ })
	return n
}

// TestDeleteKeepsLimits deletes more cells of a row than one request may.
func TestDeleteKeepsLimits(t *testing.T) {
	const n = 107
	l := offsetBlobs()
	var all []sample
	for i := range n + 1 {
		all = append(all, sample{Series: "a", Time: day0.Add(time.Duration(i) * time.Millisecond)})
	}
	s := holding(t, l, 0, all)
	var sizes []int
	client := through(s.Client, func(a asked, send func() error) error {
		if a.rows != nil {
			sizes = append(sizes, len(a.rows))
		}
		return send()
	})
	var progress []int
	w := newWriterOf(client, []*mappingOf[sample]{l})
	w.Writer.perRequest = 50
	got, err := w.DeleteRange(t.Context(), seriesOf(sample{Series: "a"}), day0, day0.Add(n*time.Millisecond), DeleteOptions{Progress: func(d Deletion) { progress = append(progress, d.Tables[0].Mutations) }})
	must(t, err)
	if got.Events() != n || got.Tables[0].Mutations != n || got.Tables[0].Rows != 1 || storedCells(t, s, l.Table.ID) != 1 {
		t.Errorf("%v; %d cells are left", got, storedCells(t, s, l.Table.ID))
	}
	if len(sizes) != 3 || len(progress) != len(sizes) || !slices.IsSorted(progress) || progress[len(progress)-1] != n {
		t.Errorf("requests of %d rows; progress %d", sizes, progress)
	}
}

// TestDeleteBreaksOff lets each request fail, before or after it was applied: the next call deletes the rest.
func TestDeleteBreaksOff(t *testing.T) {
	rejected := status.Error(codes.PermissionDenied, "no")
	for _, applied := range []bool{false, true} {
		for failing := range 4 { // a read and a change of each table
			days, singles := days(), singles()
			s := newBigtable(t, days, singles)
			mappings := []*mappingOf[sample]{days, singles}
			var all []sample
			for i := range 5 {
				all = append(all, sample{Series: "a", Time: day0.AddDate(0, 0, i)}, sample{Series: "b", Time: day0.AddDate(0, 0, i)})
			}
			must(t, newWriterOf(s.Client, mappings).WriteAll(t.Context(), all))
			requests, ops := 0, map[string]Operation{}
			client := through(s.Client, func(_ asked, send func() error) error {
				if requests++; requests-1 != failing {
					return send()
				}
				if applied {
					_ = send()
				}
				return rejected
			})
			w := newWriterOf(client, mappings, WriterOptions{Hooks: Hooks{End: func(_ context.Context, op Operation, _ error) { ops[op.Table] = op }}})
			got, err := w.DeleteAll(t.Context(), seriesOf(sample{Series: "a"}))
			table := mappings[failing/2].Table.ID
			if failed, is := errors.AsType[*DeleteError](err); !errors.Is(err, rejected) || failing%2 == 1 && (!is || failed.Table != table) {
				t.Fatal(got, err)
			}
			if op := ops[table]; got.Events() != 5*(failing/2) || op.Name != "DeleteSeries" || op.Requests != 1+failing%2 || op.Events != 0 {
				t.Errorf("request %d, applied %t: %d events are certain to be deleted, %+v", failing, applied, got.Events(), op)
			}
			_, err = w.DeleteAll(t.Context(), seriesOf(sample{Series: "a"}))
			must(t, err)
			cells := []int{storedCells(t, s, days.Table.ID), storedCells(t, s, singles.Table.ID)}
			assert.Same(t, []int{5, 5}, cells, failing, applied)
		}
	}
}

// TestDeleteRejectedRow lets Bigtable reject one row of a request: the error names it, and nothing counts as deleted.
func TestDeleteRejectedRow(t *testing.T) {
	l := singles()
	s := holding(t, l, 0, []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(1)}})
	rejected := status.Error(codes.FailedPrecondition, "no")
	client := tableClient{s.Client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, bulk: func(context.Context, []string, []*bigtable.Mutation) ([]error, error) {
			return []error{nil, rejected}, nil
		}}
	}}
	got, err := newWriterOf(client, []*mappingOf[sample]{l}).DeleteAll(t.Context(), seriesOf(sample{Series: "a"}))
	if failed, is := errors.AsType[*DeleteError](err); !is || !errors.Is(err, rejected) || failed.Table != l.Table.ID || !strings.HasPrefix(failed.Row, "a#") || got.Events() != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestDeleteStops ends the context after the first request of mutations.
func TestDeleteStops(t *testing.T) {
	l, other := days(), singles()
	s := newBigtable(t, l, other)
	must(t, newWriterOf(s.Client, []*mappingOf[sample]{l, other}).Write(t.Context(), sample{Series: "a", Time: day0}))
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	got, err := newWriterOf(s.Client, []*mappingOf[sample]{l, other}).DeleteAll(ctx, seriesOf(sample{Series: "a"}), DeleteOptions{Progress: func(Deletion) { cancel(stop) }})
	if !errors.Is(err, stop) || got.Tables[0].Events != 1 || len(got.Tables) == 2 && got.Tables[1].Events != 0 {
		t.Errorf("%v, %v", got, err)
	}
	same(t, []int{0, 1}, []int{storedCells(t, s, l.Table.ID), storedCells(t, s, other.Table.ID)})
}

// TestDeleteSkipsForeignRows checks that undecodable rows and columns stay, and that the first of them is reported.
func TestDeleteSkipsForeignRows(t *testing.T) {
	l := offsetBlobs()
	s := newBigtable(t, l)
	w := newWriterOf(s.Client, []*mappingOf[sample]{l})
	must(t, w.WriteAll(t.Context(), []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(5)}, {Series: "a", Time: day0.AddDate(0, 0, 2)}}))
	for _, row := range []string{"a#2021-03-05", "a#2021-03-20x"} {
		setCell(t, s.Client, l.Table.ID, row, l.Table.Families[0].Name, "not a time", time.Unix(0, 0), nil)
	}
	got, err := w.DeleteRange(t.Context(), seriesOf(sample{Series: "a"}), at(-1), day0.AddDate(0, 0, 9))
	must(t, err)
	same(t, []int{3, 1}, []int{got.Events(), storedCells(t, s, l.Table.ID)}) // of days within the range
	must(t, w.WriteAll(t.Context(), []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(5)}}))
	got, err = w.DeleteAll(t.Context(), seriesOf(sample{Series: "a"}))
	same(t, "a#2021-03-20x", asError[*DecodeError](t, err).Row)
	same(t, []int{2, 1}, []int{got.Events(), storedCells(t, s, l.Table.ID)})
}

// TestDeleteRefuses checks the errors of calls that delete nothing.
func TestDeleteRefuses(t *testing.T) {
	l := days()
	s := newBigtable(t, l)
	w := newWriterOf(s.Client, []*mappingOf[sample]{l})
	for _, to := range []time.Time{at(0), {}} {
		_, err := w.DeleteRange(t.Context(), seriesOf(sample{Series: "a"}), at(1), to)
		wantRange(t, err, at(1), to)
	}
	_, err := w.DeleteAll(t.Context(), seriesOf(sample{}))
	assert.Is(t, codec.ErrEmpty, err)
	_, err = w.Delete(t.Context(), []sample{{Series: "a#b", Time: day0}})
	assert.Is(t, codec.ErrDelimiter, err)
	got, err := w.Delete(t.Context(), nil)
	must(t, err)
	same(t, []int{0, 1}, []int{got.Events(), len(got.Tables)})
	_, err = newWriterOf(s.Client, []*mappingOf[sample]{singles()}).DeleteAll(t.Context(), seriesOf(sample{Series: "a"}))
	wantMissing(t, err, "singles")
}

// TestDeleteOfNumberedEvent deletes an event that an earlier layout cannot store: that of the same time stays.
func TestDeleteOfNumberedEvent(t *testing.T) {
	older, newest := days(), offsetBlobs()
	adjusted(older, func(m *mapping) { m.sequence = ofSequence })
	newest.Since, newest.Older = day0.AddDate(0, 0, 1), []*mappingOf[sample]{older}
	s := newBigtable(t, newest)
	w := newWriterOf(s.Client, []*mappingOf[sample]{newest})
	must(t, w.Write(t.Context(), sample{Series: "a", Time: day0}))
	got, err := w.Delete(t.Context(), []sample{{Series: "a", Time: day0, Sequence: 5}})
	must(t, err)
	same(t, []int{0, 1}, []int{got.Events(), storedCells(t, s, older.Table.ID)})
}

// TestDeleteCountsRows deletes ranges that cut the millisecond of an event: only rows that lose data count.
func TestDeleteCountsRows(t *testing.T) {
	for _, l := range []*mappingOf[sample]{days(), singles(), offsets(), offsetBlobs()} {
		s := newBigtable(t, l)
		w := newWriterOf(s.Client, []*mappingOf[sample]{l})
		must(t, w.WriteAll(t.Context(), []sample{{Series: "a", Time: at(1)}, {Series: "a", Time: at(90000)}}))
		for _, rows := range []int{0, 1} {
			got, err := w.DeleteRange(t.Context(), seriesOf(sample{Series: "a"}), at(1).Add(time.Microsecond), at(90000).Add(time.Duration(rows)*time.Microsecond))
			must(t, err)
			assert.Same(t, []int{rows, rows}, []int{got.Events(), got.Tables[0].Rows}, l.Pattern)
		}
	}
}
