// Package modules_test uses btgen as its users do, from modules of their own: by the words
// of the README, and with the oldest client.
package modules_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/modfile"

	// So that what a module of one's own needs is compiled before the tests begin, and
	// not at once by them and by the go command that runs them.
	_ "github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// block is one fenced block of the README.
type block struct {
	language string
	mark     string // of the HTML comment in the line above, such as "file: main.go"
	text     string
	line     int
}

// blocks returns the fenced blocks of a Markdown text.
func blocks(text string) []block {
	var out []block
	var open *block
	previous := ""
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{language: fence, line: i + 1}
			if mark, ok := strings.CutPrefix(previous, "<!-- "); ok {
				open.mark = strings.TrimSuffix(mark, " -->")
			}
		case isFence:
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
		previous = line
	}
	return out
}

// TestReadme does what the README's tour does, in its order: files are written,
// commands run and their output compared, and what is shown of files must stand
// in them, those of the tour or those of this repository. Only the two lines that install btgen are replaced: by this checkout.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := testlong.Scratch(t)
	newModule(t, root, dir, "example.com/balloons")
	for _, b := range blocks(string(readme)) {
		action, arg, _ := strings.Cut(b.mark, ": ")
		switch {
		case action == "file":
			if err := os.WriteFile(filepath.Join(dir, arg), []byte(b.text), 0o666); err != nil {
				t.Fatal(err)
			}
		case action == "shows":
			content, err := os.ReadFile(filepath.Join(dir, arg))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(content, []byte(b.text)) {
				t.Errorf("README.md:%d: not in %s:\n%s", b.line, arg, content)
			}
		case action == "excerpt":
			excerpt(t, filepath.Join(root, arg), b)
		case action == "module": // see TestReadmeModules
		case b.language == "console":
			session(t, dir, b)
		}
	}
}

// TestReadmeModules does what the README shows of modules, each in a folder of its own
// beside a clone of btgen: word for word, but for the line that installs the latest
// published version.
func TestReadmeModules(t *testing.T) {
	testlong.Skip(t, "compiles another version of the client")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := testlong.Scratch(t)
	if err := os.Symlink(root, filepath.Join(dir, "btgen")); err != nil {
		t.Skip(err) // Windows may not let us
	}
	const self = "github.com/btgen-dev/btgen"
	latest := strings.NewReplacer("go get -tool "+self+"/cmd/btgen@latest",
		"go mod edit -require "+self+"@v0.0.0 -replace "+self+"='"+root+"' -tool "+self+"/cmd/btgen && go mod tidy")
	ran := 0
	for _, b := range blocks(string(readme)) {
		action, name, _ := strings.Cut(b.mark, ": ")
		if action != "module" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			module := filepath.Join(dir, name)
			if err := os.Mkdir(module, 0o777); err != nil {
				t.Fatal(err)
			}
			for _, c := range commands(b) {
				c.line = latest.Replace(c.line)
				c.run(t, module, b, "GOFLAGS=", "GOWORK=off")
			}
		})
		ran++
	}
	if ran != 2 {
		t.Errorf("%d modules", ran)
	}
}

// excerpt checks that the parts of a block, between lines with an ellipsis, stand in a
// file of this repository in their order.
func excerpt(t *testing.T, path string, b block) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rest := string(content)
	for _, part := range strings.Split(b.text, "…\n") {
		_, after, found := strings.Cut(rest, "\n"+part)
		if !found {
			t.Errorf("README.md:%d: not in %s:\n%s", b.line, path, part)
		}
		rest = "\n" + after
	}
}

// command is a line of a block, with what it prints.
type command struct{ line, want string }

// commands returns the commands of a block.
func commands(b block) []command {
	var out []command
	for _, step := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		line, want, _ := strings.Cut(step, "\n")
		out = append(out, command{line, want})
	}
	return out
}

// run runs a command and compares what it prints.
func (c command) run(t *testing.T, dir string, b block, env ...string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", c.line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.CombinedOutput() // what matters of an exit code is on the screen
	got := chatter.ReplaceAllString(string(out), "")
	if diff := cmp.Diff(strings.TrimSpace(untimed(c.want)), strings.TrimSpace(untimed(got))); diff != "" {
		t.Errorf("README.md:%d: %s: (-README +output)\n%s", b.line, c.line, diff)
	}
}

// session runs the commands of a block of the tour, but for those that install btgen.
func session(t *testing.T, dir string, b block) {
	t.Helper()
	for _, c := range commands(b) {
		if !strings.HasPrefix(c.line, "go mod init") && !strings.HasPrefix(c.line, "go get -tool") {
			c.run(t, dir, b, moduleEnv()...)
		}
	}
}

// chatter is what Go says of the modules that it downloads and adds.
var chatter = regexp.MustCompile(`(?m)^go: (downloading|creating new go.mod|added|upgraded|finding|found|to add module requirements|warning: "all" matched no packages).*\n|^\tgo mod tidy\n`)

// untimed leaves out how long tests took, and how many files there are with a vendored
// runtime, which changes with every file of that.
func untimed(text string) string {
	return created.ReplaceAllString(times.ReplaceAllString(text, "\t0s"), "N of N files created")
}

// created is the count of files that were created.
var created = regexp.MustCompile(`[0-9]{2,} of [0-9]{2,} files created`)

// times is how long the tests of a package took, at the end of a line.
var times = regexp.MustCompile(`(?m)\t([0-9.]+s|\(cached\))$`)

// moduleEnv is the environment for Go commands in a module made by newModule.
func moduleEnv() []string { return []string{"GOFLAGS=-mod=mod", "GOWORK=off"} }

// newModule makes a module in dir that has this checkout of btgen as a tool, and
// the same versions of everything else.
func newModule(t *testing.T, root, dir, path string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	const self = "github.com/btgen-dev/btgen"
	for _, tool := range mod.Tool {
		if err := mod.DropTool(tool.Path); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		mod.AddModuleStmt(path), mod.AddRequire(self, "v0.0.0"), mod.AddReplace(self, "", root, ""), mod.AddTool(self + "/cmd/btgen"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	mod.Cleanup()
	formatted, err := mod.Format()
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"go.mod": formatted, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGoTool uses btgen from a module of its own: a tool line in go.mod, a line
// for go generate, and a program that runs on the generated code.
func TestGoTool(t *testing.T) {
	testlong.Skip(t, "builds another module of its own, besides that of TestReadme")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(testlong.Scratch(t))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/gotool",
		WorkdirRoot: dir,
		Setup: func(env *testscript.Env) error {
			newModule(t, root, env.WorkDir, "example.com/app")
			for _, v := range append(os.Environ(), moduleEnv()...) {
				name, value, _ := strings.Cut(v, "=")
				switch name {
				case "PATH", "HOME", "WORK", "TMPDIR": // as testscript has them
				default:
					env.Setenv(name, value)
				}
			}
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOROOT"} {
				value, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				env.Setenv(name, strings.TrimSpace(string(value)))
			}
			return nil
		},
	})
}
