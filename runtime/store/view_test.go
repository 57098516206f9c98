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
				if n := len(made(t, r.Read(t.Context(), seriesOf(sample{Series: "a"}), day0, at(9)), sampleText)); n != 2 {
					t.Errorf("%d events of the series in the view", n)
				}
				if n := len(made(t, r.Read(t.Context(), seriesOf(sample{Series: "b"}), day0, at(9)), sampleText)); n != 0 {
					t.Errorf("%d events of a series that is not in the view", n)
				}
				if name == "wire" && ordinary > 0 || requests == 0 {
					t.Errorf("%d of %d requests do not take the wire path", ordinary, requests)
				}
				var failed *WriteError
				err := w.Write(t.Context(), sample{Series: "b", Time: at(1)})
				if !errors.As(err, &failed) || status.Code(failed.Failures[0].Err) != codes.PermissionDenied {
					t.Errorf("writing to a row that is not in the view: %v", err)
				}
				got, err := w.DeleteAll(t.Context(), seriesOf(sample{Series: "a"}))
				if err != nil || got.Events() != 2 {
					t.Errorf("deleting: %v, %v", got, err)
				}
				if got, err := w.DeleteAll(t.Context(), seriesOf(sample{Series: "b"})); err != nil || got.Events() != 0 {
					t.Errorf("deleting what is not in the view: %v, %v", got, err)
				}
				if n := storedCells(t, s, l.Table.ID); n == 0 {
					t.Error("the series that is not in the view is gone")
				}
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
	var missing *MissingTableError
	for _, err := range newReaderOf(client, l).Read(t.Context(), seriesOf(sample{Series: "a"}), day0, at(9)) {
		if !errors.As(err, &missing) || !strings.HasPrefix(missing.Error(), "the authorized view of table "+l.Table.ID+" does not exist: ") {
			t.Error(err)
		}
	}
	err := newWriterOf(client, []*mappingOf[sample]{l}).Write(t.Context(), sample{Series: "a", Time: day0})
	if missing == nil || !errors.As(err, &missing) || !slices.Equal(opened, []string{other.Table.ID, l.Table.ID, l.Table.ID}) {
		t.Error(err, opened)
	}
}
