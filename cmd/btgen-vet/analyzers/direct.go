package analyzers

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/btgen-dev/btgen/gen/lock"
)

// Direct reports calls of the official client that write to, delete from, or change a table of btgen.lock.
var Direct = newAnalyzer("direct", "report writes to the tables of generated code that do not use it", false, direct)

// clientPath is the package of the official client.
const clientPath = "cloud.google.com/go/bigtable"

// bypasses are the methods of the client around generated code: what they do, and what to use instead, given the event type.
var bypasses = map[string]struct{ does, instead string }{
	"Apply":                {"writes to", "%sWriter"},
	"ApplyBulk":            {"writes to", "%sWriter"},
	"ApplyReadModifyWrite": {"writes to", "%sWriter"},

	"DropRowRange":           {"deletes events from", "the Delete methods of %sWriter"},
	"DropAllRows":            {"deletes events from", "the Delete methods of %sWriter"},
	"DeleteTable":            {"deletes", "btgen-live delete-table"},
	"DeleteColumnFamily":     {"deletes events from", "btgen-live setup"},
	"SetGCPolicy":            {"changes", "btgen-live setup"},
	"SetGCPolicyWithOptions": {"changes", "btgen-live setup"},
	"UpdateFamily":           {"changes", "btgen-live setup"},
}

// direct implements Direct.
func direct(p *pass, file inspector.Cursor) error {
	for c := range file.Preorder((*ast.CallExpr)(nil)) {
		call := c.Node().(*ast.CallExpr)
		receiver, name := method(p.TypesInfo, call)
		of := namedType(p.TypesInfo.TypeOf(receiver))
		bypass, known := bypasses[name]
		if !known || len(call.Args) < 2 || of == nil || of.Obj().Pkg() == nil || of.Obj().Pkg().Path() != clientPath {
			continue
		}
		tables, err := p.lockOf(filepath.Dir(p.Fset.Position(call.Pos()).Filename))
		if err != nil {
			return err
		}
		t := p.opened(receiver, tables)
		if of.Obj().Name() == "AdminClient" {
			t = p.namedBy(call.Args[1], tables)
		}
		if t != nil {
			p.found(call, fmt.Sprintf("%s %s table %s of %s around its generated code: use %s, or give a reason: %s%s REASON",
				name, bypass.does, t.Name, lock.Name, strings.Replace(bypass.instead, "%s", t.Schema, 1), allowPrefix, p.Analyzer.Name))
		}
	}
	return nil
}

// opened returns the table that an expression stands for; nil if it may be another one.
func (p *pass) opened(e ast.Expr, tables lockedTables) *lock.Table {
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		if _, name := method(p.TypesInfo, call); strings.HasPrefix(name, "Open") && len(call.Args) > 0 {
			return p.namedBy(call.Args[0], tables)
		}
		return nil
	}
	return p.inAll(e, func(e ast.Expr) *lock.Table { return p.opened(e, tables) })
}

// namedBy returns the table that a string names, a constant that may follow a prefix; nil if it may be another one.
func (p *pass) namedBy(e ast.Expr, tables lockedTables) *lock.Table {
	if t := tables[p.constant(e)]; t != nil {
		return t
	}
	if sum, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		name := p.constant(sum.Y)
		return cmp.Or(tables[name], tables[strings.TrimLeft(name, "-_.")])
	}
	return p.inAll(e, func(e ast.Expr) *lock.Table { return p.namedBy(e, tables) })
}

// constant returns the value of a constant string; "" if it is something else.
func (p *pass) constant(e ast.Expr) string {
	if v := p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// inAll returns what find returns for the values of a variable; nil if it returns nil for one of them.
func (p *pass) inAll(e ast.Expr, find func(ast.Expr) *lock.Table) (t *lock.Table) {
	v := p.object(e)
	if v == nil {
		return nil
	}
	values := p.values(v)
	p.assigned[v] = nil // a variable that is assigned to itself has no end
	defer func() { p.assigned[v] = values }()
	for _, value := range values {
		if value == nil {
			return nil
		}
		if t = find(value); t == nil {
			return nil
		}
	}
	return t
}

// lockedTables are tables of locks by ID.
type lockedTables map[string]*lock.Table

// lockOf returns the tables of the lock of a folder; none without a lock.
func (p *pass) lockOf(dir string) (lockedTables, error) {
	tables, known := p.tables[dir]
	if known {
		return tables, nil
	}
	path, text, err := ReadLock(dir)
	if err != nil {
		return nil, err
	}
	if path != "" {
		l, err := lock.Parse(path, text)
		if err != nil {
			return nil, err
		}
		tables = inUse(l)
	}
	p.tables[dir] = tables
	return tables, nil
}

// ReadLock reads the nearest btgen.lock in a folder or above it, up to the root of its module. The path is empty if there is none.
func ReadLock(dir string) (path string, text []byte, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	for {
		path = filepath.Join(dir, lock.Name)
		if text, err = os.ReadFile(path); !os.IsNotExist(err) {
			return path, text, err
		}
		parent := filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || parent == dir {
			return "", nil, nil
		}
		dir = parent
	}
}

// inUse returns the tables of a lock, and those of earlier layouts, that the schemas have.
func inUse(l *lock.Lock) lockedTables {
	out := lockedTables{}
	for i := range l.Tables {
		t := &l.Tables[i]
		for _, layout := range t.Layouts {
			id := cmp.Or(layout.Table, t.Name)
			if out[id] == nil && t.Removed == "" && !slices.Contains(l.Removed(), id) {
				out[id] = &lock.Table{Name: id, Schema: t.Schema}
			}
		}
	}
	return out
}
