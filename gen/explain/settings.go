package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// setting is something that a schema states, by its name and in words. Comparisons have all settings, so that
// schemas without a difference mean the same; TestCompareSettings demands it.
type setting [2]string

// settingsOf lists what a schema states about its events and reads.
func settingsOf(s *schema.Schema, l *layout.Layout) []setting {
	out := []setting{{"precision", schema.FormatDuration(l.Precision)}}
	if l.Expect.Lateness > 0 {
		out = append(out, setting{"lateness", schema.FormatDuration(l.Expect.Lateness)})
	}
	if l.Expect.Clusters > 0 {
		out = append(out, setting{"clusters", strconv.FormatInt(l.Expect.Clusters, 10)})
	}
	for _, f := range s.Series {
		f.Doc = ""
		out = append(out, setting{"series value " + f.Name.V, f.String()})
	}
	for _, f := range s.Fields {
		f.Doc = ""
		out = append(out, setting{"field " + f.Name.V, f.String()})
	}
	for i := range l.Queries {
		out = append(out, setting{l.Queries[i].Name + " selects", strings.Join(given(l, &l.Queries[i]), ", ")})
	}
	for i := range s.Queries {
		out = append(out, querySettings(&s.Queries[i])...)
	}
	return out
}

// querySettings lists what a query states, apart from what callers give.
func querySettings(q *schema.Query) []setting {
	var out []setting
	for _, flag := range []struct {
		name string
		schema.Value[bool]
	}{{"series", q.Series}, {"delete", q.Delete}} {
		if flag.V {
			out = append(out, setting{q.Name.V + " " + flag.name, "true"})
		}
	}
	if q.Scan.V != "" {
		out = append(out, setting{q.Name.V + " scan", oneLine(q.Scan.V)})
	}
	for _, a := range q.Allow {
		out = append(out, setting{q.Name.V + " allows " + a.Rule.V, oneLine(a.Reason.V)})
	}
	return out
}

// tableSettings lists what a table states that its sizes do not show, with its earlier layouts.
func tableSettings(s *schema.Table, l *layout.Layout, t *layout.Table) []setting {
	out := layoutSettings(l, t)
	add := func(name, text string) {
		if text != "" {
			out = append(out, setting{name, text})
		}
	}
	if t.WriteOnly {
		add("serves", "false: reads do not use it yet")
	}
	if t.Draft {
		add("draft", "true")
	}
	if t.Protected != nil {
		add("deletion protection", strconv.FormatBool(*t.Protected))
	}
	add("splits", quoted(t.Splits))
	var columns []string
	for _, f := range t.KeyFields {
		columns = append(columns, f.String())
	}
	add("row key schema", strings.Join(columns, ", "))
	if s.Tier.Pos.IsValid() {
		add("tier", s.Tier.String())
	}
	if t.Bundle.ID != "" {
		add("schema bundle", s.Bundle.String())
	}
	for i := range s.Views {
		add("materialized view "+s.Views[i].Name.V, s.Views[i].String())
	}
	for _, a := range t.Allow {
		add("allows "+a.Rule, oneLine(a.Reason))
	}
	for _, p := range t.Older {
		add("pattern until "+instant(p.Until), p.ID+": "+p.Pattern.String())
		for _, of := range layoutSettings(l, p) {
			add(of[0]+" until "+instant(p.Until), of[1])
		}
	}
	return out
}

// layoutSettings lists what one layout of a table states.
func layoutSettings(l *layout.Layout, t *layout.Table) []setting {
	key := keyOf(l, t)
	out := []setting{{"row key", key.Form}, {"key segments", segmentsText(&key)}, {"example key", fmt.Sprintf("%s (%s)", key.Example.Show, words.Count(float64(len(key.Example.Hex)/2), "byte", "bytes"))}}
	if t.Pattern.Bucketed() && !t.Endless() && !t.Bucket.Origin.IsZero() {
		out = append(out, setting{"buckets from", instant(t.Bucket.Origin)})
	}
	for i := range t.Families {
		out = append(out, familySetting(l, &t.Families[i]))
	}
	out = append(out, rollupSettings(l, t)...)
	return append(out, columnSettings(l, t)...)
}

// columnSettings lists what columns have, by their families and names.
func columnSettings(l *layout.Layout, t *layout.Table) []setting {
	var out []setting
	for _, c := range t.AllColumns() {
		of := columnOf(l, t, c)
		name := "column " + of.Family + ":" + of.Name
		if i := slices.IndexFunc(out, func(s setting) bool { return s[0] == name }); i >= 0 { // named by times, for example
			out[i][1] += "; " + of.Means
			continue
		}
		out = append(out, setting{name, of.Means})
	}
	return out
}

// familySetting is what a family keeps, and until when.
func familySetting(l *layout.Layout, f *layout.Family) setting {
	of := familyOf(l, f)
	text := of.Collected + ": " + of.GC + "; timestamps are " + of.Timestamp
	if of.Class != "" {
		text = "class " + of.Class + ", " + text
	}
	return setting{"family " + f.Name, text}
}

// rollupSettings lists what a rollup states; nothing without one.
func rollupSettings(l *layout.Layout, t *layout.Table) []setting {
	r := t.Rollup
	if r == nil {
		return nil
	}
	fields, serves := "all", "true"
	if r.Fields != nil {
		fields = strings.Join(r.Fields, ", ")
	}
	if r.Idle {
		serves = "false: reads do not use it yet"
	}
	return []setting{
		familySetting(l, t.RollupFamily), {"rollup every", schema.FormatDuration(r.Every)}, {"rollup fields", fields},
		{"rollup after", schema.FormatDuration(r.After)}, {"rollup serves", serves},
	}
}

// segmentsText describes the segments of a row key.
func segmentsText(key *Key) string {
	var out []string
	for i := range key.Segments {
		g := &key.Segments[i]
		text := g.Means
		if g.Kind == kinds[codec.SeriesSegment] {
			text = g.Name + ": " + text
		}
		if g.Joined {
			text += ", joined to the next"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// quoted lists strings, each in quotes.
func quoted(all []string) string {
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return strings.Join(out, ", ")
}
