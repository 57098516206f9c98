package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
