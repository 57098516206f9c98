// Package setup reconciles the tables of an instance with schemas. It plans what to create and to
// change, refuses what may delete data or cannot be undone unless it is allowed by name, and
// records in [HistoryTable] which layouts of events every table has had, so that an older build
// cannot undo what a newer one has set up.
//
//   - [Setup] plans and applies changes; [Plan] says what it did or would do.
//   - [UnknownTables] and [ExamineUnmanaged] find what no schema uses anymore, and [DeleteTables]
//     deletes it.
//
// It knows tables as package store describes them ([store.Table]) and live ones, but neither rows
// nor events.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Admin contains the methods of *bigtable.AdminClient that setup uses. Implementations
// must return the status codes of the service.
type Admin interface {
	TableInfo(ctx context.Context, table string) (*bigtable.TableInfo, error)
	CreateTableFromConf(ctx context.Context, conf *bigtable.TableConf) error
	CreateColumnFamilyWithConfig(ctx context.Context, table, family string, config bigtable.Family) error
	UpdateFamily(ctx context.Context, table, familyName string, family bigtable.Family, opts ...bigtable.UpdateFamilyOption) error
	UpdateTableWithRowKeySchema(ctx context.Context, table string, schema bigtable.StructType) error
	UpdateTableWithDeletionProtection(ctx context.Context, table string, protection bigtable.DeletionProtection) error
	UpdateTableWithTieredStorageConfig(ctx context.Context, table string, config *bigtable.TieredStorageConfig) error
	UpdateTableRemoveTieredStorageConfig(ctx context.Context, table string) error
	CreateSchemaBundle(ctx context.Context, conf *bigtable.SchemaBundleConf) error
	GetSchemaBundle(ctx context.Context, tableID, schemaBundleID string) (*bigtable.SchemaBundleInfo, error)
	SchemaBundles(ctx context.Context, tableID string) ([]string, error)
	UpdateSchemaBundle(ctx context.Context, conf bigtable.UpdateSchemaBundleConf) error
	DeleteSchemaBundle(ctx context.Context, tableID, schemaBundleID string) error
}

// Setup reconciles live tables with the given ones: it reads them, creates missing tables and
// families, changes rules that differ, and reads the changed tables back.
//
// # Refused changes
//
// Setup refuses a change that may delete data or cannot be undone, and one that keeps more data of a
// table with a rollup, unless Options.Allow contains its [Change.Name]. If it refuses any change, it changes nothing and returns
// a *[RefusedError]. It ignores names of other changes, so a program may keep a name;
// but a name that is kept allows the next change with that name, too.
//
// # History
//
// Setup records the layout of each table in [HistoryTable], which it creates: for a new table,
// before it creates that, and for an existing one before any other change. A layout that only
// adds columns, enum values, families or a layout from a time on to the newest recorded one is
// recorded, too. A layout that was replaced in the history ("older_layout"), or contradicts it
// ("other_layout"), is refused like a change that may delete data. So is one without an earlier
// layout whose events may not have expired, or with another one in its place ("unexpired_layout");
// one that contradicts what a setup has recorded that has not created the table yet
// ("unfinished_layout"); and one by time that the history of an existing table does not know,
// although it has begun ("begun_layout"), or that would hide stored events with later times ("later_events"), which Setup
// searches for at most Options.Timeout, once for each new layout; and the first one in an existing table with the granularity MICROS, if only timestamps
// contain the times of its events ("micros"). client reads and writes the history; it may be nil with
// Options.NoHistory.
//
// # The plan
//
// The Plan contains what was done, even if some requests failed. With Options.DryRun, Setup
// changes nothing, and the plan contains what it would do; refused changes are marked and are
// not an error. The plan also lists everything in the tables that is not in the schemas; Setup
// does not change it.
//
// # Concurrency and errors
//
// Several processes may call Setup concurrently. If their layouts contradict each other, at most
// one of them succeeds; the others return a *[HistoryError] or a *[RefusedError]. What another
// process creates in the meantime is not in the plan. If it differs, the error is a *[VerifyError]. Setup repeats a request after
// transient errors until Options.Timeout or ctx ends; then it sends no more. After any
// other error it continues with the remaining changes. It joins several errors with
// [errors.Join]. Calling Setup again completes the rest.
//
// For a draft table, the error is a *[DraftError] except on an emulator, and Setup sends no
// request. Without an admin client, it is [ErrNoAdmin]. If the instance does not exist, the error is an *[InstanceError]; for a table that no
// server would accept, it is a *[TableError]. If the history cannot be read or extended, it is a
// *[HistoryError]. An emulator that cannot read in reverse order is a *[ReversedError], if the
// history has several tables.
// Tables with the same ID are merged, with all families and splits.
func Setup(ctx context.Context, admin Admin, client store.Client, tables []store.Table, opts ...Options) (Plan, error) {
	o := defaults(opts)
	if err := CheckDrafts(tables, o); err != nil {
		return Plan{}, err
	}
	declared := tables
	tables, err := prepare(tables, o.TablePrefix)
	if err != nil {
		return Plan{}, err
	}
	retrying, err := newRetryAdmin(admin, o.Timeout)
	if err != nil {
		return Plan{}, err
	}
	r := setupRun{admin: retrying, failed: map[string]bool{}, incomplete: map[string]bool{}}
	r.admin.findBundles(ctx, tables, o.ListBundles)
	// The history is read first, so that a setup which it does not have yet loses against this one,
	// or this one against it.
	if r.history, err = newHistory(ctx, client, r.admin, tables, o); err != nil {
		return Plan{}, err
	}
	if r.history != nil {
		tables = slices.Insert(tables, 0, historyTable)
	}
	if r.live, err = readTables(ctx, r.admin, tables); err != nil {
		return Plan{}, err
	}
	if err := confirmInstance(ctx, r.admin, tables, r.live); err != nil {
		return Plan{}, err
	}
	if r.history != nil {
		r.history.look(ctx, client, declared, r.live, o)
	}
	plan := r.plan(tables, o.Allow)
	if o.Confirm != nil {
		if err := o.Confirm(plan); err != nil {
			return Plan{Unmanaged: plan.Unmanaged}, err
		}
	}
	if refused := plan.Refused(); len(refused) > 0 && !o.DryRun {
		return Plan{Unmanaged: plan.Unmanaged}, &RefusedError{refused}
	}
	if o.DryRun {
		return plan, nil
	}
	changed := plan.changed(tables)
	r.apply(ctx, changed, plan)
	r.confirm(ctx, tables)
	r.verify(ctx, changed)
	return Plan{Changes: r.done, Unmanaged: plan.Unmanaged, Recorded: plan.Recorded}, errors.Join(r.errs...)
}

// plan returns the changes of the tables and of their history.
func (r *setupRun) plan(tables []store.Table, allow []string) Plan {
	if r.history == nil {
		return planFor(tables, r.live, nil, allow)
	}
	recording := map[string][]Change{}
	for _, t := range tables {
		recording[t.ID] = r.history.claim(t, r.live[t.ID]).changes
	}
	plan := planFor(tables, r.live, recording, allow)
	for _, t := range tables {
		if have := r.live[t.ID]; have != nil && len(r.history.rows[t.ID].layouts) > 0 && have.ruleless() {
			plan.explainRestored(t.ID)
		}
	}
	plan.Recorded = r.history.newest(tables)
	return plan
}

// prepare returns the tables with their full IDs, each once, or the reason why one of
// them cannot be created.
func prepare(tables []store.Table, prefix string) ([]store.Table, error) {
	var out []store.Table
	for _, t := range tables {
		t.ID = prefix + t.ID
		i := slices.IndexFunc(out, func(have store.Table) bool { return have.ID == t.ID })
		if i < 0 {
			i = len(out)
			out = append(out, store.Table{ID: t.ID})
		}
		if err := merge(&out[i], t); err != nil {
			return nil, err
		}
	}
	for _, t := range out {
		if err := checkTable(&t, prefix); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds what another schema declares for a table to it.
func merge(t *store.Table, other store.Table) error {
	reason := ""
	for _, f := range other.Families {
		i := slices.IndexFunc(t.Families, func(have store.Family) bool { return have.Name == f.Name })
		switch {
		case i < 0:
			t.Families = append(t.Families, f)
		case f.Sums != t.Families[i].Sums:
			reason = "a schema declares family " + f.Name + ", which tells in a table with pattern latest of another schema " +
				"which rows had several versions of an event: rename one of the families"
		case !alike(t.Families[i], f):
			reason = "two schemas declare family " + f.Name + " with different times to live: rename one of them"
		default:
			t.Families[i].Rollup = t.Families[i].Rollup || f.Rollup
		}
	}
	a, b := t.Bundle, other.Bundle
	switch {
	case t.KeySchema != nil && other.KeySchema != nil && !reflect.DeepEqual(t.KeySchema, other.KeySchema):
		reason = "two schemas declare different row key schemas for it"
	case contradict(t.DeletionProtection, other.DeletionProtection):
		reason = "one schema protects it from deletion, and another does not"
	case contradict(t.Tier, other.Tier):
		reason = "two schemas declare different tiers for it"
	case a != nil && b != nil && (a.ID != b.ID || a.Drop != b.Drop):
		reason = "two schemas declare different schema bundles for it"
	}
	if reason != "" {
		return &TableError{Table: t.ID, Reason: reason}
	}
	t.KeySchema, t.Bundle = cmp.Or(t.KeySchema, other.KeySchema), mergeBundle(a, b)
	t.DeletionProtection, t.Tier = cmp.Or(t.DeletionProtection, other.DeletionProtection), cmp.Or(t.Tier, other.Tier)
	if other.Layout != "" && !slices.Contains(strings.Split(t.Layout, schemaSeparator), other.Layout) {
		t.Layout = strings.TrimPrefix(t.Layout+schemaSeparator+other.Layout, schemaSeparator)
	}
	t.Splits = slices.Compact(slices.Sorted(slices.Values(append(t.Splits, other.Splits...))))
	return nil
}

// contradict reports whether two schemas declare something else; the zero value declares nothing.
func contradict[T comparable](a, b T) bool {
	var none T
	return a != none && b != none && a != b
}

// schemaSeparator separates the layouts of schemas that share a table.
const schemaSeparator = "\n\n"

// alike reports whether two families of the same name can be merged.
func alike(f, other store.Family) bool {
	return f.GC.Equal(other.GC) && f.Life.Timestamp == other.Life.Timestamp && f.Life.Default == other.Life.Default
}

// checkTable rejects a table that Bigtable would reject. Only setup knows the prefix and all
// schemas of a table.
func checkTable(t *store.Table, prefix string) error {
	with := ""
	if prefix != "" {
		with = fmt.Sprintf("with the prefix %q ", prefix)
	}
	switch {
	case t.ID == HistoryTable:
		return &TableError{Table: t.ID, Reason: fmt.Sprintf("the ID %sis that of the history of layouts: rename the table", with)}
	case len(t.ID) > codec.MaxTableID:
		return &TableError{t.ID, "L07", fmt.Sprintf("the ID %shas %d characters, but Bigtable allows %d", with, len(t.ID), codec.MaxTableID)}
	case !codec.ValidTableID(t.ID):
		return &TableError{t.ID, "L07", fmt.Sprintf("the ID %smust consist of letters, digits and _ - . and must not begin with - or .", with)}
	case len(t.Splits) > codec.MaxSplits:
		return &TableError{t.ID, "L12", fmt.Sprintf("it has %d initial splits, but Bigtable allows %d", len(t.Splits), codec.MaxSplits)}
	}
	return nil
}

// setupRun executes a plan.
type setupRun struct {
	admin      retryAdmin
	history    *layoutHistory        // nil without one
	live       map[string]*liveTable // the tables that existed before
	done       []Change
	failed     map[string]bool // names of the failed changes
	incomplete map[string]bool // tables that were not recorded or created
	errs       []error
	noHistory  bool // it could not be created
	ended      bool // timed out: send no more requests
}

// apply makes the changes of a plan.
func (r *setupRun) apply(ctx context.Context, tables []store.Table, plan Plan) {
	for _, t := range tables {
		changes := plan.of(t.ID)
		if !r.record(ctx, t, changes) {
			r.incomplete[t.ID] = true
			continue
		}
		if changes[0].Kind == "table" && !r.ended {
			changes = r.makeTable(ctx, t, changes)
		}
		for _, c := range changes {
			if !r.ended {
				r.change(ctx, c)
			}
		}
	}
}

// record records the layouts of a table. If that fails, the table is not changed, so that
// what a setup with another layout finds is never ahead of the history.
func (r *setupRun) record(ctx context.Context, t store.Table, changes []Change) bool {
	if r.history == nil || t.Layout == "" {
		return true
	}
	if r.ended || r.noHistory {
		r.markFailed(changes)
		return false
	}
	own, err := r.history.record(ctx, t, r.live[t.ID])
	if err != nil {
		r.fail(ctx, err, changes...)
		return false
	}
	for _, c := range changes {
		if own && c.Kind == "layout" {
			r.done = append(r.done, c)
		}
	}
	return true
}

// confirm records that the tables exist whose setup was unfinished, and makes sure that the
// layouts of all are still the recorded ones. Only then have they won against those of other setups.
func (r *setupRun) confirm(ctx context.Context, tables []store.Table) {
	if r.history == nil || r.noHistory {
		return
	}
	tables = slices.DeleteFunc(slices.Clone(tables), func(t store.Table) bool { return r.incomplete[t.ID] })
	for _, t := range tables {
		if r.ended || t.Layout == "" || !r.history.rows[t.ID].pending() {
			continue
		}
		live := r.live[t.ID]
		if live == nil {
			live = &liveTable{} // this setup created it
		}
		if err := r.history.confirm(ctx, t, live); err != nil {
			r.fail(ctx, err)
		}
	}
	if r.ended {
		return
	}
	r.errs = append(r.errs, r.history.recheck(ctx, tables)...)
	if call.Ascending(ctx, r.history.table) { // it has a row for each table
		r.errs = append(r.errs, &store.ReversedError{Table: HistoryTable})
	}
}

// makeTable creates a table with its families and returns the changes that remain. If
// the table exists already, these are its missing families, because another process may
// not know all of them. If a reply was lost, nobody knows who created the table; it
// counts as created here.
func (r *setupRun) makeTable(ctx context.Context, t store.Table, changes []Change) []Change {
	conf := &bigtable.TableConf{
		TableID: t.ID, SplitKeys: t.Splits, ColumnFamilies: map[string]bigtable.Family{},
		RowKeySchema: structType(t.KeySchema), DeletionProtection: t.DeletionProtection, TieredStorageConfig: tierConfig(t.Tier),
	}
	for _, f := range t.Families {
		conf.ColumnFamilies[f.Name] = familyConfig(f)
	}
	lost, err := r.admin.retry(ctx, t.ID, func(ctx context.Context) error { return r.admin.admin.CreateTableFromConf(ctx, conf) })
	r.admin.made[t.ID] = err == nil
	if err == nil {
		bundle := func(c Change) bool { return c.Kind == "schema_bundle" } // a request of its own
		r.done = append(r.done, slices.DeleteFunc(slices.Clone(changes), bundle)...)
		return slices.DeleteFunc(changes, func(c Change) bool { return !bundle(c) })
	}
	if status.Code(err) != codes.AlreadyExists {
		if conf.TieredStorageConfig != nil {
			err = becauseOfEdition(err)
		}
		r.fail(ctx, fmt.Errorf("creating table %s: %w", t.ID, err), changes...)
		r.incomplete[t.ID] = true
		return nil
	}
	live, err := readTable(ctx, r.admin, t.ID)
	if err != nil {
		r.fail(ctx, err, changes...)
		return nil
	}
	var left []Change
	missing := planFor([]store.Table{t}, map[string]*liveTable{t.ID: live}, nil, nil).Changes
	for _, c := range changes {
		if slices.ContainsFunc(missing, func(m Change) bool { return m.Kind == c.Kind && m.Family == c.Family }) {
			left = append(left, c)
		} else if lost {
			r.done = append(r.done, c)
		}
	}
	return left
}

// fail records that changes failed.
func (r *setupRun) fail(ctx context.Context, err error, changes ...Change) {
	if len(changes) > 0 && changes[0].Table == HistoryTable {
		err, r.noHistory = &HistoryError{Err: err}, true
	}
	r.errs = append(r.errs, err)
	r.markFailed(changes)
	r.ended = outOfTime(ctx, err)
}

func (r *setupRun) markFailed(changes []Change) {
	for _, c := range changes {
		r.failed[c.Name()] = true
	}
}

// verify reads the changed tables back. If the server did not store a change, or
// another process changed it, this run reports it rather than a later read.
func (r *setupRun) verify(ctx context.Context, tables []store.Table) {
	if r.ended {
		return // the next request would time out, too
	}
	live, err := readTables(ctx, r.admin, tables)
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	left := slices.DeleteFunc(planFor(tables, live, nil, nil).Changes, func(c Change) bool {
		// A server without GoogleSQL or tiers, such as the emulator, accepts a row key schema
		// or a tier and drops it, and has no schema bundles. Writers and readers do not need them.
		return r.failed[c.Name()] || c.Sign == "+" && slices.Contains([]string{"row_key_schema", "tier", "schema_bundle"}, c.Kind)
	})
	if len(left) > 0 {
		r.errs = append(r.errs, &VerifyError{left})
	}
}
