package emit

import (
	"fmt"

	"golang.org/x/mod/module"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Check refuses schemas whose generated names would collide, within one
// package or within one struct. Emit must not be called where it finds errors.
func Check(layouts []*layout.Layout) diag.List {
	var found diag.List
	packages := map[string]*scope{}
	files := map[string]diag.Pos{}
	for _, l := range layouts {
		file := l.Package + "/" + names{l.Name}.file()
		if first, taken := files[file]; taken {
			found.Errorf(l.NamePos, "package %q has a schema of this name already, at %s", l.Package, first).Hint = "give it another name"
			continue
		}
		files[file] = l.NamePos
		s := packages[l.Package]
		if s == nil {
			s = newScope()
			packages[l.Package] = s
		}
		checkFile(l, &found)
		c := newCollisions(l)
		c.fields()
		c.schema(s)
		c.proto()
		for _, d := range c.found {
			found = append(found, d)
		}
	}
	found.Sort()
	return found
}

// checkFile refuses a name of which a file would be named that not all systems have:
// no module may contain it.
func checkFile(l *layout.Layout, found *diag.List) {
	if !usesFormat(l, layout.Protobuf) {
		return
	}
	name := protoName(l)
	if err := module.CheckFilePath(name); err != nil {
		found.Errorf(l.NamePos, "its .proto file would be %s, which Windows does not have, and no Go module can contain", name).Hint = "give the schema another name"
	}
}

// scope is the names of one generated package, struct or message, with what each is
// for.
type scope struct {
	where string // for messages
	taken map[string]string
}

// newScope returns a scope with what every generated package declares.
func newScope() *scope {
	const common = "what every generated package declares"
	s := &scope{where: "Go", taken: map[string]string{clientOptions: common}}
	for _, d := range supportDecls {
		s.taken[d.name] = common
	}
	return s
}

// collisions finds the names of one schema that collide. Of a part of the schema it
// says so once, however many of its names do.
type collisions struct {
	layout *layout.Layout
	names  names
	found  map[diag.Pos]diag.Diagnostic
}

// newCollisions returns collisions that has found none yet.
func newCollisions(l *layout.Layout) *collisions {
	return &collisions{layout: l, names: names{l.Name}, found: map[diag.Pos]diag.Diagnostic{}}
}

// declare takes the names of a part of the schema, which is called as there. It reports
// whether none is taken.
func (c *collisions) declare(s *scope, what string, pos diag.Pos, names ...string) bool {
	if _, known := c.found[pos]; known {
		return false
	}
	for _, name := range names {
		other, taken := s.taken[name]
		if !taken || other == what {
			continue
		}
		c.found[pos] = diag.Diagnostic{Pos: pos, Message: fmt.Sprintf("%s and %s would have the same name in %s, %s", what, other, s.where, name), Hint: "rename " + what}
		return false
	}
	for _, name := range names {
		s.taken[name] = what
	}
	return true
}

// schema takes all the names of the schema in its package.
func (c *collisions) schema(s *scope) {
	l, n := c.layout, c.names
	if !c.declare(s, "schema "+l.Name, l.NamePos,
		n.series(), n.event(), n.writer(), n.reader(), n.batcher(), n.newWriter(), n.newReader(), n.newBatcher(), n.setup(), n.check(),
		n.layouts(), n.appendProto(), n.parseProto(), n.jsonType(), n.appendJSON(), n.parseJSON(), n.same(), n.own(), n.columns()) {
		return
	}
	if len(l.Classes) > 0 {
		c.declare(s, "the type of TTL classes", l.NamePos, n.class(), n.classNames())
		for _, class := range l.Classes {
			c.declare(s, fmt.Sprintf("TTL class %q", class), l.NamePos, n.classValue(class))
		}
	}
	for i := range l.Fields {
		c.declare(s, fieldName(&l.Fields[i]), l.Fields[i].Pos, n.fieldConst(&l.Fields[i]))
	}
	c.queries(s)
	for _, fields := range [][]layout.Field{l.Series, l.Fields} {
		for i := range fields {
			c.enum(s, &fields[i])
		}
	}
	for _, t := range l.Tables {
		c.declare(s, fmt.Sprintf("table %q", t.ID), t.Pos,
			n.key(t), n.parseKey(t), n.layout(t), n.bucket(t), n.timeKey(t), n.columnsVar(t))
	}
}

// queries takes the names of the queries, and those of their methods in the reader.
func (c *collisions) queries(s *scope) {
	const every = "a method of every reader"
	methods := &scope{where: "Go", taken: map[string]string{"Read": every, "ReadColumns": every, "Latest": every, "EventReader": every}}
	for i := range c.layout.Queries {
		q := &c.layout.Queries[i]
		what := "query " + q.Name
		if c.declare(methods, what, q.Pos, q.Name, q.Name+"Columns") {
			c.declare(s, what, q.Pos, c.names.query(q), c.names.querySpans(q), c.names.queryKeys(q))
		}
	}
}

// enum takes the names of an enum and of its values.
func (c *collisions) enum(s *scope, f *layout.Field) {
	n := c.names
	if f.Type != schema.Enum || !c.declare(s, fmt.Sprintf("enum %q", f.Name), f.Pos, n.enum(f), n.enumNames(f)) {
		return
	}
	for i, v := range f.Enum {
		c.declare(s, enumValueName(f, i), f.EnumPos[i], n.enumValue(f, v.Name))
	}
}

// fieldName and enumValueName are what a field and a value of an enum are called in
// messages.
func fieldName(f *layout.Field) string { return fmt.Sprintf("field %q", f.Name) }

func enumValueName(f *layout.Field, i int) string {
	return fmt.Sprintf("value %q of enum %q", f.Enum[i].Name, f.Name)
}

// proto refuses fields and enums whose names collide in the message that
// describes serialized events: there, the values of all enums share a scope
// with its fields.
func (c *collisions) proto() {
	l := c.layout
	if !usesFormat(l, layout.Protobuf) {
		return
	}
	s := &scope{where: "the .proto file", taken: map[string]string{}}
	for i := range l.Fields {
		c.declare(s, fieldName(&l.Fields[i]), l.Fields[i].Pos, l.Fields[i].Name)
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		if f.Type != schema.Enum {
			continue
		}
		e := protoEnumOf(f)
		if !c.declare(s, fmt.Sprintf("enum %q", f.Name), f.Pos, e.Name) {
			continue
		}
		if _, has := f.Enum.Name(0); !has && !c.declare(s, fmt.Sprintf("the zero value of enum %q", f.Name), f.Pos, e.Zero()) {
			continue
		}
		for i, v := range e.Values {
			c.declare(s, enumValueName(f, i), f.EnumPos[i], v.Name)
		}
	}
}

// fields refuses fields whose names collide in the event, in its columns or in the key
// of a table.
func (c *collisions) fields() {
	l, n := c.layout, c.names
	taken := map[string]string{"Time": "the event's time", n.series(): "the event's series"}
	for _, name := range []string{"Series", "Append", "Reset"} {
		taken[name] = "a part of the type for columns"
	}
	if l.Sequence {
		taken["Sequence"] = "the event's tie-breaker"
	}
	for _, f := range (&schemaFile{source: nil, names: n, layout: l}).choiceFieldsOf() {
		taken[f.name] = "what the event says of its time to live"
	}
	event := &scope{where: "Go", taken: taken}
	key := c.keyScope()
	for i := range l.Series {
		f := &l.Series[i]
		what := fmt.Sprintf("series value %q", f.Name)
		if c.declare(key, what, f.Pos, n.field(f)) {
			c.declare(event, what, f.Pos, n.field(f))
		}
	}
	for i := range l.Fields {
		c.declare(event, fieldName(&l.Fields[i]), l.Fields[i].Pos, n.field(&l.Fields[i]))
	}
}

// keyScope is what the types of row keys have besides series values.
func (c *collisions) keyScope() *scope {
	const own = "a part of the type of row keys"
	s := &scope{where: "Go", taken: map[string]string{"Append": own, "Prefix": own}}
	for _, t := range c.layout.Tables {
		if t.Pattern.Bucketed() {
			s.taken["Bucket"] = own
		}
		if t.Metrics() {
			s.taken["Metric"] = own
		}
	}
	return s
}
