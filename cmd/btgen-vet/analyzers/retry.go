package analyzers

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// Retry reports loops that repeat a call after any error.
var Retry = newAnalyzer("retry", "report loops that repeat a write, read or deletion without inspecting its error", false, retry)

// retry implements Retry.
func retry(p *pass, file inspector.Cursor) error {
	for c := range file.Preorder((*ast.AssignStmt)(nil)) {
		n := c.Node().(*ast.AssignStmt)
		call, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr)
		if !ok || len(n.Rhs) != 1 {
			continue
		}
		of, name := p.storeMethod(call)
		err := p.object(n.Lhs[len(n.Lhs)-1])
		if !slices.Contains([]string{"Writer", "Reader", "Batcher"}, of) || err == nil || !isError(err.Type()) || name == "Close" || name == "Flush" {
			continue
		}
		around, body := loopAround(c)
		if n, ok := c.Parent().Node().(*ast.ForStmt); ok && n.Post == c.Node() {
			around, body = c.Parent(), n.Body
		}
		again := body != nil && p.isSame(call, around.Node()) && p.repeats(around.Node(), body, err)
		if block, jump := p.jumpAround(c, err); jump != nil && p.isSame(call, jump) {
			around, again = block, true
		}
		if again && !p.inspects(around, err) {
			p.found(call, name+" is called again after every error, also one that stays, such as a refused event: inspect it with errors.As or errors.Is")
		}
	}
	return nil
}

// jumpAround returns the statements around a node from a label to a goto that jumps there if an error is not nil, and the block that has
// them; nil if there are none.
func (p *pass) jumpAround(c inspector.Cursor, err *types.Var) (block inspector.Cursor, jump *ast.BlockStmt) {
	for block = range c.Enclosing((*ast.BlockStmt)(nil)) {
		var label *ast.LabeledStmt
		begin, list := 0, block.Node().(*ast.BlockStmt).List
		for i, s := range list {
			if l, ok := s.(*ast.LabeledStmt); ok && l.Pos() <= c.Node().Pos() {
				begin, label, s = i, l, l.Stmt
			}
			n, ok := s.(*ast.IfStmt)
			if label == nil || !ok || n.End() < c.Node().End() || !p.compares(n.Cond, err, token.NEQ) || !leaves(n.Body.List) {
				continue
			}
			if last, ok := n.Body.List[len(n.Body.List)-1].(*ast.BranchStmt); ok && last.Label != nil && last.Label.Name == label.Label.Name {
				return block, &ast.BlockStmt{Lbrace: label.Pos(), List: list[begin : i+1], Rbrace: n.End()}
			}
		}
	}
	return block, nil
}

// isSame reports whether a call is the same in each round of a loop, apart from contexts and options.
func (p *pass) isSame(call *ast.CallExpr, loop ast.Node) bool {
	for i, e := range call.Args {
		if i > 0 && p.variesIn(e, loop) {
			return false
		}
	}
	return !p.variesIn(call.Fun, loop)
}

// repeats reports whether a loop goes on if an error is not nil, and ends if it is nil.
func (p *pass) repeats(loop ast.Node, body *ast.BlockStmt, err *types.Var) (found bool) {
	if n, ok := loop.(*ast.ForStmt); ok && n.Cond != nil {
		ast.Inspect(n.Cond, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			found = found || ok && p.compares(e, err, token.NEQ)
			return !found
		})
	}
	for i, s := range body.List {
		n, ok := s.(*ast.IfStmt)
		rest := body.List[i+1:]
		switch {
		case !ok:
		case p.compares(n.Cond, err, token.EQL):
			found = found || leaves(n.Body.List) && !leaves(rest)
		case p.compares(n.Cond, err, token.NEQ) && n.Else == nil:
			found = found || isContinue(n.Body.List) && leaves(rest)
		case p.compares(n.Cond, err, token.NEQ):
			otherwise, ok := n.Else.(*ast.BlockStmt)
			found = found || ok && leaves(otherwise.List) && !leaves(n.Body.List)
		}
	}
	return found
}

// compares reports whether an expression compares an error with nil, by an operator.
func (p *pass) compares(e ast.Expr, err *types.Var, by token.Token) bool {
	n, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && n.Op == by && p.object(n.X) == err && p.isNil(n.Y)
}

// isContinue reports whether statements end with continue.
func isContinue(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	last, ok := list[len(list)-1].(*ast.BranchStmt)
	return ok && last.Tok == token.CONTINUE && last.Label == nil
}

// inspects reports whether a loop may inspect an error: it does more than to compare it with nil, to log it, to return it, and to
// keep it for after the loop.
func (p *pass) inspects(loop inspector.Cursor, err *types.Var, seen ...*types.Var) bool {
	return slices.ContainsFunc(p.uses(loop, err), func(use inspector.Cursor) bool {
		if call, ok := use.Parent().Node().(*ast.CallExpr); ok && p.logs(call) {
			use = use.Parent()
		}
		switch n := use.Parent().Node().(type) {
		case *ast.BinaryExpr:
			return !p.isNil(n.Y)
		case *ast.ReturnStmt, *ast.ExprStmt:
			return false
		case *ast.AssignStmt:
			kept := p.object(n.Lhs[0])
			return len(n.Lhs) == len(n.Rhs) && kept != nil && kept != err && !slices.Contains(seen, kept) && p.inspects(loop, kept, append(seen, err)...)
		}
		return true
	})
}

// logs reports whether a call formats or logs.
func (p *pass) logs(call *ast.CallExpr) bool {
	f, ok := typeutil.Callee(p.TypesInfo, call).(*types.Func)
	return ok && f.Pkg() != nil && slices.Contains([]string{"fmt", "log", "log/slog", "testing"}, f.Pkg().Path())
}
