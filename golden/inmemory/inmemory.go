// Package inmemory is a Bigtable in the process of its client, for tests that read and write much. It
// knows tables, rows and cells, and nothing of schemas or of families that were created.
package inmemory

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	protobuf "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Bigtable answers the requests of readers and writers without a network, at a tenth of the time of
// Google's in-memory server, which compiles the expressions of a filter for each row. Others are not
// implemented. TestHistories compares the two. The zero value has no rows.
type Bigtable struct {
	mu      sync.Mutex                // held while a request is answered: reads of several parts send requests concurrently
	tables  map[string]map[string]row // by table and key
	regexp  map[string]*regexp.Regexp
	scanned Amount
	ranges  int // of reads
}

// Amount is an amount of data.
type Amount struct {
	Rows, Cells int
	Bytes       int // of keys once per row, and of names, timestamps and values of all cells
}

// add adds a row.
func (a *Amount) add(key string, cells []Cell) {
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
	return storetest.Connect(ctx, "passthrough:///memory", grpc.WithChainStreamInterceptor(b.open), grpc.WithChainUnaryInterceptor(b.call))
}

// Reset deletes all rows.
func (b *Bigtable) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables, b.regexp = map[string]map[string]row{}, map[string]*regexp.Regexp{} // the next rows have other keys
}

// Rows returns the cells of all rows of a table by key, in the order in which Bigtable returns them.
func (b *Bigtable) Rows(table string) map[string][]Cell {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string][]Cell{}
	for key, r := range b.tables[table] {
		out[key] = r.cells()
	}
	return out
}

// Stored returns how much all tables store.
func (b *Bigtable) Stored() (all Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rows := range b.tables {
		for key, r := range rows {
			all.add(key, r.cells())
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
		found, err := b.filter(r.PredicateFilter, key, rows[key].cells())
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

// open opens a stream, in place of a connection.
func (b *Bigtable) open(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s := &stream{ctx: ctx, of: b, codec: encoding.GetCodecV2(proto.Name), method: method[strings.LastIndex(method, "/")+1:]}
	for _, o := range opts {
		if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
			s.codec = forced.CodecV2
		}
	}
	return s, nil
}

// stream is the stream of one request.
type stream struct {
	ctx    context.Context
	of     *Bigtable
	codec  encoding.CodecV2
	method string
	next   func() (protobuf.Message, error) // the next answer; nil at the end
}

func (s *stream) Header() (metadata.MD, error) { return nil, nil }
func (s *stream) Trailer() metadata.MD         { return nil }
func (s *stream) CloseSend() error             { return nil }
func (s *stream) Context() context.Context     { return s.ctx }

// SendMsg answers the request.
func (s *stream) SendMsg(m any) error {
	data, err := s.codec.Marshal(m)
	if err != nil {
		return err
	}
	if s.method == "SampleRowKeys" {
		return nil // a table is one range
	}
	request := map[string]protobuf.Message{"ReadRows": &bigtablepb.ReadRowsRequest{}, "MutateRows": &bigtablepb.MutateRowsRequest{}}[s.method]
	if err := protobuf.Unmarshal(data.Materialize(), request); err != nil {
		return err
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	switch r := request.(type) {
	case *bigtablepb.ReadRowsRequest:
		s.next = s.of.read(r)
	case *bigtablepb.MutateRowsRequest:
		answer, err := s.of.mutate(r)
		s.next = func() (protobuf.Message, error) {
			defer func() { answer, err = nil, nil }()
			return answer, err
		}
	}
	return nil
}

// RecvMsg returns the next answer.
func (s *stream) RecvMsg(m any) error {
	if s.next == nil {
		return io.EOF
	}
	s.of.mu.Lock()
	answer, err := s.next()
	s.of.mu.Unlock()
	switch {
	case err != nil:
		return status.Convert(err).Err()
	case answer == nil:
		return io.EOF
	}
	data, err := protobuf.Marshal(answer)
	if err != nil {
		return err
	}
	return s.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, m)
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
func (b *Bigtable) mutate(r *bigtablepb.MutateRowsRequest) (protobuf.Message, error) {
	rows := b.rows(r.TableName)
	answer := &bigtablepb.MutateRowsResponse{}
	for i, entry := range r.Entries {
		if err := b.apply(rows, string(entry.RowKey), entry.Mutations); err != nil {
			return nil, err
		}
		answer.Entries = append(answer.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: status.New(0, "").Proto()})
	}
	return answer, nil
}

// apply changes a row.
func (b *Bigtable) apply(rows map[string]row, key string, mutations []*bigtablepb.Mutation) error {
	r := rows[key]
	for _, mutation := range mutations {
		switch mutation := mutation.Mutation.(type) {
		case *bigtablepb.Mutation_SetCell_:
			set := mutation.SetCell
			r = r.set(Cell{set.FamilyName, string(set.ColumnQualifier), set.TimestampMicros, set.Value})
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

// set adds or replaces a cell.
func (r row) set(c Cell) row {
	i, found := slices.BinarySearchFunc(r, c, func(column []Cell, c Cell) int {
		return cmp.Or(cmp.Compare(column[0].Family, c.Family), cmp.Compare(column[0].Qualifier, c.Qualifier))
	})
	if !found {
		return slices.Insert(r, i, []Cell{c})
	}
	k, found := slices.BinarySearchFunc(r[i], c, func(a, b Cell) int { return cmp.Compare(a.Micros, b.Micros) })
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
func (b *Bigtable) read(r *bigtablepb.ReadRowsRequest) func() (protobuf.Message, error) {
	b.ranges += len(r.Rows.GetRowKeys()) + len(r.Rows.GetRowRanges())
	rows := b.rows(r.TableName)
	var keys []string
	for key := range rows {
		if selects(r.Rows, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if r.Reversed {
		slices.Reverse(keys)
	}
	return func() (protobuf.Message, error) {
		answer := &bigtablepb.ReadRowsResponse{}
		for n := 0; len(keys) > 0 && (n < answerRows || len(answer.Chunks) == 0); n++ {
			key := keys[0]
			keys = keys[1:]
			cells := rows[key].cells()
			b.scanned.add(key, cells)
			cells, err := b.filter(r.Filter, key, cells)
			if err != nil {
				return nil, err
			}
			if answer.Chunks = appendChunks(answer.Chunks, key, cells); len(cells) > 0 && r.RowsLimit > 0 {
				if r.RowsLimit--; r.RowsLimit == 0 {
					keys = nil
				}
			}
		}
		if len(answer.Chunks) == 0 {
			return nil, nil
		}
		return answer, nil
	}
}

// appendChunks appends the cells of a row to those of an answer, with names only where they change.
func appendChunks(to []*bigtablepb.ReadRowsResponse_CellChunk, key string, cells []Cell) []*bigtablepb.ReadRowsResponse_CellChunk {
	to = slices.Grow(to, len(cells))
	for i, c := range cells {
		chunk := &bigtablepb.ReadRowsResponse_CellChunk{TimestampMicros: c.Micros, Value: c.Value}
		if i == 0 {
			chunk.RowKey = []byte(key)
		}
		if i == 0 || c.Family != cells[i-1].Family || c.Qualifier != cells[i-1].Qualifier {
			chunk.FamilyName, chunk.Qualifier = wrapperspb.String(c.Family), wrapperspb.Bytes([]byte(c.Qualifier))
		}
		if i == len(cells)-1 {
			chunk.RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
		}
		to = append(to, chunk)
	}
	return to
}

// selects reports whether a request is for a row.
func selects(set *bigtablepb.RowSet, key string) bool {
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
