package setup_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// queries are the views of an instance that are queries, by ID, or an error.
type queries struct {
	logical, materialized map[string]string
	err                   error
}

func (q queries) LogicalViews(context.Context, string) ([]bigtable.LogicalViewInfo, error) {
	var out []bigtable.LogicalViewInfo
	for id, text := range q.logical {
		out = append(out, bigtable.LogicalViewInfo{LogicalViewID: id, Query: text})
	}
	return out, q.err
}

func (q queries) MaterializedViews(context.Context, string) ([]bigtable.MaterializedViewInfo, error) {
	var out []bigtable.MaterializedViewInfo
	for id, text := range q.materialized {
		out = append(out, bigtable.MaterializedViewInfo{MaterializedViewID: id, Query: text})
	}
	return out, q.err
}

// Texts that views have in common.
const (
	breaks = ", which the schemas do not have: new events are not there, and the view breaks if they are deleted"
	reads  = "? logical view v of table x_t, left alone: it reads the table"
	sees   = "programs that use it see only its rows and columns"
	lacks  = "events that are read through it lack "
)

// described returns the lines of a plan for views.
func described(all []setup.Unmanaged) string {
	s := ""
	for _, u := range all {
		s += strings.TrimPrefix(u.String(), "? authorized view v of table x_t, left alone: ") + "\n"
	}
	return strings.TrimSuffix(s, "\n")
}

// TestAuthorizedViews describes authorized views of a table with columns of fields, and of one whose columns are values.
func TestAuthorizedViews(t *testing.T) {
	all := bigtable.FamilySubset{QualifierPrefixes: [][]byte{{}}}
	only := func(names ...string) (s bigtable.FamilySubset) {
		for _, name := range names {
			s.Qualifiers = append(s.Qualifiers, []byte(name))
		}
		return s
	}
	two, classes := laidOut(daily+mem), laidOut(`pattern: bucket_new_cells; family m: class; family n: class; column "cpu": float64`)
	renamed := laidOut(daily + `; column "cpu" in n: float64 in n; family n: events` + "\n" + until(newYear, daily))
	values := laidOut(strings.Replace(daily, "bucket_new_cells", "bucket_new_columns", 1))
	for _, tt := range []struct {
		name  string
		table store.Table
		of    map[string]bigtable.FamilySubset
		want  string
	}{
		{"everything", two, map[string]bigtable.FamilySubset{"m": all}, sees},
		{"a prefix", two, map[string]bigtable.FamilySubset{"m": {QualifierPrefixes: [][]byte{[]byte("c")}}}, lacks + "m:mem, and writes of these fail"},
		{"all columns", two, map[string]bigtable.FamilySubset{"m": only("cpu", "mem")}, sees},
		{"a new field", two, map[string]bigtable.FamilySubset{"m": only("cpu")}, lacks + "m:mem, and writes of these fail"},
		{
			"a renamed field", two, map[string]bigtable.FamilySubset{"m": only("cpu", "memory", "swap")},
			lacks + "m:mem, and writes of these fail; it names m:memory, m:swap" + breaks,
		},
		{"another family", two, map[string]bigtable.FamilySubset{"m": all, "n": only("cpu")}, sees + "; it names family n" + breaks},
		{"no family", two, nil, lacks + "m:cpu, m:mem, and writes of these fail"},
		{"classes", classes, map[string]bigtable.FamilySubset{"m": only("cpu")}, lacks + "n:cpu, and writes of these fail"},
		{"older columns and layouts", renamed, map[string]bigtable.FamilySubset{"n": only("cpu")}, lacks + "m:cpu, and writes of these fail"},
		{"values", values, map[string]bigtable.FamilySubset{"m": only("5")}, sees},
	} {
		b := start(t)
		o := setup.Options{TablePrefix: "x_"}
		_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{tt.table}, o)
		must(t, err)
		conf := &bigtable.SubsetViewConf{FamilySubsets: tt.of, RowPrefixes: [][]byte{{}}}
		must(t, b.Admin.CreateAuthorizedView(t.Context(), &bigtable.AuthorizedViewConf{TableID: "x_t", AuthorizedViewID: "v", AuthorizedView: conf}))
		found, err := setup.Views(t.Context(), b.Admin, nil, "", []store.Table{tt.table, {ID: "none"}}, o)
		must(t, err)
		same(t, tt.name, described(found), tt.want)
	}
}

// TestQueryViews describes views that are queries.
func TestQueryViews(t *testing.T) {
	b := start(t)
	for query, want := range map[string]string{
		"SELECT * FROM x_t":                                      reads,
		"SELECT _key, m['cpu'] FROM `x_t`":                       reads,
		"SELECT m[\"mem\"] FROM `p.i.x_t`":                       reads + "; it names m:mem" + breaks,
		"SELECT `m` [ 'old' ], n['cpu'], m['cpu'] FROM x_t AS a": reads + "; it names family n, m:old" + breaks,
		"SELECT m['mem'] FROM x_tt":                              "",
		"SELECT n['a'] FROM x_t JOIN other ON true":              reads,
		"SELECT 1": "",
		"SELECT m['cpu'] FROM other WHERE s = 'x_t is in a string'": reads, // rather one too many
	} {
		found, err := setup.Views(t.Context(), b.Admin, queries{logical: map[string]string{"v": query}}, "i", []store.Table{laidOut(daily)}, setup.Options{TablePrefix: "x_"})
		must(t, err)
		same(t, query, described(found), want)
	}
	all := queries{map[string]string{"b": "SELECT 1 FROM t", "a": "SELECT 2 FROM t"}, map[string]string{"hours": "SELECT n['a'] FROM t"}, nil}
	found, err := setup.Views(t.Context(), b.Admin, all, "i", []store.Table{laidOut(daily)})
	must(t, err)
	same(t, "all", described(found), "? logical view a of table t, left alone: it reads the table\n? logical view b of table t, left alone: it reads the table\n"+
		"? materialized view hours of table t, left alone: Bigtable does not delete the table before it; it names family n"+breaks)
}

// TestUnlistedViews lists views without permission, and when the service fails.
func TestUnlistedViews(t *testing.T) {
	b := start(t)
	for code, fails := range map[codes.Code]bool{codes.PermissionDenied: false, codes.Unimplemented: false, codes.NotFound: false, codes.Internal: true} {
		found, err := setup.Views(t.Context(), b.Admin, queries{err: status.Error(code, "no")}, "i", []store.Table{laidOut(daily)})
		if found != nil || (err != nil) != fails {
			t.Errorf("%s: %v, %v", code, found, err)
		}
		if fails && !strings.Contains(fmt.Sprint(err), "listing the views: ") {
			t.Errorf("%s: %v", code, err)
		}
	}
}
