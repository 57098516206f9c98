package neighbor

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/googlesql"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// logicalViews renders the views of all layouts with a row key schema.
func (r *renderer) logicalViews() {
	live := r.live()
	names := r.unique(live, "GoogleSQL", words.Identifier)
	views := 0
	for _, t := range live {
		for _, l := range t.Layouts {
			if l.Table.KeyFields == nil {
				continue
			}
			views++
			name := names[t.ID]
			if t.Shared() {
				name += "_" + words.Snake(l.Schema.Name)
			}
			name += googlesql.Suffix(l.Table)
			create := fmt.Sprintf("logical-views create %s_view", name)
			const about = "It also has events that have expired, until Bigtable removes their cells. Columns without a value are NULL."
			r.view("logical_views", name, l, viewAbout(l), create, about, googlesql.Logical(&t, l))
		}
	}
	if views == 0 {
		r.found.Warnf(r.config.LogicalViews.Pos, "there are no logical views, because no table has a row key schema").Hint = "write `row_key_schema: true` in a table, or remove logical_views"
	}
}

// materializedViews renders the queries of continuous materialized views.
func (r *renderer) materializedViews() {
	views, found := googlesql.Materialized(r.tables)
	r.found = append(r.found, found...)
	for _, v := range views {
		create := fmt.Sprintf("materialized-views create %s", v.ID)
		const about = "The view follows the garbage collection of the table: when Bigtable removes an event, its statistics change. Its query cannot be changed. It leaves out, without a word, rows of which it selects or outputs more than 1 MiB, or outputs over ten times what it selects, and those with numbers that overflow; NaN and infinities are in no statistics."
		r.view("materialized_views", v.ID, v.Layout, materializedAbout(&v), create, about, v.Query)
	}
}

// view adds the file of a view of a layout: what it has, the command that creates it, and its query.
func (r *renderer) view(folder, name string, l layout.StoredLayout, has, create, about string, q googlesql.Query) {
	var b strings.Builder
	b.WriteString(comment("--", "%s", has))
	b.WriteString("--\n-- To create the view, run:\n--\n")
	fmt.Fprintf(&b, "--   gcloud bigtable %s --instance=INSTANCE --query=\"$(cat %s.sql)\"\n--\n", create, name)
	b.WriteString(comment("--", "%s", about))
	for _, remark := range q.Remarks {
		b.WriteString(comment("--", "%s", remark))
	}
	record := recordOf(layout.StoredTable{Layouts: []layout.StoredLayout{l}})
	r.add(folder+"/"+name+".sql", record.HeadIn(output.SQL), b.String()+q.Text)
}

// viewAbout describes the rows of a logical view.
func viewAbout(l layout.StoredLayout) string {
	rows := "one row per event"
	if l.Table.Pattern.Naming() != codec.NamedByField {
		rows = "one row per row of the table"
	}
	if l.Table.Pattern.NewestOnly() {
		rows = "one row per version: only the newest of each row key is the state of now"
	}
	return fmt.Sprintf("The %s in table %s, %s.", eventsOf(l), l.Table.ID, rows)
}

// materializedAbout describes the rows of a materialized view.
func materializedAbout(v *googlesql.View) string {
	return fmt.Sprintf("Statistics of the %s in table %s, one row per %s.", eventsOf(v.Layout), v.Layout.Table.ID, words.List(v.Groups, "and"))
}

// eventsOf describes the events of a layout.
func eventsOf(l layout.StoredLayout) string {
	of := "events of " + l.Schema.Name
	if period := l.Table.Period(); period != "" {
		of += " " + period
	}
	return of
}
