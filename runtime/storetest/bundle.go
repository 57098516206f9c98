package storetest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/btgen-dev/btgen/runtime/internal/call"
)

// bundles adds schema bundles to the in-memory server, which does not have them: an interceptor
// keeps those of each table. Like the service, it rejects descriptors that are not complete, updates
// that are not backward compatible, and those of a bundle that has changed. No query uses them.
type bundles struct {
	mu      sync.Mutex
	bundles map[string]*adminpb.SchemaBundle // by name
	version int                              // of the newest
}

func newBundles() *bundles { return &bundles{bundles: map[string]*adminpb.SchemaBundle{}} }

// bundleFolder separates the names of a table and of its schema bundle.
const bundleFolder = "/schemaBundles/"

// unary handles requests about schema bundles.
func (b *bundles) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if r, ok := request.(*adminpb.GetTableRequest); ok && strings.HasSuffix(r.GetName(), "/"+call.BundlesProbe) {
		return nil, status.Error(codes.FailedPrecondition, "this server has schema bundles")
	}
	switch request.(type) {
	case *adminpb.CreateSchemaBundleRequest, *adminpb.ListSchemaBundlesRequest, *adminpb.GetSchemaBundleRequest,
		*adminpb.UpdateSchemaBundleRequest, *adminpb.DeleteSchemaBundleRequest, *adminpb.DeleteTableRequest:
		b.mu.Lock()
		defer b.mu.Unlock()
	default:
		return handler(ctx, request)
	}
	switch r := request.(type) {
	case *adminpb.CreateSchemaBundleRequest:
		if err := hasTable(ctx, info, r.GetParent()); err != nil {
			return nil, err
		}
		return b.create(r)
	case *adminpb.ListSchemaBundlesRequest:
		return b.list(r.GetParent()), hasTable(ctx, info, r.GetParent())
	case *adminpb.GetSchemaBundleRequest:
		return b.get(r.GetName())
	case *adminpb.UpdateSchemaBundleRequest:
		return b.update(r)
	case *adminpb.DeleteSchemaBundleRequest:
		_, err := b.get(r.GetName())
		delete(b.bundles, r.GetName())
		return &emptypb.Empty{}, err
	case *adminpb.DeleteTableRequest:
		maps.DeleteFunc(b.bundles, func(name string, _ *adminpb.SchemaBundle) bool {
			return strings.HasPrefix(name, r.GetName()+bundleFolder)
		})
	}
	return handler(ctx, request)
}

// hasTable returns an error if there is no such table.
func hasTable(ctx context.Context, info *grpc.UnaryServerInfo, name string) error {
	_, err := info.Server.(adminpb.BigtableTableAdminServer).GetTable(ctx, &adminpb.GetTableRequest{Name: name})
	return err
}

// create creates a bundle.
func (b *bundles) create(r *adminpb.CreateSchemaBundleRequest) (*longrunningpb.Operation, error) {
	name := r.GetParent() + bundleFolder + r.GetSchemaBundleId()
	if b.bundles[name] != nil {
		return nil, status.Errorf(codes.AlreadyExists, "schema bundle %q already exists", name)
	}
	return b.store(name, r.GetSchemaBundle())
}

// list returns the bundles of a table.
func (b *bundles) list(table string) *adminpb.ListSchemaBundlesResponse {
	out := &adminpb.ListSchemaBundlesResponse{}
	for _, name := range slices.Sorted(maps.Keys(b.bundles)) {
		if strings.HasPrefix(name, table+bundleFolder) {
			out.SchemaBundles = append(out.SchemaBundles, b.bundles[name])
		}
	}
	return out
}

// get returns a bundle.
func (b *bundles) get(name string) (*adminpb.SchemaBundle, error) {
	if bundle := b.bundles[name]; bundle != nil {
		return bundle, nil
	}
	return nil, status.Errorf(codes.NotFound, "schema bundle %q not found", name)
}

// update replaces a bundle.
func (b *bundles) update(r *adminpb.UpdateSchemaBundleRequest) (*longrunningpb.Operation, error) {
	have, err := b.get(r.GetSchemaBundle().GetName())
	if err != nil {
		return nil, err
	}
	if etag := r.GetSchemaBundle().GetEtag(); etag != "" && etag != have.GetEtag() {
		return nil, status.Errorf(codes.Aborted, "the schema bundle has changed")
	}
	if !slices.Contains(r.GetUpdateMask().GetPaths(), "proto_schema") {
		return nil, status.Errorf(codes.InvalidArgument, "nothing to update")
	}
	if lost := lostFields(have, r.GetSchemaBundle()); lost != "" && !r.GetIgnoreWarnings() {
		return nil, status.Errorf(codes.FailedPrecondition, "the schema bundle is not backward compatible: %s", lost)
	}
	return b.store(have.GetName(), r.GetSchemaBundle())
}

// store keeps a bundle that queries could use.
func (b *bundles) store(name string, bundle *adminpb.SchemaBundle) (*longrunningpb.Operation, error) {
	fields, err := fieldsOf(bundle)
	if err != nil || len(fields) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "descriptors of the schema bundle: %v", err)
	}
	b.version++
	bundle.Name, bundle.Etag = name, strconv.Itoa(b.version)
	b.bundles[name] = bundle
	result, err := anypb.New(bundle)
	return &longrunningpb.Operation{Name: name, Done: true, Result: &longrunningpb.Operation_Response{Response: result}}, err
}

// lostFields returns a field that the new bundle does not have, or has with another type.
func lostFields(old, new *adminpb.SchemaBundle) string {
	before, _ := fieldsOf(old)
	after, _ := fieldsOf(new)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			return name
		}
	}
	return ""
}

// fieldsOf returns the types of all fields in a bundle, by their full names and numbers.
func fieldsOf(b *adminpb.SchemaBundle) (map[string]protoreflect.Kind, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(b.GetProtoSchema().GetProtoDescriptors(), &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	out := map[string]protoreflect.Kind{}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			fields := f.Messages().Get(i).Fields()
			for k := range fields.Len() {
				out[string(fields.Get(k).FullName())+"="+strconv.Itoa(int(fields.Get(k).Number()))] = fields.Get(k).Kind()
			}
		}
		return true
	})
	return out, nil
}
