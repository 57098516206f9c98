package setup

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/facts"
	"github.com/btgen-dev/btgen/runtime/store"
)

// planFor returns the changes that turn the live tables into the tables of the schemas.
// A change with a hazard is marked as refused unless allow contains its name. recording are the
// changes of the history, by table.
func planFor(tables []store.Table, live map[string]*liveTable, recording map[string][]Change, allow []string) Plan {
	var plan Plan
	for _, t := range tables {
		c := comparison{Table: t, live: live[t.ID]}
		if c.live == nil {
			c.live = &liveTable{}
			c.add(Change{Kind: "table", Sign: "+", Says: splitsText(len(t.Splits))})
		}
		c.changes = append(c.changes, recording[t.ID]...)
		c.families()
		c.keySchema()
		c.tier()
		c.bundle()
		c.protection()
		c.around()
		plan.Changes, plan.Unmanaged = append(plan.Changes, c.changes...), append(plan.Unmanaged, c.unmanaged...)
	}
	for i, c := range plan.Changes {
		plan.Changes[i].Refused = len(c.Hazards) > 0 && (c.never != "" || !slices.Contains(allow, c.Name()))
		plan.Changes[i].IgnoresWarnings = c.Kind == "rule" && slices.Contains(allow, ignoreWarnings(c.Table, c.Family))
	}
	return plan
}

// splitsText says how a new table is split.
func splitsText(keys int) string {
	switch keys {
	case 0:
		return ""
	case 1:
		return "split at 1 key"
	}
	return fmt.Sprintf("split at %d keys", keys)
}

// comparison compares a table of the schemas with the live one. Each of its methods adds what a plan says of one part.
type comparison struct {
	store.Table
	live      *liveTable
	changes   []Change
	unmanaged []Unmanaged
}

// add adds a change.
func (c *comparison) add(change Change) {
	change.Table = c.ID
	c.changes = append(c.changes, change)
}

// unknown says of a part of a live table that the schemas do not have it.
const unknown = ": not in the schemas"

// leave adds a part of the live table that setup leaves alone.
func (c *comparison) leave(what, more, means string) {
	c.unmanaged = append(c.unmanaged, Unmanaged{Table: c.ID, Part: what + " of " + where(c.ID, "") + more, Means: means})
}

// families compares the families: first additions, then other changes.
func (c *comparison) families() {
	for _, f := range c.Families {
		if !c.live.hasFamily(f.Name) {
			added := Change{Kind: "family", Sign: "+", Family: f.Name, Says: showRule(f.GC), does: createFamily(f)}
			if f.Sums {
				added.Says += ", sums of integers"
			}
			c.add(added)
		}
	}
	for _, f := range c.Families {
		switch have, found := c.live.families[f.Name]; {
		case !found:
		case have.valueType != wantType(f):
			c.add(valueTypeChange(f, have.valueType))
		case !have.rule.Equal(f.GC):
			c.add(ruleChange(c.ID, f, have.rule))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.live.families)) {
		if !slices.ContainsFunc(c.Families, func(f store.Family) bool { return f.Name == name }) {
			c.unmanaged = append(c.unmanaged, Unmanaged{Table: c.ID, Family: name})
		}
	}
}

// protection compares the deletion protection.
func (c *comparison) protection() {
	switch want, have := c.DeletionProtection, c.live.protected; {
	case want == bigtable.Protected && !have:
		c.add(Change{Kind: "deletion_protection", Sign: "+", does: changeProtection(bigtable.Protected)})
	case want == bigtable.Unprotected && have:
		change := Change{Kind: "deletion_protection", Sign: "~", Says: "on → off", does: changeProtection(bigtable.Unprotected)}
		change.hazard("drop_protection", "", "the table, its families and its instance can then be deleted")
		c.add(change)
	case have && want == bigtable.None:
		c.leave("deletion protection", unknown, "Bigtable deletes neither the table nor its families")
	}
}

// around adds what a live table has of which no schema says anything.
func (c *comparison) around() {
	if c.live.unseen.Micros {
		c.leave("granularity", ": MICROS (reads are exact to the microsecond, and writers store whole milliseconds)", "")
	}
	if c.live.stream > 0 {
		c.leave("change stream", ", kept for "+showAge(c.live.stream), "its readers see each deletion by a garbage collection rule, but no change of a rule or family")
	}
	if c.live.backups != nil && !c.live.backups.Disabled {
		kept := ""
		if age, ok := c.live.backups.RetentionPeriod.(time.Duration); ok {
			kept = ", kept for " + showAge(age)
		}
		c.leave("automated backups", kept, "they have deleted and expired events until they expire, too")
	}
	if backup := c.live.unseen.Backup; backup != nil {
		part := where(c.ID, "") + ": restored from backup " + path.Base(backup.GetBackup())
		if end := backup.GetEndTime(); end != nil {
			part += " of " + showDay(end.AsTime())
		}
		c.unmanaged = append(c.unmanaged, Unmanaged{Table: c.ID, Part: part, Means: afterRestore(c.Table)})
	}
}

// afterRestore says what a restored table has, and what to do.
func afterRestore(t store.Table) string {
	if t.ID == HistoryTable {
		return "layouts that were recorded since are missing: run setup with the newest schemas before any older program does"
	}
	do := "verify"
	if slices.ContainsFunc(t.Families, func(f store.Family) bool { return f.Rollup }) {
		do = "rollup --all, and " + do
	}
	if all, err := layoutsOf(&t); err == nil && slices.ContainsFunc(all, func(l facts.Layouts) bool { return l[0].Pattern().NewestOnly() }) {
		do = "backfill, " + do
	}
	return "events that were deleted since are back, and later ones are missing; delete these again, set up the rules, and run btgen-live " + do
}

// valueTypeChange returns the change of a family that has another value type and therefore
// cannot store events, or their sums, regardless of its rule.
func valueTypeChange(f store.Family, have string) Change {
	c := Change{
		Kind: "value_type", Sign: "~", Family: f.Name, Says: cmp.Or(have, "none") + " → " + cmp.Or(wantType(f), "none"),
		never: "give the family another name in the schema",
	}
	c.hazard("value_type", "", "Bigtable cannot change the value type of an existing family")
	return c
}

// ruleChange returns the change of a family's rule.
func ruleChange(table string, f store.Family, have codec.GCRule) Change {
	c := Change{Kind: "rule", Sign: "~", Family: f.Name, Says: showRuleChange(have.Normalize(), f.GC.Normalize()), does: updateFamily(f, have)}
	dropped := f.GC.Normalize().Kind == codec.GCNone
	switch {
	case f.Sums: // a row without its sum is searched
	case f.Life.Timestamp == codec.TimestampExpiry:
		c.hazard("one_second", "T06", otherwise(f.GC)+": use a new family")
	case f.Life.Timestamp == codec.TimestampShifted:
		c.hazard("default_expiration", "T06", otherwise(f.GC))
		c.loss(have.Retention(0), f.GC.Retention(0))
	case have.Equal(oneSecond) && !dropped:
		c.hazard("one_second", "T06", "its cell timestamps may be expiries, and expired cells would reappear")
	case dropped:
		c.hazard("drop_rule", "", "keeps every cell forever")
	default:
		c.loss(have.Retention(0), f.GC.Retention(0))
	}
	if have.Normalize().Kind == codec.GCNone && !f.Sums {
		c.because("", "without a rule, expired events stay stored, though programs do not read them")
	}
	if f.Rollup && !have.Retention(0).Covers(f.GC.Retention(0)) {
		c.hazard("longer_age", "E28", partial)
	}
	if dropped || relaxesAge(have, f.GC) {
		c.because("T10", "rejected if the table is replicated: "+replicated(table, f.Name))
	}
	return c
}

// oneSecond is the rule of one-second expiration.
var oneSecond = codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Second}

// partial says what a rule that was shorter may have left of rows with a rollup: events without the earlier ones of
// their bucket, or windows without the mark of a change.
const partial = "the table has a rollup: of rows that the shorter rule has deleted in part, programs would take the rest for all"

// replicated explains rule T10.
func replicated(table, family string) string {
	return "Bigtable then raises an age by at most 90 days at a time and does not drop a rule, unless " + ignoreWarnings(table, family) + " is allowed"
}

// ignoreWarnings is the name that allows a change of a rule which Bigtable refuses on replicated tables.
func ignoreWarnings(table, family string) string { return "ignore_warnings:" + table + "/" + family }

// otherwise describes what happens to cells whose timestamps have an unknown meaning; a
// live family does not record it.
func otherwise(rule codec.GCRule) string {
	return "Bigtable applies " + showRule(rule) + " to existing cells, regardless of what their timestamps mean"
}

// loss adds the hazards of a change that expires live cells. A limit is a hazard if
// raising it to its previous value would prevent any loss; if neither limit alone does,
// both are hazards.
func (c *Change) loss(before, after codec.Retention) {
	if after.Covers(before) {
		return
	}
	var was codec.Term // the highest limits; 0 for none
	for _, t := range before {
		was.MaxAge, was.Versions = max(was.MaxAge, t.MaxAge), max(was.Versions, t.Versions)
	}
	if before == nil {
		before = codec.Retention{{}}
	}
	var ages, versions codec.Retention // after, with one limit raised
	for _, t := range after {
		ages = append(ages, codec.Term{MaxAge: raise(t.MaxAge, was.MaxAge), Versions: t.Versions})
		versions = append(versions, codec.Term{MaxAge: t.MaxAge, Versions: raise(t.Versions, was.Versions)})
	}
	shorter, fewer := ages.Covers(before), versions.Covers(before)
	if shorter == fewer {
		shorter, fewer = true, true
	}
	if shorter {
		c.Hazards = append(c.Hazards, "shorter_age")
	}
	if fewer {
		c.Hazards = append(c.Hazards, "fewer_versions")
	}
	c.because("T09", deletes(after, shorter, fewer))
}

// raise returns the higher of two limits; 0 means no limit.
func raise[T int | time.Duration](limit, to T) T {
	if limit == 0 || to == 0 {
		return 0
	}
	return max(limit, to)
}

// deletes describes the data that a new rule deletes.
func deletes(after codec.Retention, shorter, fewer bool) string {
	if len(after) > 1 {
		return "deletes cells that the old rule keeps and the new one does not"
	}
	var what []string
	if t := after[0]; shorter && t.MaxAge > 0 {
		what = append(what, "data older than "+showAge(t.MaxAge))
	}
	switch t := after[0]; {
	case !fewer || t.Versions == 0:
	case t.Versions == 1:
		what = append(what, "all but the newest cell of each column")
	default:
		what = append(what, fmt.Sprintf("all but the newest %d cells of each column", t.Versions))
	}
	return "deletes " + strings.Join(what, ", and ")
}

// relaxesAge reports whether Bigtable rejects the change on a replicated table.
func relaxesAge(have, want codec.GCRule) bool {
	before, after := longest(have), longest(want)
	return before > 0 && (after == 0 || after-before > 90*ageDay) || have.HasAge() && !want.HasAge()
}

// longest returns the age at which a rule collects every cell; 0 if there is none.
func longest(r codec.GCRule) time.Duration {
	if alive := r.Retention(0); alive != nil {
		return alive[len(alive)-1].MaxAge
	}
	return 0
}

// hazard adds a hazard and its reason.
func (c *Change) hazard(name, rule, reason string) {
	c.Hazards = append(c.Hazards, name)
	c.because(rule, reason)
}

// because adds a reason and, unless it is empty, the rule of btgen that it comes from.
func (c *Change) because(rule, reason string) {
	c.Reasons = append(c.Reasons, reason)
	if rule != "" {
		c.Rules = append(c.Rules, rule)
	}
}

// ruleless reports whether a table has nothing of what Bigtable does not restore from a backup.
func (l *liveTable) ruleless() bool {
	for _, f := range l.families {
		if f.rule.Normalize().Kind != codec.GCNone {
			return false
		}
	}
	return !l.protected && l.tier == 0
}

// explainRestored adds to the changes of rules of a table why it may have none. They delete cells and remain refused: what
// was deleted on purpose since the backup should be deleted first.
func (p Plan) explainRestored(table string) {
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Kind == "rule" && c.Table == table {
			c.because("", "no family has a rule, as after a restore from a backup: events that were deleted since it was made are back")
		}
	}
}
