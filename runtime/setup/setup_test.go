package setup_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

func age(d time.Duration) codec.GCRule     { return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: d} }
func versions(n int) codec.GCRule          { return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: n} }
func anyOf(r ...codec.GCRule) codec.GCRule { return codec.GCRule{Kind: codec.GCUnion, Rules: r} }
func allOf(r ...codec.GCRule) codec.GCRule { return codec.GCRule{Kind: codec.GCIntersection, Rules: r} }

const day = 24 * time.Hour

// sample is a table with one family per kind of rule.
var sample = store.Table{ID: "t", Families: []store.Family{
	{Name: "old", GC: age(7 * day)},
	{Name: "many", GC: versions(3)},
	{Name: "either", GC: anyOf(age(time.Hour), versions(1))},
	{Name: "both", GC: allOf(age(90*time.Second), anyOf(versions(2), age(365*day)))},
	{Name: "kept"},
}}

// small is a table with families a and b.
var small = store.Table{ID: "t", Families: []store.Family{{Name: "a", GC: age(day)}, {Name: "b", GC: versions(1)}}}

// made returns the changes of tables that did not exist.
func made(tables ...store.Table) []string {
	var out []string
	for _, t := range tables {
		out = append(out, "+ table "+t.ID)
		for _, f := range t.Families {
			out = append(out, madeFamily(t, f))
		}
	}
	return out
}

func madeFamily(t store.Table, f store.Family) string {
	return fmt.Sprintf("+ family %s of table %s: %s", f.Name, t.ID, said(f.GC))
}

// said returns a rule in the notation of schemas, without the code under test.
func said(r codec.GCRule) string {
	switch r.Kind {
	case codec.GCMaxAge:
		if r.MaxAge%day == 0 {
			return fmt.Sprintf("max_age %dd", r.MaxAge/day)
		}
		return "max_age " + strings.TrimSuffix(r.MaxAge.String(), "0m0s")
	case codec.GCMaxVersions:
		return fmt.Sprint("max_versions ", r.MaxVersions)
	case codec.GCNone:
		return "keep forever"
	}
	var rules []string
	for _, sub := range r.Rules {
		rules = append(rules, said(sub))
	}
	return map[codec.GCKind]string{codec.GCUnion: "any_of", codec.GCIntersection: "all_of"}[r.Kind] + "(" + strings.Join(rules, ", ") + ")"
}

func show(plan setup.Plan) []string {
	var out []string
	for _, c := range plan.Changes {
		out = append(out, c.String())
	}
	return out
}

// refused returns the names of the refused changes in an error.
func refused(err error) []string {
	if e, ok := errors.AsType[*setup.RefusedError](err); ok {
		return namesOf(e.Changes)
	}
	return nil
}

// unsettled returns the names of the remaining changes in an error.
func unsettled(err error) []string {
	if e, ok := errors.AsType[*setup.VerifyError](err); ok {
		return namesOf(e.Changes)
	}
	return nil
}

func namesOf(changes []setup.Change) (names []string) {
	for _, c := range changes {
		names = append(names, c.Name())
	}
	return names
}

// same fails unless got equals want.
func same(t assert.T, what string, got, want any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// start starts an in-memory server.
func start(t *testing.T) *storetest.Bigtable {
	return storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
}

// wire returns the rule as Bigtable's message, without the code under test.
func wire(r codec.GCRule) *adminpb.GcRule {
	var rules []*adminpb.GcRule
	for _, sub := range r.Rules {
		rules = append(rules, wire(sub))
	}
	switch r.Kind {
	case codec.GCMaxAge:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: durationpb.New(r.MaxAge)}}
	case codec.GCMaxVersions:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: int32(r.MaxVersions)}}
	case codec.GCUnion:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Union_{Union: &adminpb.GcRule_Union{Rules: rules}}}
	case codec.GCIntersection:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: &adminpb.GcRule_Intersection{Rules: rules}}}
	}
	return &adminpb.GcRule{}
}

// rules draws rules as in schemas: nested, in whole seconds.
func rules() *rapid.Generator[codec.GCRule] { return rulesOf(3) }

func rulesOf(depth int) *rapid.Generator[codec.GCRule] {
	return rapid.Custom(func(t *rapid.T) codec.GCRule {
		kinds := []codec.GCKind{codec.GCMaxAge, codec.GCMaxVersions}
		if depth > 0 {
			kinds = append(kinds, codec.GCUnion, codec.GCIntersection)
		}
		r := codec.GCRule{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch r.Kind {
		case codec.GCMaxAge:
			r.MaxAge = time.Duration(rapid.Int64Range(1, math.MaxInt64/int64(time.Second)).Draw(t, "seconds")) * time.Second
		case codec.GCMaxVersions:
			r.MaxVersions = rapid.IntRange(1, math.MaxInt32).Draw(t, "versions")
		default:
			r.Rules = rapid.SliceOfN(rulesOf(depth-1), 1, 4).Draw(t, "rules")
		}
		return r
	})
}

// requests records the requests that create tables and families.
type requests struct {
	mu       sync.Mutex
	families map[string]*adminpb.ColumnFamily // by table/family
	updates  []string                         // table/family: the fields
	splits   map[string][]string              // by table
}

func (r *requests) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	r.mu.Lock()
	switch req := req.(type) {
	case *adminpb.CreateTableRequest:
		for name, f := range req.GetTable().GetColumnFamilies() {
			r.families[req.GetTableId()+"/"+name] = f
		}
		for _, s := range req.GetInitialSplits() {
			r.splits[req.GetTableId()] = append(r.splits[req.GetTableId()], string(s.GetKey()))
		}
	case *adminpb.ModifyColumnFamiliesRequest:
		for _, m := range req.GetModifications() {
			family := req.GetName()[strings.LastIndexByte(req.GetName(), '/')+1:] + "/" + m.GetId()
			r.families[family] = m.GetCreate()
			if m.GetUpdate() != nil {
				r.families[family] = m.GetUpdate()
				r.updates = append(r.updates, family+": "+strings.Join(m.GetUpdateMask().GetPaths(), " "))
			}
		}
	}
	r.mu.Unlock()
	return next(ctx, method, req, reply, conn, opts...)
}

// recorded returns an admin client of the server, and a record of its requests.
func recorded(t *testing.T, b *storetest.Bigtable) (*bigtable.AdminClient, *requests) {
	t.Helper()
	r := &requests{families: map[string]*adminpb.ColumnFamily{}, splits: map[string][]string{}}
	admin, _ := clientsOf(t, b, grpc.WithChainUnaryInterceptor(r.intercept))
	return admin, r
}

// live returns the rules of a table as the client formats them.
func live(t testing.TB, admin setup.Admin, table string) map[string]string {
	t.Helper()
	info, err := admin.TableInfo(t.Context(), table)
	must(t, err)
	families := map[string]string{}
	for _, f := range info.FamilyInfos {
		families[f.Name] = f.GCPolicy
	}
	return families
}

// one returns table t with one family f like the given one.
func one(f store.Family) store.Table {
	f.Name = "f"
	return store.Table{ID: "t", Families: []store.Family{f}}
}

// Setup refuses a change that may delete data, and makes no other change, until it is
// allowed by name. Then it sends the rule of the schema and nothing else.
func TestSetupRefuses(t *testing.T) {
	const name, message = "shorter_age+fewer_versions:t/f", "~ rule of family f of table t: keep forever → any_of(max_age 7d, max_versions 2) " +
		"(deletes data older than 7d, and all but the newest 2 cells of each column; without a rule, expired events stay stored, though programs do not read them) [T09]"
	admin, sent := recorded(t, start(t))
	walk(t, on{admin, nil}, setup.Options{}, nil, stage{tables: []store.Table{one(store.Family{})}, plan: planOf(made(one(store.Family{}))...)})
	before := live(t, admin, "t")
	clear(sent.families)
	wanted := one(store.Family{GC: anyOf(age(7*day), versions(2))})
	wanted.Families = append(wanted.Families, store.Family{Name: "new", GC: versions(2)})
	tables := []store.Table{{ID: "u", Families: small.Families}, wanted}
	plan, err := setup.Setup(t.Context(), admin, nil, tables, setup.Options{Allow: []string{"shorter_age:t/new", name + "x"}})
	same(t, "refused", refused(err), []string{name})
	same(t, "error", fmt.Sprint(err), "nothing was changed: these changes are refused unless allowed by name (setup.Options.Allow, or --allow of btgen-live)\n"+
		message+"\n  refused; to allow it: "+name)
	if !plan.Empty() || len(sent.families) > 0 {
		t.Errorf("it changed %v and sent %v", plan, sent.families)
	}
	same(t, "families", live(t, admin, "t"), before)
	walk(t, on{admin, nil}, setup.Options{}, nil, stage{tables: tables, allow: name, plan: planOf(append(made(tables[0]), madeFamily(wanted, wanted.Families[1]), message)...)})
	same(t, "updates", sent.updates, []string{"t/f: gc_rule"})
	same(t, "rule sent", sent.families["t/f"].GetGcRule(), wire(wanted.Families[0].GC), protocmp.Transform())
}

// A table that no server would accept is reported before anything is sent.
func TestSetupImpossibleTables(t *testing.T) {
	many, more := make([]string, 60), make([]string, 60)
	for i := range many {
		many[i], more[i] = fmt.Sprintf("%03d", i), fmt.Sprintf("x%03d", i)
	}
	prefix := setup.Options{TablePrefix: "a_long_prefix_of_a_team_"}
	for _, c := range []struct {
		tables []store.Table
		opts   setup.Options
		want   string // of the last table
	}{
		{[]store.Table{{ID: "u"}, {ID: strings.Repeat("t", 26)}}, prefix, ""},
		{[]store.Table{{ID: "u"}, {ID: strings.Repeat("t", 27)}}, prefix, `table a_long_prefix_of_a_team_ttttttttttttttttttttttttttt: ` +
			`the ID with the prefix "a_long_prefix_of_a_team_" has 51 characters, but Bigtable allows 50 [L07]`},
		{[]store.Table{{ID: strings.Repeat("t", 51)}}, setup.Options{}, "table " + strings.Repeat("t", 51) +
			": the ID has 51 characters, but Bigtable allows 50 [L07]"},
		{[]store.Table{{ID: "t"}}, setup.Options{TablePrefix: "-x"}, `table -xt: the ID with the prefix "-x" must consist of letters, digits and _ - . and must not begin with - or . [L07]`},
		{[]store.Table{{ID: "t\n"}}, setup.Options{}, "table t\n: the ID must consist of letters, digits and _ - . and must not begin with - or . [L07]"},
		{[]store.Table{{}}, setup.Options{}, "table : the ID must consist of letters, digits and _ - . and must not begin with - or . [L07]"},
		{[]store.Table{{ID: "t", Splits: many}, {ID: "t", Splits: more}}, setup.Options{}, "table t: it has 120 initial splits, but Bigtable allows 100 [L12]"},
		{
			[]store.Table{small, {ID: "t", Families: []store.Family{{Name: "b", GC: versions(2)}}}}, setup.Options{},
			"table t: two schemas declare family b with different times to live: rename one of them",
		},
		{
			[]store.Table{small, {ID: "t", Families: []store.Family{{Name: "a", GC: age(day), Life: codec.Lifetime{Timestamp: codec.TimestampShifted, Default: day}}}}}, setup.Options{},
			"table t: two schemas declare family a with different times to live: rename one of them",
		},
		{[]store.Table{{ID: "t", DeletionProtection: bigtable.Unprotected}, {ID: "t", DeletionProtection: bigtable.Protected}}, setup.Options{}, "table t: one schema protects it from deletion, and another does not"},
		{[]store.Table{{ID: "t", KeySchema: &store.KeySchema{Delimiter: "#"}}, {ID: "t", KeySchema: &store.KeySchema{}}}, setup.Options{}, "table t: two schemas declare different row key schemas for it"},
		{[]store.Table{{ID: "t", Bundle: &store.SchemaBundle{ID: "a"}}, {ID: "t", Bundle: &store.SchemaBundle{ID: "b"}}}, setup.Options{}, "table t: two schemas declare different schema bundles for it"},
		{[]store.Table{{ID: "t", Tier: codec.Tier(60 * day)}, {ID: "t", Tier: codec.SSDOnly}}, setup.Options{}, "table t: two schemas declare different tiers for it"},
		{[]store.Table{small, small}, setup.Options{}, ""},
	} {
		f := &fake{}
		c.opts.DryRun = true
		_, err := setup.Setup(t.Context(), f, nil, c.tables, c.opts)
		e, _ := errors.AsType[*setup.TableError](err)
		switch {
		case c.want == "":
			assert.Is(t, nil, err)
		case e == nil || e.Error() != c.want || len(f.calls) > 0:
			t.Errorf("error %v after calls %v, want %s", err, f.calls, c.want)
		}
	}
}

// A rule has the size that the linter computes, is read back as the same rule, and a
// second run has nothing to do.
func TestSetupRuleRoundTrip(t *testing.T) {
	admin, sent := recorded(t, start(t))
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		rule := rapid.OneOf(rules(), rapid.Just(codec.GCRule{})).Draw(rt, "rule")
		n++
		table := store.Table{ID: fmt.Sprintf("t%d", n), Families: []store.Family{{Name: "f", GC: rule}}}
		asTable := []store.Table{table}
		asFamily := []store.Table{{ID: "all", Families: []store.Family{{Name: table.ID, GC: rule}}}}
		for _, tables := range [][]store.Table{asTable, asFamily} {
			key := tables[0].ID + "/" + tables[0].Families[0].Name
			for i := range 2 {
				plan, err := setup.Setup(context.Background(), admin, nil, tables)
				if err != nil || i > 0 && !plan.Empty() {
					rt.Fatalf("round %d: changes %v, error %v", i, plan, err)
				}
			}
			got := sent.families[key].GetGcRule()
			same(rt, "rule sent for "+key, got, wire(rule), protocmp.Transform())
		}
	})
}

// Setup sends a row key schema as Bigtable documents it, for new and existing tables. A
// server that does not store it is not an error.
func TestSetupRowKeySchema(t *testing.T) {
	var sent []*adminpb.Type_Struct
	b := serve(t, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		switch r := req.(type) {
		case *adminpb.CreateTableRequest:
			sent = append(sent, r.Table.RowKeySchema)
		case *adminpb.UpdateTableRequest:
			same(t, "mask", r.UpdateMask.Paths, []string{"row_key_schema"})
			sent = append(sent, r.Table.RowKeySchema)
		}
		return next(ctx, req)
	})
	text := one(store.Family{GC: age(day)})
	text.KeySchema = &store.KeySchema{Delimiter: "#", Fields: []codec.KeyField{{Name: "host"}, {Name: "slot", Bytes: true}}}
	ordered := text
	ordered.ID, ordered.KeySchema = "u", &store.KeySchema{Fields: text.KeySchema.Fields}
	without := ordered
	without.KeySchema = nil
	for _, step := range []struct {
		table store.Table
		want  string
	}{
		{text, "+ row key schema of table t: host STRING, slot BYTES\n"},
		{without, ""},
		{ordered, "+ row key schema of table u: host STRING, slot BYTES\n"},
	} {
		plan, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{step.table})
		if err != nil || !strings.HasSuffix(plan.String(), step.want) {
			t.Errorf("%v, plan\n%swant one that ends with\n%s", err, plan, step.want)
		}
	}
	of := func(encoding string) *adminpb.Type_Struct {
		out := new(adminpb.Type_Struct)
		must(t, prototext.Unmarshal([]byte(`fields {field_name: "host" type {string_type {encoding {utf8_bytes {}}}}}
			fields {field_name: "slot" type {bytes_type {encoding {raw {}}}}} encoding {`+encoding+`}`), out))
		return out
	}
	want := []*adminpb.Type_Struct{of(`delimited_bytes {delimiter: "#"}`), nil, of(`ordered_code_bytes {}`)}
	same(t, "sent", sent, want, protocmp.Transform())
}

// fake is an in-memory Admin.
type fake struct {
	setup.Admin // nil: the other calls are not made
	tables      map[string]map[string]bigtable.GCPolicy
	calls       []string
	// before is called first, with the call as "info t", "table t", "family t/f" or
	// "update t/f". An error that it returns ends the call.
	before func(ctx context.Context, call string) error
	// after is called when a call has changed something. Its error is that of the call.
	after func(call string) error
}

func (f *fake) begin(ctx context.Context, call string) error {
	if f.tables == nil {
		f.tables = map[string]map[string]bigtable.GCPolicy{}
	}
	f.calls = append(f.calls, call)
	if f.before == nil {
		return nil
	}
	return f.before(ctx, call)
}

func (f *fake) TableInfo(ctx context.Context, table string) (*bigtable.TableInfo, error) {
	if err := f.begin(ctx, "info "+table); err != nil {
		return nil, err
	}
	families, found := f.tables[table]
	if !found {
		return nil, status.Error(codes.NotFound, "no table "+table)
	}
	info := &bigtable.TableInfo{}
	for name, rule := range families {
		info.FamilyInfos = append(info.FamilyInfos, bigtable.FamilyInfo{Name: name, FullGCPolicy: rule})
	}
	return info, nil
}

// change makes a call that changes something.
func (f *fake) change(ctx context.Context, call string, do func() error) error {
	err := f.begin(ctx, call)
	if err == nil {
		err = do()
	}
	if err == nil && f.after != nil {
		err = f.after(call)
	}
	return err
}

func (f *fake) CreateTableFromConf(ctx context.Context, conf *bigtable.TableConf) error {
	return f.change(ctx, "table "+conf.TableID, func() error {
		if _, found := f.tables[conf.TableID]; found {
			return status.Error(codes.AlreadyExists, "there is a table "+conf.TableID)
		}
		f.tables[conf.TableID] = map[string]bigtable.GCPolicy{}
		for name, family := range conf.ColumnFamilies {
			f.tables[conf.TableID][name] = family.GCPolicy
		}
		return nil
	})
}

func (f *fake) CreateColumnFamilyWithConfig(ctx context.Context, table, family string, config bigtable.Family) error {
	return f.change(ctx, "family "+table+"/"+family, func() error {
		if _, found := f.tables[table][family]; found {
			return status.Error(codes.AlreadyExists, "there is a family "+family)
		}
		f.tables[table][family] = config.GCPolicy
		return nil
	})
}

func (f *fake) UpdateFamily(ctx context.Context, table, family string, config bigtable.Family, _ ...bigtable.UpdateFamilyOption) error {
	return f.change(ctx, "update "+table+"/"+family, func() error {
		if _, found := f.tables[table][family]; !found {
			return status.Error(codes.NotFound, "no family "+family)
		}
		f.tables[table][family] = config.GCPolicy
		return nil
	})
}

func (f *fake) UpdateTableWithTieredStorageConfig(ctx context.Context, table string, _ *bigtable.TieredStorageConfig) error {
	return f.begin(ctx, "tier "+table)
}

// The server has no schema bundles, as other emulators.

func (f *fake) SchemaBundles(context.Context, string) ([]string, error) {
	return nil, status.Error(codes.Unimplemented, "no schema bundles")
}

func (f *fake) GetSchemaBundle(context.Context, string, string) (*bigtable.SchemaBundleInfo, error) {
	return nil, status.Error(codes.Unimplemented, "no schema bundles")
}

func (f *fake) CreateSchemaBundle(context.Context, *bigtable.SchemaBundleConf) error {
	return status.Error(codes.Unimplemented, "no schema bundles")
}

// count returns how many times a call was made.
func (f *fake) count(call string) int {
	n := 0
	for _, c := range f.calls {
		if c == call {
			n++
		}
	}
	return n
}

// busy is the error of the service while another request changes the same table.
var busy = status.Error(codes.FailedPrecondition,
	"Could not modify schema of projects/p/instances/i/tables/t due to concurrent modifications. "+
		"This could mean another change to this table's schema, or a change to the replication topology (adding/removing a cluster).")

// The delays between attempts grow up to a limit and are random.
func TestSetupWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func() []time.Duration {
			var waits []time.Duration
			last := time.Now()
			f := &fake{before: func(context.Context, string) error {
				waits = append(waits, time.Since(last))
				last = time.Now()
				if len(waits) > 12 {
					return status.Error(codes.Internal, "enough")
				}
				return status.Error(codes.Unavailable, "try again")
			}}
			if _, err := setup.Setup(t.Context(), f, nil, []store.Table{small}); status.Code(err) != codes.Internal {
				t.Fatal(err)
			}
			return waits[1:]
		}
		first := waits()
		most := 100 * time.Millisecond
		for i, wait := range first {
			if wait < most/2 || wait >= most {
				t.Errorf("wait %d is %v, want between %v and %v", i, wait, most/2, most)
			}
			most = min(2*most, 5*time.Second)
		}
		if slices.Equal(first, waits()) {
			t.Error("two runs wait in step")
		}
	})
}

func TestSetupEnds(t *testing.T) {
	unavailable := func(context.Context, string) error { return status.Error(codes.Unavailable, "try again") }
	hanging := func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	slow := func(context.Context, string) error { time.Sleep(40 * time.Second); return nil }
	for _, c := range []struct {
		name    string
		before  func(context.Context, string) error
		options setup.Options
		parent  time.Duration // deadline of the caller; 0 for none
		want    time.Duration
	}{
		{"unavailable, default timeout", unavailable, setup.Options{}, 0, store.DefaultTimeout},
		{"unavailable, timeout", unavailable, setup.Options{Timeout: 2 * time.Second}, 0, 2 * time.Second},
		{"unavailable, the caller's deadline", unavailable, setup.Options{}, 3 * time.Second, 3 * time.Second},
		{"unavailable, the caller's deadline alone", unavailable, setup.Options{Timeout: store.NoTimeout}, time.Hour, time.Hour},
		{"a call hangs", hanging, setup.Options{Timeout: time.Second}, 0, time.Second},
		{"each call is slow", slow, setup.Options{}, 0, 240 * time.Second}, // the timeout is that of a call
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.parent > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.parent)
					defer cancel()
				}
				f := &fake{before: c.before}
				began := time.Now()
				plan, err := setup.Setup(ctx, f, nil, []store.Table{small, {ID: "u"}}, c.options)
				if ends := c.name != "each call is slow"; errors.Is(err, context.DeadlineExceeded) != ends || plan.Empty() != ends {
					t.Errorf("changes %v, error %v, want that the deadline passed: %v", plan, err, ends)
				}
				if code := status.Code(err); err != nil && code != codes.Unavailable && code != codes.DeadlineExceeded {
					t.Errorf("code %v of error %v, want the server's", code, err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("took %v, want %v", took, c.want)
				}
				if err != nil && slices.Contains(f.calls, "info u") {
					t.Error("it went on with the next table")
				}
			})
		})
	}
}

// Setup ends with its context, also if the context has another cause.
func TestSetupCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shutdown := errors.New("shutting down")
		for _, cause := range []error{nil, shutdown} {
			ctx, cancel := context.WithCancelCause(t.Context())
			f := &fake{before: func(_ context.Context, call string) error {
				cancel(cause)
				return status.Error(codes.Unavailable, "try again")
			}}
			_, err := setup.Setup(ctx, f, nil, []store.Table{small, {ID: "u"}})
			if errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, context.Cause(ctx)) {
				t.Errorf("error %v, want the cause %v", err, context.Cause(ctx))
			}
			same(t, "calls", f.calls, []string{"info t"})
		}
	})
}

// TestDrafts checks that setup creates a draft only on an emulator or where a test allows it,
// and that it refuses a draft before it sends any request.
func TestDrafts(t *testing.T) {
	ctx := context.Background()
	bt := start(t)
	tables := []store.Table{
		{ID: "kept", Families: []store.Family{{Name: "m"}}},
		{ID: "shared", Families: []store.Family{{Name: "a"}}},
		{ID: "shared", Families: []store.Family{{Name: "b"}}, Draft: true},
	}
	t.Setenv(store.EmulatorVariable, "")
	for _, o := range []setup.Options{{TablePrefix: "p_"}, {TablePrefix: "p_", DryRun: true}} {
		_, err := setup.Setup(ctx, nil, nil, tables, o) // without a client, a request would panic
		var draft *setup.DraftError
		if !errors.As(err, &draft) || len(draft.Tables) != 1 || draft.Tables[0] != "p_shared" || !strings.Contains(err.Error(), "remove draft: true") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	assert.Contains(t, "tables a, b are drafts, whose layout may still change; setup creates them only", &setup.DraftError{Tables: []string{"a", "b"}})
	creates := func(what string, tables []store.Table, o setup.Options) {
		if plan, err := setup.Setup(ctx, bt.Admin, nil, tables, o); err != nil || plan.Empty() {
			t.Errorf("%s: %v, %v", what, plan, err)
		}
	}
	creates("without drafts", tables[:1], setup.Options{})
	creates("allowed", tables, setup.Options{TablePrefix: "a_", AllowDrafts: true})
	t.Setenv(store.EmulatorVariable, bt.Addr)
	creates("on an emulator", tables, setup.Options{TablePrefix: "b_"})
}

// Class: a nil client that panics where it is used. All functions that take an admin client or a client are called with nil and
// with a nil pointer, and return a typed error.
func TestNil(t *testing.T) {
	b := start(t)
	tables := []store.Table{{ID: "t", Families: []store.Family{{Name: "m"}}, Layout: daily}}
	type admins interface {
		setup.Admin
		setup.Deleter
		setup.AuthorizedViewLister
		setup.Lister
	}
	calls := func(admin admins, client store.Client) map[string]error {
		return map[string]error{
			"Setup":            second(setup.Setup(t.Context(), admin, client, tables)),
			"DeleteTables":     second(setup.DeleteTables(t.Context(), admin, client, tables, []string{"u"})),
			"ExamineUnmanaged": second(setup.ExamineUnmanaged(t.Context(), admin, client, []setup.Unmanaged{{Table: "u"}})),
			"UnknownTables":    second(setup.UnknownTables(t.Context(), admin, tables)),
			"Views":            second(setup.Views(t.Context(), admin, nil, "i", tables)),
		}
	}
	for _, client := range []store.Client{b.Client, nil, (*bigtable.Client)(nil)} {
		for _, admin := range []admins{nil, (*bigtable.AdminClient)(nil)} {
			for name, err := range calls(admin, client) {
				assert.Is(t, setup.ErrNoAdmin, err, name)
			}
		}
		if client == b.Client {
			continue
		}
		of := calls(b.Admin, client)
		for _, name := range []string{"Setup", "DeleteTables", "ExamineUnmanaged"} {
			if _, ok := errors.AsType[*store.NoClientError](of[name]); !ok {
				t.Errorf("%s without a client: %v", name, of[name])
			}
		}
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }
