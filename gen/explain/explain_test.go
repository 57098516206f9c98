package explain_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// explanationOf explains schemas without errors.
func explanationOf(t testing.TB, o explain.Options, inputs ...gen.Input) *explain.Explanation {
	t.Helper()
	r := gen.Resolve(inputs)
	must(t, r.Diagnostics.Err())
	doc, err := explain.New(r.Schemas, r.Layouts, o)
	must(t, err)
	return doc
}

// documentOf is explanationOf without options.
func documentOf(t testing.TB, inputs ...gen.Input) *document.Document {
	t.Helper()
	return &explanationOf(t, explain.Options{}, inputs...).Document
}

// simulated is documentOf with hotspots.
func simulated(t testing.TB, inputs ...gen.Input) *document.Document {
	t.Helper()
	return &explanationOf(t, explain.Options{Hotspots: true}, inputs...).Document
}

// sections returns the sections whose titles begin with a text, at any level.
func sections(all []*document.Section, title string) []*document.Section {
	var out []*document.Section
	for _, s := range all {
		if strings.HasPrefix(s.Title, title) {
			out = append(out, s)
		}
		out = append(out, sections(s.Sections, title)...)
	}
	return out
}

// table returns the first table of the first such section; an empty one if there is none.
func table(doc *document.Document, title string) *document.Table {
	for _, s := range sections(doc.Sections, title) {
		for _, p := range s.Parts {
			if p.Table != nil {
				return p.Table
			}
		}
	}
	return &document.Table{}
}

// row returns the row of a table that begins with a text; an empty one if there is none.
func row(t *document.Table, begin string) document.Row {
	for _, r := range t.Rows {
		if strings.HasPrefix(r.Cells[0], begin) {
			return r
		}
	}
	return document.Row{Cells: make([]string, len(t.Columns))}
}

// dataOf decodes what JSON says of a row.
func dataOf[V any](t testing.TB, r document.Row) (v V) {
	t.Helper()
	text, err := json.Marshal(r.Data)
	must(t, err)
	must(t, json.Unmarshal(text, &v))
	return v
}

// TestPictures checks that Markdown refers to the picture of each table, that a picture is
// well-formed, and that hostile texts do not get into it.
func TestPictures(t *testing.T) {
	doc := simulated(t, gen.Input{Name: "b.yaml", Text: []byte(hostile + "expect: {series: 40, rate: 1/s, reads: {Latest: 1/s, Read: 1/s}}\n")})
	check(t, doc)
	if n := len(table(doc, "hotspots").Rows); n < 4 {
		t.Errorf("%d simulations", n)
	}
	text, pictures := doc.Markdown("design"), doc.Pictures("design")
	for name, picture := range pictures {
		assert.Contains(t, "]("+name+")", text, name)
		var root struct{ XMLName xml.Name }
		if err := xml.Unmarshal(picture, &root); err != nil || root.XMLName.Local != "svg" || bytes.Contains(picture, []byte("<script")) {
			t.Errorf("%v:\n%s", err, picture)
		}
	}
	if len(pictures) != 2 || strings.Contains(doc.Markdown(""), ".svg") {
		t.Errorf("%d pictures", len(pictures))
	}
}

// rendered returns a document in all formats, by file name extension.
func rendered(t testing.TB, doc *document.Document) map[string]string {
	t.Helper()
	data, err := doc.JSON()
	must(t, err)
	return map[string]string{"txt": doc.Text(document.TextOptions{}), "md": doc.Markdown(""), "html": string(doc.HTML()), "json": string(data)}
}

// TestGolden compares explanations, one of them of a table with a rollup, with reviewed ones; -update rewrites them. The manual
// shows parts of them.
func TestGolden(t *testing.T) {
	for _, name := range []string{"grid_meters", "balloon_combined", "balloon_new_cells", "balloon_new_columns", "balloon_unserialized"} {
		doc := simulated(t, corpus.Inputs(t, "../../schemas/"+name+".yaml")...)
		golden(t, name+".txt", doc.Text(document.TextOptions{}))
	}
	golden(t, "wide.txt", documentOf(t, corpus.Inputs(t, "testdata/wide.yaml")...).Text(document.TextOptions{}))
}

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	assert.Same(t, string(want), got, path)
}

// stored is the data of a cell.
type stored struct {
	Key   string
	Event int
}

// request is the data of a request.
type request struct{ Rows []struct{ Start, End string } }

// TestExamples checks that every table of the example schemas has example rows and that
// its read requests the first of them.
func TestExamples(t *testing.T) {
	for _, in := range testlong.Sample(corpus.Inputs(t, "../../schemas/*.yaml"), 3) {
		doc := documentOf(t, in)
		check(t, doc)
		for _, of := range sections(doc.Sections, "table ") {
			for _, r := range sections(doc.Sections, "reads of ")[0].Sections {
				if strings.HasPrefix(row(r.Parts[len(r.Parts)-1].Table, "table").Cells[1], of.Name+":") && !asks(t, r, of) {
					t.Errorf("%s: %s does not request the example of %s", in.Name, r.Title, of.Name)
				}
			}
		}
	}
}

// asks reports whether a read requests the example key of a table.
func asks(t *testing.T, read, of *document.Section) bool {
	t.Helper()
	key := sections(of.Sections, "row key")[0].Parts[1].Key.Example.Hex
	if first := dataOf[stored](t, table(&document.Document{Sections: of.Sections}, "example rows").Rows[0]); first.Key == "" || key == "" {
		t.Errorf("table %s has no examples", of.Name)
	}
	for _, r := range read.Parts[len(read.Parts)-1].Table.Rows {
		if r.Cells[0] != "request" {
			continue
		}
		for _, rows := range dataOf[request](t, r).Rows {
			if rows.Start <= key && (rows.End == "" || key < rows.End) {
				return true
			}
		}
	}
	return false
}

// TestChoicesOfTheNewestLayout checks that the earlier layouts of a table do not affect
// with which patterns its newest one is compared.
func TestChoicesOfTheNewestLayout(t *testing.T) {
	input := corpus.Inputs(t, "../../schemas/meter.yaml")[0]
	before := regexp.MustCompile(`(?m)^    since: .*\n    before:\n(      .*\n)+`)
	if !before.Match(input.Text) {
		t.Fatal("the schema has no earlier layouts")
	}
	was := regexp.MustCompile(`, was: \[.*\]`)
	alone := gen.Input{Name: input.Name, Text: was.ReplaceAll(before.ReplaceAll(input.Text, nil), nil)}
	got, want := table(documentOf(t, input), choices).Rows, table(documentOf(t, alone), choices).Rows
	if diff := cmp.Diff(want[1:], got[1:]); diff != "" || len(want) < 8 {
		t.Errorf("%d choices: (-without earlier layouts +with them)\n%s", len(want), diff)
	}
}

// choices is the title of the section with other patterns.
const choices = "the same load with other patterns"

// TestDrawn explains drawn schemas.
func TestDrawn(t *testing.T) {
	some, err := corpus.DrawAll(0, testlong.Pick(4, 400), "../../schemas", "../../golden/code")
	must(t, err)
	for _, d := range some {
		check(t, documentOf(t, gen.Input{Name: "s.yaml", Text: d.Text}))
	}
}

// TestHostileTexts checks that texts in a schema cannot break out of their place.
func TestHostileTexts(t *testing.T) {
	a, err := archive.ParseFile("../../golden/code/hostile_texts.txtar")
	must(t, err)
	doc := documentOf(t, gen.Input{Name: "<script>alert(1)</script>\x1b[31m.yaml", Text: a.Files[0].Data}, gen.Input{Name: "b.yaml", Text: []byte(hostile)})
	check(t, doc)
	for end, text := range rendered(t, doc) {
		if end == "html" && strings.Contains(text, "<script") || strings.Contains(text, "\x1b") || strings.Contains(text, "\u202e") {
			t.Errorf("%s: a text of the schema got out:\n%s", end, text)
		}
	}
	prose := codeOfMarkdown.ReplaceAllString(doc.Markdown(""), "")
	for line := range strings.Lines(prose) {
		if meansSomething.MatchString(strings.ReplaceAll(line, "<br>", "")) {
			t.Errorf("Markdown has %q", line)
		}
	}
}

// codeOfMarkdown matches code in Markdown, which is shown verbatim.
var codeOfMarkdown = regexp.MustCompile("(?ms)^```$.*?^```$|``.*?``|`[^`\n]*`")

// meansSomething matches the markup in the texts of the hostile schema.
var meansSomething = regexp.MustCompile(`^# Heading|^- item|(^|[^\\])<|[^\\]\]\(http://x|[^\\|] \| \\u202e`)

// hostile is a schema with texts that contain HTML, Markdown and terminal escapes.
const hostile = `
btgen: v1
package: app
name: Other
doc: "# Heading <script>alert(1)</script> & [link](http://x) | \u202e"
series:
  host: {type: string, doc: "</title><img src=x onerror=alert(1)>", example: "<b>` + "`|" + `</b>"}
fields:
  value: {type: string, unit: "</td>|", column: "<i>\n|"}
tables:
  others:
    doc: "- item\n\n    code"
    pattern: bucket_new_cells
    key: {delimiter: "\n", segments: [{const: "<svg onload=alert(1)>"}, host, bucket]}
    bucket: 1h
    family: m
    ttl: {max_age: 30d}
    allow: {C01: "<script>alert(1)</script>"}
`

// check checks what all explanations have in common: they are deterministic, JSON is
// complete, only a terminal gets colors, and HTML contains only elements of the page.
func check(t testing.TB, doc *document.Document) {
	t.Helper()
	first := rendered(t, doc)
	var again document.Document
	must(t, json.Unmarshal([]byte(first["json"]), &again))
	second := rendered(t, &again)
	second["json"] = first["json"] // with other types of data
	assert.Same(t, first, second)
	colored := doc.Text(document.TextOptions{Color: true})
	if strings.Contains(first["txt"], "\x1b") || !strings.Contains(colored, "\x1b[1m") || ansi.ReplaceAllString(colored, "") != first["txt"] {
		t.Error("colors are in the wrong places, or change the text")
	}
	checkHTML(t, first["html"])
	for _, width := range []int{60, 80, 100, 160} {
		checkWidth(t, withoutProposals(doc, doc.Text(document.TextOptions{Width: width})), width)
	}
}

// withoutProposals returns a text without the lines that are proposed for schemas.
func withoutProposals(doc *document.Document, text string) string {
	for _, s := range sections(doc.Sections, "a cheaper layout") {
		text = strings.ReplaceAll(text, "      "+strings.Join(s.Parts[1].Code, "\n      ")+"\n", "")
	}
	return text
}

// checkWidth checks that no line is wider than a terminal, except for addresses.
func checkWidth(t testing.TB, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > width && !strings.Contains(line, "https://") {
			t.Errorf("%d columns, not %d: %s", n, width, line)
		}
	}
}

var ansi = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// elements lists the elements of the page.
var elements = strings.Fields("html head meta title style body nav section h1 h2 h3 p span b a ul li div table thead tbody tr th td br figure figcaption svg text rect pre")

// checkHTML checks that a page uses only the elements and attributes of the template, and loads nothing from elsewhere.
func checkHTML(t testing.TB, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	must(t, err)
	ids := idsOf(t, root)
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if (n.Data == "table" || n.Data == "svg") && !scrolls(n) {
			t.Errorf("a %s is cut off in a narrow window", n.Data)
		}
		if !slices.Contains(elements, n.Data) {
			t.Errorf("element %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" || a.Key == "href" && !strings.HasPrefix(a.Val, "https://cloud.google.com/") && !ids[strings.TrimPrefix(a.Val, "#")] {
				t.Errorf("attribute %s=%q", a.Key, a.Val)
			}
		}
	}
}

// idsOf returns the IDs of a page, which are unique.
func idsOf(t testing.TB, root *html.Node) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key != "id" {
				continue
			}
			if ids[a.Val] || a.Val == "" || strings.ContainsAny(a.Val, " \t\n") {
				t.Errorf("id=%q is empty, repeated or has spaces", a.Val)
			}
			ids[a.Val] = true
		}
	}
	return ids
}

// scrolls reports whether an element is in a scrollable box.
func scrolls(n *html.Node) bool {
	for up := range n.Ancestors() {
		for _, a := range up.Attr {
			if a.Key == "class" && (a.Val == "scroll" || strings.HasPrefix(a.Val, "panel")) {
				return true
			}
		}
	}
	return false
}

// TestHeatSentences checks that what the pictures of extreme loads are said to show agrees with
// their figures.
func TestHeatSentences(t *testing.T) {
	for expect, want := range map[string][]string{
		"series: 1, rate: 1/h":                                   {"One strong line"},
		"series: 3, rate: 1/m, reads: {Read: 1000000/s}":         {"but no more than a node handles.", "take more than others."},
		"series: 1000000000, rate: 10000000/s":                   {"An even color, but each key prefix takes more than a node writes."},
		"series: 100000, rate: 10/s, skew: 1.5, arrival: bursts": {"A stronger stripe: one place takes 39"},
		"series: 100000, rate: 10/s, arrival: daily":             {"An even color: all parts of the key space share the load."},
	} {
		page := string(simulated(t, eventOf("{host: string}", "{value: int64}", rowTable, "expect: {"+expect+"}")).HTML())
		for _, text := range want {
			assert.Contains(t, text, page, expect)
		}
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%s:\n%s", expect, page)
		}
	}
}

var must = assert.Must
