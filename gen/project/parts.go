package project

import (
	"path/filepath"
	"slices"

	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/lock"
)

// Parts returns the project or, if the paths of the run lead to other projects, each of these with
// its schemas and its own output folder: the code goes where a run in the folder of that project
// puts it. An output folder that the user has given is for all of them.
func (p *Project) Parts() ([]*Project, error) {
	if p.whole || p.given {
		return []*Project{p}, nil
	}
	byDir := map[string]*Project{}
	var dirs []string
	known := map[string]*config{}
	for _, in := range p.Inputs {
		dir, err := p.lockDir(filepath.FromSlash(in.Name), known)
		if err != nil {
			return nil, err
		}
		if byDir[dir] == nil {
			if byDir[dir], err = p.part(dir); err != nil {
				return nil, err
			}
			dirs = append(dirs, dir)
		}
		byDir[dir].Inputs = append(byDir[dir].Inputs, in)
	}
	slices.Sort(dirs)
	var out []*Project
	for _, dir := range dirs {
		part := byDir[dir]
		if dir != "." {
			part.whole = part.config != nil && includes(part.names(), dir)
		}
		out = append(out, part)
	}
	return out, nil
}

// part returns the project of a folder, without schemas.
func (p *Project) part(dir string) (*Project, error) {
	if dir == "." {
		return &Project{Out: p.Out, config: p.config, folders: p.folders}, nil
	}
	c, err := loadConfig(dir)
	if err != nil {
		return nil, err
	}
	out := c.out()
	if !filepath.IsAbs(out) {
		out = filepath.Join(dir, out)
	}
	return &Project{Out: out, config: c, folders: p.folders}, nil
}

// names returns the names of the schemas.
func (p *Project) names() map[string]bool {
	out := map[string]bool{}
	for _, in := range p.Inputs {
		out[in.Name] = true
	}
	return out
}

// Modules returns the folders of the Go modules that contain the output folders of a run, as
// absolute paths, sorted. The arguments are those of Load.
func Modules(paths []string, out string) ([]string, error) {
	if len(paths) == 0 || out != "" {
		dir, err := Module(out)
		return []string{dir}, err
	}
	p, err := Load(paths, out)
	if err != nil {
		return nil, err
	}
	parts, err := p.Parts()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, part := range parts {
		m, err := findModule(part.Out)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, m.dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// isProject reports whether a folder is that of a project: it has a btgen.yaml or a lock.
func isProject(dir string) bool {
	return hasConfig(dir) || files.IsRegular(filepath.Join(dir, lock.Name))
}

// Folder returns the argument of commands that stands for the schemas of a project, given its
// folder.
func Folder(dir string) string {
	if schemas := filepath.Join(dir, DefaultSchemas); !isProject(dir) && files.IsDir(schemas) {
		dir = schemas
	}
	return filepath.ToSlash(dir)
}
