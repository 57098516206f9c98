// Package project finds what btgen works on: the schema files, the output
// folder, and the import path that generated code has there.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
)

// The folders of a project that has no btgen.yaml.
const (
	DefaultSchemas = "schemas"
	DefaultOut     = "generated"
)

// Project is the schemas of a project and where their code goes.
type Project struct {
	Inputs []gen.Input
	Out    string // folder of the generated code, as it was named
	// whole is set where the schemas are all that the project has. Otherwise
	// others, by the base names of their files, may have code in Out.
	whole  bool
	others map[string]bool
	// partial is set where single files were named, and those beside them that
	// were left out may have code in Out.
	partial bool
	// alone is set where a file that is named stands for itself.
	alone bool
}

// Load finds a project from the current folder. paths are schema files and
// folders with schema files; without any, btgen.yaml names them, and without
// that they are those of DefaultSchemas. A file stands for all schemas beside
// it that have the same package, since those are generated together. out is the
// output folder; empty means what btgen.yaml says, or DefaultOut. What is wrong
// with btgen.yaml is a diag.List.
func Load(paths []string, out string) (*Project, error) {
	config, err := loadConfig()
	if err != nil {
		return nil, err
	}
	p := &Project{Out: out, whole: len(paths) == 0}
	if p.whole {
		paths = config.Schemas
	} else {
		p.others = baseNames(config.Schemas)
	}
	if p.Out == "" {
		p.Out = config.Out
	}
	return p, p.loadAll(paths)
}

// Files finds schema files as Load does, for what is done with each by itself: a
// file stands for no others. Without any paths, btgen.yaml is among them if there
// is one.
func Files(paths []string) (*Project, error) {
	p := &Project{alone: true}
	if len(paths) == 0 {
		config, err := loadConfig()
		if err != nil {
			return nil, err
		}
		paths = config.Schemas
		if _, err := os.Stat(schema.ConfigName); err == nil {
			paths = append([]string{schema.ConfigName}, paths...)
		}
	}
	return p, p.loadAll(paths)
}

// loadAll adds the schemas of files and folders, of which there must be some.
func (p *Project) loadAll(paths []string) error {
	seen := map[string]bool{}
	for _, root := range paths {
		if err := p.load(root, seen); err != nil {
			return err
		}
	}
	if len(p.Inputs) == 0 {
		return fmt.Errorf("no schema (*.yaml) in %s: btgen init writes a first one", strings.Join(paths, ", "))
	}
	return nil
}

// loadConfig reads btgen.yaml, if there is one.
func loadConfig() (*schema.Config, error) {
	config := &schema.Config{}
	text, err := os.ReadFile(schema.ConfigName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		var found diag.List
		if config, found = schema.ParseConfig(schema.ConfigName, text); found.HasErrors() {
			return nil, found
		}
	}
	if len(config.Schemas) == 0 {
		config.Schemas = []string{DefaultSchemas}
	}
	if config.Out == "" {
		config.Out = DefaultOut
	}
	return config, nil
}

// load adds the schemas of a file or a folder.
func (p *Project) load(root string, seen map[string]bool) error {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s: btgen init writes a first schema, and btgen.yaml or an argument names another folder", root)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() && p.alone {
		return p.add(root, seen)
	}
	if !info.IsDir() {
		p.partial = true
		return p.loadFile(root, seen)
	}
	return walk(root, func(name string) error { return p.add(name, seen) })
}

// walk calls f for the schema files in a folder, which may be a symbolic link.
// Hidden files and folders are those of editors and version control.
func walk(root string, f func(name string) error) error {
	root += string(filepath.Separator)
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir() || !isSchema(name):
			return nil
		}
		return f(name)
	})
}

// baseNames returns the names of the schema files below files and folders, as
// far as there are any.
func baseNames(roots []string) map[string]bool {
	out := map[string]bool{}
	for _, root := range roots {
		if isSchema(root) {
			out[filepath.Base(root)] = true
			continue
		}
		_ = walk(root, func(name string) error { // what is not there has no schemas
			out[filepath.Base(name)] = true
			return nil
		})
	}
	return out
}

// loadFile adds a schema file and those beside it that share its package.
func (p *Project) loadFile(name string, seen map[string]bool) error {
	if err := p.add(name, seen); err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	own, _ := schema.Parse(name, text)
	if own.Package.V == "" {
		return nil
	}
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*"))
	if err != nil {
		return err
	}
	for _, other := range beside {
		if !isSchema(other) {
			continue
		}
		text, err := os.ReadFile(other)
		if err != nil {
			return err
		}
		if s, _ := schema.Parse(other, text); s.Package.V == own.Package.V {
			if err := p.add(other, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// isSchema reports whether a file is a schema, by its name.
func isSchema(name string) bool {
	ext := filepath.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && filepath.Base(name) != schema.ConfigName
}

// add adds one file, once.
func (p *Project) add(name string, seen map[string]bool) error {
	name = filepath.Clean(name)
	if seen[name] {
		return nil
	}
	seen[name] = true
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	p.Inputs = append(p.Inputs, gen.Input{Name: filepath.ToSlash(name), Text: text})
	return nil
}

// Text returns the text of a schema of the project, for diagnostics.
func (p *Project) Text(name string) []byte {
	i := slices.IndexFunc(p.Inputs, func(in gen.Input) bool { return in.Name == name })
	if i < 0 {
		text, _ := os.ReadFile(name) // no snippet if it cannot be read
		return text
	}
	return p.Inputs[i].Text
}

// Stale reports whether a generated file that was not made this time is a
// leftover: none of the schemas that it names makes anything there any more. A
// file that names none belongs to what is made every time.
func (p *Project) Stale(sources []string) bool {
	return !slices.ContainsFunc(sources, p.alive)
}

// alive reports whether there is a schema of the name that this run did not
// look at.
func (p *Project) alive(source string) bool {
	isSource := func(in gen.Input) bool { return path.Base(in.Name) == source }
	switch {
	case p.whole, !p.partial && slices.ContainsFunc(p.Inputs, isSource):
		return false // it was looked at
	case p.others[source]:
		return true
	}
	return slices.ContainsFunc(p.Inputs, func(in gen.Input) bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(filepath.FromSlash(in.Name)), source))
		return err == nil
	})
}

// ImportPath returns the import path of the output folder, from the go.mod in
// it or in the nearest folder above.
func (p *Project) ImportPath() (string, error) {
	out, err := filepath.Abs(p.Out)
	if err != nil {
		return "", err
	}
	for dir := out; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			module := modfile.ModulePath(mod)
			if module == "" {
				return "", fmt.Errorf("%s has no module line", filepath.Join(dir, "go.mod"))
			}
			rel, err := filepath.Rel(dir, out)
			return path.Join(module, filepath.ToSlash(rel)), err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod in %s or above it: run go mod init first", p.Out)
		}
	}
}
