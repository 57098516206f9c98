package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Sampling bounds what [Sample] reads of a table.
type Sampling struct {
	Rows    int             // maximum number of rows
	Filter  bigtable.Filter // limits the cells of a row
	Prefix  string          // of row keys; empty for all rows
	Timeout time.Duration   // for each request
}

// Sample reads rows of a table, spread over it by size, and calls row for each of them until
// it returns false. Rows of one part of the table are in order. It reports whether the rows are
// the whole table. The error is [ErrNoTable] if it does not exist.
func Sample(ctx context.Context, table bigtable.TableAPI, s Sampling, row func(bigtable.Row) bool) (complete bool, err error) {
	left, more := s.Rows, true
	ranges, err := s.ranges(ctx, table)
	for err == nil && more && left > 0 && len(ranges) > 0 {
		share := max(1, left/len(ranges)) // the next round takes what this one leaves
		ranges = slices.DeleteFunc(ranges, func(r *scanned) bool {
			if err != nil || !more || left == 0 {
				return false
			}
			err = s.scan(ctx, table, r, min(share, left), func(read bigtable.Row) bool {
				left--
				more = row(read)
				return more
			})
			return r.done
		})
	}
	if status.Code(err) == codes.NotFound {
		err = fmt.Errorf("%w: %w", ErrNoTable, err)
	}
	return err == nil && len(ranges) == 0, err
}

// scanned is a range of rows that is scanned in rounds.
type scanned struct {
	next, end string // end is exclusive; empty for the end of the table
	done      bool
}

// ranges returns ranges of about the same size that cover the table, in order.
func (s Sampling) ranges(ctx context.Context, table bigtable.TableAPI) ([]*scanned, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	keys, err := table.SampleRowKeys(ctx)
	within := codec.PrefixRows(s.Prefix)
	keys = slices.DeleteFunc(keys, func(key string) bool { return key <= within.Start || within.End != "" && key >= within.End })
	ranges := []*scanned{{next: within.Start, end: within.End}}
	step := max(1, (len(keys)+maxScans-1)/maxScans)
	for i := step - 1; i < len(keys); i += step {
		if last := ranges[len(ranges)-1]; keys[i] > last.next {
			last.end = keys[i]
			ranges = append(ranges, &scanned{next: keys[i], end: within.End})
		}
	}
	return ranges, err
}

// scan reads up to n more rows of a range.
func (s Sampling) scan(ctx context.Context, table bigtable.TableAPI, r *scanned, n int, row func(bigtable.Row) bool) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	got, stopped := 0, false
	err := table.ReadRows(ctx, bigtable.NewRange(r.next, r.end), func(read bigtable.Row) bool {
		got, r.next = got+1, read.Key()+"\x00"
		stopped = !row(read)
		return !stopped
	}, bigtable.LimitRows(int64(n)), bigtable.RowFilter(s.Filter))
	r.done = got < n && !stopped
	return err
}
