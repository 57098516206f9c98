package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// module compiles on Linux with 64 bits, and has findings elsewhere.
const module = `
-- go.mod --
module example.com/app

go 1.26
-- large.go --
package app

const Large = 1 << 40
-- app_windows.go --
package app

var Handle uintptr = missing
-- print/print_darwin.go --
package print

import (
	"fmt"

	"example.com/app"
)

func init() { fmt.Printf("%d", "text", app.Large) }
-- size/size_test.go --
package size

import "example.com/app"

var size = app.Large
`

// TestMain is the command itself where the test starts it.
func TestMain(m *testing.M) {
	if os.Getenv("BTGEN_CROSSVET") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The command finds what does not compile and what vet finds for a system, also in tests
// and with the word size of the system.
func TestFindings(t *testing.T) {
	dir := t.TempDir()
	files, err := txtar.FS(txtar.Parse([]byte(module)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	const undefined, format, overflow = "undefined: missing", `%d has arg "text" of wrong type string`, "cannot use app.Large"
	for system, want := range map[string][]string{
		"linux/amd64":  nil,
		"darwin/arm64": {format},
		"windows/386":  {undefined, overflow},
	} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], system)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "BTGEN_CROSSVET=1", "GOFLAGS=", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			if (err == nil) != (want == nil) {
				t.Errorf("%v\n%s", err, out)
			}
			for _, finding := range []string{undefined, format, overflow} {
				if strings.Contains(string(out), finding) != slices.Contains(want, finding) {
					t.Errorf("%q: want %v\n%s", finding, slices.Contains(want, finding), out)
				}
			}
		})
	}
}
