package setup_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/latecopy"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// copying returns an admin client of which a request that changes something is executed once more.
func copying(t *testing.T, b *storetest.Bigtable, late *latecopy.Copy) *bigtable.AdminClient {
	t.Helper()
	admin, _ := clientsOf(t, b, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if name := method[strings.LastIndexByte(method, '/')+1:]; !strings.HasPrefix(name, "Get") && !strings.HasPrefix(name, "List") {
				late.Count(name, func() {
					_ = next(context.WithoutCancel(ctx), method, req, reply.(proto.Message).ProtoReflect().New().Interface(), conn, opts...)
				})
			}
			return next(ctx, method, req, reply, conn, opts...)
		}))
	return admin
}

// adminSteps makes the steps of a case.
type adminSteps struct {
	t     *testing.T
	b     *storetest.Bigtable
	admin *bigtable.AdminClient
}

// setup sets a table up, and allows all changes. It returns what it has changed.
func (s adminSteps) setup(table store.Table) []setup.Change {
	s.t.Helper()
	plan, err := setup.Setup(s.t.Context(), s.b.Admin, s.b.Client, []store.Table{table}, setup.Options{DryRun: true})
	if err == nil {
		var o setup.Options
		for _, c := range plan.Refused() {
			o.Allow = append(o.Allow, c.Name())
		}
		plan, err = setup.Setup(s.t.Context(), s.admin, s.b.Client, []store.Table{table}, o)
	}
	must(s.t, err)
	return plan.Changes
}

// remove deletes a table or family that no schema uses.
func (s adminSteps) remove(name string) {
	s.t.Helper()
	_, err := setup.DeleteTables(s.t.Context(), s.admin, s.b.Client, nil, []string{name})
	must(s.t, err)
}

// adminCopy is a case: a request of the second step is executed once more after the third.
type adminCopy struct {
	steps     [3]func(s adminSteps) []setup.Change // nil for none
	schema    *store.Table                         // the last one; nil for none
	want      []string                             // changes of its plan after the copy
	unmanaged []string                             // names of what is there besides
}

// adminCopies are cases of all requests.
func adminCopies(t *testing.T) map[string]adminCopy {
	of := func(with func(table *store.Table)) *store.Table {
		out := store.Table{ID: "t", Families: slices.Clone(small.Families)}
		with(&out)
		return &out
	}
	set := func(table *store.Table) func(s adminSteps) []setup.Change {
		return func(s adminSteps) []setup.Change { return s.setup(*table) }
	}
	remove := func(name string) func(s adminSteps) []setup.Change {
		return func(s adminSteps) []setup.Change { s.remove(name); return nil }
	}
	three := func(before, first, later *store.Table, want ...string) adminCopy {
		return adminCopy{[3]func(s adminSteps) []setup.Change{set(before), set(first), set(later)}, later, want, nil}
	}
	aged := func(n time.Duration) *store.Table {
		return of(func(t *store.Table) { t.Families[0].GC = age(n * day) })
	}
	protected := func(p bigtable.DeletionProtection) *store.Table {
		return of(func(t *store.Table) { t.DeletionProtection = p })
	}
	tiered := func(tier codec.Tier) *store.Table { return of(func(t *store.Table) { t.Tier = tier }) }
	bundled := func(drop bool, columns ...column) *store.Table {
		return of(func(table *store.Table) {
			table.Bundle = &store.SchemaBundle{ID: "events", Drop: drop, Descriptors: descriptors(t, "app/event.proto", "Event", columns...)}
		})
	}
	keyed := of(func(t *store.Table) {
		t.KeySchema = &store.KeySchema{Delimiter: "#", Fields: []codec.KeyField{{Name: "host"}}}
	})
	all := of(func(t *store.Table) {
		t.KeySchema, t.Tier, t.DeletionProtection, t.Bundle = keyed.KeySchema, codec.Tier(60*day), bigtable.Protected, bundled(false, column{"a", 1, integers}).Bundle
	})
	a, s, z := column{"a", 1, integers}, column{"s", 2, strs}, column{"z", 9, strs}
	plain, half := aged(1), of(func(t *store.Table) { t.Families = t.Families[:1] })
	old, new := laidOut(daily), laidOut(daily+mem)
	ended := laidOut(until(daysAgo(60), daily))
	moved := laidOut(byTime(since(daysAgo(60), hourly), until(daysAgo(60), strings.ReplaceAll(daily, "family m", "family n"))))
	back := laidOut(hourly + "; family n: events")
	return map[string]adminCopy{
		"a table":                 {steps: [3]func(s adminSteps) []setup.Change{nil, set(all), set(all)}, schema: all},
		"a table and the history": {steps: [3]func(s adminSteps) []setup.Change{nil, set(&old), set(&new)}, schema: &new},
		"a table, which was deleted": {steps: [3]func(s adminSteps) []setup.Change{nil, set(plain), func(s adminSteps) []setup.Change {
			must(s.t, s.admin.DeleteTable(s.t.Context(), "t"))
			return nil
		}}, unmanaged: []string{"t"}},
		"a family": three(half, plain, aged(2)),
		"a family, which was deleted": {steps: [3]func(s adminSteps) []setup.Change{set(half), set(plain), func(s adminSteps) []setup.Change {
			must(s.t, s.admin.DeleteColumnFamily(s.t.Context(), "t", "b"))
			return nil
		}}, schema: half, unmanaged: []string{"t/b"}},
		"a rule":           three(plain, aged(30), aged(90), "~ rule of family a of table t: max_age 30d → 90d"),
		"a key schema":     three(plain, keyed, keyed),
		"protection":       three(plain, protected(bigtable.Protected), protected(bigtable.Unprotected), "~ deletion protection of table t: on → off"),
		"no protection":    three(protected(bigtable.Protected), protected(bigtable.Unprotected), protected(bigtable.Protected), "+ deletion protection of table t"),
		"a tier":           three(plain, tiered(codec.Tier(60*day)), tiered(codec.Tier(30*day)), "~ infrequent access tier of table t: cells older than 60d → cells older than 30d"),
		"another tier":     three(tiered(codec.Tier(60*day)), tiered(codec.Tier(30*day)), tiered(codec.Tier(90*day)), "~ infrequent access tier of table t: cells older than 30d → cells older than 90d"),
		"no tier":          three(tiered(codec.Tier(60*day)), tiered(codec.SSDOnly), tiered(codec.Tier(60*day)), "+ infrequent access tier of table t: cells older than 60d"),
		"a bundle":         three(plain, bundled(false, a), bundled(false, a, s)),
		"another bundle":   three(bundled(false, a), bundled(false, a, s), bundled(false, a, s, z)),
		"no bundle":        three(bundled(false, a), bundled(true), bundled(false, a), "+ schema bundle events of table t: app.Event"),
		"a deleted table":  {steps: [3]func(s adminSteps) []setup.Change{set(&ended), remove("t"), set(&back)}, schema: &back, want: made(back)},
		"a deleted family": {steps: [3]func(s adminSteps) []setup.Change{set(&moved), remove("t/n"), set(&back)}, schema: &back, want: made(back)[2:]},
	}
}

// TestAdminLateCopies executes each request of setups and deletions that changes a table or a schema bundle once more after a
// later setup: what that has done stays, or the next plan names what differs, and the next setup mends it; see retryAdmin. The
// class: requests without a precondition that arrive after their call has ended.
func TestAdminLateCopies(t *testing.T) {
	changed, sent := map[string]bool{}, map[string]bool{}
	for name, c := range adminCopies(t) {
		for n := 0; ; n++ {
			b, late := start(t), &latecopy.Copy{N: n}
			s := adminSteps{t, b, b.Admin}
			for i, step := range c.steps {
				switch at := s; {
				case step == nil:
				case i == 1:
					at.admin = copying(t, b, late)
					for _, change := range step(at) {
						changed[change.Sign+" "+change.Kind] = true
					}
				default:
					step(at)
				}
			}
			if late.Again == nil {
				if n == 0 {
					t.Errorf("%s: no request", name)
				}
				break
			}
			sent[late.Table] = true
			late.Again()
			c.check(s, name+", a copy of "+late.Table)
		}
	}
	same(t, "changes", slices.Sorted(maps.Keys(changed)), []string{
		"+ deletion_protection", "+ family", "+ row_key_schema", "+ schema_bundle", "+ table", "+ tier", "- schema_bundle", "~ deletion_protection", "~ rule", "~ schema_bundle", "~ tier",
	})
	same(t, "requests", slices.Sorted(maps.Keys(sent)), []string{"CreateSchemaBundle", "CreateTable", "DeleteSchemaBundle", "DeleteTable", "ModifyColumnFamilies", "UpdateSchemaBundle", "UpdateTable"})
}

// check checks what a plan says after a copy, and that the next setup mends it.
func (c *adminCopy) check(s adminSteps, name string) {
	s.t.Helper()
	var schemas []store.Table
	if c.schema != nil {
		schemas = append(schemas, *c.schema)
	}
	unmanaged, err := setup.UnknownTables(s.t.Context(), s.admin, schemas)
	must(s.t, err)
	for mended := false; ; mended = true {
		plan, err := setup.Setup(s.t.Context(), s.admin, s.b.Client, schemas, setup.Options{DryRun: true})
		must(s.t, err)
		plan.Changes = slices.DeleteFunc(plan.Changes, func(c setup.Change) bool { return c.Kind == "row_key_schema" }) // the server drops it
		if mended && !plan.Empty() {
			s.t.Errorf("%s: not mended: %s", name, plan)
		}
		if mended || c.schema == nil {
			break
		}
		unmanaged = append(unmanaged, plan.Unmanaged...)
		got := show(plan)
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], " (")
		}
		same(s.t, name, got, c.want)
		s.setup(*c.schema)
	}
	var names []string
	for _, u := range unmanaged {
		names = append(names, u.Name())
	}
	same(s.t, name+", not in the schemas", names, c.unmanaged)
}

// The reply of a deletion is lost, and a setup creates the table again, before the request would be repeated: it stays.
func TestDeleteTablesCreatedAgain(t *testing.T) {
	b := start(t)
	set(t, b, until(daysAgo(60), daily))
	m := &meddler{on: func(call int, method string, invoke func() error) error {
		err := invoke()
		if strings.HasSuffix(method, "/DeleteTable") && call == 1 {
			set(t, b, hourly)
			return status.Error(codes.Unavailable, "no reply")
		}
		return err
	}}
	admin, client := m.clients(t, b)
	deleted, err := setup.DeleteTables(t.Context(), admin, client, nil, []string{"t"}, setup.DeleteOptions{Removed: []string{"t"}})
	if _, kept := errors.AsType[*setup.KeptError](err); !kept || len(deleted) > 0 || !lives(t, b, "t") {
		t.Errorf("deleted %v: %v", deleted, err)
	}
}
