package storetest

import (
	"context"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// tiers adds the configuration of infrequent access tiers to the in-memory server, which ignores
// it: an interceptor keeps that of each table. No cells move.
type tiers struct {
	mu      sync.Mutex
	configs map[string]*adminpb.TieredStorageConfig // by the name of the table
}

func newTiers() *tiers { return &tiers{configs: map[string]*adminpb.TieredStorageConfig{}} }

// tierPath is the mask of an update of the tier of a table.
const tierPath = "tiered_storage_config"

// unary handles requests about tables.
func (t *tiers) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	name, config, sets := "", (*adminpb.TieredStorageConfig)(nil), false
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		name, config, sets = r.GetParent()+"/tables/"+r.GetTableId(), r.GetTable().GetTieredStorageConfig(), true
	case *adminpb.UpdateTableRequest:
		name, config, sets = r.GetTable().GetName(), r.GetTable().GetTieredStorageConfig(), slices.Contains(r.GetUpdateMask().GetPaths(), tierPath)
	case *adminpb.DeleteTableRequest:
		name, sets = r.GetName(), true
	}
	if age := config.GetInfrequentAccess().GetIncludeIfOlderThan(); config != nil && age.AsDuration() < codec.MinTier {
		return nil, status.Errorf(codes.InvalidArgument, "the infrequent access tier is for cells older than 30 days, not %v", age.AsDuration())
	}
	response, err := handler(ctx, request)
	if err != nil {
		return response, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if sets {
		t.configs[name] = config
	}
	if table, ok := response.(*adminpb.Table); ok {
		table.TieredStorageConfig = t.configs[table.GetName()]
	}
	return response, nil
}
