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
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// withoutResults removes every third result of MutateRows, in a stream that ends well.
type withoutResults struct{ grpc.ClientStream }

func (s withoutResults) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if answer, ok := m.(*bigtablepb.MutateRowsResponse); ok && err == nil {
		answer.Entries = slices.DeleteFunc(answer.Entries, func(e *bigtablepb.MutateRowsResponse_Entry) bool { return e.Index%3 == 1 })
	}
	return err
}

// An entry without a result counts neither as stored nor as deleted, whatever sends it.
func TestEntriesWithoutResult(t *testing.T) {
	l := days()
	b := newBigtable(t, l)
	removes := func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := next(ctx, desc, conn, method, opts...)
		return withoutResults{s}, err
	}
	client := opened(t)(storetest.ConnectPlain(t.Context(), b.Addr, grpc.WithChainStreamInterceptor(removes)))
	w := newWriterOf(client, []*mappingOf[sample]{l})
	events := make([]sample, 30)
	for i := range events {
		events[i] = sample{Series: fmt.Sprint("s", i), Time: at(i)}
	}
	var failed *WriteError
	if err := w.WriteAll(t.Context(), events); !errors.As(err, &failed) || len(failed.Failures) != 10 || failed.Failures[0].Outcome != Unknown {
		t.Errorf("writing: %v", err)
	}
	long := []sample{{Series: "s", Time: at(0)}, {Series: "s", Time: at(86400)}, {Series: "s", Time: at(2 * 86400)}}
	must(t, newWriterOf(b.Client, []*mappingOf[sample]{l}).WriteAll(t.Context(), append(long, events...)))
	var kept *DeleteError
	if n, err := w.Delete(t.Context(), events); !errors.As(err, &kept) {
		t.Errorf("deleting: %v, %v", n, err)
	}
	if n, err := w.DeleteRange(t.Context(), seriesOf(sample{Series: "s"}), day0, at(4*86400)); !errors.As(err, &kept) {
		t.Errorf("deleting a range: %v, %v", n, err)
	}
}

// Class: outcomes that claim less than is known. If the context ends before a request is sent, its events
// are not stored, whatever the way in which they are written.
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

// TestMisplacedRows copies the row of a series to a key that the writer would not give it, and that the
// reader of keys accepts: a scan reports the row, and a backfill fails, or counts it and does not copy it.
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
	m := bigtable.NewMutation()
	m.Set("f.1", "v.1", bigtable.Time(at(1)), codec.Binary.Uint64.Append(nil, 5))
	must(t, r.Client.Open("singles").Apply(t.Context(), fmt.Sprintf("7s#%013d", at(1).UnixMilli()), m))
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
	if events != 2 || misplaced != 1 {
		t.Errorf("%d events, %d misplaced rows", events, misplaced)
	}
	if _, err := backfillOf(t.Context(), r.Client, r.mappings, r.options); !errors.Is(err, ErrMisplaced) {
		t.Error(err)
	}
	r.options.SkipUndecodable = true
	got, err := backfillOf(t.Context(), r.Client, r.mappings, r.options)
	if err != nil || got.Events != 2 || got.Undecodable != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestReplaceAmongReads reads before and after each request of a Replace by an event in another row: one of the events is there at all
// times. A read around both requests may pass the row of one before the write and reach the other after the deletion: Bigtable reads several
// rows at several moments.
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
