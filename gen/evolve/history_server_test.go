package evolve_test

import (
	"bytes"
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

// memory is a Bigtable in the process of its client, without a network: it answers the
// requests of readers and writers at a tenth of the time of Google's in-memory server, which
// compiles the expressions of a filter for each row. TestHistories compares the two.
type memory struct {
	mu     sync.Mutex                   // held while a request is answered: reads of several parts send requests concurrently
	tables map[string]map[string][]cell // by table and row, sorted
	regexp map[string]*regexp.Regexp
}

// cell is a cell of a row.
type cell struct {
	family, qualifier string
	micros            int64
	value             []byte
}

// compare orders cells as Bigtable returns them.
func (c cell) compare(o cell) int {
	return cmp.Or(cmp.Compare(c.family, o.family), cmp.Compare(c.qualifier, o.qualifier), cmp.Compare(o.micros, c.micros))
}

// connect returns a client of the memory.
func (m *memory) connect(ctx context.Context) (*bigtable.Client, error) {
	m.tables, m.regexp = map[string]map[string][]cell{}, map[string]*regexp.Regexp{}
	return storetest.Connect(ctx, "passthrough:///memory", grpc.WithChainStreamInterceptor(m.open), grpc.WithChainUnaryInterceptor(m.call))
}

// call answers a request that is not a stream, in place of a connection: that of one row, and those that
// the client sends to a new connection.
func (m *memory) call(_ context.Context, _ string, request, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
	m.mu.Lock() // several rows are changed at a time
	defer m.mu.Unlock()
	apply := func(table string, key []byte, mutations []*bigtablepb.Mutation) error {
		_, err := m.mutate(&bigtablepb.MutateRowsRequest{TableName: table, Entries: []*bigtablepb.MutateRowsRequest_Entry{{RowKey: key, Mutations: mutations}}})
		return err
	}
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		return apply(r.TableName, r.RowKey, r.Mutations)
	case *bigtablepb.CheckAndMutateRowRequest:
		found, err := m.filter(r.PredicateFilter, string(r.RowKey), m.rows(r.TableName)[string(r.RowKey)])
		if err != nil {
			return err
		}
		mutations := r.FalseMutations
		if len(found) > 0 {
			mutations = r.TrueMutations
		}
		reply.(*bigtablepb.CheckAndMutateRowResponse).PredicateMatched = len(found) > 0
		return apply(r.TableName, r.RowKey, mutations)
	}
	return nil
}

// reset deletes all rows.
func (m *memory) reset(context.Context) error {
	clear(m.tables)
	clear(m.regexp) // the next history has other keys
	return nil
}

// open opens a stream, in place of a connection.
func (m *memory) open(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s := &call{ctx: ctx, memory: m, codec: encoding.GetCodecV2(proto.Name), method: method[strings.LastIndex(method, "/")+1:]}
	for _, o := range opts {
		if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
			s.codec = forced.CodecV2
		}
	}
	return s, nil
}

// call is the stream of one request.
type call struct {
	ctx     context.Context
	memory  *memory
	codec   encoding.CodecV2
	method  string
	answers []protobuf.Message
}

func (s *call) Header() (metadata.MD, error) { return nil, nil }
func (s *call) Trailer() metadata.MD         { return nil }
func (s *call) CloseSend() error             { return nil }
func (s *call) Context() context.Context     { return s.ctx }

// SendMsg answers the request.
func (s *call) SendMsg(m any) error {
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
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	switch r := request.(type) {
	case *bigtablepb.ReadRowsRequest:
		s.answers, err = s.memory.read(r)
	case *bigtablepb.MutateRowsRequest:
		s.answers, err = s.memory.mutate(r)
	}
	if err != nil {
		return status.Convert(err).Err()
	}
	return nil
}

// RecvMsg returns the next answer.
func (s *call) RecvMsg(m any) error {
	if len(s.answers) == 0 {
		return io.EOF
	}
	data, err := protobuf.Marshal(s.answers[0])
	if err != nil {
		return err
	}
	s.answers = s.answers[1:]
	return s.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, m)
}

// rows returns the rows of a table.
func (m *memory) rows(name string) map[string][]cell {
	id := name[strings.LastIndex(name, "/")+1:]
	if m.tables[id] == nil {
		m.tables[id] = map[string][]cell{}
	}
	return m.tables[id]
}

// mutate writes cells.
func (m *memory) mutate(r *bigtablepb.MutateRowsRequest) ([]protobuf.Message, error) {
	rows := m.rows(r.TableName)
	answer := &bigtablepb.MutateRowsResponse{}
	for i, entry := range r.Entries {
		row := rows[string(entry.RowKey)]
		for _, mutation := range entry.Mutations {
			switch mutation := mutation.Mutation.(type) {
			case *bigtablepb.Mutation_SetCell_:
				set := mutation.SetCell
				at := cell{set.FamilyName, string(set.ColumnQualifier), set.TimestampMicros, set.Value}
				k, found := slices.BinarySearchFunc(row, at, cell.compare)
				if found {
					row[k] = at
				} else {
					row = slices.Insert(row, k, at)
				}
			case *bigtablepb.Mutation_DeleteFromColumn_:
				from, within := mutation.DeleteFromColumn, mutation.DeleteFromColumn.GetTimeRange()
				row = slices.DeleteFunc(row, func(c cell) bool {
					return c.family == from.FamilyName && c.qualifier == string(from.ColumnQualifier) && c.during(within)
				})
			case *bigtablepb.Mutation_DeleteFromFamily_:
				row = slices.DeleteFunc(row, func(c cell) bool { return c.family == mutation.DeleteFromFamily.FamilyName })
			case *bigtablepb.Mutation_DeleteFromRow_:
				row = nil
			default:
				return nil, fmt.Errorf("mutation %T is not implemented", mutation)
			}
		}
		rows[string(entry.RowKey)] = row
		if len(row) == 0 {
			delete(rows, string(entry.RowKey))
		}
		answer.Entries = append(answer.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: status.New(0, "").Proto()})
	}
	return []protobuf.Message{answer}, nil
}

// during reports whether a cell is in a time range; nil is all times.
func (c cell) during(r *bigtablepb.TimestampRange) bool {
	return c.micros >= r.GetStartTimestampMicros() && (r.GetEndTimestampMicros() == 0 || c.micros < r.GetEndTimestampMicros())
}

// read returns the rows of a request.
func (m *memory) read(r *bigtablepb.ReadRowsRequest) ([]protobuf.Message, error) {
	rows := m.rows(r.TableName)
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
	var answers []protobuf.Message
	answer := &bigtablepb.ReadRowsResponse{}
	for n, key := range keys {
		cells, err := m.filter(r.Filter, key, rows[key])
		if err != nil {
			return nil, err
		}
		for i, c := range cells {
			chunk := &bigtablepb.ReadRowsResponse_CellChunk{FamilyName: wrapperspb.String(c.family), Qualifier: wrapperspb.Bytes([]byte(c.qualifier)), TimestampMicros: c.micros, Value: c.value}
			if i == 0 {
				chunk.RowKey = []byte(key)
			}
			if i == len(cells)-1 {
				chunk.RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
			}
			answer.Chunks = append(answer.Chunks, chunk)
		}
		if len(cells) > 0 && r.RowsLimit > 0 {
			if r.RowsLimit--; r.RowsLimit == 0 {
				break
			}
		}
		if len(answer.Chunks) > 0 && n%3 == 2 { // few rows in each answer
			answers, answer = append(answers, answer), &bigtablepb.ReadRowsResponse{}
		}
	}
	if len(answer.Chunks) > 0 {
		answers = append(answers, answer)
	}
	return answers, nil
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

// filter returns the cells of a row that pass a filter, in their order.
func (m *memory) filter(f *bigtablepb.RowFilter, key string, row []cell) ([]cell, error) {
	var err error
	keep := func(is func(c cell) bool) ([]cell, error) {
		var out []cell
		for _, c := range row {
			if is(c) {
				out = append(out, c)
			}
		}
		return out, nil
	}
	switch f := f.GetFilter().(type) {
	case nil, *bigtablepb.RowFilter_PassAllFilter:
		return row, nil
	case *bigtablepb.RowFilter_BlockAllFilter:
		return nil, nil
	case *bigtablepb.RowFilter_Chain_:
		for _, sub := range f.Chain.Filters {
			if row, err = m.filter(sub, key, row); err != nil || len(row) == 0 {
				break
			}
		}
		return row, err
	case *bigtablepb.RowFilter_Interleave_:
		var out []cell
		for _, sub := range f.Interleave.Filters {
			passed, err := m.filter(sub, key, row)
			if err != nil {
				return nil, err
			}
			out = append(out, passed...)
		}
		slices.SortStableFunc(out, cell.compare)
		return out, nil
	case *bigtablepb.RowFilter_Condition_:
		found, err := m.filter(f.Condition.PredicateFilter, key, row)
		switch {
		case err != nil:
			return nil, err
		case len(found) > 0 && f.Condition.TrueFilter != nil:
			return m.filter(f.Condition.TrueFilter, key, row)
		case len(found) == 0 && f.Condition.FalseFilter != nil:
			return m.filter(f.Condition.FalseFilter, key, row)
		}
		return nil, nil
	case *bigtablepb.RowFilter_CellsPerRowOffsetFilter:
		return row[min(len(row), int(f.CellsPerRowOffsetFilter)):], nil
	case *bigtablepb.RowFilter_RowKeyRegexFilter:
		return keep(func(cell) bool { return m.matches(f.RowKeyRegexFilter, key) })
	case *bigtablepb.RowFilter_FamilyNameRegexFilter:
		return keep(func(c cell) bool { return m.matches([]byte(f.FamilyNameRegexFilter), c.family) })
	case *bigtablepb.RowFilter_ColumnQualifierRegexFilter:
		return keep(func(c cell) bool { return m.matches(f.ColumnQualifierRegexFilter, c.qualifier) })
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		return keep(func(c cell) bool { return c.during(f.TimestampRangeFilter) })
	case *bigtablepb.RowFilter_ColumnRangeFilter:
		r := f.ColumnRangeFilter
		return keep(func(c cell) bool {
			q := []byte(c.qualifier)
			return c.family == r.FamilyName && bytes.Compare(q, r.GetStartQualifierClosed()) >= 0 && (len(r.GetEndQualifierOpen()) == 0 || bytes.Compare(q, r.GetEndQualifierOpen()) < 0)
		})
	case *bigtablepb.RowFilter_CellsPerRowLimitFilter:
		return row[:min(len(row), int(f.CellsPerRowLimitFilter))], nil
	case *bigtablepb.RowFilter_CellsPerColumnLimitFilter:
		n, last := int32(0), cell{}
		return keep(func(c cell) bool {
			if n++; c.family != last.family || c.qualifier != last.qualifier {
				n = 1
			}
			last = c
			return n <= f.CellsPerColumnLimitFilter
		})
	case *bigtablepb.RowFilter_StripValueTransformer:
		out := slices.Clone(row)
		for i := range out {
			out[i].value = nil
		}
		return out, nil
	default:
		return nil, fmt.Errorf("filter %T is not implemented", f)
	}
}

// matches reports whether an expression matches a whole string. Both are of bytes, each of
// which is a character.
func (m *memory) matches(expression []byte, s string) bool {
	re := m.regexp[string(expression)]
	if re == nil {
		re = regexp.MustCompile(`^(?:` + strings.ReplaceAll(latin(string(expression)), `\C`, `(?s:.)`) + `)$`)
		m.regexp[string(expression)] = re
	}
	return re.MatchString(latin(s))
}

// latin returns a string of which each character is a byte.
func latin(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}
