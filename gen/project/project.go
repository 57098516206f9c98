// Package project locates the schema files, the output folder and its import path. It
// distinguishes the generated code of a project from that of others.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// The folders of a project without a btgen.yaml.
const (
	DefaultSchemas = "schemas"
	DefaultOut     = "generated"
)

// Project is a set of schemas and their output folder.
type Project struct {
	Inputs []gen.Input
	Out    string // output folder, as it was given
	given  bool   // whether the user has given it
	// whole reports whether Inputs are all schemas of the project.
	whole bool
	// alone reports whether a file does not include the other schemas of its package.
	alone bool
	named bool     // the same, and folders are as for [Load]
	paths []string // as they were given
	// config is the btgen.yaml of the working directory; nil if there is none.
	config *config
	// folders are the folders that were searched for schemas.
	folders []string
}

// Load loads the project in the working directory. paths are schema files, folders with schema
// files, and folders of projects, which have a btgen.yaml or a lock and stand for their schemas.
// The default is the schemas of btgen.yaml or, without one, DefaultSchemas. A file includes the
// schemas next to it that have the same package, since they are generated together. Load skips
// subfolders with a btgen.yaml, which are separate projects. out is the
// output folder; if it is empty, it is that of btgen.yaml or DefaultOut. Errors in btgen.yaml
// are a [diag.List].
func Load(paths []string, out string) (*Project, error) {
	return (&Project{Out: out, given: out != "", paths: paths}).loaded()
}

// LoadNamed is Load for commands that show schemas: a file does not include others, which may be
// alternatives to it.
func LoadNamed(paths []string) (*Project, error) {
	return (&Project{paths: paths, named: true}).loaded()
}

// loaded loads the project.
func (p *Project) loaded() (*Project, error) {
	config, err := loadConfig("")
	if err != nil {
		return nil, err
	}
	paths := p.paths
	p.whole, p.config = len(paths) == 0, config
	if p.whole {
		paths = config.schemas()
	}
	if p.Out == "" {
		p.Out = config.out()
	}
	return p, p.loadAll(paths)
}

// Arguments returns the arguments with which the project was loaded, for a shell, each after a
// space.
func (p *Project) Arguments() string {
	out := ""
	for _, path := range p.paths {
		out += " " + words.Shell(path)
	}
	if p.given {
		out += " --out " + words.Shell(p.Out)
	}
	return out
}

// Vendored reports whether the runtime is copied into the output folder.
func (p *Project) Vendored() bool { return p.config.vendored() }

// Configured returns the project in the working directory without its schemas, for the entries
// of btgen.yaml.
func Configured() (*Project, error) {
	config, err := loadConfig("")
	return &Project{config: config}, err
}

// Prices returns the prices of btgen.yaml.
func (p *Project) Prices() []schema.Price {
	if p.config == nil {
		return nil
	}
	return p.config.said.Prices
}

// Config returns the parsed btgen.yaml of the working directory; an empty one if there is none.
func (p *Project) Config() *schema.Config {
	if p.config == nil {
		return &schema.Config{}
	}
	return p.config.said
}

// Beam reports whether code for Apache Beam pipelines is generated.
func (p *Project) Beam() bool { return p.config != nil && p.config.said.Beam.V }

// Files is Load for commands that treat each file separately: a file does not include
// others, folders include all their subfolders, and the default paths include btgen.yaml.
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

// LoadOther returns the schemas of another version of a project: those of a folder with a
// btgen.yaml or the folder DefaultSchemas, or of a folder with schema files.
func LoadOther(dir string) ([]gen.Input, error) {
	roots, err := rootsOf(dir)
	if err != nil {
		return nil, err
	}
	p := &Project{}
	err = p.loadAll(roots)
	return p.Inputs, err
}

// rootsOf returns the files and folders with the schemas of a project, given its folder.
func rootsOf(dir string) ([]string, error) {
	c, err := loadConfig(dir)
	if err != nil || c == nil && !files.IsDir(filepath.Join(dir, DefaultSchemas)) {
		return []string{dir}, err
	}
	var roots []string
	for _, root := range c.schemas() {
		if !filepath.IsAbs(root) {
			root = filepath.Join(dir, root)
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// loadAll adds the schemas of files and folders. It is an error if there are none.
func (p *Project) loadAll(paths []string) error {
	seen := map[string]bool{}
	for _, root := range paths {
		if err := p.loadPath(root, seen); err != nil {
			return err
		}
	}
	if len(p.Inputs) == 0 {
		return fmt.Errorf("no schemas (*.yaml, *.yml) in %s: to create one, run btgen init", words.Printable(strings.Join(paths, ", ")))
	}
	return nil
}

// loadPath adds the schemas of a file or a folder or, of the folder of a project, its own. These
// may have moved to another project of the run.
func (p *Project) loadPath(root string, seen map[string]bool) error {
	if p.alone || p.whole || !isProject(root) {
		return p.load(root, seen)
	}
	roots, err := rootsOf(root)
	if err != nil {
		return err
	}
	p.folders = append(p.folders, root)
	for _, own := range roots {
		if _, err := files.Stat(own); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := p.load(own, seen); err != nil {
			return err
		}
	}
	return nil
}

// load adds the schemas of a file or a folder.
func (p *Project) load(root string, seen map[string]bool) error {
	info, err := files.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		if file := fileOf(root); file != "" {
			return fmt.Errorf("%s is the name of a schema, and not of a file or folder: write %s instead", words.Printable(root), words.Printable(file))
		}
		return fmt.Errorf("%s does not exist: to create a schema, run btgen init; to use another folder, name it in btgen.yaml or as an argument", words.Printable(root))
	}
	switch {
	case err != nil:
		return err
	case info.IsDir():
		p.folders = append(p.folders, root)
		return p.walk(root, func(name string) error { return p.add(name, seen) })
	case p.alone || p.named:
		return p.add(root, seen)
	}
	return p.loadFile(root, seen)
}

// walk calls f for the schema files in a folder, which may be a symbolic link. It skips
// hidden files and folders, which belong to editors and version control.
func (p *Project) walk(root string, f func(name string) error) error {
	root += string(filepath.Separator)
	return files.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
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

// isHidden reports whether the name of a file or folder begins with a period.
func isHidden(d fs.DirEntry) bool { return strings.HasPrefix(d.Name(), ".") }

// loadFile adds a schema file and the schemas next to it that share its package.
func (p *Project) loadFile(name string, seen map[string]bool) error {
	if err := p.add(name, seen); err != nil {
		return err
	}
	pkg, err := packageOf(name)
	if err != nil || pkg == "" {
		return err
	}
	beside, err := files.ReadDir(filepath.Dir(name))
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

// packageOf returns the package of a schema; empty if it has none.
func packageOf(file string) (string, error) {
	text, err := read(file)
	if err != nil {
		return "", err
	}
	s, _ := schema.Parse(file, text) // errors are reported later
	return s.Package.V, nil
}

// read returns the text of a schema or a btgen.yaml. It truncates a file that is too large,
// but not below the size that the parser rejects.
func read(file string) ([]byte, error) { return files.Head(file, schema.MaxFile+1) }

// isSchema reports whether the name of a file is that of a schema.
func isSchema(name string) bool {
	ext := filepath.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && filepath.Base(name) != schema.ConfigName
}

// add adds a file, unless it has been added before.
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

// Text returns the text of a schema or of btgen.yaml, for diagnostics; nil if it cannot be
// read.
func (p *Project) Text(name string) []byte {
	i := slices.IndexFunc(p.Inputs, func(in gen.Input) bool { return in.Name == name })
	if i < 0 {
		text, _ := read(name) // no snippet if it cannot be read
		return text
	}
	return p.Inputs[i].Text
}

// config is a parsed btgen.yaml.
type config struct {
	file string // name in messages
	dir  string // its folder, absolute
	said *schema.Config
}

// loadConfig reads the btgen.yaml of a folder; nil if there is none. An empty dir is the
// working directory.
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

// schemas returns the files and folders with the schemas.
func (c *config) schemas() []string {
	if c == nil || len(c.said.Schemas) == 0 {
		return []string{DefaultSchemas}
	}
	return c.said.Schemas
}

// out returns the output folder.
func (c *config) out() string {
	if c == nil || c.said.Out == "" {
		return DefaultOut
	}
	return c.said.Out
}

// vendored reports whether the runtime is copied into the output folder.
func (c *config) vendored() bool { return c != nil && c.said.Runtime == schema.RuntimeVendored }

// names reports whether a schema belongs to the project: btgen.yaml names it or one of its
// parents, and there is no other project in between. The path must be absolute.
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

// fileOf returns the file in the folder of schemas that has the schema with a name; empty if there
// is none.
func fileOf(name string) string {
	const most = 1000 // files
	found, _ := files.ReadDir(DefaultSchemas)
	for _, d := range found[:min(len(found), most)] {
		file := filepath.Join(DefaultSchemas, d.Name())
		if !isSchema(file) {
			continue
		}
		text, err := files.Head(file, schema.MaxFile)
		if err != nil {
			continue
		}
		if s, _ := schema.Parse(file, text); s != nil && strings.EqualFold(s.Name.V, name) {
			return filepath.ToSlash(file)
		}
	}
	return ""
}
