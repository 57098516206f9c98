// Package beamstore reads, writes, copies, deletes, summarizes and exports events with Apache Beam, for
// work that takes more than one machine. It is a separate module, so that only programs
// with pipelines depend on Beam.
//
// If btgen.yaml says "beam: true", the generated package of a schema has a subpackage whose
// variables are of type [Schema]:
//
//	meterbeam.Reading.Backfill(s, conn, beamstore.BackfillOptions{To: to})
//
// A pipeline may fail at any point, and a runner may execute a bundle more than once. What is
// then stored is the same, because writing an event again replaces it, and because reads use
// the clock of the moment at which the pipeline was built. Backfills also compare what they have
// written with the source, which may have changed.
package beamstore

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/btgen-dev/btgen/runtime/store"
)

// Schema gives pipelines access to the events of a schema. Generated code provides it.
type Schema[E any] struct {
	// Name is the import path of the generated package and the name of the schema.
	Name string
	// Mappings are those of all tables of the schema.
	Mappings []*store.Mapping
	// Table is the ID of the table that is read by default, without a prefix.
	Table string
	// Encode and Decode convert an event to bytes and back, for transport between workers.
	// Equal events have equal bytes.
	Encode func(event E) []byte
	Decode func(encoded []byte) (E, error)
	// AppendJSON appends an event as a JSON object on one line, without a line end.
	AppendJSON func(dst []byte, event *E) []byte
	// Series returns an event with the series of another, and nothing else.
	Series func(event *E) E
	// Queries are the queries of the schema by name.
	Queries map[string]SchemaQuery
}

// SchemaQuery is a query of a schema.
type SchemaQuery struct {
	Table string // the ID of the table that the query reads, without a prefix
	Query *store.Query
}

// Query is what a query of a schema selects. Generated functions return it. The zero Query selects
// the events of all series.
type Query struct {
	Name string
	// Low, High and Bounds are the events of [store.Selection], encoded.
	Low, High, Bounds [][]byte
	Many              bool
}

// NewQuery returns what a query selects. Generated functions call it.
func (s *Schema[E]) NewQuery(of store.Selection) Query {
	encoded := func(events []any) [][]byte {
		var out [][]byte
		for _, e := range events {
			out = append(out, s.Encode(*e.(*E)))
		}
		return out
	}
	return Query{Name: of.Query.Name, Low: encoded(of.Low), High: encoded(of.High), Bounds: encoded(of.Bounds), Many: of.Many}
}

// selection is the inverse of NewQuery.
func (s *Schema[E]) selection(q Query) (store.Selection, error) {
	out := store.Selection{Query: s.Queries[q.Name].Query, Many: q.Many}
	var err error
	for _, part := range []struct {
		from [][]byte
		to   *[]any
	}{{q.Low, &out.Low}, {q.High, &out.High}, {q.Bounds, &out.Bounds}} {
		for _, encoded := range part.from {
			e, failed := s.Decode(encoded)
			*part.to, err = append(*part.to, &e), cmp.Or(err, failed)
		}
	}
	return out, err
}

// schemas contains the registered schemas, of type *Schema[E], by the type of their events.
// It does not change after the initialization of packages.
var schemas = map[reflect.Type]any{}

// schemaOf returns the schema with events of type E.
func schemaOf[E any]() *Schema[E] { return schemas[reflect.TypeFor[E]()].(*Schema[E]) }

// Register makes the events of a schema known to Beam, so that it does not use reflection for
// them. Generated code calls it during the initialization of packages. It returns s.
func Register[E any](s *Schema[E]) *Schema[E] {
	t := reflect.TypeFor[E]()
	schemas[t], jobSchemas[s.Name] = s, &jobSchema{mappings: s.Mappings}
	for _, t := range []reflect.Type{t, reflect.TypeFor[readFn[E]](), reflect.TypeFor[deleteFn[E]]()} {
		beam.RegisterType(t)
	}
	coder.RegisterDeterministicCoder(t, s.Encode, s.Decode)
	register.Function1x1(s.Encode)
	register.Function1x2(s.Decode)
	register.Emitter2[beam.EventTime, E]()
	registerDoFn(func(fn *writeFn[E]) reflectx.Func { return process3x1(fn.ProcessElement) })
	registerDoFn(func(fn *seriesFn[E]) reflectx.Func { return process2x0(fn.ProcessElement) })
	registerDoFn(func(fn *lineFn[E]) reflectx.Func { return process2x0(fn.ProcessElement) })
	return s
}

func init() {
	for t, funcs := range map[reflect.Type][2]any{
		reflect.TypeFor[store.KeyRange](): {encodeRange, decodeRange},
		reflect.TypeFor[Source]():         {encodeSource, decodeSource},
	} {
		beam.RegisterType(t)
		coder.RegisterDeterministicCoder(t, funcs[0], funcs[1])
	}
	for _, fn := range []any{fileFn{}, shardFn{}, findFn{}, doFn{}, waitFn{}, checkFn{}, settleFn{}} {
		beam.RegisterType(reflect.TypeOf(fn))
	}
	register.Function1x2(encodeRange)
	register.Function1x2(decodeRange)
	register.Function1x2(encodeSource)
	register.Function1x2(decodeSource)
	register.Emitter2[[]byte, bool]()
	register.Emitter2[int, []byte]()
	register.Emitter2[[]byte, []byte]()
	register.Emitter1[[]byte]()
	register.Iter1[[]byte]()
}

// tables returns the IDs of the tables with the events of the given table: the table itself
// and those of its earlier layouts.
func (s *Schema[E]) tables(table string) ([]string, error) {
	var known []string
	for _, m := range s.Mappings {
		if m.Table.ID != table {
			known = append(known, m.Table.ID)
			continue
		}
		var ids []string
		for _, period := range m.Periods() {
			if !slices.Contains(ids, period.Table.ID) {
				ids = append(ids, period.Table.ID)
			}
		}
		return ids, nil
	}
	return nil, &store.UnknownTableError{Table: table, Tables: known}
}

// RangeError reports that a pipeline was given a time range that ends before it begins.
type RangeError = store.RangeError

// QueryError reports a query that the schema does not have.
type QueryError struct{ Schema, Query string }

// Error names the schema and the query.
func (e *QueryError) Error() string {
	return fmt.Sprintf("schema %s has no query %q: use the functions of its generated package", e.Schema, e.Query)
}

// now is the clock of pipelines under construction.
var now = time.Now
