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
	name  string                    // the first word of its lines
	has   func(of *T) bool          // whether there is such a fact
	write func(of *T, out *written) // if there is one
	read  func(of *T, w *words)
	// record adds it to the record of a layout; nil if it may change while programs with the old
	// code still run.
	record func(r *recorder)
}

// line is one fact of a table.
type line struct {
	layout int // its number; 0 if the fact is about the table itself
	name   string
	words  []string
	joins  joining
	about  int    // how many of the words tell what it is a fact about
	family string // of a column, and of its enum: two families may have columns of one name
}

// text returns the line, without the name of the table; empty if there is none.
func (l *line) text() string {
	if l == nil {
		return ""
	}
	text := strings.Join(append([]string{l.name}, l.words...), " ")
	if l.layout == 0 {
		return text
	}
	return itoa(l.layout) + " " + text
}

// key returns what a fact is about: no two facts of a table are about the same, but for changes that
// were accepted twice.
func (l *line) key() string {
	about := *l
	about.words = append(slices.Clone(l.words[:l.about]), l.family)
	return about.text()
}

// written are lines that are being written. They share the memory of the words.
type written struct {
	words
	lines  []line
	layout int // of the next lines
}

// add adds a line; code adds its words.
func (out *written) add(name string, joins joining, about int, code func(w *words)) *line {
	begin := len(out.list)
	code(&out.words)
	words := out.list[begin:len(out.list):len(out.list)]
	if about == whole {
		about = len(words)
	}
	out.lines = append(out.lines, line{layout: out.layout, name: name, words: words, joins: joins, about: about})
	return &out.lines[len(out.lines)-1]
}

// tableFacts are the facts about tables, in the order of their lines.
var tableFacts = []fact[Table]{
	single("schema", always, func(t *Table, w *words) { put(w, &t.Schema, asWord) }),
	single("removed", func(t *Table) bool { return t.Removed != "" }, func(t *Table, w *words) { put(w, &t.Removed, asQuoted) }),
	each("accepted", kept, whole, func(t *Table) *[]Acceptance { return &t.Accepted }, (*Acceptance).code),
	{"lacks", func(t *Table) bool { return t.Lacks }, func(t *Table, out *written) { out.add("lacks", kept, whole, t.lacks) }, (*Table).lacks, nil},
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
	write := func(of *T, out *written) { out.add(name, once, 0, func(w *words) { code(of, w) }) }
	return fact[T]{name: name, has: has, write: write, read: code}
}

// alike returns a kind of fact that the lock and the history of setups have in the same words.
func alike(name string, has func(*Layout) bool, code func(*Layout, *words)) fact[Layout] {
	record := func(r *recorder) { r.add(facts.Kind(name), wordsOf(func(w *words) { code(r.layout, w) })...) }
	return single(name, has, code).recorded(record)
}

// whole is the number of words of a fact that stands for itself.
const whole = -1

// each returns a kind of fact with a line for each of several values; about is the number of words,
// after the first one, that tell what the fact is about.
func each[T, E any](name string, joins joining, about int, list func(*T) *[]E, code func(*E, *words)) fact[T] {
	write := func(of *T, out *written) {
		all := *list(of)
		for i := range all {
			out.add(name, joins, about, func(w *words) { code(&all[i], w) })
		}
	}
	read := func(of *T, w *words) { code(grow(list(of)), w) }
	return fact[T]{name: name, has: always[T], write: write, read: read}
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
	write := func(t *T, out *written) {
		all := *list(t)
		for i := range all {
			e := &all[i]
			family := of.family(e)
			out.add(name, joins, 1, func(w *words) { of.code(i, e, w) }).family = family
			for k := range *of.enum(e) {
				out.add(name, kept, 4, func(w *words) {
					w.list = append(w.list, of.name(i, e), "enum")
					value(&(*of.enum(e))[k], &family, w)
				}).family = family
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
	return fact[T]{name: name, has: always[T], write: write, read: read}
}

// isEnum reports whether words are those of an enum value of what the first one names. Enum is also a type.
func isEnum(words []string) bool {
	return len(words) > 2 && words[1] == "enum" && words[2] != "" && strings.Trim(words[2][:1], "-0123456789") == ""
}

// kindOf returns the place of a kind of fact about layouts.
func kindOf(name string) int {
	return slices.IndexFunc(layoutFacts, func(f fact[Layout]) bool { return f.name == name })
}

// write writes the lines of all facts.
func write[T any](facts []fact[T], of *T, out *written) {
	for _, f := range facts {
		if f.has(of) {
			f.write(of, out)
		}
	}
}

// lines returns the facts of a table and of its layouts.
func (t *Table) lines() []line {
	out := written{words: words{list: make([]string, 0, 128)}, lines: make([]line, 0, 24)}
	write(tableFacts, t, &out)
	for i := range t.Layouts {
		out.layout = t.Layouts[i].Number
		write(layoutFacts, &t.Layouts[i], &out)
	}
	return out.lines
}

// facts returns the lines of a table without its name.
func (t *Table) facts() []string {
	lines := t.lines()
	out := make([]string, len(lines))
	for i := range lines {
		out[i] = lines[i].text()
	}
	return out
}

// reader returns the function that reads facts of a kind; nil if there is none.
func reader[T any](facts []fact[T], name string) func(*T, *words) {
	i := slices.IndexFunc(facts, func(f fact[T]) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return facts[i].read
}
