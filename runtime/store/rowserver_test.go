package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// rowServer answers requests without a network, for a table with one row. It records changes without applying them.
type rowServer struct {
	key     string
	cells   rowCells
	changed []rowChange // what was recorded
	filters inmemory.Filters
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

// pass returns the cells of the row that pass a filter.
func (s *rowServer) pass(cells rowCells, f *bigtablepb.RowFilter) ([]inmemory.Cell, error) {
	all := make([]inmemory.Cell, len(cells))
	for i, c := range cells {
		all[i] = inmemory.Cell{Family: c.family, Qualifier: c.qualifier, Micros: c.micros, Value: []byte(c.value)}
	}
	return s.filters.Pass(f, s.key, all)
}

// client returns a client of the server.
func (s *rowServer) client(t testing.TB) *bigtable.Client {
	t.Helper()
	client, err := storetest.ConnectPlain(t.Context(), "127.0.0.1:1", grpc.WithChainStreamInterceptor(inmemory.Replay(s.answer)), grpc.WithChainUnaryInterceptor(s.unary))
	must(t, err)
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
		found, err := s.pass(s.cells, r.GetPredicateFilter())
		reply.(*bigtablepb.CheckAndMutateRowResponse).PredicateMatched = len(found) > 0
		return err
	default:
		return fmt.Errorf("request %T", request)
	}
	return nil
}

// answer answers reads and requests that change several rows.
func (s *rowServer) answer(method string, request []byte) (func() ([]byte, error), error) {
	switch method {
	case "MutateRows":
		r, answer := new(bigtablepb.MutateRowsRequest), new(bigtablepb.MutateRowsResponse)
		if err := proto.Unmarshal(request, r); err != nil {
			return nil, err
		}
		for i, e := range r.GetEntries() {
			if len(e.GetMutations()) > 0 {
				s.changed = append(s.changed, rowChange{then: e.GetMutations()})
			}
			answer.Entries = append(answer.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: &spb.Status{}})
		}
		response, err := proto.Marshal(answer)
		return inmemory.Responses(response), err
	case "ReadRows":
		r := new(bigtablepb.ReadRowsRequest)
		if err := proto.Unmarshal(request, r); err != nil {
			return nil, err
		}
		if inmemory.Selects(r.Rows, s.key) {
			cells, err := s.pass(s.cells, r.Filter)
			return inmemory.Responses(inmemory.AppendRow(nil, s.key, cells)), err
		}
	}
	return inmemory.Responses(), nil
}
