package emit

import (
	"fmt"
	"path"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime"
)

// beamFile renders the file that gives pipelines access to a schema. It is in a package of
// its own, so that only pipelines link Beam.
type beamFile struct {
	*schemaFile
	parts []part
}

// part is a part of an event: a series value, a field, or what every event has.
type part struct {
	number int           // in the encoding
	name   string        // in JSON; empty if it is always zero when read
	field  *layout.Field // nil for what every event has
	is     string        // its name in the event
	suffix string        // of the codec's functions
	typ    jen.Code      // a named type to convert to; nil if there is none
	unset  bool          // the zero value means that there is none
}

// beamFiles renders the file of a schema.
func beamFiles(l *layout.Layout, n *names.Schema, paths paths) ([]output.File, error) {
	s := &beamFile{schemaFile: &schemaFile{
		source: newSource(paths.beam(l.Package), l.Package+"beam", recordOf(l), paths),
		names:  n,
		layout: l,
	}}
	s.ImportName(runtime.BeamModule, "beamstore")
	var parameters []string
	for i := range l.Queries {
		parameters = append(parameters, n.Query(&l.Queries[i]).Parameters()...)
	}
	s.importPackage(l.Package, parameters...)
	s.parts = s.eventParts()
	s.add(s.schemaVar(), s.beamWindows(), s.newSchema())
	for i := range l.Queries {
		s.add(s.query(&l.Queries[i]))
	}
	s.add(s.encode(), s.decode(), s.appendLine())
	source, err := s.render()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.File, err)
	}
	return []output.File{{Path: path.Join(l.Package, l.Package+"beam", n.File+"_btgen.go"), Content: source}}, nil
}

// beamPackagesOf groups the layouts with access for pipelines by package.
func beamPackagesOf(layouts []*layout.Layout, all []*names.Schema) []*goPackage {
	var of []*layout.Layout
	var named []*names.Schema
	for i, l := range layouts {
		if l.Beam {
			of, named = append(of, l), append(named, all[i])
		}
	}
	return packagesOf(of, named)
}

// beamPackageFile renders the comment of a package with access for pipelines.
func beamPackageFile(p *goPackage, paths paths) ([]output.File, error) {
	name := p.name + "beam"
	s := newSource(paths.beam(p.name), name, joined(p.origin), paths)
	var titles []string
	for _, n := range p.schemas {
		titles = append(titles, n.Name)
	}
	s.PackageComment(fmt.Sprintf("// Package %s gives Apache Beam pipelines access to the time series %s of package %s.", name, words.List(titles, "and"), p.name))
	s.PackageComment("// The methods of its variables are in package\n//\n//\t" + runtime.BeamModule)
	content, err := s.render()
	return []output.File{{Path: path.Join(p.name, name, output.PackageFile), Content: content}}, err
}

// beamAccess declares the function that gives the package for pipelines access to how events
// are stored:
//
//	func BeamReading() ([]*store.Mapping, []*store.Query)
func (s *schemaFile) beamAccess() jen.Code {
	if !s.layout.Beam {
		return nil
	}
	return gocode.Doc(fmt.Sprintf("%s gives package %sbeam access to the tables and the queries.", s.names.Beam, s.layout.Package)).Line().
		Func().Id(s.names.Beam).Params().Params(
		jen.Index().Op("*").Add(s.store("Mapping")), jen.Index().Op("*").Add(s.store("Query")),
	).Block(jen.Return(jen.Id(s.names.Mappings), jen.Index().Op("*").Add(s.store("Query")).ValuesFunc(func(g *jen.Group) {
		for i := range s.layout.Queries {
			g.Op("&").Id(s.names.Query(&s.layout.Queries[i]).Var)
		}
	})))
}

// beamSpec declares the function that gives the package for pipelines access to how events are
// summarized:
//
//	func BeamReadingWindows() *window.Spec
func (s *schemaFile) beamSpec() jen.Code {
	if !s.layout.Beam {
		return nil
	}
	return gocode.Doc(fmt.Sprintf("%s gives package %sbeam access to how events are summarized.", s.names.BeamSpec, s.layout.Package)).Line().
		Func().Id(s.names.BeamSpec).Params().Op("*").Add(s.window("Spec")).
		Block(jen.Return(jen.Id(s.names.Windows)))
}

// beamstore refers to the runtime of pipelines.
func (s *beamFile) beamstore(name string) *jen.Statement { return jen.Qual(runtime.BeamModule, name) }

// event is the type of events, or a value of it.
func (s *beamFile) event() *jen.Statement { return s.own(s.names.Event) }

// eventParts returns the parts of an event, in the order of its fields.
func (s *beamFile) eventParts() []part {
	var out []part
	add := func(p part) {
		p.number = len(out) + 1
		out = append(out, p)
	}
	fields := func(of []layout.Field) {
		for i := range of {
			f := &of[i]
			p := part{name: f.Name, field: f, is: s.names.Field(f).Name, suffix: suffix(f.Type)}
			if f.Type == schema.Enum {
				p.suffix, p.typ = "Int64", s.own(s.names.Field(f).Enum)
			}
			add(p)
		}
	}
	fields(s.layout.Series)
	add(part{name: "time", is: "Time", suffix: "Timestamp"})
	if s.layout.Sequence {
		add(part{name: "sequence", is: "Sequence", suffix: "Uint32"})
	}
	for _, kind := range s.layout.TTLFields() {
		p := part{is: s.names.TTLField(kind), unset: true, suffix: "Timestamp"}
		switch kind {
		case layout.ClassField:
			p.name, p.suffix, p.typ, p.unset = "class", "Int64", s.own(s.names.Class), false
		case layout.TTLDurationField:
			p.suffix = "Duration"
		case layout.ExpiresAtField:
			p.name = "expires_at"
		case layout.WrittenAtField:
			p.name = "written_at"
		}
		add(p)
	}
	fields(s.layout.Fields)
	return out
}

// of is the part of the event e, as a value without a named type.
func (p *part) of() *jen.Statement {
	v := jen.Id("e").Dot(p.is)
	if p.field != nil && p.field.Optional && !isSlice(p.field) {
		v = jen.Op("*").Add(v)
	}
	if p.typ != nil {
		return jen.Int64().Parens(v)
	}
	return v
}

// guarded renders code for a part of the event e that may be absent.
func (p *part) guarded(code jen.Code) jen.Code {
	if p.field != nil && p.field.Optional {
		return jen.If(jen.Id("e").Dot(p.is).Op("!=").Nil()).Block(code)
	}
	return code
}

// schemaVar declares the variable with the schema.
func (s *beamFile) schemaVar() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s reads, writes, copies, deletes and exports %[1]s events in pipelines.", s.layout.Name)).Line().
		Var().Id(s.layout.Name).Op("=").Id("new" + s.layout.Name).Call()
}

// beamWindows declares the variable with the windows of the schema.
func (s *beamFile) beamWindows() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s summarizes %s events by windows of time in pipelines.", s.names.BeamWindows, s.layout.Name)).Line().
		Var().Id(s.names.BeamWindows).Op("=").Add(s.beamstore("RegisterWindows").Types(s.own(s.names.Series), s.own(s.names.Window))).Call(jen.Id(s.layout.Name), s.own(s.names.BeamSpec).Call())
}

// newSchema declares the function that describes the schema and registers it.
func (s *beamFile) newSchema() jen.Code {
	e := jen.Id("e")
	pointer := jen.Op("*").Add(s.event())
	queries := "_"
	if len(s.layout.Queries) > 0 {
		queries = "queries"
	}
	fields := []field{
		{"Name", jen.Lit(s.paths.pkg(s.layout.Package) + "." + s.layout.Name)},
		{"Mappings", jen.Id("mappings")},
		{"Table", jen.Lit(s.layout.Read.ID)},
		{"Encode", jen.Id("encode" + s.layout.Name)},
		{"Decode", jen.Id("decode" + s.layout.Name)},
		{"AppendJSON", jen.Id("append" + s.layout.Name + "JSON")},
		{"Series", jen.Func().Params(e.Clone().Add(pointer)).Add(s.event()).Block(
			jen.Return(s.event().Values(jen.Id(s.names.Series).Op(":").Add(e).Dot(s.names.Series))))},
	}
	if queries != "_" {
		fields = append(fields, field{"Queries", jen.Map(jen.String()).Add(s.beamstore("SchemaQuery")).
			Custom(multi, each(s.layout.Queries, func(i int, q *layout.Query) jen.Code {
				return jen.Lit(q.Name).Op(":").Add(inline(field{"Table", jen.Lit(q.Table.ID)}, field{"Query", jen.Id("queries").Index(jen.Lit(i))}))
			})...)})
	}
	return gocode.Doc(fmt.Sprintf("new%s registers the schema.", s.layout.Name)).Line().
		Func().Id("new"+s.layout.Name).Params().Op("*").Add(s.beamstore("Schema")).Types(s.event()).Block(
		jen.List(jen.Id("mappings"), jen.Id(queries)).Op(":=").Add(s.own(s.names.Beam)).Call(),
		jen.Return(s.beamstore("Register").Call(jen.Op("&").Add(s.beamstore("Schema")).Types(s.event()).Add(lines(fields...)))),
	)
}

// query declares the function that returns a query with its values:
//
//	func ReadingByRegion(region string) beamstore.Query
func (s *beamFile) query(q *layout.Query) jen.Code {
	name := s.names.Query(q).Beam
	of := jen.Id(s.layout.Name).Dot("Queries").Index(jen.Lit(q.Name)).Dot("Query")
	return gocode.Doc(fmt.Sprintf("%s selects the events %s.", name, prose.Selects(s.layout, q))).Line().
		Func().Id(name).Params(s.values(q).declared...).Add(s.beamstore("Query")).Block(
		jen.Return(jen.Id(s.layout.Name).Dot("NewQuery").Call(s.bound(q, of))),
	)
}

// encode declares the function that encodes an event for transport, in protobuf wire format.
func (s *beamFile) encode() jen.Code {
	name := "encode" + s.layout.Name
	return gocode.Doc(fmt.Sprintf("%s encodes an event for transport between workers.", name)).Line().
		Func().Id(name).Params(jen.Id("e").Add(s.event())).Index().Byte().BlockFunc(func(g *jen.Group) {
		g.Var().Id("dst").Index().Byte()
		for i := range s.parts {
			p := &s.parts[i]
			g.Add(p.guarded(s.appendValue(p.suffix, p.number, p.field != nil && p.field.Optional, p.of())))
		}
		g.Return(jen.Id("dst"))
	})
}

// decode declares the function that decodes what encode returns.
func (s *beamFile) decode() jen.Code {
	name := "decode" + s.layout.Name
	return gocode.Doc(fmt.Sprintf("%s decodes the output of encode%s.", name, s.layout.Name)).Line().
		Func().Id(name).Params(jen.Id("encoded").Index().Byte()).Params(s.event(), jen.Error()).Block(
		jen.Var().Id("e").Add(s.event()),
		jen.Id("r").Op(":=").Add(s.codec("NewProtoReader")).Call(jen.Id("encoded")),
		jen.For(jen.Id("r").Dot("Next").Call()).Block(
			jen.Switch(jen.Id("r").Dot("Number").Call()).Block(each(s.parts, func(_ int, p *part) jen.Code {
				return jen.Case(jen.Lit(p.number)).Line().Add(s.set(p))
			})...),
		),
		jen.Return(jen.Id("e"), jen.Id("r").Dot("Err").Call()),
	)
}

// set renders the statement that sets a part from the reader.
func (s *beamFile) set(p *part) jen.Code {
	method := p.suffix
	if method == "String" {
		method = "Text"
	}
	value := jen.Id("r").Dot(method).Call()
	if p.typ != nil {
		value = jen.Add(p.typ).Call(value)
	}
	if p.field != nil {
		return s.setProto(p.field, value)
	}
	return jen.Id("e").Dot(p.is).Op("=").Add(value)
}

// appendLine declares the function that appends an event as a JSON object.
func (s *beamFile) appendLine() jen.Code {
	name := "append" + s.layout.Name + "JSON"
	return gocode.Doc(fmt.Sprintf("%s appends an event as a JSON object on one line.", name)).Line().
		Func().Id(name).Params(jen.Id("dst").Index().Byte(), jen.Id("e").Op("*").Add(s.event())).Index().Byte().BlockFunc(func(g *jen.Group) {
		g.Id("begin").Op(":=").Len(jen.Id("dst"))
		for i := range s.parts {
			p := &s.parts[i]
			if p.name == "" {
				continue
			}
			member := jen.Id("dst").Op("=").Add(s.member(p))
			if p.unset {
				member = jen.If(jen.Op("!").Id("e").Dot(p.is).Dot("IsZero").Call()).Block(member)
			}
			g.Add(p.guarded(member))
		}
		g.Return(s.codec("EndJSON").Call(jen.Id("dst"), jen.Id("begin")))
	})
}

// member renders the call that appends a part as a member of a JSON object.
func (s *beamFile) member(p *part) *jen.Statement {
	call := func(f *jen.Statement, value *jen.Statement) *jen.Statement {
		return f.Call(jen.Id("dst"), jen.Lit(p.name), value)
	}
	switch {
	case p.typ != nil: // an enum or a class, by its name
		return call(s.codec("AppendJSONString"), jen.Id("e").Dot(p.is).Dot("String").Call())
	case p.suffix == "JSON" || strings.HasPrefix(p.suffix, "Float"):
		return call(s.beamstore("AppendJSON"+p.suffix), p.of())
	}
	return call(s.codec("AppendJSON"+p.suffix), p.of())
}
