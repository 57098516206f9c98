package schema

import (
	"slices"
	"testing"

	"golang.org/x/mod/module"
)

// The go command accepts every package name that the language accepts as part of an
// import path: all short ones, and those that it treats specially.
func TestPackageNamesAreImportPaths(t *testing.T) {
	const first, more = "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz0123456789_"
	var names []string
	for _, a := range first {
		names = append(names, string(a))
		for _, b := range more {
			for _, c := range more {
				names = append(names, string(a)+string(b)+string(c))
			}
		}
	}
	for _, stem := range []string{"com", "lpt", "conin", "conout", "clock"} {
		for _, c := range more {
			names = append(names, stem+string(c))
		}
	}
	for _, name := range slices.Concat(names, windowsNames) {
		w := &walker{file: "x.yaml"}
		_, ok := packageForm.read(w, &node{kind: scalar, text: name})
		for _, path := range []string{name, name + "/" + name + "test"} {
			if err := module.CheckImportPath("example.com/" + path); ok && err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if err := module.CheckImportPath(name); slices.Contains(windowsNames, name) && (ok || err == nil) {
			t.Errorf("%s: taken: %v; the go command: %v", name, ok, err)
		}
	}
}
