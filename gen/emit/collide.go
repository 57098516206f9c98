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
		s.declareSchema(l, &found)
		checkFields(l, &found)
		checkProto(l, &found)
	}
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

// scope is the names of one generated package or message, with what each is for.
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

// declare takes a name, or reports that it is taken.
func (s *scope) declare(name, what string, pos diag.Pos, found *diag.List) {
	if other, taken := s.taken[name]; taken {
		found.Errorf(pos, "%s would be called %s in %s, which is the name of %s", what, name, s.where, other).Hint = "rename one of them"
		return
	}
	s.taken[name] = what
}

// declareSchema takes all the names of a schema.
func (s *scope) declareSchema(l *layout.Layout, found *diag.List) {
	n := names{l.Name}
	what := fmt.Sprintf("a part of schema %s", l.Name)
	for _, name := range []string{
		n.series(), n.event(), n.writer(), n.reader(), n.batcher(), n.newWriter(), n.newReader(), n.newBatcher(), n.setup(), n.check(),
		n.missing(), n.layouts(), n.appendProto(), n.parseProto(), n.jsonType(), n.appendJSON(), n.parseJSON(), n.choice(), n.same(), n.own(), n.columns(),
	} {
		s.declare(name, what, l.NamePos, found)
	}
	if len(l.Classes) > 0 {
		s.declare(n.class(), "the TTL classes", l.NamePos, found)
		s.declare(n.classNames(), "the TTL classes", l.NamePos, found)
		for _, class := range l.Classes {
			s.declare(n.classValue(class), fmt.Sprintf("the TTL class %q", class), l.NamePos, found)
		}
	}
	for i := range l.Fields {
		s.declare(n.fieldConst(&l.Fields[i]), fmt.Sprintf("the field %q", l.Fields[i].Name), l.Fields[i].Pos, found)
	}
	methods := map[string]string{"Read": "every reader", "ReadColumns": "every reader", "Latest": "every reader"}
	for i := range l.Queries {
		q := &l.Queries[i]
		for _, name := range []string{q.Name, q.Name + "Columns"} {
			if other, taken := methods[name]; taken {
				found.Errorf(q.Pos, "query %s would have a method %s, which is that of %s", q.Name, name, other).Hint = "rename it"
			}
			methods[name] = fmt.Sprintf("query %s", q.Name)
		}
		s.declare(n.query(q), fmt.Sprintf("the query %q", q.Name), q.Pos, found)
		s.declare(n.querySpans(q), fmt.Sprintf("the query %q", q.Name), q.Pos, found)
		s.declare(n.queryKeys(q), fmt.Sprintf("the query %q", q.Name), q.Pos, found)
	}
	for _, fields := range [][]layout.Field{l.Series, l.Fields} {
		for i := range fields {
			s.declareEnum(n, &fields[i], found)
		}
	}
	for _, t := range l.Tables {
		what := fmt.Sprintf("the key of table %q", t.ID)
		for _, name := range []string{n.key(t), n.parseKey(t), n.layout(t), n.bucket(t), n.timeKey(t), n.put(t), n.set(t), n.spans(t), n.keyFunc(t), n.columnsVar(t)} {
			s.declare(name, what, t.Pos, found)
		}
	}
}

// declareEnum takes the names of an enum field.
func (s *scope) declareEnum(n names, f *layout.Field, found *diag.List) {
	if f.Type != schema.Enum {
		return
	}
	s.declare(n.enum(f), fmt.Sprintf("the enum %q", f.Name), f.Pos, found)
	s.declare(n.enumNames(f), fmt.Sprintf("the enum %q", f.Name), f.Pos, found)
	for i, v := range f.Enum {
		s.declare(n.enumValue(f, v.Name), fmt.Sprintf("the value %q of enum %q", v.Name, f.Name), f.EnumPos[i], found)
	}
}

// checkProto refuses fields and enums whose names collide in the message that
// describes serialized events: there, the values of all enums share a scope
// with its fields.
func checkProto(l *layout.Layout, found *diag.List) {
	if !usesFormat(l, layout.Protobuf) {
		return
	}
	s := &scope{where: "the .proto file", taken: map[string]string{}}
	for i := range l.Fields {
		f := &l.Fields[i]
		s.declare(f.Name, fmt.Sprintf("the field %q", f.Name), f.Pos, found)
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		if f.Type != schema.Enum {
			continue
		}
		e := protoEnumOf(f)
		s.declare(e.Name, fmt.Sprintf("the enum %q", f.Name), f.Pos, found)
		if _, has := f.Enum.Name(0); !has {
			s.declare(e.Zero(), fmt.Sprintf("the zero value of enum %q", f.Name), f.Pos, found)
		}
		for i, v := range e.Values {
			s.declare(v.Name, fmt.Sprintf("the value %q of enum %q", f.Enum[i].Name, f.Name), f.EnumPos[i], found)
		}
	}
}

// checkFields refuses fields whose names collide in the event.
func checkFields(l *layout.Layout, found *diag.List) {
	n := names{l.Name}
	taken := map[string]string{"Time": "the event's time", n.series(): "the event's series"}
	for _, name := range []string{"Series", "Append", "Reset"} {
		taken[name] = "what the type for columns has for itself"
	}
	if l.Sequence {
		taken["Sequence"] = "the event's tie-breaker"
	}
	for _, f := range (&schemaFile{source: nil, names: n, layout: l}).choiceFieldsOf() {
		taken[f.name] = "what the event says of its time to live"
	}
	for _, fields := range [][]layout.Field{l.Series, l.Fields} {
		for i := range fields {
			f := &fields[i]
			name := n.field(f)
			if other, ok := taken[name]; ok {
				found.Errorf(f.Pos, "%q would be called %s in Go, which is the name of %s", f.Name, name, other).Hint = "rename it"
				continue
			}
			taken[name] = fmt.Sprintf("%q", f.Name)
		}
	}
	// The key of a table has its bucket or its metric beside the series values.
	own := map[string]bool{"Append": true, "Prefix": true}
	for _, t := range l.Tables {
		own["Bucket"] = own["Bucket"] || t.Pattern.Bucketed()
		own["Metric"] = own["Metric"] || t.Metrics()
	}
	for i := range l.Series {
		if name := n.field(&l.Series[i]); own[name] {
			found.Errorf(l.Series[i].Pos, "%q would be called %s in Go, which the type of a row key has for itself", l.Series[i].Name, name).Hint = "rename it"
		}
	}
}
