package schema

import (
	"strings"
)

// MaterializedView is a continuous materialized view of a table: statistics of its events.
type MaterializedView struct {
	Name   Value[string]   // the ID of the view
	By     []Value[string] // series values
	Every  Value[Span]     // the width of windows of time; not set for all times
	Fields []Value[string] // with statistics; empty for all numbers
}

// viewWidths are the widths of windows: what TIMESTAMP_TRUNC has.
var viewWidths = []string{"1m", "1h", "1d", "1w", "1mo", "1y"}

// viewWidthForm is the form of the width of windows.
var viewWidthForm = parsed("a width of windows", "write `every: 1h`", func(s string) (Span, error) {
	for _, width := range viewWidths {
		if span, _ := parseSpan(width); s == width {
			return span, nil
		}
	}
	return Span{}, newProblem("bad-view-width", quote(s), strings.Join(viewWidths, ", "))
}).like(func(s *shape) { s.syntax = []string{"^(?:" + strings.Join(viewWidths, "|") + ")$"} })

var materializedBlock = block[MaterializedView]{
	what: "a materialized view",
	keys: []key[MaterializedView]{
		set("by", orEmpty(nameList("[location]")), func(v *MaterializedView) *[]Value[string] { return &v.By }),
		put("every", viewWidthForm, func(v *MaterializedView) *Value[Span] { return &v.Every }),
		set("fields", nameList("[temperature]"), func(v *MaterializedView) *[]Value[string] { return &v.Fields }),
	},
}

// materializedForm is the form of the materialized views of a table.
var materializedForm = named("a mapping from IDs of views to what they group", "write `materialized_views: {by_location: {by: [location], every: 1h}}`",
	idForm("the ID of a view", `^[_A-Za-z0-9][-_.A-Za-z0-9]{0,49}$`, "is up to 50 letters, digits and _ - .", "materialized_views: {by_location: {by: [location], every: 1h}}"),
	record(materializedBlock), func(v *MaterializedView) *Value[string] { return &v.Name })
