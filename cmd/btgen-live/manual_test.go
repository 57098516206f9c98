package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/templates"
)

// TestEventsOfTheManual executes the commands of the manual that read and write events, with
// the schema of `btgen init`, whose events it keeps. With -update, it rewrites their output.
func TestEventsOfTheManual(t *testing.T) {
	name, err := filepath.Abs("../../docs/operations.md")
	must(t, err)
	page, err := os.ReadFile(name)
	must(t, err)
	block := func(mark string) string {
		_, text, found := strings.Cut(string(page), "<!-- "+mark+" -->\n```\n")
		text, _, _ = strings.Cut(text, "```")
		if !found {
			t.Fatalf("the manual has no block %s", mark)
		}
		return text
	}
	starter, err := templates.Starter(templates.DefaultStarter)
	must(t, err)
	schema := bytes.Replace(starter, []byte("{max_age: 30d}"), []byte("{keep: forever}"), 1)
	inProject(t, "balloon.yaml", string(schema), setup.Options{AllowDrafts: true})
	must(t, os.WriteFile("events.csv", []byte(block("events.csv")), 0o666))
	commands := block("events")
	got := executed(t, commands, 1)
	switch {
	case got == commands:
	case *update:
		must(t, os.WriteFile(name, []byte(strings.Replace(string(page), commands, got, 1)), 0o666))
	default:
		t.Errorf("the manual has\n%s\nbut the commands print\n%s", commands, got)
	}
}

// TestStatusesOfTheManual compares the statuses of problems with those that the manual lists.
func TestStatusesOfTheManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/btgen-live.md")
	must(t, err)
	_, list, _ := strings.Cut(string(page), "is a problem document")
	list, _, _ = strings.Cut(list, "\n## ")
	want := map[string]bool{}
	for _, row := range regexp.MustCompile(`\b([45]\d\d)\b`).FindAllStringSubmatch(list, -1) {
		code, err := strconv.Atoi(row[1])
		must(t, err)
		want["Status"+strings.ReplaceAll(http.StatusText(code), " ", "")] = true
	}
	got := map[string]bool{}
	for _, pattern := range []string{"*.go", "../internal/web/*.go"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			must(t, err)
			for _, problem := range regexp.MustCompile(`(?:NewProblem\([^,]+, |problem\()http\.(\w+),`).FindAllSubmatch(text, -1) {
				got[string(problem[1])] = true
			}
		}
	}
	assert.Same(t, want, got)
}

// inProject enters a folder with a schema, and starts a server with its tables, which the environment names.
func inProject(t *testing.T, file, text string, o setup.Options, options ...grpc.ServerOption) (*dynamic.Schema, *storetest.Bigtable) {
	t.Helper()
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("schemas", 0o777))
	must(t, os.WriteFile(filepath.Join("schemas", file), []byte(text), 0o666))
	_, l := testschema.Parse(t, file, text)
	s := dynamic.New(l)
	server, err := storetest.StartAt(t.Context(), "127.0.0.1:0", options...)
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	_, err = setup.Setup(t.Context(), server.Admin, server.Client, s.Tables(), o)
	must(t, err)
	t.Setenv("BIGTABLE_EMULATOR_HOST", server.Addr)
	return s, server
}

// atInstance adds the flags of the instance of tests.
func atInstance(args ...string) []string {
	return append(args, "--project", storetest.Project, "--instance", storetest.Instance)
}

// ranAt runs a command line at the instance of tests.
func ranAt(command string) (code int, stdout, stderr string) {
	var out, failed bytes.Buffer
	code = run(atInstance(strings.Fields(command)...), &out, &failed)
	return code, out.String(), failed.String()
}

// executed returns commands of the manual, each with what it prints. It ends the test if one has a higher exit code than most.
func executed(t *testing.T, commands string, most int) (got string) {
	t.Helper()
	for line := range strings.Lines(commands) {
		command, is := strings.CutPrefix(line, "$ btgen-live ")
		if !is {
			continue
		}
		var out, failed bytes.Buffer
		command = strings.NewReplacer("project P", "project "+storetest.Project, "instance I", "instance "+storetest.Instance).Replace(command)
		if code := run(strings.Fields(command), &out, &failed); code > most {
			t.Fatalf("%s: exit code %d: %s", command, code, failed.String())
		}
		got += line + out.String()
	}
	return got
}
