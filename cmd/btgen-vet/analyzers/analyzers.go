// Package analyzers finds mistakes in programs that use generated code. It knows the types of package store, the generated types
// around them, the official client, and the tables of btgen.lock. It reports only what it is sure of.
//
// It can be imported, so that other drivers, such as a plugin of golangci-lint, run the same analyzers.
package analyzers

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// All returns the analyzers of btgen-vet.
func All() []*analysis.Analyzer {
	return []*analysis.Analyzer{Direct, ReadError, Batcher, WriteLoop, Retry}
}

// check inspects a file of a package.
type check func(p *pass, file inspector.Cursor) error

// newAnalyzer returns an analyzer that runs a check on all files but generated ones, and on tests only if it applies to them.
func newAnalyzer(name, doc string, ofTests bool, check check) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: name, Doc: doc, Requires: []*analysis.Analyzer{inspect.Analyzer},
		URL: "https://github.com/btgen-dev/btgen/blob/main/docs/reference/vet.md#" + name,
		Run: func(of *analysis.Pass) (any, error) {
			root := of.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
			p := &pass{Pass: of, root: root, tables: map[string]lockedTables{}}
			for file := range root.Children() {
				f := file.Node().(*ast.File)
				isTest := strings.HasSuffix(of.Fset.Position(f.FileStart).Filename, "_test.go")
				if ast.IsGenerated(f) || isTest && !ofTests {
					continue
				}
				p.allowed = allowancesIn(of, f)
				if err := check(p, file); err != nil {
					return nil, err
				}
				p.reportUnused()
			}
			return nil, nil
		},
	}
}

// pass is a run of an analyzer on a package.
type pass struct {
	*analysis.Pass
	root     inspector.Cursor
	allowed  []*allowance // those of the current file
	assigned map[types.Object][]ast.Expr
	tables   map[string]lockedTables // see lockOf
}

// allowance is a comment that allows the findings of an analyzer on its line and the next one.
type allowance struct {
	comment *ast.Comment
	line    int
	reason  string
	used    bool
}

// allowPrefix begins such a comment. The name of the analyzer and a reason follow.
const allowPrefix = "//btgen:allow "

// allowancesIn returns the comments in a file that allow findings of an analyzer.
func allowancesIn(p *analysis.Pass, f *ast.File) (out []*allowance) {
	for _, group := range f.Comments {
		for _, c := range group.List {
			reason, found := strings.CutPrefix(c.Text, allowPrefix+p.Analyzer.Name)
			if found && (reason == "" || reason[0] == ' ') {
				out = append(out, &allowance{comment: c, line: p.Fset.Position(c.Pos()).Line, reason: strings.TrimSpace(reason)})
			}
		}
	}
	return out
}

// found reports a finding at a node, unless a comment with a reason allows it.
func (p *pass) found(at ast.Node, message string, fixes ...analysis.SuggestedFix) {
	line := p.Fset.Position(at.Pos()).Line
	for _, a := range p.allowed {
		if a.line != line && a.line != line-1 {
			continue
		}
		if a.used = true; a.reason != "" {
			return
		}
		message += "; the comment that allows it lacks a reason"
	}
	p.Report(analysis.Diagnostic{Pos: at.Pos(), End: at.End(), Message: message, SuggestedFixes: fixes})
}

// reportUnused reports the comments of a file that allow nothing.
func (p *pass) reportUnused() {
	for _, a := range p.allowed {
		if !a.used {
			p.ReportRangef(a.comment, "btgen:allow %s allows nothing on this line and the next one: remove it", p.Analyzer.Name)
		}
	}
}

// storeType returns the name of a type of package store, such as "Writer", given it or the generated type around it, or a pointer
// to one of them; otherwise "".
func storeType(t types.Type) string {
	named := namedType(t)
	if named == nil || named.Obj().Pkg() == nil {
		return ""
	}
	if isStore(named.Obj().Pkg()) {
		return named.Obj().Name()
	}
	if s, ok := named.Underlying().(*types.Struct); ok && s.NumFields() == 1 {
		if inner := namedType(s.Field(0).Type()); inner != nil && isStore(inner.Obj().Pkg()) {
			return inner.Obj().Name()
		}
	}
	return ""
}

// namedType returns a named type, given it or a pointer to it; otherwise nil.
func namedType(t types.Type) *types.Named {
	if t == nil {
		return nil
	}
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// isStore reports whether a package is store, or a vendored copy of it.
func isStore(pkg *types.Package) bool {
	return pkg != nil && strings.HasSuffix(pkg.Path(), "/runtime/store")
}

// method returns the receiver and the name of a method that is called; nil if no method is.
func method(info *types.Info, call *ast.CallExpr) (receiver ast.Expr, name string) {
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || info.Selections[selector] == nil || info.Selections[selector].Kind() != types.MethodVal {
		return nil, ""
	}
	return selector.X, selector.Sel.Name
}

// storeMethod returns the name of the type of package store, and of its method, or that of a generated type, that is called.
func (p *pass) storeMethod(call *ast.CallExpr) (typeName, name string) {
	if receiver, name := method(p.TypesInfo, call); receiver != nil {
		return storeType(p.TypesInfo.TypeOf(receiver)), name
	}
	return "", ""
}

// object returns the variable or field that an expression names; nil if it is something else.
func (p *pass) object(e ast.Expr) *types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, _ := p.TypesInfo.ObjectOf(e).(*types.Var)
		return v
	case *ast.SelectorExpr:
		return p.object(e.Sel)
	}
	return nil
}

// mentions reports whether a node names one of the objects for which yes returns true.
func (p *pass) mentions(n ast.Node, yes func(types.Object) bool) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			object := p.TypesInfo.ObjectOf(id)
			found = found || object != nil && yes(object)
		}
		return !found
	})
	return found
}

// uses returns the identifiers below a node that name an object, apart from its declaration.
func (p *pass) uses(below inspector.Cursor, of types.Object) (out []inspector.Cursor) {
	for c := range below.Preorder((*ast.Ident)(nil)) {
		if p.TypesInfo.Uses[c.Node().(*ast.Ident)] == of {
			out = append(out, c)
		}
	}
	return out
}

// isNil reports whether an expression is nil.
func (p *pass) isNil(e ast.Expr) bool { return p.TypesInfo.Types[e].IsNil() }
