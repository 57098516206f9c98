package lock

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/facts"
)

// Record returns the facts of one layout of a table for the history of setups, which package
// store reads; empty for a draft. It has only facts that decide bytes, so that every change
// of them, other than an addition, hides stored events: unlike the lock, no ages, defaults,
// names in Go, nor anything else that may change while programs with the old code still run. The
// name of the schema is among them, because it tells events that have moved from those of another schema.
func Record(l *layout.Layout, t *layout.Table) string {
	if t.Draft {
		return ""
	}
	of := factsOf(l, t)
	var when facts.Layout
	if !t.Since.IsZero() {
		when.Add(facts.Key{Kind: facts.Since}, asInstant.show(t.Since))
	}
	if !t.Until.IsZero() {
		when.Add(facts.Key{Kind: facts.Until}, asInstant.show(t.Until))
	}
	when.Add(facts.Key{Kind: facts.Schema, Part: SchemaOf(l)}, "events") // so that a schema that moves to other families does not seem to be a new one
	return append(when, of.recorded(t.Kinds())...).String()
}

// rowFacts are the facts that say in which rows events are.
var rowFacts = []facts.Kind{facts.Pattern, facts.Precision, facts.Delimiter, facts.Segments, facts.Names, facts.Bucket, facts.Time, facts.Sequence}

// Rows returns the facts that say in which rows events are: equal texts mean equal row keys for equal events.
func (l *Layout) Rows() string {
	return slices.DeleteFunc(l.recorded(""), func(f facts.Fact) bool { return f.Enum != "" || !slices.Contains(rowFacts, f.Kind) }).String()
}

// recorder collects the facts of a layout.
type recorder struct {
	facts.Layout
	layout *Layout
	kinds  string // of the rows of the table, after the names of families
}

// recorded returns the facts of a layout that the history of setups has. kinds are those of the rows of its table.
func (l *Layout) recorded(kinds string) facts.Layout {
	r := recorder{layout: l, kinds: kinds}
	for _, f := range layoutFacts {
		if f.record != nil && f.has(l) {
			f.record(&r)
		}
	}
	return r.Layout
}

// add adds a fact about all events.
func (r *recorder) add(kind facts.Kind, words ...string) { r.Add(facts.Key{Kind: kind}, words...) }

// precision adds the unit of offsets.
func (r *recorder) precision() {
	if l := r.layout; l.Pattern.Naming() == codec.NamedByTime {
		r.add(facts.Precision, asDuration.show(l.Precision))
	}
}

// KeyFact returns the fact about the segments of row keys, which are the same under equal facts and delimiters, whatever
// series values are called, and however many bits integers in text have.
func (l *Layout) KeyFact() string {
	var out []string
	segments := Plain(l.Segments)
	for i := range segments {
		out = append(out, strings.Join(segments[i].recorded(segments), " "))
	}
	return strings.Join(out, ", ")
}

// key adds the segments of the row key.
func (r *recorder) key() {
	var names []string
	for _, g := range r.layout.Segments {
		if g.Kind == codec.SeriesSegment {
			names = append(names, g.Name)
		}
	}
	r.add(facts.Segments, r.layout.KeyFact())
	r.add(facts.Names, strings.Join(names, ", ")) // for people: not compared
	for i, g := range Plain(r.layout.Segments) {
		if g.Enum != nil {
			r.enum(facts.Key{Kind: facts.Segments, Part: itoa(i + 1)}, g.Enum, g.Form.Encoding == codec.KeyText)
		}
	}
}

// BucketFact returns the fact about the buckets of row keys, without an origin that changes nothing.
func (l *Layout) BucketFact() string {
	at, b := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC), l.Bucket
	plain := b
	if plain.Origin = (time.Time{}); b.Label.Kind != codec.NumberLabel && b.Start(at).Equal(plain.Start(at)) {
		b = plain
	}
	return strings.Join(wordsOf(func(w *words) { bucketCode(&b, w) }), " ")
}

func (r *recorder) bucket() { r.add(facts.Bucket, r.layout.BucketFact()) }

func (r *recorder) sequence() { r.add(facts.Sequence, "in qualifiers") }

// families adds the families. Their ages may change.
func (r *recorder) families() {
	for _, f := range r.layout.Families {
		kind := "events"
		switch {
		case f.Class:
			kind = "class"
		case f.Timestamp == codec.TimestampExpiry:
			kind = "expiry"
		case f.Timestamp == codec.TimestampShifted:
			kind = "shifted " + asDuration.show(f.Default)
		}
		r.Add(facts.Key{Kind: facts.Family, Part: f.Name + r.kinds}, kind)
	}
}

// rollup adds the rollup, with the width of its windows. The time to live of these may change.
func (r *recorder) rollup() {
	if of := r.layout.Rollup(); of != nil {
		r.Add(facts.Key{Kind: facts.Rollup, Part: of.Family}, of.Every.String())
	}
}

// recorded returns the words of a segment. Salted series values are named by the numbers of
// their segments.
func (g *Segment) recorded(all []Segment) []string {
	switch g.Kind {
	case codec.SaltSegment:
		out := []string{"salt", itoa(g.Buckets), "of"}
		for _, name := range g.Salted {
			out = append(out, itoa(1+slices.IndexFunc(all, func(s Segment) bool { return s.Kind == codec.SeriesSegment && s.Name == name })))
		}
		return out
	case codec.SeriesSegment:
		kind := g.Type.String()
		if g.Form.Encoding == codec.KeyText && !g.Form.Reverse {
			kind = wide(g.Type)
		}
		return append([]string{kind}, wordsOf(g.code)[3:]...)
	}
	// That other schemas have rows with other constants is in the names of families.
	return slices.DeleteFunc(wordsOf(g.code), func(word string) bool { return word == "kind" })
}

// wide returns the name of a type, one for those whose values have the same bytes.
func wide(t schema.Type) string {
	if t.Traits().Integer() {
		return "integer"
	}
	return t.String()
}

// columns adds the columns, whose facts are of a kind. Where events of earlier programs have a field in the column of
// the same name of another family, the key of that says so.
func (r *recorder) columns(kind facts.Kind) {
	for i := range r.layout.Columns {
		c := &r.layout.Columns[i]
		key := facts.Key{Kind: kind, Part: quote(c.Key)}
		if c.Was != "" && c.Was == c.Key && c.Family != "" {
			key.Part += " in " + c.Family
		}
		r.column(key, c)
	}
}

// column adds the facts of a column.
func (r *recorder) column(key facts.Key, c *Column) {
	words := []string{"written"}
	switch {
	case c.Written:
	case c.Type == schema.Bytes && !c.Values.Text() && r.layout.Blob != layout.JSONText:
		words = []string{schema.String.String()} // the same bytes
	case c.Values == codec.BigEndianValues || c.Values == codec.LittleEndianValues: // by the width of the type
		words = []string{c.Type.String()}
	default:
		words = []string{wide(c.Type)}
	}
	if c.Values != codec.BinaryValues && c.Type != schema.String && c.Type != schema.JSON {
		words = append(words, c.Values.String())
	}
	if c.Family != "" {
		words = append(words, "in", c.Family)
	}
	r.Add(key, words...)
	r.enum(key, c.Enum, c.Values.Text() || r.layout.Blob == layout.JSONText)
}

// enum adds the values of an enum: what is stored, and what it means.
func (r *recorder) enum(key facts.Key, values []EnumValue, named bool) {
	values = slices.Clone(values)
	if named {
		slices.SortFunc(values, func(a, b EnumValue) int { return cmp.Compare(a.Name, b.Name) })
	}
	for _, v := range values {
		if key.Enum = quote(v.Name); named {
			r.Add(key, "by name")
			continue
		}
		key.Enum = strconv.FormatInt(v.Number, 10)
		r.Add(key, quote(v.Name))
	}
}
