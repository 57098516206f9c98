package beamstore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/plantbeam"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/planttest"
)

// command is the environment variable that makes this program the one of the manual.
const command = "BTGEN_BEAM_COMMAND"

// runCommand is the program of the manual, with one runner.
func runCommand() error {
	return plantbeam.Sample.Main(context.Background(), func(ctx context.Context, p *beam.Pipeline) error {
		_, err := beam.Run(ctx, "prism", p)
		return err
	})
}

// execute runs the program of the manual in a folder.
func execute(t *testing.T, dir, emulator string, args ...string) (stderr string, err error) {
	self, err := os.Executable()
	check(t, err)
	var text bytes.Buffer
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stderr = dir, &text
	cmd.Env = append(os.Environ(), command+"=1", "BIGTABLE_EMULATOR_HOST="+emulator)
	err = cmd.Run()
	return text.String(), err
}

// The commands of the manual do what it says.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/beam.md")
	check(t, err)
	_, block, ok := strings.Cut(string(manual), "<!-- prism -->")
	if !ok {
		t.Fatal("docs/beam.md has no commands")
	}
	block, _, _ = strings.Cut(block, "```\n\n")
	bt := planttest.New(t)
	const n = 10_000
	fill(t, bt, "samples", n)
	dir := t.TempDir()
	executed := 0
	for line := range strings.Lines(block) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "$ go run ./pipeline ")
		if !ok {
			continue
		}
		executed++
		if stderr, err := execute(t, dir, bt.Addr, strings.Fields(args)...); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, stderr)
		}
	}
	if executed != 3 {
		t.Errorf("%d commands", executed)
	}
	inRange := func(from, to string) func(i int) bool {
		return func(i int) bool { at := timeOf(i).Format("15:04"); return at >= from && at < to }
	}
	contains(t, bt, "samples", n, inRange("00:10", "24"))
	contains(t, bt, "samples_salted", n, inRange("00:10", "24"))
	lines, want := 0, 0
	for _, name := range []string{"samples-00000-of-00002.ndjson", "samples-00001-of-00002.ndjson"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		check(t, err)
		lines += bytes.Count(text, []byte("\n"))
	}
	for i := range n {
		if inRange("00:10", "00:20")(i) {
			want++
		}
	}
	if lines != want || want == 0 {
		t.Errorf("%d exported lines, want %d", lines, want)
	}
}

// Flags that are missing or wrong are reported, and nothing runs.
func TestFlags(t *testing.T) {
	instance := []string{"--bigtable_project=p", "--bigtable_instance=i"}
	for text, args := range map[string][]string{
		"--pipeline is required: backfill, rollup, delete or export":           instance,
		"--pipeline copy is unknown: write backfill, rollup, delete or export": append(instance, "--pipeline=copy"),
		"--bigtable_project is required":                                       {"--pipeline=export"},
		"--bigtable_instance is required":                                      {"--pipeline=export", "--bigtable_project=p"},
		"--to is required: events before this time are deleted, of all series": append(instance, "--pipeline=delete"),
		"--source cannot be used: events are deleted from all tables":          append(instance, "--pipeline=delete", "--to=2026-01-01T00:00:00Z", "--source=samples"),
		"--output is required: files are named OUTPUT-00000-of-00001.ndjson":   append(instance, "--pipeline=export"),
		"to table samples: source and target are the same table":               append(instance, "--pipeline=backfill", "--targets=samples"),
		`invalid value "today" for flag -from`:                                 append(instance, "--pipeline=export", "--from=today"),
	} {
		stderr, err := execute(t, t.TempDir(), "localhost:1", args...)
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || !strings.Contains(stderr, text) {
			t.Errorf("%v: error %v, and %s; want %s", args, err, stderr, text)
		}
	}
}
