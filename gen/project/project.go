// Package project finds what btgen works on: the schema files, the output
// folder, and the import path that generated code has there. It tells what the
// project has generated from what others have.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
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
	// whole is set where the schemas are all that the project has.
	whole bool
	// alone is set where a file that is named stands for itself.
	alone bool
	// config is the btgen.yaml of the current folder; nil if there is none.
	config *config
	// folders are those that schemas were searched in.
	folders []string
}

// Load finds a project from the current folder. paths are schema files and
// folders with schema files; without any, btgen.yaml names them, and without
// that they are those of DefaultSchemas. A file stands for all schemas beside
// it that have the same package, since those are generated together. A folder
// with a btgen.yaml below one that is searched is another project's, and is
// passed over. out is the output folder; empty means what btgen.yaml says, or
// DefaultOut. What is wrong with btgen.yaml is a diag.List.
func Load(paths []string, out string) (*Project, error) {
	config, err := loadConfig("")
	if err != nil {
		return nil, err
	}
	p := &Project{Out: out, whole: len(paths) == 0, config: config}
	if p.whole {
		paths = config.schemas()
	}
	if p.Out == "" {
		p.Out = config.out()
	}
	return p, p.loadAll(paths)
}

// Vendored reports whether the runtime is copied into the output folder.
func (p *Project) Vendored() bool { return p.config.vendored() }

// Files finds schema files as Load does, for what is done with each by itself: a
// file stands for no others, and a folder for all that is below it. Without any
// paths, btgen.yaml is among them if there is one.
func Files(paths []string) (*Project, error) {
	p := &Project{alone: true}
	if len(paths) == 0 {
		config, err := loadConfig("")
		if err != nil {
			return nil, err
		}
		paths = config.schemas()
		if config != nil {
			paths = append([]string{config.file}, paths...)
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
		return fmt.Errorf("no schema (*.yaml) in %s: btgen init writes a first one", words.Printable(strings.Join(paths, ", ")))
	}
	return nil
}

// load adds the schemas of a file or a folder.
func (p *Project) load(root string, seen map[string]bool) error {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s: btgen init writes a first schema, and btgen.yaml or an argument names another folder", words.Printable(root))
	}
	switch {
	case err != nil:
		return err
	case info.IsDir():
		p.folders = append(p.folders, root)
		return p.walk(root, func(name string) error { return p.add(name, seen) })
	case p.alone:
		return p.add(root, seen)
	}
	return p.loadFile(root, seen)
}

// walk calls f for the schema files in a folder, which may be a symbolic link.
// Hidden files and folders are those of editors and version control.
func (p *Project) walk(root string, f func(name string) error) error {
	root += string(filepath.Separator)
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == root:
			return nil
		case d.IsDir() && (isHidden(d) || !p.alone && hasConfig(name)):
			return filepath.SkipDir
		case d.IsDir() || isHidden(d) || !isSchema(name):
			return nil
		}
		return f(name)
	})
}

// isHidden reports whether a file or folder is one of editors or version control.
func isHidden(d fs.DirEntry) bool { return strings.HasPrefix(d.Name(), ".") }

// loadFile adds a schema file and those beside it that share its package.
func (p *Project) loadFile(name string, seen map[string]bool) error {
	if err := p.add(name, seen); err != nil {
		return err
	}
	pkg, err := packageOf(name)
	if err != nil || pkg == "" {
		return err
	}
	beside, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return err
	}
	for _, d := range beside {
		other := filepath.Join(filepath.Dir(name), d.Name())
		if isHidden(d) || !isSchema(other) || files.IsDir(other) {
			continue
		}
		if its, err := packageOf(other); err != nil {
			return err
		} else if its == pkg {
			if err := p.add(other, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// packageOf returns the package that a schema names; empty if it names none.
func packageOf(file string) (string, error) {
	text, err := read(file)
	if err != nil {
		return "", err
	}
	s, _ := schema.Parse(file, text) // what is wrong with it is found once more
	return s.Package.V, nil
}

// read returns the text of a schema or a btgen.yaml. Of one that is too large it
// returns so much that the parser says so.
func read(file string) ([]byte, error) { return files.Head(file, schema.MaxFile+1) }

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
	text, err := read(name)
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
		text, _ := read(name) // no snippet if it cannot be read
		return text
	}
	return p.Inputs[i].Text
}

// config is a btgen.yaml.
type config struct {
	file string // as it is named in messages
	dir  string // its folder, absolute
	said *schema.Config
}

// loadConfig reads the btgen.yaml of a folder; nil if there is none. The empty
// name is the current folder.
func loadConfig(dir string) (*config, error) {
	file := filepath.Join(dir, schema.ConfigName)
	text, err := read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	said, found := schema.ParseConfig(filepath.ToSlash(file), text)
	if found.HasErrors() {
		return nil, found
	}
	dir, err = filepath.Abs(dir)
	return &config{file, dir, said}, err
}

// hasConfig reports whether a folder has a btgen.yaml.
func hasConfig(dir string) bool { return files.IsRegular(filepath.Join(dir, schema.ConfigName)) }

// schemas are the files and folders that the schemas are in.
func (c *config) schemas() []string {
	if c == nil || len(c.said.Schemas) == 0 {
		return []string{DefaultSchemas}
	}
	return c.said.Schemas
}

// out is the folder of the generated code.
func (c *config) out() string {
	if c == nil || c.said.Out == "" {
		return DefaultOut
	}
	return c.said.Out
}

// vendored reports whether the runtime is copied into the output folder.
func (c *config) vendored() bool { return c != nil && c.said.Runtime == schema.RuntimeVendored }

// names reports whether a schema is one of the project: it is named, or is in a
// folder that is, and in no other project's on the way there. Both paths are
// absolute.
func (c *config) names(file string) bool {
	for _, root := range c.schemas() {
		if !filepath.IsAbs(root) {
			root = filepath.Join(c.dir, root)
		}
		if root == file {
			return true
		}
		for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
			if dir == root {
				return true
			}
			if hasConfig(dir) || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return false
}
