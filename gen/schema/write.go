package schema

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file writes parts of a schema in the language, for hints. Parse reads them back.

// entries are the entries of a mapping in flow style.
type entries []string

// add adds an entry.
func (e *entries) add(key, value string) { *e = append(*e, key+": "+value) }

// text adds an entry if its value is set.
func (e *entries) text(key string, v Value[string]) {
	if v.IsSet() {
		e.add(key, Quoted(v.V))
	}
}

// prose adds an entry if its value is not empty.
func (e *entries) prose(key, v string) {
	if v != "" {
		e.add(key, Quoted(v))
	}
}

// String returns the mapping.
func (e entries) String() string { return "{" + strings.Join(e, ", ") + "}" }

// bareText matches strings that need no quotes in YAML, including flow style.
var bareText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// notText are words that some YAML parsers do not read as strings.
var notText = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}

// Quoted returns a string as a YAML scalar, in quotes if it needs them.
func Quoted(s string) string {
	if bareText.MatchString(s) && !slices.Contains(notText, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}

// String returns the value of a series value or a field in the schema language, without
// its name: only the type if nothing else is set.
func (f Field) String() string {
	e := entries{"type: " + f.Type.V.String()}
	if len(f.Of) > 0 {
		e.add("of", enumText(f.Of))
	}
	e.prose("doc", f.Doc)
	e.prose("unit", f.Unit)
	if f.Optional.IsSet() {
		e.add("optional", strconv.FormatBool(f.Optional.V))
	}
	if f.Default.IsSet() {
		e.add("default", valueText(f.Default.V))
	}
	if f.Example.IsSet() {
		e.add("example", valueText(f.Example.V))
	}
	if f.Cardinality.IsSet() {
		e.add("cardinality", strconv.FormatInt(f.Cardinality.V, 10))
	}
	e.text("column", f.Column)
	e.text("family", f.Family)
	e.text("values", f.Values)
	if f.Number.IsSet() {
		e.add("number", strconv.Itoa(f.Number.V))
	}
	if len(f.Was) > 0 {
		e.add("was", wasText(f.Was))
	}
	if len(e) == 1 {
		return f.Type.V.String()
	}
	return e.String()
}

// enumText returns the values of an enum, with their numbers if the file has them.
func enumText(values []EnumValue) string {
	var names []string
	var numbered entries
	for _, v := range values {
		names = append(names, Quoted(v.Name.V))
		numbered.add(Quoted(v.Name.V), strconv.Itoa(v.Number.V))
	}
	if values[0].Number.IsSet() {
		return numbered.String()
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// valueText returns a default or an example in the schema language.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return Quoted(v)
	case []byte:
		return strconv.Quote(base64.StdEncoding.EncodeToString(v))
	case time.Time:
		return strconv.Quote(v.Format(time.RFC3339Nano))
	case time.Duration:
		return FormatDuration(v)
	}
	return fmt.Sprint(v)
}

// String returns the bucket in the schema language: only its width if nothing else is set.
func (b Bucket) String() string {
	e := entries{"every: " + b.Every.V.String()}
	if b.Origin.IsSet() {
		e.add("origin", originText(b.Origin.V))
	}
	e.text("label", b.Label)
	if len(e) == 1 {
		return b.Every.V.String()
	}
	return e.String()
}

// originText returns an origin in the schema language: only the date if it is midnight.
func originText(t time.Time) string {
	if t.Equal(t.Truncate(day)) {
		return t.Format(time.DateOnly)
	}
	return strconv.Quote(t.Format(time.RFC3339Nano))
}

// String returns the blob in the schema language.
func (b Blob) String() string {
	var e entries
	e.text("column", b.Column)
	e.text("format", b.Format)
	return e.String()
}

// String returns the ttl in the schema language.
func (t TTL) String() string {
	var e entries
	switch t.Kind {
	case MaxAge:
		e.add("max_age", FormatDuration(t.Age.V))
		e.text("from", t.From)
	case MaxVersions:
		e.add("max_versions", strconv.Itoa(t.Versions.V))
		e.text("from", t.From)
	case AnyOf, AllOf:
		var rules []string
		for _, r := range t.Rules {
			rules = append(rules, r.String())
		}
		e.add(map[TTLKind]string{AnyOf: "any_of", AllOf: "all_of"}[t.Kind], "["+strings.Join(rules, ", ")+"]")
	case OneSecond:
		e.add("one_second", "{}")
		e.text("written_at", t.WrittenAt)
	case DefaultExpiration:
		e.add("default_expiration", FormatDuration(t.Age.V))
		e.text("written_at", t.WrittenAt)
	case Classes:
		var classes entries
		for _, c := range t.Classes {
			classes.add(Quoted(c.Name.V), FormatDuration(c.Age.V))
		}
		e.add("classes", classes.String())
	case KeepForever:
		e.add("keep", "forever")
		e.text("from", t.From)
	}
	return e.String()
}

// KeyText returns the key of the table in the schema language, with the given segments in
// place of its own.
func (t *Table) KeyText(segments []string) string {
	var e entries
	e.text("delimiter", t.Delimiter)
	e.add("segments", "["+strings.Join(segments, ", ")+"]")
	return e.String()
}

// SegmentTexts returns each segment of the key in the schema language.
func (t *Table) SegmentTexts() []string {
	var out []string
	for _, g := range t.Segments {
		out = append(out, g.String())
	}
	return out
}

// Lines returns the lines of a table in the schema language: a copy of t with the given
// name and key segments, without doc, splits, earlier layouts and allow.
func (t *Table) Lines(name string, segments []string) []string {
	out := []string{Quoted(name) + ":"}
	add := func(key, value string) { out = append(out, "  "+key+": "+value) }
	add("pattern", t.Pattern.V)
	add("key", t.KeyText(segments))
	if t.Bucket.Pos.IsValid() {
		add("bucket", t.Bucket.String())
	}
	if t.Family.IsSet() {
		add("family", Quoted(t.Family.V))
	}
	if len(t.Families) > 0 {
		var families entries
		for _, f := range t.Families {
			var ttl entries
			if f.TTL != nil {
				ttl.add("ttl", f.TTL.String())
			}
			families.add(Quoted(f.Name.V), ttl.String())
		}
		add("families", families.String())
	}
	if t.Values.IsSet() {
		add("values", t.Values.V)
	}
	if t.Blob.Pos.IsValid() {
		add("blob", t.Blob.String())
	}
	if t.TTL != nil {
		add("ttl", t.TTL.String())
	}
	if t.Rollup.Pos.IsValid() {
		add("rollup", t.Rollup.String())
	}
	if t.RowKeySchema.V {
		add("row_key_schema", "true")
	}
	if t.DeletionProtection.IsSet() {
		add("deletion_protection", strconv.FormatBool(t.DeletionProtection.V))
	}
	if t.Tier.Pos.IsValid() {
		add("tier", t.Tier.String())
	}
	if t.Bundle.Pos.IsValid() {
		add("schema_bundle", t.Bundle.String())
	}
	if len(t.Views) > 0 {
		var views entries
		for i := range t.Views {
			views.add(Quoted(t.Views[i].Name.V), t.Views[i].String())
		}
		add("materialized_views", views.String())
	}
	if t.Draft.V {
		add("draft", "true")
	}
	return out
}

// Whole returns the lines of the table in the schema language, without earlier layouts.
func (t *Table) Whole() []string {
	out := t.Lines(t.Name.V, t.SegmentTexts())
	add := func(key, value string) { out = append(out, "  "+key+": "+value) }
	if t.Doc != "" {
		add("doc", Quoted(t.Doc))
	}
	if len(t.Splits) > 0 {
		var keys []string
		for _, key := range t.Splits {
			keys = append(keys, Quoted(key.V))
		}
		add("splits", "["+strings.Join(keys, ", ")+"]")
	}
	if t.Serves.IsSet() {
		add("serves", strconv.FormatBool(t.Serves.V))
	}
	if len(t.Allow) > 0 {
		var allow entries
		for _, a := range t.Allow {
			allow.add(a.Rule.V, Quoted(a.Reason.V))
		}
		add("allow", allow.String())
	}
	return out
}

// EarlierText returns the entry of before for t, below a layout that replaces it in the same table and
// families, and with the same ttl.
func (t *Table) EarlierText(newer *Table) string {
	var e entries
	e.add("pattern", t.Pattern.V)
	if key := t.KeyText(t.SegmentTexts()); key != newer.KeyText(newer.SegmentTexts()) {
		e.add("key", key)
	}
	if t.Bucket.Pos.IsValid() && t.Bucket.String() != newer.Bucket.String() {
		e.add("bucket", t.Bucket.String())
	}
	e.text("values", t.Values)
	return e.String()
}
