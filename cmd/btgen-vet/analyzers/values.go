package analyzers

import (
	"go/ast"
	"go/token"
	"go/types"
)

// values returns all expressions that the package assigns to a variable or field, among them nil for an unknown value: that of a
// parameter, of a loop, or of a variable whose address is taken. The result is empty if nothing is assigned.
func (p *pass) values(of types.Object) []ast.Expr {
	if p.assigned == nil {
		p.assigned = map[types.Object][]ast.Expr{}
		for c := range p.root.Preorder() {
			p.collect(c.Node())
		}
	}
	return p.assigned[of]
}

// only returns the value of a variable that has only one, and any other expression itself.
func (p *pass) only(e ast.Expr) ast.Expr {
	if v := p.object(e); v != nil && len(p.values(v)) == 1 && p.values(v)[0] != nil {
		return ast.Unparen(p.values(v)[0])
	}
	return ast.Unparen(e)
}

// collect records what a node assigns.
func (p *pass) collect(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		p.assign(n.Lhs, n.Rhs, n.Tok != token.ASSIGN && n.Tok != token.DEFINE)
	case *ast.ValueSpec:
		var names []ast.Expr
		for _, name := range n.Names {
			names = append(names, name)
		}
		if len(n.Values) > 0 {
			p.assign(names, n.Values, false)
		}
	case *ast.RangeStmt:
		p.assign([]ast.Expr{n.Key, n.Value}, nil, true)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			p.assign([]ast.Expr{n.X}, nil, true)
		}
	case *ast.FuncType:
		for _, field := range n.Params.List {
			for _, name := range field.Names {
				p.assign([]ast.Expr{name}, nil, true)
			}
		}
	case *ast.CompositeLit:
		t := p.TypesInfo.TypeOf(n).Underlying()
		if pointer, ok := t.(*types.Pointer); ok { // []*T{{…}}
			t = pointer.Elem().Underlying()
		}
		for i, e := range n.Elts {
			if pair, keyed := e.(*ast.KeyValueExpr); keyed {
				p.assign([]ast.Expr{pair.Key}, []ast.Expr{pair.Value}, false)
			} else if s, ok := t.(*types.Struct); ok {
				p.assigned[s.Field(i)] = append(p.assigned[s.Field(i)], e)
			}
		}
	}
}

// assign records an assignment.
func (p *pass) assign(left, right []ast.Expr, unknown bool) {
	for i, l := range left {
		v := p.object(l)
		switch {
		case l == nil || v == nil:
		case unknown || len(left) != len(right):
			p.assigned[v] = append(p.assigned[v], nil)
		default:
			p.assigned[v] = append(p.assigned[v], right[i])
		}
	}
}
