package layout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// maxKeyDelimiter is the length of the longest delimiter of a row key schema, in
// bytes. Source: Type.Struct.Encoding.DelimitedBytes of google.bigtable.admin.v2.
const maxKeyDelimiter = 50

// keyFields resolves the row key schema that Bigtable is told of, and refuses keys
// that it could not take apart. A key with a delimiter is DelimitedBytes: no field
// has a byte that does not sort above the delimiter's first one. A binary key is
// OrderedCodeBytes, as far as it is: its fields are escaped, with an end between
// each two.
func (r *resolver) keyFields(t *Table, pos diag.Pos) {
	if len(t.Delimiter) > maxKeyDelimiter {
		r.errorf(pos, "use a shorter one, such as `delimiter: \"#\"`", "the delimiter of a row key schema has at most %d bytes", maxKeyDelimiter)
	}
	consts := 0
	for i, g := range t.Segments {
		reason, hint := r.misfit(t, g, i == len(t.Segments)-1)
		if reason != "" {
			r.errorf(g.Pos, hint, "row_key_schema: GoogleSQL could not read the key: %s", reason)
			continue
		}
		field := codec.KeyField{Name: t.SegmentName(r.layout, g)}
		switch g.Kind {
		case ConstSegment:
			consts++
			field.Name = fmt.Sprintf("const_%d", consts)
		case SeriesSegment:
			field.Bytes = g.Form.Encoding == codec.KeyRaw
		}
		r.keyFieldName(t, g, field.Name)
		t.KeyFields = append(t.KeyFields, field)
	}
}

// keyFieldName refuses a name that a field cannot have.
func (r *resolver) keyFieldName(t *Table, g Segment, name string) {
	switch {
	case slices.ContainsFunc(t.KeyFields, func(f codec.KeyField) bool { return strings.EqualFold(f.Name, name) }):
		r.errorf(g.Pos, "name the series value differently", "row_key_schema: two segments of the key would be the column %q", name)
	case slices.ContainsFunc(t.Families, func(f Family) bool { return strings.EqualFold(f.Name, name) }):
		r.errorf(g.Pos, "name the family differently, or the series value", "row_key_schema: the segment %q has the name of a column family, and GoogleSQL could not tell the two apart", name)
	}
}

// misfit returns why a segment does not fit a row key schema, and what to write
// instead; nothing if it does.
func (r *resolver) misfit(t *Table, g Segment, last bool) (reason, hint string) {
	samples, what := t.Samples(r.layout, g)
	switch {
	case t.Delimiter == "" && last:
		return r.misfitEnd(t, g, samples, what)
	case t.Delimiter == "" && !r.terminated(g):
		return what + " is neither escaped nor followed by the mark of its end, as ordered code wants it of all segments but the last",
			"leave row_key_schema out, or give the key a delimiter and segments of text"
	case t.Delimiter == "":
		return "", ""
	case g.Form.Escape:
		return what + " is escaped, and would be read with its escapes", "leave escape out: what contains the delimiter is then refused; or write encoding: hex"
	case r.inBytes(t, g):
		return what + " is a fixed number of bytes, any of which may be the delimiter or sort below it", "write it as text, for instance with encoding: hex"
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
func (r *resolver) misfitEnd(t *Table, g Segment, samples []string, what string) (reason, hint string) {
	switch {
	case r.terminated(g):
		return what + " comes last, and the mark of its end would be taken for the beginning of one more segment", "put the bucket or the time last, as text"
	case r.inBytes(t, g), strings.Contains(strings.Join(samples, ""), "\x00"):
		return what + " can contain zeros, which are not escaped as ordered code wants it", `write it as text, as in {bucket: "2006-01-02"} or {time: unix_ms}`
	}
	return "", ""
}

// terminated reports whether a segment of a binary key is followed by the mark
// of its end.
func (r *resolver) terminated(g Segment) bool {
	return g.Kind == SeriesSegment && g.Form.Terminated(segmentTypes[r.layout.Series[g.Series].Type])
}

// inBytes reports whether a segment is a fixed number of bytes of any value.
func (r *resolver) inBytes(t *Table, g Segment) bool {
	switch g.Kind {
	case SeriesSegment:
		return g.Form.InBytes(segmentTypes[r.layout.Series[g.Series].Type])
	case SequenceSegment:
		return t.Delimiter == ""
	case BucketSegment:
		return t.Bucket.Label.Format.Kind == codec.BinaryTime
	case TimeSegment:
		return t.TimeKey.Kind == codec.BinaryTime
	}
	return false
}
