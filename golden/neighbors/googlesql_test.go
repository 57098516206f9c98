package neighbors_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/protofile"
)

// TestLogicalViews checks that views are queries of GoogleSQL which use only what Bigtable has:
// functions, key columns and families of the table.
func TestLogicalViews(t *testing.T) {
	dialect := facts[struct{ Functions, Types, TableArguments []string }](t, "googlesql")
	views, read := 0, 0
	for _, p := range projects(t) {
		columns := map[string][]string{}  // of tables: key columns and families
		messages := map[string][]string{} // in bundles: their fields
		for _, l := range p.layouts {
			for _, table := range l.Tables {
				if table.Bundle.ID != "" {
					messages[table.Bundle.ID+"."+l.Package+"."+l.Name] = fieldsOf(t, l)
				}
			}
			for _, table := range l.AllPeriods() {
				for _, f := range table.KeyFields {
					columns[table.ID] = append(columns[table.ID], f.Name)
				}
				for _, f := range table.Families {
					columns[table.ID] = append(columns[table.ID], f.Name)
				}
			}
		}
		for path, text := range p.files {
			if !strings.HasPrefix(path, "logical_views/") {
				continue
			}
			views++
			query, err := memefish.ParseQuery(path, text)
			if err != nil {
				t.Errorf("%s: %v\n%s", path, err, text)
				continue
			}
			names := map[string]bool{}
			for _, item := range query.Query.(*ast.Select).Results {
				alias, is := item.(*ast.Alias)
				if !is || names[strings.ToLower(alias.As.Alias.Name)] {
					t.Fatalf("%s: %s", path, item.SQL())
				}
				names[strings.ToLower(alias.As.Alias.Name)] = true
			}
			v := visitor{messages: messages}
			ast.Walk(query, &v)
			for _, name := range v.fields {
				t.Errorf("%s: field %s", path, name)
			}
			read += v.read
			if len(v.tables) != 1 || len(columns[v.tables[0]]) == 0 {
				t.Fatalf("%s: tables %v", path, v.tables)
			}
			for _, name := range v.functions {
				if !slices.Contains(dialect.Functions, name) {
					t.Errorf("%s: function %s", path, name)
				}
			}
			for _, name := range v.types {
				if !slices.Contains(dialect.Types, name) {
					t.Errorf("%s: type %s", path, name)
				}
			}
			for _, name := range v.arguments {
				if !slices.Contains(dialect.TableArguments, name) {
					t.Errorf("%s: argument %s", path, name)
				}
			}
			for _, name := range v.columns {
				if name != "_timestamp" && !slices.Contains(columns[v.tables[0]], name) {
					t.Errorf("%s: column %s, not of %v", path, name, columns[v.tables[0]])
				}
			}
		}
	}
	if views < 5 || read < 20 {
		t.Errorf("only %d views, with %d fields of messages", views, read)
	}
}

// fieldsOf returns the fields of the message of a schema, and the virtual ones that tell whether an
// optional field is set.
func fieldsOf(t *testing.T, l *layout.Layout) []string {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(protofile.Of(l, names.Of(l)).Descriptors(), &set); err != nil {
		t.Fatal(err)
	}
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
	tables, functions, types, arguments, columns []string
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

// Visit collects the names of a node.
func (v *visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.TableName:
		v.tables = append(v.tables, n.Table.Name)
		return nil
	case *ast.TVFCallExpr:
		name := n.Name.SQL()
		if name != "UNPACK" {
			v.tables = append(v.tables, strings.Trim(name, "`"))
		}
		for _, a := range n.NamedArgs {
			v.arguments = append(v.arguments, a.Name.Name)
		}
		for _, a := range n.Args {
			ast.Walk(a, v)
		}
		return nil
	case *ast.CallExpr:
		v.functions = append(v.functions, n.Func.SQL())
		for _, a := range n.Args {
			ast.Walk(a, v)
		}
		return nil
	case *ast.SelectorExpr:
		cast, field := v.path(n)
		if cast == nil || !slices.Contains(v.messages[messageOf(cast)], field) {
			v.fields = append(v.fields, n.SQL())
			return nil
		}
		v.read++
		ast.Walk(cast.Expr, v)
		return nil
	case *ast.CastExpr:
		if _, message := v.messages[messageOf(n)]; message {
			ast.Walk(n.Expr, v)
			return nil
		}
		v.types = append(v.types, n.Type.SQL())
	case *ast.Alias:
		ast.Walk(n.Expr, v)
		return nil
	case *ast.Ident:
		v.columns = append(v.columns, n.Name)
	}
	return v
}

// VisitMany visits all nodes of a list.
func (v *visitor) VisitMany([]ast.Node) ast.Visitor { return v }

// Field visits all fields.
func (v *visitor) Field(string) ast.Visitor { return v }

// Index visits all elements.
func (v *visitor) Index(int) ast.Visitor { return v }
