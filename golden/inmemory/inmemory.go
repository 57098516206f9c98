// Package inmemory is a Bigtable in the process of its client, for tests that read and write much. It
// knows tables, rows and cells, and nothing of schemas or of families that were created.
package inmemory

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	protobuf "google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Bigtable answers the requests of readers and writers without a network, at a tenth of the time of
// Google's in-memory server, which compiles the expressions of a filter for each row. Others are not
// implemented. The zero value has no rows.
type Bigtable struct {
	mu      sync.Mutex                // held while a request is answered: reads of several parts send requests concurrently
	tables  map[string]map[string]row // by table and key
	filters Filters
	scanned Amount
	ranges  int // of reads
}

// Amount is an amount of data.
type Amount struct {
	Rows, Cells int
	Bytes       int // of keys once per row, and of names, timestamps and values of all cells
}

// Add adds a row.
func (a *Amount) Add(key string, cells []Cell) {
	a.Rows++
	a.Cells += len(cells)
	a.Bytes += len(key)
	for _, c := range cells {
		a.Bytes += len(c.Family) + len(c.Qualifier) + 8 + len(c.Value)
	}
}

// Cell is a cell of a row.
type Cell struct {
	Family, Qualifier string
	Micros            int64
	Value             []byte
}

// compare orders cells as Bigtable returns them.
func (c Cell) compare(o Cell) int {
	return cmp.Or(cmp.Compare(c.Family, o.Family), cmp.Compare(c.Qualifier, o.Qualifier), cmp.Compare(o.Micros, c.Micros))
}

// Connect returns a client.
func (b *Bigtable) Connect(ctx context.Context) (*bigtable.Client, error) {
	b.Reset()
	return storetest.Connect(ctx, "passthrough:///memory", grpc.WithChainStreamInterceptor(Replay(b.answer)), grpc.WithChainUnaryInterceptor(b.call))
}

// Reset deletes all rows.
func (b *Bigtable) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables = map[string]map[string]row{}
	b.filters.compiled.Clear() // the next rows have other keys
}

// Stored returns how much all tables store.
func (b *Bigtable) Stored() (all Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rows := range b.tables {
		for key, r := range rows {
			all.Add(key, r.cells())
		}
	}
	return all
}

// Scanned returns how much was in the rows of all read requests so far until their streams ended, whether or not it
// passed their filters, and the number of their row keys and ranges.
func (b *Bigtable) Scanned() (all Amount, ranges int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.scanned, b.ranges
}

// call answers a request that is not a stream, in place of a connection: that of one row, and those that
// the client sends to a new connection.
func (b *Bigtable) call(_ context.Context, _ string, request, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
	b.mu.Lock() // several rows are changed at a time
	defer b.mu.Unlock()
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		return b.apply(b.rows(r.TableName), string(r.RowKey), r.Mutations)
	case *bigtablepb.CheckAndMutateRowRequest:
		rows, key := b.rows(r.TableName), string(r.RowKey)
		found, err := b.filters.Pass(r.PredicateFilter, key, rows[key].cells())
		if err != nil {
			return err
		}
		mutations := r.FalseMutations
		if len(found) > 0 {
			mutations = r.TrueMutations
		}
		reply.(*bigtablepb.CheckAndMutateRowResponse).PredicateMatched = len(found) > 0
		return b.apply(rows, key, mutations)
	}
	return nil
}

// answer answers the request of a stream.
func (b *Bigtable) answer(method string, request []byte) (func() ([]byte, error), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch method {
	case "ReadRows":
		r := new(bigtablepb.ReadRowsRequest)
		if err := protobuf.Unmarshal(request, r); err != nil {
			return nil, err
		}
		next := b.read(r)
		return func() ([]byte, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return next()
		}, nil
	case "MutateRows":
		r := new(bigtablepb.MutateRowsRequest)
		if err := protobuf.Unmarshal(request, r); err != nil {
			return nil, err
		}
		answer, err := b.mutate(r)
		return Responses(answer), err
	}
	return Responses(), nil // to SampleRowKeys: a table is one range
}

// rows returns the rows of a table.
func (b *Bigtable) rows(name string) map[string]row {
	id := name[strings.LastIndex(name, "/")+1:]
	if b.tables[id] == nil {
		b.tables[id] = map[string]row{}
	}
	return b.tables[id]
}

// mutate changes rows.
func (b *Bigtable) mutate(r *bigtablepb.MutateRowsRequest) ([]byte, error) {
	rows := b.rows(r.TableName)
	answer := &bigtablepb.MutateRowsResponse{}
	for i, entry := range r.Entries {
		if err := b.apply(rows, string(entry.RowKey), entry.Mutations); err != nil {
			return nil, err
		}
		answer.Entries = append(answer.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: status.New(0, "").Proto()})
	}
	return protobuf.Marshal(answer)
}

// apply changes a row.
func (b *Bigtable) apply(rows map[string]row, key string, mutations []*bigtablepb.Mutation) error {
	r := rows[key]
	for _, mutation := range mutations {
		switch mutation := mutation.Mutation.(type) {
		case *bigtablepb.Mutation_SetCell_:
			set := mutation.SetCell
			r = r.set(Cell{set.FamilyName, string(set.ColumnQualifier), set.TimestampMicros, set.Value})
		case *bigtablepb.Mutation_AddToCell_:
			add := mutation.AddToCell
			c := Cell{add.FamilyName, string(add.ColumnQualifier.GetRawValue()), add.Timestamp.GetRawTimestampMicros(), nil}
			sum := add.Input.GetIntValue()
			if column, found := r.column(c); found {
				if k, found := version(r[column], c); found {
					sum += int64(binary.BigEndian.Uint64(r[column][k].Value))
				}
			}
			c.Value = binary.BigEndian.AppendUint64(nil, uint64(sum))
			r = r.set(c)
		case *bigtablepb.Mutation_DeleteFromColumn_:
			from, within := mutation.DeleteFromColumn, mutation.DeleteFromColumn.GetTimeRange()
			r = r.delete(func(c Cell) bool {
				return c.Family == from.FamilyName && c.Qualifier == string(from.ColumnQualifier) && c.during(within)
			})
		case *bigtablepb.Mutation_DeleteFromFamily_:
			r = r.delete(func(c Cell) bool { return c.Family == mutation.DeleteFromFamily.FamilyName })
		case *bigtablepb.Mutation_DeleteFromRow_:
			r = nil
		default:
			return fmt.Errorf("mutation %T is not implemented", mutation)
		}
	}
	if rows[key] = r; len(r) == 0 {
		delete(rows, key)
	}
	return nil
}

// during reports whether a cell is in a time range; nil is all times.
func (c Cell) during(r *bigtablepb.TimestampRange) bool {
	return c.Micros >= r.GetStartTimestampMicros() && (r.GetEndTimestampMicros() == 0 || c.Micros < r.GetEndTimestampMicros())
}

// row has columns in the order in which Bigtable returns them. The cells of each begin with the oldest, so that events
// that are written in order of time are appended.
type row [][]Cell

// cells returns all cells, in the order in which Bigtable returns them.
func (r row) cells() []Cell {
	n := 0
	for _, column := range r {
		n += len(column)
	}
	out := make([]Cell, 0, n)
	for _, column := range r {
		for _, c := range slices.Backward(column) {
			out = append(out, c)
		}
	}
	return out
}

// column returns where the column of a cell is, or would be.
func (r row) column(c Cell) (int, bool) {
	return slices.BinarySearchFunc(r, c, func(column []Cell, c Cell) int {
		return cmp.Or(cmp.Compare(column[0].Family, c.Family), cmp.Compare(column[0].Qualifier, c.Qualifier))
	})
}

// version returns where a cell of a column is, or would be.
func version(column []Cell, c Cell) (int, bool) {
	return slices.BinarySearchFunc(column, c, func(a, b Cell) int { return cmp.Compare(a.Micros, b.Micros) })
}

// set adds or replaces a cell.
func (r row) set(c Cell) row {
	i, found := r.column(c)
	if !found {
		return slices.Insert(r, i, []Cell{c})
	}
	k, found := version(r[i], c)
	if found {
		r[i][k] = c
	} else {
		r[i] = slices.Insert(r[i], k, c)
	}
	return r
}

// delete deletes cells.
func (r row) delete(is func(Cell) bool) row {
	for i := range r {
		r[i] = slices.DeleteFunc(r[i], is)
	}
	return slices.DeleteFunc(r, func(column []Cell) bool { return len(column) == 0 })
}

// answerRows is the number of rows that an answer is about: few, so that reads have several answers.
const answerRows = 3

// read returns a function that returns the answers to a request, one by one: what the client no longer wants is not
// scanned.
func (b *Bigtable) read(r *bigtablepb.ReadRowsRequest) func() ([]byte, error) {
	b.ranges += len(r.Rows.GetRowKeys()) + len(r.Rows.GetRowRanges())
	rows := b.rows(r.TableName)
	var keys []string
	for key := range rows {
		if Selects(r.Rows, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if r.Reversed {
		slices.Reverse(keys)
	}
	return func() (answer []byte, err error) {
		for n := 0; len(keys) > 0 && (n < answerRows || answer == nil); n++ {
			key := keys[0]
			keys = keys[1:]
			cells := rows[key].cells()
			b.scanned.Add(key, cells)
			if cells, err = b.filters.Pass(r.Filter, key, cells); err != nil {
				return nil, err
			}
			if answer = AppendRow(answer, key, cells); len(cells) > 0 && r.RowsLimit > 0 {
				if r.RowsLimit--; r.RowsLimit == 0 {
					keys = nil
				}
			}
		}
		return answer, nil
	}
}

// Selects reports whether a request is for a row.
func Selects(set *bigtablepb.RowSet, key string) bool {
	if len(set.GetRowKeys())+len(set.GetRowRanges()) == 0 {
		return true
	}
	if slices.ContainsFunc(set.RowKeys, func(k []byte) bool { return string(k) == key }) {
		return true
	}
	return slices.ContainsFunc(set.RowRanges, func(r *bigtablepb.RowRange) bool {
		after, before := true, true
		switch start := r.StartKey.(type) {
		case *bigtablepb.RowRange_StartKeyClosed:
			after = key >= string(start.StartKeyClosed)
		case *bigtablepb.RowRange_StartKeyOpen:
			after = key > string(start.StartKeyOpen)
		}
		switch end := r.EndKey.(type) {
		case *bigtablepb.RowRange_EndKeyClosed:
			before = len(end.EndKeyClosed) == 0 || key <= string(end.EndKeyClosed)
		case *bigtablepb.RowRange_EndKeyOpen:
			before = len(end.EndKeyOpen) == 0 || key < string(end.EndKeyOpen)
		}
		return after && before
	})
}
