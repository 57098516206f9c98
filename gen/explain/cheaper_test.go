package explain_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// lastingSchema returns a random schema with a table of cells that live long.
func lastingSchema(t *rapid.T) string {
	pick := func(label string, words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("btgen: v1\npackage: app\nname: Reading\nseries: {plant: string, machine: {type: %s}}\ntime: {precision: %s}\nfields:",
		pick("machine", "int64", "string", "uuid", "enum, of: [a, b]"), pick("precision", "1s", "1m", "1us"))
	names := pick("names", "value%d", "on%d", "Value %d")
	if names == "Value %d" {
		names = "x%d"
		line("  label: {type: string, column: \"A b#\", doc: \"# no: {comment}\"}")
	}
	numbered := pick("numbered", "", ", number: %d")
	for i := range rapid.IntRange(2, 8).Draw(t, "fields") {
		field := "type: " + pick("type", "int64", "float64", "int32", "uint32", "bool", "string", "bytes", "timestamp", "duration", "uuid", "json", "enum, of: [up, down]")
		if numbered != "" {
			field += fmt.Sprintf(numbered, i+3)
		}
		field += pick("more", "", "", ", optional: true", ", unit: °C", fmt.Sprintf(", column: c%d", i), fmt.Sprintf(", was: [old%d]", i), ", values: text", ", doc: 'it''s'", ", values: big_endian")
		line("  "+names+": {%s}", i, field)
	}
	line("expect: {series: %s, rate: %s}\ntables:\n  %s:\n    doc: %q", pick("series", "1", "500", "1000000"), pick("rate", "1/s", "1/m", "1/1h"), pick("table", "readings", "true", "1st-Table.x"), "a \"table\"\nof # readings")
	segments := []string{pick("first", "plant", "{const: v1}, plant", "{hash: [plant, machine], buckets: 16}, plant"), "machine"}
	if pick("pattern", "rows", "cells") == "rows" {
		segments = append(segments, pick("time", "time", "{time: unix_s, reverse: true}", "{time: unix_ms}", `{time: "2006-01-02T15:04:05.000000"}`, "{time: unix_ms, reverse: max_int64}"))
		line("    pattern: single_unserialized")
	} else {
		segments = append(segments, pick("bucket segment", "bucket", "bucket", "{bucket: unix_s}", "{bucket: unix_ms, reverse: true}"))
		line("    pattern: bucket_new_cells\n    bucket: %s", pick("bucket", "1h", "1d", "1w", "1mo", "1y", "{every: 1w, label: iso_week}", `{every: 1w, label: "week%04d", origin: 2021-03-01}`, "{every: 1h, origin: 2021-03-01T00:30:00Z}", `{every: 1d, label: "20060102"}`))
	}
	line("    key: {delimiter: %q, segments: [%s]}", pick("delimiter", "#", "|", "::"), strings.Join(segments, ", "))
	if pick("families", "one", "classes") == "one" {
		line("    family: %s", pick("family", "m", `"1"`, "m-x"))
		line("    ttl: %s", pick("ttl", "{max_age: 730d}", "{keep: forever}", "{max_age: 90d}", "{any_of: [{max_age: 400d}, {max_age: 3y}]}"))
	} else {
		line("    ttl: {classes: {short: 100d, long: 3y}}")
	}
	for _, more := range []string{"values: text", "values: big_endian", "row_key_schema: true", "deletion_protection: true", "splits: [a, \"g#\"]", "tier: {infrequent_access: {after: 60d}}",
		"allow: {C07: \"is: retried\", C01: \"few\"}", "draft: true"} {
		if rapid.IntRange(1, 4).Draw(t, more) == 1 {
			line("    %s", more)
		}
	}
	return b.String()
}

// block matches a key of the top level, or one of the tables, with all lines below it.
func block(indent, key string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^` + indent + regexp.QuoteMeta(key) + `:.*\n(?:` + indent + ` +.*\n)*`)
}

// paste replaces the parts of a schema with those that have the same keys in a proposal.
func paste(text string, lines []string, since string) string {
	proposed := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "SINCE", since)
	for _, key := range []string{"fields", "tables"} {
		if part := block("", key).FindString(proposed); part != "" {
			text = block("", key).ReplaceAllLiteralString(text, part)
		}
	}
	return text
}

// Every layout that is proposed for later events is accepted when it is pasted, at the times that the
// proposal names, and changes nothing of what is stored.
func TestProposalsArePasted(t *testing.T) {
	schemas := rapid.Custom(lastingSchema)
	valid, proposals, drafts := 0, 0, 0
	for seed := range testlong.Pick(100, 3000) {
		text := schemas.Example(seed)
		r := gen.Resolve([]gen.Input{{Name: "reading.yaml", Text: []byte(text)}})
		if r.Diagnostics.HasErrors() {
			continue
		}
		valid++
		doc, err := explain.New(r.Schemas, r.Layouts, explain.Options{})
		must(t, err)
		for _, c := range sections(doc.Sections, "a cheaper layout") {
			proposals++
			if r.Layouts[0].Tables[0].Draft {
				drafts++
			}
			checkProposal(t, text, &r, c)
		}
	}
	t.Logf("%d proposals for %d schemas, %d of drafts", proposals, valid, drafts)
	if proposals < valid/4 || drafts == 0 {
		t.Error("too few")
	}
}

// times are the times that a proposal names.
var times = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)

// checkProposal pastes a proposal into its schema.
func checkProposal(t *testing.T, text string, r *gen.Result, c *document.Section) {
	t.Helper()
	was, means := r.Layouts[0].Tables[0], c.Parts[0].Paragraph.Text
	starts := times.FindAllString(means, -1)
	assert.Same(t, len(starts) == 0, was.Draft, means)
	if was.Draft {
		starts = []string{""}
	}
	for _, since := range starts {
		pasted := paste(text, c.Parts[1].Code, since)
		after := gen.Resolve([]gen.Input{{Name: "reading.yaml", Text: []byte(pasted)}})
		if after.Diagnostics.HasErrors() {
			t.Errorf("since %s: %v\n%s\nbecomes\n%s", since, after.Diagnostics, text, pasted)
			continue
		}
		for _, d := range after.Diagnostics {
			if strings.HasPrefix(d.Message, "unused allow") {
				t.Errorf("%s\n%s", d.Message, pasted)
			}
		}
		changes := evolve.Diff(evolve.Input{Old: evolve.LockOf(r.Layouts), Layouts: after.Layouts, Whole: true, Gone: func(*lock.Table) diag.Pos { return diag.Pos{} }})
		for _, f := range changes.Findings {
			if f.Rule.Class == evolve.Data {
				t.Errorf("since %s: %s\n%s\nbecomes\n%s", since, f.Diagnostic.Message, text, pasted)
			}
		}
		if is := after.Layouts[0].Tables[0]; is.Pattern != codec.BucketSerialized || is.Doc != was.Doc || !slices.Equal(is.Splits, was.Splits) || is.Tier != was.Tier {
			t.Errorf("%+v\n%s", is, pasted)
		}
	}
}
