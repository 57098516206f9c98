package layout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// maxKeyDelimiter is the maximum length of the delimiter in a row key schema, in bytes.
// Source: Type.Struct.Encoding.DelimitedBytes of google.bigtable.admin.v2.
const maxKeyDelimiter = 50

// keyFields resolves the row key schema and rejects keys that GoogleSQL could not
// parse. A key with a delimiter is DelimitedBytes: every byte of its fields must sort
// above the delimiter's first byte. A binary key is OrderedCodeBytes, whose fields are
// escaped and separated by terminators.
func (r *resolver) keyFields(t *Table) {
	if len(t.Delimiter) > maxKeyDelimiter {
		r.reject(t.KeyPos, "long-delimiter", maxKeyDelimiter)
	}
	consts := 0
	for i, g := range t.Segments {
		reason, hint := r.misfit(t, g, i == len(t.Segments)-1)
		if reason != "" {
			r.reject(t.Source(&g).Pos, "unreadable-key", reason, hint)
			continue
		}
		field := codec.KeyField{Name: g.Title()}
		switch g.Kind {
		case codec.ConstSegment:
			consts++
			field.Name = fmt.Sprintf("const_%d", consts)
		case codec.SeriesSegment:
			field.Bytes = g.Form.Encoding == codec.KeyRaw
		}
		r.keyFieldName(t, g, field.Name)
		t.KeyFields, t.Structured = append(t.KeyFields, field), true
	}
}

// keyFieldName rejects an invalid or duplicate field name.
func (r *resolver) keyFieldName(t *Table, g codec.Segment, name string) {
	pos := t.Source(&g).Pos
	switch {
	case slices.ContainsFunc(t.KeyFields, func(f codec.KeyField) bool { return strings.EqualFold(f.Name, name) }):
		r.reject(pos, "same-column", name)
	case slices.ContainsFunc(t.Families, func(f Family) bool { return strings.EqualFold(f.Name, name) }):
		r.reject(pos, "column-like-family", name)
	}
}

// misfit returns why a segment does not fit a row key schema and what to write instead,
// or empty strings.
func (r *resolver) misfit(t *Table, g codec.Segment, last bool) (reason, hint string) {
	samples, what := t.Samples(r.layout, g)
	switch {
	case g.Joined:
		return what + " has no delimiter after it", "remove row_key_schema"
	case t.Delimiter == "" && last:
		return r.misfitEnd(t, g, samples, what)
	case t.Delimiter == "" && !g.Terminated():
		return what + " is neither escaped nor terminated, which ordered code requires of all segments except the last",
			"remove row_key_schema, or give the key a delimiter and segments of text"
	case t.Delimiter == "":
		return "", ""
	case g.Form.Escape:
		return what + " is escaped, and GoogleSQL would not unescape it", "remove escape, so that the writer rejects values with the delimiter, or write encoding: hex"
	case t.InBytes(&g):
		return what + " has a fixed number of bytes, which may equal the delimiter or sort below it", "write it as text, for example with encoding: hex"
	}
	for _, s := range samples {
		if s == "" {
			continue
		}
		if c := slices.Min([]byte(s)); c <= t.Delimiter[0] {
			return fmt.Sprintf("%s can contain %q, which does not sort above the delimiter %q", what, c, t.Delimiter),
				"use a delimiter that sorts below everything in the key, such as `delimiter: \"#\"`"
		}
	}
	return "", ""
}

// misfitEnd is misfit for the last segment of a binary key.
func (r *resolver) misfitEnd(t *Table, g codec.Segment, samples []string, what string) (reason, hint string) {
	switch {
	case g.Terminated():
		return what + " comes last, so its terminator would be read as the start of another segment", "put the bucket or the time last, as text"
	case t.InBytes(&g), strings.Contains(strings.Join(samples, ""), "\x00"):
		return what + " can contain zero bytes, which are not escaped as ordered code requires", `write it as text, as in {bucket: "2006-01-02"} or {time: unix_ms}`
	}
	return "", ""
}
