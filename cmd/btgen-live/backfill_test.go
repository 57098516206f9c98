package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/templates"
)

// TestBackfillOfTheManual executes the commands of the manual about a table that was added, with
// the schema of `btgen init` and that table.
func TestBackfillOfTheManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/evolution.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "## Back-filling a table")
	_, table, _ := strings.Cut(section, "```yaml\n")
	table, _, _ = strings.Cut(table, "```")
	_, commands, _ := strings.Cut(section, "<!-- backfill -->\n```\n")
	commands, _, _ = strings.Cut(commands, "```")
	starter, err := templates.Starter(templates.DefaultStarter)
	if err != nil || !found {
		t.Fatal(err, found)
	}
	schema := append(bytes.Replace(starter, []byte("draft: true"), []byte("draft: false"), 1), table...)
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("schemas", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("schemas", "balloon.yaml"), schema, 0o666); err != nil {
		t.Fatal(err)
	}
	fillDay(t, schema)
	want := ""
	for line := range strings.Lines(commands) {
		command, is := strings.CutPrefix(line, "$ btgen-live ")
		if !is {
			continue
		}
		var out, failed bytes.Buffer
		command = strings.NewReplacer("project P", "project "+storetest.Project, "instance I", "instance "+storetest.Instance).Replace(command)
		if code := run(strings.Fields(command), &out, &failed); code != 0 {
			t.Fatalf("%s: exit code %d: %s", command, code, failed.String())
		}
		want += line + out.String()
	}
	if want != commands || strings.Count(want, "$") < 3 {
		t.Errorf("the manual has\n%s\nbut the commands print\n%s", commands, want)
	}
}

// fillDay starts a server that the environment names, with the tables of a schema and the events of
// a day in the first one.
func fillDay(t *testing.T, schema []byte) {
	t.Helper()
	r := gen.Resolve([]gen.Input{{Name: "balloon.yaml", Text: schema}})
	if err := r.Diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	s := dynamic.New(r.Layouts[0])
	server := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		if _, err := store.Setup(ctx, b.Admin, b.Client, s.Tables()); err != nil {
			return err
		}
		var events []dynamic.Event
		yesterday := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
		for i := range 1440 {
			events = append(events, dynamic.Event{
				Series: []any{"us-west2", int64(3698)}, Time: yesterday.Add(time.Duration(i) * time.Minute),
				Values: []any{int64(94558), 9.6, int64(61), nil},
			})
		}
		return s.NewWriter(b.Client, store.WriterOptions{Tables: []string{"balloon_buckets"}}).WriteAll(ctx, events)
	})
	t.Setenv("BIGTABLE_EMULATOR_HOST", server.Addr)
}
