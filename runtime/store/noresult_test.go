package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// removeResults removes every third result of MutateRows, in a stream that ends well.
func removeResults(m any) {
	if answer, ok := m.(*bigtablepb.MutateRowsResponse); ok {
		answer.Entries = slices.DeleteFunc(answer.Entries, func(e *bigtablepb.MutateRowsResponse_Entry) bool { return e.Index%3 == 1 })
	}
}

// An entry without a result counts neither as stored nor as deleted, whatever sends it.
func TestEntriesWithoutResult(t *testing.T) {
	l := days()
	b := newBigtable(t, l)
	client := opened(t)(storetest.ConnectPlain(t.Context(), b.Addr, inside(hooked(mutateRows, ignored, removeResults))))
	w := newWriterOf(client, []*mappingOf[sample]{l})
	events := make([]sample, 30)
	for i := range events {
		events[i] = sample{Series: fmt.Sprint("s", i), Time: at(i)}
	}
	failed := asError[*WriteError](t, w.WriteAll(t.Context(), events)).Failures
	same(t, []any{10, Unknown}, []any{len(failed), failed[0].Outcome})
	long := []sample{{Series: "s", Time: at(0)}, {Series: "s", Time: at(86400)}, {Series: "s", Time: at(2 * 86400)}}
	must(t, newWriterOf(b.Client, []*mappingOf[sample]{l}).WriteAll(t.Context(), append(long, events...)))
	_, err := w.Delete(t.Context(), events)
	asError[*DeleteError](t, err)
	_, err = w.DeleteRange(t.Context(), seriesOf(sample{Series: "s"}), day0, at(4*86400))
	asError[*DeleteError](t, err)
}

// Class: outcomes that claim too little. If the context ends before a request is sent, nothing is stored.
func TestWritesWithEndedContext(t *testing.T) {
	bt := newBigtable(t, days())
	w := newWriterOf(bt.Client, []*mappingOf[sample]{days()})
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
		for _, f := range asError[*WriteError](t, err, name).Failures {
			assert.Same(t, Failed, f.Outcome, name)
			assert.Is(t, why, f.Err, name)
		}
	}
	same(t, 0, storedCells(t, bt, days().Table.ID))
}

// refusing is a table that refuses to be read, or to be split.
type refusing struct {
	bigtable.TableAPI
	read, split error
}

func (t refusing) SampleRowKeys(context.Context) ([]string, error) { return nil, t.split }

func (t refusing) ReadRows(context.Context, bigtable.RowSet, func(bigtable.Row) bool, ...bigtable.ReadOption) error {
	return t.read
}

// TestJobErrorsNameTable checks that the errors of jobs, which read several tables, say which of them refused a request.
func TestJobErrorsNameTable(t *testing.T) {
	denied := status.Error(codes.PermissionDenied, "denied")
	l, r := days(), rolled(days(), 0)
	for _, of := range []refusing{{read: denied}, {split: denied}} {
		client := tableClient{noTables{}, func(string, bigtable.TableAPI) bigtable.TableAPI { return of }}
		_, copied := backfillOf(t.Context(), client, []*mappingOf[sample]{l, inTable("other", days)}, BackfillOptions{Target: "other"})
		_, summarized := runRollup(t.Context(), client, []*mappingOf[sample]{r}, intoColumns(r.untyped()), sampleWindows)
		s, err := newScannerOf(client, []*mappingOf[sample]{l}, l.Table.ID)
		must(t, err)
		read := s.Each(t.Context(), 1, time.Time{}, at(1), func(_ *ScannedRow[sample], err error) error { return err })
		for what, err := range map[string]error{"backfill": copied, "rollup": summarized, "scan": read} {
			if err == nil || !strings.HasPrefix(err.Error(), "table "+l.Table.ID+": ") || status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s with %+v: %v", what, of, err)
			}
		}
	}
}

// TestMisplacedRows copies a row to a key that only readers accept: a scan and a backfill report it.
func TestMisplacedRows(t *testing.T) {
	lax := func(l *mappingOf[sample]) *mappingOf[sample] {
		return adjusted(l, func(m *mapping) {
			parser := m.parser
			m.parser = func(e event) func(row string) (time.Time, error) {
				parse := parser(e)
				return func(row string) (time.Time, error) { return parse(strings.TrimPrefix(row, "7")) }
			}
		})
	}
	r := refillOf(t, lax(singles()), days(), sample{Series: "s", Time: at(1), Value: 5}, sample{Series: "t", Time: at(1), Value: 6})
	row := fmt.Sprintf("7s#%013d", at(1).UnixMilli())
	setCell(t, r.Client, "singles", row, "f.1", "v.1", at(1), codec.Binary.Uint64.Append(nil, 5))
	scanner, err := newScannerOf(r.Client, r.mappings[:1], "singles")
	must(t, err)
	events, misplaced := 0, 0
	for row, err := range scanner.Rows(t.Context(), KeyRange{}, time.Time{}, scan.MaxTime) {
		if errors.Is(err, ErrMisplaced) {
			misplaced++
		} else if must(t, err); true {
			events += len(row.Events)
		}
	}
	same(t, []int{2, 1}, []int{events, misplaced})
	assert.Is(t, ErrMisplaced, r.fails(t))
	r.options.SkipUndecodable = true
	got := r.fill(t, r.Client)
	same(t, []int64{2, 1}, []int64{got.Events, got.Undecodable})
}

// TestReplaceAmongReads reads around each request of a Replace by an event in another row: one of them is always
// there.
func TestReplaceAmongReads(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days(), offsets()} {
		bt, requests := newBigtable(t, l), 0
		found := func() []string {
			return read(t, newReaderOf(bt.Client, l, clockAt(86400*3)), at(0), at(86400*3), ReadOptions{})
		}
		client := through(bt.Client, func(_ asked, send func() error) error {
			before := found()
			err := send()
			if requests++; len(before) == 0 || len(found()) == 0 {
				t.Errorf("%s: found %q before request %d and %q after it", l.Table.ID, before, requests, found())
			}
			return err
		})
		old := sample{Series: "s", Time: at(86400), Value: 1}
		must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(86400*3)).Write(t.Context(), old))
		must(t, newWriterOf(client, []*mappingOf[sample]{l}, writeAt(86400*3)).Replace(t.Context(), old, sample{Series: "s", Time: at(0), Value: 2}))
		same(t, []string{"2"}, found())
		same(t, 3, requests)
	}
}
