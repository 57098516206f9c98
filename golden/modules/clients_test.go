package modules_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// client is the path of the Bigtable client's module.
const client = "cloud.google.com/go/bigtable"

// oldest is the go.mod of a module with the oldest client. If that is also the newest, it has the versions
// of the root module, so that nothing of the client is compiled again.
const oldest = "testdata/oldest/go.mod.txt"

// versionsIn returns the versions that a go.mod file requires, by module.
func versionsIn(t *testing.T, path string) map[string]string {
	t.Helper()
	mod := modFile(t, path)
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Mod.Path] = strings.TrimPrefix(r.Mod.Version, "v")
	}
	return versions
}

// modFile reads a go.mod file.
func modFile(t *testing.T, path string) *modfile.File {
	t.Helper()
	text, err := os.ReadFile(path)
	assert.Must(t, err)
	mod, err := modfile.Parse(path, text, nil)
	assert.Must(t, err)
	return mod
}

// The modules of the repository require the same versions of what they share. Otherwise, the
// client and all that it needs would be compiled once for each of them.
func TestModulesShareVersions(t *testing.T) {
	root := versionsIn(t, "../../go.mod")
	paths := []string{"../../runtime/beamstore/go.mod", "../neighbors/go.mod", "../crossvet/go.mod"}
	if versionsIn(t, oldest)[client] == root[client] {
		paths = append(paths, oldest)
	}
	for _, path := range paths {
		for name, version := range versionsIn(t, path) {
			if want, shared := root[name]; shared && version != want {
				t.Errorf("%s requires %s %s, and the root module %s", path, name, version, want)
			}
		}
	}
}

// TestClientRange checks that the manual states the oldest version of the client, which
// TestOldestClient uses, and the newest that was tested, which all other tests use.
func TestClientRange(t *testing.T) {
	const page = "../../docs/reference/clients.md"
	text, err := os.ReadFile(page)
	assert.Must(t, err)
	oldest, newest := versionsIn(t, oldest)[client], versionsIn(t, "../../go.mod")[client]
	for _, want := range []string{"version " + oldest + " or later", "tested with " + newest} {
		assert.Contains(t, want, strings.Join(strings.Fields(string(text)), " "), page)
	}
	// The file fails to compile with earlier clients, and its name says why.
	major, minor, _ := strings.Cut(strings.TrimPrefix(oldest, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	_, err = os.Stat("../../runtime/store/needs_client_v" + major + "_" + minor + ".go")
	assert.Is(t, nil, err)
}

// oldSchemas are example schemas with every pattern, encoding and strategy; those of the
// others would take a minute to compile and use no more of the client.
var oldSchemas = []string{"all_types", "usage_classes", "balloon_combined"}

// TestOldestClient generates the code of example schemas in a module with the oldest
// client, and runs its generated tests. A program outside of the generated code names types and errors of its signatures: the copy
// of the runtime must be importable from there.
func TestOldestClient(t *testing.T) {
	testlong.Skip(t, "compiles a copy of the runtime")
	s := newShell(t, goFlags("-mod=readonly"), "GOWORK=off")
	for _, name := range []string{"go.mod", "go.sum"} {
		s.do("cp " + s.root + "/golden/modules/testdata/oldest/" + name + ".txt " + name)
	}
	s.write("btgen.yaml", "btgen: v1\nruntime: vendored\n") // the runtime's module requires a newer client
	s.do("mkdir schemas; cp " + s.root + "/schemas/{" + strings.Join(oldSchemas, ",") + "}.yaml schemas")
	s.in(s.root).do("go build -o " + s.dir + "/btgen.exe ./cmd/btgen")
	s.do("./btgen.exe generate schemas")
	module := s.do("go list -m")
	s.write("cmd/app/main.go", `package main

import (
	"errors"
	"fmt"

	"`+module+`/generated/runtime/codec"
	"`+module+`/generated/runtime/store"
	"`+module+`/generated/weather"
)

func main() {
	var client store.Client
	open := func() *weather.BalloonCombinedReader {
		return weather.NewBalloonCombinedReader(client, store.ReaderOptions{TablePrefix: "staging_"})
	}
	fmt.Println(open, errors.Is(codec.ErrExpired, store.ErrNotFound))
}
`)
	s.do("go build ./...")
	out := s.do("go test -vet=off ./...")
	if want := strings.Fields(s.do("ls generated/*/btgen.go")); strings.Count(out+"\n", "ok  \t") != len(want) {
		t.Errorf("tests ran of other packages than %v\n%s", want, out)
	}
}
