package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// version is the version of the file format.
const version = 1

// head are the first lines of a file.
var head = fmt.Sprintf(`# btgen.lock v%d: how stored events lie in Bigtable. Written by btgen generate, never edited by hand.
# After a merge conflict, leave the markers in it, resolve the schemas, and run: btgen generate
`, version)

// Text returns the content of the file: one line per fact, sorted by table: first what the table
// stands for, then its layouts. A table ends with a checksum of its lines, so that a hand-edited
// table is detected, while git merges changes of different tables.
func (l *Lock) Text() []byte {
	var b strings.Builder
	b.WriteString(head)
	for i := range l.Tables {
		b.WriteByte('\n')
		for _, line := range l.Tables[i].lines() {
			b.WriteString(line + "\n")
		}
	}
	return []byte(b.String())
}

// lines returns the lines of a table, with the checksum.
func (t *Table) lines() []string {
	var out []string
	prefix := t.Name + "/" + t.Family + " "
	out = append(out, prefix+"schema "+t.Schema)
	if t.Removed != "" {
		out = append(out, prefix+"removed "+quote(t.Removed))
	}
	for _, a := range t.Accepted {
		out = append(out, prefix+"accepted "+quote(a.Change)+" "+quote(a.Reason))
	}
	for _, reason := range t.Lacks {
		out = append(out, prefix+"lacks "+string(reason))
	}
	for _, read := range t.Serves {
		out = append(out, prefix+"serves "+read)
	}
	for i := range t.Layouts {
		for _, fact := range t.Layouts[i].facts() {
			out = append(out, prefix+itoa(t.Layouts[i].Number)+" "+fact)
		}
	}
	return append(out, prefix+"sum "+sum(out))
}

// sum returns the checksum of lines.
func sum(lines []string) string {
	hash := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(hash[:8])
}

// facts returns the lines of a layout, without their prefix.
func (l *Layout) facts() []string {
	var out []string
	add := func(words ...string) { out = append(out, strings.Join(words, " ")) }
	for _, a := range l.Accepted {
		add("accepted", quote(a.Change), quote(a.Reason))
	}
	if !l.Since.IsZero() {
		add("since", l.Since.UTC().Format(time.RFC3339Nano))
	}
	if l.Table != "" {
		add("table", quote(l.Table))
	}
	add("pattern", l.Pattern.String())
	add("precision", schema.FormatDuration(l.Precision))
	add("delimiter", quote(l.Delimiter))
	for i, g := range l.Segments {
		add(append([]string{"key", itoa(i + 1)}, g.words()...)...)
		for _, v := range g.Enum {
			add(append([]string{"key", itoa(i + 1), "enum"}, v.words()...)...)
		}
	}
	if l.Pattern.Bucketed() {
		add(append([]string{"bucket"}, bucketWords(l.Bucket)...)...)
	} else {
		add(append([]string{"time"}, timeWords(l.TimeKey)...)...)
	}
	if l.Sequence {
		add("sequence")
	}
	if l.Blob != "" {
		add("blob", string(l.Blob), quote(l.BlobColumn))
	}
	for _, f := range l.Families {
		add(append([]string{"family"}, f.words()...)...)
	}
	for _, c := range l.Columns {
		kind := l.columnKind()
		add(append([]string{kind, quote(c.Key)}, c.words()...)...)
		for _, v := range c.Enum {
			add(append([]string{kind, quote(c.Key), "enum"}, v.words()...)...)
		}
	}
	return out
}

// columnKind returns the first word of the lines of columns.
func (l *Layout) columnKind() string {
	switch l.Blob {
	case layout.Protobuf:
		return "number"
	case layout.JSONText:
		return "name"
	}
	return "column"
}

// words returns a segment.
func (g *Segment) words() []string { return flags(g.ownWords(), "joined", g.Joined) }

// ownWords returns a segment without what follows it.
func (g *Segment) ownWords() []string {
	switch g.Kind {
	case codec.ConstSegment:
		return flags([]string{"const", quote(g.Const)}, "kind", g.Tells)
	case codec.BucketSegment:
		return []string{"bucket"}
	case codec.TimeSegment:
		return []string{"time"}
	case codec.MetricSegment:
		return []string{"metric"}
	case codec.SequenceSegment:
		return []string{"sequence"}
	case codec.SaltSegment:
		out := []string{"salt", itoa(g.Buckets)}
		for _, name := range g.Salted {
			out = append(out, quote(name))
		}
		return out
	}
	out := []string{"series", quote(g.Name), g.Type.String(), g.Form.Encoding.String()}
	if g.Form.Pad > 0 {
		out = append(out, "pad="+itoa(g.Form.Pad))
	}
	return flags(out, "reverse", g.Form.Reverse, "escape", g.Form.Escape)
}

// flags appends the names of the flags that are set. The flags are pairs of a name and a bool.
func flags(out []string, pairs ...any) []string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(bool) {
			out = append(out, pairs[i].(string))
		}
	}
	return out
}

// words returns an enum value.
func (v *EnumValue) words() []string {
	return flags([]string{strconv.FormatInt(v.Number, 10), quote(v.Name)}, "retired", v.Retired)
}

// noBucket is the bucket of a table whose row keys do not contain the time.
const noBucket = "none"

// bucketWords returns a bucket.
func bucketWords(b codec.Bucket) []string {
	if b.Endless() {
		return []string{noBucket}
	}
	forward := b.Label
	forward.Format.Reverse, forward.Format.From = false, codec.Largest
	out := []string{schema.Span{Fixed: b.Every, Months: b.Months}.String(), quote(forward.String())}
	if !b.Origin.IsZero() {
		out = append(out, "origin="+b.Origin.UTC().Format(time.RFC3339Nano))
	}
	return append(out, reverseWords(b.Label.Format)...)
}

// reverseWords returns whether a time format is reversed, and from which number.
func reverseWords(f codec.TimeFormat) []string {
	if f.From != codec.Largest {
		return []string{"reverse=" + f.From.String()}
	}
	return flags(nil, "reverse", f.Reverse)
}

// timeWords returns a time format.
func timeWords(f codec.TimeFormat) []string {
	forward := f
	forward.Reverse, forward.From = false, codec.Largest
	return append([]string{quote(forward.String())}, reverseWords(f)...)
}

// stamps are the names of timestamp sources.
var stamps = []string{codec.TimestampEvent: "event", codec.TimestampWrite: "write", codec.TimestampExpiry: "expiry", codec.TimestampShifted: "shifted"}

// words returns a family.
func (f *Family) words() []string {
	out := []string{f.Name, ruleText(f.GC), stamps[f.Timestamp]}
	if f.Default > 0 {
		out = append(out, "default="+schema.FormatDuration(f.Default))
	}
	return flags(out, "class", f.Class)
}

// ruleText returns a garbage collection rule as one word.
func ruleText(r codec.GCRule) string {
	join := func(name string) string {
		parts := make([]string, len(r.Rules))
		for i, rule := range r.Rules {
			parts[i] = ruleText(rule)
		}
		return name + "(" + strings.Join(parts, ",") + ")"
	}
	switch r.Kind {
	case codec.GCMaxAge:
		return "max_age=" + schema.FormatDuration(r.MaxAge)
	case codec.GCMaxVersions:
		return "max_versions=" + itoa(r.MaxVersions)
	case codec.GCUnion:
		return join("any_of")
	case codec.GCIntersection:
		return join("all_of")
	}
	return "forever"
}

// words returns a column, without its key.
func (c *Column) words() []string {
	typ := c.Type.String()
	if c.Written {
		typ = "written_at"
	}
	out := []string{typ}
	if c.Field != "" {
		out = append(out, "field="+quote(c.Field))
	}
	if c.Family != "" {
		out = append(out, "family="+c.Family)
	}
	if c.Values != codec.BinaryValues {
		out = append(out, c.Values.String())
	}
	out = flags(out, "optional", c.Optional)
	if c.Default != nil {
		out = append(out, "default="+quote(*c.Default))
	}
	if c.Was != "" {
		out = append(out, "was="+quote(c.Was))
	}
	return flags(out, "retired", c.Retired)
}

// quote returns a string as a word without spaces outside of quotes.
func quote(s string) string { return strconv.QuoteToASCII(s) }

func itoa(n int) string { return strconv.Itoa(n) }

// showDefault returns the default of a field as text.
func showDefault(f *layout.Field) string {
	switch v := f.Default.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case time.Duration:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(f.Default)
}

// Equal reports whether two sets of facts are the same, apart from their numbers and
// acceptances.
func (l *Layout) Equal(o *Layout) bool {
	a, b := *l, *o
	a.Accepted, b.Accepted = nil, nil
	return slices.Equal(a.facts(), b.facts())
}

// Line returns the number of the first line of a table in the content of a file; 0 if there is
// none.
func Line(text []byte, t *Table) int {
	prefix := []byte("\n" + t.Name + "/" + t.Family + " ")
	i := bytes.Index(text, prefix)
	if i < 0 {
		return 0
	}
	return bytes.Count(text[:i], []byte("\n")) + 2
}
