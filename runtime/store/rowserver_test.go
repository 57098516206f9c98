package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// rowServer answers the requests of a client without a network, for a table with one row. It records
// changes instead of applying them.
type rowServer struct {
	key     string
	cells   rowCells
	changed []rowChange // what was recorded
}

// rowCell is a cell of the row.
type rowCell struct {
	family, qualifier string
	micros            int64
	value             string
}

// rowCells are cells in Bigtable's order.
type rowCells []rowCell

func (a rowCell) compare(b rowCell) int {
	return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.qualifier, b.qualifier), cmp.Compare(b.micros, a.micros))
}

// rowChange is a request that changes the row: Then, or Else if there is a condition that finds no cell.
type rowChange struct {
	then, otherwise []*bigtablepb.Mutation
	condition       *bigtablepb.RowFilter
	id              uint64 // see identify
}

// mutate returns the cells after mutations.
func (c rowCells) mutate(muts []*bigtablepb.Mutation) rowCells {
	out := slices.Clone(c)
	remove := func(is func(cell rowCell) bool) { out = slices.DeleteFunc(out, is) }
	for _, m := range muts {
		switch m := m.GetMutation().(type) {
		case *bigtablepb.Mutation_SetCell_:
			set := rowCell{m.SetCell.GetFamilyName(), string(m.SetCell.GetColumnQualifier()), m.SetCell.GetTimestampMicros(), string(m.SetCell.GetValue())}
			i, found := slices.BinarySearchFunc(out, set, rowCell.compare)
			if !found {
				out = slices.Insert(out, i, set)
			}
			out[i] = set
		case *bigtablepb.Mutation_DeleteFromColumn_:
			d := m.DeleteFromColumn
			remove(func(cell rowCell) bool {
				end := d.GetTimeRange().GetEndTimestampMicros()
				return cell.family == d.GetFamilyName() && cell.qualifier == string(d.GetColumnQualifier()) &&
					cell.micros >= d.GetTimeRange().GetStartTimestampMicros() && (end == 0 || cell.micros < end)
			})
		case *bigtablepb.Mutation_DeleteFromFamily_:
			remove(func(cell rowCell) bool { return cell.family == m.DeleteFromFamily.GetFamilyName() })
		default:
			panic(fmt.Sprintf("mutation %T", m))
		}
	}
	return out
}

// filterPatterns caches regular expressions.
var filterPatterns = map[string]*regexp.Regexp{}

func matches(pattern, text string) bool {
	p := filterPatterns[pattern]
	if p == nil {
		p = regexp.MustCompile("^(?:" + pattern + ")$")
		filterPatterns[pattern] = p
	}
	return p.MatchString(text)
}

// filter returns the cells that a filter returns.
func (c rowCells) filter(f *bigtablepb.RowFilter) rowCells {
	keep := func(is func(i int, cell rowCell) bool) (out rowCells) {
		for i, cell := range c {
			if is(i, cell) {
				out = append(out, cell)
			}
		}
		return out
	}
	switch f := f.GetFilter().(type) {
	case nil, *bigtablepb.RowFilter_PassAllFilter:
		return c
	case *bigtablepb.RowFilter_Chain_:
		for _, f := range f.Chain.GetFilters() {
			c = c.filter(f)
		}
		return c
	case *bigtablepb.RowFilter_Interleave_:
		var out rowCells
		for _, f := range f.Interleave.GetFilters() {
			out = append(out, c.filter(f)...)
		}
		slices.SortStableFunc(out, rowCell.compare)
		return out
	case *bigtablepb.RowFilter_Condition_:
		then := f.Condition.GetTrueFilter()
		if len(c.filter(f.Condition.GetPredicateFilter())) == 0 {
			then = f.Condition.GetFalseFilter()
		}
		if then == nil {
			return nil
		}
		return c.filter(then)
	case *bigtablepb.RowFilter_FamilyNameRegexFilter:
		return keep(func(_ int, cell rowCell) bool { return matches(f.FamilyNameRegexFilter, cell.family) })
	case *bigtablepb.RowFilter_ColumnQualifierRegexFilter:
		return keep(func(_ int, cell rowCell) bool {
			return matches(string(f.ColumnQualifierRegexFilter), cell.qualifier)
		})
	case *bigtablepb.RowFilter_ColumnRangeFilter:
		r := f.ColumnRangeFilter
		return keep(func(_ int, cell rowCell) bool {
			end := r.GetEndQualifierOpen()
			return cell.family == r.GetFamilyName() && cell.qualifier >= string(r.GetStartQualifierClosed()) && (len(end) == 0 || cell.qualifier < string(end))
		})
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		r := f.TimestampRangeFilter
		return keep(func(_ int, cell rowCell) bool {
			return cell.micros >= r.GetStartTimestampMicros() && (r.GetEndTimestampMicros() == 0 || cell.micros < r.GetEndTimestampMicros())
		})
	case *bigtablepb.RowFilter_CellsPerRowLimitFilter:
		return keep(func(i int, _ rowCell) bool { return i < int(f.CellsPerRowLimitFilter) })
	case *bigtablepb.RowFilter_StripValueTransformer:
		out := slices.Clone(c)
		for i := range out {
			out[i].value = ""
		}
		return out
	}
	panic(fmt.Sprintf("filter %T", f.GetFilter()))
}

// client returns a client of the server.
func (s *rowServer) client(t testing.TB) *bigtable.Client {
	t.Helper()
	client, err := storetest.ConnectPlain(t.Context(), "127.0.0.1:1", grpc.WithChainStreamInterceptor(s.stream), grpc.WithChainUnaryInterceptor(s.unary))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// unary answers requests that change one row.
func (s *rowServer) unary(_ context.Context, _ string, request, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		s.changed = append(s.changed, rowChange{then: r.GetMutations()})
	case *bigtablepb.CheckAndMutateRowRequest:
		s.changed = append(s.changed, rowChange{then: r.GetTrueMutations(), otherwise: r.GetFalseMutations(), condition: r.GetPredicateFilter()})
		reply.(*bigtablepb.CheckAndMutateRowResponse).PredicateMatched = len(s.cells.filter(r.GetPredicateFilter())) > 0
	default:
		return fmt.Errorf("request %T", request)
	}
	return nil
}

// stream answers reads and requests that change several rows.
func (s *rowServer) stream(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &rowStream{ctx: ctx, server: s}, nil
}

// rowStream is one request.
type rowStream struct {
	ctx    context.Context
	server *rowServer
	answer func(m any) // nil if all is answered
}

func (s *rowStream) Header() (metadata.MD, error) { return metadata.MD{}, nil }
func (s *rowStream) Trailer() metadata.MD         { return metadata.MD{} }
func (s *rowStream) CloseSend() error             { return nil }
func (s *rowStream) Context() context.Context     { return s.ctx }

func (s *rowStream) RecvMsg(m any) error {
	if s.answer == nil {
		return io.EOF
	}
	s.answer(m)
	s.answer = nil
	return nil
}

func (s *rowStream) SendMsg(m any) error {
	switch r := m.(type) {
	case *bigtablepb.MutateRowsRequest:
		for _, e := range r.GetEntries() {
			if len(e.GetMutations()) > 0 {
				s.server.changed = append(s.server.changed, rowChange{then: e.GetMutations()})
			}
		}
		s.answer = func(m any) {
			to := m.(*bigtablepb.MutateRowsResponse)
			for i := range r.GetEntries() {
				to.Entries = append(to.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: &spb.Status{}})
			}
		}
	case *bigtablepb.ReadRowsRequest:
		if cells := s.server.cells.filter(r.GetFilter()); len(cells) > 0 && s.server.wanted(r.GetRows()) {
			s.answer = func(m any) { m.(*bigtablepb.ReadRowsResponse).Chunks = s.server.chunks(cells) }
		}
	case *bigtablepb.SampleRowKeysRequest: // there are none
	default:
		return fmt.Errorf("request %T", m)
	}
	return nil
}

// wanted reports whether a request is for the row.
func (s *rowServer) wanted(rows *bigtablepb.RowSet) bool {
	key := []byte(s.key)
	return slices.ContainsFunc(rows.GetRowKeys(), func(k []byte) bool { return bytes.Equal(k, key) }) ||
		slices.ContainsFunc(rows.GetRowRanges(), func(r *bigtablepb.RowRange) bool {
			end := r.GetEndKeyOpen()
			return bytes.Compare(r.GetStartKeyClosed(), key) <= 0 && (len(end) == 0 || bytes.Compare(key, end) < 0)
		}) || rows == nil || len(rows.GetRowKeys())+len(rows.GetRowRanges()) == 0
}

// chunks returns cells as in a response.
func (s *rowServer) chunks(cells rowCells) (out []*bigtablepb.ReadRowsResponse_CellChunk) {
	for i, c := range cells {
		chunk := &bigtablepb.ReadRowsResponse_CellChunk{
			FamilyName: wrapperspb.String(c.family), Qualifier: wrapperspb.Bytes([]byte(c.qualifier)), TimestampMicros: c.micros, Value: []byte(c.value),
		}
		if i == 0 {
			chunk.RowKey = []byte(s.key)
		}
		if i == len(cells)-1 {
			chunk.RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
		}
		out = append(out, chunk)
	}
	return out
}
