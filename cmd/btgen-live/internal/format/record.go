package format

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Scanner reads the records of a text, before they are events of a schema.
type Scanner interface {
	// Scan reads the next record. At the end, the error is [io.EOF]. If it is an *InputError, Scan
	// may be called again and continues with the next line.
	Scan(r *Record) error
}

// ColumnScanner is a Scanner of a file with columns.
type ColumnScanner interface {
	Scanner
	// Names returns the names of the columns.
	Names() []string
	// Bind says which columns of events they are; nil for those that are left out. Errors are those of [HeaderError].
	Bind(to []*Column, o ReaderOptions) error
}

// Record is what a line contains. It is valid until the next call of Scan.
type Record struct {
	Line    int // on which it begins, counted from 1
	Values  []Value
	Columns []string // of all records, also those without a value; nil if the format has no columns

	text  []byte // the line
	more  bool   // whether there are more values than maxValues
	arena []byte // texts that the line has with escapes
}

// Value is a value of a record.
type Value struct {
	Part Part
	Kind Kind
	Name []byte // empty for a metric and a time
	Text []byte // without quotes and escapes

	// Parsed is the value itself, with the Go type that package value lists; nil if it is Text.
	Parsed any

	at   int // offset in the line
	end  int // offset after it in JSON; 0 in other formats
	name int // offset of the name in JSON
}

// Part is what a value is in the other system.
type Part int

// Parts of a record.
const (
	AnyPart    Part = iota // a cell of CSV
	MetricPart             // the metric, or the measurement
	TagPart                // a part of the series: a tag, or a label
	FieldPart              // a value
	TimePart               // a number of units since 1970
)

// qualifiers precede the names of values of a part in ReaderOptions.Names.
var qualifiers = [...]string{MetricPart: "metric:", TagPart: "tag:", FieldPart: "field:", TimePart: "time:"}

// Qualified returns the name in ReaderOptions.Names of a value with a name, if it is this part of a record, and not
// another one with the same name. Metrics and times have empty names.
func (p Part) Qualified(name string) string { return qualifiers[p] + name }

// Kind is the type of a value in the other system.
type Kind int

// Kinds of values.
const (
	TextKind Kind = iota // text, which may be that of any type
	IntKind
	UintKind
	FloatKind
	BoolKind
	StringKind // text, which is no number and no boolean
	bareKind   // JSON that is no string
)

// Reset empties the record for a line.
func (r *Record) Reset(text []byte, line int) {
	r.Line, r.text, r.more, r.Values, r.arena = line, text, false, r.Values[:0], r.arena[:0]
}

// add adds a value, unless there are maxValues.
func (r *Record) add(v Value) {
	if r.more = r.more || len(r.Values) == maxValues; !r.more {
		r.Values = append(r.Values, v)
	}
}

// recordReader reads the records of a format as events. A record whose values are not all valid has no
// part in any event.
type recordReader struct {
	*builder
	format  *Format
	scanner Scanner
	record  Record
	assumed bool   // whether times have the unit of the format, which may be another one
	rest    int    // index of the column; negative if the schema has none
	first   string // the metric of all events, if the schema has none
	skipped int    // lines of other metrics
	pairs   []pair // of the current record
}

// pair is a tag that the schema does not have.
type pair struct{ name, text string }

// Read returns a reader of the events of a schema; Reads must be true. Errors are those of options, and of
// [HeaderError].
func (f *Format) Read(in io.Reader, l *layout.Layout, o ReaderOptions) (Reader, error) {
	names := slices.Sorted(maps.Keys(o.Names))
	for _, name := range names {
		if strings.Contains(name, "+") {
			o.CSV.Joined = append(o.CSV.Joined, name)
		}
	}
	o.CSV.cql = f.cql
	scanner, err := f.NewScanner(in, o)
	if err != nil {
		return nil, err
	}
	r := &recordReader{format: f, scanner: scanner, assumed: o.Unit == 0 && f.Unit < time.Second, rest: noColumn}
	o.Unit = cmp.Or(o.Unit, f.Unit)
	join := f.Points && !o.Partial
	o.Partial = o.Partial || join
	if r.builder, err = newBuilder(l, o); err != nil {
		return nil, err
	}
	if f.Rest != "" {
		r.rest = r.ofSeries(r.lookup(f.Rest, f.Rest))
	}
	if s, ok := scanner.(ColumnScanner); ok {
		if err := r.header(s, names); err != nil {
			return nil, Uncommented(s.Names(), err)
		}
	}
	if join {
		return newJoiner(r, l, o, 1)
	}
	return r, nil
}

// header finds the columns of a file. If they do not fit the schema, the error is that of HeaderError.
func (p *builder) header(s ColumnScanner, renamed []string) error {
	columns := s.Names()
	var to []*Column
	for _, name := range columns {
		c, err := p.find(name)
		if err != nil {
			return HeaderError(name, err)
		}
		to = append(to, c)
	}
	for _, name := range renamed {
		if !slices.Contains(columns, name) {
			return HeaderError(name, errNotInHeader)
		}
	}
	if missing := p.missing(); missing != "" {
		return HeaderError(missing, ErrMissing)
	}
	return s.Bind(to, p.options)
}

// column returns the index of the column of a value, as lookup does. A metric and a time without names stand for those of
// the format.
func (r *recordReader) column(v *Value) int {
	name := string(v.Name)
	switch of := v.Part.Qualified(name); v.Part {
	case MetricPart:
		return r.ofSeries(r.lookup(of, r.format.Metric))
	case TimePart:
		return r.lookup(of, "time")
	default:
		return r.lookup(of, name)
	}
}

// ofSeries returns the index of a column if its values are strings of the series; otherwise noColumn.
func (p *builder) ofSeries(i int) int {
	if i < 0 || p.columns[i].Type != schema.String || p.columns[i].part != seriesPart {
		return noColumn
	}
	return i
}

// Skipped implements [Reader].
func (r *recordReader) Skipped() int { return r.skipped }

// Replaced implements [Reader].
func (r *recordReader) Replaced() Replacements { return Replacements{} }

// Next implements [Reader].
func (r *recordReader) Next() (dynamic.Event, int, error) {
	for {
		if err := r.scanner.Scan(&r.record); err != nil {
			return dynamic.Event{}, r.record.Line, err
		}
		e := r.start()
		use, err := r.bind(e)
		if err == nil && !use {
			r.skipped++
			continue
		}
		if err == nil {
			if name := r.complete(e); name != "" {
				err = lacks(r.record.Line, name)
			}
		}
		return *e, r.record.Line, err
	}
}

// bind sets the values of the current record. It returns false for a record of another metric
// than those to read.
func (r *recordReader) bind(e *dynamic.Event) (bool, error) {
	r.pairs = r.pairs[:0]
	for i := range r.record.Values {
		v := &r.record.Values[i]
		if v.Part == MetricPart && r.options.Metric != "" && string(v.Text) != r.options.Metric {
			return false, nil
		}
		if name, err := r.bindValue(e, v); err != nil {
			at := v.at
			switch {
			case name == "" && v.name > 0:
				at = v.name
			case r.format.Cells:
				name = string(v.Name) // as the header has it
			}
			return true, errorAt(r.record.text, r.record.Line, at, name, err)
		}
	}
	if r.rest < 0 {
		return true, nil
	}
	text, err := joined(r.pairs)
	if err == nil && r.seen[r.rest] {
		err = ErrTwice
	}
	if err != nil {
		return true, &InputError{Line: r.record.Line, Column: 1, Name: r.columns[r.rest].Name, Err: err}
	}
	r.assign(e, r.rest, text)
	return true, nil
}

// bindValue sets a value. With an error, it returns the name of the column.
func (r *recordReader) bindValue(e *dynamic.Event, v *Value) (string, error) {
	switch i := r.column(v); {
	case i >= 0:
		return r.set(e, i, v)
	case i == noColumn && v.Part == MetricPart:
		return "", r.only(v)
	case i == noColumn && v.Part == TagPart && r.rest >= 0:
		r.pairs = append(r.pairs, pair{string(v.Name), string(v.Text)})
	case i == noColumn && !r.options.IgnoreUnknown:
		return "", r.unknown(string(v.Name))
	}
	return "", nil
}

// set sets a value that the schema has. With an error, it returns the name of the column.
func (r *recordReader) set(e *dynamic.Event, i int, v *Value) (string, error) {
	c, text := &r.columns[i], v.Text
	switch {
	case c.Type == schema.JSON && v.end > 0:
		text = r.record.text[v.at:v.end]
	case v.Kind == bareKind && string(text) == "null":
		return "", nil
	default:
		if err := r.fits(c, v); err != nil {
			return c.Name, err
		}
	}
	value, err := v.Parsed, error(nil)
	if value == nil {
		value, err = r.parse(i, text, v.Kind)
	}
	if at, ok := value.(time.Time); ok && v.Part == TimePart && r.assumed && at.Year() == 1970 {
		err = r.early(v.Text)
	}
	if err == nil && r.seen[i] {
		err = ErrTwice
	}
	if err == nil {
		r.assign(e, i, value)
	}
	return c.Name, err
}

// early returns the error of a number that is a time in 1970 in the unit of the format, but a later one in a larger
// unit.
func (r *recordReader) early(text []byte) error {
	unit := unitName(r.options.Unit)
	return &valueError{fmt.Sprintf("\"%s\" is a time in 1970, in %s", shown(text), unit), "--time-unit s, or the one that it has, also if that is " + unit}
}

// fits returns an error for a value of another kind than those of the type of a column.
func (p *builder) fits(c *Column, v *Value) error {
	if v.Kind == TextKind || v.Part == TimePart {
		return nil
	}
	is, number := "", numeric(c.Type)
	switch {
	case v.Kind == bareKind:
		if c.Type != schema.Bool && !number && !(c.Type == schema.Timestamp && p.times.unit > 0) {
			return wantString(c.Type, v.Text)
		}
	case v.Kind == StringKind && (c.Type == schema.Bool || number && c.Type != schema.Duration):
		is = "a string"
	case v.Kind == StringKind:
	case v.Kind == BoolKind && c.Type != schema.Bool:
		is = "a boolean"
	case v.Kind != BoolKind && !number && c.Type != schema.Timestamp:
		is = "a number"
	}
	if is == "" {
		return nil
	}
	return fmt.Errorf("%w: it is %s, and not %s", ErrValue, is, words.WithArticle(c.Type.String()))
}

// only returns an error if the metric is not that of the other events.
func (r *recordReader) only(v *Value) error {
	if r.first == "" {
		r.first = string(v.Text)
	}
	if string(v.Text) == r.first {
		return nil
	}
	return fmt.Errorf("%w %q: it is \"%s\", and \"%s\" in another line: load them one by one, with --metric", ErrUnknown, r.format.Metric, shown(v.Text), shown([]byte(r.first)))
}

// noTags is the string of no tags: a segment of a row key cannot be empty.
const noTags = "-"

// joined returns tags as one string, sorted by name, as in code=200,method=post. A backslash precedes
// commas, equals signs and backslashes in names and values, and line breaks are \n.
func joined(pairs []pair) (string, error) {
	if len(pairs) == 0 {
		return noTags, nil
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			if p.name == pairs[i-1].name {
				return "", fmt.Errorf("%w: %s", ErrTwice, shown([]byte(p.name)))
			}
			b.WriteByte(',')
		}
		b.WriteString(tagEscapes.Replace(p.name))
		b.WriteByte('=')
		b.WriteString(tagEscapes.Replace(p.text))
	}
	return b.String(), nil
}

// tagEscapes are the escapes of joined.
var tagEscapes = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`, "\n", `\n`)
