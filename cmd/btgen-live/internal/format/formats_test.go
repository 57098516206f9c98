package format_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/testschema"
)

var update = flag.Bool("update", false, "rewrite what the files in testdata/formats expect")

// formatCase is a file in testdata/formats: options, one per line, and the files schema.yaml, input
// and want.
type formatCase struct {
	name    string
	archive *txtar.Archive
	format  *format.Format
	options format.ReaderOptions
	layout  *layout.Layout
	input   []byte
}

// formatCases returns the cases. The name of a file begins with that of its format, and _.
func formatCases(t testing.TB) []formatCase {
	t.Helper()
	files, err := filepath.Glob("testdata/formats/*.txtar")
	must(t, err)
	var out []formatCase
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		must(t, err)
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txtar"), "_")
		c := formatCase{name: file, archive: a, format: format.Find(name), options: optionsOf(t, string(a.Comment))}
		if c.format == nil {
			t.Fatalf("%s: no format has this name", file)
		}
		for _, f := range a.Files {
			switch f.Name {
			case "schema.yaml":
				c.layout = testschema.Layout(t, string(f.Data))
			case "input":
				c.input = f.Data
			}
		}
		out = append(out, c)
	}
	return out
}

// optionsOf parses options. Lines that begin with # are comments.
func optionsOf(t testing.TB, text string) format.ReaderOptions {
	t.Helper()
	o := format.ReaderOptions{Names: map[string]string{}}
	for line := range strings.Lines(text) {
		option, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		var err error
		switch option {
		case "", "#":
		case "map":
			from, to, _ := strings.Cut(value, "=")
			o.Names[from] = to
		case "metric":
			o.Metric = value
		case "unit":
			o.Unit = format.Units[value]
		case "zone":
			o.Zone, err = time.LoadLocation(value)
		case "time":
			o.Time, err = time.Parse(time.RFC3339, value)
		case "delimiter":
			o.CSV.Delimiter = value[0]
		case "null":
			o.CSV.Nulls = append(o.CSV.Nulls, value)
		case "columns":
			o.CSV.Columns = strings.Split(value, ",")
		case "ignore-unknown":
			o.IgnoreUnknown = true
		default:
			t.Fatalf("no option %q", option)
		}
		must(t, err)
	}
	return o
}

// read reads all events of a case, and the errors.
func (c *formatCase) read(t testing.TB, in io.Reader) string {
	t.Helper()
	r, err := c.format.Read(in, c.layout, c.options)
	if err != nil {
		return err.Error() + "\n"
	}
	return strings.Join(all(r), "\n") + "\n"
}

// TestFormats reads the files in testdata/formats, also byte by byte.
func TestFormats(t *testing.T) {
	for _, c := range formatCases(t) {
		t.Run(filepath.Base(c.name), func(t *testing.T) {
			got := c.read(t, bytes.NewReader(c.input))
			assert.Same(t, got, c.read(t, iotest.OneByteReader(bytes.NewReader(c.input))), "byte by byte")
			want := ""
			for i := range c.archive.Files {
				if f := &c.archive.Files[i]; f.Name == "want" {
					if want = string(f.Data); *update {
						f.Data = []byte(got)
					}
				}
			}
			if *update {
				must(t, os.WriteFile(c.name, txtar.Format(c.archive), 0o666))
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestEveryFormat checks that each format has a test and a place in the manual.
func TestEveryFormat(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/moving-in.md")
	must(t, err)
	cases := formatCases(t)
	names, extensions := map[string]bool{}, map[string]bool{}
	for _, f := range format.Formats((*format.Format).Reads) {
		tested := f.Binary // package parquet has its tests
		for i := range cases {
			tested = tested || cases[i].format == f && bytes.Contains(cases[i].archive.Comment, []byte("# Source:"))
		}
		if !tested {
			t.Errorf("%s: no file in testdata/formats whose comment says the source of its facts, as in # Source: …", f.Name)
		}
		if !bytes.Contains(page, []byte("`"+f.Name+"`")) {
			t.Errorf("%s: it is not in docs/moving-in.md", f.Name)
		}
		if names[f.Name] || f.Title == "" || format.Find(f.Name) != f {
			t.Errorf("%s: two formats have this name, or it has no title", f.Name)
		}
		names[f.Name] = true
		for _, e := range f.Extensions {
			if extensions[e] || format.FindExtension(strings.ToUpper(e)) != f {
				t.Errorf("%s: two formats have the extension %s", f.Name, e)
			}
			extensions[e] = true
		}
	}
}

// FuzzFormats reads any bytes in every format.
func FuzzFormats(f *testing.F) {
	cases := formatCases(f)
	for i, c := range cases {
		f.Add(byte(i), c.input)
		for line := range bytes.Lines(c.input) {
			f.Add(byte(i), line)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, in []byte) { checkInput(t, &cases[int(which)%len(cases)], in) })
}

// TestMutatedFormats does the same with inputs whose bytes are changed at random.
func TestMutatedFormats(t *testing.T) {
	n := 100
	if testlong.Enabled() {
		n = 10_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range formatCases(t) {
		lines := bytes.SplitAfter(c.input, []byte("\n"))
		for range n {
			checkInput(t, &c, mutated(random, lines))
		}
	}
}

// mutated returns some lines, in which some bytes are replaced, inserted or removed.
func mutated(r *rand.Rand, lines [][]byte) []byte {
	const bytesOfFormats = "\\\"',=#{} \t\r\n:;.-+0123456789eEinuNaIft\x00\xff\xef\xbb\xbf"
	var out []byte
	for range 1 + r.IntN(4) {
		out = append(out, lines[r.IntN(len(lines))]...)
	}
	for range r.IntN(6) {
		at := r.IntN(len(out) + 1)
		b := bytesOfFormats[r.IntN(len(bytesOfFormats))]
		switch r.IntN(3) {
		case 0:
			out = slices.Insert(out, at, b)
		case 1:
			out = slices.Delete(out, at, min(at+1+r.IntN(4), len(out)))
		case 2:
			out = append(out[:at], append([]byte{b}, out[min(at+1, len(out)):]...)...)
		}
	}
	return out
}

// checkInput reads an input. The result does not depend on how it is read, and lines do not decrease.
func checkInput(t *testing.T, c *formatCase, in []byte) {
	t.Helper()
	r, err := c.format.Read(bytes.NewReader(in), c.layout, c.options)
	if err == nil {
		ordered(t, r, bytes.Count(in, []byte("\n"))+1)
	}
	slow := c.read(t, iotest.OneByteReader(bytes.NewReader(in)))
	assert.Same(t, c.read(t, bytes.NewReader(in)), slow, "byte by byte", in)
	if c.format.Scans() {
		scanned(t, c, in)
	}
}

// ordered reads all events, whose lines must not decrease.
func ordered(t *testing.T, r format.Reader, lines int) {
	for last := 0; ; {
		_, line, err := r.Next()
		if err == io.EOF {
			return
		}
		if line < last || line > lines+1 {
			t.Fatalf("line %d after %d of %d", line, last, lines)
		}
		last = line
		if failed := (*format.InputError)(nil); err != nil && !errors.As(err, &failed) {
			return
		}
	}
}

// scanned reads all records.
func scanned(t *testing.T, c *formatCase, in []byte) {
	s, err := c.format.Scan(bytes.NewReader(in), c.options)
	if err != nil {
		return
	}
	var r format.Record
	for n := 0; ; n++ {
		if err := s.Scan(&r); err == io.EOF {
			return
		}
		if n > len(in) {
			t.Fatal("more records than bytes")
		}
	}
}

// TestNamesOfParts renames values of a line by the part of the line. The class of faults: two values of a line with one name,
// of which one is taken for the other.
func TestNamesOfParts(t *testing.T) {
	const text = `
btgen: v1
package: cpu
name: Cpu
series: {metric: string, a: string, b: string}
time: {precision: 1s}
fields: {x: string, y: string}
tables:
  cpu: {draft: true, pattern: bucket_new_cells, key: {delimiter: "#", segments: [metric, a, b, bucket]}, bucket: 1d, family: m, ttl: {keep: forever}}
`
	l := testschema.Layout(t, text)
	const line = `cpu,time=t1,metric=t2,measurement=cpu time="f1",metric="f2" 1772366400000000000`
	names := map[string]string{
		"tag:time": "a", "tag:metric": "b", "tag:measurement": "", "field:time": "x", "field:metric": "y", "metric:": "metric",
		"time": "metric", "metric": "time", // what has a qualifier is not concerned
	}
	names["time:"] = "time"
	in, err := format.Find("influx").Read(strings.NewReader(line), l, format.ReaderOptions{Names: names})
	must(t, err)
	e, _, err := in.Next()
	must(t, err)
	if e.Time.Unix() != 1772366400 || e.Series[0] != "cpu" || e.Series[1] != "t1" || e.Series[2] != "t2" || e.Values[0] != "f1" || e.Values[1] != "f2" {
		t.Errorf("%+v", e)
	}
}

// TestColumnsTwice refuses a header with a name twice before a schema is proposed for one of the columns.
func TestColumnsTwice(t *testing.T) {
	for _, f := range []string{"csv", "cassandra"} {
		if _, err := format.Find(f).Scan(strings.NewReader("a,b,a\n1,2,3\n"), format.ReaderOptions{}); err == nil || !strings.Contains(err.Error(), "header: column a: the value is given twice") {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// TestCommentedHeader reads CSV whose first line is a comment: the error says how to remove it. The class of fault: an error asks for another
// schema, and the file is wrong. A header that begins with # is one.
func TestCommentedHeader(t *testing.T) {
	const want = "; if lines that begin with # are comments, remove them: grep -v '^#' FILE > FILE.csv"
	for _, comment := range []string{"# made by hand", "# a; b", "#", "# host, value, time"} {
		in := comment + "\nhost,value,time\na,1,2026-03-01T12:00:00Z\n"
		if _, err := format.Find("csv").Read(strings.NewReader(in), resolve(t), format.ReaderOptions{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", comment, err)
		}
	}
	in, err := format.Find("csv").Read(strings.NewReader("#host,value,time\na,1,2026-03-01T12:00:00Z\n"), resolve(t), format.ReaderOptions{Names: map[string]string{"#host": "host"}})
	must(t, err)
	_, _, err = in.Next()
	assert.Is(t, nil, err)
}

var must = assert.Must
