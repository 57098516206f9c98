package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fixture is the check of most assumptions: cells of its own rows, a change of them, a read, and what that returns.
type fixture struct {
	cells   string     // written first, each row with its cells in one request
	change  []mutation // of row a
	code    codes.Code // what the change gets
	filter  filter     // of the read; nil for none
	rows    []span     // nil for all of the fixture
	limit   int64      // of rows
	reverse bool
	refused codes.Code // what the read gets
	want    string     // cells
	sorted  bool       // the order of the cells of a row is not promised
}

type (
	mutation = *bigtablepb.Mutation
	filter   = *bigtablepb.RowFilter
)

// span is a range of keys of a fixture, or a single key.
type span struct{ start, end, key string }

// families are those of the table of fixtures.
var families = []string{"f", "g", "a.b", "a-b"}

// cellTable returns the table of fixtures.
func (r *run) cellTable(ctx context.Context) (string, error) {
	return r.once("cells", func(id string) error {
		conf := bigtable.TableConf{TableID: id, ColumnFamilies: map[string]bigtable.Family{}}
		for _, f := range families {
			conf.ColumnFamilies[f] = bigtable.Family{GCPolicy: bigtable.NoGcPolicy()}
		}
		return r.create(ctx, &conf)
	})
}

// create creates a table, and waits until it can be read.
func (r *run) create(ctx context.Context, conf *bigtable.TableConf) error {
	conf.ColumnFamilies = maps.Clone(conf.ColumnFamilies)
	conf.ColumnFamilies[mark] = bigtable.Family{GCPolicy: bigtable.NoGcPolicy()}
	err := r.Admin.CreateTableFromConf(ctx, conf)
	if err != nil && status.Code(err) != codes.AlreadyExists { // of an attempt whose reply was lost
		return fmt.Errorf("creating a table: %w", err)
	}
	return r.visible(ctx, conf.TableID)
}

// visible waits until a new table can be read.
func (r *run) visible(ctx context.Context, id string) error {
	return found(ctx, func() error {
		_, err := r.read(ctx, &bigtablepb.ReadRowsRequest{TableName: r.table(id), RowsLimit: 1})
		return err
	})
}

// found calls f again while what it is about cannot be found, because it is new, for some seconds.
func found(ctx context.Context, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if status.Code(err) != codes.NotFound || n == 50 {
			return err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// first makes calls in their order until one fails, and returns its error.
func first(calls ...func() error) error {
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// place is where the rows of an assumption are.
type place struct {
	*run
	id   string // of the table
	keys string // the prefix of the keys
}

// name is the name of the table in requests.
func (p place) name() string { return p.table(p.id) }

// at returns the place of an assumption in the table of fixtures.
func (r *run) at(ctx context.Context, id string) (place, error) {
	table, err := r.cellTable(ctx)
	return place{r, table, id + "/"}, err
}

// tried writes, changes and reads.
func (f fixture) tried(ctx context.Context, p place) (string, error) {
	cells, err := parseCells(f.cells, p.base)
	if err != nil {
		return "", err
	}
	want, err := parseCells(f.want, p.base)
	if err != nil {
		return "", err
	}
	for _, row := range rowsOf(cells) {
		if err := p.mutate(ctx, row[0].row, setCells(row)); err != nil {
			return "", err
		}
	}
	seen := ""
	if f.change != nil {
		if err := expected(p.mutate(ctx, "a", rebased(f.change, p.base)), f.code, "the mutation"); err != nil {
			return "", err
		}
		if f.code != codes.OK {
			seen = "the mutation was refused; then "
		}
	}
	got, err := p.readRows(ctx, f)
	if f.refused != codes.OK {
		return "the read got " + status.Code(err).String(), expected(err, f.refused, "the read")
	}
	if err != nil {
		return "", err
	}
	if f.sorted {
		sortCells(got)
		sortCells(want)
	}
	shown := showCells(got, p.base)
	wanted, sameValue := showCells(want, p.base), func(a, b cell) bool { return a.value == b.value }
	if shown != wanted || !slices.EqualFunc(got, want, sameValue) { // long ones are not shown whole
		return "", differs("read %s instead of %s", shown, wanted)
	}
	return seen + "read " + shown, nil
}

// sortCells sorts cells of rows.
func sortCells(cells []cell) {
	slices.SortStableFunc(cells, func(a, b cell) int { return strings.Compare(a.text(0)+a.row, b.text(0)+b.row) })
}

// anyCode stands for all codes of refusals.
const anyCode = codes.Code(99)

// expected returns a contradiction unless an error has a code.
func expected(err error, code codes.Code, what string) error {
	switch got := status.Code(err); {
	case got == code, code == anyCode && err != nil && verdictOf(err) == Fails:
		return nil
	case err == nil && code == anyCode:
		return differs("%s was accepted", what)
	case err == nil:
		return differs("%s was accepted, not refused with %s", what, code)
	case code == codes.OK:
		return fmt.Errorf("%s: %w", what, err)
	case verdictOf(err) == NotTried:
		return err
	default:
		return differs("%s got %s (%s) instead of %s", what, got, status.Convert(err).Message(), code)
	}
}

// setCells returns the mutations that write cells.
func setCells(cells []cell) (out []mutation) {
	for _, c := range cells {
		out = append(out, set(c.family, c.qualifier, c.micros, c.value))
	}
	return out
}

// again calls f again while the server is unavailable.
func again(ctx context.Context, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if status.Code(err) != codes.Unavailable || n == 5 {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond<<n); err != nil {
			return err
		}
	}
}

// mutate changes a row.
func (p place) mutate(ctx context.Context, row string, mutations []mutation) error {
	return again(ctx, func() error {
		_, err := p.data.MutateRow(ctx, &bigtablepb.MutateRowRequest{
			TableName: p.name(), AppProfileId: p.AppProfile, RowKey: []byte(p.keys + row), Mutations: mutations,
		})
		return err
	})
}

// readRows reads what a fixture reads, with keys as it writes them.
func (p place) readRows(ctx context.Context, f fixture) ([]cell, error) {
	set := &bigtablepb.RowSet{}
	if f.rows == nil {
		set.RowRanges = append(set.RowRanges, closedOpen(p.keys, p.keys[:len(p.keys)-1]+"0"))
	}
	for _, s := range f.rows {
		if s.key != "" {
			set.RowKeys = append(set.RowKeys, []byte(p.keys+s.key))
		} else {
			set.RowRanges = append(set.RowRanges, closedOpen(p.keys+s.start, p.keys+s.end))
		}
	}
	cells, err := p.read(ctx, &bigtablepb.ReadRowsRequest{
		TableName: p.name(), AppProfileId: p.AppProfile, Rows: set, Filter: rebase(f.filter, p.base), RowsLimit: f.limit, Reversed: f.reverse,
	})
	for i := range cells {
		cells[i].row = strings.TrimPrefix(cells[i].row, p.keys)
	}
	return cells, err
}

// closedOpen returns a range of keys.
func closedOpen(start, end string) *bigtablepb.RowRange {
	return &bigtablepb.RowRange{
		StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(start)},
		EndKey:   &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(end)},
	}
}

// receive passes on all responses of a stream.
func receive[T any](stream grpc.ServerStreamingClient[T], each func(response *T) error) error {
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(response)
		}
		if err != nil {
			return err
		}
	}
}

// read reads cells, again if the server becomes unavailable.
func (r *run) read(ctx context.Context, request *bigtablepb.ReadRowsRequest) (cells []cell, err error) {
	request.AppProfileId = r.AppProfile
	err = again(ctx, func() error {
		cells = nil
		stream, err := r.data.ReadRows(streaming(ctx, request), request)
		if err != nil {
			return err
		}
		var a assembler
		if err := receive(stream, func(r *bigtablepb.ReadRowsResponse) error {
			for _, c := range r.GetChunks() {
				a.add(c)
			}
			return nil
		}); err != nil {
			return err
		}
		cells = a.cells
		if a.broken != "" {
			return differs("%s", a.broken)
		}
		return nil
	})
	return cells, err
}
