package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/templates/codec"
)

// Table is what set-up knows of a table.
type Table struct {
	ID       string // without a prefix
	Families []Family
	// Splits are the row keys at which a new table is split into tablets;
	// Bigtable takes at most 100.
	Splits []string
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
}

// Change is one thing that set-up made.
type Change struct {
	Table  string // with its prefix
	Family string // empty if the table itself was made
	GC     codec.GCRule
}

// String describes the change, for instance "+ family m of table t: age() > 7d".
func (c Change) String() string {
	if c.Family == "" {
		return "+ table " + c.Table
	}
	return fmt.Sprintf("+ family %s of table %s: %s", c.Family, c.Table, c.GC)
}

// GCRuleError says that a family has another garbage collection rule than the
// schema. Set-up never changes a rule: that may delete data.
type GCRuleError struct {
	Table, Family string
	Have, Want    codec.GCRule
}

// Error names the family and both rules, and says what to do.
func (e *GCRuleError) Error() string {
	return fmt.Sprintf("family %s of table %s has the garbage collection rule %q where the schema says %q: "+
		"not changed, since that may delete data; change the schema, or the family's rule with cbt setgcpolicy",
		e.Family, e.Table, e.Have, e.Want)
}

// Setup makes the tables and families that are missing, reads them back, and
// returns what it made, also where it fails. It changes nothing that exists: a
// family with another garbage collection rule is a *GCRuleError, given after
// everything else is done, and one that the schema does not know is left alone.
// A request that the service cannot serve now is sent again until
// Options.Timeout or ctx ends it. It gives up at the first request that runs
// out of time; a second call makes what is still missing. Several errors are
// joined as [errors.Join] does. It may run at the same time in several processes.
func Setup(ctx context.Context, admin Admin, tables []Table, opts ...Options) ([]Change, error) {
	o := merge(opts)
	admin = patient{admin, o.Timeout}
	var changes []Change
	var errs []error
	for _, t := range tables {
		t.ID = o.TablePrefix + t.ID
		made, err := setUp(ctx, admin, t)
		changes = append(changes, made...)
		errs = append(errs, err)
		if outOfTime(ctx, err) {
			break // the next request would wait as long
		}
	}
	return changes, errors.Join(errs...)
}

// setUp makes one table, or what is missing of it, and compares what there is then.
func setUp(ctx context.Context, admin Admin, t Table) ([]Change, error) {
	live, changes, err := openTable(ctx, admin, t)
	if err != nil {
		return changes, err
	}
	expected, added, failed := addFamilies(ctx, admin, t, live)
	changes = append(changes, added...)
	if outOfTime(ctx, failed) {
		return changes, failed
	}
	if slices.ContainsFunc(expected, func(f Family) bool { return !has(live, f) }) {
		if live, err = liveFamilies(ctx, admin, t.ID); err != nil {
			return changes, errors.Join(failed, err)
		}
	}
	return changes, errors.Join(failed, compare(t.ID, expected, live))
}

// openTable returns the families of the table, which it makes if there is none.
func openTable(ctx context.Context, admin Admin, t Table) (map[string]codec.GCRule, []Change, error) {
	live, err := liveFamilies(ctx, admin, t.ID)
	if status.Code(err) != codes.NotFound {
		return live, nil, err
	}
	conf := &bigtable.TableConf{TableID: t.ID, ColumnFamilies: map[string]bigtable.Family{}}
	changes := []Change{{Table: t.ID}}
	for _, f := range t.Families {
		conf.ColumnFamilies[f.Name] = bigtable.Family{GCPolicy: policy(f.GC)}
		changes = append(changes, Change{Table: t.ID, Family: f.Name, GC: f.GC})
	}
	err = admin.CreateTableFromConf(ctx, conf)
	switch {
	case status.Code(err) == codes.AlreadyExists:
		changes = nil // somebody else was faster
	case err != nil:
		return nil, nil, fmt.Errorf("creating table %s: %w", t.ID, err)
	}
	live, err = liveFamilies(ctx, admin, t.ID)
	return live, changes, err
}

// addFamilies makes the families that are not live. It returns those that the
// table should have then, also if somebody else made them, and what it made.
func addFamilies(ctx context.Context, admin Admin, t Table, live map[string]codec.GCRule) (expected []Family, changes []Change, err error) {
	var errs []error
	for _, f := range t.Families {
		if !has(live, f) {
			err := admin.CreateColumnFamilyWithConfig(ctx, t.ID, f.Name, bigtable.Family{GCPolicy: policy(f.GC)})
			switch {
			case err == nil:
				changes = append(changes, Change{Table: t.ID, Family: f.Name, GC: f.GC})
			case status.Code(err) != codes.AlreadyExists:
				errs = append(errs, fmt.Errorf("creating family %s of table %s: %w", f.Name, t.ID, err))
				if outOfTime(ctx, err) {
					return expected, changes, errors.Join(errs...)
				}
				continue
			}
		}
		expected = append(expected, f)
	}
	return expected, changes, errors.Join(errs...)
}

// compare returns an error for each family that is not live as it is expected.
func compare(table string, expected []Family, live map[string]codec.GCRule) error {
	var errs []error
	for _, f := range expected {
		switch have := live[f.Name]; {
		case !has(live, f):
			errs = append(errs, fmt.Errorf("family %s of table %s was there a moment ago and is gone: "+
				"see who deletes it, and run the set-up again", f.Name, table))
		case !have.Equal(f.GC):
			errs = append(errs, &GCRuleError{Table: table, Family: f.Name, Have: have, Want: f.GC})
		}
	}
	return errors.Join(errs...)
}

// has reports whether a family is live.
func has(live map[string]codec.GCRule, f Family) bool {
	_, found := live[f.Name]
	return found
}

// liveFamilies returns the families that the table has.
func liveFamilies(ctx context.Context, admin Admin, table string) (map[string]codec.GCRule, error) {
	info, err := admin.TableInfo(ctx, table)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", table, err)
	}
	live := map[string]codec.GCRule{}
	for _, f := range info.FamilyInfos {
		live[f.Name] = ruleOf(f.FullGCPolicy)
	}
	return live, nil
}

// patient is an Admin whose calls are retried, each until its time is up.
type patient struct {
	admin   Admin
	timeout time.Duration
}

// TableInfo reads a table, as [Admin] says.
func (p patient) TableInfo(ctx context.Context, table string) (info *bigtable.TableInfo, err error) {
	err = p.do(ctx, func(ctx context.Context) (err error) {
		info, err = p.admin.TableInfo(ctx, table)
		return err
	})
	return info, err
}

// CreateTableFromConf makes a table, as [Admin] says.
func (p patient) CreateTableFromConf(ctx context.Context, conf *bigtable.TableConf) error {
	return p.do(ctx, func(ctx context.Context) error { return p.admin.CreateTableFromConf(ctx, conf) })
}

// CreateColumnFamilyWithConfig makes a family, as [Admin] says.
func (p patient) CreateColumnFamilyWithConfig(ctx context.Context, table, family string, config bigtable.Family) error {
	return p.do(ctx, func(ctx context.Context) error {
		return p.admin.CreateColumnFamilyWithConfig(ctx, table, family, config)
	})
}

// do calls f again while that may help, until its time is up: the client does
// not, for calls that make something. To repeat one whose reply was lost is
// safe: what is there already is no failure.
func (p patient) do(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := within(ctx, p.timeout)
	defer cancel()
	wait := 100 * time.Millisecond
	for {
		err := f(ctx)
		if !passing(err) {
			return explain(ctx, err)
		}
		select {
		case <-ctx.Done():
			return explain(ctx, err)
		case <-time.After(wait/2 + rand.N(wait/2)): // not in step with other processes
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// passing reports whether a call that failed may succeed later: for one of the
// reasons for which the client repeats what it reads, or because somebody else
// changes the table, for which the service has no code of its own.
func passing(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded:
		return true
	case codes.FailedPrecondition:
		return strings.Contains(err.Error(), "concurrent modification")
	}
	return false
}

// outOfTime reports whether a request failed because its time was up, or that
// of all of them.
func outOfTime(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded))
}

// policy turns a rule into what the client takes.
func policy(r codec.GCRule) bigtable.GCPolicy {
	sub := make([]bigtable.GCPolicy, len(r.Rules))
	for i, s := range r.Rules {
		sub[i] = policy(s)
	}
	switch r.Kind {
	case codec.GCMaxAge:
		return bigtable.MaxAgePolicy(r.MaxAge)
	case codec.GCMaxVersions:
		return bigtable.MaxVersionsPolicy(r.MaxVersions)
	case codec.GCUnion:
		return bigtable.UnionPolicy(sub...)
	case codec.GCIntersection:
		return bigtable.IntersectionPolicy(sub...)
	default:
		return bigtable.NoGcPolicy()
	}
}

// ruleOf turns what the client read back into a rule. The client drops
// fractions of a second.
func ruleOf(p bigtable.GCPolicy) codec.GCRule {
	all := func(policies []bigtable.GCPolicy) []codec.GCRule {
		rules := make([]codec.GCRule, len(policies))
		for i, p := range policies {
			rules[i] = ruleOf(p)
		}
		return rules
	}
	switch p := p.(type) {
	case bigtable.MaxAgeGCPolicy:
		return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Duration(p)}
	case bigtable.MaxVersionsGCPolicy:
		return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: int(p)}
	case bigtable.UnionGCPolicy:
		return codec.GCRule{Kind: codec.GCUnion, Rules: all(p.Children)}
	case bigtable.IntersectionGCPolicy:
		return codec.GCRule{Kind: codec.GCIntersection, Rules: all(p.Children)}
	default:
		return codec.GCRule{}
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
