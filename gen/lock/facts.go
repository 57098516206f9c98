package lock

import (
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/facts"
)

// fact is a kind of fact about a table, or about a layout of it. What is to be known about a kind
// of fact is here: how lines write and read it, how the two sides of a merge are joined, and
// whether the history of setups has it.
type fact[T any] struct {
	name  string           // the first word of its lines
	joins joining          // how two sides are joined
	about int              // how many of the words after it tell what it is a fact about
	has   func(of *T) bool // whether there is such a fact
	write func(of *T, line func(code func(w *words)))
	read  func(of *T, w *words)
	// record adds it to the record of a layout; nil if it may change while programs with the old
	// code still run.
	record func(r *recorder)
}

// tableFacts are the facts about tables, in the order of their lines.
var tableFacts = []fact[Table]{
	single("schema", always, func(t *Table, w *words) { put(w, &t.Schema, asWord) }),
	single("removed", func(t *Table) bool { return t.Removed != "" }, func(t *Table, w *words) { put(w, &t.Removed, asQuoted) }),
	each("accepted", kept, whole, func(t *Table) *[]Acceptance { return &t.Accepted }, (*Acceptance).code),
	single("lacks", func(t *Table) bool { return t.Lacks }, (*Table).lacks).joined(kept, whole),
	each("serves", inSet, whole, func(t *Table) *[]string { return &t.Serves }, func(read *string, w *words) { put(w, read, asWord) }),
}

// lacks is the words of the fact that a table lacks events. Earlier files say why.
func (t *Table) lacks(w *words) {
	if w.flag("earlier", &t.Lacks); w.reading {
		for _, why := range []string{"expired", "meantime", "others"} {
			w.flag(why, &t.Lacks)
		}
	}
}

// layoutFacts are the facts about layouts, in the order of their lines.
var layoutFacts = []fact[Layout]{
	each("accepted", kept, whole, func(l *Layout) *[]Acceptance { return &l.Accepted }, (*Acceptance).code),
	single("since", func(l *Layout) bool { return !l.Since.IsZero() }, func(l *Layout, w *words) { put(w, &l.Since, asInstant) }),
	single("table", func(l *Layout) bool { return l.Table != "" }, func(l *Layout, w *words) { put(w, &l.Table, asQuoted) }),
	alike("pattern", always, func(l *Layout, w *words) { put(w, &l.Pattern, asPattern) }),
	single("precision", always, func(l *Layout, w *words) { put(w, &l.Precision, asDuration) }).recorded((*recorder).precision),
	alike("delimiter", always, func(l *Layout, w *words) { put(w, &l.Delimiter, asQuoted) }),
	withEnums("key", once, func(l *Layout) *[]Segment { return &l.Segments }, segments).recorded((*recorder).key),
	single("bucket", func(l *Layout) bool { return l.Pattern.Bucketed() }, func(l *Layout, w *words) { bucketCode(&l.Bucket, w) }).recorded((*recorder).bucket),
	alike("time", func(l *Layout) bool { return !l.Pattern.Bucketed() }, func(l *Layout, w *words) { timeCode(&l.TimeKey, w) }),
	single("sequence", func(l *Layout) bool { return l.Sequence }, func(l *Layout, _ *words) { l.Sequence = true }).recorded((*recorder).sequence),
	alike("blob", func(l *Layout) bool { return l.Blob != "" }, blobCode),
	each("family", inSet, 1, func(l *Layout) *[]Family { return &l.Families }, (*Family).code).recorded((*recorder).families),
	each("rollup", kept, 1, func(l *Layout) *[]Rollup { return &l.Rollups }, (*Rollup).code).recorded((*recorder).rollup),
	each("summary", kept, 1, func(l *Layout) *[]Summary { return &l.Summaries }, (*Summary).code),
	columns("column", ""),
	columns("number", layout.Protobuf),
	columns("name", layout.JSONText),
}

// columns are the columns of layouts with a format of events.
func columns(name string, of layout.Format) fact[Layout] {
	all := withEnums(name, kept, func(l *Layout) *[]Column { return &l.Columns }, enumerated[Column]{
		code:   func(_ int, c *Column, w *words) { c.code(w) },
		name:   func(_ int, c *Column) string { return quote(c.Key) },
		family: func(c *Column) string { return c.Family },
		enum:   func(c *Column) *[]EnumValue { return &c.Enum },
	})
	all.has = func(l *Layout) bool { return l.Blob == of }
	return all.recorded(func(r *recorder) { r.columns(facts.Kind(name)) })
}

// segments are those of row keys.
var segments = enumerated[Segment]{
	code:   segmentCode,
	name:   func(i int, _ *Segment) string { return itoa(i + 1) },
	family: func(*Segment) string { return "" },
	enum:   func(g *Segment) *[]EnumValue { return &g.Enum },
}

// segmentCode is the words of the segment with an index.
func segmentCode(i int, g *Segment, w *words) {
	n := i + 1
	if put(w, &n, asInt); n != i+1 {
		w.fail("segment %d is out of order", n)
	}
	g.code(w)
}

// blobCode is the words of the format of events, and their column.
func blobCode(l *Layout, w *words) {
	format := string(l.Blob)
	put(w, &format, asWord)
	l.Blob = layout.Format(format)
	put(w, &l.BlobColumn, asQuoted)
}

// recorded returns a kind of fact that the history of setups has.
func (f fact[T]) recorded(record func(r *recorder)) fact[T] {
	f.record = record
	return f
}

// always reports that each table or layout has a fact.
func always[T any](*T) bool { return true }

// single returns a kind of fact with at most one line.
func single[T any](name string, has func(*T) bool, code func(*T, *words)) fact[T] {
	write := func(of *T, line func(func(*words))) { line(func(w *words) { code(of, w) }) }
	return fact[T]{name: name, has: has, write: write, read: code}
}

// joined returns a kind of fact of which two sides are joined otherwise.
func (f fact[T]) joined(joins joining, about int) fact[T] {
	f.joins, f.about = joins, about
	return f
}

// alike returns a kind of fact that the lock and the history of setups have in the same words.
func alike(name string, has func(*Layout) bool, code func(*Layout, *words)) fact[Layout] {
	record := func(r *recorder) { r.add(facts.Kind(name), wordsOf(func(w *words) { code(r.layout, w) })...) }
	return single(name, has, code).recorded(record)
}

// whole is the number of words of a fact that stands for itself.
const whole = 1 << 30

// each returns a kind of fact with a line for each of several values; about is the number of words,
// after the first one, that tell what the fact is about.
func each[T, E any](name string, joins joining, about int, list func(*T) *[]E, code func(*E, *words)) fact[T] {
	write := func(of *T, line func(func(*words))) {
		all := *list(of)
		for i := range all {
			line(func(w *words) { code(&all[i], w) })
		}
	}
	read := func(of *T, w *words) { code(grow(list(of)), w) }
	return fact[T]{name: name, joins: joins, about: about, has: always[T], write: write, read: read}
}

// grow appends a value to a list, and returns it.
func grow[E any](list *[]E) *E {
	*list = append(*list, *new(E))
	return &(*list)[len(*list)-1]
}

// enumerated is something that may be of an enum.
type enumerated[E any] struct {
	code   func(i int, e *E, w *words) // of the one with an index
	name   func(i int, e *E) string    // the first word
	family func(*E) string             // of columns, of which two families may have some of one name
	enum   func(*E) *[]EnumValue
}

// withEnums returns a kind of fact with a line for each of several values, and for each value of
// their enums, whose lines repeat the first word, and the family, of what has the enum.
func withEnums[T, E any](name string, joins joining, list func(*T) *[]E, of enumerated[E]) fact[T] {
	value := func(v *EnumValue, family *string, w *words) {
		put(w, &v.Number, asNumber)
		put(w, &v.Name, asQuoted)
		option(w, "family", *family != "", family, asWord)
		w.flag("retired", &v.Retired)
	}
	write := func(t *T, line func(func(*words))) {
		all := *list(t)
		for i := range all {
			e := &all[i]
			family := of.family(e)
			line(func(w *words) { of.code(i, e, w) })
			for k := range *of.enum(e) {
				line(func(w *words) {
					w.list = append(w.list, of.name(i, e), "enum")
					value(&(*of.enum(e))[k], &family, w)
				})
			}
		}
	}
	read := func(t *T, w *words) {
		all := list(t)
		if !isEnum(w.list) {
			of.code(len(*all), grow(all), w)
			return
		}
		var v EnumValue
		first, family := w.list[0], ""
		w.list = w.list[2:]
		value(&v, &family, w)
		for i := range slices.Backward(*all) {
			if e := &(*all)[i]; of.name(i, e) == first && of.family(e) == family {
				*grow(of.enum(e)) = v
				return
			}
		}
		w.fail("%s is unknown", first)
	}
	return fact[T]{name: name, joins: joins, about: 1, has: always[T], write: write, read: read}
}

// isEnum reports whether words are those of an enum value of what the first one names. Enum is also a type.
func isEnum(words []string) bool {
	return len(words) > 2 && words[1] == "enum" && words[2] != "" && strings.Trim(words[2][:1], "-0123456789") == ""
}

// kindOf returns the place of a kind of fact in a list; -1 if it has none.
func kindOf[T any](kinds []fact[T], name string) int {
	return slices.IndexFunc(kinds, func(f fact[T]) bool { return f.name == name })
}

// write returns the lines of all facts. Each begins with some text.
func write[T any](kinds []fact[T], of *T, begin string) (out []string) {
	for _, f := range kinds {
		if f.has(of) {
			f.write(of, func(code func(w *words)) {
				out = append(out, begin+strings.Join(append([]string{f.name}, wordsOf(code)...), " "))
			})
		}
	}
	return out
}

// facts returns the facts of a table and of its layouts: lines without its name.
func (t *Table) facts() []string {
	out := write(tableFacts, t, "")
	for i := range t.Layouts {
		l := &t.Layouts[i]
		out = append(out, write(layoutFacts, l, itoa(l.Number)+" ")...)
	}
	return out
}
