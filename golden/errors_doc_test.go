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

// undocumentedErrors lists exported errors that the manual does not list, and why.
var undocumentedErrors = map[string]string{
	"codec.ErrForm": "only from calls that generated code does not make",
}

// TestErrorsAreDocumented: the manual lists every exported error of the runtime, so that
// a caller can find out when it occurs.
func TestErrorsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text)
	for _, pkg := range []string{"codec", "setup", "store", "window"} {
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

// TestOptionsAreDocumented: the manual lists every option of the runtime.
func TestOptionsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/options.md")
	if err != nil {
		t.Fatal(err)
	}
	// The options of backfills are listed with the flags of the command.
	backfills, err := os.ReadFile("../docs/reference/backfills.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text) + string(backfills)
	for pkg, least := range map[string]int{"setup": 8, "store": 30} {
		fields := optionFields(t, filepath.Join("../runtime", pkg))
		if len(fields) < least {
			t.Errorf("package %s: only %d options", pkg, len(fields))
		}
		for field := range fields {
			if !strings.Contains(manual, "`"+field+"`") {
				t.Errorf("the manual does not list the option %s of package %s", field, pkg)
			}
		}
	}
}

// optionFields returns the exported fields of the structs of options in a package, and of
// Operation.
func optionFields(t *testing.T, dir string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() || !strings.HasSuffix(spec.Name.Name, "Options") && spec.Name.Name != "Operation" {
				return true
			}
			options, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range options.Fields.List {
				for _, name := range f.Names {
					if name.IsExported() {
						fields[name.Name] = true
					}
				}
			}
			return true
		})
	}
	return fields
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
