package format

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Reader reads events from text.
type Reader interface {
	// Next returns the next event and the line on which it begins, counted from 1. At the end,
	// the error is [io.EOF]. If the error is an *InputError, Next may be called again and
	// continues with the next record.
	Next() (dynamic.Event, int, error)
	// Skipped returns the number of lines of other metrics than ReaderOptions.Metric.
	Skipped() int
	// Replaced returns the events that replaced values of others, once Next has returned io.EOF.
	Replaced() Replacements
}

// InputError reports an event that cannot be parsed.
type InputError struct {
	Line   int    // the line of the problem, counted from 1
	Column int    // the character of the line at which the problem is, counted from 1
	Name   string // the column of the event; empty if the problem is not in a value
	Err    error
}

// Error returns the position and the problem.
func (e *InputError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("%d:%d: %s: %v", e.Line, e.Column, e.Name, e.Err)
}

// Unwrap returns the problem.
func (e *InputError) Unwrap() error { return e.Err }

// Errors of events that cannot be parsed.
var (
	ErrSyntax  = errors.New("syntax error")
	ErrUnknown = errors.New("the schema has no such value")
	ErrTwice   = errors.New("the value is given twice")
	ErrMissing = errors.New("the value is missing")
	ErrTooLong = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
)

// maxLine is the maximum size of a line in bytes. An event is much smaller: a request to
// Bigtable may have 256 MiB, and a row should have less than 100 MB.
const maxLine = 64 << 20

// ReaderOptions configure a [Reader].
type ReaderOptions struct {
	// IgnoreUnknown ignores values that the schema does not have, instead of rejecting them.
	IgnoreUnknown bool
	// Names maps names in the input to those of the schema. Values with an empty name are left out.
	Names map[string]string
	// Unit is the unit of times that are numbers since 1970, one of Units. 0 is that of the format,
	// which may have none.
	Unit time.Duration
	// Zone is the time zone of times without an offset. They are refused if it is nil.
	Zone *time.Location
	// Layout is that of package time which times that are texts have; empty for the usual forms. See [CheckLayout].
	Layout string
	// Series are the values of the series, by name, of events without them.
	Series map[string]string
	// Time is the time of events without one. They are refused if it is zero.
	Time time.Time
	// Partial returns events without fields that they must have, and without defaults, for a [Joiner].
	Partial bool
	// Metric is the only metric to read, or the only measurement. All are read if it is empty.
	Metric string
	// CSV describes files that are not as in RFC 4180.
	CSV CSVOptions
}

// syntax returns a syntax error.
func syntax(text string) error { return fmt.Errorf("%w: %s", ErrSyntax, text) }

// builder makes events of values by name.
type builder struct {
	layout   *layout.Layout
	columns  []Column
	parsers  []func(text []byte) (any, error) // per column
	byName   map[string]int                   // in the input, as Qualified returns them, or of any part
	required []bool                           // per column
	seen     []bool                           // per column, in the current line
	options  ReaderOptions
	times    timeParser
	event    dynamic.Event // the current one
	defaults []any         // per column, the value of ReaderOptions.Series; nil if there is none
}

// newBuilder returns a builder of events of a schema. It returns an error for names that the schema does not have.
func newBuilder(l *layout.Layout, o ReaderOptions) (*builder, error) {
	p := &builder{
		layout: l, columns: inputColumns(l), byName: map[string]int{}, options: o,
		times: timeParser{unit: o.Unit, zone: o.Zone, layout: o.Layout, ids: o.CSV.cql},
	}
	for i := range p.columns {
		c := &p.columns[i]
		p.byName[c.Name] = i
		p.parsers = append(p.parsers, p.parserOf(c))
		p.required = append(p.required, c.Required() && !(c.part == timePart && !o.Time.IsZero()) && !(c.part == fieldPart && o.Partial))
	}
	p.seen = make([]bool, len(p.columns))
	for _, from := range slices.Sorted(maps.Keys(o.Names)) {
		to := o.Names[from]
		i := slices.IndexFunc(p.columns, func(c Column) bool { return c.Name == to })
		if i < 0 && to != "" {
			return nil, fmt.Errorf("%s=%s: %w", from, to, p.unknown(to))
		}
		p.byName[from] = max(i, leftOut)
	}
	return p, p.setDefaults()
}

// Indexes that are no columns.
const (
	leftOut  = -1 // of values that are left out
	noColumn = -2 // of values that the schema does not have
)

// lookup returns the index of the column of a value with a name, or else with another one; or else leftOut or noColumn.
func (p *builder) lookup(name, other string) int {
	if i, ok := p.byName[name]; ok {
		return i
	}
	if i, ok := p.byName[other]; ok {
		return i
	}
	return noColumn
}

// setDefaults parses ReaderOptions.Series.
func (p *builder) setDefaults() error {
	p.defaults = make([]any, len(p.columns))
	for _, name := range slices.Sorted(maps.Keys(p.options.Series)) {
		i := slices.IndexFunc(p.columns, func(c Column) bool { return c.Name == name && c.part == seriesPart })
		if i < 0 {
			return fmt.Errorf("%w %q in its series", ErrUnknown, shown([]byte(name)))
		}
		v, err := p.parse(i, []byte(p.options.Series[name]), TextKind)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.defaults[i], p.required[i] = v, false
	}
	return nil
}

// parserOf returns a parser of the values of a column, which accepts times and bytes in the forms of
// other systems, too.
func (p *builder) parserOf(c *Column) func(text []byte) (any, error) {
	own := parserOf(&c.Field)
	switch c.Type {
	case schema.Timestamp:
		return func(text []byte) (any, error) {
			v, err := p.times.parse(text)
			switch {
			case v != nil || err != nil:
				return v, err
			case isDecimal(text):
				return nil, &valueError{fmt.Sprintf("\"%s\" is not a valid timestamp", shown(text)), forms[c.Type] + ", or --time-unit"}
			}
			return nil, refuse(&c.Field, text)
		}
	case schema.Bytes:
		return func(text []byte) (any, error) {
			digits, isHex := bytes.CutPrefix(text, []byte(`\x`)) // of PostgreSQL
			if !isHex && p.options.CSV.cql {
				digits, isHex = bytes.CutPrefix(text, []byte("0x"))
			}
			if !isHex {
				return own(text)
			}
			v, err := hex.AppendDecode([]byte{}, digits)
			if err != nil {
				err = &valueError{fmt.Sprintf("\"%s\" is not a valid %s", shown(text), c.Type), "pairs of hexadecimal digits"}
			}
			return v, err
		}
	}
	return own
}

// parse parses the text of a value of a column, of a kind.
func (p *builder) parse(column int, text []byte, kind Kind) (any, error) {
	if c := &p.columns[column]; numeric(c.Type) || c.Type == schema.Bool || c.Type == schema.Timestamp {
		text = bytes.TrimSpace(text)
	}
	v, err := p.parsers[column](text)
	if err == nil {
		err = exact(&p.columns[column].Field, v, text, kind)
	}
	return v, err
}

// start starts an event, in memory that the next one takes.
func (p *builder) start() *dynamic.Event {
	clear(p.seen)
	p.event = dynamic.Event{Series: make([]any, len(p.layout.Series)), Values: make([]any, len(p.layout.Fields))}
	return &p.event
}

// assign sets the value of a column, which must have the Go type that package value lists.
func (p *builder) assign(e *dynamic.Event, i int, v any) {
	p.seen[i] = true
	p.columns[i].set(e, v)
}

// find returns the column with a name that was not found before; nil if its values are left out. Otherwise, the error
// wraps [ErrUnknown] or [ErrTwice].
func (p *builder) find(name string) (*Column, error) {
	switch i := p.lookup(name, name); {
	case i == noColumn && !p.options.IgnoreUnknown:
		return nil, p.unknown(name)
	case i < 0:
		return nil, nil
	case p.seen[i]:
		return nil, ErrTwice
	default:
		p.seen[i] = true
		return &p.columns[i], nil
	}
}

// unknown returns the error of a name that the schema does not have.
func (p *builder) unknown(name string) error {
	var names []string
	for i := range p.columns {
		names = append(names, p.columns[i].Name)
	}
	shown := shown([]byte(name))
	if strings.HasPrefix(strings.ToLower(name), "time") || strings.EqualFold(name, "ts") {
		return fmt.Errorf("%w %q: if it is the time of the events, add --map %s", ErrUnknown, shown, words.ShellPair(shown, "time"))
	}
	if near, ok := diag.Nearest(name, names); ok {
		return fmt.Errorf("%w %q; did you mean %s?", ErrUnknown, shown, near)
	}
	return fmt.Errorf("%w %q; it has %s", ErrUnknown, shown, strings.Join(names, ", "))
}

// complete sets the defaults of an event. It returns the name of the first column that is
// missing; empty if there is none.
func (p *builder) complete(e *dynamic.Event) string {
	for i := range p.columns {
		switch c := &p.columns[i]; {
		case p.seen[i]:
		case c.part == timePart:
			e.Time = p.options.Time
		case p.defaults[i] != nil:
			c.set(e, p.defaults[i])
		case !p.options.Partial && c.part == fieldPart && c.Default != nil && !c.Optional:
			c.set(e, c.Default)
		}
	}
	return p.missing()
}

// completeJoined is complete for an event whose fields are those of several ones.
func (p *builder) completeJoined(e *dynamic.Event) string {
	for i := range p.columns {
		p.seen[i] = p.columns[i].part != fieldPart || p.columns[i].Value(e) != nil
	}
	return p.complete(e)
}

// missing returns the name of the first column that an event must have and that was not
// given; empty if there is none.
func (p *builder) missing() string {
	for i := range p.columns {
		if !p.seen[i] && p.required[i] {
			return p.columns[i].Name
		}
	}
	return ""
}

// errorAt returns an error at an offset of a record, which begins on a line.
func errorAt(record []byte, line, offset int, name string, err error) *InputError {
	before := record[:min(offset, len(record))]
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &InputError{Line: line + bytes.Count(before, []byte("\n")), Column: column, Name: name, Err: err}
}

// lacks returns the error of an event without a value.
func lacks(line int, name string) *InputError {
	return &InputError{Line: line, Column: 1, Name: name, Err: ErrMissing}
}
