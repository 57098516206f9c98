package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// deleteCase is a table with samples of which some are deleted.
type deleteCase struct {
	mapping *Mapping[sample]
	written []sample // in the order of their writes
	stored  time.Time
	deleted time.Time // when the deletion happens
	client  *bigtable.Client
}

// deleteMappings are mappings of all kinds, some with earlier ones.
func deleteMappings() []*Mapping[sample] {
	out := strategies()
	for i := range shapes {
		out = append(out, inTable(fmt.Sprintf("shape%d", i), func() *Mapping[sample] {
			l, _ := shapes[i].mapping(time.Time{})
			return l
		}))
		out = append(out, inTable(fmt.Sprintf("periods%d", i), func() *Mapping[sample] {
			older, _ := shapes[(i+1)%len(shapes)].mapping(time.Time{})
			l, _ := shapes[i].mapping(edge, older)
			return l
		}))
	}
	return out
}

// inTable moves a mapping and the earlier ones to another table.
func inTable(id string, of func() *Mapping[sample]) *Mapping[sample] {
	l := of()
	for _, p := range l.Periods() {
		p.Table.ID = id
	}
	return l
}

// foreignFamily is the family of another program in the tables.
const foreignFamily = "foreign"

// newDeleteCase creates the table twice: with the prefix all_, for all samples, and with
// rest_, for those that are not deleted.
func newDeleteCase(t *testing.T, l *Mapping[sample]) *deleteCase {
	tables := Tables([]*Mapping[sample]{l})
	for i := range tables {
		tables[i].Families = append(slices.Clone(tables[i].Families), Family{Name: foreignFamily})
	}
	c := &deleteCase{mapping: l}
	s := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		for _, prefix := range []string{"all_", "rest_"} {
			if err := SetUp(ctx, b, prefix, tables); err != nil {
				return err
			}
		}
		return nil
	})
	c.client = s.Client
	return c
}

func (c *deleteCase) writer(prefix string) *Writer[sample] {
	return NewWriter(c.client, []*Mapping[sample]{c.mapping}, WriterOptions{TablePrefix: prefix, Now: func() time.Time { return c.stored }})
}

// draw draws samples of three series, at few times, so that many are in one place.
func (c *deleteCase) draw(t *rapid.T) {
	c.stored = edge.Add(9 * day)
	c.deleted = c.stored.Add(time.Duration(rapid.SampledFrom([]int{0, 5000}).Draw(t, "days later")) * day)
	c.written = nil
	for range rapid.IntRange(1, 30).Draw(t, "samples") {
		e := sample{Series: rapid.SampledFrom([]string{"a1", "a2", "a"}).Draw(t, "series"), Time: drawTime(t), Value: rapid.Uint64Max(3).Draw(t, "value")}
		if rapid.Bool().Draw(t, "note") {
			e.Note = []byte("note")
		}
		if fields := c.mapping.untyped().ttlFields(event{&e}); fields.Class != nil {
			*fields.Class = rapid.IntRange(1, 2).Draw(t, "class")
		} else if fields.ExpiresAt != nil {
			*fields.ExpiresAt = c.stored.Add(day)
		}
		if c.mapping.Sequence != nil {
			e.Sequence = rapid.Uint32Max(1).Draw(t, "sequence")
		}
		c.written = append(c.written, e)
	}
}

// drawTime draws a time near the edge of a bucket.
func drawTime(t *rapid.T) time.Time {
	return edge.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "days"))*day + time.Duration(rapid.IntRange(-2, 2).Draw(t, "hours"))*time.Hour + time.Duration(rapid.IntRange(-1, 1).Draw(t, "seconds"))*time.Second)
}

// write writes the samples that are kept, one by one, and a foreign cell in each row. It
// empties the table before.
func (c *deleteCase) write(t *rapid.T, prefix string, keeps func(e *sample) bool) {
	ctx, w := context.Background(), c.writer(prefix)
	for i := range c.written {
		if e := c.written[i]; keeps(&e) {
			if err := w.Write(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// each calls f with each row of the tables with a prefix, and their IDs without it.
func (c *deleteCase) each(t interface{ Fatal(...any) }, prefix string, f func(id string, row bigtable.Row)) {
	ids := map[string]bool{}
	for _, l := range c.mapping.Periods() {
		ids[l.Table.ID] = true
	}
	for id := range ids {
		err := c.client.OpenTable(prefix+id).ReadRows(context.Background(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
			f(id, row)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// cells returns all cells of the tables with a prefix.
func (c *deleteCase) cells(t interface{ Fatal(...any) }, prefix string) map[string]string {
	out := map[string]string{}
	c.each(t, prefix, func(id string, row bigtable.Row) {
		for _, items := range row {
			for _, item := range items {
				out[fmt.Sprintf("%s %q %q %d", id, item.Row, item.Column, item.Timestamp)] = string(item.Value)
			}
		}
	})
	return out
}

// mark writes a foreign cell to each row of the other table that is in this one, and to
// each of its own.
func (c *deleteCase) mark(t *rapid.T, rows []string) {
	ctx := context.Background()
	for _, prefix := range []string{"all_", "rest_"} {
		for _, l := range c.mapping.Periods() {
			api := c.client.OpenTable(prefix + l.Table.ID)
			for _, row := range rows {
				m := bigtable.NewMutation()
				m.Set(foreignFamily, "q", bigtable.Timestamp(edge.UnixMicro()), []byte("foreign"))
				if err := api.Apply(ctx, row, m); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// rows returns the keys of all rows of the tables with all samples.
func (c *deleteCase) rows(t *rapid.T) (keys []string) {
	c.each(t, "all_", func(_ string, row bigtable.Row) { keys = append(keys, row.Key()) })
	return keys
}

// clear deletes all rows of all tables.
func (c *deleteCase) clear(t *rapid.T) {
	for _, prefix := range []string{"all_", "rest_"} {
		c.each(t, prefix, func(id string, row bigtable.Row) {
			m := bigtable.NewMutation()
			m.DeleteRow()
			if err := c.client.OpenTable(prefix+id).Apply(context.Background(), row.Key(), m); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// events returns how many events the deleted samples are.
func (c *deleteCase) events(deleted func(e *sample) bool) int {
	type place struct {
		series   string
		at       int64
		sequence uint32
	}
	if c.mapping.Pattern != codec.BucketNewColumns {
		places := map[place]bool{}
		for _, e := range c.written {
			if deleted(&e) {
				places[place{e.Series, e.Time.UnixMicro(), e.Sequence}] = true
			}
		}
		return len(places)
	}
	type values struct {
		place
		class int
		note  bool
	}
	distinct := map[values]map[string]bool{}
	add := func(v values, value string) {
		if distinct[v] == nil {
			distinct[v] = map[string]bool{}
		}
		distinct[v][value] = true
	}
	most := map[values]int{}
	for _, e := range c.written {
		if !deleted(&e) {
			continue
		}
		v := values{place{e.Series, e.Time.UnixMicro(), 0}, e.Class, false}
		add(v, fmt.Sprint(e.Value))
		if e.Note != nil || strings.HasSuffix(c.mapping.Table.ID, "_numbered") { // which always stores it
			v.note = true
			add(v, string(e.Note))
		}
	}
	for v, all := range distinct {
		v.note = false
		most[v] = max(most[v], len(all))
	}
	n := 0
	for _, m := range most {
		n += m
	}
	return n
}

// checkDeletes checks a property of a table with samples, for all kinds of mappings.
func checkDeletes(t *testing.T, property func(t *rapid.T, c *deleteCase)) {
	mappings := deleteMappings()
	cases := make([]*deleteCase, len(mappings))
	for range testlong.Pick(1, 3) {
		rapid.Check(t, func(rt *rapid.T) {
			i := rapid.IntRange(0, len(mappings)-1).Draw(rt, "mapping")
			if cases[i] == nil {
				cases[i] = newDeleteCase(t, mappings[i])
			}
			rt.Logf("table %s", mappings[i].Table.ID)
			cases[i].clear(rt)
			cases[i].draw(rt)
			property(rt, cases[i])
		})
	}
}

// TestDeleteLeavesTheRest deletes events of tables of all patterns. What is then stored
// is what would be if they had never been written.
func TestDeleteLeavesTheRest(t *testing.T) {
	t.Parallel()
	checkDeletes(t, func(rt *rapid.T, c *deleteCase) {
		deleted, run := c.drawDelete(rt)
		c.write(rt, "all_", func(*sample) bool { return true })
		c.write(rt, "rest_", func(e *sample) bool { return !deleted(e) })
		c.mark(rt, c.rows(rt))
		all, want := c.cells(rt, "all_"), c.cells(rt, "rest_")
		w := NewWriter(c.client, []*Mapping[sample]{c.mapping}, WriterOptions{TablePrefix: "all_", Now: func() time.Time { return c.deleted }})

		dry, err := run(w, DeleteOptions{DryRun: true})
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(all, c.cells(rt, "all_")); diff != "" {
			rt.Fatalf("a dry run changed: (-before +after)\n%s", diff)
		}
		got, err := run(w, DeleteOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, c.cells(rt, "all_")); diff != "" {
			rt.Fatalf("stored afterward: (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(got, dry); diff != "" {
			rt.Fatalf("counts of a dry run: (-real +dry)\n%s", diff)
		}
		if n := c.events(deleted); got.Events() != n {
			rt.Fatalf("%d events counted instead of %d", got.Events(), n)
		}
		again, err := run(w, DeleteOptions{})
		if err != nil || again.Events() != 0 || again.Tables[0].Rows != 0 || again.Tables[0].Mutations != 0 {
			rt.Fatalf("the second time: %v, %v", again, err)
		}
	})
}

// drawDelete draws a call that deletes, and returns which samples it should delete.
func (c *deleteCase) drawDelete(t *rapid.T) (deleted func(e *sample) bool, run func(w *Writer[sample], o DeleteOptions) (Deletion, error)) {
	ctx := context.Background()
	series := sample{Series: rapid.SampledFrom([]string{"a1", "a2", "a"}).Draw(t, "of")}
	switch rapid.SampledFrom([]string{"range", "series", "events"}).Draw(t, "delete") {
	case "series":
		return func(e *sample) bool { return e.Series == series.Series },
			func(w *Writer[sample], o DeleteOptions) (Deletion, error) {
				return w.DeleteAll(ctx, SeriesOf(series), o)
			}
	case "range":
		within := func() time.Duration {
			return time.Duration(rapid.SampledFrom([]int{0, 1, 999, 1001}).Draw(t, "microseconds")) * time.Microsecond
		}
		from, to := drawTime(t).Add(within()), drawTime(t).Add(within())
		if to.Before(from) {
			from, to = to, from
		}
		if rapid.Bool().Draw(t, "from the start") {
			from = time.Time{}
		}
		return func(e *sample) bool {
				return e.Series == series.Series && !e.Time.Before(from) && e.Time.Before(to)
			},
			func(w *Writer[sample], o DeleteOptions) (Deletion, error) {
				return w.DeleteRange(ctx, SeriesOf(series), from, to, o)
			}
	}
	chosen := rapid.SliceOf(rapid.SampledFrom(c.written)).Draw(t, "events")
	for i := range chosen {
		chosen[i].Value, chosen[i].Note, chosen[i].Class = 77, nil, 0 // not used
		chosen[i].Time = chosen[i].Time.Add(time.Microsecond)         // truncated
	}
	is := func(e *sample) bool {
		return slices.ContainsFunc(chosen, func(d sample) bool {
			return d.Series == e.Series && codec.Truncate(d.Time, c.mapping.Precision).Equal(e.Time) && d.Sequence == e.Sequence
		})
	}
	return is, func(w *Writer[sample], o DeleteOptions) (Deletion, error) { return w.Delete(ctx, chosen, o) }
}

// TestReplace checks what is stored after an event was replaced.
func TestReplace(t *testing.T) {
	t.Parallel()
	checkDeletes(t, func(rt *rapid.T, c *deleteCase) {
		old := c.written[0]
		updated := rapid.SampledFrom(c.written).Draw(rt, "updated")
		updated.Value = 5
		same := func(a, b *sample) bool {
			return a.Series == b.Series && a.Time.Equal(b.Time) && a.Sequence == b.Sequence
		}
		c.write(rt, "all_", func(*sample) bool { return true })
		w := c.writer("all_")
		if err := w.Replace(context.Background(), old, updated); err != nil {
			rt.Fatal(err)
		}
		c.write(rt, "rest_", func(e *sample) bool { return !same(e, &old) })
		if err := c.writer("rest_").Write(context.Background(), updated); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(c.cells(rt, "rest_"), c.cells(rt, "all_")); diff != "" {
			rt.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

// offsetsOf returns a mapping with a column for each of n samples of the series a in the
// first day, which are stored.
func offsetsOf(t *testing.T, n int) (*storetest.Bigtable, *Mapping[sample], *Writer[sample]) {
	t.Helper()
	l := offsetBlobs()
	s := newBigtable(t, l)
	w := NewWriter(s.Client, []*Mapping[sample]{l})
	var all []sample
	for i := range n {
		all = append(all, sample{Series: "a", Time: day0.Add(time.Duration(i) * time.Millisecond)})
	}
	if err := w.WriteAll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	return s, l, w
}

// storedCells returns the number of cells in a table.
func storedCells(t *testing.T, s *storetest.Bigtable, table string) (n int) {
	t.Helper()
	err := s.Client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, items := range row {
			n += len(items)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDeleteKeepsLimits checks the sizes of requests when a row needs more mutations than
// Bigtable accepts.
func TestDeleteKeepsLimits(t *testing.T) {
	const n = 107
	s, l, _ := offsetsOf(t, n+1)
	var sizes []int
	client := fakeClient{s.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
			sizes = append(sizes, len(rows))
			return api.ApplyBulk(ctx, rows, muts)
		}}
	}}
	var progress []int
	w := NewWriter(client, []*Mapping[sample]{l})
	w.writer.perRequest = 50
	got, err := w.DeleteRange(t.Context(), SeriesOf(sample{Series: "a"}), day0, day0.Add(n*time.Millisecond), DeleteOptions{Progress: func(d Deletion) { progress = append(progress, d.Tables[0].Mutations) }})
	if err != nil {
		t.Fatal(err)
	}
	if got.Events() != n || got.Tables[0].Mutations != n || got.Tables[0].Rows != 1 || storedCells(t, s, l.Table.ID) != 1 {
		t.Errorf("%v; %d cells are left", got, storedCells(t, s, l.Table.ID))
	}
	if len(sizes) != 3 || len(progress) != len(sizes) || !slices.IsSorted(progress) || progress[len(progress)-1] != n {
		t.Errorf("requests of %d rows; progress %d", sizes, progress)
	}
}

// TestDeleteBreaksOff lets each request of a deletion fail, before or after the server
// applied it. The counts are of what is certainly deleted, and the second call deletes the
// rest.
func TestDeleteBreaksOff(t *testing.T) {
	rejected := status.Error(codes.PermissionDenied, "no")
	for _, applied := range []bool{false, true} {
		for failing := range 2 {
			t.Run(fmt.Sprintf("request %d, applied %t", failing, applied), func(t *testing.T) {
				days, singles := days(), singles()
				s := newBigtable(t, days, singles)
				mappings := []*Mapping[sample]{days, singles}
				var all []sample
				for i := range 5 {
					all = append(all, sample{Series: "a", Time: day0.AddDate(0, 0, i)}, sample{Series: "b", Time: day0.AddDate(0, 0, i)})
				}
				if err := NewWriter(s.Client, mappings).WriteAll(t.Context(), all); err != nil {
					t.Fatal(err)
				}
				requests := 0
				client := fakeClient{s.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
					return tableFunc{TableAPI: api, bulk: func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
						requests++
						if requests-1 != failing {
							return api.ApplyBulk(ctx, rows, muts)
						}
						if applied {
							if _, err := api.ApplyBulk(ctx, rows, muts); err != nil {
								t.Error(err)
							}
						}
						return nil, rejected
					}}
				}}
				w := NewWriter(client, mappings)
				got, err := w.DeleteAll(t.Context(), SeriesOf(sample{Series: "a"}))
				var failed *DeleteError
				if !errors.As(err, &failed) || !errors.Is(err, rejected) || failed.Table != mappings[failing].Table.ID {
					t.Fatal(got, err)
				}
				if n := got.Events(); n != 5*failing {
					t.Errorf("%d events are certain to be deleted, not %d", n, 5*failing)
				}
				if got, err = w.DeleteAll(t.Context(), SeriesOf(sample{Series: "a"})); err != nil {
					t.Fatal(got, err)
				}
				for _, l := range mappings {
					if n := storedCells(t, s, l.Table.ID); n != 5 {
						t.Errorf("table %s has %d cells", l.Table.ID, n)
					}
				}
			})
		}
	}
}

// TestDeleteRejectedRow lets Bigtable reject one row of a request: the error names it, and
// nothing is counted as deleted.
func TestDeleteRejectedRow(t *testing.T) {
	l := singles()
	s := newBigtable(t, l)
	must(t, NewWriter(s.Client, []*Mapping[sample]{l}).WriteAll(t.Context(), []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(1)}}))
	rejected := status.Error(codes.FailedPrecondition, "no")
	client := fakeClient{s.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, bulk: func(_ context.Context, rows []string, _ []*bigtable.Mutation) ([]error, error) {
			return []error{nil, rejected}, nil
		}}
	}}
	got, err := NewWriter(client, []*Mapping[sample]{l}).DeleteAll(t.Context(), SeriesOf(sample{Series: "a"}))
	var failed *DeleteError
	if !errors.As(err, &failed) || !errors.Is(err, rejected) || failed.Table != l.Table.ID || !strings.HasPrefix(failed.Row, "a#") || got.Events() != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestDeleteOperation checks that hooks get the requests of a deletion whose request fails.
func TestDeleteOperation(t *testing.T) {
	l := singles()
	s := newBigtable(t, l)
	must(t, NewWriter(s.Client, []*Mapping[sample]{l}).Write(t.Context(), sample{Series: "a", Time: day0}))
	rejected := status.Error(codes.PermissionDenied, "no")
	client := fakeClient{s.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, bulk: func(context.Context, []string, []*bigtable.Mutation) ([]error, error) { return nil, rejected }}
	}}
	var op Operation
	w := NewWriter(client, []*Mapping[sample]{l}, WriterOptions{Hooks: Hooks{End: func(_ context.Context, o Operation, _ error) { op = o }}})
	if _, err := w.DeleteAll(t.Context(), SeriesOf(sample{Series: "a"})); !errors.Is(err, rejected) {
		t.Error(err)
	}
	if op.Name != "DeleteSeries" || op.Requests != 2 || op.Rows != 1 || op.Events != 0 {
		t.Errorf("%+v", op)
	}
	broken := fakeClient{s.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, readRows: func(context.Context, bigtable.RowSet, func(bigtable.Row) bool, ...bigtable.ReadOption) error {
			return rejected
		}}
	}}
	w = NewWriter(broken, []*Mapping[sample]{l}, WriterOptions{Hooks: Hooks{End: func(_ context.Context, o Operation, _ error) { op = o }}})
	if _, err := w.DeleteAll(t.Context(), SeriesOf(sample{Series: "a"})); !errors.Is(err, rejected) || op.Requests != 1 {
		t.Errorf("%v, %+v", err, op)
	}
}

// breaksOff returns a client of a server that breaks off the streams of reads.
func breaksOff(t *testing.T, s *storetest.Bigtable) (*bigtable.Client, *breaking) {
	t.Helper()
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	b := &breaking{to: bigtablepb.NewBigtableClient(conn), reads: map[string]*brokenRead{}}
	client, err := storetest.Connect(t.Context(), startServer(t, b))
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client, b
}

// MutateRows forwards mutations.
func (b *breaking) MutateRows(request *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	from, err := b.to.MutateRows(stream.Context(), request)
	for err == nil {
		var response *bigtablepb.MutateRowsResponse
		if response, err = from.Recv(); err == nil {
			err = stream.Send(response)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// TestDeleteResumes breaks off the stream of rows, before the first one and later; a
// deletion then continues.
func TestDeleteResumes(t *testing.T) {
	t.Parallel() // it waits
	for _, l := range testlong.Sample([]*Mapping[sample]{days(), singles(), metrics(), offsetBlobs()}, 2) {
		s := newBigtable(t, l)
		client, b := breaksOff(t, s)
		var all []sample
		for i := range 4 {
			all = append(all, sample{Series: "a", Time: day0.AddDate(0, 0, i), Note: []byte("n")})
		}
		for after := range 10 {
			if err := NewWriter(s.Client, []*Mapping[sample]{l}).WriteAll(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			ctx, read := b.named(t.Context(), 0, after)
			if got, err := NewWriter(client, []*Mapping[sample]{l}).DeleteAll(ctx, SeriesOf(sample{Series: "a"})); err != nil || got.Events() != 4 {
				t.Errorf("table %s, after %d chunks: %v, %v", l.Table.ID, after, got, err)
			}
			if len(b.requests(read)) < 2 {
				t.Errorf("table %s, after %d chunks: %d requests", l.Table.ID, after, b.requests(read))
			}
			if n := storedCells(t, s, l.Table.ID); n != 0 {
				t.Errorf("table %s, after %d chunks: %d cells are left", l.Table.ID, after, n)
			}
		}
	}
}

// TestDeleteStops ends the context after the first request of mutations.
func TestDeleteStops(t *testing.T) {
	l, other := days(), singles()
	s := newBigtable(t, l, other)
	if err := NewWriter(s.Client, []*Mapping[sample]{l, other}).Write(t.Context(), sample{Series: "a", Time: day0}); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	got, err := NewWriter(s.Client, []*Mapping[sample]{l, other}).DeleteAll(ctx, SeriesOf(sample{Series: "a"}), DeleteOptions{Progress: func(Deletion) { cancel(stop) }})
	if !errors.Is(err, stop) || got.Tables[0].Events != 1 || len(got.Tables) == 2 && got.Tables[1].Events != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if storedCells(t, s, l.Table.ID) != 0 || storedCells(t, s, other.Table.ID) != 1 {
		t.Error("other cells are deleted")
	}
}

// TestDeleteSkipsForeignRows checks that rows and columns that cannot be decoded stay, that
// the rest is deleted, and that the first of them is reported.
func TestDeleteSkipsForeignRows(t *testing.T) {
	l := offsetBlobs()
	s := newBigtable(t, l)
	w := NewWriter(s.Client, []*Mapping[sample]{l})
	if err := w.WriteAll(t.Context(), []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(5)}, {Series: "a", Time: day0.AddDate(0, 0, 2)}}); err != nil {
		t.Fatal(err)
	}
	m := bigtable.NewMutation()
	m.Set(l.Table.Families[0].Name, "not a time", 0, nil)
	for _, row := range []string{"a#2021-03-05", "a#2021-03-20x"} {
		if err := s.Client.Open(l.Table.ID).Apply(t.Context(), row, m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.DeleteRange(t.Context(), SeriesOf(sample{Series: "a"}), at(-1), day0.AddDate(0, 0, 9))
	if err != nil || got.Events() != 3 || storedCells(t, s, l.Table.ID) != 1 {
		t.Errorf("days within the range: %v, %v; %d cells are left", got, err, storedCells(t, s, l.Table.ID))
	}
	if err := w.WriteAll(t.Context(), []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(5)}}); err != nil {
		t.Fatal(err)
	}
	got, err = w.DeleteAll(t.Context(), SeriesOf(sample{Series: "a"}))
	var undecodable *DecodeError
	if !errors.As(err, &undecodable) || undecodable.Row != "a#2021-03-20x" || got.Events() != 2 || storedCells(t, s, l.Table.ID) != 1 {
		t.Errorf("whole series: %v, %v; %d cells are left", got, err, storedCells(t, s, l.Table.ID))
	}
}

// TestDeleteRefuses checks the errors of calls that delete nothing.
func TestDeleteRefuses(t *testing.T) {
	l := days()
	s := newBigtable(t, l)
	w := NewWriter(s.Client, []*Mapping[sample]{l})
	var bad *RangeError
	if _, err := w.DeleteRange(t.Context(), SeriesOf(sample{Series: "a"}), at(1), at(0)); !errors.As(err, &bad) {
		t.Error(err)
	}
	if _, err := w.DeleteRange(t.Context(), SeriesOf(sample{Series: "a"}), at(1), time.Time{}); !errors.As(err, &bad) {
		t.Error(err)
	}
	if _, err := w.DeleteAll(t.Context(), SeriesOf(sample{})); !errors.Is(err, codec.ErrEmpty) {
		t.Error(err)
	}
	if _, err := w.Delete(t.Context(), []sample{{Series: "a#b", Time: day0}}); !errors.Is(err, codec.ErrDelimiter) {
		t.Error(err)
	}
	if got, err := w.Delete(t.Context(), nil); err != nil || got.Events() != 0 || len(got.Tables) != 1 {
		t.Error(got, err)
	}
	var missing *MissingTableError
	if _, err := NewWriter(s.Client, []*Mapping[sample]{singles()}).DeleteAll(t.Context(), SeriesOf(sample{Series: "a"})); !errors.As(err, &missing) {
		t.Error(err)
	}
}

// TestDeleteOfNumberedEvent checks that an event with a sequence number, which an earlier
// layout cannot store, is not taken for the event of its time that it stores.
func TestDeleteOfNumberedEvent(t *testing.T) {
	older, newest := days(), offsetBlobs()
	older.sequence, newest.sequence = newest.Sequence, newest.Sequence
	newest.Since, newest.Older = day0.AddDate(0, 0, 1), []*Mapping[sample]{older}
	s := newBigtable(t, newest)
	w := NewWriter(s.Client, []*Mapping[sample]{newest})
	must(t, w.Write(t.Context(), sample{Series: "a", Time: day0}))
	got, err := w.Delete(t.Context(), []sample{{Series: "a", Time: day0, Sequence: 5}})
	if err != nil || got.Events() != 0 || storedCells(t, s, older.Table.ID) != 1 {
		t.Errorf("%v, %v; %d cells are left", got, err, storedCells(t, s, older.Table.ID))
	}
}
