package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
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
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("schemas", 0o777))
	for file, text := range map[string]string{filepath.Join("schemas", "balloon.yaml"): string(schema), "events.csv": block("events.csv")} {
		must(t, os.WriteFile(file, []byte(text), 0o666))
	}
	r := gen.Resolve([]gen.Input{{Name: "balloon.yaml", Text: schema}})
	must(t, r.Diagnostics.Err())
	server := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		_, err := setup.Setup(ctx, b.Admin, b.Client, dynamic.New(r.Layouts[0]).Tables(), setup.Options{AllowDrafts: true})
		return err
	})
	t.Setenv("BIGTABLE_EMULATOR_HOST", server.Addr)
	commands, got := block("events"), ""
	for line := range strings.Lines(commands) {
		command, is := strings.CutPrefix(line, "$ btgen-live ")
		if !is {
			continue
		}
		var out, failed bytes.Buffer
		command = strings.NewReplacer("project P", "project "+storetest.Project, "instance I", "instance "+storetest.Instance).Replace(command)
		if code := run(strings.Fields(command), &out, &failed); code == 2 {
			t.Fatalf("%s: exit code %d: %s", command, code, failed.String())
		}
		got += line + out.String()
	}
	switch {
	case got == commands:
	case *update:
		must(t, os.WriteFile(name, []byte(strings.Replace(string(page), commands, got, 1)), 0o666))
	default:
		t.Errorf("the manual has\n%s\nbut the commands print\n%s", commands, got)
	}
}
