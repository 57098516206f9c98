package setup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/store"
)

// AuthorizedViewLister lists the authorized views of tables. *bigtable.AdminClient implements it.
type AuthorizedViewLister interface {
	AuthorizedViews(ctx context.Context, table string) ([]string, error)
	AuthorizedViewInfo(ctx context.Context, table, view string) (*bigtable.AuthorizedViewInfo, error)
}

// QueryLister lists the views of an instance that are queries. *bigtable.InstanceAdminClient implements it.
type QueryLister interface {
	LogicalViews(ctx context.Context, instance string) ([]bigtable.LogicalViewInfo, error)
	MaterializedViews(ctx context.Context, instance string) ([]bigtable.MaterializedViewInfo, error)
}

// Views returns the views of tables for Plan.Unmanaged, and says which columns and families these name that the schemas do not
// have, and which columns of the schemas authorized ones lack. It takes the options of [Setup], and uses TablePrefix and Timeout.
// It leaves out what it may not list, and what an emulator does not have; queries is nil for authorized views only.
func Views(ctx context.Context, admin AuthorizedViewLister, queries QueryLister, instance string, tables []store.Table, opts ...Options) ([]Unmanaged, error) {
	o := defaults(opts)
	if noAdmin(admin) {
		return nil, ErrNoAdmin
	}
	tables, err := prepare(tables, o.TablePrefix)
	if err != nil {
		return nil, err
	}
	ctx, cancel := call.Within(ctx, o.Timeout)
	defer cancel()
	var logical []bigtable.LogicalViewInfo
	var materialized []bigtable.MaterializedViewInfo
	if queries != nil {
		var failed error
		logical, err = queries.LogicalViews(ctx, instance)
		materialized, failed = queries.MaterializedViews(ctx, instance)
		err = cmp.Or(listed(err), listed(failed))
	}
	var out []Unmanaged
	for _, t := range tables {
		v := viewed{Table: t, columns: columnsOf(t)}
		err = cmp.Or(err, listed(v.authorized(ctx, admin)))
		for _, l := range logical {
			v.query("logical view "+l.LogicalViewID, l.Query, "it reads the table")
		}
		for _, m := range materialized {
			v.query("materialized view "+m.MaterializedViewID, m.Query, "Bigtable does not delete the table before it")
		}
		slices.SortFunc(v.views, func(a, b Unmanaged) int { return strings.Compare(a.Part, b.Part) })
		out = append(out, v.views...)
	}
	if err != nil {
		return nil, fmt.Errorf("listing the views: %w", call.Explain(ctx, err))
	}
	return out, nil
}

// listed returns an error, unless it says that there is nothing to list for the caller.
func listed(err error) error {
	if slices.Contains([]codes.Code{codes.PermissionDenied, codes.Unimplemented, codes.NotFound}, status.Code(err)) {
		return nil
	}
	return err
}

// viewed is a table, and its views.
type viewed struct {
	store.Table
	columns map[string][]string // of the schemas, by family; empty if they are not those of fields
	views   []Unmanaged
}

// columnsOf returns the columns of the events in all layouts of a table.
func columnsOf(t store.Table) map[string][]string {
	out := map[string][]string{}
	all, err := layoutsOf(&t)
	for _, l := range slices.Concat(all...) {
		if err != nil || !l.Columns(out) {
			return nil
		}
	}
	return out
}

// add adds a view that names columns, as {family, qualifier}.
func (v *viewed) add(name, means string, names [][2]string) {
	unknown := map[string]bool{}
	for _, n := range names {
		switch has := v.columns[n[0]]; {
		case !slices.ContainsFunc(v.Families, func(f store.Family) bool { return f.Name == n[0] }):
			unknown["family "+n[0]] = true
		case has != nil && n[1] != "" && !slices.Contains(has, n[1]):
			unknown[n[0]+":"+n[1]] = true
		}
	}
	if len(unknown) > 0 {
		means += "; it names " + strings.Join(slices.Sorted(maps.Keys(unknown)), ", ") +
			", which the schemas do not have: new events are not there, and the view breaks if they are deleted"
	}
	v.views = append(v.views, Unmanaged{Table: v.ID, Part: name + " of " + where(v.ID, ""), Means: means})
}

// authorized adds the authorized views of the table.
func (v *viewed) authorized(ctx context.Context, admin AuthorizedViewLister) error {
	ids, err := admin.AuthorizedViews(ctx, v.ID)
	for _, id := range ids {
		info, err := admin.AuthorizedViewInfo(ctx, v.ID, id)
		if err != nil {
			return err
		}
		subset, _ := info.AuthorizedView.(*bigtable.SubsetViewInfo)
		if subset == nil {
			continue // the client knows no other
		}
		var names [][2]string
		for family, s := range subset.FamilySubsets {
			names = append(names, [2]string{family})
			for _, q := range s.Qualifiers {
				names = append(names, [2]string{family, string(q)})
			}
		}
		var lacks []string
		for family, columns := range v.columns {
			of := subset.FamilySubsets[family]
			for _, c := range columns {
				if !slices.ContainsFunc(of.Qualifiers, func(q []byte) bool { return string(q) == c }) &&
					!slices.ContainsFunc(of.QualifierPrefixes, func(p []byte) bool { return strings.HasPrefix(c, string(p)) }) {
					lacks = append(lacks, family+":"+c)
				}
			}
		}
		slices.Sort(lacks)
		means := "programs that use it see only its rows and columns"
		if lacks != nil {
			means = "events that are read through it lack " + strings.Join(slices.Compact(lacks), ", ") + ", and writes of these fail"
		}
		v.add("authorized view "+id, means, names)
	}
	return err
}

// sources matches what precedes a table in GoogleSQL, and little else.
var sources = regexp.MustCompile(`(?i)\b(from|join)\b`)

// named matches a name in GoogleSQL, or a column: a family with a qualifier.
var named = regexp.MustCompile("(`[^`]+`|[A-Za-z_]\\w*)(?:\\s*\\[\\s*(?:'([^']*)'|\"([^\"]*)\")\\s*\\])?")

// query adds a view that is a query, if that reads the table. Columns of one that may read several tables are not told apart.
func (v *viewed) query(name, query, means string) {
	var names [][2]string
	reads := false
	for _, m := range named.FindAllStringSubmatch(query, -1) {
		what := strings.Trim(m[1], "`")
		reads = reads || what == v.ID || strings.HasSuffix(what, "."+v.ID)
		if column := m[2] + m[3]; column != "" {
			names = append(names, [2]string{what, column})
		}
	}
	if len(sources.FindAllString(query, 2)) > 1 {
		names = nil
	}
	if reads {
		v.add(name, means, names)
	}
}
