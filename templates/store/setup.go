package store

import (
	"context"
	"errors"
	"fmt"
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
}

// Family is a column family and its garbage collection rule.
type Family struct {
	Name string
	GC   codec.GCRule
}

// Admin is what set-up needs of a *bigtable.AdminClient.
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

// GCRuleError says that a family exists with another garbage collection rule
// than the schema has. Nothing of that family was changed: a rule may delete data.
type GCRuleError struct {
	Table, Family string
	Have, Want    codec.GCRule
}

// Error names the family and both rules.
func (e *GCRuleError) Error() string {
	return fmt.Sprintf("family %s of table %s has the garbage collection rule %q where the schema says %q: not changed",
		e.Family, e.Table, e.Have, e.Want)
}

// Setup makes the tables and families that are missing and returns what it
// made, also where it fails. It changes nothing that exists: a family with
// another garbage collection rule is a *GCRuleError, given after everything else
// is done. It gives up at the first request that runs out of time; a second
// call makes what is still missing. Several errors are joined as [errors.Join]
// does. It may run at the same time in several processes.
func Setup(ctx context.Context, admin Admin, tables []Table, opts ...Options) ([]Change, error) {
	o := merge(opts)
	admin = patient{admin, o.Timeout}
	var changes []Change
	var errs []error
	for _, t := range tables {
		t.ID = o.TablePrefix + t.ID
		made, err := setUp(ctx, admin, t)
		changes = append(changes, made...)
		if err != nil {
			errs = append(errs, err)
		}
		if outOfTime(err) {
			break // the next request would wait as long
		}
	}
	return changes, errors.Join(errs...)
}

// setUp makes one table, or what is missing of it.
func setUp(ctx context.Context, admin Admin, t Table) ([]Change, error) {
	live, err := liveFamilies(ctx, admin, t.ID)
	if status.Code(err) == codes.NotFound {
		err = create(ctx, admin, t)
		if err == nil {
			return created(t), nil
		}
		if status.Code(err) != codes.AlreadyExists {
			return nil, fmt.Errorf("creating table %s: %w", t.ID, err)
		}
		live, err = liveFamilies(ctx, admin, t.ID) // somebody else was faster
	}
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.ID, err)
	}
	return completed(ctx, admin, t, live)
}

// create makes the table with all its families.
func create(ctx context.Context, admin Admin, t Table) error {
	conf := &bigtable.TableConf{TableID: t.ID, ColumnFamilies: map[string]bigtable.Family{}}
	for _, f := range t.Families {
		conf.ColumnFamilies[f.Name] = bigtable.Family{GCPolicy: policy(f.GC)}
	}
	return admin.CreateTableFromConf(ctx, conf)
}

// created lists the changes of a table that was made.
func created(t Table) []Change {
	changes := []Change{{Table: t.ID}}
	for _, f := range t.Families {
		changes = append(changes, Change{Table: t.ID, Family: f.Name, GC: f.GC})
	}
	return changes
}

// completed makes the families that the table lacks and compares the others.
func completed(ctx context.Context, admin Admin, t Table, live map[string]codec.GCRule) ([]Change, error) {
	var changes []Change
	var errs []error
	for _, f := range t.Families {
		have, found := live[f.Name]
		if !found {
			err := admin.CreateColumnFamilyWithConfig(ctx, t.ID, f.Name, bigtable.Family{GCPolicy: policy(f.GC)})
			if err == nil {
				changes = append(changes, Change{Table: t.ID, Family: f.Name, GC: f.GC})
				continue
			}
			if have, err = liveFamily(ctx, admin, t.ID, f.Name, err); err != nil {
				errs = append(errs, fmt.Errorf("creating family %s of table %s: %w", f.Name, t.ID, err))
				if outOfTime(err) {
					break
				}
				continue
			}
		}
		if !have.Equal(f.GC) {
			errs = append(errs, &GCRuleError{Table: t.ID, Family: f.Name, Have: have, Want: f.GC})
		}
	}
	return changes, errors.Join(errs...)
}

// liveFamily returns the rule of a family that somebody else made in the
// meantime, or the error that making it gave.
func liveFamily(ctx context.Context, admin Admin, table, family string, failed error) (codec.GCRule, error) {
	if status.Code(failed) != codes.AlreadyExists {
		return codec.GCRule{}, failed
	}
	live, err := liveFamilies(ctx, admin, table)
	if err != nil {
		return codec.GCRule{}, err
	}
	rule, found := live[family]
	if !found {
		return codec.GCRule{}, failed
	}
	return rule, nil
}

// liveFamilies returns the families that the table has.
func liveFamilies(ctx context.Context, admin Admin, table string) (map[string]codec.GCRule, error) {
	info, err := admin.TableInfo(ctx, table)
	if err != nil {
		return nil, err
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

func (p patient) TableInfo(ctx context.Context, table string) (info *bigtable.TableInfo, err error) {
	err = p.do(ctx, func(ctx context.Context) (err error) {
		info, err = p.admin.TableInfo(ctx, table)
		return err
	})
	return info, err
}

func (p patient) CreateTableFromConf(ctx context.Context, conf *bigtable.TableConf) error {
	return p.do(ctx, func(ctx context.Context) error { return p.admin.CreateTableFromConf(ctx, conf) })
}

func (p patient) CreateColumnFamilyWithConfig(ctx context.Context, table, family string, config bigtable.Family) error {
	return p.do(ctx, func(ctx context.Context) error {
		return p.admin.CreateColumnFamilyWithConfig(ctx, table, family, config)
	})
}

// do calls f again while that may help, until its time is up: the client does
// not, for calls that make something.
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
		case <-time.After(wait):
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// passing reports whether a call that failed may succeed later: the service
// cannot be reached, or somebody else changes the table, for which the service
// has no code of its own.
func passing(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable:
		return true
	case codes.FailedPrecondition:
		return strings.Contains(err.Error(), "concurrent modification")
	}
	return false
}

// outOfTime reports whether a request ended with its context.
func outOfTime(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
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
