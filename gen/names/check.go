package names

import (
	"golang.org/x/mod/module"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// Check refuses schemas of which names would collide, within one package, one struct or one
// message, and files that not all systems can have.
func Check(layouts []*layout.Layout) diag.List {
	var found diag.List
	packages := map[string]*scope{}
	files := map[string]diag.Pos{}
	for _, l := range layouts {
		pkg := packages[l.Package]
		if pkg == nil {
			pkg = newPackage()
			packages[l.Package] = pkg
		}
		file := l.Package + "/" + words.Snake(l.Name)
		if first, taken := files[file]; taken {
			found.Errorf(l.NamePos, "package %q has a schema of this name already, at %s", l.Package, first).Hint = "give it another name"
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

// checkFile refuses a .proto file of which the name is not one on all systems: no module may
// contain it.
func checkFile(l *layout.Layout, n *Schema, found *diag.List) {
	if !l.Stores(layout.Protobuf) {
		return
	}
	if err := module.CheckFilePath(n.Proto); err != nil {
		found.Errorf(l.NamePos, "its .proto file would be %s, which Windows does not have, and no Go module can contain", n.Proto).Hint = "give the schema another name"
	}
}
