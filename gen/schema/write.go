package schema

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// This file writes parts of a schema in the language, for hints, as the tables describe it. Parse reads them back.

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

// valueText returns a scalar in the language.
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

// writtenField is the form of series values and of fields.
var writtenField = short(block[Field]{keys: append(slices.Clip(fieldBlock.keys), cardinalityKey)}, "type")

// String returns the value of a series value or a field in the schema language, without
// its name: only the type if nothing else is set.
func (f Field) String() string { return writtenField.text(f) }

// String returns the bucket in the schema language: only its width if nothing else is set.
func (b Bucket) String() string { return bucketForm.text(b) }

// String returns the ttl in the schema language.
func (t TTL) String() string { return ttlForm(false).text(t) }

// TTLOf returns a garbage collection rule as a ttl. fromWrite says that ages count from the write.
func TTLOf(r codec.GCRule, fromWrite bool) TTL {
	kinds := [...]Strategy{
		codec.GCNone: KeepForever, codec.GCMaxAge: MaxAge, codec.GCMaxVersions: MaxVersions, codec.GCUnion: AnyOf,
		codec.GCIntersection: AllOf,
	}
	t := TTL{Kind: kinds[r.Kind], Age: Value[time.Duration]{V: r.MaxAge}, Versions: Value[int]{V: r.MaxVersions}}
	if fromWrite {
		t.From = Value[string]{V: "write", Pos: diag.Pos{Line: 1}}
	}
	for _, rule := range r.Rules {
		t.Rules = append(t.Rules, TTLOf(rule, fromWrite))
	}
	return t
}

// String returns the segment in the schema language.
func (s Segment) String() string { return segmentForm.text(s) }

// String returns the older column in the schema language: only its name if nothing else is
// set.
func (v Was) String() string { return short(wasBlock, "column").text(v) }

// String returns the tier in the schema language.
func (t Tier) String() string { return tierForm.text(t) }

// KeyText returns the key of the table in the schema language, with the given segments in
// place of its own.
func (t *Table) KeyText(segments []string) string {
	text := "segments: [" + strings.Join(segments, ", ") + "]}"
	if t.Delimiter.IsSet() {
		return "{delimiter: " + Quoted(t.Delimiter.V) + ", " + text
	}
	return "{" + text
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
	return t.lines(name, segments, "doc", "splits", "since", "before", "serves", "allow")
}

// Whole returns the lines of the table in the schema language, without earlier layouts.
func (t *Table) Whole() []string { return t.lines(t.Name.V, t.SegmentTexts(), "since", "before") }

// lines is Lines without some keys.
func (t *Table) lines(name string, segments []string, without ...string) []string {
	out := []string{Quoted(name) + ":"}
	for _, k := range tableBlock.keys {
		switch {
		case slices.Contains(without, k.name):
		case k.name == "key":
			out = append(out, "  key: "+t.KeyText(segments))
		case k.required || k.has(t):
			out = append(out, "  "+k.name+": "+k.text(t))
		}
	}
	return out
}

// EarlierText returns the entry of before for t, below a layout that replaces it in the same table and
// families, and with the same ttl.
func (t *Table) EarlierText(newer *Table) string {
	earlier := Table{Pattern: t.Pattern, Values: t.Values}
	if t.Bucket.String() != newer.Bucket.String() {
		earlier.Bucket = t.Bucket
	}
	out := periodBlock.entries(&earlier)
	if key := t.KeyText(t.SegmentTexts()); key != newer.KeyText(newer.SegmentTexts()) {
		out = slices.Insert(out, 1, "key: "+key)
	}
	return "{" + strings.Join(out, ", ") + "}"
}
