package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
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

// microsecondSchemas are a schema of a table with timestamps in microseconds, and one to which the manual moves its events.
var microsecondSchemas = map[string]string{
	"old": "time: {precision: 1ms}\nfields: {load: int64}\ntables:\n  old:\n    pattern: bucket_new_cells\n",
	"new": "time: {precision: 1us}\nfields: {load: int64}\ntables:\n  new:\n    pattern: bucket_offsets\n",
}

// TestMicrosOfTheManual reads a table in which another program has stored events in microseconds, and moves them to a table
// that can be written, by the commands of the manual. The commands that look at the table name its granularity.
func TestMicrosOfTheManual(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	t.Setenv(store.EmulatorVariable, b.Addr)
	conn, err := grpc.NewClient(b.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer func() { _ = conn.Close() }()
	parent := "projects/" + storetest.Project + "/instances/" + storetest.Instance
	_, err = adminpb.NewBigtableTableAdminClient(conn).CreateTable(t.Context(), &adminpb.CreateTableRequest{
		Parent: parent, TableId: "old", Table: &adminpb.Table{Granularity: adminpb.Table_MICROS, ColumnFamilies: map[string]*adminpb.ColumnFamily{"m": {}}},
	})
	must(t, err)
	at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for i, us := range []int64{0, 123, 456, 999, 1000, 1001, 1500, 2000, 3001, 5000, 70_000, 900_123} {
		_, err := bigtablepb.NewBigtableClient(conn).MutateRow(t.Context(), &bigtablepb.MutateRowRequest{
			TableName: parent + "/tables/old", RowKey: []byte("host1#2026-03-05"),
			Mutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
				FamilyName: "m", ColumnQualifier: []byte("load"), TimestampMicros: at.UnixMicro() + us, Value: []byte{0, 0, 0, 0, 0, 0, 0, byte(i)},
			}}}},
		})
		must(t, err)
	}
	t.Chdir(t.TempDir())
	for name, part := range microsecondSchemas {
		text := "btgen: v1\npackage: loads\nname: " + strings.ToUpper(name[:1]) + name[1:] + "\nseries: {host: string}\n" + part +
			"    key: {delimiter: \"#\", segments: [host, bucket]}\n    bucket: {every: 1d, label: \"2006-01-02\"}\n    family: m\n    ttl: {keep: forever}\n"
		must(t, os.MkdirAll("schemas", 0o777))
		must(t, os.WriteFile(filepath.Join("schemas", name+".yaml"), []byte(text), 0o666))
	}
	for _, c := range []struct {
		command string
		want    []string // in what it prints
	}{
		{"infer --table old", []string{"granularity MICROS"}},
		{"verify --table old", []string{"granularity MICROS", "100% of 12"}},
		{"setup schemas/new.yaml", nil},
		{"count Old --from 2026-03-05T12:00:00.0001Z --to 2026-03-05T12:00:00.001Z", []string{"3\n"}},
		{"count Old --from 2026-03-05T12:00:00.000456Z --to 2026-03-05T12:00:00.001001Z", []string{"3\n"}},
		{"read Old --format ndjson --from 2026-03-05T12:00:00.0001Z --to 2026-03-05T12:00:00.000456Z", []string{`"2026-03-05T12:00:00.000123Z"`}},
		{"read Old --output events.ndjson", nil},
		{"write New events.ndjson", nil},
		{"count New --from 2026-03-05T12:00:00.000456Z --to 2026-03-05T12:00:00.001001Z", []string{"3\n"}},
		{"count New", []string{"12\n"}},
	} {
		code, stdout, stderr := ranAt(c.command)
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", c.command, code, stdout, stderr)
		}
		for _, want := range c.want {
			assert.Contains(t, want, stdout, c.command, stderr)
		}
	}
}
