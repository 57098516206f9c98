package emit

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/runtime"
)

// goPackage contains the schemas that share a Go package.
type goPackage struct {
	name    string
	layouts []*layout.Layout
	schemas []*names.Schema // of the layouts, in their order
}

// packagesOf groups layouts by package, in the order of their first schema.
func packagesOf(layouts []*layout.Layout, all []*names.Schema) []*goPackage {
	var out []*goPackage
	for i, l := range layouts {
		at := slices.IndexFunc(out, func(p *goPackage) bool { return p.name == l.Package })
		if at < 0 {
			at, out = len(out), append(out, &goPackage{name: l.Package})
		}
		out[at].layouts, out[at].schemas = append(out[at].layouts, l), append(out[at].schemas, all[i])
	}
	return out
}

// recordOf returns the record of a file that is generated from schemas.
func recordOf(layouts ...*layout.Layout) output.Record {
	var r output.Record
	for i, l := range layouts {
		source, project := l.Source, l.Project
		if source == "" { // the location is unknown
			source, project = path.Base(l.File), ""
		}
		r.Sources = append(r.Sources, source)
		if i == 0 {
			r.Project = project
		} else if r.Project != project {
			r.Project = "" // several projects share the file
		}
	}
	slices.Sort(r.Sources)
	r.Sources = slices.Compact(r.Sources)
	return r
}

// files renders the files that the schemas of the package share.
func (p *goPackage) files(paths paths) ([]output.File, error) {
	doc, err := p.doc(paths)
	if err != nil {
		return nil, err
	}
	test, err := p.test(paths)
	files := []output.File{
		{Path: path.Join(p.name, output.PackageFile), Content: doc},
		{Path: path.Join(p.name, p.name+"test", p.name+"test.go"), Content: test},
	}
	beam := slices.DeleteFunc(slices.Clone(p.layouts), func(l *layout.Layout) bool { return !l.Beam })
	if err != nil || len(beam) == 0 {
		return files, err
	}
	content, err := beamDoc(beam, paths)
	return append(files, output.File{Path: path.Join(p.name, p.name+"beam", output.PackageFile), Content: content}), err
}

// doc renders the file that documents the package. Users name the types and the
// errors of the runtime by their own import paths.
func (p *goPackage) doc(paths paths) ([]byte, error) {
	origin := recordOf(p.layouts...)
	for _, l := range p.layouts {
		for _, t := range l.Tables {
			if !t.Draft {
				origin.Locked = append(origin.Locked, lock.Of(l, t).Key())
			}
		}
	}
	slices.Sort(origin.Locked)
	s := newSource(paths.pkg(p.name), p.name, origin, paths)
	s.PackageComment(fmt.Sprintf("// Package %s writes and reads time series in Bigtable:\n//", p.name))
	for line := range strings.Lines(p.picture()) {
		s.PackageComment(gocode.Comment("\t" + strings.TrimSpace(line)))
	}
	s.PackageComment(fmt.Sprintf(`//
// Options and most errors are in the first of these packages, those of setup in the second, and
// the reasons why a value is refused in the third:
//
//	%s/store
//	%[1]s/setup
//	%[1]s/codec
//
// Functions that call generic ones are not inlined, since each package that calls them would compile
// these again.`, paths.runtime))
	s.add(s.code(`
		// This code requires a runtime that is at least as new. To update it, run: go get $1@latest
		const _ = store.IsAtLeastVersion1`, runtime.Module))
	return s.render()
}

// picture shows the tables: whose events they have, their row keys, and which cells are deleted.
func (p *goPackage) picture() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "events\ttable\tgarbage collection\trow key")
	for _, l := range p.layouts {
		for _, t := range l.Tables {
			var rules []string
			for _, f := range t.Families {
				rules = append(rules, f.GC.String())
			}
			slices.Sort(rules)
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Name, t.ID, strings.Join(slices.Compact(rules), "; "), sample.KeyNames(t))
		}
	}
	_ = w.Flush() // to a builder
	return b.String()
}

// test renders the package with an in-memory Bigtable for tests.
func (p *goPackage) test(paths paths) ([]byte, error) {
	name := p.name + "test"
	s := newSource(paths.test(p.name), name, recordOf(p.layouts...), paths)
	s.importPackage(p.name)
	s.PackageComment(fmt.Sprintf("// Package %s provides tests with an in-memory Bigtable that has the tables of package %s.", name, p.name))
	var drafts *jen.Statement
	if slices.ContainsFunc(p.layouts, func(l *layout.Layout) bool {
		return slices.ContainsFunc(l.Tables, func(t *layout.Table) bool { return t.Draft })
	}) {
		drafts = s.code(`
			opts = append([]setup.Options{{}}, opts...)
			opts[len(opts)-1].AllowDrafts = true`)
	}
	s.add(s.code(`
		// New starts an in-memory Bigtable with all tables and stops it at the end of the test.
		func New(t testing.TB, opts ...setup.Options) *storetest.Bigtable {
			t.Helper()
			return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
				return createTables(ctx, b, opts...)
			})
		}

		// Start starts an in-memory Bigtable with all tables, for examples and programs. The caller must close it.
		func Start(ctx context.Context, opts ...setup.Options) (*storetest.Bigtable, error) {
			b, err := storetest.Start(ctx)
			if err != nil {
				return nil, err
			}
			if err := createTables(ctx, b, opts...); err != nil {
				return nil, errors.Join(err, b.Close())
			}
			return b, nil
		}

		// createTables creates the tables of all schemas.
		func createTables(ctx context.Context, b *storetest.Bigtable, opts ...setup.Options) error {
			$1
			$2
			return nil
		}`, drafts, each(p.schemas, func(_ int, n **names.Schema) jen.Code {
		return s.code("if _, err := $1(ctx, b.Admin, b.Client, opts...); err != nil {\nreturn err\n}", jen.Qual(paths.pkg(p.name), (*n).Setup))
	})))
	return s.render()
}
