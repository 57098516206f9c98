package explain_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/golden/assert"
)

// example is a document with each kind of part.
func example() *document.Document {
	d := document.New()
	d.Title = "Example"
	for _, name := range []string{"First", "Second"} {
		s := &document.Section{ID: document.Anchor(name), Name: name, Title: name}
		s.Say("A paragraph of <b>" + name + "</b>, which is *longer* than a line of sixty columns.")
		s.Cite("A note.", "https://cloud.google.com/bigtable/docs/overview")
		d.Sections = append(d.Sections, s)
	}
	d.Sections[1].Entry("table.t", "t", "table t") // with the same anchor in Markdown
	below := d.Sections[0].Entry("table.t", "t", "table t")
	below.Beside = true
	key := below.Section("row key")
	key.Add(document.Part{Key: &document.Key{
		Example: document.Bytes{Show: `"a\n#42"`, Hex: "610a233432"}, Delimiter: "#",
		Segments: []document.Segment{{Means: "name: a string", Example: document.Bytes{Hex: "610a"}}, {Means: "a number", Example: document.Bytes{Hex: "3432"}}},
	}})
	long := "a key that is longer than a line of sixty columns, and thus has no braces below it"
	below.Section("long key").Add(document.Part{Key: &document.Key{
		Example:  document.Bytes{Show: long, Hex: hex.EncodeToString([]byte(long))},
		Segments: []document.Segment{{Means: "text: " + long, Example: document.Bytes{Hex: hex.EncodeToString([]byte(long))}}},
	}})
	numbers := below.Section("numbers")
	t := numbers.Table(document.Plain.Column(""), document.Number.Column("bytes"), document.Muted.Column("meaning"), document.Warning.Column(""))
	t.Row(map[string]int{"bytes": 12}, "one | two", "12 B", "line 1\nline 2", "K01, K02").Style = document.Chosen
	t.Row(nil, "three", "1,234 B", "a text that does not fit in the rest of a line of sixty columns, and is wrapped", "")
	t.Row(nil, "four", "no: it is impossible, for a reason that spans the columns").Style = document.Refused
	grouped := numbers.Table(document.Code.Column("key"), document.Code.Column("column"), document.Plain.Column("value"), document.Muted.Column("meaning"))
	grouped.Grouped, grouped.Shown, grouped.More = 2, 3, "… and 1 more row"
	for _, cells := range [][]string{{"k1", "f:a", "1", "first"}, {"k1", "f:a", "2", "second"}, {"k2", "f:a", "3", ""}, {"k2", "f:b", "4", ""}} {
		grouped.Row(nil, cells...)
	}
	numbers.Add(document.Part{Code: []string{"tables:", "  t: {}"}})
	numbers.Add(document.Part{Pictures: &document.Pictures{Note: "A square.", All: []document.Picture{
		{Title: "A & B", Caption: []string{"two <lines>", "of text"}, Style: document.Chosen, Width: 20, Height: 10, SVG: "<rect class=\"row\" width=\"20\" height=\"10\"/>\n"},
	}}})
	return &d
}

// TestContents checks that a document with a single section has no table of contents.
func TestContents(t *testing.T) {
	d := example()
	d.Sections = d.Sections[:1]
	if strings.Contains(d.Markdown(""), "](#") || bytes.Contains(d.HTML(), []byte("href=\"#")) {
		t.Error(d.Markdown(""))
	}
}

// TestPictureLinks checks that links to pictures are links whatever the name of the file is.
func TestPictureLinks(t *testing.T) {
	assert.Contains(t, "](my%20design%20%281%29.", example().Markdown("my design (1)"))
}

// TestViews compares the views of a document with reviewed ones; -update rewrites them.
func TestViews(t *testing.T) {
	d := example()
	data, err := d.JSON()
	assert.Must(t, err)
	page := strings.Replace(string(d.HTML()), document.PageStyle(), "", 1)
	files := map[string]string{
		"text": d.Text(document.TextOptions{Width: 60}), "color": d.Text(document.TextOptions{Width: 60, Color: true}),
		"md": d.Markdown("pictures"), "html": page, "json": string(data),
	}
	assert.Same(t, files["text"], ansi.ReplaceAllString(files["color"], ""))
	for name, picture := range d.Pictures("pictures") {
		assert.Contains(t, "("+name+")", files["md"], name)
		files["svg"] = string(picture)
	}
	for name, got := range files {
		golden(t, "example."+name, got)
	}
}
