package analyzers

import (
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// WriteLoop reports loops that write events at hand one at a time.
var WriteLoop = newAnalyzer("writeloop", "report loops that send a request for each event", false, writeLoop)

// writeLoop implements WriteLoop.
func writeLoop(p *pass, file inspector.Cursor) error {
	for c := range file.Preorder((*ast.CallExpr)(nil)) {
		call := c.Node().(*ast.CallExpr)
		if of, name := p.storeMethod(call); of != "Writer" || name != "Write" || len(call.Args) < 2 || slices.ContainsFunc(call.Args[2:], p.isConditional) {
			continue
		}
		loop, body := loopAround(c)
		if body == nil || isOnce(c, body) || !p.isFinite(loop.Node()) || p.waits(body, call, nil) ||
			!p.variesIn(call.Args[1], loop.Node()) || p.variesIn(call.Fun, loop.Node()) {
			continue
		}
		p.found(call, "Write sends a request for each event of the loop: call WriteAll with all of them, or add them to a batcher", p.writeAll(loop, call)...)
	}
	return nil
}

// isConditional reports whether options may have IfAbsent, with which each event takes a request of its own.
func (p *pass) isConditional(options ast.Expr) bool {
	literal, ok := p.only(options).(*ast.CompositeLit)
	return !ok || p.mentionsName(literal, "IfAbsent")
}

// loopAround returns the innermost loop of the function whose body has a node, and this body; nil if there is none.
func loopAround(c inspector.Cursor) (loop inspector.Cursor, body *ast.BlockStmt) {
	for around := range c.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil), (*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		switch n := around.Node().(type) {
		case *ast.ForStmt:
			body = n.Body
		case *ast.RangeStmt:
			body = n.Body
		default:
			return around, nil
		}
		if body.Pos() <= c.Node().Pos() && c.Node().End() <= body.End() {
			return around, body
		}
	}
	return c, nil
}

// isOnce reports whether a node in the body of a loop is executed once, because it leaves the loop or what follows does, or
// concurrently.
func isOnce(c inspector.Cursor, body *ast.BlockStmt) bool {
	for around := range c.Enclosing((*ast.ReturnStmt)(nil), (*ast.GoStmt)(nil), (*ast.DeferStmt)(nil), (*ast.BlockStmt)(nil), (*ast.CaseClause)(nil)) {
		var list []ast.Stmt
		switch n := around.Node().(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		default:
			return true
		}
		if leaves(list) || around.Node() == body {
			return leaves(list)
		}
	}
	return false
}

// leaves reports whether statements end with one that leaves the loop.
func leaves(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch last := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return last.Tok == token.BREAK || last.Tok == token.GOTO
	}
	return false
}

// isFinite reports whether a loop visits what exists already: the elements of a value, counted numbers, or the events of a read.
func (p *pass) isFinite(loop ast.Node) bool {
	switch n := loop.(type) {
	case *ast.ForStmt:
		return n.Init != nil && n.Cond != nil && n.Post != nil
	case *ast.RangeStmt:
		switch p.TypesInfo.TypeOf(n.X).Underlying().(type) {
		case *types.Chan:
			return false
		case *types.Signature:
			return p.reads(n.X)
		}
	}
	return true
}

// variesIn reports whether an expression has another value in each round of a loop.
func (p *pass) variesIn(e ast.Expr, loop ast.Node) bool {
	return p.mentions(e, func(o types.Object) bool { return loop.Pos() <= o.Pos() && o.Pos() < loop.End() || p.changes(loop, o) })
}

// changes reports whether a loop assigns to a variable or a part of it.
func (p *pass) changes(loop ast.Node, of types.Object) (found bool) {
	ast.Inspect(loop, func(n ast.Node) bool {
		var left []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			left = n.Lhs
		case *ast.IncDecStmt:
			left = []ast.Expr{n.X}
		}
		for _, l := range left {
			found = found || p.mentions(l, func(o types.Object) bool { return o == of })
		}
		return !found
	})
	return found
}

// quiet are packages whose functions do not wait.
var quiet = []string{"bytes", "cmp", "context", "encoding", "errors", "fmt", "log", "maps", "math", "slices", "sort", "strconv", "strings", "testing", "time", "unicode"}

// waits reports whether a node may wait for something other than a call, such as more events. It inspects the functions of the
// package that the node calls.
func (p *pass) waits(n ast.Node, except *ast.CallExpr, seen []types.Object) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt, *ast.SendStmt:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.RangeStmt:
			_, isChan := p.TypesInfo.TypeOf(n.X).Underlying().(*types.Chan)
			found = found || isChan
		case *ast.CallExpr:
			found = found || n != except && p.callWaits(n, seen)
		}
		return !found
	})
	return found
}

// callWaits reports whether a call may wait.
func (p *pass) callWaits(call *ast.CallExpr, seen []types.Object) bool {
	if p.TypesInfo.Types[call.Fun].IsType() {
		return false
	}
	switch f := typeutil.Callee(p.TypesInfo, call).(type) {
	case *types.Builtin:
		return false
	case *types.Func:
		if f = f.Origin(); f.Pkg() == nil { // Error of an error
			return false
		}
		top, _, _ := strings.Cut(f.Pkg().Path(), "/")
		switch {
		case f.Pkg() != p.Pkg:
			return !slices.Contains(quiet, top) || f.Name() == "Sleep" || strings.HasPrefix(f.Name(), "Fscan") || strings.HasPrefix(f.Name(), "Scan")
		case slices.Contains(seen, types.Object(f)):
			return false
		}
		body := p.bodyOf(f)
		return body == nil || p.waits(body, nil, append(seen, f))
	}
	return true
}

// bodyOf returns the body of a function of the package; nil if it has none, as a method of an interface.
func (p *pass) bodyOf(f *types.Func) *ast.BlockStmt {
	for c := range p.root.Preorder((*ast.FuncDecl)(nil)) {
		if n := c.Node().(*ast.FuncDecl); p.TypesInfo.Defs[n.Name] == f {
			return n.Body
		}
	}
	return nil
}

// writeAll returns the fix that replaces a loop whose only statement writes an element of a slice by a call of WriteAll.
func (p *pass) writeAll(loop inspector.Cursor, call *ast.CallExpr) []analysis.SuggestedFix {
	n, ok := loop.Node().(*ast.RangeStmt)
	if !ok || len(n.Body.List) != 1 || !isBlank(n.Key) || isBlank(n.Value) {
		return nil
	}
	of, ok := p.TypesInfo.TypeOf(n.X).Underlying().(*types.Slice)
	event := p.object(call.Args[1])
	if !ok || event == nil || event != p.object(n.Value) || len(p.uses(loop, event)) != 1 || !types.Identical(of.Elem(), event.Type()) {
		return nil
	}
	var events strings.Builder
	if err := format.Node(&events, p.Fset, n.X); err != nil {
		return nil
	}
	only, name := n.Body.List[0], ast.Unparen(call.Fun).(*ast.SelectorExpr).Sel
	return []analysis.SuggestedFix{{Message: "call WriteAll", TextEdits: []analysis.TextEdit{
		{Pos: n.Pos(), End: only.Pos()},
		{Pos: name.Pos(), End: name.End(), NewText: []byte("WriteAll")},
		{Pos: call.Args[1].Pos(), End: call.Args[1].End(), NewText: []byte(events.String())},
		{Pos: only.End(), End: n.End()},
	}}}
}
