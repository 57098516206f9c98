package setup

import (
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

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

func TestPlanRules(t *testing.T) {
	const replicated = "rejected if the table is replicated: Bigtable then raises an age by at most 90 days at a time and does not drop a rule, unless ignore_warnings:t/m is allowed"
	const ruleless = "without a rule, expired events stay stored, though programs do not read them"
	second := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Second}
	expiry := codec.Lifetime{Timestamp: codec.TimestampExpiry}
	shifted := codec.Lifetime{Timestamp: codec.TimestampShifted, Default: 30 * ageDay}
	for _, c := range []struct {
		have codec.GCRule
		want store.Family
		name string
		text string // after "~ rule of family m of table t: "
	}{
		// Ages.
		{maxAge(7), store.Family{GC: maxAge(30)}, "rule:t/m", "max_age 7d → 30d"},
		{maxAge(7), store.Family{GC: maxAge(97)}, "rule:t/m", "max_age 7d → 97d"},
		{maxAge(7), store.Family{GC: maxAge(98)}, "rule:t/m", "max_age 7d → 98d (" + replicated + ") [T10]"},
		{maxAge(30), store.Family{GC: maxAge(7)}, "shorter_age:t/m", "max_age 30d → 7d (deletes data older than 7d) [T09]"},
		{codec.GCRule{}, store.Family{GC: maxAge(7)}, "shorter_age:t/m", "keep forever → max_age 7d (deletes data older than 7d; " + ruleless + ") [T09]"},
		{
			maxAge(1), store.Family{GC: codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 36 * time.Hour / 100}},
			"shorter_age:t/m", "max_age 1d → 21m36s (deletes data older than 21m36s) [T09]",
		},
		// Versions.
		{maxVersions(1), store.Family{GC: maxVersions(3)}, "rule:t/m", "max_versions 1 → 3"},
		{maxVersions(3), store.Family{GC: maxVersions(1)}, "fewer_versions:t/m", "max_versions 3 → 1 (deletes all but the newest cell of each column) [T09]"},
		{codec.GCRule{}, store.Family{GC: maxVersions(2)}, "fewer_versions:t/m", "keep forever → max_versions 2 (deletes all but the newest 2 cells of each column; " + ruleless + ") [T09]"},
		// Both.
		{maxAge(7), store.Family{GC: anyOf(maxAge(7), maxVersions(3))}, "fewer_versions:t/m", "max_age 7d → any_of(max_age 7d, max_versions 3) (deletes all but the newest 3 cells of each column) [T09]"},
		{maxVersions(3), store.Family{GC: anyOf(maxAge(7), maxVersions(3))}, "shorter_age:t/m", "max_versions 3 → any_of(max_age 7d, max_versions 3) (deletes data older than 7d) [T09]"},
		{
			codec.GCRule{}, store.Family{GC: anyOf(maxAge(7), maxVersions(3))}, "shorter_age+fewer_versions:t/m",
			"keep forever → any_of(max_age 7d, max_versions 3) (deletes data older than 7d, and all but the newest 3 cells of each column; " + ruleless + ") [T09]",
		},
		{
			maxAge(7), store.Family{GC: maxVersions(3)}, "fewer_versions:t/m",
			"max_age 7d → max_versions 3 (deletes all but the newest 3 cells of each column; " + replicated + ") [T09, T10]",
		},
		{maxVersions(3), store.Family{GC: maxAge(7)}, "shorter_age:t/m", "max_versions 3 → max_age 7d (deletes data older than 7d) [T09]"},
		{
			anyOf(maxAge(30), maxVersions(3)), store.Family{GC: anyOf(maxAge(7), maxVersions(9))}, "shorter_age:t/m",
			"any_of(max_age 30d, max_versions 3) → any_of(max_age 7d, max_versions 9) (deletes data older than 7d) [T09]",
		},
		{
			anyOf(maxAge(30), maxVersions(3)), store.Family{GC: anyOf(maxAge(97), maxVersions(1))}, "fewer_versions:t/m",
			"any_of(max_age 30d, max_versions 3) → any_of(max_age 97d, max_versions 1) (deletes all but the newest cell of each column) [T09]",
		},
		{
			allOf(maxAge(30), maxVersions(3)), store.Family{GC: allOf(maxAge(7), maxVersions(3))}, "shorter_age:t/m",
			"all_of(max_age 30d, max_versions 3) → all_of(max_age 7d, max_versions 3) (deletes cells that the old rule keeps and the new one does not) [T09]",
		},
		{
			allOf(maxAge(30), maxVersions(3)), store.Family{GC: allOf(maxAge(7), maxVersions(2))}, "shorter_age+fewer_versions:t/m",
			"all_of(max_age 30d, max_versions 3) → all_of(max_age 7d, max_versions 2) (deletes cells that the old rule keeps and the new one does not) [T09]",
		},
		{ // a cell of 10 days and the third of its column is lost, though neither limit alone loses one
			anyOf(maxAge(30), maxVersions(3)), store.Family{GC: allOf(anyOf(maxAge(30), maxVersions(2)), anyOf(maxAge(7), maxVersions(3)))}, "shorter_age+fewer_versions:t/m",
			"any_of(max_age 30d, max_versions 3) → all_of(any_of(max_age 7d, max_versions 3), any_of(max_age 30d, max_versions 2)) " +
				"(deletes cells that the old rule keeps and the new one does not) [T09]",
		},
		{ // the newest cell was kept at any age
			allOf(maxAge(7), maxVersions(1)), store.Family{GC: maxAge(7)}, "shorter_age+fewer_versions:t/m",
			"all_of(max_age 7d, max_versions 1) → max_age 7d (deletes data older than 7d) [T09]",
		},
		{maxAge(7), store.Family{GC: allOf(maxAge(7), maxVersions(3))}, "rule:t/m", "max_age 7d → all_of(max_age 7d, max_versions 3) (" + replicated + ") [T10]"},
		{maxAge(7), store.Family{GC: anyOf(maxAge(7), allOf(maxAge(7), maxVersions(3)))}, "rule:t/m", "max_age 7d → any_of(max_age 7d, all_of(max_age 7d, max_versions 3))"},
		{ // equal rules have the same form
			anyOf(maxVersions(3), maxAge(7)), store.Family{GC: anyOf(anyOf(maxAge(30)), maxVersions(3))}, "rule:t/m",
			"any_of(max_age 7d, max_versions 3) → any_of(max_age 30d, max_versions 3)",
		},
		// No rule.
		{maxAge(7), store.Family{}, "drop_rule:t/m", "max_age 7d → keep forever (keeps every cell forever; " + replicated + ") [T10]"},
		{maxVersions(3), store.Family{}, "drop_rule:t/m", "max_versions 3 → keep forever (keeps every cell forever; " + replicated + ") [T10]"},
		// With a rollup.
		{maxAge(7), store.Family{GC: maxAge(30), Rollup: true}, "longer_age:t/m", "max_age 7d → 30d (" + partial + ") [E28]"},
		{maxAge(7), store.Family{GC: maxAge(98), Rollup: true}, "longer_age:t/m", "max_age 7d → 98d (" + partial + "; " + replicated + ") [E28, T10]"},
		{maxAge(30), store.Family{GC: maxAge(7), Rollup: true}, "shorter_age:t/m", "max_age 30d → 7d (deletes data older than 7d) [T09]"},
		{codec.GCRule{}, store.Family{GC: maxAge(7), Rollup: true}, "shorter_age:t/m", "keep forever → max_age 7d (deletes data older than 7d; " + ruleless + ") [T09]"},
		{
			anyOf(maxAge(30), maxVersions(3)), store.Family{GC: maxAge(30), Rollup: true}, "longer_age:t/m",
			"any_of(max_age 30d, max_versions 3) → max_age 30d (" + partial + ") [E28]",
		},
		{
			maxAge(7), store.Family{Rollup: true}, "drop_rule+longer_age:t/m",
			"max_age 7d → keep forever (keeps every cell forever; " + partial + "; " + replicated + ") [E28, T10]",
		},
		// Expiry.
		{
			maxAge(30), store.Family{GC: second, Life: expiry}, "one_second:t/m",
			"max_age 30d → 1s (Bigtable applies max_age 1s to existing cells, regardless of what their timestamps mean: use a new family) [T06]",
		},
		{
			codec.GCRule{}, store.Family{GC: second, Life: expiry}, "one_second:t/m",
			"keep forever → max_age 1s (Bigtable applies max_age 1s to existing cells, regardless of what their timestamps mean: use a new family; " + ruleless + ") [T06]",
		},
		{
			maxAge(7), store.Family{GC: maxAge(30), Life: shifted}, "default_expiration:t/m",
			"max_age 7d → 30d (Bigtable applies max_age 30d to existing cells, regardless of what their timestamps mean) [T06]",
		},
		{
			second, store.Family{GC: maxAge(365), Life: shifted}, "default_expiration:t/m",
			"max_age 1s → 365d (Bigtable applies max_age 365d to existing cells, regardless of what their timestamps mean; " + replicated + ") [T06, T10]",
		},
		{second, store.Family{GC: maxAge(30), Life: codec.Lifetime{Timestamp: codec.TimestampWrite}},
			"one_second:t/m", "max_age 1s → 30d (its cell timestamps may be expiries, and expired cells would reappear) [T06]",
		},
	} {
		t.Run(c.text, func(t *testing.T) {
			got := planRule(t, c.have, c.want)
			want := "~ rule of family m of table t: " + c.text
			if got.Refused {
				want += "\n  refused; to allow it: " + c.name
			}
			if got.Name() != c.name || got.Refused != (c.name != "rule:t/m") || got.String() != want {
				t.Errorf("name %s, refused %v:\n%s\nwant\n%s", got.Name(), got.Refused, got, want)
			}
			if planRule(t, c.have, c.want, "other:t/m", c.name).Refused {
				t.Error("refused although it is allowed")
			}
		})
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
	const want = `+ family new of table z: max_versions 1
~ rule of family c of table z: max_age 2d → 1d (deletes data older than 1d) [T09]
  refused; to allow it: shorter_age:z/c
~ value type of family b of table z: SumAggregator → none (Bigtable cannot change the value type of an existing family)
  refused; it cannot be allowed: give the family another name in the schema
+ table y, split at 4 keys
+ family m of table y: max_age 1d
+ family l of table y: keep forever
+ row key schema of table k1: host STRING, slot BYTES
~ row key schema of table k3: → host STRING, slot BYTES (it has a different one, which Bigtable cannot change)
  refused; it cannot be allowed: first remove the existing one (gcloud beta bigtable tables update)
+ row key schema of table p1: host STRING, slot BYTES
+ deletion protection of table p1
~ deletion protection of table p3: on → off (the table, its families and its instance can then be deleted)
  refused; to allow it: drop_protection:p3
+ table p6
+ deletion protection of table p6
+ table p7
? family new2 of table z: not in the schemas, left alone
? family old of table z: not in the schemas, left alone
? family m of table x: not in the schemas, left alone
? row key schema of table k4: not in the schemas, left alone: GoogleSQL reads row keys by it, and fails on others
? deletion protection of table p5: not in the schemas, left alone: Bigtable deletes neither the table nor its families
`
	plan := planFor(tables, live, nil, []string{"value_type:z/b", "table:y", "row_key_schema:k3"})
	assert.Same(t, want, plan.String())
	var names []string
	for _, c := range plan.Changes {
		names = append(names, c.Name())
	}
	if diff := cmp.Diff([]string{"family:z/new", "shorter_age:z/c", "value_type:z/b", "table:y", "family:y/m", "family:y/l", "row_key_schema:k1", "row_key_schema:k3",
		"row_key_schema:p1", "deletion_protection:p1", "drop_protection:p3", "table:p6", "deletion_protection:p6", "table:p7"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
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
