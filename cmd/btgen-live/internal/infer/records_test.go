package infer_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// recordsCase is a file in testdata/records: flags, one per line, and the files input and want. The
// name of the file begins with that of a format, or with cql, and _.
type recordsCase struct {
	file, format string
	archive      *txtar.Archive
	input        []byte
}

func recordsCases(t testing.TB) []recordsCase {
	t.Helper()
	files, err := filepath.Glob("testdata/records/*.txtar")
	must(t, err)
	var out []recordsCase
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		must(t, err)
		name, _, _ := strings.Cut(filepath.Base(file), "_")
		out = append(out, recordsCase{file, name, a, a.Files[0].Data})
	}
	return out
}

// propose proposes a schema for an input.
func (c *recordsCase) propose(t testing.TB, input []byte) (*infer.Proposal, error) {
	t.Helper()
	r := infer.Records{Name: "events", Title: "events.txt", Limit: 10_000}
	table := ""
	for line := range strings.Lines(string(c.archive.Comment)) {
		flag, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch flag {
		case "", "#":
		case "metric":
			r.Options.Metric = value
		case "unit":
			r.Options.Unit = format.Units[value]
		case "zone":
			r.Options.Zone = time.UTC
		case "columns":
			r.Options.CSV.Columns = strings.Split(value, ",")
		case "series":
			r.Series = strings.Split(value, ",")
		case "time":
			r.Time = value
		case "limit":
			r.Limit = 2
		case "table":
			table = value
		default:
			t.Fatalf("%s: no flag %s", c.file, flag)
		}
	}
	if c.format == "cql" {
		return infer.ProposeCQL(string(input), table)
	}
	r.Format = format.Find(c.format)
	r.Input = bytes.NewReader(input)
	return infer.ProposeRecords(r)
}

// TestRecords compares proposals for the events of other systems.
func TestRecords(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range recordsCases(t) {
		tested[c.format] = true
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			got := ""
			if p, err := c.propose(t, c.input); err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				got = string(p.Schema)
				if again, err := c.propose(t, c.input); err != nil || string(again.Schema) != got {
					t.Errorf("the second proposal differs: %v", err)
				}
				assert.Same(t, len(p.Questions), strings.Count(got, "# ? "))
			}
			if *update {
				c.archive.Files[1].Data = []byte(got)
				must(t, os.WriteFile(c.file, txtar.Format(c.archive), 0o666))
			} else if diff := cmp.Diff(string(c.archive.Files[1].Data), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, f := range format.Formats((*format.Format).Scans) {
		if !tested[f.Name] {
			t.Errorf("no file in testdata/records for the format %s", f.Name)
		}
	}
}

// TestUnread reads a file of which the schema reads all lines but the second, and whose other lines do not fit in memory.
func TestUnread(t *testing.T) {
	other := "mem,host=a note=\"" + strings.Repeat("x", testlong.Pick(1<<20, 40<<20)) + "\" 1772366400000000000\n"
	in := io.MultiReader(strings.NewReader("cpu,host=a user=1 1772366400000000000\ncpu,host=a user=1 1\n"),
		strings.NewReader(other), strings.NewReader(other), strings.NewReader("cpu,host=a user=1 1772366460000000000"))
	p, err := infer.ProposeRecords(infer.Records{Name: "cpu", Format: format.Find("influx"), Input: in, Options: format.ReaderOptions{Metric: "cpu"}, Limit: 10})
	must(t, err)
	if len(p.Unread) != 1 || !strings.HasPrefix(p.Unread[0].Error(), "2:19: time: ") {
		t.Errorf("%v", p.Unread)
	}
}

// TestMutatedRecords proposes schemas for inputs whose bytes are changed at random: btgen accepts each
// proposal.
func TestMutatedRecords(t *testing.T) {
	n := testlong.Pick(5, 200)
	const alphabet = "\\\"',=#{}<>() \n;:.-+019einmtz\x00\xff"
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range recordsCases(t) {
		for range n {
			in := bytes.Clone(c.input)
			for range random.IntN(8) {
				at := random.IntN(len(in) + 1)
				b := alphabet[random.IntN(len(alphabet))]
				if random.IntN(2) == 0 {
					in = slices.Insert(in, at, b)
				} else {
					in = slices.Delete(in, at, min(at+1+random.IntN(4), len(in)))
				}
			}
			p, err := c.propose(t, in)
			if err != nil {
				continue
			}
			if r := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: p.Schema}}); r.Diagnostics.HasErrors() {
				t.Errorf("%s: %q: %v\n%s", c.file, in, r.Diagnostics.Err(), p.Schema)
			}
		}
	}
}

// FuzzCQL proposes schemas for any text.
func FuzzCQL(f *testing.F) {
	for _, c := range recordsCases(f) {
		if c.format == "cql" {
			f.Add(string(c.input))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := infer.ProposeCQL(text, ""); err == nil && len(p.Schema) == 0 {
			t.Error("no schema")
		}
	})
}
