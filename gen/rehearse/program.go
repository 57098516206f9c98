package rehearse

import (
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Program is what programs of one revision know of stored events.
type Program struct {
	Schemas []Schema
	// Reads reports whether values of the coding stored are read, as the values that they are, by a
	// program with the coding as. Nil means that only equal codings are.
	Reads func(stored, as string) bool
}

// Epoch is a program that has written, or is about to, after others.
type Epoch struct {
	Name    string // for stories; may be empty
	Program Program
	Now     time.Time // when it began to; zero if that is not known
	Filled  []string  // the names of tables that had all events then that the program before found: somebody says so
	After   []*Epoch  // the epochs that it follows: several after a merge, none if it is the first
}

// Schema is a schema of events.
type Schema struct {
	Name   string
	Fields []Field
	Tables []Table
	Reads  []Read
}

// Read is a way to read events: by its name, and the index of the table that serves it. The first read of a schema
// finds all events.
type Read struct {
	Name  string
	Table int
	Idle  bool // the table serves no reads: it is only compared with itself, while it serves none

	Aside bool // it is not compared, and only there for others
}

// Field is a field of events.
type Field struct {
	ID       string // its identity, which it keeps if it is renamed
	Optional bool   // events may lack it
	Zero     bool   // no event lacks it, but some columns omit its zero value
	Default  string // what events that lack it are read with; empty if there is none
}

// Value is a value of an enum.
type Value struct {
	Number int64
	Name   string
}

// Table has the events of a schema.
type Table struct {
	Name    string
	Newest  bool     // only the newest event of each series
	Layouts []Layout // newest first
}

// Layout is how the events from a time on lie in a table.
type Layout struct {
	Since    time.Time
	Place    string // the table of Bigtable
	Rows     string // equal texts mean equal row keys for equal events
	Form     string // how whole events are serialized, and in which column; empty if fields are stored one by one
	Families []Family
	Columns  []Column
	Rollup   *Rollup // nil if there is none
}

// Family is a column family with events.
type Family struct {
	Name  string
	Class string // the TTL class of its events; empty if they have none
	Life  codec.Lifetime
	Rule
}

// Rule is the garbage collection rule of a family, and how many cells a column may have; 0 if that is not known.
type Rule struct {
	GC    codec.GCRule
	Cells int64
}

// of returns the lifetime of a cell with the timestamps of a lifetime.
func (r Rule) of(written codec.Lifetime) codec.Lifetime {
	return codec.Lifetime{Timestamp: written.Timestamp, Default: written.Default}.Under(r.GC, r.Cells)
}

// Column is where a layout has a field.
type Column struct {
	Field  string // its ID
	Family string // empty in the families of all classes, and in serialized events
	Key    string
	Coding string
	// Statistics is the coding of the statistics of its values.
	Statistics string
	Values     []Value // of an enum
	Named      bool    // these are stored by name, not by number
	Older      bool    // only events of earlier programs have it
	Omits      bool    // the zero value is not stored, and what is not there is read as it
}

// Rollup is a family with windows.
type Rollup struct {
	Family string
	Every  time.Duration
	Rule
	Fields []Summary
	Idle   bool // it is maintained, and not read
}

// Summary is a field of which a rollup has statistics, by the name that these have.
type Summary struct{ Name, Field string }

// schema returns the schema with a name; nil if there is none.
func (p *Program) schema(name string) *Schema {
	if i := slices.IndexFunc(p.Schemas, func(s Schema) bool { return s.Name == name }); i >= 0 {
		return &p.Schemas[i]
	}
	return nil
}

// readable reports whether values of a coding are read by a program with another one.
func (p *Program) readable(stored, as string) bool {
	return stored == as || p.Reads != nil && p.Reads(stored, as)
}

// field returns the field with an ID; nil if there is none.
func (s *Schema) field(id string) *Field {
	if i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.ID == id }); i >= 0 {
		return &s.Fields[i]
	}
	return nil
}

// read returns the read with a name; nil if there is none.
func (s *Schema) read(name string) *Read {
	if i := slices.IndexFunc(s.Reads, func(r Read) bool { return r.Name == name }); i >= 0 {
		return &s.Reads[i]
	}
	return nil
}

// instead returns the name of the read that finds what another one does: the same, or the first one if there is none.
func (s *Schema) instead(name string) string {
	if s.read(name) == nil && len(s.Reads) > 0 {
		return s.Reads[0].Name
	}
	return name
}

// table returns the table that serves a read; nil if none does.
func (s *Schema) table(read string) *Table {
	if r := s.read(read); r != nil {
		return &s.Tables[r.Table]
	}
	return nil
}

// layouts are the layouts of the tables of a schema.
func (s *Schema) layouts() iter.Seq[*Layout] {
	return func(yield func(*Layout) bool) {
		for i := range s.Tables {
			for k := range s.Tables[i].Layouts {
				if !yield(&s.Tables[i].Layouts[k]) {
					return
				}
			}
		}
	}
}

// layouts are the layouts of all tables of a program.
func (p *Program) layouts() iter.Seq[*Layout] {
	return func(yield func(*Layout) bool) {
		for i := range p.Schemas {
			for l := range p.Schemas[i].layouts() {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// classes returns the TTL classes of the events of a schema; one that is empty if there are none.
func (s *Schema) classes() []string {
	var out []string
	for l := range s.layouts() {
		for _, f := range l.Families {
			if f.Class != "" && !slices.Contains(out, f.Class) {
				out = append(out, f.Class)
			}
		}
	}
	if out == nil {
		return []string{""}
	}
	return out
}

// at returns the layout of events from a time on; nil if the table has none.
func (t *Table) at(start time.Time) *Layout {
	for i := range t.Layouts {
		if !t.Layouts[i].Since.After(start) {
			return &t.Layouts[i]
		}
	}
	return nil
}

// until returns the end of a layout; zero if it has none.
func (t *Table) until(l *Layout) time.Time {
	out := time.Time{}
	for i := range t.Layouts {
		if o := &t.Layouts[i]; o.Since.After(l.Since) {
			out = o.Since // the layouts are sorted
		}
	}
	return out
}

// columns returns the columns of a field, its own first.
func (l *Layout) columns(field string) (out []*Column) {
	for _, older := range []bool{false, true} {
		for i := range l.Columns {
			if c := &l.Columns[i]; c.Field == field && c.Older == older {
				out = append(out, c)
			}
		}
	}
	return out
}

// labels returns the names of the values of a field that is an enum.
func (s *Schema) labels(field string) (out []string) {
	for l := range s.layouts() {
		for _, c := range l.columns(field) {
			for _, v := range c.Values {
				if !c.Older && !slices.Contains(out, v.Name) {
					out = append(out, v.Name)
				}
			}
		}
	}
	return out
}

// stored returns how a value of an enum is stored.
func (v *Value) stored(named bool) string {
	if named {
		return v.Name
	}
	return strconv.FormatInt(v.Number, 10)
}

// in returns the families in which a column may be.
func (c *Column) in(l *Layout) []string {
	if c.Family != "" {
		return []string{c.Family}
	}
	out := make([]string, len(l.Families))
	for i := range l.Families {
		out[i] = l.Families[i].Name
	}
	return out
}

// summary returns the name under which the rollup has statistics of a field; empty if it has none.
func (r *Rollup) summary(field string) string {
	if i := slices.IndexFunc(r.Fields, func(s Summary) bool { return s.Field == field }); i >= 0 {
		return r.Fields[i].Name
	}
	return ""
}
