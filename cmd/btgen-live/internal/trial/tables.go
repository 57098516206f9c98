package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

const day = 24 * time.Hour

// Rules, as package codec has them.

func maxAge(d time.Duration) codec.GCRule  { return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: d} }
func maxVersions(n int) codec.GCRule       { return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: n} }
func anyOf(r ...codec.GCRule) codec.GCRule { return codec.GCRule{Kind: codec.GCUnion, Rules: r} }
func allOf(r ...codec.GCRule) codec.GCRule { return codec.GCRule{Kind: codec.GCIntersection, Rules: r} }

// rules are garbage collection rules by the ID of the assumption that they can be read back.
var rules = []struct {
	id, what string
	rule     codec.GCRule
}{
	{"rule-forever", "no rule", codec.GCRule{}},
	{"rule-second", "a maximum age of one second", maxAge(time.Second)},
	{"rule-days", "a maximum age of 30 days", maxAge(30 * day)},
	{"rule-years", "a maximum age of ten years", maxAge(3653 * day)},
	{"rule-version", "a maximum of one version", maxVersions(1)},
	{"rule-versions", "a maximum of a million versions", maxVersions(1_000_000)},
	{"rule-any", "a union", anyOf(maxAge(30*day), maxVersions(3))},
	{"rule-all", "an intersection", allOf(maxAge(7*day), maxVersions(2))},
	{"rule-nested", "an intersection in a union", anyOf(maxAge(90*day), allOf(maxAge(day), maxVersions(1)))},
	{"rule-nested-all", "a union in an intersection", allOf(maxVersions(5), anyOf(maxAge(day), maxVersions(9)))},
}

// tableChanges are assumptions about the administration of tables.
func tableChanges() (out []Assumption) {
	for _, rule := range rules {
		out = append(out, Assumption{rule.id, "Setup creates a family with " + rule.what + ", and reads it back.", docs + "garbage-collection", ruleIsBack(rule.id, rule.rule)})
	}
	return append(out, []Assumption{
		{"rule-plan", "Setup finds no difference in a table that it has just created.", docs + "garbage-collection", noDifference},
		{"rule-drift", "Setup finds a rule that another program has changed, and restores it.", docs + "configuring-garbage-collection", drift},
		{"rule-fraction", "A maximum age in milliseconds is stored exactly, though the client reads whole seconds.", tables("GcRule"), fraction},
		{"rule-size", "A rule over 500 bytes is refused.", docs + "garbage-collection", ruleTooLarge},
		{"family-add", "A family can be added to a table, and be written to soon after.", docs + "managing-tables", addFamily},
		{"family-exists", "Adding a family that exists gets ALREADY_EXISTS.", tables("ModifyColumnFamiliesRequest"), familyExists},
		{"family-remove", "A removed family is empty when it is added again.", docs + "managing-tables", removeFamily},
		{"family-name", "A family name may have 64 characters, among them - _ and .", quotas, familyNamed(strings.Repeat("a", 60)+"-_.b", codes.OK)},
		{"family-name-long", "A family name over 64 characters is refused.", quotas, familyNamed(strings.Repeat("a", 65), anyCode)},
		{"family-name-other", "A family name with other characters is refused.", tables("Table"), familyNamed("a b", anyCode)},
		{"table-exists", "Creating a table that exists gets ALREADY_EXISTS.", tables("CreateTableRequest"), tableExists},
		{"table-missing", "A missing table gets NOT_FOUND.", docs + "status-codes", tableMissing},
		{"table-listed", "A new table is listed.", tables("ListTablesRequest"), tableListed},
		{"table-name", "A table ID may have 50 characters.", quotas, tableNamed(codec.MaxTableID, codes.OK)},
		{"table-name-long", "A table ID of 51 characters is refused.", quotas, tableNamed(codec.MaxTableID+1, anyCode)},
		{"table-granularity", "A table created without a granularity has timestamps in milliseconds.", tables("Table"), granularity},
		{"table-splits", "A table may be created with 100 split keys, which samples of its keys show.", docs + "managing-tables#splits", splits},
		{"table-splits-over", "A table with 101 split keys is refused.", docs + "managing-tables#splits", splitsOver},
		{"sample-order", "Samples of row keys are in ascending order, and so are their offsets.", data("SampleRowKeysResponse"), samples},
		{"protection", "A protected table, and its families, cannot be deleted until the protection is removed.", docs + "managing-tables#deletion-protection", protection},
		{"tier", "An infrequent access tier can be set, read back and removed.", docs + "tiered-storage", tier},
		{"tier-age", "An infrequent access tier for cells younger than 30 days is refused.", docs + "tiered-storage", tierTooYoung},
		{"bundle", "A schema bundle can be created, read back, replaced and deleted.", tables("SchemaBundle"), bundle},
		{"bundle-etag", "Replacing a schema bundle with an old etag is refused.", tables("SchemaBundle"), bundleEtag},
		{"bundle-incompatible", "Removing a field from a schema bundle is refused, unless warnings are ignored.", tables("UpdateSchemaBundleRequest"), bundleIncompatible},
		{"view-read", "A read through an authorized view returns only its rows and columns.", docs + "authorized-views", viewReads},
		{"view-write", "A write through an authorized view to other columns gets PERMISSION_DENIED.", docs + "authorized-views", viewWrites},
		{"key-schema", "A row key schema can be set and read back.", docs + "row-key-schemas", keySchema},
		{"key-schema-fixed", "A row key schema cannot be replaced by another one.", docs + "row-key-schemas", keySchemaFixed},
		{"sql-keys", "GoogleSQL reads the fields of row keys by their row key schema.", docs + "row-key-schemas", sqlKeys},
		{"drop-rows", "DropRowRange removes the rows with a prefix, and no others.", tables("DropRowRangeRequest"), dropRows},
		{"consistency", "A consistency token is eventually consistent.", docs + "replication-overview", consistency},
		{"permissions", "TestIamPermissions returns the permissions that the caller has.", docs + "access-control", permissions},
	}...)
}

// setUp sets up a table with the prefix of the trial.
func (r *run) setUp(ctx context.Context, dry bool, allow []string, of store.Table) (setup.Plan, error) {
	of.Families = append(slices.Clip(of.Families), store.Family{Name: mark})
	o := setup.Options{TablePrefix: r.prefix, NoHistory: true, AllowDrafts: true, DryRun: dry, Allow: allow}
	return setup.Setup(ctx, r.Admin, nil, []store.Table{of}, o)
}

// setUpOnce sets up a table, unless that was done, and returns its ID.
func (r *run) setUpOnce(ctx context.Context, t store.Table) (string, error) {
	return r.once(t.ID, func(string) error { _, err := r.setUp(ctx, false, nil, t); return err })
}

// ruleTable is the table with all rules.
func ruleTable() store.Table {
	t := store.Table{ID: "rules"}
	for _, rule := range rules {
		t.Families = append(t.Families, store.Family{Name: rule.id, GC: rule.rule})
	}
	return t
}

// ruleOf returns the rule of a family that the client reads.
func (r *run) ruleOf(ctx context.Context, table, family string) (codec.GCRule, error) {
	info, err := r.Admin.TableInfo(ctx, table)
	if err != nil {
		return codec.GCRule{}, err
	}
	for _, f := range info.FamilyInfos {
		if f.Name == family {
			return setup.RuleOf(f.FullGCPolicy), nil
		}
	}
	return codec.GCRule{}, differs("the family is missing")
}

// ruleIsBack reads a rule back.
func ruleIsBack(family string, want codec.GCRule) check {
	return func(ctx context.Context, p place) (string, error) {
		id, err := p.setUpOnce(ctx, ruleTable())
		if err != nil {
			return "", err
		}
		got, err := p.ruleOf(ctx, id, family)
		if err == nil && !got.Equal(want) {
			err = differs("read %s instead of %s", got, want)
		}
		return "read " + got.String(), err
	}
}

// planned returns a contradiction unless setup of a table would make n changes.
func (r *run) planned(ctx context.Context, t store.Table, n int) (plan setup.Plan, err error) {
	plan, err = r.setUp(ctx, true, nil, t)
	if err == nil && len(plan.Changes) != n {
		err = differs("the plan has %d changes: %s", len(plan.Changes), strings.TrimSpace(plan.String()))
	}
	return plan, err
}

// noDifference plans the setup of the same table again.
func noDifference(ctx context.Context, p place) (string, error) {
	_, err := p.setUpOnce(ctx, ruleTable())
	return "the plan is empty", first(func() error { return err }, func() error { _, err := p.planned(ctx, ruleTable(), 0); return err })
}

// drift changes a rule, and lets setup find it.
func drift(ctx context.Context, p place) (string, error) {
	t := store.Table{ID: "drift", Families: []store.Family{{Name: "f", GC: maxAge(30 * day)}}}
	id, err := p.setUpOnce(ctx, t)
	var plan setup.Plan
	return "the plan had the shorter age, and then nothing", first(
		func() error { return err },
		func() error {
			return p.Admin.UpdateFamily(ctx, id, "f", bigtable.Family{GCPolicy: bigtable.MaxAgePolicy(60 * day)})
		},
		func() (err error) { plan, err = p.planned(ctx, t, 1); return err },
		func() error { _, err := p.setUp(ctx, false, []string{plan.Changes[0].Name()}, t); return err },
		func() error { _, err := p.planned(ctx, t, 0); return err },
	)
}

// reshape changes a family of the table of fixtures.
func (p place) reshape(ctx context.Context, m *adminpb.ModifyColumnFamiliesRequest_Modification) (*adminpb.Table, error) {
	return p.gapic.ModifyColumnFamilies(ctx, &adminpb.ModifyColumnFamiliesRequest{
		Name: p.name(), Modifications: []*adminpb.ModifyColumnFamiliesRequest_Modification{m},
	})
}

// newFamily returns the creation of a family.
func newFamily(id string, rule *adminpb.GcRule) *adminpb.ModifyColumnFamiliesRequest_Modification {
	create := &adminpb.ModifyColumnFamiliesRequest_Modification_Create{Create: &adminpb.ColumnFamily{GcRule: rule}}
	return &adminpb.ModifyColumnFamiliesRequest_Modification{Id: id, Mod: create}
}

// fraction creates a family with an age in milliseconds.
func fraction(ctx context.Context, p place) (string, error) {
	const want = 1500 * time.Millisecond
	table, err := p.reshape(ctx, newFamily("fraction", ageRule(want)))
	if err != nil {
		return "", err
	}
	got := table.GetColumnFamilies()["fraction"].GetGcRule().GetMaxAge().AsDuration()
	client, err := p.ruleOf(ctx, p.id, "fraction")
	if err == nil && (got != want || client.MaxAge != time.Second) {
		err = differs("stored %v instead of %v; the client reads %s", got, want, client)
	}
	return "stored 1.5s; the client reads 1s", err
}

// ageRule returns a rule as Bigtable stores it.
func ageRule(age time.Duration) *adminpb.GcRule {
	return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: durationpb.New(age)}}
}

// ruleTooLarge creates a family with a large rule.
func ruleTooLarge(ctx context.Context, p place) (string, error) {
	all := make([]*adminpb.GcRule, 60)
	for i := range all {
		all[i] = ageRule(time.Duration(i+1) * 100 * day)
	}
	rule := &adminpb.GcRule{Rule: &adminpb.GcRule_Union_{Union: &adminpb.GcRule_Union{Rules: all}}}
	_, err := p.reshape(ctx, newFamily("large", rule))
	what := fmt.Sprintf("a rule of %d bytes", proto.Size(rule))
	return what + " was refused", expected(err, anyCode, what)
}

// addFamily adds a family and writes to it.
func addFamily(ctx context.Context, p place) (string, error) {
	if _, err := p.reshape(ctx, newFamily("added", nil)); err != nil {
		return "", err
	}
	return p.writesSoon(ctx, "added")
}

// writesSoon writes to a new family, and reads it.
func (p place) writesSoon(ctx context.Context, name string) (seen string, err error) {
	cells := "a " + name + ":x@1=1"
	err = found(ctx, func() error {
		seen, err = fixture{cells: cells, want: cells, filter: family(name)}.tried(ctx, p)
		return err
	})
	return seen, err
}

// familyExists adds a family twice.
func familyExists(ctx context.Context, p place) (string, error) {
	_, err := p.reshape(ctx, newFamily("f", nil))
	return "the second creation got AlreadyExists", expected(err, codes.AlreadyExists, "the second creation")
}

// removeFamily removes a family with a cell.
func removeFamily(ctx context.Context, p place) (seen string, err error) {
	create := func() error { _, err := p.reshape(ctx, newFamily("gone", nil)); return err }
	err = first(
		create,
		func() error { _, err := p.writesSoon(ctx, "gone"); return err },
		func() error { return p.Admin.DeleteColumnFamily(ctx, p.id, "gone") },
		create,
		func() error { seen, err = fixture{filter: family("gone")}.tried(ctx, p); return err },
	)
	return seen, err
}

// familyNamed creates a family with a name.
func familyNamed(name string, code codes.Code) check {
	return func(ctx context.Context, p place) (string, error) {
		_, err := p.reshape(ctx, newFamily(name, nil))
		return saw("the name", err, code)
	}
}

// tableExists creates a table twice.
func tableExists(ctx context.Context, p place) (string, error) {
	return "the second creation got AlreadyExists", expected(p.Admin.CreateTable(ctx, p.id), codes.AlreadyExists, "the second creation")
}

// tableMissing asks for a table that does not exist.
func tableMissing(ctx context.Context, p place) (string, error) {
	_, err := p.Admin.TableInfo(ctx, p.prefix+"none")
	return "the request got NotFound", expected(err, codes.NotFound, "the request")
}

// tableListed lists the tables.
func tableListed(ctx context.Context, p place) (string, error) {
	all, err := p.Admin.Tables(ctx)
	if err == nil && !slices.Contains(all, p.id) {
		err = differs("the table is missing")
	}
	return "the table was listed", err
}

// tableNamed creates a table whose ID has n characters.
func tableNamed(n int, code codes.Code) check {
	return func(ctx context.Context, p place) (string, error) {
		what := fmt.Sprintf("an ID of %d characters", n)
		conf := bigtable.TableConf{TableID: p.prefix + strings.Repeat("n", n-len(p.prefix)), ColumnFamilies: map[string]bigtable.Family{mark: {}}}
		return saw(what, p.Admin.CreateTableFromConf(ctx, &conf), code)
	}
}

// granularity reads the granularity of a table.
func granularity(ctx context.Context, p place) (string, error) {
	t, err := p.gapic.GetTable(ctx, &adminpb.GetTableRequest{Name: p.name(), View: adminpb.Table_SCHEMA_VIEW})
	if err == nil && t.GetGranularity() == adminpb.Table_MICROS {
		err = differs("the granularity is %v", t.GetGranularity())
	}
	return "the granularity is " + t.GetGranularity().String(), err
}

// plainFamily is a family that keeps everything.
var plainFamily = map[string]bigtable.Family{"f": {GCPolicy: bigtable.NoGcPolicy()}}

// splitKeys returns n split keys.
func splitKeys(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%03d", i))
	}
	return out
}

// splitTable returns the place of a table with split keys.
func (r *run) splitTable(ctx context.Context) (place, error) {
	id, err := r.once("splits", func(id string) error {
		return r.create(ctx, &bigtable.TableConf{TableID: id, SplitKeys: splitKeys(codec.MaxSplits), ColumnFamilies: plainFamily})
	})
	return place{run: r, id: id}, err
}

// sample returns sampled keys of a place, with their offsets.
func (p place) sample(ctx context.Context) (keys []string, offsets []int64, err error) {
	request := &bigtablepb.SampleRowKeysRequest{TableName: p.name(), AppProfileId: p.AppProfile}
	stream, err := p.data.SampleRowKeys(streaming(ctx, request), request)
	if err != nil {
		return nil, nil, err
	}
	err = receive(stream, func(r *bigtablepb.SampleRowKeysResponse) error {
		keys, offsets = append(keys, string(r.GetRowKey())), append(offsets, r.GetOffsetBytes())
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return keys, offsets, nil
}

// splits samples a table with split keys.
func splits(ctx context.Context, p place) (string, error) {
	p, err := p.splitTable(ctx)
	if err != nil {
		return "", err
	}
	sampled, _, err := p.sample(ctx)
	for _, k := range splitKeys(codec.MaxSplits) {
		if err == nil && !slices.Contains(sampled, k) {
			err = differs("the sample has %d keys, and lacks %s", len(sampled), k)
		}
	}
	return "the sample has all split keys", err
}

// splitsOver creates a table with too many split keys.
func splitsOver(ctx context.Context, p place) (string, error) {
	err := p.Admin.CreatePresplitTable(ctx, p.prefix+"toomany", splitKeys(codec.MaxSplits+1))
	return saw("a table with 101 split keys", err, anyCode)
}

// samples checks the order of samples.
func samples(ctx context.Context, p place) (string, error) {
	p, err := p.splitTable(ctx)
	if err != nil {
		return "", err
	}
	p.keys = "0"
	if err := p.fill(ctx, 500, strings.Repeat("v", 100)); err != nil {
		return "", err
	}
	keys, offsets, err := p.sample(ctx)
	if err != nil {
		return "", err
	}
	if n := len(keys); n > 0 && keys[n-1] == "" { // the end of the table
		keys = keys[:n-1]
	}
	if !slices.IsSorted(keys) || !slices.IsSorted(offsets) {
		return "", differs("they are not")
	}
	return "they were", nil
}

// protection protects a table.
func protection(ctx context.Context, p place) (string, error) {
	id, err := p.setUpOnce(ctx, store.Table{ID: "protected", Families: []store.Family{{Name: "f", GC: maxAge(day)}}, DeletionProtection: bigtable.Protected})
	return "both were refused, and the table deleted after that", first(
		func() error { return err },
		func() error {
			return expected(p.Admin.DeleteTable(ctx, id), codes.FailedPrecondition, "the deletion of the table")
		},
		func() error {
			return expected(p.Admin.DeleteColumnFamily(ctx, id, "f"), codes.FailedPrecondition, "the deletion of the family")
		},
		func() error { return p.Admin.UpdateTableWithDeletionProtection(ctx, id, bigtable.Unprotected) },
		func() error { return p.Admin.DeleteTable(ctx, id) },
	)
}

// older returns the configuration of an infrequent access tier.
func older(than time.Duration) *bigtable.TieredStorageConfig {
	return &bigtable.TieredStorageConfig{InfrequentAccess: &bigtable.TieredStorageIncludeIfOlderThan{Duration: than}}
}

// tier sets and removes a tier.
func tier(ctx context.Context, p place) (string, error) {
	const want = 45 * day
	err := p.Admin.UpdateTableWithTieredStorageConfig(ctx, p.id, older(want))
	if code := status.Code(err); code == codes.FailedPrecondition || code == codes.InvalidArgument {
		return "", untried("the instance may lack SSD storage or the edition for it: " + err.Error())
	}
	if err != nil {
		return "", err
	}
	info, err := p.Admin.TableInfo(ctx, p.id)
	if err != nil {
		return "", err
	}
	if got := setup.TierOf(info.TieredStorageConfig); got == 0 {
		return "", untried("the server accepts a tier and drops it")
	} else if got != codec.Tier(want) {
		return "", differs("read %v instead of %v", time.Duration(got), want)
	}
	if err := p.Admin.UpdateTableRemoveTieredStorageConfig(ctx, p.id); err != nil {
		return "", err
	}
	info, err = p.Admin.TableInfo(ctx, p.id)
	if err == nil && setup.TierOf(info.TieredStorageConfig) != 0 {
		err = differs("the tier was not removed")
	}
	return "read 1080h0m0s, and no tier after its removal", err
}

// tierTooYoung sets a tier for young cells.
func tierTooYoung(ctx context.Context, p place) (string, error) {
	return saw("a tier for cells older than 29 days", p.Admin.UpdateTableWithTieredStorageConfig(ctx, p.id, older(codec.MinTier-day)), anyCode)
}

// descriptors returns the descriptors of a message with fields.
func descriptors(fields ...string) []byte {
	m := &descriptorpb.DescriptorProto{Name: proto.String("Event")}
	for i, name := range fields {
		m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(int32(i + 1)), JsonName: proto.String(name),
			Type: descriptorpb.FieldDescriptorProto_TYPE_INT64.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		})
	}
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("trial.proto"), Package: proto.String("trial"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{m},
	}}}
	out, _ := proto.MarshalOptions{Deterministic: true}.Marshal(set) // all of its fields are valid
	return out
}

// newBundle creates a schema bundle, reads it, and returns its configuration.
func (p place) newBundle(ctx context.Context, id string) (*bigtable.SchemaBundleConf, error) {
	if p.emulated() { // one without bundles would panic
		if _, err := p.Admin.TableInfo(ctx, bundlesProbe); status.Code(err) != codes.FailedPrecondition {
			return nil, untried("the emulator has no schema bundles")
		}
	}
	conf := &bigtable.SchemaBundleConf{TableID: p.id, SchemaBundleID: id, ProtoSchema: &bigtable.ProtoSchemaInfo{ProtoDescriptors: descriptors("a", "b")}}
	return conf, first(func() error { return p.Admin.CreateSchemaBundle(ctx, conf) }, func() error { return p.readBundle(ctx, conf) })
}

// readBundle sets the etag of a schema bundle, and returns an error if it has other descriptors.
func (p place) readBundle(ctx context.Context, conf *bigtable.SchemaBundleConf) error {
	info, err := p.Admin.GetSchemaBundle(ctx, conf.TableID, conf.SchemaBundleID)
	if err != nil {
		return err
	}
	if conf.Etag = info.Etag; !bytes.Equal(info.SchemaBundle, conf.ProtoSchema.ProtoDescriptors) {
		return differs("read other descriptors, of %d bytes instead of %d", len(info.SchemaBundle), len(conf.ProtoSchema.ProtoDescriptors))
	}
	return nil
}

// replaceBundle gives the message of a schema bundle some fields.
func (p place) replaceBundle(ctx context.Context, conf *bigtable.SchemaBundleConf, ignoreWarnings bool, fields ...string) error {
	conf.ProtoSchema.ProtoDescriptors = descriptors(fields...)
	return p.Admin.UpdateSchemaBundle(ctx, bigtable.UpdateSchemaBundleConf{SchemaBundleConf: *conf, IgnoreWarnings: ignoreWarnings})
}

// bundle creates, replaces and deletes a schema bundle.
func bundle(ctx context.Context, p place) (string, error) {
	conf, err := p.newBundle(ctx, "bundle")
	return "read the descriptors of both, and none after the deletion", first(
		func() error { return err },
		func() error { return p.replaceBundle(ctx, conf, false, "a", "b", "c") },
		func() error { return p.readBundle(ctx, conf) },
		func() error { return p.Admin.DeleteSchemaBundle(ctx, conf.TableID, conf.SchemaBundleID) },
		func() error { return expected(p.readBundle(ctx, conf), codes.NotFound, "a read of the deleted bundle") },
	)
}

// bundleEtag replaces a schema bundle twice with the same etag.
func bundleEtag(ctx context.Context, p place) (string, error) {
	conf, err := p.newBundle(ctx, "etag")
	return "the second replacement was refused", first(
		func() error { return err },
		func() error { return p.replaceBundle(ctx, conf, false, "a", "b", "c") },
		func() error {
			return expected(p.replaceBundle(ctx, conf, false, "a", "b", "c", "d"), anyCode, "the second replacement")
		},
	)
}

// bundleIncompatible removes a field from a schema bundle.
func bundleIncompatible(ctx context.Context, p place) (string, error) {
	conf, err := p.newBundle(ctx, "incompatible")
	return "refused, and accepted with ignored warnings", first(
		func() error { return err },
		func() error {
			return expected(p.replaceBundle(ctx, conf, false, "a"), anyCode, "the removal of a field")
		},
		func() error { return p.replaceBundle(ctx, conf, true, "a") },
	)
}

// view creates a view of column f:x in the rows of a place, and writes cells.
func (p place) view(ctx context.Context, id string) (name string, err error) {
	if err := p.mutate(ctx, "a", rebased([]mutation{set("f", "x", ms, "1"), set("f", "y", ms, "2"), set("g", "x", ms, "3")}, p.base)); err != nil {
		return "", err
	}
	subset := &bigtable.SubsetViewConf{}
	subset.AddRowPrefix([]byte(p.keys))
	subset.AddFamilySubsetQualifier("f", []byte("x"))
	err = p.Admin.CreateAuthorizedView(ctx, &bigtable.AuthorizedViewConf{TableID: p.id, AuthorizedViewID: id, AuthorizedView: subset})
	return p.name() + "/authorizedViews/" + id, err
}

// viewReads reads through a view.
func viewReads(ctx context.Context, p place) (string, error) {
	view, err := p.view(ctx, "read")
	if err != nil {
		return "", err
	}
	cells, err := p.read(ctx, &bigtablepb.ReadRowsRequest{AuthorizedViewName: view})
	if err == nil && (len(cells) != 1 || cells[0].row != p.keys+"a" || cells[0].family+cells[0].qualifier != "fx") {
		err = differs("read %s", showCells(cells, p.base))
	}
	return "read the only cell of the view", err
}

// viewWrites writes through a view.
func viewWrites(ctx context.Context, p place) (string, error) {
	view, err := p.view(ctx, "write")
	if err != nil {
		return "", err
	}
	for qualifier, code := range map[string]codes.Code{"x": codes.OK, "y": codes.PermissionDenied} {
		_, err := p.data.MutateRow(ctx, &bigtablepb.MutateRowRequest{
			AuthorizedViewName: view, AppProfileId: p.AppProfile, RowKey: []byte(p.keys + "a"), Mutations: rebased([]mutation{set("f", qualifier, 2*ms, "4")}, p.base),
		})
		if got := status.Code(err); got != code {
			return "", differs("a write to column %s got %s instead of %s", qualifier, got, code)
		}
	}
	return "a write to a column of the view was accepted, and to another one not", nil
}

// keys returns the row key schema of a text and bytes.
func keys(name string) bigtable.StructType {
	return bigtable.StructType{Encoding: bigtable.StructDelimitedBytesEncoding{Delimiter: []byte("#")}, Fields: []bigtable.StructField{
		{FieldName: name, FieldType: bigtable.StringType{Encoding: bigtable.StringUtf8BytesEncoding{}}},
		{FieldName: "rest", FieldType: bigtable.BytesType{Encoding: bigtable.RawBytesEncoding{}}},
	}}
}

// keyTable returns the ID of a table with a row key schema.
func (r *run) keyTable(ctx context.Context) (string, error) {
	return r.once("keys", func(id string) error {
		err := r.create(ctx, &bigtable.TableConf{TableID: id, ColumnFamilies: plainFamily})
		if err == nil {
			err = r.Admin.UpdateTableWithRowKeySchema(ctx, id, keys("name"))
		}
		if err != nil {
			return err
		}
		info, err := r.Admin.TableInfo(ctx, id)
		switch {
		case err != nil:
			return err
		case info.RowKeySchema == nil:
			return untried("the server accepts a row key schema and drops it")
		case !bigtable.Equal(*info.RowKeySchema, keys("name")):
			encoded, _ := json.Marshal(info.RowKeySchema)
			return differs("read %s", encoded)
		}
		return nil
	})
}

// keySchema reads a row key schema back.
func keySchema(ctx context.Context, p place) (string, error) {
	_, err := p.keyTable(ctx)
	return "read the same row key schema", err
}

// keySchemaFixed sets another row key schema.
func keySchemaFixed(ctx context.Context, p place) (string, error) {
	id, err := p.keyTable(ctx)
	if err != nil {
		return "", err
	}
	return saw("another row key schema", p.Admin.UpdateTableWithRowKeySchema(ctx, id, keys("other")), anyCode)
}

// sqlKeys selects the fields of a key.
func sqlKeys(ctx context.Context, p place) (string, error) {
	id, err := p.keyTable(ctx)
	if err != nil {
		return "", err
	}
	p = place{p.run, id, ""}
	if err := p.mutate(ctx, "us#\x01", rebased([]mutation{set("f", "x", ms, "1")}, p.base)); err != nil {
		return "", err
	}
	statement, err := p.Client.PrepareStatement(ctx, "SELECT name FROM `"+id+"`", nil)
	if err != nil {
		return "", err
	}
	bound, err := statement.Bind(nil)
	if err != nil {
		return "", err
	}
	var got []string
	var failed error
	err = bound.Execute(ctx, func(row bigtable.ResultRow) bool {
		var name string
		failed = row.GetByIndex(0, &name)
		got = append(got, name)
		return failed == nil
	})
	if err = errors.Join(err, failed); err == nil && !slices.Equal(got, []string{"us"}) {
		err = differs("selected %q", got)
	}
	return "selected us", err
}

// dropRows drops rows by their prefix.
func dropRows(ctx context.Context, p place) (seen string, err error) {
	err = first(
		func() error {
			_, err := fixture{cells: "a f:x@1=1 | b f:x@1=2 | ba f:x@1=4 | c f:x@1=3", want: "a f:x@1=1 | b f:x@1=2 | ba f:x@1=4 | c f:x@1=3"}.tried(ctx, p)
			return err
		},
		func() error { return p.Admin.DropRowRange(ctx, p.id, p.keys+"b") },
		func() error { seen, err = fixture{want: "a f:x@1=1 | c f:x@1=3"}.tried(ctx, p); return err },
	)
	return seen, err
}

// consistency waits for replication.
func consistency(ctx context.Context, p place) (string, error) {
	return "consistent", p.Admin.WaitForReplication(ctx, p.id)
}

// usedPermissions are those of readers, writers and setup.
var usedPermissions = []string{
	"bigtable.tables.readRows", "bigtable.tables.mutateRows", "bigtable.tables.sampleRowKeys", "bigtable.tables.get", "bigtable.tables.update", "bigtable.tables.delete",
}

// permissions asks for the permissions of the caller, who has at least those that the trial has used.
func permissions(ctx context.Context, p place) (string, error) {
	got, err := p.Admin.TableIAM(p.id).TestPermissions(ctx, usedPermissions)
	if err != nil {
		return "", err
	}
	for _, p := range usedPermissions {
		if !slices.Contains(got, p) {
			return "", differs("the answer lacks %s, which the trial has used", p)
		}
	}
	return fmt.Sprintf("has all %d", len(got)), nil
}
