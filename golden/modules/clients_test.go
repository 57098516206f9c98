package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

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
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse(path, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Mod.Path] = strings.TrimPrefix(r.Mod.Version, "v")
	}
	return versions
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
	if err != nil {
		t.Fatal(err)
	}
	oldest, newest := versionsIn(t, oldest)[client], versionsIn(t, "../../go.mod")[client]
	for _, want := range []string{"version " + oldest + " or later", "tested with " + newest} {
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
	// The file fails to compile with earlier clients, and its name says why.
	major, minor, _ := strings.Cut(strings.TrimPrefix(oldest, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	if _, err := os.Stat("../../runtime/store/needs_client_v" + major + "_" + minor + ".go"); err != nil {
		t.Error(err)
	}
}

// oldSchemas are example schemas with every pattern, encoding and strategy; those of the
// others would take a minute to compile and use no more of the client.
var oldSchemas = []string{"all_types", "usage_classes", "balloon_combined"}

// TestOldestClient generates the code of example schemas in a module with the oldest
// client, and runs its generated tests.
func TestOldestClient(t *testing.T) {
	testlong.Skip(t, "compiles a copy of the runtime")
	dir, err := filepath.Abs(testlong.Scratch(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("testdata/oldest", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	config := []byte("btgen: v1\nruntime: vendored\n") // the runtime's module requires a newer client
	if err := os.WriteFile(filepath.Join(dir, "btgen.yaml"), config, 0o666); err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(dir, "btgen.exe")
	goCommand(t, "../..", "build", "-o", command, "./cmd/btgen")
	if err := os.Mkdir(filepath.Join(dir, "schemas"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range oldSchemas {
		text, err := os.ReadFile(filepath.Join("../../schemas", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "schemas", name+".yaml"), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	generate := exec.Command(command, "generate", "schemas")
	generate.Dir = dir
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	saveCommand(t, dir)
	goCommand(t, dir, "build", "./...")
	out := goCommand(t, dir, "test", "-vet=off", "./...")
	if tested, want := strings.Count(out, "ok  \t"), packagesOf(t, filepath.Join(dir, "generated")); tested != want {
		t.Errorf("%d packages tested, want %d\n%s", tested, want, out)
	}
}

// saveCommand writes a program outside of the generated code that names types and errors
// of its signatures: the copy of the runtime must be importable from there.
func saveCommand(t *testing.T, dir string) {
	t.Helper()
	module := strings.TrimSpace(goCommand(t, dir, "list", "-m"))
	if err := os.MkdirAll(filepath.Join(dir, "cmd", "app"), 0o777); err != nil {
		t.Fatal(err)
	}
	program := `package main

import (
	"errors"
	"fmt"

	"` + module + `/generated/runtime/codec"
	"` + module + `/generated/runtime/store"
	"` + module + `/generated/weather"
)

func main() {
	var client store.Client
	open := func() *weather.BalloonCombinedReader {
		return weather.NewBalloonCombinedReader(client, store.ReaderOptions{TablePrefix: "staging_"})
	}
	fmt.Println(open, errors.Is(codec.ErrExpired, store.ErrNotFound))
}
`
	if err := os.WriteFile(filepath.Join(dir, "cmd", "app", "main.go"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
}

// packagesOf counts the packages of schemas in a folder of generated code.
func packagesOf(t *testing.T, dir string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "btgen.go"))
	if err != nil || len(found) == 0 {
		t.Fatal("no code", err)
	}
	return len(found)
}

// goCommand runs the go command in a module and returns what it prints.
func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), goFlags("-mod=readonly"), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
