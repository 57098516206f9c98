package neighbors_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/protofile"
	"github.com/btgen-dev/btgen/golden/assert"
)

// sql is what GoogleSQL for Bigtable has.
type sql struct {
	Functions, Types, TableArguments []string
	Materialized                     struct{ Aggregates, Parts []string }
}

// TestLogicalViews checks that views are queries of GoogleSQL which use only what Bigtable has:
// functions, key columns and families of the table.
func TestLogicalViews(t *testing.T) {
	dialect := facts[sql](t, "googlesql")
	views, read := 0, 0
	for _, p := range projects(t) {
		names := tableNames(t, p.layouts)
		for path, text := range p.files {
			if strings.HasPrefix(path, "logical_views/") {
				views++
				query, v := parsed(t, path, text, &dialect, names)
				if query.GroupBy != nil || v.aggregates != nil {
					t.Errorf("%s aggregates", path)
				}
				read += v.read
			}
		}
	}
	if views < 5 || read < 20 {
		t.Errorf("only %d views, with %d fields of messages", views, read)
	}
}

// TestMaterializedViews checks that materialized views are queries of GoogleSQL, too, within the
// limits that Bigtable documents for them: a SELECT with GROUP BY, in which each column is a group or
// a known aggregation, of one table or of its versions.
func TestMaterializedViews(t *testing.T) {
	dialect := facts[sql](t, "googlesql")
	views, aggregates := 0, 0
	for _, p := range projects(t) {
		names := tableNames(t, p.layouts)
		for path, text := range p.files {
			if !strings.HasPrefix(path, "materialized_views/") {
				continue
			}
			views++
			query, _ := parsed(t, path, text, &dialect, names)
			if query.GroupBy == nil || query.Having != nil || query.AllOrDistinct != "" || query.As != nil {
				t.Fatalf("%s: %s", path, query.SQL())
			}
			groups := len(query.GroupBy.Exprs)
			for i, e := range query.GroupBy.Exprs {
				if n, is := e.(*ast.IntLiteral); !is || n.Value != strconv.Itoa(i+1) {
					t.Errorf("%s: group %s", path, e.SQL())
				}
			}
			for i, item := range query.Results {
				of := visitor{dialect: &dialect, messages: names.messages}
				ast.Inspect(item.(*ast.Alias).Expr, of.visit)
				if is := of.aggregates != nil; is != (i >= groups) || len(of.aggregates) > 1 {
					t.Errorf("%s: column %s, of %d groups", path, item.SQL(), groups)
				}
				aggregates += len(of.aggregates)
			}
		}
	}
	if views < 8 || aggregates < 60 {
		t.Errorf("only %d views, with %d aggregations", views, aggregates)
	}
}

// namesOf are the names that views may use.
type namesOf struct {
	columns  map[string][]string // of tables: key columns and families
	messages map[string][]string // in bundles: their fields
}

// tableNames returns the names that views of layouts may use.
func tableNames(t *testing.T, layouts []*layout.Layout) namesOf {
	t.Helper()
	out := namesOf{map[string][]string{}, map[string][]string{}}
	for _, l := range layouts {
		for _, table := range l.Tables {
			if table.Bundle.ID != "" {
				out.messages[table.Bundle.ID+"."+l.Package+"."+l.Name] = fieldsOf(t, l)
			}
		}
		for _, table := range l.AllPeriods() {
			for _, f := range table.KeyFields {
				out.columns[table.ID] = append(out.columns[table.ID], f.Name)
			}
			for _, f := range table.Families {
				out.columns[table.ID] = append(out.columns[table.ID], f.Name)
			}
		}
	}
	return out
}

// parsed parses a view, and checks what it uses.
func parsed(t *testing.T, path, text string, dialect *sql, known namesOf) (*ast.Select, *visitor) {
	t.Helper()
	statement, err := memefish.ParseQuery(path, text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	query, is := statement.Query.(*ast.Select)
	if !is {
		t.Fatalf("%s is no plain SELECT", path) // it has ORDER BY, LIMIT or WITH
	}
	names := map[string]bool{}
	for _, item := range query.Results {
		alias, is := item.(*ast.Alias)
		if !is || names[strings.ToLower(alias.As.Alias.Name)] {
			t.Fatalf("%s: %s", path, item.SQL())
		}
		names[strings.ToLower(alias.As.Alias.Name)] = true
	}
	v := visitor{dialect: dialect, messages: known.messages}
	ast.Inspect(statement, v.visit)
	for _, name := range v.fields {
		t.Errorf("%s: field %s", path, name)
	}
	if len(v.tables) != 1 || len(known.columns[v.tables[0]]) == 0 {
		t.Fatalf("%s: tables %v", path, v.tables)
	}
	for what, of := range map[string][2][]string{
		"function": {v.functions, dialect.Functions}, "type": {v.types, dialect.Types}, "argument": {v.arguments, dialect.TableArguments},
		"part": {v.parts, dialect.Materialized.Parts}, "column": {v.columns, append([]string{"_timestamp"}, known.columns[v.tables[0]]...)},
	} {
		for _, name := range of[0] {
			if !slices.Contains(of[1], name) {
				t.Errorf("%s: %s %s is not one of %v", path, what, name, of[1])
			}
		}
	}
	return query, &v
}

// fieldsOf returns the fields of the message of a schema, and the virtual ones that tell whether an
// optional field is set.
func fieldsOf(t *testing.T, l *layout.Layout) []string {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	assert.Must(t, proto.Unmarshal(protofile.Of(l, names.Of(l)).Descriptors(), &set))
	var out []string
	for _, f := range set.GetFile()[len(set.GetFile())-1].GetMessageType()[0].GetField() {
		out = append(out, f.GetName())
		if f.GetProto3Optional() {
			out = append(out, "has_"+f.GetName())
		}
		if f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE {
			out = append(out, f.GetName()+".seconds", f.GetName()+".nanos")
		}
	}
	return out
}

// visitor collects names in a query.
type visitor struct {
	dialect                                      *sql
	tables, functions, types, arguments, columns []string
	aggregates, parts                            []string // of materialized views
	messages                                     map[string][]string
	fields                                       []string // that no message has
	read                                         int      // fields of messages
}

// messageOf returns the message that a value is cast to; empty if that is another type.
func messageOf(e *ast.CastExpr) string {
	named, is := e.Type.(*ast.NamedType)
	if !is {
		return ""
	}
	var path []string
	for _, part := range named.Path {
		path = append(path, part.Name)
	}
	return strings.Join(path, ".")
}

// path returns the message that an expression selects a field of, and that field.
func (v *visitor) path(e *ast.SelectorExpr) (of *ast.CastExpr, field string) {
	switch inner := e.Expr.(type) {
	case *ast.SelectorExpr:
		of, field = v.path(inner)
		return of, field + "." + e.Ident.Name
	case *ast.CastExpr:
		return inner, e.Ident.Name
	}
	return nil, ""
}

// visit collects the names of a node, and reports whether its children have others.
func (v *visitor) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.TableName:
		v.tables = append(v.tables, n.Table.Name)
		return false
	case *ast.TVFCallExpr:
		if name := n.Name.SQL(); name != "UNPACK" {
			v.tables = append(v.tables, strings.Trim(name, "`"))
		}
		for _, a := range n.NamedArgs {
			v.arguments = append(v.arguments, a.Name.Name)
		}
		ast.InspectMany(n.Args, v.visit)
		return false
	case *ast.CountStarExpr:
		v.aggregates = append(v.aggregates, "COUNT")
	case *ast.CallExpr:
		name, args := n.Func.SQL(), n.Args
		switch {
		case slices.Contains(v.dialect.Materialized.Aggregates, name):
			v.aggregates = append(v.aggregates, name)
		case name == "TIMESTAMP_TRUNC" && len(args) == 3:
			v.parts, args = append(v.parts, args[1].SQL()), args[:1]
			fallthrough
		default:
			v.functions = append(v.functions, name)
		}
		ast.InspectMany(args, v.visit)
		return false
	case *ast.SelectorExpr:
		cast, field := v.path(n)
		if cast == nil || !slices.Contains(v.messages[messageOf(cast)], field) {
			v.fields = append(v.fields, n.SQL())
			return false
		}
		v.read++
		ast.Inspect(cast.Expr, v.visit)
		return false
	case *ast.CastExpr:
		if _, message := v.messages[messageOf(n)]; message {
			ast.Inspect(n.Expr, v.visit)
			return false
		}
		v.types = append(v.types, n.Type.SQL())
	case *ast.Alias:
		ast.Inspect(n.Expr, v.visit)
		return false
	case *ast.Ident:
		v.columns = append(v.columns, n.Name)
	}
	return true
}
