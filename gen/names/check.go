package names

import (
	"golang.org/x/mod/module"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// Check reports names that collide within a package, a struct or a message, and file
// names that some systems do not support.
func Check(layouts []*layout.Layout) diag.List {
	var found diag.List
	packages := map[string]*scope{}
	files := map[string]diag.Pos{}
	for _, l := range layouts {
		pkg := packages[l.Package]
		if pkg == nil {
			pkg = newScope()
			packages[l.Package] = pkg
		}
		file := l.Package + "/" + words.Snake(l.Name)
		if first, taken := files[file]; taken {
			found.Errorf(l.NamePos, "package %q already has a schema with this name, at %s", l.Package, first).Hint = "give it another name"
			continue
		}
		files[file] = l.NamePos
		n, collisions := register(l, pkg)
		checkFile(l, n, &found)
		for _, d := range collisions {
			found = append(found, d)
		}
	}
	found.Sort()
	return found
}

// checkFile rejects a .proto file with a name that Windows reserves, which no module
// may contain.
func checkFile(l *layout.Layout, n *Schema, found *diag.List) {
	if !l.Stores(layout.Protobuf) {
		return
	}
	if err := module.CheckFilePath(n.Proto); err != nil {
		found.Errorf(l.NamePos, "its .proto file would be %s, a name that Windows reserves and that no Go module may contain", n.Proto).Hint = "give the schema another name"
	}
}
