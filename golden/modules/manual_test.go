// Package modules_test uses btgen like its users, in separate modules: it follows the
// manual and uses the oldest supported client.
//
//	go test ./golden/modules -update
//
// rewrites the output of commands and the parts of files in the manual.
package modules_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

var update = flag.Bool("update", false, "rewrite the output of the commands in the manual")

// page is a Markdown file of the manual.
type page struct{ root, name, text string }

// manual returns the README and the other pages, in the order in which its list of the
// documentation names them, and then the pages of the reference.
func manual(t *testing.T, root string) []*page {
	t.Helper()
	var out []*page
	add := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		assert.Must(t, err)
		if !slices.ContainsFunc(out, func(p *page) bool { return p.name == name }) {
			out = append(out, &page{root, name, string(text)})
		}
		return string(text)
	}
	_, list, _ := strings.Cut(add("README.md"), "\n## Documentation\n")
	for _, m := range regexp.MustCompile(`\]\((docs/[a-z-]+\.md)`).FindAllStringSubmatch(list, -1) {
		add(m[1])
	}
	const reference = "docs/reference/"
	for _, m := range regexp.MustCompile(`\]\(([a-z-]+\.md)`).FindAllStringSubmatch(add(reference+"README.md"), -1) {
		add(reference + m[1])
	}
	if len(out) < 20 {
		t.Fatalf("the manual has only %d pages", len(out))
	}
	return out
}

// block is a fenced block of a page.
type block struct {
	page     *page
	language string
	mark     string // the HTML comment on the line above, such as "file: main.go"
	text     string
	line     int
}

// errorf reports an error in the block.
func (b block) errorf(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf("%s:%d: "+format, append([]any{b.page.name, b.line}, args...)...)
}

// blocks returns the fenced blocks of the page.
func (p *page) blocks() []block {
	var out []block
	var open *block
	previous := ""
	for i, line := range strings.Split(p.text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{page: p, language: fence, line: i + 1}
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

// save replaces the text of a block in its file.
func (b block) save(t *testing.T, text string) {
	t.Helper()
	p := b.page
	p.text = strings.Replace(p.text, "\n"+b.text+"```", "\n"+text+"```", 1)
	assert.Must(t, os.WriteFile(filepath.Join(p.root, p.name), []byte(p.text), 0o666))
}

// TestManual follows the tour in the README, then the other pages of the manual in the
// module of the tour: it writes the files, runs the commands and compares their output.
// Excerpts of files must be in these files, in the module or in this repository. It
// replaces only the commands that install btgen, so that the module uses this checkout.
func TestManual(t *testing.T) {
	if !*update {
		testlong.Skip(t, "every page is executed")
	}
	s := newShell(t, moduleEnv()...)
	newModule(t, s.root, s.dir, "example.com/balloons")
	for _, p := range manual(t, s.root) {
		emulator := sync.OnceValue(func() string { return startEmulator(t) }) // of the page
		for _, b := range p.blocks() {
			action, arg, _ := strings.Cut(b.mark, ": ")
			switch {
			case action == "file":
				s.write(arg, b.text)
			case action == "shows":
				b.checkExcerpt(t, s.dir, arg)
			case action == "excerpt":
				b.checkExcerpt(t, s.root, arg)
			case action == "module": // see TestManualModules
			case action == "emulator":
				env := "BIGTABLE_EMULATOR_HOST=" + emulator()
				if project, instance, ok := strings.Cut(arg, " "); ok { // as btgen-live emulator, it has the tables of the schemas
					if out, err := s.try("go tool btgen-live setup --project "+project+" --instance "+instance, env); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				b.session(s, env)
			case b.language == "console":
				b.session(s)
			}
		}
	}
}

// startEmulator starts an empty emulator for the blocks of the manual that are marked with it. It is another program, so that
// this one does not link the client.
func startEmulator(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./testdata/emulator")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	assert.Must(t, err)
	stdout, err := cmd.StdoutPipe()
	assert.Must(t, err)
	assert.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	assert.Must(t, err)
	return strings.TrimSpace(line)
}

// TestManualModules runs the blocks of the manual that are marked as modules, each in a
// separate folder. It replaces only the command that installs the latest published version, and names
// what is compiled already: this checkout in place of a clone, and versions of other modules.
func TestManualModules(t *testing.T) {
	testlong.Skip(t, "compiles a copy of the runtime")
	s := newShell(t, goFlags(""), "GOWORK=off")
	const self = "github.com/btgen-dev/btgen"
	get := "go get " + client + "@v" + versionsIn(t, oldest)[client]
	replaced := strings.NewReplacer(
		"go get -tool "+self+"/cmd/btgen@latest",
		"go mod edit -require "+self+"@v0.0.0 -replace "+self+"='"+s.root+"' -tool "+self+"/cmd/btgen && go mod tidy",
		"="+cloned, "='"+s.root+"'", get, "go mod edit"+compiled(t)+" && "+get)
	ran := 0
	for _, p := range manual(t, s.root) {
		for _, b := range p.blocks() {
			action, name, _ := strings.Cut(b.mark, ": ")
			if action != "module" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				module := s.in(filepath.Join(s.dir, name))
				module.t = t
				s.do("mkdir " + name)
				for _, c := range b.commands() {
					c.line = replaced.Replace(c.line)
					c.run(module, b)
				}
			})
			ran++
		}
	}
	if ran != 2 {
		t.Errorf("%d modules", ran)
	}
}

// cloned is the folder of a clone in the manual, whose packages would be compiled for that path.
const cloned = "../btgen"

// compiled returns arguments of go mod edit that require the versions in the module with the oldest client,
// which are compiled already.
func compiled(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	versions := versionsIn(t, oldest)
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(&out, " -require %s@v%s", name, versions[name])
	}
	return out.String()
}

// ellipsis is the line between the parts of an excerpt.
const ellipsis = "…\n"

// checkExcerpt checks that the parts of the block, separated by lines with an ellipsis,
// are in a file in this order. A selector after the name of the file selects the exact
// text: "a.txt 8-14 23-30" are lines, and "a.go Event" is a type with its comment.
func (b block) checkExcerpt(t *testing.T, root, from string) {
	t.Helper()
	fields := strings.Fields(from)
	content, err := os.ReadFile(filepath.Join(root, fields[0]))
	assert.Must(t, err)
	if len(fields) == 1 {
		b.checkParts(t, from, string(content))
		return
	}
	var parts []string
	for _, selector := range fields[1:] {
		part := selected(strings.SplitAfter(string(content), "\n"), selector)
		if part == "" {
			b.errorf(t, "no %s in %s", selector, fields[0])
			return
		}
		parts = append(parts, part)
	}
	want := strings.Join(parts, ellipsis)
	diff := cmp.Diff(want, b.text)
	switch {
	case diff != "" && *update:
		b.save(t, want)
	case diff != "":
		b.errorf(t, "the file has something else (-file +manual)\n%s", diff)
	}
}

// checkParts checks that a text contains the parts of the block in this order.
func (b block) checkParts(t *testing.T, from, text string) {
	t.Helper()
	rest := "\n" + text
	for _, part := range strings.Split(b.text, ellipsis) {
		_, after, found := strings.Cut(rest, "\n"+part)
		if !found {
			b.errorf(t, "not in %s:\n%s", from, part)
		}
		rest = "\n" + after
	}
}

// selected returns the lines of a range such as "8-14", or the declaration of a Go type with
// its comment; nothing if they do not exist.
func selected(lines []string, selector string) string {
	var first, last int
	if _, err := fmt.Sscanf(selector, "%d-%d", &first, &last); err == nil {
		if first < 1 || first > last || last > len(lines) {
			return ""
		}
		return strings.Join(lines[first-1:last], "")
	}
	begin := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "type "+selector+" struct {") })
	if begin < 0 {
		return ""
	}
	end := begin + slices.Index(lines[begin:], "}\n") + 1
	for begin > 0 && strings.HasPrefix(lines[begin-1], "//") {
		begin--
	}
	return strings.Join(lines[begin:end], "")
}

// command is a command in a block, and its expected output.
type command struct{ line, want string }

// commands returns the commands of the block.
func (b block) commands() []command {
	var out []command
	for _, step := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		line, want, _ := strings.Cut(step, "\n")
		out = append(out, command{line, want})
	}
	return out
}

// run runs the command and compares its output. It returns the output, or the expected
// output if they differ only in volatile parts.
func (c command) run(s *shell, b block, env ...string) string {
	s.t.Helper()
	out, _ := s.try(c.line, env...) // the output shows whether it failed
	got := chatter.ReplaceAllString(out, "")
	diff := cmp.Diff(strings.TrimSpace(untimed(c.want)), strings.TrimSpace(untimed(got)))
	if diff == "" {
		return c.want
	}
	if !*update {
		b.errorf(s.t, "%s: (-manual +output)\n%s", c.line, diff)
	}
	return got
}

// session runs the commands of the block except those that install btgen.
func (b block) session(s *shell, env ...string) {
	s.t.Helper()
	updated := ""
	for _, c := range b.commands() {
		updated += "$ " + c.line + "\n"
		if strings.HasPrefix(c.line, "go mod init") || strings.HasPrefix(c.line, "go get -tool") {
			continue
		}
		if out := strings.TrimRight(c.run(s, b, env...), "\n"); out != "" {
			updated += out + "\n"
		}
	}
	if *update && updated != b.text {
		b.save(s.t, updated)
	}
}

// chatter matches messages of the go command about modules that it downloads and adds, and
// those of commands that take longer than two seconds.
var chatter = regexp.MustCompile(`(?m)^btgen(?:-live)?: .* \([0-9]+s\)\n|^go: (downloading|creating new go.mod|added|upgraded|finding|found|to add module requirements|warning: "all" matched no packages|module \S+ is deprecated).*\n|^\tgo mod tidy\n`)

// untimed removes what differs from run to run: the durations of tests, and how many files a copy of the runtime has.
func untimed(text string) string {
	return vendored.ReplaceAllString(times.ReplaceAllString(text, "\t0s"), "all files created")
}

// vendored matches the number of files with a copy of the runtime.
var vendored = regexp.MustCompile(`\b[0-9]{3} of [0-9]{3} files created`)

// times matches the duration of a package's tests at the end of a line.
var times = regexp.MustCompile(`(?m)\t([0-9.]+s|\(cached\))$`)

// moduleEnv returns the environment for Go commands in a module created by newModule.
// There, go test does not vet: the same code is vetted in this module.
func moduleEnv() []string { return []string{goFlags("-mod=mod"), "GOWORK=off"} }

// goFlags returns the environment variable with the flags of Go commands: those of this process, so that
// what is compiled already is not compiled again, no vet, and others.
func goFlags(others string) string {
	return "GOFLAGS=" + strings.Join(append(strings.Fields(os.Getenv("GOFLAGS")), "-vet=off", others), " ")
}

// newModule creates a module in dir that has this checkout of btgen as a tool and the
// same versions of all dependencies.
func newModule(t *testing.T, root, dir, path string) {
	t.Helper()
	mod := modFile(t, filepath.Join(root, "go.mod"))
	const self = "github.com/btgen-dev/btgen"
	var errs []error
	for _, tool := range mod.Tool {
		errs = append(errs, mod.DropTool(tool.Path))
	}
	for _, tool := range []string{"btgen", "btgen-live", "btgen-vet"} {
		errs = append(errs, mod.AddTool(self+"/cmd/"+tool))
	}
	errs = append(errs, mod.AddModuleStmt(path), mod.AddRequire(self, "v0.0.0"), mod.AddReplace(self, "", root, ""))
	mod.Cleanup()
	formatted, err := mod.Format()
	sum, failed := os.ReadFile(filepath.Join(root, "go.sum"))
	errs = append(errs, err, failed, os.WriteFile(filepath.Join(dir, "go.mod"), formatted, 0o666), os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666))
	assert.Must(t, errors.Join(errs...))
}
