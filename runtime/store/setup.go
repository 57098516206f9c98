package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Table is what set-up knows of a table.
type Table struct {
	ID       string // without a prefix
	Families []Family
	// Splits are the row keys at which a new table is split into tablets;
	// Bigtable takes at most 100. They mean nothing to a table that exists.
	Splits []string
	// KeySchema is how GoogleSQL reads the row keys; nil if it need not.
	KeySchema *KeySchema
	// DeletionProtection says whether Bigtable refuses to delete the table;
	// bigtable.None leaves that to others.
	DeletionProtection bigtable.DeletionProtection
}

// Family is a column family.
type Family struct {
	Name string
	GC   codec.GCRule   // by which Bigtable collects its cells
	Life codec.Lifetime // what their timestamps are, and which of them are alive
	// Class is the TTL class of the events that it holds, counted from 1; 0 if
	// events have no class.
	Class int
}

// Admin is what set-up needs of a *bigtable.AdminClient. Its methods are those
// of the client, and give the status codes of the service.
type Admin interface {
	TableInfo(ctx context.Context, table string) (*bigtable.TableInfo, error)
	CreateTableFromConf(ctx context.Context, conf *bigtable.TableConf) error
	CreateColumnFamilyWithConfig(ctx context.Context, table, family string, config bigtable.Family) error
	UpdateFamily(ctx context.Context, table, familyName string, family bigtable.Family, opts ...bigtable.UpdateFamilyOption) error
	UpdateTableWithRowKeySchema(ctx context.Context, table string, schema bigtable.StructType) error
	UpdateTableWithDeletionProtection(ctx context.Context, table string, protection bigtable.DeletionProtection) error
}

// Setup makes live tables what tables say: it reads them, makes the tables and
// families that are missing, changes the rules that differ, and reads back what
// it changed.
//
// A change that may delete data, or that cannot be taken back, is refused unless
// Options.Allow has its [Change.Name]. While any is refused, nothing at all is
// changed, and the error is a *[RefusedError]. Names that fit no change mean
// nothing, so that a program may keep them; but a name that is kept allows the
// next change of that name too.
//
// The Plan holds what was done, also where that is not all since a request
// failed; with Options.DryRun it holds what would be done, nothing is changed,
// and what would be refused is marked and is no error. What the tables do not
// know is reported in the plan and left alone.
//
// Setup may run at the same time in several processes: what another one has made
// meanwhile is not in the plan, and is no error unless it differs, which is a
// *[VerifyError]. A request that the service cannot serve now is sent again
// until Options.Timeout or ctx ends it, and then no more are sent. One that
// fails otherwise does not keep Setup from the rest. Several errors are joined as
// [errors.Join] does. A second call does what is left to do.
//
// An instance that does not exist is an *[InstanceError], and a table that no
// server would take is a *[TableError]. One that is given
// several times is one table, with all families and all splits.
func Setup(ctx context.Context, admin Admin, tables []Table, opts ...Options) (Plan, error) {
	o := merge(opts)
	tables, err := prepare(tables, o.TablePrefix)
	if err != nil {
		return Plan{}, err
	}
	r := setupRun{admin: patient{admin, o.Timeout}, failed: map[string]bool{}}
	live, err := readTables(ctx, r.admin, tables)
	if err != nil {
		return Plan{}, err
	}
	if err := confirmInstance(ctx, r.admin, tables, live); err != nil {
		return Plan{}, err
	}
	plan := planFor(tables, live, o.Allow)
	if o.Confirm != nil {
		if err := o.Confirm(plan); err != nil {
			return Plan{Strays: plan.Strays}, err
		}
	}
	if refused := plan.Refused(); len(refused) > 0 && !o.DryRun {
		return Plan{Strays: plan.Strays}, &RefusedError{refused}
	}
	if plan.Empty() || o.DryRun {
		return plan, nil
	}
	tables = plan.changed(tables)
	r.apply(ctx, tables, plan)
	r.verify(ctx, tables)
	return Plan{Changes: r.done, Strays: plan.Strays}, errors.Join(r.errs...)
}

// prepare returns the tables under their full ids, each once, or why the first
// of them cannot be made.
func prepare(tables []Table, prefix string) ([]Table, error) {
	var out []Table
	for _, t := range tables {
		t.ID = prefix + t.ID
		i := slices.IndexFunc(out, func(have Table) bool { return have.ID == t.ID })
		if i < 0 {
			i = len(out)
			out = append(out, Table{ID: t.ID})
		}
		if err := out[i].add(t); err != nil {
			return nil, err
		}
	}
	for _, t := range out {
		if err := t.check(prefix); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// add makes t have what other has too.
func (t *Table) add(other Table) error {
	for _, f := range other.Families {
		i := slices.IndexFunc(t.Families, func(have Family) bool { return have.Name == f.Name })
		switch {
		case i < 0:
			t.Families = append(t.Families, f)
		case !t.Families[i].like(f):
			return &TableError{Table: t.ID, Reason: fmt.Sprintf(
				"two schemas have a family %s, and differ in its time to live: give one of them another name", f.Name)}
		}
	}
	switch {
	case t.KeySchema == nil:
		t.KeySchema = other.KeySchema
	case other.KeySchema != nil && !t.KeySchema.equal(other.KeySchema):
		return &TableError{Table: t.ID, Reason: "two schemas have a row key schema for it, and the two differ"}
	}
	switch {
	case t.DeletionProtection == bigtable.None:
		t.DeletionProtection = other.DeletionProtection
	case other.DeletionProtection != bigtable.None && other.DeletionProtection != t.DeletionProtection:
		return &TableError{Table: t.ID, Reason: "one schema protects it from deletion, and another says that it is not protected"}
	}
	t.Splits = slices.Compact(slices.Sorted(slices.Values(append(t.Splits, other.Splits...))))
	return nil
}

// like reports whether two families of one name can be one.
func (f Family) like(other Family) bool {
	return f.GC.Equal(other.GC) && f.Life.Stamp == other.Life.Stamp && f.Life.Default == other.Life.Default
}

// check refuses a table that Bigtable would refuse: only set-up knows the prefix,
// and all schemas of a table.
func (t *Table) check(prefix string) error {
	with := ""
	if prefix != "" {
		with = fmt.Sprintf("with the prefix %q ", prefix)
	}
	switch {
	case len(t.ID) > codec.MaxTableID:
		return &TableError{t.ID, "L07", fmt.Sprintf("the id is %s%d characters long, and Bigtable takes %d", with, len(t.ID), codec.MaxTableID)}
	case !codec.ValidTableID(t.ID):
		return &TableError{t.ID, "L07", fmt.Sprintf("the id is %snot of letters, digits and _ - . alone, or begins with - or .", with)}
	case len(t.Splits) > codec.MaxSplits:
		return &TableError{t.ID, "L12", fmt.Sprintf("it has %d initial splits, and Bigtable takes %d", len(t.Splits), codec.MaxSplits)}
	}
	return nil
}

// setupRun carries out a plan.
type setupRun struct {
	admin  patient
	done   []Change
	failed map[string]bool // the names of the changes that failed
	errs   []error
	ended  bool // time is up: no more requests
}

// apply makes the changes of a plan.
func (r *setupRun) apply(ctx context.Context, tables []Table, plan Plan) {
	for _, t := range tables {
		changes := plan.of(t.ID)
		if changes[0].Kind == AddTable && !r.ended {
			changes = r.makeTable(ctx, t, changes)
		}
		for _, c := range changes {
			if !r.ended {
				r.change(ctx, c)
			}
		}
	}
}

// makeTable makes a table with its families, and returns what is left to do. If
// there is one already, that is what it lacks: somebody else may know of fewer
// families. Whose it is if a reply was lost nobody knows; it counts as made.
func (r *setupRun) makeTable(ctx context.Context, t Table, changes []Change) []Change {
	conf := &bigtable.TableConf{
		TableID: t.ID, SplitKeys: t.Splits, ColumnFamilies: map[string]bigtable.Family{},
		RowKeySchema: t.KeySchema.structType(), DeletionProtection: t.DeletionProtection,
	}
	for _, f := range t.Families {
		conf.ColumnFamilies[f.Name] = bigtable.Family{GCPolicy: policy(f.GC)}
	}
	lost, err := r.admin.createTable(ctx, conf)
	if err == nil {
		r.done = append(r.done, changes...)
		return nil
	}
	if status.Code(err) != codes.AlreadyExists {
		r.fail(ctx, fmt.Errorf("creating table %s: %w", t.ID, err), changes...)
		return nil
	}
	live, _, err := readTable(ctx, r.admin, t.ID)
	if err != nil {
		r.fail(ctx, err, changes...)
		return nil
	}
	var left []Change
	for _, c := range changes {
		_, found := live.families[c.Family]
		switch {
		case c.Kind == AddFamily && !found, c.Kind == AddKeySchema && live.keySchema == nil, c.Kind == Protect && !live.protected:
			left = append(left, c)
		case lost:
			r.done = append(r.done, c)
		}
	}
	return left
}

// change makes one change of a table that exists.
func (r *setupRun) change(ctx context.Context, c Change) {
	config := bigtable.Family{GCPolicy: policy(c.Want)}
	switch c.Kind {
	case AddFamily:
		lost, err := r.admin.createFamily(ctx, c.Table, c.Family, config)
		switch exists := status.Code(err) == codes.AlreadyExists; {
		case err == nil, exists && lost:
			r.done = append(r.done, c)
		case !exists:
			r.fail(ctx, fmt.Errorf("creating family %s of table %s: %w", c.Family, c.Table, err), c)
		}
	case ChangeRule:
		if err := r.unchanged(ctx, c); err != nil {
			r.fail(ctx, err, c)
			return
		}
		if err := r.admin.updateFamily(ctx, c.Table, c.Family, config); err != nil {
			r.fail(ctx, fmt.Errorf("changing the rule of family %s of table %s: %w", c.Family, c.Table, becauseReplicated(err)), c)
			return
		}
		r.done = append(r.done, c)
	case AddKeySchema:
		if err := r.addKeySchema(ctx, c); err != nil {
			r.fail(ctx, fmt.Errorf("giving table %s its row key schema: %w", c.Table, err), c)
			return
		}
		r.done = append(r.done, c)
	case Protect, Unprotect:
		protection := map[ChangeKind]bigtable.DeletionProtection{Protect: bigtable.Protected, Unprotect: bigtable.Unprotected}[c.Kind]
		if err := r.admin.protect(ctx, c.Table, protection); err != nil {
			r.fail(ctx, fmt.Errorf("changing the deletion protection of table %s: %w", c.Table, err), c)
			return
		}
		r.done = append(r.done, c)
	}
}

// addKeySchema gives a table its row key schema. A server that takes the request for
// all that there is to say of a table, as the emulator does, has the deletion
// protection off then: it is put on again.
func (r *setupRun) addKeySchema(ctx context.Context, c Change) error {
	before, _, err := readTable(ctx, r.admin, c.Table)
	if err != nil {
		return err
	}
	if err := r.admin.addKeySchema(ctx, c.Table, *c.KeySchema.structType()); err != nil || !before.protected {
		return err
	}
	after, _, err := readTable(ctx, r.admin, c.Table)
	if err != nil || after.protected {
		return err
	}
	return r.admin.protect(ctx, c.Table, bigtable.Protected)
}

// unchanged looks once more before a rule is changed: what was safe to change, or
// was allowed, was so for the rule that the plan has seen.
func (r *setupRun) unchanged(ctx context.Context, c Change) error {
	live, found, err := readTable(ctx, r.admin, c.Table)
	if err != nil {
		return err
	}
	if family, has := live.families[c.Family]; !found || !has || !family.rule.Equal(c.Have) && !family.rule.Equal(c.Want) {
		return &VerifyError{[]Change{c}}
	}
	return nil
}

// becauseReplicated adds to an error what the service may have meant: it does
// not say in its code that a rule cannot be changed on a replicated table.
func becauseReplicated(err error) error {
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument:
		return fmt.Errorf("%w (if the table is replicated: %s) [T10]", err, replicated)
	}
	return err
}

// fail notes that changes were not made.
func (r *setupRun) fail(ctx context.Context, err error, changes ...Change) {
	r.errs = append(r.errs, err)
	for _, c := range changes {
		r.failed[c.Name()] = true
	}
	r.ended = outOfTime(ctx, err)
}

// verify reads the tables that were changed back. What was not kept as it was
// sent, or was changed by somebody else, shows in the run that sent it, and not
// first in what readers lack.
func (r *setupRun) verify(ctx context.Context, tables []Table) {
	if r.ended {
		return // the next request would wait as long
	}
	live, err := readTables(ctx, r.admin, tables)
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	left := slices.DeleteFunc(planFor(tables, live, nil).Changes, func(c Change) bool {
		// A server without GoogleSQL, such as the emulator, takes a row key schema
		// and does not keep it; neither writers nor readers need it.
		return r.failed[c.Name()] || c.Kind == AddKeySchema
	})
	if len(left) > 0 {
		r.errs = append(r.errs, &VerifyError{left})
	}
}

// Tables returns what set-up knows of the tables of a schema.
func Tables[E any](layouts []*Layout[E]) []Table {
	tables := make([]Table, len(layouts))
	for i, l := range layouts {
		tables[i] = l.Table
	}
	return tables
}
