package setup_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// today is when the deletions of tests take place. Bigtable's own clock must agree.
var today = time.Now().UTC().Truncate(day)

// daysAgo returns a time as the history has it.
func daysAgo(n int) string { return today.AddDate(0, 0, -n).Format(time.RFC3339) }

// dateAgo returns a time as messages have it.
func dateAgo(n int) string { return today.AddDate(0, 0, -n).Format(time.DateOnly) }

// put writes a cell of a number of days ago.
func put(t *testing.T, b *storetest.Bigtable, table, family string, days int) {
	t.Helper()
	m := bigtable.NewMutation()
	m.Set(family, "cpu", bigtable.Time(today.AddDate(0, 0, -days)), []byte("12345678"))
	must(t, b.Client.Open(table).Apply(t.Context(), "a#2026", m))
}

// deletes calls DeleteTables today.
func deletes(t *testing.T, b *storetest.Bigtable, tables []store.Table, names []string, o setup.DeleteOptions) ([]setup.Unmanaged, error) {
	t.Helper()
	o.Now = func() time.Time { return today }
	return setup.DeleteTables(t.Context(), b.Admin, b.Client, tables, names, o)
}

// lives reports whether a table exists.
func lives(t *testing.T, b *storetest.Bigtable, table string) bool {
	t.Helper()
	ids, err := b.Admin.Tables(t.Context())
	must(t, err)
	return slices.Contains(ids, table)
}

// A table is deleted only if its layout has ended and its events have expired, or if its removal
// was accepted by name; and only if no cell in it is alive, whoever wrote it.
func TestDeleteTables(t *testing.T) {
	removed := setup.DeleteOptions{Removed: []string{"t"}}
	protect := func(t *testing.T, b *storetest.Bigtable) {
		must(t, b.Admin.UpdateTableWithDeletionProtection(t.Context(), "t", bigtable.Protected))
	}
	forever := func(t *testing.T, b *storetest.Bigtable) {
		must(t, b.Admin.SetGCPolicy(t.Context(), "t", "m", bigtable.NoGcPolicy()))
	}
	cell := func(family string, days int) func(t *testing.T, b *storetest.Bigtable) {
		return func(t *testing.T, b *storetest.Bigtable) { put(t, b, "t", family, days) }
	}
	ended := until(daysAgo(60), daily)
	const newest = `pattern: latest; delimiter: "#"; key: string text; names: host; family m: events; column "cpu": float64 in m`
	for _, tt := range []struct {
		name, layout string
		prepare      func(t *testing.T, b *storetest.Bigtable)
		options      setup.DeleteOptions
		tables       []store.Table // of the schemas
		keep         string        // part of the reason; empty if the table is deleted
	}{
		{name: "expired", layout: ended},
		{name: "expired, with an expired cell that is not collected yet", layout: ended, prepare: cell("m", 61)},
		{name: "expired, with a rollup", layout: ended + rolled},
		{name: "expired, with windows that are there", layout: ended + rolled, prepare: cell("r", 400), keep: `it contains a cell that has not expired: row "a#2026", of ` + dateAgo(400) + ", in family r (keep forever)"},
		{name: "the week is not over", layout: until(daysAgo(37), daily), keep: "its layout ended on " + dateAgo(37) + ", and its newest event expires on " + dateAgo(7) + ": it can be deleted after " + dateAgo(0)},
		{name: "the week is over", layout: until(daysAgo(38), daily)},
		{name: "events may be alive", layout: until(daysAgo(20), daily), keep: "newest event expires on " + dateAgo(-10)},
		{name: "a late event that was written with its write time", layout: ended, prepare: cell("m", 29), keep: `it contains a cell that has not expired: row "a#2026", of ` + dateAgo(29) + ", in family m (max_age 30d)"},
		{name: "the layout ends in the future", layout: until(daysAgo(-1), strings.Replace(daily, "m: events", "m: expiry", 1)), keep: "its layout ends on " + dateAgo(-1)},
		{name: "expiry in the future", layout: strings.Replace(ended, "m: events", "m: expiry", 1), prepare: cell("m", -5), keep: "a cell that has not expired"},
		{name: "expiry in the past", layout: strings.Replace(ended, "m: events", "m: expiry", 1), prepare: cell("m", 31)},
		{name: "no end", layout: daily, keep: "its layout has not ended, and btgen.lock does not record its removal"},
		{name: "another schema without an end", layout: ended, prepare: func(t *testing.T, b *storetest.Bigtable) { set(t, b, foreign) }, keep: "its layout has not ended"},
		{name: "removed by name", layout: daily, options: removed},
		{name: "removed by name, and alive", layout: daily, options: removed, prepare: cell("m", 3), keep: "a cell that has not expired"},
		{name: "removed by name, and kept forever", layout: daily, options: removed, prepare: func(t *testing.T, b *storetest.Bigtable) { forever(t, b); cell("m", 4000)(t, b) }, keep: "in family m (keep forever)"},
		{name: "the newest events, which are alive, removed by name", layout: newest, options: removed, prepare: cell("m", 3)},
		{name: "the newest events, without an age, removed by name", layout: newest, options: removed, prepare: func(t *testing.T, b *storetest.Bigtable) { forever(t, b); cell("m", 4000)(t, b) }},
		{name: "the newest events, not removed", layout: newest, keep: "its layout has not ended"},
		{name: "the newest events, and all of another schema", layout: newest, options: removed, prepare: func(t *testing.T, b *storetest.Bigtable) { set(t, b, foreign); cell("m", 3)(t, b) }, keep: "a cell that has not expired"},
		{name: "empty, and kept forever", layout: ended, prepare: forever},
		{name: "in use", layout: ended, tables: []store.Table{laidOut(daily)}, keep: "the schemas use it"},
		{name: "protected", layout: ended, prepare: protect, keep: "it is protected from deletion: gcloud bigtable instances tables update t --no-deletion-protection"},
		{name: "a family of another program", layout: ended, prepare: func(t *testing.T, b *storetest.Bigtable) {
			must(t, b.Admin.CreateColumnFamily(t.Context(), "t", "theirs"))
		}, keep: "does not have family theirs"},
		{name: "several layouts", layout: byTime("since: "+daysAgo(90)+"; "+until(daysAgo(60), hourly), until(daysAgo(90), daily))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t)
			set(t, b, tt.layout)
			if tt.prepare != nil {
				tt.prepare(t, b)
			}
			before := history(t, b)
			dry := tt.options
			dry.DryRun = true
			planned, err := deletes(t, b, tt.tables, []string{"t"}, dry)
			if !lives(t, b, "t") {
				t.Fatal("the dry run deleted the table")
			}
			deleted, again := deletes(t, b, tt.tables, []string{"t"}, tt.options)
			same(t, "error of the dry run", fmt.Sprint(err), fmt.Sprint(again))
			same(t, "planned", planned, deleted)
			var kept *setup.KeptError
			switch {
			case tt.keep == "" && (again != nil || len(deleted) != 1 || lives(t, b, "t")):
				t.Errorf("deleted %v, error %v", deleted, again)
			case tt.keep != "" && (!errors.As(again, &kept) || !strings.Contains(kept.Kept[0].Keep, tt.keep) || !lives(t, b, "t")):
				t.Errorf("deleted %v, error %v, want %s", deleted, again, tt.keep)
			}
			same(t, "history", history(t, b), before)
			if tt.keep == "" { // a deletion can be repeated
				deleted, err := deletes(t, b, tt.tables, []string{"t"}, tt.options)
				if err != nil || len(deleted) > 0 {
					t.Errorf("repeated: %v, error %v", deleted, err)
				}
			}
		})
	}
}

// What btgen has not set up is not deleted, and nothing is if any name is refused.
func TestDeleteTablesOfOthers(t *testing.T) {
	b := start(t)
	set(t, b, until(daysAgo(60), daily))
	must(t, b.Admin.CreateTable(t.Context(), "theirs"))
	_, err := deletes(t, b, nil, []string{"t", "theirs", "tpyo", setup.HistoryTable, "t/n"}, setup.DeleteOptions{})
	same(t, "error", fmt.Sprint(err), `nothing was deleted:
table theirs: the history of layouts does not have it: btgen deletes only what it has set up
table tpyo: it does not exist, and the history of layouts does not have it: check the name
table btgen_layouts: it contains the history of layouts
family n of table t: it does not exist, and the history of layouts does not have it: check the name`)
	for _, table := range []string{"t", "theirs", setup.HistoryTable} {
		if !lives(t, b, table) {
			t.Errorf("table %s was deleted", table)
		}
	}
}

// The family of an earlier layout in a table that is still used can be deleted, too, also after
// the history has newer layouts without it.
func TestDeleteFamily(t *testing.T) {
	b := start(t)
	earlier := strings.ReplaceAll(daily, "family m", "family n")
	set(t, b, byTime(since(daysAgo(60), hourly), until(daysAgo(60), earlier)))
	now := []store.Table{laidOut(since(daysAgo(60), hourly))}
	for _, layout := range []string{hourly, hourly + mem} {
		set(t, b, layout)
		plan := settle(t, b, laidOut(layout), setup.Options{DryRun: true})
		found, err := setup.ExamineUnmanaged(t.Context(), b.Admin, b.Client, plan.Unmanaged)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		same(t, "plan", found[0].String(), "? family n of table t: not in the schemas, left alone: its layout ended on "+dateAgo(60)+", and its newest event expired on "+dateAgo(30)+"; to delete it: btgen-live delete-table t/n")
	}
	put(t, b, "t", "m", 1)
	if _, err := deletes(t, b, now, []string{"t/m"}, setup.DeleteOptions{}); err == nil {
		t.Error("the family in use was deleted")
	}
	deleted, err := deletes(t, b, now, []string{"t/n"}, setup.DeleteOptions{})
	if err != nil || len(deleted) != 1 {
		t.Fatal(deleted, err)
	}
	if families := live(t, b.Admin, "t"); len(families) != 1 {
		t.Errorf("families %v", families)
	}
}

// The plan says of each unmanaged table whether it can be deleted.
func TestExamineUnmanaged(t *testing.T) {
	b := start(t)
	for id, layout := range map[string]string{"x_old": until(daysAgo(60), daily), "x_new": until(daysAgo(5), daily), "x_other": daily} {
		settle(t, b, placed(id, layout))
	}
	must(t, b.Admin.CreateTable(t.Context(), "x_theirs"))
	show := func(removed ...string) string {
		unknown, err := setup.UnknownTables(t.Context(), b.Admin, nil, setup.Options{TablePrefix: "x_"})
		must(t, err)
		found, err := setup.ExamineUnmanaged(t.Context(), b.Admin, b.Client, unknown, setup.DeleteOptions{TablePrefix: "x_", Removed: removed})
		must(t, err)
		return setup.Plan{Unmanaged: found}.String()
	}
	want := `? table x_new: not in the schemas, left alone: its layout ended on ` + dateAgo(5) + `, and its newest event expires on ` + dateAgo(-25) + `: it can be deleted after ` + dateAgo(-32) + `
? table x_old: not in the schemas, left alone: its layout ended on ` + dateAgo(60) + `, and its newest event expired on ` + dateAgo(30) + `; to delete it: btgen-live delete-table x_old
? table x_other: not in the schemas, left alone
? table x_theirs: not in the schemas, left alone
`
	same(t, "plan", show(), want)
	i, j := strings.Index(want, "? table x_other"), strings.Index(want, "? table x_theirs")
	want = want[:i] + "? table x_other: not in the schemas, left alone: it was removed from the schemas, and contains no unexpired cells; to delete it: btgen-live delete-table x_other\n" + want[j:]
	same(t, "plan after a removal by name", show("other"), want)
}

// A process that is killed before or after any of its calls, or does not get a reply, has
// deleted some of the tables, each as a whole. A repeated call deletes the rest.
func TestDeleteTablesInterrupted(t *testing.T) {
	t.Parallel()
	names := []string{"old1", "t/n", "old2"}
	for how, fault := range faultsOfCalls {
		for step := 1; step <= len(names); step++ {
			t.Run(fmt.Sprintf("%s %d", how, step), func(t *testing.T) {
				b := start(t)
				set(t, b, byTime(since(daysAgo(60), hourly), until(daysAgo(60), strings.ReplaceAll(daily, "family m", "family n"))))
				for _, id := range []string{"old1", "old2"} {
					settle(t, b, placed(id, until(daysAgo(60), daily)))
				}
				m := &meddler{on: func(call int, _ string, invoke func() error) error { return fault(call, step, invoke) }}
				admin, client := m.clients(t, b)
				o := setup.DeleteOptions{Now: func() time.Time { return today }}
				deleted, err := setup.DeleteTables(t.Context(), admin, client, []store.Table{laidOut(hourly)}, names, o)
				sure := step - 1 // deletions with a reply
				if how == "lost reply" {
					sure = len(names)
				}
				if how != "killed after" && (len(deleted) != sure || (err == nil) != (how == "lost reply")) {
					// A process that goes on may notice that a deletion without a reply took place.
					t.Errorf("deleted %v, error %v", deleted, err)
				}
				_, err = deletes(t, b, []store.Table{laidOut(hourly)}, names, o)
				must(t, err, "repeated:")
				if lives(t, b, "old1") || lives(t, b, "old2") || !lives(t, b, "t") || len(live(t, b.Admin, "t")) != 1 {
					t.Error("not everything was deleted, or too much")
				}
			})
		}
	}
}
