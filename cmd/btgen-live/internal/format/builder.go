package format

import (
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
)

// Builder makes events of values by name, for readers of other formats.
type Builder struct{ p *parser }

// NewBuilder returns a builder of events of a schema. Errors are those of ReaderOptions.Names.
func NewBuilder(l *layout.Layout, o ReaderOptions) (*Builder, error) {
	p, err := newParser(l, o)
	return &Builder{p}, err
}

// Find returns the index of the column with a name; -1 if there is none and
// ReaderOptions.IgnoreUnknown is set. Otherwise, the error wraps [ErrUnknown], or [ErrTwice]
// for a name that was found before.
func (b *Builder) Find(name string) (int, error) { return b.p.column([]byte(name)) }

// Missing returns the name of the first column that an event must have and that Find has not
// found, or Set has not set since Start; empty if there is none.
func (b *Builder) Missing() string { return b.p.missing() }

// Column returns a column by index.
func (b *Builder) Column(i int) *Column { return &b.p.columns[i] }

// Parse parses the text of a column, in the forms that CSV has.
func (b *Builder) Parse(i int, text []byte) (any, error) { return b.p.value(i, text, TextKind) }

// ParseInteger parses the decimal digits of an integer for a column.
func (b *Builder) ParseInteger(i int, text []byte) (any, error) { return b.p.value(i, text, IntKind) }

// Start starts an event.
func (b *Builder) Start() dynamic.Event { return b.p.start() }

// Set sets the value of a column, which must have the Go type that package value lists.
func (b *Builder) Set(e *dynamic.Event, i int, v any) {
	b.p.seen[i] = true
	b.p.columns[i].set(e, v)
}

// Complete sets the defaults of an event. It returns the name of the first column that is
// missing; empty if there is none.
func (b *Builder) Complete(e *dynamic.Event) string { return b.p.complete(e) }
