package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// rowsMethod is the method in the record of a MutateRowsRequest, which all changes of rows become.
const rowsMethod = "rows"

// refusedRecord says that the server refused the change of the record before it.
var refusedRecord = []byte("refused")

// recordOf returns the record of a request: its method, and the request in base64.
func recordOf(method string, request proto.Message) ([]byte, error) {
	if r, is := request.(*bigtablepb.MutateRowRequest); is {
		method, request = rowsMethod, &bigtablepb.MutateRowsRequest{
			TableName: r.GetTableName(), AuthorizedViewName: r.GetAuthorizedViewName(),
			Entries: []*bigtablepb.MutateRowsRequest_Entry{{RowKey: r.GetRowKey(), Mutations: r.GetMutations()}},
		}
	} else if _, is := request.(*bigtablepb.MutateRowsRequest); is {
		method = rowsMethod
	}
	text, err := proto.Marshal(request)
	return base64.StdEncoding.AppendEncode([]byte(method+" "), text), err
}

// replay applies a record again.
func (j *Journal) replay(ctx context.Context, record []byte) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bytes.Equal(record, refusedRecord):
		j.refused = nil
		return nil
	case j.refused != nil:
		return fmt.Errorf("the change before it was accepted, and is now refused: %w", j.refused)
	}
	method, text, _ := strings.Cut(string(record), " ")
	var request proto.Message = &emptypb.Empty{} // keeps fields that it does not have
	if method == rowsMethod {
		method, request = bigtablepb.Bigtable_MutateRows_FullMethodName, &bigtablepb.MutateRowsRequest{}
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		err = proto.Unmarshal(decoded, request)
	}
	if err != nil {
		return err
	}
	if rows, is := request.(*bigtablepb.MutateRowsRequest); is && rows.GetAuthorizedViewName() == "" { // nobody reads yet
		j.refused = j.server.MutateRows(rows, &inProcess[*bigtablepb.MutateRowsResponse]{send: failure})
		return nil
	}
	_, j.refused = j.apply(method)(ctx, request)
	return context.Cause(ctx)
}

// apply returns a handler of requests that lets the server apply them, without recording them.
func (j *Journal) apply(method string) grpc.UnaryHandler {
	return func(ctx context.Context, request any) (any, error) {
		if method != bigtablepb.Bigtable_MutateRows_FullMethodName {
			response := &emptypb.Empty{} // keeps fields that it does not have
			return response, j.conn.Invoke(j.own(ctx), method, request, response)
		}
		response := &bigtablepb.MutateRowsResponse{}
		err := j.conn.Invoke(j.own(ctx), method, request, response)
		return response, cmp.Or(err, failure(response))
	}
}

// change records a request as one that has the same effect whenever it is applied, and applies it. changes is locked.
func (j *Journal) change(
	ctx context.Context, method string, request proto.Message, apply grpc.UnaryHandler,
) (response any, err error) {
	ctx = context.WithoutCancel(ctx) // what is recorded is applied
	var row *bigtablepb.MutateRowRequest
	var answer any // to a request that becomes a mutation
	switch r := request.(type) {
	case *bigtablepb.MutateRowRequest:
		stamp(r.GetMutations())
	case *bigtablepb.MutateRowsRequest:
		for _, entry := range r.GetEntries() {
			stamp(entry.GetMutations())
		}
	case *bigtablepb.CheckAndMutateRowRequest:
		row, answer, err = choose(ctx, r, apply)
	case *bigtablepb.ReadModifyWriteRowRequest:
		row, answer, err = j.compute(ctx, r)
	case *adminpb.UpdateSchemaBundleRequest:
		err = j.checkEtag(ctx, r)
	}
	if err != nil || answer != nil && len(row.GetMutations()) == 0 {
		return answer, err
	}
	if answer != nil {
		method, request = bigtablepb.Bigtable_MutateRow_FullMethodName, row
		apply = j.apply(method)
		stamp(row.GetMutations())
	}
	if err := j.save(method, request); err != nil {
		return nil, err
	}
	response, j.refused = apply(ctx, request)
	j.before = 0
	return cmp.Or(answer, response), j.refused
}

// save writes the record of a request.
func (j *Journal) save(method string, request proto.Message) error {
	if j.failed != nil {
		return status.Errorf(codes.FailedPrecondition, "the tables no longer change: %v", j.failed)
	}
	record, err := recordOf(method, request)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	records := [][]byte{refusedRecord, record}
	if j.refused == nil {
		records = records[1:]
	}
	j.before = j.file.size
	if err := j.file.append(records...); err != nil {
		return status.Errorf(codes.ResourceExhausted, "the change is not made, since it cannot be stored: %v", err)
	}
	return nil
}

// unsave removes the last record if the server panics, so that the next start does not.
func (j *Journal) unsave() {
	if reason := recover(); reason != nil {
		if j.before > 0 {
			_ = j.file.Truncate(j.before)
		}
		panic(reason)
	}
}

// choose returns the mutations that the condition of a request chooses, and the answer. A condition is not recorded:
// it may sample the row.
func choose(
	ctx context.Context, r *bigtablepb.CheckAndMutateRowRequest, apply grpc.UnaryHandler,
) (*bigtablepb.MutateRowRequest, *bigtablepb.CheckAndMutateRowResponse, error) {
	condition := proto.CloneOf(r)
	condition.TrueMutations, condition.FalseMutations = nil, nil
	response, err := apply(ctx, condition)
	answer, _ := response.(*bigtablepb.CheckAndMutateRowResponse)
	row := &bigtablepb.MutateRowRequest{
		TableName: r.GetTableName(), AuthorizedViewName: r.GetAuthorizedViewName(), RowKey: r.GetRowKey(),
		Mutations: r.GetFalseMutations(),
	}
	if answer.GetPredicateMatched() {
		row.Mutations = r.GetTrueMutations()
	}
	return row, answer, err
}

// compute returns mutations that set the cells which a request increments or appends to, and the answer. The server
// computes both in a table that no client lists.
func (j *Journal) compute(
	ctx context.Context, r *bigtablepb.ReadModifyWriteRowRequest,
) (*bigtablepb.MutateRowRequest, *bigtablepb.ReadModifyWriteRowResponse, error) {
	name := cmp.Or(r.GetTableName(), r.GetAuthorizedViewName())
	table, err := j.server.GetTable(ctx, &adminpb.GetTableRequest{Name: name})
	if err != nil {
		return nil, nil, err
	}
	table.DeletionProtection = false
	if table, err = j.server.CreateTable(ctx, &adminpb.CreateTableRequest{TableId: "copy", Table: table}); err != nil {
		return nil, nil, err
	}
	defer func() { _, _ = j.server.DeleteTable(ctx, &adminpb.DeleteTableRequest{Name: table.GetName()}) }()
	read := &bigtablepb.ReadRowsRequest{TableName: name, Rows: &bigtablepb.RowSet{RowKeys: [][]byte{r.GetRowKey()}}}
	err = j.read(read, func(row *row) error {
		row.Mutations = slices.DeleteFunc(row.Mutations, func(m *bigtablepb.Mutation) bool {
			return !slices.ContainsFunc(r.GetRules(), func(rule *bigtablepb.ReadModifyWriteRule) bool {
				c := m.GetSetCell()
				return rule.GetFamilyName() == c.FamilyName && bytes.Equal(rule.GetColumnQualifier(), c.ColumnQualifier)
			})
		})
		if len(row.Mutations) == 0 {
			return nil
		}
		_, err := j.server.MutateRow(ctx, &bigtablepb.MutateRowRequest{
			TableName: table.GetName(), RowKey: row.RowKey, Mutations: row.Mutations,
		})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	answer, err := j.server.ReadModifyWriteRow(ctx, &bigtablepb.ReadModifyWriteRowRequest{
		TableName: table.GetName(), RowKey: r.GetRowKey(), Rules: r.GetRules(),
	})
	row := &bigtablepb.MutateRowRequest{TableName: name, RowKey: r.GetRowKey()}
	for _, f := range answer.GetRow().GetFamilies() {
		for _, c := range f.GetColumns() { // each with one cell
			cell := sets(f.GetName(), c.GetQualifier(), c.GetCells()[0].GetTimestampMicros(), c.GetCells()[0].GetValue())
			row.Mutations = append(row.Mutations, cell)
		}
	}
	return row, answer, err
}

// checkEtag refuses the update of a bundle that has changed since a client has read it. The update has no etag then:
// bundles get others when the file is compacted.
func (j *Journal) checkEtag(ctx context.Context, r *adminpb.UpdateSchemaBundleRequest) error {
	bundle := r.GetSchemaBundle()
	if bundle.GetEtag() == "" {
		return nil
	}
	read := &adminpb.GetSchemaBundleRequest{Name: bundle.GetName()}
	have, err := adminpb.NewBigtableTableAdminClient(j.conn).GetSchemaBundle(j.own(ctx), read)
	if err == nil && have.GetEtag() != bundle.GetEtag() {
		err = status.Error(codes.Aborted, "the schema bundle has changed")
	}
	bundle.Etag = ""
	return err
}

// serverTime is the timestamp for which the server inserts its time.
const serverTime = -1

// stamp assigns the times that the server would. It truncates them to the granularity of the table, like those
// that a client has generated.
func stamp(mutations []*bigtablepb.Mutation) {
	now := time.Now().UnixMicro()
	for _, m := range mutations {
		if set := m.GetSetCell(); set != nil && set.TimestampMicros == serverTime {
			set.TimestampMicros, m.TimestampOrigin = now, bigtablepb.Mutation_CLIENT_AUTO_GENERATED
		}
	}
}

// unary records the changes of requests with one answer, and passes others on.
func (j *Journal) unary(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	own, err := j.await(ctx)
	if err != nil {
		return nil, err
	}
	if own && j.server == nil { // the first request
		j.server, _ = info.Server.(server)
	}
	defer j.unsave()
	handle := func(ctx context.Context, request any) (any, error) {
		return j.handle(ctx, request, info.FullMethod, next)
	}
	_, changesRow := request.(interface {
		GetTableName() string
		GetRowKey() []byte
	})
	if own || !changesRow && !administers(info.FullMethod) {
		return handle(ctx, request)
	}
	j.changes.Lock()
	defer j.changes.Unlock()
	return j.change(ctx, info.FullMethod, request.(proto.Message), handle)
}

// administers reports whether a method may change something other than rows. Unknown ones are recorded, so that what
// servers get later is not forgotten.
func administers(method string) bool {
	name, is := strings.CutPrefix(method, "/google.bigtable.admin.v2.BigtableTableAdmin/")
	reads := func(verb string) bool { return strings.HasPrefix(name, verb) }
	return is && !slices.ContainsFunc([]string{"Get", "List", "Check", "Generate", "Test"}, reads)
}

// handle passes a request on, without the rules of garbage collection, and notes what compaction is to request
// again. A refused one has changed nothing, except for modifications of families that precede one that was refused.
func (j *Journal) handle(ctx context.Context, request any, method string, next grpc.UnaryHandler) (any, error) {
	if !administers(method) {
		response, err := next(ctx, request)
		showRules(response)
		return response, err
	}
	record, err := recordOf(method, request.(proto.Message)) // before anything changes the request
	if err != nil {
		return nil, err
	}
	name := tableOf(request)
	j.admins++
	hideRules(request)
	response, err := next(ctx, request)
	showRules(response)
	records, exists := j.tables[name]
	_, partly := request.(*adminpb.ModifyColumnFamiliesRequest)
	if err != nil && !partly {
		return nil, err
	}
	switch request.(type) {
	case *adminpb.CreateTableRequest:
		j.tables[name] = [][]byte{record}
	case *adminpb.DeleteTableRequest:
		delete(j.tables, name)
	case *adminpb.DropRowRangeRequest:
	default:
		if records = append(records, record); err != nil {
			records = append(records, refusedRecord)
		}
		if exists {
			j.tables[name] = records
		}
	}
	return response, err
}

// tableOf returns the name of the table that an administrative request is about.
func tableOf(request any) string {
	var name string // of the table, or of something in it
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		return r.GetParent() + "/tables/" + r.GetTableId()
	case *adminpb.UpdateTableRequest:
		name = r.GetTable().GetName()
	case *adminpb.UpdateSchemaBundleRequest:
		name = r.GetSchemaBundle().GetName()
	case interface{ GetName() string }:
		name = r.GetName()
	case interface{ GetParent() string }:
		name = r.GetParent()
	}
	return tableName.FindString(name)
}

var tableName = regexp.MustCompile(`^[^/]*/[^/]*/[^/]*/[^/]*/tables/[^/]*`)

// stream records the changes of requests that mutate rows, and passes others on.
func (j *Journal) stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	if strings.HasPrefix(info.FullMethod, "/google.bigtable.v2.Bigtable/Open") { // sessions contain requests of their own
		return status.Error(codes.Unimplemented, "tables that are kept have no sessions")
	}
	own, err := j.await(stream.Context())
	if err != nil {
		return err
	}
	defer j.unsave()
	if own || info.FullMethod != bigtablepb.Bigtable_MutateRows_FullMethodName {
		return next(srv, stream)
	}
	request := &bigtablepb.MutateRowsRequest{}
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	j.changes.Lock()
	response, err := j.change(stream.Context(), info.FullMethod, request, j.apply(info.FullMethod))
	j.changes.Unlock()
	if rows, is := response.(*bigtablepb.MutateRowsResponse); is && len(rows.GetEntries()) > 0 {
		return stream.SendMsg(rows)
	}
	return err
}

// failure returns the first failure of mutations of many rows.
func failure(response *bigtablepb.MutateRowsResponse) error {
	for _, e := range response.GetEntries() {
		if e.GetStatus().GetCode() != int32(codes.OK) {
			return status.ErrorProto(e.GetStatus())
		}
	}
	return nil
}

// inProcess is the stream of a request to the server in this process.
type inProcess[T any] struct {
	grpc.ServerStream
	send func(response T) error
}

// Context returns the context of a request without metadata.
func (*inProcess[T]) Context() context.Context { return context.Background() }

// Send receives a response.
func (s *inProcess[T]) Send(response T) error { return s.send(response) }
