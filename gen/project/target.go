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
	"syscall"

	"golang.org/x/mod/modfile"
	modpath "golang.org/x/mod/module"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime"
)

// Target is where the code of a project goes. It tells the code of the project
// from that of others: by what each file records, whatever else is in the folder.
type Target struct {
	emit.Target
	Dir string // as it was named
	// Module is the folder of the go.mod file, absolute and without symbolic links.
	Module string
	// LacksRuntime is set where the code imports the runtime from the module of btgen,
	// which the go.mod file does not require.
	LacksRuntime bool

	whole    bool
	own      string          // btgen.yaml of the current folder, as files record it; empty without one
	dir      string          // that btgen.yaml's folder, absolute
	inputs   map[string]bool // the schemas of this run, likewise
	files    map[string]bool // their files, absolute and without symbolic links
	projects map[string]bool // the btgen.yaml files that name them, likewise
	folders  []string        // that schemas were searched in, likewise
}

// FolderError says that the Go command would not build code in a folder.
type FolderError struct {
	Dir    string // as it was named
	Reason string
}

// Error names the folder, the reason and what to do.
func (e *FolderError) Error() string {
	return fmt.Sprintf("no Go code in %s: %s: name another folder, with out in btgen.yaml or with --out", words.Printable(e.Dir), e.Reason)
}

// Target returns where the code goes, and has the inputs say what generated code
// records of them.
func (p *Project) Target() (*Target, error) {
	m, err := findModule(p.Out)
	if err != nil {
		return nil, err
	}
	importPath, err := m.importPath(p.Out)
	if err != nil {
		return nil, err
	}
	t := &Target{
		Target: emit.Target{ImportPath: importPath, Vendored: p.Vendored()}, Dir: p.Out, Module: m.real, LacksRuntime: !m.runtime && !p.Vendored(),
		whole: p.whole, inputs: map[string]bool{}, files: map[string]bool{}, projects: map[string]bool{},
	}
	if p.config != nil {
		t.own, t.dir = m.name(p.config.file), p.config.dir
	}
	known := map[string]*config{}
	for i := range p.Inputs {
		in := &p.Inputs[i]
		if err := p.record(in, m, known); err != nil {
			return nil, err
		}
		t.inputs[in.Source] = true
		if real, err := realPath(filepath.FromSlash(in.Name)); err == nil {
			t.files[real] = true
		}
		if in.Project != "" {
			t.projects[in.Project] = true
		}
	}
	for _, dir := range p.folders {
		t.folders = append(t.folders, m.name(dir))
	}
	return t, nil
}

// record sets what generated code records of an input. The same schema has the
// same record from whatever folder it is generated: its project is that of the
// nearest btgen.yaml that names it. known are those that were read already.
func (p *Project) record(in *gen.Input, m module, known map[string]*config) error {
	file := filepath.FromSlash(in.Name)
	in.Source = m.name(file)
	if p.whole {
		if p.config != nil {
			in.Project = m.name(p.config.file)
		}
		return nil
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if p.config != nil && p.config.names(file) {
		in.Project = m.name(p.config.file)
		return nil
	}
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		c, read := known[dir]
		if !read {
			if c, err = loadConfig(dir); err != nil {
				return err
			}
			known[dir] = c
		}
		if c != nil && c.names(file) {
			if rel, ok := m.inside(c.file); ok || !filepath.IsAbs(in.Name) {
				in.Project = rel
			}
			return nil
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// Stale reports whether a file that this run does not make was made by an earlier
// one of the same project: what the file records is the project, or none of the
// schemas that it records makes anything there any more.
func (t *Target) Stale(made output.Record) bool {
	if t.whole && t.own != "" && made.Project == t.own {
		return true
	}
	if t.others(made) || len(made.Sources) == 0 {
		return false
	}
	return !slices.ContainsFunc(made.Sources, func(source string) bool { return !t.reads(source) && !t.missing(source) })
}

// others reports whether another project made a file, one that is still there.
func (t *Target) others(made output.Record) bool {
	return made.Project != "" && made.Project != t.own && !t.projects[made.Project] && t.exists(made.Project)
}

// reads reports whether a schema that generated code records is one of this run, by
// whatever path it is named.
func (t *Target) reads(source string) bool {
	if t.inputs[source] {
		return true
	}
	real, err := realPath(filepath.Join(t.Module, filepath.FromSlash(source)))
	return err == nil && t.files[real]
}

// realPath returns the absolute path of a file without symbolic links.
func realPath(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// missing reports whether a schema is none any more, in one of the folders that
// this run has searched.
func (t *Target) missing(source string) bool {
	in := func(dir string) bool {
		return dir == "." && !strings.HasPrefix(source, "../") || strings.HasPrefix(source, dir+"/")
	}
	return slices.ContainsFunc(t.folders, in) && !t.exists(source)
}

// exists reports whether there is a file that generated code records.
func (t *Target) exists(name string) bool {
	return files.IsRegular(filepath.Join(t.Module, filepath.FromSlash(name)))
}

// Orphan reports whether nothing of what a file records is there any more: neither
// its project nor any of its schemas.
func (t *Target) Orphan(made output.Record) bool {
	return len(made.Sources) > 0 && !(made.Project != "" && t.exists(made.Project)) && !slices.ContainsFunc(made.Sources, t.exists)
}

// Rival returns a schema of which a file is made too, and which this run leaves out;
// empty if there is none. The file is in the folder of the package.
func (t *Target) Rival(pkg string, made output.Record) string {
	if t.whole && t.own != "" && made.Project == t.own {
		return "" // it is all that makes the file
	}
	for _, source := range made.Sources {
		if t.reads(source) || !t.exists(source) {
			continue
		}
		if its, err := packageOf(filepath.Join(t.Module, filepath.FromSlash(source))); err != nil || its == pkg {
			return source
		}
	}
	return ""
}

// Elsewhere returns other folders below the current one that the code of this run's
// schemas was generated to, sorted.
func (t *Target) Elsewhere() []string {
	var found []string
	left := maxEntries
	_ = filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		left--
		switch {
		case left == 0:
			return filepath.SkipAll
		case err != nil, file != "." && d.IsDir() && (isHidden(d) || d.Name() == "node_modules" || file == filepath.Clean(t.Dir) || t.Foreign(file) != ""):
			return filepath.SkipDir
		case d.Name() != output.PackageFile || !d.Type().IsRegular():
			return nil
		}
		head, err := files.Head(file, maxHead)
		made, ours := output.ParseRecord(head)
		if err == nil && ours && slices.ContainsFunc(made.Sources, func(source string) bool { return t.inputs[source] }) {
			found = append(found, filepath.Dir(filepath.Dir(file)))
		}
		return nil
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// Limits of a search for code: how many files and folders are looked at, and how much
// of a file.
const (
	maxEntries = 100_000
	maxHead    = 1 << 20
)

// Foreign says whose folder it is where that is not the project's: that of another
// module or of another project. It is empty for the project's.
func (t *Target) Foreign(dir string) string {
	if files.IsRegular(filepath.Join(dir, "go.mod")) {
		return "a module of its own"
	}
	if !hasConfig(dir) {
		return ""
	}
	if own, err := filepath.Abs(dir); err == nil && t.own != "" && own == t.dir {
		return ""
	}
	return "the folder of another project, which has a " + schema.ConfigName
}

// Module returns the folder of the Go module that code goes to, absolute. out is as
// for Load.
func Module(out string) (string, error) {
	if out == "" {
		config, err := loadConfig("")
		if err != nil {
			return "", err
		}
		out = config.out()
	}
	m, err := findModule(out)
	return m.dir, err
}

// module is the Go module of the generated code.
type module struct {
	path string
	dir  string // of its go.mod, absolute
	real string // the same without symbolic links
	// runtime is set where the module is btgen or requires it.
	runtime bool
}

// findModule returns the module of a folder, from the go.mod in it or in the
// nearest folder above.
func findModule(out string) (module, error) {
	abs, err := filepath.Abs(out)
	if err != nil {
		return module{}, err
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, "go.mod")
		if !files.IsRegular(file) {
			if _, err := os.Stat(file); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return module{}, err
			}
			if dir == filepath.Dir(dir) {
				return module{}, fmt.Errorf("no go.mod in %s or above it: run go mod init first", words.Printable(out))
			}
			continue
		}
		text, err := files.Read(file, maxGoMod)
		if err != nil {
			return module{}, err
		}
		name := modfile.ModulePath(text)
		if name == "" {
			return module{}, fmt.Errorf("%s has no module line", words.Printable(file))
		}
		real, err := filepath.EvalSymlinks(dir)
		return module{name, dir, real, name == runtime.Module || requires(file, text, runtime.Module)}, err
	}
}

// requires reports whether a go.mod file requires a module. One that the go command would
// refuse is left to that.
func requires(file string, text []byte, module string) bool {
	mod, err := modfile.ParseLax(file, text, nil)
	return err != nil || slices.ContainsFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == module })
}

// maxGoMod is the size of the largest go.mod that is read, in bytes.
const maxGoMod = 16 << 20

// importPath returns the import path of a folder of the module, if the Go command
// builds packages below it.
func (m module) importPath(out string) (string, error) {
	abs, err := filepath.Abs(out)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(m.dir, abs)
	if err != nil {
		return "", err
	}
	rel = filepath.ToSlash(rel)
	importPath := path.Join(m.path, rel)
	if err := modpath.CheckImportPath(importPath); err != nil {
		reason := err.Error()
		if invalid, ok := errors.AsType[*modpath.InvalidPathError](err); ok {
			reason = invalid.Err.Error()
		}
		return "", &FolderError{out, fmt.Sprintf("its import path would be %q, which the go command refuses (%s)", importPath, words.Printable(reason))}
	}
	for _, element := range strings.Split(rel, "/") {
		switch {
		case element == ".":
		case element == "vendor":
			return "", &FolderError{out, "the go command takes a folder vendor for copies of other modules"}
		case element == "testdata", strings.HasPrefix(element, "_"), strings.HasPrefix(element, "."):
			return "", &FolderError{out, fmt.Sprintf("the go command leaves %s out of ./..., so that nobody would test the code", element)}
		}
	}
	return importPath, nil
}

// name returns a file or folder as generated code records it: from the folder of
// the module, so that it is the same on all machines. One that is named by an
// absolute path outside of the module is its base name alone.
func (m module) name(file string) string {
	if rel, ok := m.inside(file); ok || !filepath.IsAbs(file) {
		return rel
	}
	return filepath.Base(file)
}

// inside returns the path of a file or folder from that of the module, and whether
// it is in there. Links within the module stand for where they lead.
func (m module) inside(file string) (string, bool) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return filepath.Base(file), false
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		real = abs
	}
	rel := ""
	for _, at := range [][2]string{{m.real, real}, {m.dir, abs}} {
		if rel, err = filepath.Rel(at[0], at[1]); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	if err != nil { // another drive
		return filepath.Base(file), false
	}
	return filepath.ToSlash(rel), false
}
