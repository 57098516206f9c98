package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/termtest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// hostileSchema is a schema of tables with hostile keys, columns and values.
const hostileSchema = `btgen: v1
package: app
name: Event
doc: "x` + "\u202e\u200b" + `y"
series: {host: string}
fields:
  text: {type: string, optional: true, doc: "x` + "\u202e\u200b" + `y"}
  json: {type: json, optional: true}
  raw: {type: bytes, optional: true}
tables:
  events:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1d
    family: m
    ttl: {max_age: 30d}
  copies:
    pattern: bucket_new_columns
    key: {delimiter: "#", segments: [host, metric, bucket]}
    bucket: 1d
    family: m
    serves: false
    ttl: {max_age: 30d}
queries:
  ByHost: {by: [host], delete: true}
`

// hostileEvent is an event in NDJSON that has hostile values.
func hostileEvent(t *testing.T, at time.Time) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{
		"host": termtest.Hostile, "time": at, "text": termtest.Hostile, "json": []string{termtest.Hostile}, "raw": []byte(termtest.Hostile),
	})
	must(t, err)
	return string(line) + "\n"
}

// terminalText runs a command on a terminal, and returns what that shows.
func terminalText(t *testing.T, args ...string) string {
	t.Helper()
	terminal, end := termtest.Open(t)
	run(args, terminal, terminal)
	return end()
}

// hostileInstance starts a server whose tables have hostile data: events that the schema reads,
// and keys, columns, values and families of other programs. It enters a folder with the schema.
func hostileInstance(t *testing.T) {
	t.Helper()
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	t.Setenv("BIGTABLE_EMULATOR_HOST", b.Addr)
	t.Chdir(t.TempDir())
	now := time.Now().UTC().Truncate(time.Millisecond)
	events := hostileEvent(t, now) + hostileEvent(t, now.Add(-time.Hour))
	for name, text := range map[string]string{
		"schemas/event.yaml": hostileSchema,
		"events.ndjson":      events, "hostile.ndjson": `{"host": "a", ` + strconv.Quote(termtest.Hostile) + ": 1}\n" + termtest.Hostile + "\n" + events,
		"hostile.csv": "host,time," + termtest.Hostile + "\n", "late.csv": "host,time,raw\na," + termtest.Hostile + ",\"" + termtest.Hostile + "\"\n",
		"plan.json": `{"btgen_plan": 2, "for": {"project": "` + termtest.Hostile + `"}}`, termtest.Hostile: "x",
	} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must(t, os.WriteFile(name, []byte(text), 0o666))
	}
	for _, command := range []string{"setup", "write Event events.ndjson"} {
		if code, stdout, stderr := ranAt(command); code != 0 {
			t.Fatalf("%s: exit code %d: %s%s", command, code, stdout, stderr)
		}
	}
	ctx := t.Context()
	must(t, b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "theirs", ColumnFamilies: map[string]bigtable.Family{"m": {}}}))
	for i, table := range []string{"events", "copies", "theirs"} {
		m := bigtable.NewMutation()
		m.Set("m", termtest.Hostile+"\xff", bigtable.Time(now), []byte(termtest.Hostile+"\xff"))
		m.Set("m", "text", bigtable.Time(now.Add(-2*time.Hour)), []byte("\xff"+termtest.Hostile))
		for _, key := range []string{termtest.Hostile, termtest.Hostile + "#" + now.Format("2006-01-02"), "#\xff", fmt.Sprint("a#", i)} {
			must(t, b.Client.Open(table).Apply(ctx, key, m))
		}
	}
}

// TestHostileData runs every command in every format on a terminal, with tables, files and
// arguments that contain what steers terminals. None of it reaches the terminal.
func TestHostileData(t *testing.T) {
	commands := termtest.Commands(t, "testdata/hostile.txt")
	for _, noColor := range testlong.Sample([]string{"", "1"}, 2) {
		t.Setenv("NO_COLOR", noColor)
		hostileInstance(t)
		for _, args := range testlong.Sample(commands, 4) {
			if !slices.Contains(args, "--project") && !slices.Contains(args, "--help") {
				args = atInstance(args...)
			}
			termtest.Check(t, strconv.Quote(strings.Join(args, " ")), terminalText(t, args...))
		}
	}
}

// TestHostileServer runs every command on a terminal, with a server whose errors contain what
// steers terminals.
func TestHostileServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.PermissionDenied, termtest.Hostile)
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	hostileInstance(t)
	t.Setenv("BIGTABLE_EMULATOR_HOST", listener.Addr().String())
	const commands = "setup|plan|verify|infer --table events|read Event|read Event host=a|windows Event --every 1d|" +
		"plot Event --show count|write Event events.ndjson|count Event|stats Event|delete Event host=a --all --yes|" +
		"backfill Event|delete-table theirs"
	for command := range strings.SplitSeq(commands, "|") {
		args := atInstance(strings.Fields(command)...)
		text := terminalText(t, args...)
		termtest.Check(t, strconv.Quote(strings.Join(args, " ")), text)
		assert.Contains(t, `]0;title\u0007`, text, args)
	}
}

// TestHostileValuesArrive checks that what a program reads from a pipe or a file has hostile
// values without loss, and that NDJSON escapes what steers terminals.
func TestHostileValuesArrive(t *testing.T) {
	hostileInstance(t)
	for _, to := range []string{"pipe", "file"} {
		for _, format := range []string{"ndjson", "csv"} {
			var out bytes.Buffer
			if to == "pipe" {
				run(atInstance("read", "Event", "host="+termtest.Hostile, "--format", format), &out, io.Discard)
			} else {
				run(atInstance("read", "Event", "host="+termtest.Hostile, "--output", "out."+format), io.Discard, io.Discard)
				text, err := os.ReadFile("out." + format)
				must(t, err)
				out.Write(text)
			}
			if got := textsOf(t, format, out.Bytes()); len(got) != 2 || got[0] != termtest.Hostile || got[1] != termtest.Hostile {
				t.Errorf("%s in a %s: %q", format, to, got)
			}
		}
	}
}

// textsOf returns the values of the field text.
func textsOf(t *testing.T, format string, data []byte) (out []string) {
	t.Helper()
	if format == "csv" {
		rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		must(t, err)
		for _, row := range rows[1:] {
			out = append(out, row[2])
		}
		return out
	}
	for line := range bytes.Lines(data) {
		var event struct{ Host, Text string }
		must(t, json.Unmarshal(line, &event))
		out = append(out, event.Text)
		termtest.Check(t, "NDJSON", string(line[:bytes.Index(line, []byte(`"json"`))]))
	}
	return out
}

// TestTokenPrinted prints a token to a terminal, and nowhere else.
func TestTokenPrinted(t *testing.T) {
	terminal, end := termtest.Open(t)
	r := newRequest("serve", &cobra.Command{})
	r.token = "print"
	r.cmd.SetErr(terminal)
	token, err := r.readToken()
	if shown := end(); err != nil || len(token) < web.MinToken || !strings.Contains(shown, "token: "+token) {
		t.Errorf("%q, %v: %s", token, err, shown)
	}
	var file bytes.Buffer
	r.cmd.SetErr(&file)
	if token, err := r.readToken(); err == nil || token != "" || file.Len() > 0 {
		t.Errorf("%q, %v: %s", token, err, &file)
	}
}
