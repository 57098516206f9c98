package emit

import (
	"fmt"
	"path"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/runtime"
)

// supportDecl is a name that every generated package takes over from the
// runtime, so that users can name it.
type supportDecl struct {
	kind string // "type", "const" or "var"
	name string
	from string // "store" or "codec"
	doc  string
}

// supportDecls is what a user of generated code must be able to name.
var supportDecls = []supportDecl{
	{"type", "Client", "store", "Client opens tables; a *bigtable.Client is one."},
	{"type", "Admin", "store", "Admin creates tables; a *bigtable.AdminClient is one."},
	{"type", "Options", "store", "Options say how writers, readers and the set-up work."},
	{"type", "Field", "store", "Field is a field of an event, for ReadOptions."},
	{"type", "ReadOptions", "store", "ReadOptions say how events are read."},
	{"type", "WriteOptions", "store", "WriteOptions say how events are written."},
	{"type", "Hooks", "store", "Hooks trace every operation."},
	{"type", "Operation", "store", "Operation is what hooks are told of."},
	{"type", "Plan", "store", "Plan is what the set-up did or would do."},
	{"type", "Stray", "store", "Stray is a live table, or a part of one, that the schemas do not know."},
	{"type", "ChangeKind", "store", "ChangeKind says what a Change changes."},
	{"type", "Change", "store", "Change is one thing that the set-up did or would do."},
	{"type", "WriteError", "store", "WriteError names each event that was not written, and why."},
	{"type", "Failure", "store", "Failure is one event of a WriteError."},
	{"type", "Outcome", "store", "Outcome is what is known of a Failure."},
	{"type", "DuplicateError", "store", "DuplicateError names two events that differ and would be stored in the same place."},
	{"type", "BatcherOptions", "store", "BatcherOptions say when a batcher sends what it has gathered."},
	{"type", "BatchError", "store", "BatchError says what a batcher has not written."},
	{"type", "DecodeError", "store", "DecodeError says which stored cell does not decode."},
	{"type", "RefusedError", "store", "RefusedError lists the changes that the set-up refuses unless they are allowed."},
	{"type", "VerifyError", "store", "VerifyError says that tables are not as the set-up left them."},
	{"type", "InstanceError", "store", "InstanceError says that the instance of the tables does not exist."},
	{"type", "TableError", "store", "TableError says why a table cannot be made."},
	{"type", "MissingTableError", "store", "MissingTableError says that Bigtable does not find a table or its column families."},
	{"type", "RangeError", "store", "RangeError says that the range of time of a read ends before it begins, or has no end."},
	{"type", "FieldError", "codec", "FieldError says which part of an event was refused, and why."},
	{"type", "UUID", "codec", "UUID is a universally unique identifier."},
	{"const", "Refused", "store", "Refused events were not sent."},
	{"const", "Failed", "store", "Failed events were refused by the server."},
	{"const", "Unknown", "store", "Unknown events may be stored or not; writing them again is safe."},
	{"const", "Exists", "store", "Exists says that an event is stored already: WriteOptions.IfAbsent."},
	{"var", "ErrDuplicate", "store", "ErrDuplicate: another event of the call has the same series and time, and other values."},
	{"var", "ErrExists", "store", "ErrExists: the event is stored already."},
	{"var", "ErrSeveralRows", "store", "ErrSeveralRows: an event of several rows cannot be written if it is absent."},
	{"var", "ErrNotFound", "store", "ErrNotFound: the series has no event that is alive."},
	{"var", "ErrOrder", "store", "ErrOrder: a query cannot yield its events in the order of time."},
	{"var", "ErrNoField", "store", "ErrNoField: ReadOptions.Fields names a field that the table does not have."},
	{"var", "ErrClosed", "store", "ErrClosed: the batcher is closed."},
	{"var", "ErrEmpty", "codec", "ErrEmpty: a segment of the row key is empty."},
	{"var", "ErrDelimiter", "codec", "ErrDelimiter: a segment of the row key contains the delimiter."},
	{"var", "ErrRange", "codec", "ErrRange: a value does not fit the form of its segment of the row key, or a range of time ends before it begins."},
	{"var", "ErrKeySchema", "codec", "ErrKeySchema: a value does not fit the row key schema of the table."},
	{"var", "ErrKeyTooLong", "codec", "ErrKeyTooLong: the row key is over 4 KiB."},
	{"var", "ErrKey", "codec", "ErrKey: a row key is not of the table's form."},
	{"var", "ErrValue", "codec", "ErrValue: a stored value does not decode."},
	{"var", "ErrMissing", "codec", "ErrMissing: a stored event lacks a field."},
	{"var", "ErrNaN", "codec", "ErrNaN: a number that the table has no form for."},
	{"var", "ErrTimeRange", "codec", "ErrTimeRange: a time that the table cannot hold."},
	{"var", "ErrUTF8", "codec", "ErrUTF8: a string that is not UTF-8."},
	{"var", "ErrEnum", "codec", "ErrEnum: not a value of the enum."},
	{"var", "ErrJSON", "codec", "ErrJSON: not valid JSON."},
	{"var", "ErrTooLarge", "codec", "ErrTooLarge: a cell over Bigtable's limits."},
	{"var", "ErrExpired", "codec", "ErrExpired: the event is past its time to live."},
	{"var", "ErrNoExpiry", "codec", "ErrNoExpiry: the event does not say when it expires."},
	{"var", "ErrClass", "codec", "ErrClass: the event has no TTL class, or an unknown one."},
	{"var", "ErrNoValue", "codec", "ErrNoValue: the event carries nothing."},
}

// packageFiles renders what the schemas of one package share.
func packageFiles(p *goPackage, paths paths) ([]output.File, error) {
	names, err := aliasFile(p, paths)
	if err != nil {
		return nil, err
	}
	test, err := testFile(p, paths)
	if err != nil {
		return nil, err
	}
	return []output.File{
		{Path: path.Join(p.name, output.PackageFile), Content: names},
		{Path: path.Join(p.name, p.name+"test", p.name+"test.go"), Content: test},
	}, nil
}

// aliasFile renders the names that the package takes over.
func aliasFile(p *goPackage, paths paths) ([]byte, error) {
	s := newSource(paths.pkg(p.name), p.name, joined(p.origin), paths)
	s.PackageComment(fmt.Sprintf("// Package %s writes and reads the time series %s in Bigtable.", p.name, list(p.schemas)))
	// const _ = store.IsAtLeastVersion1
	s.Add(doc("The runtime must be at least as new as this code; if it is not, run: go get " + runtime.Module + "@latest")).Line().
		Const().Id("_").Op("=").Add(s.store("IsAtLeastVersion1")).Line()
	for _, block := range []struct{ kind, doc string }{
		{"type", "Types that writers, readers and the set-up take or return."},
		{"const", "What is known of an event that was not written."},
		{"var", "Reasons, for errors.Is."},
	} {
		s.Add(doc(block.doc)).Line().Id(block.kind).CustomFunc(jen.Options{Open: "(", Close: ")", Separator: "\n", Multi: true}, func(g *jen.Group) {
			for _, d := range supportDecls {
				if d.kind == block.kind {
					from := map[string]func(string) *jen.Statement{"store": s.store, "codec": s.codec}[d.from]
					g.Add(doc(d.doc)).Line().Id(d.name).Op("=").Add(from(d.name))
				}
			}
		})
		s.Line()
	}
	// func ClientOptions() []option.ClientOption { return store.ClientOptions() }
	s.Add(doc(
		clientOptions+" returns options for bigtable.NewClient that make reads and writes cheaper: cells are decoded straight from the wire and encoded straight to it, inside the client.",
		"What is read and written is the same. They have no effect on a client that is given a connection, as it is by BIGTABLE_EMULATOR_HOST, nor on readers and writers of another Client than a *bigtable.Client.",
	)).Line().
		Func().Id(clientOptions).Params().Index().Qual(optionPath, "ClientOption").Block(jen.Return(s.store(clientOptions).Call()))
	return s.render()
}

// clientOptions is the function of every generated package that is none of a schema.
const clientOptions = "ClientOptions"

// testFile renders the package that gives tests an in-memory Bigtable.
func testFile(p *goPackage, paths paths) ([]byte, error) {
	name := p.name + "test"
	s := newSource(paths.test(p.name), name, joined(p.origin), paths)
	s.importPackage(p.name, "admin", "b", "ctx", "opts", "setup", "t")
	s.PackageComment(fmt.Sprintf("// Package %s gives tests an in-memory Bigtable with the tables of package %s.", name, p.name))
	in := func(pkg, name string) *jen.Statement { return jen.Qual(pkg, name) }
	options := jen.Id("opts").Op("...").Add(in(paths.pkg(p.name), "Options"))
	bigtableType := jen.Op("*").Id("Bigtable")

	s.Add(doc("Bigtable is a running in-memory Bigtable with its clients.")).Line().
		Type().Id("Bigtable").Op("=").Add(in(paths.storetest, "Bigtable")).Line()

	s.Add(doc("New starts an in-memory Bigtable with the tables made. It ends with the test.")).Line().
		Func().Id("New").Params(jen.Id("t").Qual("testing", "TB"), options).Add(bigtableType).Block(
		jen.Id("t").Dot("Helper").Call(),
		jen.Return(in(paths.storetest, "New").Call(jen.Id("t"), jen.Func().Params(ctxParam(), jen.Id("admin").Op("*").Qual(bigtablePath, "AdminClient")).Error().Block(
			jen.Return(jen.Id("setup").Call(jen.Id("ctx"), jen.Id("admin"), jen.Id("opts").Op("..."))),
		))),
	).Line()

	s.Add(doc("Start starts an in-memory Bigtable with the tables made, for examples and", "programs. The caller closes it.")).Line().
		Func().Id("Start").Params(ctxParam(), options).Params(bigtableType, jen.Error()).Block(
		jen.List(jen.Id("b"), jen.Err()).Op(":=").Add(in(paths.storetest, "Start")).Call(jen.Id("ctx")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
		jen.If(jen.Err().Op(":=").Id("setup").Call(jen.Id("ctx"), jen.Id("b").Dot("Admin"), jen.Id("opts").Op("...")), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Nil(), jen.Qual("errors", "Join").Call(jen.Err(), jen.Id("b").Dot("Close").Call())),
		),
		jen.Return(jen.Id("b"), jen.Nil()),
	).Line()

	s.Add(doc("setup makes the tables of all schemas.")).Line().
		Func().Id("setup").Params(ctxParam(), jen.Id("admin").Op("*").Qual(bigtablePath, "AdminClient"), options).Error().BlockFunc(func(g *jen.Group) {
		for _, schema := range p.schemas {
			g.If(
				jen.List(jen.Id("_"), jen.Err()).Op(":=").Add(in(paths.pkg(p.name), names{schema}.setup())).Call(jen.Id("ctx"), jen.Id("admin"), jen.Id("opts").Op("...")),
				jen.Err().Op("!=").Nil(),
			).Block(jen.Return(jen.Err()))
		}
		g.Return(jen.Nil())
	})
	return s.render()
}

// list joins names as a sentence does.
func list(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
