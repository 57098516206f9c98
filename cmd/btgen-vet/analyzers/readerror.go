package analyzers

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// ReadError reports loops over events that ignore the error.
var ReadError = newAnalyzer("readerror", "report loops over events that ignore the error of the read", true, readError)

// readError implements ReadError.
func readError(p *pass, file inspector.Cursor) error {
	for c := range file.Preorder((*ast.RangeStmt)(nil)) {
		loop := c.Node().(*ast.RangeStmt)
		if !p.reads(loop.X) {
			continue
		}
		switch at, ok := p.droppedIn(c); {
		case isBlank(loop.Value):
			p.found(loop.X, "the error of the read is ignored: a failed read ends the loop early, with an empty event; check it in the loop", p.checkError(c)...)
		case ok:
			p.found(at, "the error of the read is lost: the caller takes what was read for all events; return the error")
		}
	}
	return nil
}

// reads reports whether an expression has the events, or the like, of a read and its errors, also one that a function of the package
// returns.
func (p *pass) reads(e ast.Expr, seen ...*types.Func) (found bool) {
	s, ok := types.Unalias(p.TypesInfo.TypeOf(e)).Underlying().(*types.Signature)
	if !ok || s.Params().Len() != 1 {
		return false
	}
	yield, ok := s.Params().At(0).Type().Underlying().(*types.Signature)
	if !ok || yield.Params().Len() != 2 || !isError(yield.Params().At(1).Type()) {
		return false
	}
	call, ok := p.only(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	if of, _ := p.storeMethod(call); of != "" {
		return true
	}
	f := typeutil.StaticCallee(p.TypesInfo, call)
	if f == nil || slices.Contains(seen, f) {
		return false
	}
	if body := p.bodyOf(f.Origin()); body != nil {
		ast.Inspect(body, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
				found = found || p.reads(r.Results[0], append(seen, f)...)
			}
			_, nested := n.(*ast.FuncLit)
			return !found && !nested
		})
	}
	return found
}

// droppedIn returns the place where a loop drops its error; false if it may use it.
func (p *pass) droppedIn(loop inspector.Cursor) (at ast.Node, ok bool) {
	n := loop.Node().(*ast.RangeStmt)
	id, isIdent := n.Value.(*ast.Ident)
	if !isIdent || n.Tok != token.DEFINE {
		return nil, false
	}
	for _, use := range p.uses(loop, p.TypesInfo.Defs[id]) {
		if at = dropped(use); at == nil {
			return nil, false
		}
	}
	return at, at != nil
}

// dropped returns the statement that ignores an error, such as _ = err, or skips to the next or the last round of the loop for it.
func dropped(use inspector.Cursor) ast.Node {
	switch parent := use.Parent().Node().(type) {
	case *ast.AssignStmt:
		if len(parent.Lhs) == 1 && isBlank(parent.Lhs[0]) {
			return parent
		}
	case *ast.BinaryExpr:
		if s, ok := use.Parent().Parent().Node().(*ast.IfStmt); ok && parent.Op == token.NEQ && len(s.Body.List) == 1 && s.Else == nil {
			if jump, ok := s.Body.List[0].(*ast.BranchStmt); ok {
				return jump
			}
		}
	}
	return nil
}

// checkError returns the fix that makes a loop return its error, if the function around it returns one.
func (p *pass) checkError(loop inspector.Cursor) []analysis.SuggestedFix {
	n := loop.Node().(*ast.RangeStmt)
	results, ok := p.failure(loop)
	if !ok || len(n.Body.List) == 0 || n.Tok != token.DEFINE || p.mentionsName(n.Body, "err") {
		return nil
	}
	edit := analysis.TextEdit{Pos: n.Key.End(), End: n.Key.End(), NewText: []byte(", err")}
	if n.Value != nil {
		edit = analysis.TextEdit{Pos: n.Value.Pos(), End: n.Value.End(), NewText: []byte("err")}
	}
	first := n.Body.List[0].Pos()
	check := []byte("if err != nil {\nreturn " + results + "\n}\n")
	return []analysis.SuggestedFix{{Message: "return the error", TextEdits: []analysis.TextEdit{
		edit, {Pos: first, End: first, NewText: check},
	}}}
}

// failure returns what a return statement for an error err returns; false if the function around a node returns no error.
func (p *pass) failure(c inspector.Cursor) (results string, ok bool) {
	for f := range c.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		var s *types.Signature
		switch n := f.Node().(type) {
		case *ast.FuncDecl:
			s = p.TypesInfo.Defs[n.Name].Type().(*types.Signature)
		case *ast.FuncLit:
			s = p.TypesInfo.TypeOf(n).(*types.Signature)
		}
		var out []string
		for v := range s.Results().Variables() {
			out = append(out, zeroOf(v.Type()))
		}
		last := len(out) - 1
		if last < 0 || !isError(s.Results().At(last).Type()) || slices.Contains(out, "") {
			return "", false
		}
		out[last] = "err"
		return strings.Join(out, ", "), true
	}
	return "", false
}

// zeroOf returns the zero value of a type; "" if it takes the name of the type.
func zeroOf(t types.Type) string {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return "false"
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		return "nil"
	}
	return ""
}

// mentionsName reports whether a node has an identifier of this name.
func (p *pass) mentionsName(n ast.Node, name string) bool {
	return p.mentions(n, func(o types.Object) bool { return o.Name() == name })
}

// isError reports whether a type is error.
func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// isBlank reports whether an expression is missing or _.
func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return e == nil || ok && id.Name == "_"
}
