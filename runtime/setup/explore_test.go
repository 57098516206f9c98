package setup_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// explored are tables, of which the first two exist, one without families and one with another rule.
var explored = []store.Table{{ID: "s", Families: small.Families}, {ID: "r", Families: []store.Family{{Name: "f", GC: versions(2)}}}, small, {ID: "u"}}

// unexplored returns a server with the tables before setup.
func unexplored() *fake {
	return &fake{tables: map[string]map[string]bigtable.GCPolicy{"s": {}, "r": {"f": bigtable.MaxVersionsPolicy(1)}}}
}

// kindOfFault is how a call fails.
type kindOfFault struct {
	err     error
	done    bool // the reply is lost
	endless bool // every call like it fails
}

// passes reports whether setup tries again.
func (k kindOfFault) passes() bool {
	return slices.Contains([]codes.Code{codes.Unavailable, codes.Aborted, codes.DeadlineExceeded}, status.Code(k.err)) || k.err == busy
}

// TestSetupFaults lets each call of a setup fail in each way. What passes is tried again; other errors are
// returned once, with what could not be done, and all that does not depend on it is done, unless it is
// unknown whether a change must be refused. A second setup completes the first.
func TestSetupFaults(t *testing.T) {
	t.Parallel()
	dry := unexplored()
	if plan, err := setup.Setup(t.Context(), dry, nil, explored, setup.Options{DryRun: true}); err != nil || plan.Empty() || slices.ContainsFunc(dry.calls, changes) {
		t.Errorf("a dry run plans %v, %v, and calls %v", plan, err, dry.calls)
	}
	whole := unexplored()
	all, err := setup.Setup(t.Context(), whole, nil, explored)
	must(t, err)
	var kinds []kindOfFault
	for _, code := range []codes.Code{codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.PermissionDenied, codes.Internal} {
		kinds = append(kinds, kindOfFault{err: status.Error(code, "out of order")}, kindOfFault{err: status.Error(code, "out of order"), done: true})
	}
	relaxed := status.Error(codes.FailedPrecondition, "cannot relax pure age-based GC for a replicated family")
	kinds = append(kinds, kindOfFault{err: busy}, kindOfFault{err: relaxed}, kindOfFault{err: status.Error(codes.Unavailable, "no"), endless: true})
	for n, call := range whole.calls {
		for _, k := range kinds {
			if k.done && !changes(call) {
				continue
			}
			t.Run(fmt.Sprint(n, " ", call, " ", status.Code(k.err), " ", k.done, " ", k.endless), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { exploreFault(t, whole, show(all), n, k) })
			})
		}
	}
}

// changes reports whether a call is to change something.
func changes(call string) bool { return !strings.HasPrefix(call, "info ") }

// exploreFault lets the n-th call of a whole setup, which makes all changes, fail.
func exploreFault(t *testing.T, whole *fake, all []string, n int, k kindOfFault) {
	f, failed, call := unexplored(), 0, whole.calls[n]
	fault := func(c string) error {
		if len(f.calls) == n+1 || k.endless && failed > 0 && c == call {
			failed++
			return k.err
		}
		return nil
	}
	if k.done {
		f.after = fault
	} else {
		f.before = func(_ context.Context, c string) error { return fault(c) }
	}
	first, err := setup.Setup(t.Context(), f, nil, explored)
	planning := n < len(explored)
	table, family, _ := strings.Cut(call[strings.Index(call, " ")+1:], "/")
	what := map[string]string{"info": "reading table " + table, "table": "creating table " + table, "family": "creating family " + family + " of table " + table, "update": "changing the rule of family " + family + " of table " + table}
	switch verb, _, _ := strings.Cut(call, " "); {
	case failed == 0:
		t.Fatalf("calls %v", f.calls)
	case k.passes() && !k.endless:
		assert.Is(t, nil, err)
	case status.Code(err) != status.Code(k.err) || !strings.Contains(err.Error(), what[verb]) || errors.Is(err, context.DeadlineExceeded) != k.endless:
		t.Errorf("error %v, want %q and %v", err, what[verb], k.err)
	case !k.endless && f.count(call) > 1 && changes(call):
		t.Errorf("tried again: %v", f.calls)
	case planning && (!first.Empty() || slices.ContainsFunc(f.calls, changes)):
		t.Errorf("changed %v, calls %v", first, f.calls)
	case k.endless && f.calls[len(f.calls)-1] != call:
		t.Errorf("goes on without time: %v", f.calls)
	case !planning && !k.endless:
		depends := func(change string) bool {
			return strings.Contains(change, "table "+table) && (family == "" || strings.Contains(change, "family "+family))
		}
		for _, change := range all {
			if !depends(change) && !slices.Contains(show(first), change) {
				t.Errorf("%s is not done: %v", change, first)
			}
		}
	}
	f.before, f.after = nil, nil
	second, err := setup.Setup(t.Context(), f, nil, explored)
	must(t, err)
	both := show(setup.Plan{Changes: append(first.Changes, second.Changes...)})
	missing := slices.DeleteFunc(slices.Clone(all), func(c string) bool { return slices.Contains(both, c) })
	if !k.done && len(missing) > 0 || len(both) > len(all) || len(slices.Compact(slices.Sorted(slices.Values(both)))) != len(both) {
		t.Errorf("changed %v and %v", first, second)
	}
	if code := status.Code(k.err); k.done && k.passes() && !strings.HasPrefix(call, "update ") && (len(missing) > 0) != (code == codes.Aborted) {
		t.Errorf("what may have been done is counted, as long as nobody knows who did it, but not what somebody else did: %v", missing)
	}
	same(t, "tables", fmt.Sprint(f.tables), fmt.Sprint(whole.tables))
}

// Another process changes a table between the requests of setup. What it has made is not made again, and setup
// reports once what it could not settle.
func TestSetupRaces(t *testing.T) {
	ages, versions := bigtable.MaxAgePolicy(day), bigtable.MaxVersionsPolicy
	unavailable, exists := status.Error(codes.Unavailable, "connection reset"), status.Error(codes.AlreadyExists, "there is one")
	denied := status.Error(codes.PermissionDenied, "you may not")
	becomes := func(families map[string]bigtable.GCPolicy, err error) func(f *fake) error {
		return func(f *fake) error {
			if f.tables["t"] = maps.Clone(families); families == nil {
				delete(f.tables, "t")
			}
			return err
		}
	}
	type rules = map[string]bigtable.GCPolicy
	ours, theirs := rules{"a": ages, "b": versions(1)}, rules{"a": ages, "b": versions(7)}
	b := madeFamily(small, small.Families[1])
	for _, c := range []struct {
		name    string
		have    rules  // nil without the table
		at      string // the call
		nth     int
		do      func(f *fake) error
		changes []string
		left    string   // what is unsettled, or
		errs    []string // parts of an error
	}{
		{"the same table", nil, "table t", 1, becomes(ours, nil), nil, "", nil},
		{"less", nil, "table t", 1, becomes(rules{"a": ages}, nil), []string{b}, "", nil},
		{"another rule in the table", nil, "table t", 1, becomes(theirs, nil), nil, "fewer_versions:t/b", nil},
		{"the same family", rules{}, "family t/a", 1, becomes(rules{"a": ages}, nil), []string{b}, "", nil},
		{"another rule of the family", rules{}, "family t/a", 1, becomes(rules{"a": bigtable.NoGcPolicy()}, nil), []string{b}, "shorter_age:t/a", nil},
		{"a family that exists and does not exist", rules{}, "family t/a", 0, func(*fake) error { return exists }, []string{b}, "family:t/a", nil},
		{"a rule that is not stored in a table", nil, "info t", 2, becomes(theirs, nil), made(small), "fewer_versions:t/b", nil},
		{"a rule that is not stored in a family", rules{"a": ages}, "info t", 2, becomes(theirs, nil), []string{b}, "fewer_versions:t/b", nil},
		{"a family is gone", rules{"a": ages}, "info t", 2, becomes(rules{"a": ages}, nil), []string{b}, "family:t/b", nil},
		{"the table is gone", nil, "info t", 0, func(f *fake) error { return becomes(nil, nil)(f) }, made(small), "table:t family:t/a family:t/b", nil},
		{"a rule that was read is another one", rules{"a": bigtable.MaxAgePolicy(day / 2), "b": versions(1)}, "info t", 2, becomes(rules{"a": bigtable.MaxAgePolicy(9 * day), "b": versions(1)}, nil), nil, "rule:t/a", nil},
		{"a rule that another setup changes after a lost reply", rules{"a": bigtable.MaxAgePolicy(day / 2), "b": versions(1)}, "update t/a", 0, becomes(rules{"a": bigtable.MaxAgePolicy(9 * day), "b": versions(1)}, unavailable), nil, "rule:t/a", nil},
		{"a lost reply, and a table of somebody else", nil, "table t", 1, becomes(rules{"b": versions(1)}, unavailable), []string{"+ table t", b, made(small)[1]}, "", nil},
		{"no table, and none can be read", nil, "table t", 0, func(f *fake) error { f.before = func(context.Context, string) error { return denied }; return exists }, nil, "", []string{"reading table t: ", "you may not"}},
		{"no family, and none can be read", rules{}, "family t/a", 1, func(f *fake) error {
			f.before = func(context.Context, string) error { return denied }
			return status.Error(codes.InvalidArgument, "no such rule")
		}, nil, "", []string{"creating family a of table t: ", "no such rule", "reading table t: ", "you may not"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{tables: map[string]map[string]bigtable.GCPolicy{}}
				if c.have != nil {
					f.tables["t"] = maps.Clone(c.have)
				}
				f.before = func(_ context.Context, call string) error {
					if call == c.at && (c.nth == 0 || c.nth == f.count(call)) {
						return c.do(f)
					}
					return nil
				}
				plan, err := setup.Setup(t.Context(), f, nil, []store.Table{small})
				same(t, "changes", show(plan), c.changes)
				same(t, "left", strings.Join(unsettled(err), " "), c.left)
				const differ = "after setup, the tables differ from what it sent: check for concurrent changes, " +
					"and whether the server stores everything that it is sent; then run setup again\n"
				if c.left != "" && !strings.HasPrefix(err.Error(), differ) || c.left == "" && (err == nil) != (c.errs == nil) {
					t.Errorf("error %v", err)
				}
				for _, part := range c.errs {
					assert.Contains(t, part, err)
				}
			})
		})
	}
}
