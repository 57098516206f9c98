package emit

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/runtime"
)

// packageFiles renders the files that the schemas of a package share.
func packageFiles(p *goPackage, paths paths) ([]output.File, error) {
	doc, err := packageFile(p, paths)
	if err != nil {
		return nil, err
	}
	test, err := testFile(p, paths)
	if err != nil {
		return nil, err
	}
	return []output.File{
		{Path: path.Join(p.name, output.PackageFile), Content: doc},
		{Path: path.Join(p.name, p.name+"test", p.name+"test.go"), Content: test},
	}, nil
}

// packageFile renders the file that documents the package. Users name the types and the
// errors of the runtime by their own import paths.
func packageFile(p *goPackage, paths paths) ([]byte, error) {
	origin := joined(p.origin)
	origin.Locked = p.locked
	slices.Sort(origin.Locked)
	s := newSource(paths.pkg(p.name), p.name, origin, paths)
	s.PackageComment(fmt.Sprintf("// Package %s writes and reads time series in Bigtable:\n//", p.name))
	for line := range strings.Lines(p.picture()) {
		s.PackageComment(gocode.Comment("\t" + strings.TrimSpace(line)))
	}
	s.PackageComment("//\n// Options and most errors are in the first of these packages, those of setup in the second, and\n// the reasons why a value is refused in the third:")
	s.PackageComment(fmt.Sprintf("//\n//\t%s\n//\t%s\n//\t%s", paths.store, paths.setup, paths.codec))
	s.PackageComment("//\n// Functions that call generic ones are not inlined, since each package that calls them would compile\n// these again.")
	// const _ = store.IsAtLeastVersion1
	s.Add(gocode.Doc("This code requires a runtime that is at least as new. To update it, run: go get " + runtime.Module + "@latest")).Line().
		Const().Id("_").Op("=").Add(s.store("IsAtLeastVersion1")).Line()
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
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Name, t.ID, strings.Join(slices.Compact(rules), "; "), sample.ShowKey(t.Key.String()))
		}
	}
	_ = w.Flush() // to a builder
	return b.String()
}

// testFile renders the package with an in-memory Bigtable for tests.
func testFile(p *goPackage, paths paths) ([]byte, error) {
	name := p.name + "test"
	s := newSource(paths.test(p.name), name, joined(p.origin), paths)
	s.importPackage(p.name)
	s.PackageComment(fmt.Sprintf("// Package %s provides tests with an in-memory Bigtable that has the tables of package %s.", name, p.name))
	in := func(pkg, name string) *jen.Statement { return jen.Qual(pkg, name) }
	options := jen.Id("opts").Op("...").Add(in(paths.setup, "Options"))
	bigtableType := jen.Op("*").Add(in(paths.storetest, "Bigtable"))

	s.Add(gocode.Doc("New starts an in-memory Bigtable with all tables and stops it at the end of the test.")).Line().
		Func().Id("New").Params(jen.Id("t").Qual("testing", "TB"), options).Add(bigtableType).Block(
		jen.Id("t").Dot("Helper").Call(),
		jen.Return(in(paths.storetest, "New").Call(jen.Id("t"), jen.Func().Params(ctxParam(), jen.Id("b").Add(bigtableType)).Error().Block(
			jen.Return(jen.Id("createTables").Call(jen.Id("ctx"), jen.Id("b"), jen.Id("opts").Op("..."))),
		))),
	).Line()

	s.Add(gocode.Doc("Start starts an in-memory Bigtable with all tables, for examples and", "programs. The caller must close it.")).Line().
		Func().Id("Start").Params(ctxParam(), options).Params(bigtableType, jen.Error()).Block(
		jen.List(jen.Id("b"), jen.Err()).Op(":=").Add(in(paths.storetest, "Start")).Call(jen.Id("ctx")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
		jen.If(jen.Err().Op(":=").Id("createTables").Call(jen.Id("ctx"), jen.Id("b"), jen.Id("opts").Op("...")), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Nil(), jen.Qual("errors", "Join").Call(jen.Err(), jen.Id("b").Dot("Close").Call())),
		),
		jen.Return(jen.Id("b"), jen.Nil()),
	).Line()

	s.Add(gocode.Doc("createTables creates the tables of all schemas.")).Line().
		Func().Id("createTables").Params(ctxParam(), jen.Id("b").Add(bigtableType), options).Error().BlockFunc(func(g *jen.Group) {
		if p.drafts {
			g.Id("opts").Op("=").Append(jen.Index().Add(in(paths.setup, "Options")).Values(jen.Values()), jen.Id("opts").Op("..."))
			g.Id("opts").Index(jen.Len(jen.Id("opts")).Op("-").Lit(1)).Dot("AllowDrafts").Op("=").True()
		}
		for _, schema := range p.schemas {
			g.If(
				jen.List(jen.Id("_"), jen.Err()).Op(":=").Add(in(paths.pkg(p.name), schema.Setup)).Call(jen.Id("ctx"), jen.Id("b").Dot("Admin"), jen.Id("b").Dot("Client"), jen.Id("opts").Op("...")),
				jen.Err().Op("!=").Nil(),
			).Block(jen.Return(jen.Err()))
		}
		g.Return(jen.Nil())
	})
	return s.render()
}
