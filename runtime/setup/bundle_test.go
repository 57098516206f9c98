package setup_test

import (
	"context"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// column is a field of a message in a test.
type column struct {
	name   string
	number int32
	typ    descriptorpb.FieldDescriptorProto_Type
}

const (
	integers = descriptorpb.FieldDescriptorProto_TYPE_INT64
	strs     = descriptorpb.FieldDescriptorProto_TYPE_STRING
	times    = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
)

// descriptors returns a set with a file of one message, and what it imports.
func descriptors(t *testing.T, file, message string, columns ...column) []byte {
	t.Helper()
	m := &descriptorpb.DescriptorProto{Name: &message}
	f := &descriptorpb.FileDescriptorProto{Name: &file, Package: proto.String("app"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{m}}
	set := &descriptorpb.FileDescriptorSet{}
	for _, c := range columns {
		field := &descriptorpb.FieldDescriptorProto{Name: &c.name, Number: &c.number, Type: &c.typ, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if c.typ == times {
			field.TypeName = proto.String(".google.protobuf.Timestamp")
			f.Dependency = []string{"google/protobuf/timestamp.proto"}
			set.File = append(set.File, protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto))
		}
		m.Field = append(m.Field, field)
	}
	set.File = append(set.File, f)
	out, err := proto.Marshal(set)
	must(t, err)
	return out
}

// bundleIn returns the names of the files of a live schema bundle, and their fields; nil without one.
func bundleIn(t *testing.T, b *storetest.Bigtable, table, id string) []string {
	t.Helper()
	info, err := b.Admin.GetSchemaBundle(t.Context(), table, id)
	if status.Code(err) == codes.NotFound {
		return nil
	}
	must(t, err)
	var set descriptorpb.FileDescriptorSet
	must(t, proto.Unmarshal(info.SchemaBundle, &set))
	var out []string
	for _, f := range set.GetFile() {
		text := f.GetName() + ":"
		for _, field := range f.GetMessageType()[0].GetField() {
			text += " " + field.GetName()
		}
		out = append(out, text)
	}
	return out
}

// A schema bundle is created with the table or later, follows the messages, is left alone by a schema
// without it, and is deleted by name. Changes that break queries are refused unless they are allowed.
func TestSetupBundle(t *testing.T) {
	b := start(t)
	a, s, at := column{"a", 1, integers}, column{"s", 2, strs}, column{"at", 3, times}
	of := func(columns ...column) *store.SchemaBundle {
		return &store.SchemaBundle{ID: "events", Descriptors: descriptors(t, "app/event.proto", "Event", columns...)}
	}
	stamp := "google/protobuf/timestamp.proto: seconds nanos"
	drop := &store.SchemaBundle{ID: "events", Drop: true}
	const added, live1, live2, live3 = "+ schema bundle events of table t: app.Event", "; app/event.proto: a at", "; app/event.proto: a at s", "; app/event.proto: b at s"
	const cannot, may = "refused change_bundle:t/events", "change_bundle:t/events"
	step := func(bundle *store.SchemaBundle, allow, plan, live string) stage {
		table := small
		table.Bundle = bundle
		return stage{[]store.Table{table}, allow, plan, strings.Replace(live, "; ", stamp+"; ", 1)}
	}
	live := func() string { return strings.Join(bundleIn(t, b, "t", "events"), "; ") }
	walk(t, on{b.Admin, nil}, setup.Options{ListBundles: true}, live,
		step(of(a, at), "", planOf(append(made(small), added)...), live1),
		step(of(a, at, s), "", "~ schema bundle events of table t: app.Event.s is added\n", live2),
		step(of(a, at), "", cannot, live2),
		step(of(a, at, column{"s", 2, integers}), "", cannot, live2),
		step(of(column{"b", 1, integers}, at, s), may, "~ schema bundle events of table t: app.Event.a is removed, app.Event.b is added (queries with what is removed or changed fail)\n", live3),
		step(nil, "", "? schema bundle events of table t: not in the schemas, left alone\n", live3),
		step(drop, "", "refused drop_bundle:t/events", live3),
		step(drop, "drop_bundle:t/events", "- schema bundle events of table t (queries that name it fail)\n", ""),
		step(drop, "", "", ""),
		step(of(a), "", added+"\n", "app/event.proto: a"))
}

// Files and bundles of other programs stay, and are named. A file with a message of the schemas is
// replaced, as if the .proto file had been uploaded by hand under another path.
func TestSetupBundleOfOthers(t *testing.T) {
	b := start(t)
	settle(t, b, small)
	a, at := column{"a", 1, integers}, column{"at", 3, times}
	create := func(id string, descriptors []byte) {
		t.Helper()
		must(t, b.Admin.CreateSchemaBundle(t.Context(), &bigtable.SchemaBundleConf{TableID: "t", SchemaBundleID: id, ProtoSchema: &bigtable.ProtoSchemaInfo{ProtoDescriptors: descriptors}}))
	}
	create("theirs", descriptors(t, "theirs.proto", "Theirs", a))
	create("events", append(descriptors(t, "theirs.proto", "Theirs", a, at), descriptors(t, "by_hand.proto", "Event", a)...))
	first, second := small, small
	first.Bundle = &store.SchemaBundle{ID: "events", Descriptors: descriptors(t, "app/event.proto", "Event", a, at)}
	second.Bundle = &store.SchemaBundle{ID: "events", Descriptors: descriptors(t, "app/other.proto", "Other", at)}
	const theirs = "? schema bundle theirs of table t: not in the schemas, left alone\n? file theirs.proto in schema bundle events of table t: not in the schemas, left alone\n"
	const all = "google/protobuf/timestamp.proto: seconds nanos; app/event.proto: a at; app/other.proto: at; theirs.proto: a at"
	both := []store.Table{first, second}
	walk(t, on{b.Admin, nil}, setup.Options{}, func() string { return strings.Join(bundleIn(t, b, "t", "events"), "; ") },
		stage{both, "", "~ schema bundle events of table t: app.Event.at is added, app.Other is added, app.Other.at is added\n" + theirs, all},
		stage{both, "", theirs, all})
}

// A server without schema bundles, such as other emulators, is not an error. One that refuses to list
// them is, if the schemas declare one, with the permissions that are missing.
func TestSetupWithoutBundles(t *testing.T) {
	table := small
	table.Bundle = &store.SchemaBundle{ID: "events", Descriptors: descriptors(t, "app/event.proto", "Event", column{"a", 1, integers})}
	f := &fake{}
	for range 2 {
		plan, err := setup.Setup(t.Context(), f, nil, []store.Table{table})
		if err != nil || strings.Contains(strings.Join(show(plan), ""), "schema bundle") {
			t.Errorf("%v, error %v", plan, err)
		}
	}
	b := start(t)
	if _, err := setup.Setup(t.Context(), forbidding{b.Admin}, nil, []store.Table{small}, setup.Options{ListBundles: true}); err != nil {
		t.Error(err)
	}
	if _, err := setup.Setup(t.Context(), forbidding{b.Admin}, nil, []store.Table{table}); err == nil || !strings.Contains(err.Error(), "bigtable.schemaBundles.list") {
		t.Errorf("error %v", err)
	}
}

// TestSetupBundleOnEmulators checks that setup sends no request about schema bundles to an emulator that
// does not say that it has them: Google's would panic. With that of btgen, it sets them up.
func TestSetupBundleOnEmulators(t *testing.T) {
	table := small
	table.Bundle = &store.SchemaBundle{ID: "events", Descriptors: descriptors(t, "app/event.proto", "Event", column{"a", 1, integers})}
	google, err := bttest.NewServer("localhost:0")
	must(t, err)
	t.Cleanup(google.Close)
	b := start(t)
	for _, addr := range []string{google.Addr, b.Addr} {
		t.Setenv(store.EmulatorVariable, addr)
		admin, err := bigtable.NewAdminClient(t.Context(), storetest.Project, storetest.Instance)
		must(t, err)
		t.Cleanup(func() { _ = admin.Close() })
		for range 2 {
			if _, err := setup.Setup(t.Context(), admin, nil, []store.Table{table}, setup.Options{ListBundles: true, NoHistory: true}); err != nil {
				t.Error(err)
			}
		}
	}
	same(t, "live", bundleIn(t, b, "t", "events"), []string{"app/event.proto: a"})
}

// forbidding lacks the permissions for schema bundles.
type forbidding struct{ *bigtable.AdminClient }

func (forbidding) SchemaBundles(context.Context, string) ([]string, error) {
	return nil, status.Error(codes.PermissionDenied, "no")
}

// A bundle that another program changes between the plan and the change is not overwritten.
func TestSetupBundleRaces(t *testing.T) {
	b := start(t)
	table := small
	of := func(columns ...column) *store.SchemaBundle {
		return &store.SchemaBundle{ID: "events", Descriptors: descriptors(t, "app/event.proto", "Event", columns...)}
	}
	a, s, z := column{"a", 1, integers}, column{"s", 2, strs}, column{"z", 9, strs}
	table.Bundle = of(a)
	settle(t, b, table)
	table.Bundle = of(a, s)
	raced := &racing{AdminClient: b.Admin}
	raced.before = func() error {
		return b.Admin.UpdateSchemaBundle(t.Context(), bigtable.UpdateSchemaBundleConf{IgnoreWarnings: true, SchemaBundleConf: bigtable.SchemaBundleConf{
			TableID: "t", SchemaBundleID: "events", ProtoSchema: &bigtable.ProtoSchemaInfo{ProtoDescriptors: of(a, z).Descriptors}}})
	}
	_, err := setup.Setup(t.Context(), raced, nil, []store.Table{table})
	same(t, "left", unsettled(err), []string{"schema_bundle:t/events"})
	same(t, "live", bundleIn(t, b, "t", "events"), []string{"app/event.proto: a z"})
}

// racing calls a function before the first update.
type racing struct {
	*bigtable.AdminClient
	before func() error
}

func (r *racing) UpdateSchemaBundle(ctx context.Context, conf bigtable.UpdateSchemaBundleConf) error {
	if f := r.before; f != nil {
		r.before = nil
		if err := f(); err != nil {
			return err
		}
	}
	return r.AdminClient.UpdateSchemaBundle(ctx, conf)
}
