package storetest

import (
	"bytes"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// views adds authorized views to the in-memory server, which does not have them: an
// interceptor turns a request for a view into one for its table, with a filter for reads, and
// rejects mutations of anything that the view does not contain. Unlike the service, it
// rejects a MutateRows request as a whole, and cannot update a view.
type views struct {
	mu    sync.Mutex
	views map[string]*adminpb.AuthorizedView // by name
}

// newViews returns a server's views.
func newViews() *views { return &views{views: map[string]*adminpb.AuthorizedView{}} }

// unary handles requests about views, and requests of data through views.
func (v *views) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	switch r := request.(type) {
	case *adminpb.CreateAuthorizedViewRequest:
		return v.create(r)
	case *adminpb.GetAuthorizedViewRequest:
		return v.get(r.GetName())
	case *adminpb.ListAuthorizedViewsRequest:
		return v.list(r.GetParent() + "/"), nil
	case *adminpb.DeleteAuthorizedViewRequest:
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.views, r.GetName())
		return &emptypb.Empty{}, nil
	}
	if err := v.translate(request); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

// stream handles requests of data through views.
func (v *views) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(srv, &viewStream{stream, v})
}

// viewStream is a stream of requests that may be for views.
type viewStream struct {
	grpc.ServerStream
	views *views
}

// RecvMsg receives a request for a table.
func (s *viewStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.views.translate(m)
}

// create creates a view.
func (v *views) create(r *adminpb.CreateAuthorizedViewRequest) (*longrunningpb.Operation, error) {
	name := r.GetParent() + "/authorizedViews/" + r.GetAuthorizedViewId()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.views[name] != nil {
		return nil, status.Errorf(codes.AlreadyExists, "authorized view %q already exists", name)
	}
	view := r.GetAuthorizedView()
	view.Name = name
	v.views[name] = view
	return &longrunningpb.Operation{Name: name, Done: true}, nil
}

// get returns a view.
func (v *views) get(name string) (*adminpb.AuthorizedView, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if view := v.views[name]; view != nil {
		return view, nil
	}
	return nil, status.Errorf(codes.NotFound, "authorized view %q not found", name)
}

// list returns the views whose names begin with that of a table.
func (v *views) list(table string) *adminpb.ListAuthorizedViewsResponse {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := &adminpb.ListAuthorizedViewsResponse{}
	for _, name := range slices.Sorted(maps.Keys(v.views)) {
		if strings.HasPrefix(name, table) {
			out.AuthorizedViews = append(out.AuthorizedViews, v.views[name])
		}
	}
	return out
}

// translate turns a request for a view into one for its table.
func (v *views) translate(request any) error {
	named, ok := request.(interface{ GetAuthorizedViewName() string })
	if !ok || named.GetAuthorizedViewName() == "" {
		return nil
	}
	view, err := v.get(named.GetAuthorizedViewName())
	if err != nil {
		return err
	}
	of := subset{view.GetSubsetView()}
	table, _, _ := strings.Cut(view.GetName(), "/authorizedViews/")
	switch r := request.(type) {
	case *bigtablepb.ReadRowsRequest:
		r.TableName, r.AuthorizedViewName = table, ""
		r.Filter = chain(of.filter(), r.GetFilter())
	case *bigtablepb.SampleRowKeysRequest:
		r.TableName, r.AuthorizedViewName = table, ""
	case *bigtablepb.MutateRowRequest:
		r.TableName, r.AuthorizedViewName = table, ""
		return of.check(r.GetRowKey(), r.GetMutations())
	case *bigtablepb.MutateRowsRequest:
		r.TableName, r.AuthorizedViewName = table, ""
		for _, e := range r.GetEntries() {
			if err := of.check(e.GetRowKey(), e.GetMutations()); err != nil {
				return err
			}
		}
	case *bigtablepb.CheckAndMutateRowRequest:
		r.TableName, r.AuthorizedViewName = table, ""
		r.PredicateFilter = chain(of.filter(), r.GetPredicateFilter())
		return of.check(r.GetRowKey(), slices.Concat(r.GetTrueMutations(), r.GetFalseMutations()))
	default:
		return status.Errorf(codes.Unimplemented, "%T through an authorized view", request)
	}
	return nil
}

// subset is what a view contains of a table.
type subset struct {
	*adminpb.AuthorizedView_SubsetView
}

// check rejects mutations of something that is not in the view.
func (s subset) check(row []byte, mutations []*bigtablepb.Mutation) error {
	if !begins(row, s.GetRowPrefixes()) {
		return status.Errorf(codes.PermissionDenied, "row %q is not in the authorized view", row)
	}
	for _, m := range mutations {
		family, qualifier, whole := "", []byte(nil), false
		switch m := m.GetMutation().(type) {
		case *bigtablepb.Mutation_SetCell_:
			family, qualifier = m.SetCell.GetFamilyName(), m.SetCell.GetColumnQualifier()
		case *bigtablepb.Mutation_DeleteFromColumn_:
			family, qualifier = m.DeleteFromColumn.GetFamilyName(), m.DeleteFromColumn.GetColumnQualifier()
		case *bigtablepb.Mutation_DeleteFromFamily_:
			family, whole = m.DeleteFromFamily.GetFamilyName(), true
		default:
			return status.Errorf(codes.PermissionDenied, "%T is not allowed through an authorized view", m)
		}
		of := s.GetFamilySubsets()[family]
		all := begins(nil, of.GetQualifierPrefixes())
		if of == nil || whole && !all || !whole && !begins(qualifier, of.GetQualifierPrefixes()) && !slices.ContainsFunc(of.GetQualifiers(), func(q []byte) bool { return bytes.Equal(q, qualifier) }) {
			return status.Errorf(codes.PermissionDenied, "column %s:%s is not in the authorized view", family, qualifier)
		}
	}
	return nil
}

// begins reports whether data begins with any of the prefixes.
func begins(data []byte, prefixes [][]byte) bool {
	return slices.ContainsFunc(prefixes, func(p []byte) bool { return bytes.HasPrefix(data, p) })
}

// filter returns a filter for the cells in the view.
func (s subset) filter() *bigtablepb.RowFilter {
	var families []*bigtablepb.RowFilter
	for name, of := range s.GetFamilySubsets() {
		families = append(families, chain(
			&bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: regexp.QuoteMeta(name)}},
			&bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnQualifierRegexFilter{ColumnQualifierRegexFilter: pattern(of.GetQualifiers(), of.GetQualifierPrefixes())}},
		))
	}
	rows := &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: pattern(nil, s.GetRowPrefixes())}}
	switch len(families) {
	case 0:
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_BlockAllFilter{BlockAllFilter: true}}
	case 1:
		return chain(rows, families[0])
	}
	return chain(rows, &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Interleave_{Interleave: &bigtablepb.RowFilter_Interleave{Filters: families}}})
}

// pattern returns a regular expression for some texts, and for those with some prefixes.
func pattern(texts, prefixes [][]byte) []byte {
	var all []string
	for _, t := range texts {
		all = append(all, regexp.QuoteMeta(string(t)))
	}
	for _, p := range prefixes {
		all = append(all, regexp.QuoteMeta(string(p))+`\C*`)
	}
	return []byte(strings.Join(all, "|"))
}

// chain returns a chain of two filters, of which the second may be nil.
func chain(a, b *bigtablepb.RowFilter) *bigtablepb.RowFilter {
	if b == nil {
		return a
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: []*bigtablepb.RowFilter{a, b}}}}
}
