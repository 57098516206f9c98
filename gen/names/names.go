// Package names returns all identifiers of generated code and finds those that collide.
// A name is registered where it is created, together with the part of the schema that
// it comes from, so every emitted name is checked. Names depend only on the name of the
// schema and one entry of it, so a new entry does not change other names.
package names

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Schema contains the names in the generated code of one schema.
type Schema struct {
	Name  string // of the schema
	File  string // the base name of its files
	Proto string // the name of its .proto file

	Series, Event, Columns, Window string // types
	WindowColumns                  string // the type of windows in columnar form
	Windows                        string // the variable that says how events are summarized
	Part                           string // the function that says where an event has its parts
	Base                           string // the function that returns an event with a series and nothing else
	Writer, NewWriter              string
	Batcher, NewBatcher            string
	Reader, NewReader              string
	Setup                          string
	Rollup                         string // empty without a rollup
	Backfill                       string // empty if there is only one table
	Mappings                       string // the variable with the mappings of all tables
	Beam, BeamSpec                 string // the functions that give pipelines access; empty if there are none
	BeamWindows                    string // the variable with the windows, in the package for pipelines
	Check                          string // the function that rejects invalid events
	AppendProto,
	ParseProto,
	JSON,
	AppendJSON,
	ParseJSON string
	Class, ClassNames string // the type of TTL classes, and the variable with their names

	Test string // in the test package

	classes   map[string]string
	ttlFields map[layout.TTLField]string
	fields    map[string]*Field
	tables    map[string]*Table
	ids       map[string]*IDs
	queries   map[string]*Query
}

// Field contains the names for a series value or a field.
type Field struct {
	Name      string // in the series, the event, its columns and row keys
	Const     string // for ReadOptions or, of a series value, for WindowOptions
	Enum      string // the type of an enum
	EnumNames string // the variable with the names of its values
	ProtoEnum string // the type of an enum in the .proto file
	ProtoZero string // the value 0 there, if the enum has none
	values    map[string]enumValue
}

// enumValue contains the names of an enum value.
type enumValue struct{ name, proto string }

// Value returns the name of the constant for a value of an enum.
func (f *Field) Value(value string) string { return f.values[value].name }

// ProtoValue returns the name of a value of an enum in the .proto file.
func (f *Field) ProtoValue(value string) string { return f.values[value].proto }

// Table contains the names for a table.
type Table struct {
	Key, ParseKey string // the type of row keys, and the function that parses them
	Mapping       string // the variable with the mapping of events to the table
	Columns       string // the variable with the columns
	KeyVar        string // the variable that describes the row keys
	Reader        string // the field of the reader that reads the table
}

// IDs contains the constants for a table.
type IDs struct {
	Table    string            // its ID
	Families map[string]string // the names of its families, by name
	pos      diag.Pos          // of the first layout of the table
}

// Query contains the names for a query.
type Query struct {
	Method, ColumnsMethod string     // of the reader
	WindowsMethod         string     // of the reader
	PointsMethod          string     // of the reader
	SeriesMethod          string     // of the reader; empty if it does not list series
	Var                   string     // the variable with the query
	Select                string     // the function that gives it its values
	Beam                  string     // the function that returns it in the package for pipelines
	Params                [][]string // the parameters for each of its inputs: for the ends of a range, else one
	One                   string     // the variable with one of several values; empty if it does not take several
	// DeleteMethod is the method of the writer that deletes by the query, and DeleteAllMethod the
	// one for events of all times.
	DeleteMethod, DeleteAllMethod string
}

// Of returns the names of a schema. The layout must have no errors, and [Check] must
// not have rejected its names.
func Of(l *layout.Layout) *Schema {
	pkg := newScope()
	n, _ := register(l, pkg)
	return n
}

// Field returns the names for a series value or a field.
func (n *Schema) Field(f *layout.Field) *Field { return n.fields[f.Name] }

// Table returns the names for a table.
func (n *Schema) Table(t *layout.Table) *Table { return n.tables[t.ID+period(t)] }

// IDs returns the constants for a table.
func (n *Schema) IDs(t *layout.Table) *IDs { return n.ids[t.ID] }

// Query returns the names for a query.
func (n *Schema) Query(q *layout.Query) *Query { return n.queries[q.Name] }

// ClassValue returns the name of the constant for a TTL class.
func (n *Schema) ClassValue(class string) string { return n.classes[class] }

// TTLField returns the name of an event's field about its time to live.
func (n *Schema) TTLField(f layout.TTLField) string { return n.ttlFields[f] }

// register registers the names of a schema in its package.
func register(l *layout.Layout, pkg *scope) (*Schema, map[diag.Pos]diag.Diagnostic) {
	r := &registrar{pkg: pkg, own: map[string]bool{}, found: map[diag.Pos]diag.Diagnostic{}}
	n := &Schema{
		Name: l.Name,
		File: words.Snake(l.Name), Proto: words.Snake(l.Name) + ".proto",
		Test:    "Test" + l.Name + "Stored",
		classes: map[string]string{}, ttlFields: map[layout.TTLField]string{},
		fields: map[string]*Field{}, tables: map[string]*Table{}, ids: map[string]*IDs{}, queries: map[string]*Query{},
	}
	n.declare(r, l)
	n.members(r, l)
	n.ofClasses(r, l)
	n.ofFields(r, l)
	n.ofTables(r, l)
	n.ofQueries(r, l)
	n.ofProto(r, l)
	return n, r.found
}

// declare registers what each schema has once.
func (n *Schema) declare(r *registrar, l *layout.Layout) {
	as := r.of(r.pkg, origin{what: "schema " + l.Name, pos: l.NamePos})
	n.Series, n.Event, n.Columns = as(l.Name+"Series"), as(l.Name+"Event"), as(l.Name+"Columns")
	n.Window, n.WindowColumns, n.Windows = as(l.Name+"Window"), as(l.Name+"WindowColumns"), as(unexported(l.Name)+"Windows")
	n.Writer, n.NewWriter = as(l.Name+"Writer"), as("New"+l.Name+"Writer")
	n.Reader, n.NewReader = as(l.Name+"Reader"), as("New"+l.Name+"Reader")
	n.Batcher, n.NewBatcher = as(l.Name+"Batcher"), as("New"+l.Name+"Batcher")
	n.Setup, n.Check = as("Setup"+l.Name), as("check"+l.Name)
	if len(l.Rollups()) > 0 {
		n.Rollup = as("Rollup" + l.Name)
	}
	if len(l.Tables) > 1 {
		n.Backfill = as("Backfill" + l.Name)
	}
	n.Mappings, n.Part, n.Base = as(unexported(l.Name)+"Mappings"), as(unexported(l.Name)+"Part"), as(unexported(l.Name)+"Base")
	if l.Beam {
		n.Beam, n.BeamSpec, n.BeamWindows = as("Beam"+l.Name), as("Beam"+l.Name+"Windows"), as(l.Name+"Windows")
		as(l.Name) // in the package for pipelines, which has no other names
	}
	n.AppendProto, n.ParseProto = as("append"+l.Name+"Proto"), as("parse"+l.Name+"Proto")
	n.JSON = as(unexported(l.Name) + "JSON")
	n.AppendJSON, n.ParseJSON = as("append"+l.Name+"JSON"), as("parse"+l.Name+"JSON")
}

// ttlFieldNames contains the names of the fields about the time to live.
var ttlFieldNames = map[layout.TTLField]string{
	layout.ClassField: "Class", layout.TTLDurationField: "TTL", layout.ExpiresAtField: "ExpiresAt", layout.WrittenAtField: "WrittenAt",
}

// members registers the fields of the event, which its columns have too, and of row keys.
func (n *Schema) members(r *registrar, l *layout.Layout) {
	event, key := newScope(), newKeyScope(l)
	own := func(s *scope, what string, names ...string) {
		for _, name := range names {
			r.of(s, origin{what: what})(name)
		}
	}
	own(event, "the event's time", "Time")
	own(event, "the event's series", n.Series)
	own(event, "a part of the type for columns", "Series", "Append", "Reset")
	own(event, "a part of the types for windows", "Window", "WindowColumns")
	if l.Sequence {
		own(event, "the event's tie-breaker", "Sequence")
	}
	for _, f := range l.TTLFields() {
		n.ttlFields[f] = ttlFieldNames[f]
		own(event, "a time-to-live field of the event", ttlFieldNames[f])
	}
	for i := range l.Series {
		f := &l.Series[i]
		from := origin{what: fmt.Sprintf("series value %q", f.Name), pos: f.Pos}
		n.fields[f.Name] = &Field{Name: r.of(event, from)(r.of(key, from)(Exported(f.Name)))}
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		n.fields[f.Name] = &Field{Name: r.of(event, fieldOrigin(f))(Exported(f.Name))}
	}
}

// newKeyScope returns a scope with the names in row key types other than series values.
func newKeyScope(l *layout.Layout) *scope {
	s := newScope()
	own := origin{what: "a part of the type of row keys"}
	s.taken["Append"], s.taken["Prefix"] = own, own
	for _, t := range l.AllPeriods() {
		if t.Pattern.Bucketed() {
			s.taken["Bucket"] = own
		}
		if t.Metrics() {
			s.taken["Metric"] = own
		}
	}
	return s
}

// fieldOrigin and enumOrigin are where the names of fields and of enums come from.
func fieldOrigin(f *layout.Field) origin {
	return origin{what: fmt.Sprintf("field %q", f.Name), pos: f.Pos}
}
func enumOrigin(f *layout.Field) origin {
	return origin{what: fmt.Sprintf("enum %q", f.Name), pos: f.Pos}
}

// valueOrigin is where the names of the i-th value of an enum come from.
func valueOrigin(f *layout.Field, i int) origin {
	return origin{what: fmt.Sprintf("value %q of enum %q", f.Enum[i].Name, f.Name), pos: f.EnumPos[i], within: f.Pos}
}

// ofClasses registers the type of TTL classes, and its values.
func (n *Schema) ofClasses(r *registrar, l *layout.Layout) {
	if len(l.Classes) == 0 {
		return
	}
	as := r.of(r.pkg, origin{what: "the TTL classes of schema " + l.Name, pos: l.NamePos, rename: "schema " + l.Name})
	n.Class = as(join(l.Name, "Class"))
	n.ClassNames = as(unexported(n.Class) + "Names")
	for i, class := range l.Classes {
		n.classes[class] = r.of(r.pkg, origin{what: fmt.Sprintf("TTL class %q", class), pos: l.ClassPos(i)})(n.Class + Exported(class))
	}
}

// ofFields registers the constants of fields, and the types of enums.
func (n *Schema) ofFields(r *registrar, l *layout.Layout) {
	for i := range l.Series {
		f := &l.Series[i]
		n.Field(f).Const = r.of(r.pkg, origin{what: fmt.Sprintf("series value %q", f.Name), pos: f.Pos})(l.Name + "Series" + Exported(f.Name))
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		n.Field(f).Const = r.of(r.pkg, fieldOrigin(f))(l.Name + "Field" + Exported(f.Name))
	}
	for _, f := range l.Enums() {
		out, as := n.Field(f), r.of(r.pkg, enumOrigin(f))
		out.Enum = as(l.Name + Exported(f.Name))
		out.EnumNames = as(unexported(out.Enum) + "Names")
		out.values = map[string]enumValue{}
		for i, v := range f.Enum {
			out.values[v.Name] = enumValue{name: r.of(r.pkg, valueOrigin(f, i))(out.Enum + Exported(v.Name))}
		}
	}
}

// ofTables registers what is declared for each table.
func (n *Schema) ofTables(r *registrar, l *layout.Layout) {
	for _, t := range l.AllPeriods() {
		as := r.of(r.pkg, origin{what: fmt.Sprintf("table %q", t.ID), pos: t.Pos})
		base := Exported(t.ID)
		if len(base) < len(l.Name) || base[:len(l.Name)] != l.Name { // the schema's name once
			base = join(l.Name, base)
		}
		constants := base
		base += period(t)
		n.tables[t.ID+period(t)] = &Table{
			Key: as(base + "Key"), ParseKey: as("Parse" + base + "Key"),
			Mapping: as(unexported(base) + "Mapping"), Columns: as(unexported(base) + "Columns"),
			KeyVar: as(unexported(base) + "Key"),
			Reader: "read" + Exported(t.ID),
		}
		if t == l.Read {
			n.tables[t.ID+period(t)].Reader = "reader"
		}
		n.constants(r, t, constants)
	}
}

// constants registers the constants for the ID of a table and for the names of its families. Layouts of one table
// share them. The names of families may differ only in what Go names cannot contain.
func (n *Schema) constants(r *registrar, t *layout.Table, base string) {
	out, known := n.ids[t.ID], n.ids[t.ID] != nil
	if !known {
		out = &IDs{Families: map[string]string{}, pos: t.Pos}
		n.ids[t.ID] = out
	}
	as := r.of(r.pkg, origin{what: fmt.Sprintf("table %q", t.ID), pos: out.pos})
	out.Table = as(base + "TableID")
	for _, f := range t.AllFamilies() {
		name := base + "Family" + Exported(f.Name)
		for slices.Contains(slices.Collect(maps.Values(out.Families)), name) && out.Families[f.Name] == "" {
			name += "2"
		}
		out.Families[f.Name] = as(cmp.Or(out.Families[f.Name], name))
	}
}

// period is the suffix of the names of an earlier layout: the time when it ended.
func period(t *layout.Table) string {
	switch {
	case t.Until.IsZero():
		return ""
	case t.Until.Equal(t.Until.Truncate(24 * time.Hour)):
		return "Until" + t.Until.Format("20060102")
	}
	return "Until" + t.Until.Format("20060102T150405")
}

// readerMethods are the methods of every reader.
var readerMethods = []string{"Read", "ReadColumns", "ReadMany", "Latest", "LatestMany", "Windows", "Points"}

// ofQueries registers what is declared for each query, and the methods of the reader.
func (n *Schema) ofQueries(r *registrar, l *layout.Layout) {
	methods := newScope()
	every := origin{what: "a method of every reader"}
	for _, name := range readerMethods {
		methods.taken[name] = every
	}
	writing, always := newScope(), origin{what: "a method of every writer"}
	for _, name := range []string{"DeleteRange", "DeleteSeries"} {
		writing.taken[name] = always
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		from := origin{what: "query " + q.Name, pos: q.Pos}
		method, as := r.of(methods, from), r.of(r.pkg, from)
		n.queries[q.Name] = &Query{
			Method: method(q.Name), ColumnsMethod: method(q.Name + "Columns"), WindowsMethod: method(q.Name + "Windows"), PointsMethod: method(q.Name + "Points"),
			Var: as(unexported(l.Name) + q.Name), Select: as("select" + l.Name + q.Name),
		}
		if q.Series {
			n.queries[q.Name].SeriesMethod = method(q.Name + "Series")
		}
		if q.Deletes != nil {
			delete := r.of(writing, from)
			n.queries[q.Name].DeleteMethod, n.queries[q.Name].DeleteAllMethod = delete("Delete"+q.Name), delete("DeleteAll"+q.Name)
		}
		if l.Beam {
			n.queries[q.Name].Beam = as(l.Name + q.Name)
		}
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		n.params(r, l, q)
	}
}

// OlderProto returns the name of a field in the .proto file as older events have it.
func OlderProto(f, older *layout.Field) string { return fmt.Sprintf("%s_%d", f.Name, older.Number) }

// ofProto registers the names in the message that describes serialized events: there, the
// values of all enums share a scope with its fields. They begin with the enum's name.
func (n *Schema) ofProto(r *registrar, l *layout.Layout) {
	message := &scope{"the .proto file", map[string]origin{}}
	if !l.Stores(layout.Protobuf) {
		return
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		r.of(message, fieldOrigin(f))(f.Name)
		for _, older := range f.Older(layout.Protobuf) {
			r.of(message, fieldOrigin(f))(OlderProto(f, &older))
		}
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		if f.Type != schema.Enum {
			continue
		}
		out, prefix := n.Field(f), upperSnake(f.Name)+"_"
		out.ProtoEnum = r.of(message, enumOrigin(f))(Exported(f.Name))
		if _, has := f.Enum.Name(0); !has {
			out.ProtoZero = r.of(message, origin{what: fmt.Sprintf("the zero value of enum %q", f.Name), pos: f.Pos})(prefix + "UNSPECIFIED")
		}
		for i, v := range f.Enum {
			value := out.values[v.Name]
			value.proto = r.of(message, valueOrigin(f, i))(prefix + upperSnake(v.Name))
			out.values[v.Name] = value
		}
	}
}
