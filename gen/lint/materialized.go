package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The sources of the rules for continuous materialized views, read on 2026-11-25.
const (
	viewPage      = "https://cloud.google.com/bigtable/docs/continuous-materialized-views"
	viewQueryPage = "https://cloud.google.com/bigtable/docs/continuous-materialized-view-queries"
)

// Limits of continuous materialized views, from these sources.
const (
	maxViews    = 5       // of a table
	maxSelected = 1 << 20 // bytes of a row, in the columns of the query
)

// viewRules are the rules for continuous materialized views.
func viewRules() []Rule {
	return []Rule{
		{
			ID: "C10", Title: "a materialized view of columns that GoogleSQL cannot aggregate", Limit: true, Source: viewQueryPage, check: unreadableView,
			Reason: "The query of a view names columns. It reads the series values from the columns of a structured row key, and the fields of events in protobuf with a schema bundle. It cannot aggregate columns that are named after values or times.",
			Fix:    "Add `row_key_schema: true`, and `schema_bundle` for events in protobuf; or use a pattern whose columns are named by fields.",
		},
		{
			ID: "L16", Severity: diag.Warning, Title: "more than five materialized views of a table", Source: viewPage, check: manyViews,
			Reason: "Bigtable creates up to five for each table. Each layout by time in the table takes one of its own.",
			Fix:    "Combine views with the same groups, or request a higher limit from Google, and allow the rule.",
		},
		{
			ID: "L17", Severity: diag.Warning, Title: "rows that are too large for a materialized view", Source: viewQueryPage, check: largeViewRows,
			Reason: "A row of which the query selects more than 1 MiB is left out of the view, silently: only the metric materialized_view/user_errors counts it. With versions of cells, the query selects all events of a bucket.",
			Fix:    "Use narrower buckets, or list the `fields` that the view needs.",
		},
		{
			ID: "T22", Severity: diag.Warning, Title: "a materialized view with windows that outlive its events", Source: viewPage, check: lastingView,
			Reason: "A view has no garbage collection of its own: when Bigtable deletes an event, the statistics of its window change. Windows that are wider than the time to live are never complete.",
			Fix:    "Use narrower windows or a longer `ttl`; or write statistics that are to outlive events to a table of their own, with `windows` of generated readers.",
		},
	}
}

// unreadableView is C10: what a view cannot read.
func unreadableView(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, v := range t.Views {
		for _, p := range t.Periods() {
			switch {
			case p.ID != t.ID:
			case p.Pattern.Naming() != codec.NamedByField:
				report.at(v.Pos, "remove the view, or use a pattern whose columns are named by fields",
					"materialized view %q cannot read the events: columns of %s are not named by fields", v.ID, p.Pattern)
			case p.KeyFields == nil:
				report.at(v.Pos, "add `row_key_schema: true`", "materialized view %q cannot read the series values: the table has no row key schema", v.ID)
			case p.Blob == layout.Protobuf && (t.Bundle.ID == "" || t.Bundle.Drop):
				report.at(v.Pos, "add `schema_bundle: events`", "materialized view %q cannot read the fields: events are in protobuf, without a schema bundle", v.ID)
			default:
				continue
			}
			break
		}
	}
}

// manyViews is L16: Bigtable's limit.
func manyViews(_ *layout.Layout, t *layout.Table, report reporter) {
	layouts := 0
	for _, p := range t.Periods() {
		if p.ID == t.ID {
			layouts++
		}
	}
	if n := len(t.Views) * layouts; n > maxViews {
		of := ""
		if layouts > 1 {
			of = fmt.Sprintf(", one for each of %d layouts by time", layouts)
		}
		report.at(t.Views[len(t.Views)-1].Pos, "remove some; or allow it, if Google has raised the limit: "+allow("L16", "the limit is raised"),
			"table %q has %d materialized views%s: Bigtable creates up to %d", t.ID, n, of, maxViews)
	}
}

// largeViewRows is L17: rows that views leave out.
func largeViewRows(l *layout.Layout, t *layout.Table, report reporter) {
	for _, v := range t.Views {
		selected := selectedBytes(t, &v, report.size())
		if selected <= maxSelected || t.Pattern.Naming() != codec.NamedByField {
			continue
		}
		var hints []string
		if !t.Serialized() {
			hints = append(hints, "list fewer fields in the view")
		}
		for _, width := range t.Narrower() {
			other := t.WithBucket(l, width)
			if width%l.Precision == 0 && selectedBytes(other, &v, estimate.Of(l, other)) <= maxSelected {
				hints = append(hints, "use "+report.bucket(t, other))
				break
			}
		}
		if hints == nil {
			hints = []string{"use a pattern with a row per event"}
		}
		report.at(v.Pos, declared(l, strings.Join(hints, ", or ")), "a full row has about %s for materialized view %q, which leaves out rows with more than 1 MiB", words.Size(selected), v.ID)
	}
}

// selectedBytes returns the typical size of what a view selects of a full row.
func selectedBytes(t *layout.Table, v *layout.MaterializedView, e estimate.Estimate) float64 {
	total := 0.0
	for i, c := range t.Columns {
		selects := c.Field == layout.WholeEvent
		for _, f := range v.Fields {
			selects = selects || c.Field == f
		}
		if selects && i < len(e.Cells) {
			total += e.Cells[i].Value.Typical + 8 // the timestamp
		}
	}
	return total * e.EventsPerRow
}

// lastingView is T22: windows that are never complete.
func lastingView(_ *layout.Layout, t *layout.Table, report reporter) {
	_, longest := t.Ages()
	for _, v := range t.Views {
		if width := v.Widest(); longest > 0 && width > max(longest, time.Minute) {
			report.at(v.Pos, "use narrower windows, such as `every: 1h`, or a longer ttl",
				"windows of %s of materialized view %q are never complete: events are deleted after %s", v.Every, v.ID, schema.FormatDuration(longest))
		}
	}
}
