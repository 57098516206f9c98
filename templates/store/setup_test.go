package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
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
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/templates/codec"
	"github.com/btgen-dev/btgen/templates/store"
	"github.com/btgen-dev/btgen/templates/storetest"
)

func age(d time.Duration) codec.GCRule { return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: d} }
func versions(n int) codec.GCRule      { return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: n} }
func anyOf(r ...codec.GCRule) codec.GCRule {
	return codec.GCRule{Kind: codec.GCUnion, Rules: r}
}
func allOf(r ...codec.GCRule) codec.GCRule {
	return codec.GCRule{Kind: codec.GCIntersection, Rules: r}
}

const day = 24 * time.Hour

// sample is a table with a family for each kind of rule.
var sample = store.Table{ID: "t", Families: []store.Family{
	{Name: "old", GC: age(7 * day)},
	{Name: "many", GC: versions(3)},
	{Name: "either", GC: anyOf(age(time.Hour), versions(1))},
	{Name: "both", GC: allOf(age(90*time.Second), anyOf(versions(2), age(365*day)))},
	{Name: "kept"},
}}

// small is a table with the families a and b.
var small = store.Table{ID: "t", Families: []store.Family{{Name: "a", GC: age(day)}, {Name: "b", GC: versions(1)}}}

// made are the changes of a table that did not exist.
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
	return fmt.Sprintf("+ family %s of table %s: %s", f.Name, t.ID, f.GC)
}

func show(changes []store.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.String())
	}
	return out
}

// same fails the test unless what was got is what was wanted.
func same(t interface {
	Helper()
	Errorf(format string, args ...any)
}, what string, got, want any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// start starts an in-memory server.
func start(t *testing.T) *storetest.Bigtable {
	return storetest.New(t, func(context.Context, *bigtable.AdminClient) error { return nil })
}

// wire is the rule as Bigtable's message, made without the code under test.
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

// rules draws rules as schemas have them: nested, in whole seconds.
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

// requests records what a client sends to make tables and families.
type requests struct {
	mu       sync.Mutex
	families map[string]*adminpb.ColumnFamily // by table/family
}

func (r *requests) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	r.mu.Lock()
	switch req := req.(type) {
	case *adminpb.CreateTableRequest:
		for name, f := range req.GetTable().GetColumnFamilies() {
			r.families[req.GetTableId()+"/"+name] = f
		}
	case *adminpb.ModifyColumnFamiliesRequest:
		for _, m := range req.GetModifications() {
			r.families[req.GetName()[strings.LastIndexByte(req.GetName(), '/')+1:]+"/"+m.GetId()] = m.GetCreate()
		}
	}
	r.mu.Unlock()
	return next(ctx, method, req, reply, conn, opts...)
}

// recorded returns an admin client of the server, and what it sends.
func recorded(t *testing.T, b *storetest.Bigtable) (*bigtable.AdminClient, *requests) {
	t.Helper()
	r := &requests{families: map[string]*adminpb.ColumnFamily{}}
	admin, err := storetest.ConnectAdmin(t.Context(), b.Addr, grpc.WithChainUnaryInterceptor(r.intercept))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return admin, r
}

func TestSetupMakesTables(t *testing.T) {
	admin, sent := recorded(t, start(t))
	other := store.Table{ID: "other", Families: sample.Families[:1]}
	changes, err := store.Setup(t.Context(), admin, []store.Table{sample, other})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "changes", show(changes), made(sample, other))
	want := map[string]*adminpb.ColumnFamily{"other/old": {GcRule: wire(age(7 * day))}}
	for _, f := range sample.Families {
		want["t/"+f.Name] = &adminpb.ColumnFamily{GcRule: wire(f.GC)}
	}
	same(t, "families sent", sent.families, want, protocmp.Transform())

	clear(sent.families)
	changes, err = store.Setup(t.Context(), admin, []store.Table{sample, other})
	if err != nil || len(changes) > 0 || len(sent.families) > 0 {
		t.Errorf("a second time it changed %v, sent %v, error %v", changes, sent.families, err)
	}
}

func TestSetupAddsMissingFamilies(t *testing.T) {
	admin, sent := recorded(t, start(t))
	part := store.Table{ID: "t", Families: sample.Families[1:3]}
	if _, err := store.Setup(t.Context(), admin, []store.Table{part}); err != nil {
		t.Fatal(err)
	}
	clear(sent.families)
	changes, err := store.Setup(t.Context(), admin, []store.Table{sample})
	if err != nil {
		t.Fatal(err)
	}
	added := []store.Family{sample.Families[0], sample.Families[3], sample.Families[4]}
	var want []string
	families := map[string]*adminpb.ColumnFamily{}
	for _, f := range added {
		want = append(want, madeFamily(sample, f))
		families["t/"+f.Name] = &adminpb.ColumnFamily{GcRule: wire(f.GC)}
	}
	same(t, "changes", show(changes), want)
	same(t, "families sent", sent.families, families, protocmp.Transform())
}

func TestSetupLeavesOtherFamiliesAlone(t *testing.T) {
	b := start(t)
	both := store.Table{ID: "t", Families: sample.Families}
	if _, err := store.Setup(t.Context(), b.Admin, []store.Table{both}); err != nil {
		t.Fatal(err)
	}
	one := store.Table{ID: "t", Families: sample.Families[:1]}
	changes, err := store.Setup(t.Context(), b.Admin, []store.Table{one})
	if err != nil || len(changes) > 0 {
		t.Errorf("changed %v, error %v", changes, err)
	}
	if n := len(live(t, b.Admin, "t")); n != len(sample.Families) {
		t.Errorf("the table has %d families, want %d", n, len(sample.Families))
	}
}

// live returns the rules of a table as the client prints them.
func live(t testing.TB, admin store.Admin, table string) map[string]string {
	t.Helper()
	info, err := admin.TableInfo(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]string{}
	for _, f := range info.FamilyInfos {
		families[f.Name] = f.GCPolicy
	}
	return families
}

func TestSetupRefusesOtherRules(t *testing.T) {
	admin, sent := recorded(t, start(t))
	first := store.Table{ID: "t", Families: []store.Family{{Name: "a", GC: age(day)}, {Name: "b"}}}
	if _, err := store.Setup(t.Context(), admin, []store.Table{first}); err != nil {
		t.Fatal(err)
	}
	before := live(t, admin, "t")
	clear(sent.families)

	wanted := store.Table{ID: "t", Families: []store.Family{
		{Name: "a", GC: age(2 * day)}, {Name: "b", GC: versions(1)}, {Name: "c", GC: versions(2)},
	}}
	next := store.Table{ID: "u", Families: small.Families}
	changes, err := store.Setup(t.Context(), admin, []store.Table{wanted, next})
	same(t, "changes", show(changes), append([]string{madeFamily(wanted, wanted.Families[2])}, made(next)...))
	same(t, "errors", all(err), []*store.GCRuleError{
		{Table: "t", Family: "a", Have: age(day), Want: age(2 * day)},
		{Table: "t", Family: "b", Have: codec.GCRule{}, Want: versions(1)},
	})
	const message = `family a of table t has the garbage collection rule "age() > 1d" where the schema says "age() > 2d": ` +
		`not changed, since that may delete data; change the schema, or the family's rule with cbt setgcpolicy`
	if err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("error %v does not say: %s", err, message)
	}
	same(t, "families sent", slices.Sorted(maps.Keys(sent.families)), []string{"t/c", "u/a", "u/b"})
	before["c"] = "versions() > 2"
	same(t, "families", live(t, admin, "t"), before)
}

// all returns the rules that differ, from joined errors.
func all(err error) []*store.GCRuleError {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var found []*store.GCRuleError
		for _, err := range many.Unwrap() {
			found = append(found, all(err)...)
		}
		return found
	}
	if rule, ok := errors.AsType[*store.GCRuleError](err); ok {
		return []*store.GCRuleError{rule}
	}
	return nil
}

// A rule that says the same in another form is the same rule.
func TestSetupComparesNormalRules(t *testing.T) {
	b := start(t)
	table := func(r codec.GCRule) []store.Table {
		return []store.Table{{ID: "t", Families: []store.Family{{Name: "f", GC: r}}}}
	}
	if _, err := store.Setup(t.Context(), b.Admin, table(anyOf(anyOf(versions(3), age(day)), age(day)))); err != nil {
		t.Fatal(err)
	}
	if changes, err := store.Setup(t.Context(), b.Admin, table(anyOf(age(day), versions(3)))); err != nil || len(changes) > 0 {
		t.Errorf("changed %v, error %v", changes, err)
	}
	if _, err := store.Setup(t.Context(), b.Admin, table(allOf(age(day), versions(3)))); len(all(err)) != 1 {
		t.Errorf("error %v, want a *GCRuleError", err)
	}
}

func TestSetupPrefix(t *testing.T) {
	b := start(t)
	changes, err := store.Setup(t.Context(), b.Admin, []store.Table{small}, store.Options{TablePrefix: "x_"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "changes", show(changes), made(store.Table{ID: "x_t", Families: small.Families}))
	if _, err := b.Admin.TableInfo(t.Context(), "t"); status.Code(err) != codes.NotFound {
		t.Errorf("the table without the prefix: error %v, want NotFound", err)
	}
	_, err = store.Setup(t.Context(), b.Admin,
		[]store.Table{{ID: "t", Families: []store.Family{{Name: "a"}}}}, store.Options{TablePrefix: "x_"})
	if found := all(err); len(found) != 1 || found[0].Table != "x_t" {
		t.Errorf("error %v, want one that names x_t", err)
	}
}

// What is sent has the size that the rule of btgen's linter counts, is read
// back as the same rule, and gives nothing to do a second time.
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
				changes, err := store.Setup(context.Background(), admin, tables)
				if err != nil || i > 0 && len(changes) > 0 {
					rt.Fatalf("round %d: changes %v, error %v", i, changes, err)
				}
			}
			got := sent.families[key].GetGcRule()
			same(rt, "rule sent for "+key, got, wire(rule), protocmp.Transform())
			if size := proto.Size(got); rule.WireSize() != size {
				rt.Errorf("WireSize of %s is %d, and %d bytes were sent", rule, rule.WireSize(), size)
			}
		}
	})
}

func TestSetupConcurrently(t *testing.T) {
	b := start(t)
	tables := []store.Table{sample, {ID: "u", Families: small.Families}, {ID: "v", Families: sample.Families[1:]}}
	if _, err := store.Setup(t.Context(), b.Admin, []store.Table{{ID: "v"}}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var changes []string
	for range 8 {
		group.Go(func() {
			mine, err := store.Setup(t.Context(), b.Admin, tables)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			changes = append(changes, show(mine)...)
			mu.Unlock()
		})
	}
	group.Wait()
	slices.Sort(changes)
	want := slices.Sorted(slices.Values(made(tables...)))
	want = slices.DeleteFunc(want, func(s string) bool { return s == "+ table v" })
	same(t, "changes of all", changes, want)
}

// A server that accepts connections and says nothing.
func TestSetupTimesOutOnSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	admin, err := storetest.ConnectAdmin(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	_, err = store.Setup(t.Context(), admin, []store.Table{small}, store.Options{Timeout: 50 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "reading table t") {
		t.Errorf("error %v, want that the deadline passed while it read table t", err)
	}
}

// fake is an Admin in memory.
type fake struct {
	tables map[string]map[string]bigtable.GCPolicy
	calls  []string
	// before is called first, with the call as "info t", "table t" or
	// "family t/f"; an error that it returns ends the call.
	before func(ctx context.Context, call string) error
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

func (f *fake) CreateTableFromConf(ctx context.Context, conf *bigtable.TableConf) error {
	if err := f.begin(ctx, "table "+conf.TableID); err != nil {
		return err
	}
	if _, found := f.tables[conf.TableID]; found {
		return status.Error(codes.AlreadyExists, "there is a table "+conf.TableID)
	}
	f.tables[conf.TableID] = map[string]bigtable.GCPolicy{}
	for name, family := range conf.ColumnFamilies {
		f.tables[conf.TableID][name] = family.GCPolicy
	}
	return nil
}

func (f *fake) CreateColumnFamilyWithConfig(ctx context.Context, table, family string, config bigtable.Family) error {
	if err := f.begin(ctx, "family "+table+"/"+family); err != nil {
		return err
	}
	if _, found := f.tables[table][family]; found {
		return status.Error(codes.AlreadyExists, "there is a family "+family)
	}
	f.tables[table][family] = config.GCPolicy
	return nil
}

// Somebody else makes the table between the look and the making of it.
func TestSetupTableRace(t *testing.T) {
	for _, c := range []struct {
		name    string
		theirs  map[string]bigtable.GCPolicy
		changes []string
		errs    []*store.GCRuleError
	}{
		{name: "the same", theirs: map[string]bigtable.GCPolicy{"a": bigtable.MaxAgePolicy(day), "b": bigtable.MaxVersionsPolicy(1)}},
		{name: "less", theirs: map[string]bigtable.GCPolicy{"a": bigtable.MaxAgePolicy(day)}, changes: []string{madeFamily(small, small.Families[1])}},
		{
			name: "another rule", theirs: map[string]bigtable.GCPolicy{"a": bigtable.MaxAgePolicy(day), "b": bigtable.MaxVersionsPolicy(9)},
			errs: []*store.GCRuleError{{Table: "t", Family: "b", Have: versions(9), Want: versions(1)}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{}
			f.before = func(_ context.Context, call string) error {
				if call == "table t" {
					f.tables["t"] = c.theirs
				}
				return nil
			}
			changes, err := store.Setup(t.Context(), f, []store.Table{small})
			same(t, "changes", show(changes), c.changes)
			same(t, "errors", all(err), c.errs)
			if err != nil && c.errs == nil {
				t.Errorf("error %v", err)
			}
			same(t, "first calls", f.calls[:3], []string{"info t", "table t", "info t"})
		})
	}
}

// Somebody else makes the family between the look and the making of it.
func TestSetupFamilyRace(t *testing.T) {
	for _, c := range []struct {
		name   string
		theirs bigtable.GCPolicy
		errs   []*store.GCRuleError
	}{
		{name: "the same rule", theirs: bigtable.MaxAgePolicy(day)},
		{
			name: "another rule", theirs: bigtable.NoGcPolicy(),
			errs: []*store.GCRuleError{{Table: "t", Family: "a", Want: age(day)}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{tables: map[string]map[string]bigtable.GCPolicy{"t": {}}}
			f.before = func(_ context.Context, call string) error {
				if call == "family t/a" {
					f.tables["t"]["a"] = c.theirs
				}
				return nil
			}
			changes, err := store.Setup(t.Context(), f, []store.Table{small})
			same(t, "changes", show(changes), []string{madeFamily(small, small.Families[1])})
			same(t, "errors", all(err), c.errs)
			if err != nil && c.errs == nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A family that exists and does not, by turns, is an error and no endless loop.
func TestSetupFamilyContradiction(t *testing.T) {
	f := &fake{tables: map[string]map[string]bigtable.GCPolicy{"t": {}}}
	f.before = func(_ context.Context, call string) error {
		if call == "family t/a" {
			return status.Error(codes.AlreadyExists, "there is a family a")
		}
		return nil
	}
	changes, err := store.Setup(t.Context(), f, []store.Table{small})
	same(t, "changes", show(changes), []string{madeFamily(small, small.Families[1])})
	if err == nil || !strings.Contains(err.Error(), "family a of table t was there a moment ago and is gone") {
		t.Errorf("error %v, want that family a is gone", err)
	}
}

// What was made is read back: a rule that was not kept as it was sent shows in
// the run that sent it, not in the next.
func TestSetupReadsBack(t *testing.T) {
	kept := func(family string) func(*fake) {
		return func(f *fake) { f.tables["t"][family] = bigtable.MaxVersionsPolicy(7) }
	}
	for _, c := range []struct {
		name    string
		tables  map[string]map[string]bigtable.GCPolicy
		meddle  func(*fake) // before the read that follows the last change
		changes []string
		want    string
	}{
		{"a table's rule", nil, kept("b"), made(small), `family b of table t has the garbage collection rule "versions() > 7"`},
		{
			"a family's rule", map[string]map[string]bigtable.GCPolicy{"t": {"a": bigtable.MaxAgePolicy(day)}}, kept("b"),
			[]string{madeFamily(small, small.Families[1])}, `family b of table t has the garbage collection rule "versions() > 7"`,
		},
		{
			"a family is gone", map[string]map[string]bigtable.GCPolicy{"t": {"a": bigtable.MaxAgePolicy(day)}},
			func(f *fake) { delete(f.tables["t"], "b") },
			[]string{madeFamily(small, small.Families[1])}, "family b of table t was there a moment ago and is gone",
		},
		{"the table is gone", nil, func(f *fake) { delete(f.tables, "t") }, made(small), "reading table t: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{tables: c.tables}
			f.before = func(_ context.Context, call string) error {
				if call == "info t" && len(f.calls) == 3 {
					c.meddle(f)
				}
				return nil
			}
			changes, err := store.Setup(t.Context(), f, []store.Table{small, {ID: "u"}})
			same(t, "changes", show(changes), append(c.changes, "+ table u"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// The read that follows a change fails: what was made is said all the same.
func TestSetupReadBackFails(t *testing.T) {
	for _, code := range []codes.Code{codes.PermissionDenied, codes.Unavailable} {
		for name, tables := range map[string]map[string]map[string]bigtable.GCPolicy{
			"table": nil, "family": {"t": {"a": bigtable.MaxAgePolicy(day)}},
		} {
			t.Run(code.String()+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &fake{tables: tables}
					f.before = func(_ context.Context, call string) error {
						if call == "info t" && len(f.calls) > 2 {
							return status.Error(code, "not now")
						}
						return nil
					}
					changes, err := store.Setup(t.Context(), f, []store.Table{small, {ID: "u"}})
					if !slices.Contains(show(changes), madeFamily(small, small.Families[1])) {
						t.Errorf("changes %v lack what was made", show(changes))
					}
					if status.Code(err) != code || !strings.Contains(err.Error(), "reading table t") {
						t.Errorf("error %v, want %v while it read table t", err, code)
					}
					gaveUp := code == codes.Unavailable
					if errors.Is(err, context.DeadlineExceeded) != gaveUp || slices.Contains(f.calls, "info u") == gaveUp {
						t.Errorf("error %v, calls %v: it must give up only where time is up", err, f.calls)
					}
				})
			})
		}
	}
}

// Neither failure hides the other: of a family, and of the read that follows.
func TestSetupReadBackFailsToo(t *testing.T) {
	f := &fake{tables: map[string]map[string]bigtable.GCPolicy{"t": {}}}
	f.before = func(_ context.Context, call string) error {
		switch {
		case call == "family t/a":
			return status.Error(codes.InvalidArgument, "no such rule")
		case call == "info t" && len(f.calls) > 1:
			return status.Error(codes.PermissionDenied, "you may not")
		}
		return nil
	}
	_, err := store.Setup(t.Context(), f, []store.Table{small})
	for _, want := range []string{"creating family a of table t: ", "no such rule", "reading table t: ", "you may not"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

// A fraction of a second is lost by the client, which is said in the first run.
// The linter refuses such an age (L10).
func TestSetupFractionOfASecond(t *testing.T) {
	b := start(t)
	table := store.Table{ID: "t", Families: []store.Family{{Name: "f", GC: age(1500 * time.Millisecond)}}}
	want := []*store.GCRuleError{{Table: "t", Family: "f", Have: age(time.Second), Want: age(1500 * time.Millisecond)}}
	for _, changes := range [][]string{made(table), nil} {
		got, err := store.Setup(t.Context(), b.Admin, []store.Table{table})
		same(t, "changes", show(got), changes)
		same(t, "errors", all(err), want)
	}
}

// busy is what the service says while somebody else changes the same table.
var busy = status.Error(codes.FailedPrecondition,
	"Could not modify schema of projects/p/instances/i/tables/t due to concurrent modifications. "+
		"This could mean another change to this table's schema, or a change to the replication topology (adding/removing a cluster).")

func TestSetupRetriesWhatPasses(t *testing.T) {
	for _, failure := range []error{
		status.Error(codes.Unavailable, "try again"), status.Error(codes.Aborted, "try again"),
		status.Error(codes.DeadlineExceeded, "took too long"), busy,
	} {
		t.Run(status.Code(failure).String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{tables: map[string]map[string]bigtable.GCPolicy{"t": {"b": bigtable.MaxVersionsPolicy(1)}}}
				left := map[string]int{"info t": 3, "family t/a": 5, "info u": 1, "table u": 7}
				f.before = func(_ context.Context, call string) error {
					if left[call] > 0 {
						left[call]--
						return failure
					}
					return nil
				}
				u := store.Table{ID: "u", Families: small.Families}
				changes, err := store.Setup(t.Context(), f, []store.Table{small, u})
				if err != nil {
					t.Fatal(err)
				}
				same(t, "changes", show(changes), append([]string{madeFamily(small, small.Families[0])}, made(u)...))
				if n := len(f.calls); n != 3+5+1+7+6 {
					t.Errorf("%d calls, want 22: %v", n, f.calls)
				}
			})
		})
	}
}

// The waits between attempts grow up to a limit, and differ from run to run.
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
			if _, err := store.Setup(t.Context(), f, []store.Table{small}); status.Code(err) != codes.Internal {
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

// Failures as the client gives them, not as a fake does: those that pass are
// repeated, and the others surface with the code and the text of the service.
func TestSetupThroughTheClient(t *testing.T) {
	const create, modify = "CreateTable", "ModifyColumnFamilies"
	for _, method := range []string{create, modify} {
		for _, c := range []struct {
			failure error
			passes  bool
		}{
			{status.Error(codes.Unavailable, "try again"), true},
			{busy, true},
			{status.Error(codes.PermissionDenied, "Missing IAM permission: bigtable.tables.create"), false},
			{status.Error(codes.InvalidArgument, "no such rule"), false},
		} {
			t.Run(method+" "+status.Code(c.failure).String(), func(t *testing.T) {
				b := start(t)
				if method == modify {
					if _, err := store.Setup(t.Context(), b.Admin, []store.Table{{ID: "t"}}); err != nil {
						t.Fatal(err)
					}
				}
				failures := 0
				once := func(ctx context.Context, name string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
					if strings.HasSuffix(name, "/"+method) && failures == 0 {
						failures++
						return c.failure
					}
					return next(ctx, name, req, reply, conn, opts...)
				}
				admin, err := storetest.ConnectAdmin(t.Context(), b.Addr, grpc.WithChainUnaryInterceptor(once))
				if err != nil {
					t.Fatal(err)
				}
				defer admin.Close()
				_, err = store.Setup(t.Context(), admin, []store.Table{{ID: "t", Families: small.Families[:1]}})
				switch {
				case failures != 1:
					t.Errorf("failed %d times, want once", failures)
				case c.passes && err != nil:
					t.Errorf("error %v for what passes", err)
				case !c.passes && (status.Code(err) != status.Code(c.failure) || !strings.Contains(err.Error(), status.Convert(c.failure).Message())):
					t.Errorf("error %v, want %v", err, c.failure)
				}
			})
		}
	}
}

// A reply is lost: the retry finds that the table is there already.
func TestSetupLostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		lost := false
		f.before = func(_ context.Context, call string) error {
			if call == "table t" && !lost {
				lost = true
				f.tables["t"] = map[string]bigtable.GCPolicy{"a": bigtable.MaxAgePolicy(day), "b": bigtable.MaxVersionsPolicy(1)}
				return status.Error(codes.Unavailable, "connection reset")
			}
			return nil
		}
		if _, err := store.Setup(t.Context(), f, []store.Table{small}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSetupEnds(t *testing.T) {
	unavailable := func(context.Context, string) error { return status.Error(codes.Unavailable, "try again") }
	hanging := func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	for _, c := range []struct {
		name    string
		before  func(context.Context, string) error
		options store.Options
		parent  time.Duration // deadline of the caller; 0 for none
		want    time.Duration
	}{
		{"unavailable, default time-out", unavailable, store.Options{}, 0, store.DefaultTimeout},
		{"unavailable, time-out", unavailable, store.Options{Timeout: 2 * time.Second}, 0, 2 * time.Second},
		{"unavailable, the caller's deadline", unavailable, store.Options{}, 3 * time.Second, 3 * time.Second},
		{"unavailable, the caller's deadline alone", unavailable, store.Options{Timeout: -1}, time.Hour, time.Hour},
		{"a call hangs", hanging, store.Options{Timeout: time.Second}, 0, time.Second},
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
				changes, err := store.Setup(ctx, f, []store.Table{small, {ID: "u"}}, c.options)
				if !errors.Is(err, context.DeadlineExceeded) || len(changes) > 0 {
					t.Errorf("changes %v, error %v, want that the deadline passed", changes, err)
				}
				if code := status.Code(err); code != codes.Unavailable && code != codes.DeadlineExceeded {
					t.Errorf("code %v of error %v, want the server's", code, err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("took %v, want %v", took, c.want)
				}
				if slices.Contains(f.calls, "info u") {
					t.Error("it went on with the next table")
				}
			})
		})
	}
}

func TestSetupEndsAtAFamily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{tables: map[string]map[string]bigtable.GCPolicy{"t": {}}}
		f.before = func(_ context.Context, call string) error {
			if call == "family t/b" {
				return status.Error(codes.Unavailable, "try again")
			}
			return nil
		}
		table := store.Table{ID: "t", Families: append(slices.Clone(small.Families), store.Family{Name: "c"})}
		changes, err := store.Setup(t.Context(), f, []store.Table{table})
		same(t, "changes", show(changes), []string{madeFamily(table, table.Families[0])})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "creating family b of table t") {
			t.Errorf("error %v, want that the deadline passed at family b", err)
		}
		same(t, "calls without repetitions", slices.Compact(f.calls), []string{"info t", "family t/a", "family t/b"})
		f.before = nil
		changes, err = store.Setup(t.Context(), f, []store.Table{table})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "changes of the second run", show(changes), []string{madeFamily(table, table.Families[1]), madeFamily(table, table.Families[2])})
	})
}

// The time-out is that of a request: many slow ones may take longer.
func TestSetupTimeoutIsPerRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{before: func(context.Context, string) error {
			time.Sleep(40 * time.Second)
			return nil
		}}
		began := time.Now()
		changes, err := store.Setup(t.Context(), f, []store.Table{small, {ID: "u"}})
		if err != nil || len(changes) != 4 {
			t.Errorf("changes %v, error %v", changes, err)
		}
		if took := time.Since(began); took != 240*time.Second {
			t.Errorf("took %v, want 240s", took)
		}
	})
}

func TestSetupCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fake{before: func(context.Context, string) error { return status.Error(codes.Unavailable, "try again") }}
		time.AfterFunc(time.Second, cancel)
		_, err := store.Setup(ctx, f, []store.Table{small, {ID: "u"}})
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want that it was cancelled", err)
		}
		if slices.Contains(f.calls, "info u") {
			t.Error("it went on with the next table")
		}
	})
}

// It ends with its context also where that was given a cause of its own.
func TestSetupCancelledWithCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		shutdown := errors.New("shutting down")
		f := &fake{before: func(_ context.Context, call string) error {
			if call == "info t" {
				cancel(shutdown)
			}
			return status.Error(codes.Unavailable, "try again")
		}}
		_, err := store.Setup(ctx, f, []store.Table{small, {ID: "u"}})
		if !errors.Is(err, shutdown) {
			t.Errorf("error %v, want the cause", err)
		}
		same(t, "calls", f.calls, []string{"info t"})
	})
}

// Errors that do not pass surface at once, and the other tables are made.
func TestSetupSurfacesErrors(t *testing.T) {
	for _, c := range []struct{ call, message string }{
		{"info t", "reading table t"},
		{"table t", "creating table t"},
		{"family s/a", "creating family a of table s"},
	} {
		t.Run(c.call, func(t *testing.T) {
			f := &fake{tables: map[string]map[string]bigtable.GCPolicy{"s": {}}}
			f.before = func(_ context.Context, call string) error {
				if call == c.call {
					return status.Error(codes.PermissionDenied, "you may not")
				}
				return nil
			}
			tables := []store.Table{{ID: "s", Families: small.Families}, small, {ID: "u"}}
			changes, err := store.Setup(t.Context(), f, tables)
			if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want PermissionDenied and %q", err, c.message)
			}
			for _, want := range []string{"+ table u", madeFamily(tables[0], small.Families[1])} {
				if !slices.Contains(show(changes), want) {
					t.Errorf("changes %v lack %q", show(changes), want)
				}
			}
			if n := len(slices.DeleteFunc(f.calls, func(call string) bool { return call != c.call })); n != 1 {
				t.Errorf("%q was called %d times", c.call, n)
			}
		})
	}
}

// A FailedPrecondition of another kind is not retried.
func TestSetupFailedPrecondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{before: func(context.Context, string) error {
			return status.Error(codes.FailedPrecondition, "cannot relax pure age-based GC for a replicated family")
		}}
		if _, err := store.Setup(t.Context(), f, []store.Table{small}); status.Code(err) != codes.FailedPrecondition || len(f.calls) != 1 {
			t.Errorf("error %v after %d calls, want FailedPrecondition after one", err, len(f.calls))
		}
	})
}

// A second run completes what the first one could not.
func TestSetupAfterFailure(t *testing.T) {
	tables := []store.Table{{ID: "s", Families: sample.Families}, small, {ID: "u", Families: small.Families}}
	for _, broken := range []string{"info t", "table t", "table u", "family s/many", "family s/kept"} {
		t.Run(broken, func(t *testing.T) {
			f := &fake{tables: map[string]map[string]bigtable.GCPolicy{"s": {}}}
			f.before = func(_ context.Context, call string) error {
				if call == broken {
					return status.Error(codes.Internal, "out of order")
				}
				return nil
			}
			first, err := store.Setup(t.Context(), f, tables)
			if status.Code(err) != codes.Internal {
				t.Fatalf("error %v, want Internal", err)
			}
			f.before = nil
			second, err := store.Setup(t.Context(), f, tables)
			if err != nil || len(second) == 0 {
				t.Fatalf("second run: changes %v, error %v", second, err)
			}
			got := slices.Sorted(slices.Values(show(append(first, second...))))
			same(t, "changes of both", got, slices.Sorted(slices.Values(made(tables...)[1:])))
			third, err := store.Setup(t.Context(), f, tables)
			if err != nil || len(third) > 0 {
				t.Errorf("third run: changes %v, error %v", third, err)
			}
		})
	}
}

// Rules go through the client's policies unchanged, whatever they say.
func TestSetupPolicies(t *testing.T) {
	f := &fake{}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		rule := rules().Draw(rt, "rule")
		other := rules().Draw(rt, "other")
		n++
		table := func(r codec.GCRule) []store.Table {
			return []store.Table{{ID: fmt.Sprint(n), Families: []store.Family{{Name: "f", GC: r}}}}
		}
		if _, err := store.Setup(context.Background(), f, table(rule)); err != nil {
			rt.Fatal(err)
		}
		_, err := store.Setup(context.Background(), f, table(other))
		if rule.Equal(other) {
			if err != nil {
				rt.Fatalf("error %v for the same rule", err)
			}
			return
		}
		same(rt, "error", all(err), []*store.GCRuleError{{Table: fmt.Sprint(n), Family: "f", Have: rule, Want: other}})
	})
}

func TestSetupOfNothing(t *testing.T) {
	f := &fake{}
	changes, err := store.Setup(t.Context(), f, nil)
	if len(changes) > 0 || err != nil || len(f.calls) > 0 {
		t.Errorf("changes %v, error %v, calls %v", changes, err, f.calls)
	}
}
