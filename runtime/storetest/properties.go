package storetest

import (
	"context"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// properties adds what the in-memory server ignores of tables: the configuration of infrequent access tiers, though no cells move, and
// row key schemas, though there is no GoogleSQL. An interceptor keeps those of each table.
type properties struct {
	mu   sync.Mutex
	kept map[string]*adminpb.Table // by the name of the table
}

func newProperties() *properties { return &properties{kept: map[string]*adminpb.Table{}} }

// unary handles requests about tables.
func (p *properties) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	name, next := "", (*adminpb.Table)(nil)
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		name, next = r.GetParent()+"/tables/"+r.GetTableId(), r.GetTable()
	case *adminpb.UpdateTableRequest:
		of, err := p.updated(r)
		if err != nil {
			return nil, err
		}
		name, next = r.GetTable().GetName(), of
	case *adminpb.DeleteTableRequest:
		name = r.GetName()
	}
	config := next.GetTieredStorageConfig()
	if age := config.GetInfrequentAccess().GetIncludeIfOlderThan(); config != nil && age.AsDuration() < codec.MinTier {
		return nil, status.Errorf(codes.InvalidArgument, "the infrequent access tier is for cells older than 30 days, not %v", age.AsDuration())
	}
	response, err := handler(ctx, request)
	if err != nil {
		return response, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != "" {
		p.kept[name] = &adminpb.Table{TieredStorageConfig: next.GetTieredStorageConfig(), RowKeySchema: next.GetRowKeySchema()}
	}
	if table, ok := response.(*adminpb.Table); ok {
		have := p.kept[table.GetName()]
		table.TieredStorageConfig, table.RowKeySchema = have.GetTieredStorageConfig(), have.GetRowKeySchema()
	}
	return response, nil
}

// updated returns the properties of a table after an update.
func (p *properties) updated(r *adminpb.UpdateTableRequest) (*adminpb.Table, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had, wants := p.kept[r.GetTable().GetName()], r.GetTable()
	next := &adminpb.Table{TieredStorageConfig: had.GetTieredStorageConfig(), RowKeySchema: had.GetRowKeySchema()}
	if slices.Contains(r.GetUpdateMask().GetPaths(), "tiered_storage_config") {
		next.TieredStorageConfig = wants.GetTieredStorageConfig()
	}
	if !slices.Contains(r.GetUpdateMask().GetPaths(), "row_key_schema") {
		return next, nil
	}
	if next.RowKeySchema != nil && wants.GetRowKeySchema() != nil && !proto.Equal(next.RowKeySchema, wants.GetRowKeySchema()) {
		return nil, status.Error(codes.InvalidArgument, "the row key schema of a table cannot be changed")
	}
	next.RowKeySchema = wants.GetRowKeySchema()
	return next, nil
}
