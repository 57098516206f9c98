package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime"
)

// beamSource renders the file that gives pipelines access to a schema. It is in a package of
// its own, so that only pipelines link Beam.
type beamSource struct {
	*schemaFile
	all []member // of an event; the number of each in the encoding is its place, from 1
}

// beamFile renders the file of a schema.
func beamFile(l *layout.Layout, n *names.Schema, paths paths) ([]byte, error) {
	s := &beamSource{schemaFile: newSchemaFile(l, n, paths.beam(l.Package), l.Package+"beam", paths)}
	var parameters []string
	for i := range l.Queries {
		parameters = append(parameters, n.Query(&l.Queries[i]).Parameters()...)
	}
	s.importPackage(l.Package, parameters...)
	s.all = append(s.membersOf(l.Series), s.parts()...)
	s.add(s.newSchema())
	s.add(each(l.Queries, s.query)...)
	s.add(s.encode(), s.decode(), s.appendLine())
	return s.render()
}

// beamDoc renders the comment of the package that gives pipelines access to schemas.
func beamDoc(layouts []*layout.Layout, paths paths) ([]byte, error) {
	var titles []string
	for _, l := range layouts {
		titles = append(titles, l.Name)
	}
	pkg := layouts[0].Package
	name := pkg + "beam"
	s := newSource(paths.beam(pkg), name, recordOf(layouts...), paths)
	s.PackageComment(fmt.Sprintf(`// Package %s gives Apache Beam pipelines access to the time series %s of package %s.
// The methods of its variables are in package
//
//	%s`, name, words.List(titles, "and"), pkg, runtime.BeamModule))
	return s.render()
}

// beamAccess declares the functions that give the package for pipelines access to how events are stored and summarized.
func (s *schemaFile) beamAccess() jen.Code {
	if !s.layout.Beam {
		return jen.Null()
	}
	queries := jen.List(each(s.layout.Queries, func(_ int, q *layout.Query) jen.Code { return s.code("&$1", s.names.Query(q).Var) })...)
	return s.code(`
		// $Beam gives package $1 access to the tables and the queries.
		func $Beam() ([]*store.Mapping, []*store.Query) {
			return $Mappings, []*store.Query{$2}
		}

		// $BeamSpec gives package $1 access to how events are summarized.
		func $BeamSpec() *window.Spec {
			return $Windows
		}`, s.layout.Package+"beam", queries)
}

// of is the member of the event e, as a value.
func (s *beamSource) of(m *member) *jen.Statement {
	if m.field != nil {
		return s.value(m.field)
	}
	return s.code("e.$1", m.name)
}

// newSchema declares the variables with the schema and with its windows, and the function that describes the schema and
// registers it.
func (s *beamSource) newSchema() jen.Code {
	queries := "_"
	var list *jen.Statement
	if len(s.layout.Queries) > 0 {
		queries, list = "queries", s.code("Queries: map[string]beamstore.SchemaQuery{\n$1\n},", each(s.layout.Queries, func(i int, q *layout.Query) jen.Code {
			return s.code("$1: {Table: $2, Query: queries[$3]},", jen.Lit(q.Name), jen.Lit(q.Table.ID), i)
		}))
	}
	return s.code(`
		// $1 reads, writes, copies, deletes and exports $1 events in pipelines.
		var $1 = $2()

		// $3 summarizes $1 events by windows of time in pipelines.
		var $3 = beamstore.RegisterWindows[$Series, $Window]($1, $BeamSpec())

		// $2 registers the schema.
		func $2() *beamstore.Schema[$Event] {
			mappings, $4 := $Beam()
			return beamstore.Register(&beamstore.Schema[$Event]{
				Name: $5,
				Mappings: mappings,
				Table: $6,
				Encode: $7,
				Decode: $8,
				AppendJSON: $9,
				Series: func(e *$Event) $Event {
					return $Event{$10: e.$10}
				},
				$11
			})
		}`, s.layout.Name, "new"+s.layout.Name, s.names.BeamWindows, queries,
		jen.Lit(s.paths.pkg(s.layout.Package)+"."+s.layout.Name), jen.Lit(s.layout.Read.ID),
		"encode"+s.layout.Name, "decode"+s.layout.Name, "append"+s.layout.Name+"JSON", s.names.Series, list)
}

// query declares the function that returns a query with its values.
func (s *beamSource) query(_ int, q *layout.Query) jen.Code {
	of := s.code("$1.Queries[$2].Query", s.layout.Name, jen.Lit(q.Name))
	return s.code(`
		// $1 selects the events $2.
		func $1($3) beamstore.Query {
			return $4.NewQuery($5)
		}`, s.names.Query(q).Beam, prose.Selects(s.layout, q), s.selection(q).params, s.layout.Name, s.bound(q, of))
}

// encode declares the function that encodes an event for transport, in protobuf wire format.
func (s *beamSource) encode() jen.Code {
	return s.code(`
		// $1 encodes an event for transport between workers.
		func $1(e $Event) []byte {
			var dst []byte
			$2
			return dst
		}`, "encode"+s.layout.Name, each(s.all, func(i int, m *member) jen.Code {
		return s.ifSet(m.field, s.appendValue(m.codec, 1+i, m.field != nil && m.field.Optional, s.of(m)))
	}))
}

// decode declares the function that decodes what encode returns.
func (s *beamSource) decode() jen.Code {
	return s.code(`
		// $1 decodes the output of $2.
		func $1(encoded []byte) ($Event, error) {
			var e $Event
			r := codec.NewProtoReader(encoded)
			for r.Next() {
				switch r.Number() {
				$3
				}
			}
			return e, r.Err()
		}`, "decode"+s.layout.Name, "encode"+s.layout.Name, each(s.all, func(i int, m *member) jen.Code {
		return s.code("case $1:\n$2", 1+i, s.set(m))
	}))
}

// set renders the statement that sets a member from the reader.
func (s *beamSource) set(m *member) jen.Code {
	if m.field != nil && m.named == nil {
		return s.takeProto(m.field)
	}
	value := s.code("r.$1()", m.codec)
	if m.named != nil {
		value = s.code("$1($2)", m.named, value)
	}
	if m.field != nil {
		return s.setProto(m.field, value)
	}
	return s.code("e.$1 = $2", m.name, value)
}

// appendLine declares the function that appends an event as a JSON object.
func (s *beamSource) appendLine() jen.Code {
	return s.code(`
		// $1 appends an event as a JSON object on one line.
		func $1(dst []byte, e *$Event) []byte {
			begin := len(dst)
			$2
			return codec.EndJSON(dst, begin)
		}`, "append"+s.layout.Name+"JSON", each(s.all, func(_ int, m *member) jen.Code { return s.appendMember(m) }))
}

// appendMember renders the statement that appends a member to a JSON object; nil for one without a name.
func (s *beamSource) appendMember(m *member) jen.Code {
	if m.json == "" {
		return (*jen.Statement)(nil)
	}
	line := s.code("dst = codec.$1(dst, $2, $3)", "AppendJSON"+appended(m.codec), jen.Lit(m.json), s.of(m))
	switch {
	case m.named != nil:
		line = s.code("dst = codec.AppendJSONString(dst, $1, e.$2.String())", jen.Lit(m.json), m.name)
	case m.codec == "JSON" || strings.HasPrefix(m.codec, "Float"):
		line = s.code("dst = beamstore.$1(dst, $2, $3)", "AppendJSON"+m.codec, jen.Lit(m.json), s.of(m))
	case m.field == nil && m.codec == "Timestamp" && m.name != "Time": // zero if there is none
		line = s.code("if !e.$1.IsZero() {\n$2\n}", m.name, line)
	}
	return s.ifSet(m.field, line)
}
