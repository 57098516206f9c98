package store

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// viewOf creates a view of the rows of a series, with all columns of a mapping.
func viewOf(t *testing.T, s *storetest.Bigtable, l *mappingOf[sample], prefix string) {
	t.Helper()
	conf := &bigtable.SubsetViewConf{RowPrefixes: [][]byte{[]byte(prefix)}}
	for _, f := range l.Table.Families {
		conf.AddFamilySubsetQualifierPrefix(f.Name, nil)
	}
	must(t, s.Admin.CreateAuthorizedView(t.Context(), &bigtable.AuthorizedViewConf{TableID: l.Table.ID, AuthorizedViewID: "mine", AuthorizedView: conf}))
}

// TestAuthorizedViews reads, writes and deletes through a view of one series, on both paths. Others stay hidden.
func TestAuthorizedViews(t *testing.T) {
	for _, l := range []*mappingOf[sample]{days(), singles(), offsetBlobs()} {
		s := newBigtable(t, l)
		viewOf(t, s, l, "a#")
		must(t, newWriterOf(s.Client, []*mappingOf[sample]{l}).Write(t.Context(), sample{Series: "b", Time: day0}))
		for name, connect := range paths {
			t.Run(l.Table.ID+" "+name, func(t *testing.T) {
				official := opened(t)(connect(t.Context(), s.Addr))
				client := AuthorizedViews(official, func(string) string { return "mine" })
				var ordinary, requests int
				hooks := Hooks{End: func(_ context.Context, op Operation, _ error) {
					ordinary, requests = ordinary+op.OrdinaryRequests, requests+op.Requests
				}}
				w := newWriterOf(client, []*mappingOf[sample]{l}, WriterOptions{Hooks: hooks})
				r := newReaderOf(client, l, ReaderOptions{Hooks: hooks, Now: func() time.Time { return day0 }})
				must(t, w.WriteAll(t.Context(), []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(1)}}))
				for series, n := range map[string]int{"a": 2, "b": 0} { // the view has a
					of := seriesOf(sample{Series: series})
					assert.Same(t, n, len(made(t, r.Read(t.Context(), of, day0, at(9)), sampleText)), "read", series)
					got, err := newWriterOf(client, []*mappingOf[sample]{l}).DeleteAll(t.Context(), of)
					must(t, err)
					assert.Same(t, n, got.Events(), "deleted", series)
				}
				if name == "wire" && ordinary > 0 || requests == 0 {
					t.Errorf("%d of %d requests do not take the wire path", ordinary, requests)
				}
				failed := asError[*WriteError](t, w.Write(t.Context(), sample{Series: "b", Time: at(1)}))
				same(t, codes.PermissionDenied, status.Code(failed.Failures[0].Err))
				same(t, 1, storedCells(t, s, l.Table.ID)) // the event of b
			})
		}
	}
}

// TestMissingAuthorizedView names a view that does not exist, and opens tables without one.
func TestMissingAuthorizedView(t *testing.T) {
	l, other := days(), singles()
	s := newBigtable(t, l, other)
	var opened []string
	client := AuthorizedViews(s.Client, func(table string) string {
		opened = append(opened, table)
		if table == other.Table.ID {
			return ""
		}
		return "none"
	})
	must(t, newWriterOf(client, []*mappingOf[sample]{other}).Write(t.Context(), sample{Series: "a", Time: day0}))
	read := firstError(newReaderOf(client, l).Read(t.Context(), seriesOf(sample{Series: "a"}), day0, at(9)))
	write := newWriterOf(client, []*mappingOf[sample]{l}).Write(t.Context(), sample{Series: "a", Time: day0})
	for _, err := range []error{read, write} {
		missing := asError[*MissingTableError](t, err)
		assert.Contains(t, "the authorized view of table "+l.Table.ID+" does not exist: ", missing)
	}
	same(t, []string{other.Table.ID, l.Table.ID, l.Table.ID}, opened)
}
