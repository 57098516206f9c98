package golden

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// undocumentedErrors lists exported errors that no manual page mentions, and why.
var undocumentedErrors = map[string]string{
	"codec.ErrForm": "only from calls that generated code does not make",
}

// TestErrorsAreDocumented: the manual mentions every exported error of the runtime, so that
// a caller can find out when it occurs.
func TestErrorsAreDocumented(t *testing.T) {
	manual := ""
	for _, path := range []string{"../docs/code.md", "../docs/operations.md", "../docs/evolution.md", "../docs/language.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		manual += string(text)
	}
	for _, pkg := range []string{"codec", "store"} {
		names := exportedErrors(t, filepath.Join("../runtime", pkg))
		if len(names) < 5 {
			t.Errorf("package %s: only %d errors", pkg, len(names))
		}
		for _, name := range names {
			name = pkg + "." + name
			documented := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(manual)
			if _, except := undocumentedErrors[name]; documented == except {
				t.Errorf("%s: in the manual: %t, excepted: %t", name, documented, except)
			}
		}
	}
}

// exportedErrors returns the exported error variables and types of a package.
func exportedErrors(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			general, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range general.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if strings.HasPrefix(name.Name, "Err") {
							names = append(names, name.Name)
						}
					}
				case *ast.TypeSpec:
					if s.Name.IsExported() && strings.HasSuffix(s.Name.Name, "Error") {
						names = append(names, s.Name.Name)
					}
				}
			}
		}
	}
	return names
}
