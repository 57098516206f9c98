package setup

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden returns a function that compares a text with the one of a name in a file of testdata, or writes it with -update.
func Golden(t *testing.T, file string) func(t *testing.T, name, got string) {
	t.Helper()
	path, now := filepath.Join("testdata", file), new(txtar.Archive)
	known, err := txtar.ParseFile(path)
	if *update {
		t.Cleanup(func() { assert.Must(t, os.WriteFile(path, txtar.Format(now), 0o666)) })
	} else {
		assert.Must(t, err)
	}
	return func(t *testing.T, name, got string) {
		t.Helper()
		now.Files = append(now.Files, txtar.File{Name: name, Data: []byte(got)})
		if *update {
			return
		}
		i := slices.IndexFunc(known.Files, func(f txtar.File) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("%s does not have %q: run go test -update", path, name)
		}
		assert.Same(t, string(known.Files[i].Data), got, name)
	}
}

func maxAge(days int) codec.GCRule {
	return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Duration(days) * ageDay}
}

func maxVersions(n int) codec.GCRule { return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: n} }

func anyOf(r ...codec.GCRule) codec.GCRule { return codec.GCRule{Kind: codec.GCUnion, Rules: r} }

func allOf(r ...codec.GCRule) codec.GCRule { return codec.GCRule{Kind: codec.GCIntersection, Rules: r} }

// planRule returns the only change of a family's rule.
func planRule(t *testing.T, have codec.GCRule, want store.Family, allow ...string) Change {
	t.Helper()
	want.Name = "m"
	plan := planFor([]store.Table{{ID: "t", Families: []store.Family{want}}}, map[string]*liveTable{"t": {families: map[string]liveFamily{"m": {rule: have}}}}, nil, allow)
	if len(plan.Changes) != 1 || len(plan.Unmanaged) != 0 {
		t.Fatalf("plan %v, want one change", plan)
	}
	return plan.Changes[0]
}

// TestPlanRules plans changes of rules, which testdata/rules.txtar has as text.
func TestPlanRules(t *testing.T) {
	golden := Golden(t, "rules.txtar")
	second := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Second}
	expiry := codec.Lifetime{Timestamp: codec.TimestampExpiry}
	shifted := codec.Lifetime{Timestamp: codec.TimestampShifted, Default: 30 * ageDay}
	for _, c := range []struct {
		have codec.GCRule
		want store.Family
		name string
	}{
		// Ages.
		{maxAge(7), store.Family{GC: maxAge(30)}, "rule:t/m"},
		{maxAge(7), store.Family{GC: maxAge(97)}, "rule:t/m"},
		{maxAge(7), store.Family{GC: maxAge(98)}, "rule:t/m"},
		{maxAge(30), store.Family{GC: maxAge(7)}, "shorter_age:t/m"},
		{codec.GCRule{}, store.Family{GC: maxAge(7)}, "shorter_age:t/m"},
		// Versions.
		{maxVersions(3), store.Family{GC: maxVersions(1)}, "fewer_versions:t/m"},
		{codec.GCRule{}, store.Family{GC: maxVersions(2)}, "fewer_versions:t/m"},
		// Both.
		{codec.GCRule{}, store.Family{GC: anyOf(maxAge(7), maxVersions(3))}, "shorter_age+fewer_versions:t/m"},
		{maxAge(7), store.Family{GC: maxVersions(3)}, "fewer_versions:t/m"},
		{allOf(maxAge(30), maxVersions(3)), store.Family{GC: allOf(maxAge(7), maxVersions(3))}, "shorter_age:t/m"},
		{allOf(maxAge(30), maxVersions(3)), store.Family{GC: allOf(maxAge(7), maxVersions(2))}, "shorter_age+fewer_versions:t/m"},
		// a cell of 10 days and the third of its column is lost, though neither limit alone loses one
		{anyOf(maxAge(30), maxVersions(3)), store.Family{GC: allOf(anyOf(maxAge(30), maxVersions(2)), anyOf(maxAge(7), maxVersions(3)))}, "shorter_age+fewer_versions:t/m"},
		// the newest cell was kept at any age
		{allOf(maxAge(7), maxVersions(1)), store.Family{GC: maxAge(7)}, "shorter_age+fewer_versions:t/m"},
		{maxAge(7), store.Family{GC: allOf(maxAge(7), maxVersions(3))}, "rule:t/m"},
		// No rule.
		{maxAge(7), store.Family{}, "drop_rule:t/m"},
		// With a rollup.
		{maxAge(7), store.Family{GC: maxAge(30), Rollup: true}, "longer_age:t/m"},
		{maxAge(7), store.Family{GC: maxAge(98), Rollup: true}, "longer_age:t/m"},
		{anyOf(maxAge(30), maxVersions(3)), store.Family{GC: maxAge(30), Rollup: true}, "longer_age:t/m"},
		{maxAge(7), store.Family{Rollup: true}, "drop_rule+longer_age:t/m"},
		// Expiry.
		{maxAge(30), store.Family{GC: second, Life: expiry}, "one_second:t/m"},
		{maxAge(7), store.Family{GC: maxAge(30), Life: shifted}, "default_expiration:t/m"},
		{second, store.Family{GC: maxAge(365), Life: shifted}, "default_expiration:t/m"},
		{second, store.Family{GC: maxAge(30), Life: codec.Lifetime{Timestamp: codec.TimestampWrite}}, "one_second:t/m"},
	} {
		got := planRule(t, c.have, c.want)
		_, change, _ := strings.Cut(got.String(), ": ")
		change, _, _ = strings.Cut(change, " (")
		golden(t, change+", "+c.name, got.String()+"\n")
		if got.Name() != c.name || got.Refused != (c.name != "rule:t/m") {
			t.Errorf("name %s, refused %v: %s", got.Name(), got.Refused, got)
		}
		if planRule(t, c.have, c.want, "other:t/m", c.name).Refused {
			t.Errorf("%s: refused although it is allowed", got)
		}
	}
}

// Changes are in the order of the tables: the table, its families, its rules. Unmanaged
// are separate and sorted.
func TestPlanOrder(t *testing.T) {
	const on, off = bigtable.Protected, bigtable.Unprotected
	hosts := &store.KeySchema{Delimiter: "#", Fields: []codec.KeyField{{Name: "host"}, {Name: "slot", Bytes: true}}}
	other := &store.KeySchema{Fields: hosts.Fields}
	tables := []store.Table{
		{ID: "z", Families: []store.Family{{Name: "c", GC: maxAge(1)}, {Name: "new", GC: maxVersions(1)}, {Name: "a"}, {Name: "b"}}},
		{ID: "y", Families: []store.Family{{Name: "m", GC: maxAge(1)}, {Name: "l"}}, Splits: []string{"a", "b", "c", "d"}},
		{ID: "x"},
		{ID: "k1", KeySchema: hosts}, {ID: "k2", KeySchema: hosts}, {ID: "k3", KeySchema: hosts}, {ID: "k4"},
		{ID: "p1", DeletionProtection: on, KeySchema: hosts}, {ID: "p2", DeletionProtection: on}, {ID: "p3", DeletionProtection: off},
		{ID: "p4", DeletionProtection: off}, {ID: "p5"}, {ID: "p6", DeletionProtection: on}, {ID: "p7", DeletionProtection: off},
	}
	live := map[string]*liveTable{
		"z":  {families: map[string]liveFamily{"c": {rule: maxAge(2)}, "a": {}, "b": {rule: maxAge(1), valueType: "SumAggregator"}, "old": {}, "new2": {}}},
		"x":  {families: map[string]liveFamily{"m": {}}},
		"w":  {families: map[string]liveFamily{"m": {}}},
		"k1": {}, "k2": {keySchema: structType(hosts)}, "k3": {keySchema: structType(other)}, "k4": {keySchema: structType(other)},
		"p1": {}, "p2": {protected: true}, "p3": {protected: true}, "p4": {}, "p5": {protected: true},
	}
	plan := planFor(tables, live, nil, []string{"value_type:z/b", "table:y", "row_key_schema:k3"})
	names := ""
	for _, c := range plan.Changes {
		names += c.Name() + "\n"
	}
	Golden(t, "order.txtar")(t, "plan", plan.String()+names)
	if n := len(plan.Refused()); n != 4 || plan.Empty() {
		t.Errorf("%d refused, empty %v", n, plan.Empty())
	}
	if empty := (Plan{Unmanaged: plan.Unmanaged}); !empty.Empty() {
		t.Error("strays are changes")
	}
}

// drawRule draws small rules, so that their limits are often equal.
func drawRule(t *rapid.T, depth int) codec.GCRule {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if depth == 0 {
		kind = min(kind, 2)
	}
	switch r := (codec.GCRule{Kind: codec.GCKind(kind)}); r.Kind {
	case codec.GCMaxAge:
		return maxAge(rapid.IntRange(1, 3).Draw(t, "days"))
	case codec.GCMaxVersions:
		return maxVersions(rapid.IntRange(1, 3).Draw(t, "versions"))
	case codec.GCNone:
		return r
	default:
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			r.Rules = append(r.Rules, drawRule(t, depth-1))
		}
		return r
	}
}

// A change is safe if and only if the new rule keeps every cell that the old one keeps,
// checked cell by cell. Keeping everything cannot always be undone, so it has a hazard
// as well.
func TestPlanReportsEveryLoss(t *testing.T) {
	now := time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		have, want := drawRule(t, 2), drawRule(t, 2)
		plan := planFor([]store.Table{{ID: "t", Families: []store.Family{{Name: "m", GC: want}}}}, map[string]*liveTable{"t": {families: map[string]liveFamily{"m": {rule: have}}}}, nil, nil)
		if have.Equal(want) {
			if !plan.Empty() {
				t.Fatalf("%s for equal rules", plan)
			}
			return
		}
		lost := false
		for half := range 9 {
			for rank := 1; rank <= 4; rank++ {
				us := now.Add(-time.Duration(half) * ageDay / 2).UnixMicro()
				lost = lost || have.Retention(0).Alive(now, us, rank) && !want.Retention(0).Alive(now, us, rank)
			}
		}
		c := plan.Changes[0]
		if drops := want.Normalize().Kind == codec.GCNone; c.Refused != (lost || drops) || len(c.Hazards) > 0 != c.Refused {
			t.Fatalf("lost %v: %s", lost, c)
		}
	})
}

func TestShowAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Nanosecond: "1ns", time.Second: "1s", 90 * time.Second: "1m30s", 36 * time.Hour: "1d12h",
		364 * ageDay: "364d", 1500*time.Millisecond + 2*time.Microsecond: "1s500ms2us",
	} {
		assert.Same(t, want, showAge(d), d)
	}
}
