package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestInvertedRange reads an inverted range, and one without an end: an error, and no request.
func TestInvertedRange(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days(), metrics()} {
		r, c := stored(t, l, 60, numbered(3)...)
		for _, span := range [][2]time.Time{{at(60), at(0)}, {at(60), at(60).Add(-1)}, {at(0), {}}, {{}, {}}} {
			from, to := span[0], span[1]
			for _, o := range []ReadOptions{{}, {NewestFirst: true}, {Limit: 1}, {TimeOrder: true}, {LatestOnly: true}} {
				n := 0
				for e, err := range r.Read(t.Context(), seriesOf(sample{Series: "s"}), from, to, o) {
					n++
					wantRange(t, err, from, to)
					same(t, sample{}, e)
				}
				assert.Same(t, 1, n, o, from, to)
				for _, q := range []*testQuery[sample]{nil, of("s", "other")} {
					var columns sampleColumns
					wantRange(t, columnsReadOf(t.Context(), r, intoColumns(l.untyped()), &columns, q, seriesOf(sample{Series: "s"}), from, to, o), from, to)
				}
			}
		}
		same(t, counts{}, *c)
	}
}

// wantRange checks that an error contains the requested range.
func wantRange(t *testing.T, err error, from, to time.Time) {
	t.Helper()
	assert.Is(t, codec.ErrRange, err)
	failed := asError[*RangeError](t, err)
	same(t, [2]time.Time{from, to}, [2]time.Time{failed.From, failed.To})
}

// TestMissingTable reads from and writes to a table that does not exist.
func TestMissingTable(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days(), metrics()} {
		bt := newBigtable(t, l)
		const prefix = "other_"
		table := prefix + l.Table.ID
		r := newReaderOf(bt.Client, l, ReaderOptions{TablePrefix: prefix})
		_, err := collect(t.Context(), r, "s", at(0), at(60))
		wantMissing(t, err, table)
		_, err = r.Latest(t.Context(), sample{Series: "s"})
		wantMissing(t, err, table)
		var columns sampleColumns
		wantMissing(t, readColumns(t.Context(), r, intoColumns(l.untyped()), &columns, seriesOf(sample{Series: "s"}), at(0), at(60)), table)

		plain := tableClient{bt.Client, func(_ string, api bigtable.TableAPI) bigtable.TableAPI { return api }} // without the wire path
		for _, client := range []Client{bt.Client, plain} {
			w := newWriterOf(client, []*mappingOf[sample]{l}, WriterOptions{TablePrefix: prefix})
			wantMissing(t, w.Write(t.Context(), nth(1)), table)
			wantMissing(t, w.WriteAll(t.Context(), []sample{nth(1), nth(2)}), table)
			var failed error
			b := newBatcherOf(w, func(_ sample, err error) { failed = err })
			must(t, b.Add(t.Context(), nth(1)))
			wantMissing(t, b.Close(t.Context()), table)
			wantMissing(t, failed, table)
		}
	}
}

// wantMissing checks that an error names the table, says what to do, and wraps the server's, for each event.
func wantMissing(t *testing.T, err error, table string) {
	t.Helper()
	errs := []error{err}
	var events *WriteError
	if errors.As(err, &events) {
		errs = errs[:0]
		for _, f := range events.Failures {
			errs = append(errs, f.Err)
			if f.Outcome != Failed {
				t.Errorf("%v", f)
			}
		}
	}
	for _, err := range errs {
		missing := asError[*MissingTableError](t, err)
		same(t, []any{table, codes.NotFound}, []any{missing.Table, status.Code(missing)})
		for _, hint := range []string{table, "btgen-live setup", "TablePrefix"} {
			assert.Contains(t, hint, err.Error(), err)
		}
	}
	if len(errs) == 0 {
		t.Error(err)
	}
}

// A family that does not exist is named as a missing table is.
func TestMissingFamily(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	for _, f := range l.Table.Families {
		must(t, bt.Admin.DeleteColumnFamily(t.Context(), l.Table.ID, f.Name))
	}
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, WriterOptions{})
	for _, err := range []error{w.Write(t.Context(), nth(1)), w.WriteAll(t.Context(), []sample{nth(1), nth(2)})} {
		same(t, l.Table.ID, asError[*MissingTableError](t, err).Table)
		assert.Contains(t, "btgen-live setup", err)
	}
}

// The error of a write describes failures of different causes, wherever they are among the events.
func TestWriteErrorCauses(t *testing.T) {
	expired, missing := errors.New("older than its TTL"), errors.New("unknown family")
	e := &WriteError{Events: 8}
	for i := range 6 {
		e.Failures = append(e.Failures, Failure{Index: i, Table: "t", Err: fmt.Errorf("event at %d: %w", i, expired)})
	}
	for i := 6; i < 8; i++ {
		e.Failures = append(e.Failures, Failure{Index: i, Table: "t", Err: fmt.Errorf("event at %d: %w", i, missing)})
	}
	same(t, []int{0, 1, 6}, e.shown())
	if s := e.Error(); !strings.HasPrefix(s, "8 of 8 events not written; event 0") || !strings.Contains(s, "unknown family") || !strings.HasSuffix(s, "; and 5 more") {
		t.Error(s)
	}
}
