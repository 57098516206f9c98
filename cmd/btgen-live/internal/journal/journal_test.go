package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// kept is a server whose tables are kept.
type kept struct {
	*Journal
	addr   string
	conn   *grpc.ClientConn
	data   bigtablepb.BigtableClient
	tables adminpb.BigtableTableAdminClient
	end    func() error
}

// start starts a server with the tables of a folder. opened is called with each file that is opened.
func start(t testing.TB, dir string, opened func(*recordFile)) (*kept, Loaded, error) {
	t.Helper()
	j, err := Open(dir, func(err error) { t.Error(err) })
	if err != nil {
		return nil, Loaded{}, err
	}
	j.period, j.opened = time.Hour, opened // tests do what happens in the background
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", j.ServerOptions()...)
	if err != nil {
		return nil, Loaded{}, errors.Join(err, j.Close())
	}
	loaded, err := j.Load(t.Context(), b.Addr)
	if err != nil {
		return nil, loaded, errors.Join(err, b.Close(), j.Close())
	}
	k := connected(t, b.Addr)
	k.Journal = j
	k.end = sync.OnceValue(func() error { return errors.Join(b.Close(), j.Close()) })
	t.Cleanup(func() { _ = k.end() })
	return k, loaded, nil
}

// connected returns clients of a server.
func connected(t testing.TB, addr string) *kept {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &kept{addr: addr, conn: conn, data: bigtablepb.NewBigtableClient(conn), tables: adminpb.NewBigtableTableAdminClient(conn)}
}

// started is start without an error.
func started(t testing.TB, dir string) *kept {
	t.Helper()
	k, _, err := start(t, dir, unchanged)
	must(t, err)
	return k
}

// unchanged opens files as they are.
func unchanged(*recordFile) {}

// restarted ends a server and starts it again.
func (k *kept) restarted(t testing.TB) *kept {
	t.Helper()
	must(t, k.end())
	return started(t, k.dir)
}

const (
	parent = "projects/p/instances/i"
	one    = parent + "/tables/one"
	two    = parent + "/tables/two"
	three  = parent + "/tables/three"
)

// set writes a cell.
func set(family, qualifier string, micros int64, value string) *bigtablepb.Mutation {
	return sets(family, []byte(qualifier), micros, []byte(value))
}

// send sends a request.
func (k *kept) send(ctx context.Context, message proto.Message) error {
	if r, is := message.(*bigtablepb.MutateRowsRequest); is {
		stream, err := k.data.MutateRows(ctx, r)
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	d := message.ProtoReflect().Descriptor()
	service := map[protoreflect.FullName]string{"google.bigtable.v2": "Bigtable", "google.bigtable.admin.v2": "BigtableTableAdmin"}
	name, _ := strings.CutSuffix(string(d.Name()), "Request")
	method := fmt.Sprintf("/%s.%s/%s", d.Parent().FullName(), service[d.Parent().FullName()], name)
	return k.conn.Invoke(ctx, method, message, &emptypb.Empty{}) // no answer matters
}

// mutate changes a row.
func mutate(table, key string, m ...*bigtablepb.Mutation) *bigtablepb.MutateRowRequest {
	return &bigtablepb.MutateRowRequest{TableName: table, RowKey: []byte(key), Mutations: m}
}

// entry changes a row as one of several.
func entry(key string, m ...*bigtablepb.Mutation) *bigtablepb.MutateRowsRequest_Entry {
	return &bigtablepb.MutateRowsRequest_Entry{RowKey: []byte(key), Mutations: m}
}

// several changes rows of the first table.
func several(entries ...*bigtablepb.MutateRowsRequest_Entry) *bigtablepb.MutateRowsRequest {
	return &bigtablepb.MutateRowsRequest{TableName: one, Entries: entries}
}

// cut deletes the cells of a column in a range of time.
func cut(family, qualifier string, from, to int64) *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: &bigtablepb.Mutation_DeleteFromColumn{
		FamilyName: family, ColumnQualifier: []byte(qualifier), TimeRange: &bigtablepb.TimestampRange{StartTimestampMicros: from, EndTimestampMicros: to}}}}
}

// create creates a table with families.
func create(id string, families map[string]*adminpb.ColumnFamily) *adminpb.CreateTableRequest {
	return &adminpb.CreateTableRequest{Parent: parent, TableId: id, Table: &adminpb.Table{ColumnFamilies: families}}
}

// remove deletes a table.
func remove(name string) *adminpb.DeleteTableRequest { return &adminpb.DeleteTableRequest{Name: name} }

// modify modifies families.
func modify(table string, m ...*modification) *adminpb.ModifyColumnFamiliesRequest {
	return &adminpb.ModifyColumnFamiliesRequest{Name: table, Modifications: m}
}

// dropRows deletes the rows with a prefix.
func dropRows(table, prefix string) *adminpb.DropRowRangeRequest {
	return &adminpb.DropRowRangeRequest{Name: table, Target: &adminpb.DropRowRangeRequest_RowKeyPrefix{RowKeyPrefix: []byte(prefix)}}
}

// change increments and appends to cells.
func change(key string, rules ...*bigtablepb.ReadModifyWriteRule) *bigtablepb.ReadModifyWriteRowRequest {
	return &bigtablepb.ReadModifyWriteRowRequest{TableName: one, RowKey: []byte(key), Rules: rules}
}

// chosen changes a row with one of two mutations, depending on whether it has cells.
func chosen(key string, yes, no *bigtablepb.Mutation) *bigtablepb.CheckAndMutateRowRequest {
	r := &bigtablepb.CheckAndMutateRowRequest{TableName: one, RowKey: []byte(key), FalseMutations: []*bigtablepb.Mutation{no}}
	if yes != nil {
		r.TrueMutations = []*bigtablepb.Mutation{yes}
	}
	return r
}

// throughView writes a row of a view.
func throughView(key string) *bigtablepb.MutateRowRequest {
	m := mutate("", key, set("f", "a", 1000, "view"))
	m.AuthorizedViewName = two + "/authorizedViews/v"
	return m
}

// modification modifies a family.
type modification = adminpb.ModifyColumnFamiliesRequest_Modification

func creates(id string) *modification {
	return parsed(&modification{}, fmt.Sprintf(`id: %q create {gc_rule {max_num_versions: 2}}`, id))
}

func drops(id string) *modification {
	return parsed(&modification{}, fmt.Sprintf(`id: %q drop: true`, id))
}

// rule returns a rule for garbage.
func rule(text string) *adminpb.GcRule { return parsed(&adminpb.GcRule{}, text) }

// sum is a family whose cells add up.
var sum = parsed(&adminpb.ColumnFamily{},
	`value_type {aggregate_type {input_type {int64_type {encoding {big_endian_bytes {}}}} sum {}}}`)

// parsed returns a message with what a text says.
func parsed[M proto.Message](m M, text string) M {
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		panic(err)
	}
	return m
}

// request is a request that changes something, or that the server refuses with a code.
type request struct {
	name    string
	code    codes.Code
	message proto.Message
}

// do sends the request.
func (r *request) do(ctx context.Context, k *kept) error { return k.send(ctx, r.message) }

// requests has all kinds of changes.
var requests = []request{
	{"create", codes.OK, create("one", map[string]*adminpb.ColumnFamily{"f": {GcRule: rule(`max_num_versions: 3`)}, "g": {}, "sum": sum})},
	{"create again", codes.AlreadyExists, create("one", nil)},
	{"mutate", codes.OK, mutate(one, "row", set("f", "a", 1000, "1"), set("f", "a", 2000, "2"), set("g", "b", 3000, ""), set("g", "\xff", 0, "x"))},
	{"server time", codes.OK, mutate(one, "row", set("f", "now", serverTime, "now"))},
	{"refused after a part", codes.Unknown, mutate(one, "part", set("f", "a", serverTime, "stored"), set("unknown", "a", 1000, ""))},
	{"refused row", codes.InvalidArgument, mutate(one, "", set("f", "a", 0, ""))},
	{"unknown table", codes.NotFound, mutate(two, "row", set("f", "a", 0, ""))},
	{"mutate many", codes.OK, several(
		entry("many1", set("f", "a", serverTime, "1"), set("f", "b", 1000, "2")), entry("part", set("f", "b", 1000, "before")),
		entry("part", set("f", "c", 1000, "stored"), set("unknown", "a", 1000, "")), entry("part", set("f", "d", 1000, "after")),
		entry("many1", set("f", "b", 1000, "3")))},
	{"add", codes.OK, mutate(one, "sum", adds(5), adds(6))},
	{"add again", codes.OK, mutate(one, "sum", adds(7))},
	{"condition that holds", codes.OK, chosen("row", set("f", "chosen", serverTime, "true"), set("f", "chosen", serverTime, "false"))},
	{"condition that does not", codes.OK, chosen("none", set("f", "chosen", 1000, "true"), set("f", "chosen", 1000, "false"))},
	{"condition without mutations", codes.OK, chosen("row", nil, set("f", "chosen", 1000, "false"))},
	{"increment", codes.OK, change("count", increments("n", 3), increments("m", 4), appends("text", "abc"))},
	{"increment a column twice", codes.OK, change("count", appends("twice", "a"), appends("twice", "b"))},
	{"increment refused after a part", codes.Unknown, change("count", appends("alone", "a"), increments("text", 1))},
	{"families, refused after a part", codes.AlreadyExists, modify(one, creates("new"), creates("f"))},
	{"families", codes.OK, modify(one, drops("g"), creates("g"))},
	{"write to a new family", codes.OK, mutate(one, "row", set("new", "a", 1000, "1"))},
	{"rules", codes.OK, modify(one, parsed(&modification{},
		`id: "f" update {gc_rule {intersection {rules {max_num_versions: 1} rules {max_age {seconds: 3600}}}}}`))},
	{"delete", codes.OK, mutate(one, "row", cut("f", "a", 1000, 2000))},
	{"another table", codes.OK, &adminpb.CreateTableRequest{Parent: parent, TableId: "two", Table: parsed(&adminpb.Table{},
		`granularity: MICROS deletion_protection: true column_families {key: "f" value {}}
		tiered_storage_config {infrequent_access {include_if_older_than {seconds: 5184000}}}`)}},
	{"microseconds", codes.OK, mutate(two, "x/1", set("f", "a", 1001, "1"))},
	{"server time in microseconds", codes.OK, mutate(two, "y/1", set("f", "a", serverTime, "2"))},
	{"view", codes.OK, &adminpb.CreateAuthorizedViewRequest{Parent: two, AuthorizedViewId: "v", AuthorizedView: parsed(&adminpb.AuthorizedView{},
		`subset_view {row_prefixes: "x/" family_subsets {key: "f" value {qualifier_prefixes: ""}}}`)}},
	{"write through the view", codes.OK, throughView("x/2")},
	{"write beside the view", codes.PermissionDenied, throughView("y/2")},
	{"delete a protected table", codes.FailedPrecondition, remove(two)},
	{"drop rows", codes.OK, dropRows(two, "x/1")},
	{"a third table", codes.OK, create("three", nil)},
	{"delete it", codes.OK, remove(three)},
	{"update a table", codes.OK, &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: two}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"deletion_protection"}}}},
}

func adds(n int64) *bigtablepb.Mutation {
	return parsed(&bigtablepb.Mutation{}, fmt.Sprintf(`add_to_cell {family_name: "sum" column_qualifier {raw_value: "n"}
		timestamp {raw_timestamp_micros: 1000} input {int_value: %d}}`, n))
}

func increments(qualifier string, n int64) *bigtablepb.ReadModifyWriteRule {
	return parsed(&bigtablepb.ReadModifyWriteRule{}, fmt.Sprintf(`family_name: "f" column_qualifier: %q increment_amount: %d`, qualifier, n))
}

func appends(qualifier, text string) *bigtablepb.ReadModifyWriteRule {
	return parsed(&bigtablepb.ReadModifyWriteRule{}, fmt.Sprintf(`family_name: "f" column_qualifier: %q append_value: %q`, qualifier, text))
}

// dump returns everything that the server has, as text.
func (k *kept) dump(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{one, two, three} {
		table, err := k.tables.GetTable(t.Context(), &adminpb.GetTableRequest{Name: name})
		if status.Code(err) == codes.NotFound {
			continue
		}
		must(t, err)
		for _, id := range slices.Sorted(maps.Keys(table.GetColumnFamilies())) {
			fmt.Fprintf(&out, "family %s: %s\n", id, compactText(prototext.Format(table.GetColumnFamilies()[id])))
		}
		table.ColumnFamilies = nil
		fmt.Fprintln(&out, compactText(prototext.Format(table)))
		stream, err := k.data.ReadRows(t.Context(), &bigtablepb.ReadRowsRequest{TableName: name})
		must(t, err)
		for {
			response, err := stream.Recv()
			if err == io.EOF {
				break
			}
			row, failed := rowOf(response)
			must(t, errors.Join(err, failed))
			var lines []string
			for _, m := range row.GetMutations() {
				c := m.GetSetCell()
				lines = append(lines, fmt.Sprintf("%q %s:%q @%d %q", row.GetRowKey(), c.GetFamilyName(), c.GetColumnQualifier(), c.GetTimestampMicros(), c.GetValue()))
			}
			slices.Sort(lines) // families are in any order
			fmt.Fprintln(&out, strings.Join(lines, "\n"))
		}
	}
	if view, err := k.tables.GetAuthorizedView(t.Context(), &adminpb.GetAuthorizedViewRequest{Name: two + "/authorizedViews/v"}); err == nil {
		fmt.Fprintln(&out, compactText(prototext.Format(view)))
	}
	return out.String()
}

// compactText removes the white space that prototext varies.
func compactText(text string) string { return strings.Join(strings.Fields(text), " ") }

// replace compacts the file.
func (k *kept) replace(t testing.TB) error {
	k.changes.Lock()
	defer k.changes.Unlock()
	return k.replaceFile(t.Context())
}

// TestKept checks after each request, with and without compaction, that a restarted server has the same tables.
func TestKept(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		k := started(t, filepath.Join(t.TempDir(), "new", "folder"))
		for _, r := range requests {
			if err := r.do(t.Context(), k); status.Code(err) != r.code {
				t.Fatalf("%s: %v, want code %s", r.name, err, r.code)
			}
			want := k.dump(t)
			if compacted {
				must(t, k.replace(t))
			}
			k = k.restarted(t)
			if got := k.dump(t); got != want {
				t.Fatalf("after %q, compacted %t:\n%s\nwant:\n%s", r.name, compacted, got, want)
			}
		}
		for _, want := range []string{`"part" f:"a"`, `"stored"`, `"after"`, `"\x00\x00\x00\x00\x00\x00\x00\x12"`, `"ab"`, "intersection", `"x/2"`, "infrequent"} {
			assert.Contains(t, want, k.dump(t))
		}
	}
}

// TestBundles updates a schema bundle, which a client has read before the file was compacted. The class of fault: a change that was
// accepted, and that a new server refuses, so that nothing can be loaded.
func TestBundles(t *testing.T) {
	k := started(t, t.TempDir())
	ctx := t.Context()
	must(t, requests[0].do(ctx, k))
	types, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(durationpb.File_google_protobuf_duration_proto)}})
	must(t, err)
	bundle := &adminpb.SchemaBundle{Type: &adminpb.SchemaBundle_ProtoSchema{ProtoSchema: &adminpb.ProtoSchema{ProtoDescriptors: types}}}
	_, err = k.tables.CreateSchemaBundle(ctx, &adminpb.CreateSchemaBundleRequest{Parent: one, SchemaBundleId: "b", SchemaBundle: bundle})
	must(t, err)
	update := func(replaced bool) {
		have, err := k.tables.GetSchemaBundle(ctx, &adminpb.GetSchemaBundleRequest{Name: one + "/schemaBundles/b"})
		must(t, err)
		if replaced {
			must(t, k.replace(t))
		}
		_, err = k.tables.UpdateSchemaBundle(ctx, &adminpb.UpdateSchemaBundleRequest{SchemaBundle: have, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"proto_schema"}}})
		must(t, err)
	}
	update(false)
	update(true)
	k = k.restarted(t)
	update(false)
}

// TestDamaged changes each byte of a file. Nothing may be loaded then, and the file stays as it is.
func TestDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my tables")
	must(t, os.Mkdir(dir, 0o700))
	k := started(t, dir)
	for _, r := range requests[:4] {
		_ = r.do(t.Context(), k)
	}
	must(t, k.end())
	name := filepath.Join(dir, "tables")
	whole, err := os.ReadFile(name)
	must(t, err)
	for i := range whole {
		text := bytes.Clone(whole)
		text[i] ^= 1 << (i % 8)
		f := loadable(t, text)
		_, err := f.load(func([]byte) error { return nil })
		damaged, is := errors.AsType[*DamagedError](err)
		if i >= len(magic) && (!is || damaged.Offset > int64(i) || damaged.Size != int64(len(text))) || err == nil {
			t.Fatalf("byte %d of %d: %v", i, len(whole), err)
		}
		if now, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(now, text) {
			t.Fatal("the file has changed", err)
		}
	}
	whole[len(magic)+20] ^= 1
	must(t, os.WriteFile(name, whole, 0o600))
	want := fmt.Sprintf("%s: the record at byte 39 of %d is damaged: it has another checksum; nothing was loaded. "+
		"Restore the file, or copy it and give up what follows its first 0 records: truncate -s 39 '%s'", name, len(whole), name)
	if _, _, err := start(t, dir, unchanged); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// loadable returns a file with contents.
func loadable(t *testing.T, text []byte) *recordFile {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tables")
	must(t, os.WriteFile(name, text, 0o600))
	f, err := (&Journal{opened: unchanged}).openFile(name, 0)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestTorn cuts a file at each byte, and appends zeros. The records before the end are loaded, what is left of the last one is
// counted and removed, and another record can follow.
func TestTorn(t *testing.T) {
	records := []string{"a", "longer", strings.Repeat("x", 100)}
	ends := []int{len(magic)}
	f := loadable(t, []byte(magic))
	_, err := f.load(nil)
	must(t, err)
	for _, r := range records {
		must(t, f.append([]byte(r)))
		ends = append(ends, int(f.size))
	}
	whole, err := os.ReadFile(f.Name())
	must(t, err)
	for cut := len(magic); cut <= len(whole); cut++ {
		for _, zeros := range []int{0, 2, 1 << 17} {
			n := 0
			for n+1 < len(ends) && ends[n+1] <= cut {
				n++
			}
			f := loadable(t, append(bytes.Clone(whole[:cut]), make([]byte, zeros)...))
			check := func(want []string, dropped int64) {
				t.Helper()
				var got []string
				loaded, err := f.load(func(r []byte) error { got = append(got, string(r)); return nil })
				if err != nil || !slices.Equal(got, want) || loaded.Dropped != dropped {
					t.Fatalf("cut at %d of %d with %d zeros: %v, %+v, %v", cut, len(whole), zeros, got, loaded, err)
				}
			}
			check(records[:n], max(0, int64(cut+zeros-ends[n])))
			must(t, f.append([]byte("next")))
			check(append(slices.Clone(records[:n]), "next"), 0)
		}
	}
}

// TestRefused starts with a change that a server accepted and that this one refuses. The class of fault: a change that is lost
// without an error, or a file that is changed after one.
func TestRefused(t *testing.T) {
	k := started(t, t.TempDir())
	must(t, errors.Join(requests[0].do(t.Context(), k), requests[2].do(t.Context(), k)))
	record, err := recordOf("", mutate(one, "row", set("unknown", "q", 0, "")))
	must(t, errors.Join(err, k.file.append(record, record), k.send(t.Context(), mutate(one, "row", set("f", "q", 0, ""))), k.end()))
	name := filepath.Join(k.dir, "tables")
	want, err := os.ReadFile(name)
	must(t, err)
	_, _, err = start(t, k.dir, unchanged)
	assert.Contains(t, "the change before it was accepted, and is now refused: ", err)
	got, err := os.ReadFile(name)
	must(t, err)
	assert.Same(t, string(want), string(got))
	lines := strings.SplitAfter(string(got), "\n")
	must(t, os.WriteFile(name, []byte(strings.Join(lines[:4], "")), 0o600)) // refused or not, it was the last one
	k, loaded, err := start(t, k.dir, unchanged)
	must(t, err)
	assert.Contains(t, "unknown family", loaded.Refused)
	must(t, k.end())
	_, loaded, err = start(t, k.dir, unchanged)
	assert.Is(t, nil, errors.Join(err, loaded.Refused))
}

// TestShort starts with files that end within their first line, which no start or kill leaves. The class of fault: a damaged
// file is taken for a new one.
func TestShort(t *testing.T) {
	for n := range len(magic) {
		dir := t.TempDir()
		name := filepath.Join(dir, "tables")
		must(t, os.WriteFile(name, []byte(magic[:n]), 0o600))
		_, _, err := start(t, dir, unchanged)
		assert.Contains(t, name+" is not a file of this version", err)
		if now, err := os.ReadFile(name); err != nil || string(now) != magic[:n] {
			t.Errorf("%d bytes: the file has changed: %q, %v", n, now, err)
		}
	}
}

// TestPrivate starts with files that others could read. The class of fault: data are protected only in files that are new.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are others")
	}
	k := started(t, t.TempDir())
	must(t, k.end())
	name := filepath.Join(k.dir, "tables")
	must(t, os.Chmod(name, 0o666))
	started(t, k.dir)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestInterruptedLoad ends the context while a file is loaded. The class of fault: a phase of a command that cannot be
// interrupted.
func TestInterruptedLoad(t *testing.T) {
	k := started(t, t.TempDir())
	for _, r := range requests {
		_ = r.do(t.Context(), k)
	}
	must(t, k.end())
	ctx, cancel := context.WithCancelCause(t.Context())
	j, err := Open(k.dir, func(err error) { t.Error(err) })
	must(t, err)
	j.opened = func(*recordFile) { cancel(errFull) }
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", j.ServerOptions()...)
	must(t, err)
	_, err = j.Load(ctx, b.Addr)
	assert.Is(t, errFull, err)
	assert.Is(t, nil, errors.Join(b.Close(), j.Close()))
}

// TestLocked checks that one process uses a folder at a time.
func TestLocked(t *testing.T) {
	k := started(t, t.TempDir())
	_, _, err := start(t, k.dir, unchanged)
	if !errors.Is(err, errLocked) || !strings.Contains(err.Error(), k.dir) {
		t.Errorf("got %v", err)
	}
	k.restarted(t)
}

// fullDisk has files that cannot be written while it is full, or synchronized while it is broken.
type fullDisk struct {
	full, broken bool
	part         int // bytes that are written nevertheless
}

var errFull = errors.New("no space left on device")

// opened replaces the methods of a file.
func (d *fullDisk) opened(f *recordFile) {
	f.writeAt = func(b []byte, at int64) (int, error) {
		if d.full {
			n, _ := f.WriteAt(b[:min(len(b), d.part)], at)
			return n, errFull
		}
		return f.WriteAt(b, at)
	}
	f.sync = func() error {
		if d.broken {
			return errFull
		}
		return f.Sync()
	}
}

// TestFullDisk checks that changes fail while the disk is full and change nothing, that later ones succeed, and that the
// file is not replaced.
func TestFullDisk(t *testing.T) {
	for _, part := range []int{0, 5, 1 << 20} {
		disk := &fullDisk{part: part}
		k, _, err := start(t, t.TempDir(), disk.opened)
		must(t, err)
		ctx := t.Context()
		must(t, requests[0].do(ctx, k))
		want := k.dump(t)
		disk.full = true
		for range 2 {
			for _, err := range []error{
				k.send(ctx, mutate(one, "first", set("f", "a", 1000, "1"))), k.send(ctx, create("two", nil)), k.send(ctx, change("second", increments("n", 1))),
				k.send(ctx, chosen("third", nil, set("f", "a", 1000, "1"))),
			} {
				if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "the change is not made") {
					t.Error(err)
				}
			}
		}
		assert.Same(t, want, k.dump(t))
		assert.Is(t, errFull, k.replace(t))
		assert.Same(t, want, started(t, copied(t, k.dir)).dump(t), "after a kill")
		disk.full = false
		assert.Is(t, nil, k.send(ctx, mutate(one, "third", set("f", "a", 1000, "1"))))
		want = k.dump(t)
		k = k.restarted(t)
		if got := k.dump(t); got != want || !strings.Contains(got, "third") {
			t.Errorf("part of %d bytes: got %s\nwant %s", part, got, want)
		}
		_, err = os.Stat(k.next())
		assert.Is(t, os.ErrNotExist, err, "a file is left")
	}
}

// copied returns a folder with a copy of the tables in another one, as a killed process leaves them.
func copied(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "tables"))
	must(t, err)
	out := t.TempDir()
	must(t, os.WriteFile(filepath.Join(out, "tables"), text, 0o600))
	return out
}

// TestNotSynchronized checks that no change is accepted once the contents of the file are unknown.
func TestNotSynchronized(t *testing.T) {
	disk := &fullDisk{}
	k, _, err := start(t, t.TempDir(), disk.opened)
	must(t, err)
	must(t, errors.Join(requests[0].do(t.Context(), k), k.synchronize()))
	disk.broken = true
	if err := k.synchronize(); err != nil { // nothing has changed
		t.Error(err)
	}
	assert.Is(t, nil, requests[2].do(t.Context(), k))
	assert.Is(t, errFull, k.synchronize())
	disk.broken = false
	if err := requests[2].do(t.Context(), k); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no longer change") {
		t.Error(err)
	}
	assert.Contains(t, `"row"`, k.dump(t))
}

// TestConcurrent changes the same rows from many clients, while the file is compacted.
func TestConcurrent(t *testing.T) {
	k := started(t, t.TempDir())
	ctx := t.Context()
	must(t, requests[0].do(ctx, k))
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Go(func() {
			for i := range 30 {
				key := fmt.Sprint("row", i%3)
				err := errors.Join(
					k.send(ctx, mutate(one, key, set("f", "last", 1000, fmt.Sprint(c, i)), set("f", "now", serverTime, fmt.Sprint(c)))),
					k.send(ctx, change(key, increments("n", 1))),
					k.send(ctx, chosen(fmt.Sprint("chosen", i), set("f", "second", 1000, fmt.Sprint(c)), set("f", "first", 1000, fmt.Sprint(c)))))
				assert.Is(t, nil, err)
			}
		})
	}
	for range 3 {
		assert.Is(t, nil, k.replace(t))
	}
	clients.Wait()
	want := k.dump(t)
	assert.Same(t, want, k.restarted(t).dump(t))
}

// TestCompacted overwrites a cell until the file is large. It is compacted, also if the server was started again before, and then
// not before it is twice as large.
func TestCompacted(t *testing.T) {
	k := started(t, t.TempDir())
	ctx := t.Context()
	must(t, requests[0].do(ctx, k))
	value := strings.Repeat("v", 3<<19) // in base64, 2 MiB
	size := func() int64 { k.changes.Lock(); defer k.changes.Unlock(); return k.file.size }
	for i := range 5 {
		must(t, errors.Join(k.send(ctx, mutate(one, "row", set("g", "a", 1000, value))), k.compactLarge(ctx)))
		if got, want := size()>>20, int64(2*(i+1)); got != want {
			t.Fatalf("%d MiB after %d writes", got, i+1)
		}
	}
	k = k.restarted(t)
	for range 5 {
		must(t, k.send(ctx, mutate(one, "row", set("g", "a", 1000, value))))
	}
	want := k.dump(t)
	k = k.restarted(t)
	must(t, k.compactLarge(ctx))
	if got := size() >> 20; got != 2 || k.compact != minCompacted {
		t.Errorf("%d MiB, compacted from %d bytes on", got, k.compact)
	}
	assert.Same(t, want, k.restarted(t).dump(t), "the tables differ")
}

// TestCollected checks that garbage is collected by the rules, which clients see as they wrote them, and does not reappear.
func TestCollected(t *testing.T) {
	k := started(t, t.TempDir())
	ctx := t.Context()
	must(t, k.send(ctx, create("one", map[string]*adminpb.ColumnFamily{
		"newest": {GcRule: rule(`max_num_versions: 1`)}, "day": {GcRule: rule(`max_age {seconds: 86400}`)},
		"both": {GcRule: rule(`intersection {rules {max_num_versions: 1} rules {max_age {seconds: 86400}}}`)},
		"any":  {GcRule: rule(`union {rules {max_num_versions: 2} rules {max_age {seconds: 3600}}}`)},
	})))
	rules := k.dump(t)
	if strings.Count(rules, "intersection") != 1 || strings.Count(rules, "union") != 1 {
		t.Errorf("got %s", rules)
	}
	now := time.Now().UnixMilli() * 1000
	old := now - (25 * time.Hour).Microseconds()
	for _, family := range []string{"newest", "day", "both", "any"} {
		for i := range int64(3) {
			must(t, k.send(ctx, mutate(one, "row", set(family, "q", now-i*1000, fmt.Sprint("new", i)), set(family, "q", old-i*1000, fmt.Sprint("old", i)), set(family, "other", old, "old"))))
		}
	}
	must(t, k.collectAll(ctx))
	want := strings.Split("any new0,any new1,both new0,both new1,both new2,both old,day new0,day new1,day new2,newest new0,newest old", ",")
	values := func() []string {
		var got []string
		must(t, k.read(&bigtablepb.ReadRowsRequest{TableName: one}, func(row *row) error {
			for _, m := range row.GetMutations() {
				got = append(got, m.GetSetCell().GetFamilyName()+" "+string(m.GetSetCell().GetValue()))
			}
			return nil
		}))
		slices.Sort(got)
		return got
	}
	assert.Same(t, want, values())
	k = k.restarted(t)
	assert.Same(t, want, values())
	// The deletion of the newest version does not show an older one, which was collected.
	must(t, k.send(ctx, mutate(one, "row", cut("newest", "q", now, now+1000))))
	k = k.restarted(t)
	assert.Same(t, slices.DeleteFunc(want, func(v string) bool { return v == "newest new0" }), values())
	assert.Same(t, 1, strings.Count(k.dump(t), "intersection"))
}

// TestPanic lets the server panic at a change. The class of fault: a change that ends each process that loads it.
func TestPanic(t *testing.T) {
	k := started(t, t.TempDir())
	ctx := t.Context()
	must(t, errors.Join(requests[0].do(ctx, k), requests[2].do(ctx, k)))
	want := k.dump(t)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		assert.Same(t, want, started(t, copied(t, k.dir)).dump(t))
	}()
	info := &grpc.UnaryServerInfo{FullMethod: bigtablepb.Bigtable_MutateRow_FullMethodName}
	_, _ = k.unary(ctx, mutate(one, "panic", set("f", "a", 1000, "")), info, func(context.Context, any) (any, error) { panic("the server") })
}

// TestWaits checks that requests wait until the tables are loaded.
func TestWaits(t *testing.T) {
	j, err := Open(t.TempDir(), func(err error) { t.Error(err) })
	must(t, err)
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", j.ServerOptions()...)
	must(t, err)
	k := connected(t, b.Addr)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.Same(t, codes.DeadlineExceeded, status.Code(requests[0].do(ctx, k)))
	_, err = j.Load(t.Context(), b.Addr)
	must(t, err)
	assert.Is(t, nil, errors.Join(requests[0].do(t.Context(), k), b.Close(), j.Close()))
}

var must = assert.Must
