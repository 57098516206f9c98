package analyzers

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// Batcher reports batchers that are never closed, or whose failures nobody receives.
var Batcher = newAnalyzer("batcher", "report batchers that are never closed, and those whose failures nobody receives", true, batcher)

// batcher implements Batcher.
func batcher(p *pass, file inspector.Cursor) error {
	for c := range file.Preorder((*ast.CallExpr)(nil)) {
		call := c.Node().(*ast.CallExpr)
		name, ok := p.constructor(call, "Batcher")
		calls, kept := p.callsOf(c)
		if !ok || !kept || len(call.Args) < 2 {
			continue
		}
		var closes []inspector.Cursor
		for _, c := range calls {
			if _, name := method(p.TypesInfo, c.Node().(*ast.CallExpr)); name == "Close" || name == "Flush" {
				closes = append(closes, c)
			}
		}
		switch {
		case len(closes) == 0:
			p.found(call, "the batcher is never closed: when the program ends, events that were added last may not be written; call Close")
		case p.silent(call) && allIgnored(closes):
			p.found(closes[0].Node(), "nobody learns which events the batcher has not written: check the error of Close, or pass a function to "+name)
		}
	}
	return nil
}

// constructor returns the name of the function that a call calls, and whether it is the constructor of a type of package store or
// of the generated type around it.
func (p *pass) constructor(call *ast.CallExpr, of string) (name string, ok bool) {
	f := typeutil.StaticCallee(p.TypesInfo, call)
	if f == nil || storeType(p.TypesInfo.TypeOf(call)) != of {
		return "", false
	}
	return f.Name(), strings.HasPrefix(f.Name(), "New")
}

// callsOf returns the method calls on a new value. It is kept if it is in a local variable of which nothing but methods is called.
func (p *pass) callsOf(created inspector.Cursor) (calls []inspector.Cursor, kept bool) {
	n, ok := created.Parent().Node().(*ast.AssignStmt)
	if !ok || len(n.Lhs) != 1 {
		return nil, false
	}
	v := p.object(n.Lhs[0])
	for around := range created.Enclosing((*ast.FuncDecl)(nil)) {
		for _, use := range p.uses(around, v) {
			selector, ok := use.Parent().Node().(*ast.SelectorExpr)
			call := use.Parent().Parent()
			if n, isCall := call.Node().(*ast.CallExpr); !ok || !isCall || n.Fun != selector {
				return nil, false
			}
			calls = append(calls, call)
		}
	}
	return calls, v != nil && n.Tok == token.DEFINE
}

// silent reports whether failures of a batcher reach no function: it has none, or an empty one, and its writer has no hooks.
func (p *pass) silent(call *ast.CallExpr) bool {
	failed, isLiteral := ast.Unparen(call.Args[1]).(*ast.FuncLit)
	if !p.isNil(call.Args[1]) && (!isLiteral || len(failed.Body.List) > 0) {
		return false
	}
	writer, isCall := p.only(call.Args[0]).(*ast.CallExpr)
	if !isCall {
		return false
	}
	_, ok := p.constructor(writer, "Writer")
	return ok && !slices.ContainsFunc(writer.Args, func(e ast.Expr) bool {
		_, isLiteral := ast.Unparen(e).(*ast.CompositeLit)
		return storeType(p.TypesInfo.TypeOf(e)) == "WriterOptions" && (!isLiteral || p.mentionsName(e, "Hooks"))
	}) && !writer.Ellipsis.IsValid()
}

// allIgnored reports whether the errors of all calls are ignored.
func allIgnored(calls []inspector.Cursor) bool {
	for _, c := range calls {
		switch parent := c.Parent().Node().(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt:
		case *ast.AssignStmt:
			if !isBlank(parent.Lhs[0]) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
