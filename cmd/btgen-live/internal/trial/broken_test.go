package trial

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

var update = flag.Bool("update", false, "rewrite testdata/broken.txt and the page of the manual")

// tamper breaks a server in one way.
type tamper struct {
	name    string
	request func(request any)                                   // changes a request
	cells   func(cells []cell) []cell                           // changes what a read returns
	answer  func(request, response any, err error) (any, error) // changes the answer to another request
	entries func(all []result) []result                         // changes the results of a bulk request
	reads   func(err error) error                               // changes the error of a read
}

// options returns the options of a broken server.
func (t *tamper) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			t.change(request)
			response, err := next(ctx, request)
			if t.answer != nil {
				return t.answer(request, response, err)
			}
			return response, err
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			s := &tampered{ServerStream: stream, tamper: t}
			err := next(server, s)
			if t.reads != nil && strings.HasSuffix(info.FullMethod, "/ReadRows") {
				err = t.reads(err)
			}
			if err != nil || s.assembler == nil {
				return err
			}
			return s.send()
		}),
	}
}

// change changes a request.
func (t *tamper) change(request any) {
	if t.request != nil {
		t.request(request)
	}
}

// within changes each message of a type in a request, those in others before these.
func within[M proto.Message](change func(m M)) func(request any) {
	var visit func(m protoreflect.Message)
	visit = func(m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case f.Message() == nil || f.IsMap():
			case f.IsList():
				for i := range v.List().Len() {
					visit(v.List().Get(i).Message())
				}
			default:
				visit(v.Message())
			}
			return true
		})
		if found, is := m.Interface().(M); is {
			change(found)
		}
	}
	return func(request any) { visit(request.(proto.Message).ProtoReflect()) }
}

// fieldOf returns a field of a message; nil if it has none of this name.
func fieldOf(m proto.Message, name string) protoreflect.FieldDescriptor {
	return m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
}

// moved moves the values of fields, such as a start that is open, to others, such as one that is closed.
func moved(names ...string) func(request any) {
	return within(func(m proto.Message) {
		for i := 0; i < len(names); i += 2 {
			if from := fieldOf(m, names[i]); from != nil && m.ProtoReflect().Has(from) {
				m.ProtoReflect().Set(fieldOf(m, names[i+1]), m.ProtoReflect().Get(from))
			}
		}
	})
}

// added adds to a number, if it is set. The path leads to it from a message that has the first field.
func added(n int64, path string) func(request any) {
	return within(func(m proto.Message) {
		of := m.ProtoReflect()
		for name := range strings.SplitSeq(path, ".") {
			switch field := fieldOf(of.Interface(), name); {
			case field == nil || !of.Has(field):
				return
			case field.Message() != nil:
				of = of.Get(field).Message()
			case field.Kind() == protoreflect.Int32Kind:
				of.Set(field, protoreflect.ValueOfInt32(int32(of.Get(field).Int()+n)))
			default:
				of.Set(field, protoreflect.ValueOfInt64(of.Get(field).Int()+n))
			}
		}
	})
}

// tampered is a stream of a broken server.
type tampered struct {
	grpc.ServerStream
	*tamper
	assembler *assembler // of a read whose cells are changed
}

func (s *tampered) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		s.change(m)
	}
	return err
}

func (s *tampered) SendMsg(m any) error {
	switch m := m.(type) {
	case *bigtablepb.ReadRowsResponse:
		if s.cells != nil {
			if s.assembler == nil {
				s.assembler = &assembler{}
			}
			for _, c := range m.GetChunks() {
				s.assembler.add(c)
			}
			return nil
		}
	case *bigtablepb.MutateRowsResponse:
		if s.entries != nil {
			m.Entries = s.entries(m.GetEntries())
		}
	}
	return s.ServerStream.SendMsg(m)
}

// send sends the changed cells.
func (s *tampered) send() error {
	cells := s.cells(s.assembler.cells)
	response := &bigtablepb.ReadRowsResponse{}
	for i, c := range cells {
		chunk := &bigtablepb.ReadRowsResponse_CellChunk{
			RowKey: []byte(c.row), FamilyName: wrapperspb.String(c.family), Qualifier: wrapperspb.Bytes([]byte(c.qualifier)), TimestampMicros: c.micros, Value: []byte(c.value),
		}
		if i == len(cells)-1 || cells[i+1].row != c.row {
			chunk.RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
		}
		response.Chunks = append(response.Chunks, chunk)
	}
	return s.ServerStream.SendMsg(response)
}

// eachRow changes the cells of each row.
func eachRow(change func(row []cell) []cell) func([]cell) []cell {
	return func(cells []cell) (out []cell) {
		for _, row := range rowsOf(cells) {
			out = append(out, change(row)...)
		}
		return out
	}
}

// sorted sorts the cells of each row.
func sorted(compare func(a, b cell) int) func([]cell) []cell {
	return eachRow(func(row []cell) []cell {
		slices.SortStableFunc(row, compare)
		return row
	})
}

// same returns 1 for equal texts, and 0 for others.
func same(a, b string) int {
	if a == b {
		return 1
	}
	return 0
}

// eachCell changes each cell.
func eachCell(change func(c *cell)) func([]cell) []cell {
	return func(cells []cell) []cell {
		for i := range cells {
			change(&cells[i])
		}
		return cells
	}
}

// without drops cells.
func without(drop func(c cell) bool) func([]cell) []cell {
	return func(cells []cell) []cell { return slices.DeleteFunc(cells, drop) }
}

// result is that of an entry of a bulk request.
type result = *bigtablepb.MutateRowsResponse_Entry

// eachResult changes each result.
func eachResult(change func(e result)) func([]result) []result {
	return func(all []result) []result {
		for _, e := range all {
			change(e)
		}
		return all
	}
}

// mutations returns those of a request, by their places in it.
func mutations(request any) (out []*[]mutation) {
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		out = append(out, &r.Mutations)
	case *bigtablepb.CheckAndMutateRowRequest:
		out = append(out, &r.TrueMutations, &r.FalseMutations)
	case *bigtablepb.MutateRowsRequest:
		for _, e := range r.Entries {
			out = append(out, &e.Mutations)
		}
	}
	return out
}

// accepting answers refused requests of a type as if they had succeeded.
func accepting[R any](response any) func(request, response any, err error) (any, error) {
	return func(request, got any, err error) (any, error) {
		if _, is := request.(R); is && err != nil {
			return response, nil
		}
		return got, err
	}
}

// answering changes answers of a type.
func answering[A any](change func(a A)) func(request, response any, err error) (any, error) {
	return func(_, response any, err error) (any, error) {
		if a, is := response.(A); is && err == nil {
			change(a)
		}
		return response, err
	}
}

// refusing refuses requests of a type with another code.
func refusing[R any](code codes.Code) func(request, response any, err error) (any, error) {
	return func(request, response any, err error) (any, error) {
		if _, is := request.(R); is && err != nil {
			return nil, status.Error(code, "refused otherwise")
		}
		return response, err
	}
}

// never refuses some requests of a type.
func never[R any](code codes.Code, some func(r R) bool) func(request, response any, err error) (any, error) {
	return func(request, response any, err error) (any, error) {
		if r, is := request.(R); is && some(r) {
			return nil, status.Error(code, "never")
		}
		return response, err
	}
}

// keyFields renames a field in updates of row key schemas.
func keyFields(from, to string) func(request any) {
	return within(func(f *adminpb.Type_Struct_Field) {
		if f.FieldName == from {
			f.FieldName = to
		}
	})
}

// patterns changes the regular expressions of filters.
func patterns(family, column, row func(string) string) func(request any) {
	return within(func(f filter) {
		switch f := f.GetFilter().(type) {
		case *bigtablepb.RowFilter_FamilyNameRegexFilter:
			if family != nil {
				f.FamilyNameRegexFilter = family(f.FamilyNameRegexFilter)
			}
		case *bigtablepb.RowFilter_ColumnQualifierRegexFilter:
			if column != nil {
				f.ColumnQualifierRegexFilter = []byte(column(string(f.ColumnQualifierRegexFilter)))
			}
		case *bigtablepb.RowFilter_RowKeyRegexFilter:
			if row != nil {
				f.RowKeyRegexFilter = []byte(row(string(f.RowKeyRegexFilter)))
			}
		}
	})
}

func swap(old, new string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, new) }
}

func around(before, after string) func(string) string {
	return func(s string) string { return before + s + after }
}

func alternative(s string) string {
	s, _, _ = strings.Cut(s, "|")
	return s
}

// familiesOf calls change for each family of a table in an answer.
func familiesOf(change func(name string, f *adminpb.ColumnFamily)) func(request, response any, err error) (any, error) {
	return answering(func(t *adminpb.Table) {
		for name, f := range t.GetColumnFamilies() {
			change(name, f)
		}
	})
}

// TestBroken checks that each assumption notices some server that breaks it: testdata/broken.txt lists which assumptions fail with which
// server, and which with Google's own, which lacks something. Without BTGEN_LONG, each is tried with one of them, that which the fewest others notice. -update takes some minutes.
func TestBroken(t *testing.T) {
	const file = "testdata/broken.txt"
	const lacking = "lacks it"
	all := Assumptions()
	if *update {
		clean := failing(t, all)
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %s\n", lacking, strings.Join(clean, " "))
		for i := range tampers {
			got := slices.DeleteFunc(failing(t, all, tampers[i].options()...), func(id string) bool { return slices.Contains(clean, id) })
			fmt.Fprintf(&b, "%s: %s\n", tampers[i].name, strings.Join(got, " "))
		}
		assert.Must(t, os.WriteFile(file, []byte(b.String()), 0o666))
	}
	text, err := os.ReadFile(file)
	assert.Must(t, err)
	noticed := map[string][]string{} // by the name of a tamper
	fewest := map[string]string{}    // the name of a tamper by the ID of an assumption
	for line := range strings.Lines(string(text)) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		noticed[name] = strings.Fields(list)
	}
	for _, a := range all {
		for _, tamper := range tampers {
			if slices.Contains(noticed[tamper.name], a.ID) && (fewest[a.ID] == "" || len(noticed[tamper.name]) < len(noticed[fewest[a.ID]])) {
				fewest[a.ID] = tamper.name
			}
		}
		if fewest[a.ID] == "" && !slices.Contains(noticed[lacking], a.ID) {
			t.Errorf("no broken server is noticed by %s", a.ID)
		}
	}
	for _, tamper := range tampers {
		some := slices.DeleteFunc(slices.Clone(all), func(a Assumption) bool {
			return !slices.Contains(noticed[tamper.name], a.ID) || !testlong.Enabled() && fewest[a.ID] != tamper.name
		})
		got := failing(t, some, tamper.options()...)
		for _, a := range some {
			if !slices.Contains(got, a.ID) {
				t.Errorf("%s does not notice a server that %s", a.ID, tamper.name)
			}
		}
	}
}

// failing returns which assumptions fail with a server; with Google's own, also those that it cannot try.
func failing(t *testing.T, some []Assumption, opts ...grpc.ServerOption) (out []string) {
	t.Helper()
	if len(some) == 0 {
		return nil
	}
	t.Run("server", func(t *testing.T) { // which ends with it
		c := start(t, opts...)
		assert.Must(t, c.connect(t.Context()))
		defer func() { assert.Is(t, nil, c.close(nil)) }()
		r, limit := newRun(c, options(t)), time.Minute
		if *update {
			limit = 2 * time.Second // with some broken servers, the client tries again and again
		}
		for _, a := range some {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			if result := r.try(ctx, a); result.Verdict == Fails || result.Verdict == NotTried && opts == nil {
				out = append(out, a.ID)
			}
			cancel()
		}
	})
	return out
}

// TestStrict checks that what Google's server lacks holds with a server that has it.
func TestStrict(t *testing.T) {
	assert.Same(t, []string(nil), failing(t, Assumptions(), strict()...))
}

// strict returns the options of a server that has more of the limits of the service.
func strict() []grpc.ServerOption {
	splits := map[string][]string{} // by the name of a table
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if strings.HasSuffix(info.FullMethod, "/TestIamPermissions") {
				return permitted(request.(proto.Message).ProtoReflect())
			}
			if r, ok := request.(*adminpb.CreateTableRequest); ok {
				for _, s := range r.GetInitialSplits() {
					name := r.GetParent() + "/tables/" + r.GetTableId()
					splits[name] = append(splits[name], string(s.GetKey()))
				}
			}
			if refused := refusal(request); refused != nil {
				return nil, refused
			}
			return next(ctx, request)
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if !strings.HasSuffix(info.FullMethod, "/SampleRowKeys") {
				return next(server, &strictStream{stream})
			}
			var request bigtablepb.SampleRowKeysRequest
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			for _, key := range splits[request.GetTableName()] {
				if err := stream.SendMsg(&bigtablepb.SampleRowKeysResponse{RowKey: []byte(key)}); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

// permitted returns the answer to a request for permissions, all of which the caller has.
func permitted(request protoreflect.Message) (proto.Message, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName("google.iam.v1.TestIamPermissionsResponse")
	if err != nil {
		return nil, err
	}
	const name = "permissions"
	response := t.New()
	response.Set(t.Descriptor().Fields().ByName(name), request.Get(request.Descriptor().Fields().ByName(name)))
	return response.Interface(), nil
}

// strictStream is a stream of a server with more of the limits.
type strictStream struct{ grpc.ServerStream }

func (s *strictStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if r, ok := m.(*bigtablepb.MutateRowsRequest); ok {
		for _, e := range r.GetEntries() {
			if unknown := slices.IndexFunc(e.GetMutations(), ofNone); unknown >= 0 {
				e.Mutations = e.Mutations[unknown:] // fails at once
			}
		}
	}
	return refusal(m)
}

// ofNone reports whether a mutation is of a family that does not exist.
func ofNone(m mutation) bool { return m.GetSetCell().GetFamilyName() == "none" }

// refusal returns the error of a request that exceeds a limit.
func refusal(request any) error {
	switch r := request.(type) {
	case *bigtablepb.ReadRowsRequest:
		if depth(r.GetFilter()) > 20 || proto.Size(r.GetFilter()) > 20<<10 {
			return status.Error(codes.InvalidArgument, "the filter is too large")
		}
	case *bigtablepb.MutateRowRequest:
		if slices.ContainsFunc(r.GetMutations(), ofNone) {
			return status.Error(codes.NotFound, "no such family")
		}
		if len(r.GetRowKey()) > 4096 || slices.ContainsFunc(r.GetMutations(), func(m mutation) bool {
			return len(m.GetSetCell().GetColumnQualifier()) > 16<<10 || m.GetSetCell().GetFamilyName() == sumFamily
		}) {
			return status.Error(codes.InvalidArgument, "the mutation is invalid")
		}
	case *adminpb.CreateTableRequest:
		if len(r.GetTableId()) > 50 || len(r.GetInitialSplits()) > 100 {
			return status.Error(codes.InvalidArgument, "the table is invalid")
		}
	case *adminpb.ModifyColumnFamiliesRequest:
		for _, m := range r.GetModifications() {
			if len(m.GetId()) > 64 || strings.Contains(m.GetId(), " ") || proto.Size(m.GetCreate().GetGcRule()) > 500 {
				return status.Error(codes.InvalidArgument, "the family is invalid")
			}
		}
	}
	n := 0
	for _, all := range mutations(request) {
		n += len(*all)
	}
	if n > 100_000 {
		return status.Error(codes.InvalidArgument, "too many mutations")
	}
	return nil
}

// depth returns how deep a filter is nested.
func depth(f filter) (n int) {
	for _, inner := range f.GetChain().GetFilters() {
		n = max(n, depth(inner))
	}
	return n + 1
}

// tampers are the broken servers.
var tampers = []tamper{
	{name: "ignores filters", request: within(func(r *bigtablepb.ReadRowsRequest) { r.Filter = nil })},
	{name: "ignores limits of rows", request: within(func(r *bigtablepb.ReadRowsRequest) { r.RowsLimit = 0 })},
	{name: "includes ends of row ranges", request: within(func(in *bigtablepb.RowRange) {
		in.EndKey = &bigtablepb.RowRange_EndKeyClosed{EndKeyClosed: in.GetEndKeyOpen()}
	})},
	{name: "includes open starts of row ranges", request: moved("start_key_open", "start_key_closed")},
	{name: "includes ends of time ranges", request: added(ms, "timestamp_range_filter.end_timestamp_micros")},
	{name: "excludes starts of time ranges", request: within(func(f filter) {
		if in := f.GetTimestampRangeFilter(); in != nil {
			in.StartTimestampMicros += ms
		}
	})},
	{name: "keeps one cell more than a limit", request: func(request any) {
		added(1, "cells_per_column_limit_filter")(request)
		added(1, "cells_per_row_limit_filter")(request)
	}},
	{name: "does not strip values", request: moved("strip_value_transformer", "pass_all_filter")},
	{name: "matches parts of names", request: patterns(around(`\C*(?:`, `)\C*`), around(`\C*(?:`, `)\C*`), around(`(?:`, `)\C*`))},
	{name: "matches characters instead of bytes", request: patterns(nil, swap(`\C`, `.`), swap(`\C{3}`, `.{2}`))},
	{name: "matches a newline with a dot", request: patterns(nil, swap(`.`, `\C`), nil)},
	{name: "matches any byte with an escape", request: patterns(swap(`\.`, `.`), swap(`\x2e`, `\C`), swap(`[\x80-\xff]`, `\C`))},
	{name: "quotes dots in names of families", request: patterns(swap(`.`, `\.`), nil, nil)},
	{name: "knows only the first alternative", request: patterns(alternative, alternative, nil)},
	{name: "includes ends of ranges of columns and values", request: moved("end_qualifier_open", "end_qualifier_closed", "end_value_open", "end_value_closed")},
	{name: "excludes starts of ranges of columns and values", request: moved("start_qualifier_closed", "start_qualifier_open", "start_value_closed", "start_value_open")},
	{name: "begins ranges of columns behind the empty one", request: within(func(f filter) {
		if in := f.GetColumnRangeFilter(); in != nil && in.GetStartQualifier() == nil {
			in.StartQualifier = &bigtablepb.ColumnRange_StartQualifierClosed{StartQualifierClosed: []byte{0}}
		}
	})},
	{name: "ignores the last filter of a chain", request: within(func(f filter) {
		if c := f.GetChain(); len(c.GetFilters()) > 1 {
			c.Filters[len(c.Filters)-1] = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_PassAllFilter{PassAllFilter: true}}
		}
	})},
	{name: "swaps the filters of a chain", request: within(func(f filter) { slices.Reverse(f.GetChain().GetFilters()) })},
	{name: "ignores the first filter of an interleave", request: within(func(f filter) {
		if c := f.GetInterleave(); len(c.GetFilters()) > 1 {
			c.Filters[0] = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_BlockAllFilter{BlockAllFilter: true}}
		}
	})},
	{name: "swaps the branches of conditions", request: within(func(f filter) {
		if c := f.GetCondition(); c != nil {
			c.TrueFilter, c.FalseFilter = c.FalseFilter, c.TrueFilter
		}
	})},
	{name: "returns old cells first", cells: sorted(func(a, b cell) int {
		return cmp.Compare(a.micros, b.micros) * same(a.family, b.family) * same(a.qualifier, b.qualifier)
	})},
	{name: "returns columns in reverse order", cells: sorted(func(a, b cell) int {
		return strings.Compare(b.qualifier, a.qualifier) * same(a.family, b.family)
	})},
	{name: "mixes families", cells: sorted(func(a, b cell) int { return strings.Compare(a.qualifier, b.qualifier) })},
	{name: "returns the last row twice", cells: func(cells []cell) []cell {
		if rows := rowsOf(cells); len(rows) > 1 {
			return slices.Concat(cells, rows[len(rows)-1])
		}
		return cells
	}},
	{name: "loses the last cell", cells: func(cells []cell) []cell { return cells[:max(0, len(cells)-1)] }},
	{name: "returns the cells of an interleave once", cells: slices.Compact[[]cell]},
	{name: "loses empty qualifiers", cells: without(func(c cell) bool { return c.qualifier == "" })},
	{name: "converts to UTF-8", cells: eachCell(func(c *cell) {
		c.qualifier, c.value = strings.ToValidUTF8(c.qualifier, "?"), strings.ToValidUTF8(c.value, "?")
	})},
	{name: "cuts long values", cells: eachCell(func(c *cell) { c.value = c.value[:min(len(c.value), 4<<20)] })},
	{name: "rounds timestamps to seconds", cells: eachCell(func(c *cell) { c.micros = c.micros / 1e6 * 1e6 })},
	{name: "accepts all reads", reads: func(error) error { return nil }},
	{name: "refuses large row sets", reads: func(err error) error { return err }, request: within(func(r *bigtablepb.ReadRowsRequest) {
		if len(r.GetRows().GetRowRanges()) > 1000 {
			r.Rows.RowRanges = r.Rows.RowRanges[1:]
		}
	})},
	{name: "remembers a read", cells: eachCell(func(c *cell) {
		if strings.HasSuffix(c.row, "/a") && c.value == "1" {
			c.value = "0"
		}
	})},
	{name: "makes mutations in reverse order", request: func(request any) {
		for _, all := range mutations(request) {
			slices.Reverse(*all)
		}
	}},
	{name: "rounds timestamps of mutations", request: within(func(s *bigtablepb.Mutation_SetCell) {
		s.TimestampMicros -= max(0, s.TimestampMicros) % 1000
	})},
	{name: "uses the server time for all timestamps below 1", request: within(func(s *bigtablepb.Mutation_SetCell) {
		if s.TimestampMicros < 1 {
			s.TimestampMicros = -1
		}
	})},
	{name: "stores server time as 1970", request: within(func(s *bigtablepb.Mutation_SetCell) {
		s.TimestampMicros = max(0, s.TimestampMicros)
	})},
	{name: "refuses the far future", answer: func(request, response any, err error) (any, error) {
		for _, all := range mutations(request) {
			for _, m := range *all {
				if m.GetSetCell().GetTimestampMicros() > 1e17 {
					return nil, status.Error(codes.InvalidArgument, "too far")
				}
			}
		}
		return response, err
	}},
	{name: "ignores time ranges of deletions", request: within(func(d *bigtablepb.Mutation_DeleteFromColumn) { d.TimeRange = nil })},
	{name: "includes ends of time ranges of deletions", request: added(ms, "delete_from_column.time_range.end_timestamp_micros")},
	{name: "deletes nothing", request: func(request any) {
		for _, all := range mutations(request) {
			for i, m := range *all {
				if m.GetSetCell() == nil && m.GetAddToCell() == nil {
					(*all)[i] = deleteColumn("f", "never", nil)
				}
			}
		}
	}},
	{name: "deletes families instead of columns", request: within(func(m mutation) {
		if d := m.GetDeleteFromColumn(); d != nil {
			m.Mutation = deleteFamily(d.GetFamilyName()).Mutation
		}
	})},
	{name: "deletes rows instead of families", request: within(func(m mutation) {
		if m.GetDeleteFromFamily() != nil {
			m.Mutation = deleteRow().Mutation
		}
	})},
	{name: "accepts all mutations", answer: accepting[*bigtablepb.MutateRowRequest](&bigtablepb.MutateRowResponse{})},
	{name: "refuses all mutations of a row", answer: never(codes.Internal, func(*bigtablepb.MutateRowRequest) bool { return true })},
	{name: "reports no failed entry", entries: eachResult(func(e result) { e.Status = nil })},
	{name: "loses the last result of a bulk request", entries: func(all []result) []result { return all[:len(all)-1] }},
	{name: "fails all entries after one", entries: func(all []result) []result {
		for i := 1; i < len(all); i++ {
			if all[i-1].GetStatus().GetCode() != 0 {
				all[i].Status = all[i-1].GetStatus()
			}
		}
		return all
	}},
	{name: "keeps one entry of a row", request: within(func(r *bigtablepb.MutateRowsRequest) {
		for i, e := range r.Entries {
			if i > 0 && bytes.Equal(e.RowKey, r.Entries[i-1].RowKey) {
				r.Entries[i-1].Mutations = []mutation{deleteColumn("f", "never", nil)}
			}
		}
	})},
	{name: "refuses bulk requests of many mutations", request: within(func(r *bigtablepb.MutateRowsRequest) {
		if len(r.Entries) > 1000 || len(r.Entries[0].GetMutations()) > 1000 {
			r.TableName = "too many"
		}
	})},
	{name: "inverts predicates", answer: answering(func(a *bigtablepb.CheckAndMutateRowResponse) { a.PredicateMatched = !a.PredicateMatched })},
	{name: "increments by one more", request: within(func(r *bigtablepb.ReadModifyWriteRowRequest) {
		for _, rule := range r.Rules {
			switch rule := rule.Rule.(type) {
			case *bigtablepb.ReadModifyWriteRule_IncrementAmount:
				rule.IncrementAmount++
			case *bigtablepb.ReadModifyWriteRule_AppendValue:
				rule.AppendValue = append(rule.AppendValue, 'c')
			}
		}
	})},
	{name: "adds one more to sums", request: added(1, "add_to_cell.input.int_value")},
	{name: "forgets value types", answer: familiesOf(func(_ string, f *adminpb.ColumnFamily) { f.ValueType = nil })},
	{name: "forgets rules", answer: familiesOf(func(_ string, f *adminpb.ColumnFamily) { f.GcRule = nil })},
	{name: "rounds ages to hours", answer: familiesOf(func(_ string, f *adminpb.ColumnFamily) {
		if age, ok := f.GetGcRule().GetRule().(*adminpb.GcRule_MaxAge); ok {
			age.MaxAge = durationpb.New(age.MaxAge.AsDuration().Truncate(time.Hour))
		}
	})},
	{name: "stores unions as intersections", answer: familiesOf(func(_ string, f *adminpb.ColumnFamily) {
		if u := f.GetGcRule().GetUnion(); u != nil {
			f.GcRule = &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: &adminpb.GcRule_Intersection{Rules: u.GetRules()}}}
		}
	})},
	{name: "ignores changes of rules", request: within(func(r *adminpb.ModifyColumnFamiliesRequest) {
		r.Modifications = slices.DeleteFunc(r.Modifications, func(m *adminpb.ModifyColumnFamiliesRequest_Modification) bool { return m.GetUpdate() != nil })
	})},
	{name: "ignores removals of families", request: within(func(r *adminpb.ModifyColumnFamiliesRequest) {
		r.Modifications = slices.DeleteFunc(r.Modifications, func(m *adminpb.ModifyColumnFamiliesRequest_Modification) bool { return m.GetDrop() })
	})},
	{name: "refuses changes of families", answer: never(codes.InvalidArgument, func(r *adminpb.ModifyColumnFamiliesRequest) bool { return r.Modifications[0].GetCreate() != nil })},
	{name: "accepts all changes of families", answer: accepting[*adminpb.ModifyColumnFamiliesRequest](&adminpb.Table{})},
	{name: "accepts all new tables", answer: accepting[*adminpb.CreateTableRequest](&adminpb.Table{})},
	{name: "refuses long names", answer: never(codes.InvalidArgument, func(r *adminpb.CreateTableRequest) bool { return len(r.GetTableId()) > 49 })},
	{name: "says FailedPrecondition of missing tables", answer: refusing[*adminpb.GetTableRequest](codes.FailedPrecondition), reads: func(err error) error {
		if err != nil {
			return status.Error(codes.FailedPrecondition, "no table")
		}
		return nil
	}},
	{name: "lists no tables", answer: answering(func(a *adminpb.ListTablesResponse) { a.Tables = nil })},
	{name: "has timestamps in microseconds", answer: answering(func(t *adminpb.Table) { t.Granularity = adminpb.Table_MICROS })},
	{name: "does not protect tables", request: within(func(t *adminpb.Table) { t.DeletionProtection = false })},
	{name: "keeps tiers", request: within(func(r *adminpb.UpdateTableRequest) {
		if r.GetTable().GetTieredStorageConfig() == nil {
			r.Table.TieredStorageConfig = &adminpb.TieredStorageConfig{InfrequentAccess: &adminpb.TieredStorageRule{Rule: &adminpb.TieredStorageRule_IncludeIfOlderThan{IncludeIfOlderThan: durationpb.New(45 * day)}}}
		}
	})},
	{name: "has tiers of any age", request: within(func(r *adminpb.UpdateTableRequest) {
		if older, ok := r.GetTable().GetTieredStorageConfig().GetInfrequentAccess().GetRule().(*adminpb.TieredStorageRule_IncludeIfOlderThan); ok {
			older.IncludeIfOlderThan = durationpb.New(60 * day)
		}
	})},
	{name: "changes row key schemas", request: keyFields("name", "names")},
	{name: "keeps row key schemas", request: keyFields("other", "name")},
	{name: "ignores the etags of bundles", request: within(func(b *adminpb.SchemaBundle) { b.Etag = "" })},
	{name: "ignores warnings about bundles", request: within(func(r *adminpb.UpdateSchemaBundleRequest) { r.IgnoreWarnings = true })},
	{name: "keeps deleted bundles", request: within(func(r *adminpb.DeleteSchemaBundleRequest) {
		r.Name += "-other"
	}), answer: accepting[*adminpb.DeleteSchemaBundleRequest](&emptypb.Empty{})},
	{name: "ignores views", request: within(func(m proto.Message) {
		r, view, table := m.ProtoReflect(), fieldOf(m, "authorized_view_name"), fieldOf(m, "table_name")
		if view != nil && r.Get(view).String() != "" {
			name, _, _ := strings.Cut(r.Get(view).String(), "/authorizedViews/")
			r.Set(table, protoreflect.ValueOfString(name))
			r.Clear(view)
		}
	})},
	{name: "drops all rows", request: within(func(r *adminpb.DropRowRangeRequest) {
		r.Target = &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}
	})},
	{name: "has no consistency", answer: never(codes.InvalidArgument, func(*adminpb.GenerateConsistencyTokenRequest) bool { return true })},
	{name: "refuses pings", answer: never(codes.InvalidArgument, func(*bigtablepb.PingAndWarmRequest) bool { return true })},
}
