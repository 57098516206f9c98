// Package document is a tree of sections with paragraphs, tables, drawings of keys, lines to paste, and pictures.
// Text, Markdown, HTML and JSON are views of it. It knows nothing of schemas: package explain fills it.
package document

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// Version is the version of the JSON format. Within a version, fields may be added, but
// not renamed or removed.
const Version = 2

// Document is a list of sections. There are up to three levels of them.
type Document struct {
	Version  int        `json:"btgen_explain"` // [Version]
	Title    string     `json:"title"`
	Sections []*Section `json:"sections"`
}

// New returns an empty document.
func New() Document { return Document{Version: Version, Sections: []*Section{}} }

// Section is a section of a document.
type Section struct {
	ID       string     `json:"id"` // unique in a document
	Title    string     `json:"title"`
	Name     string     `json:"name,omitempty"` // in the contents; empty if they omit the section
	Parts    []Part     `json:"parts,omitempty"`
	Sections []*Section `json:"sections,omitempty"` // below this one
	// Beside reports whether wide pages show Sections next to each other.
	Beside bool `json:"beside,omitempty"`
}

// Part is a part of a section. Exactly one of its fields is set.
type Part struct {
	Paragraph *Paragraph `json:"paragraph,omitempty"`
	Table     *Table     `json:"table,omitempty"`
	Key       *Key       `json:"key,omitempty"`
	Code      []string   `json:"code,omitempty"` // lines to paste
	Pictures  *Pictures  `json:"pictures,omitempty"`
}

// Paragraph is a text.
type Paragraph struct {
	Text   string `json:"text"`
	Style  Style  `json:"style,omitempty"`
	Source string `json:"source,omitempty"` // address of Google's page about it
}

// Style says how a text looks.
type Style string

// The styles. Number, Code and Time are of columns only, Chosen and Refused of rows and pictures.
const (
	Plain   Style = ""
	Muted   Style = "muted" // explains something else
	Number  Style = "number"
	Code    Style = "code"
	Time    Style = "time"
	Warning Style = "warning"
	Chosen  Style = "chosen"
	Refused Style = "refused"
)

// Table is a table of texts.
type Table struct {
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Grouped is the number of first columns whose cells people see only where they differ from the row before.
	Grouped int `json:"grouped,omitempty"`
	// Shown is how many rows people see, and More says what is missing; 0 for all.
	Shown int    `json:"shown,omitempty"`
	More  string `json:"more,omitempty"`
}

// Column is a column of a table.
type Column struct {
	Name  string `json:"name"` // the heading; empty if it needs none
	Style Style  `json:"style,omitempty"`
}

// Column returns a column in the style.
func (s Style) Column(name string) Column { return Column{name, s} }

// Row is a row of a table.
type Row struct {
	// Cells may have several lines. If there are fewer cells than columns, the last spans the rest.
	Cells []string `json:"cells"`
	Style Style    `json:"style,omitempty"`
	// Data is what the cells show, as numbers and bytes. Bytes are in hex.
	Data any `json:"data,omitempty"`
}

// Key is a row key that is drawn with its segments.
type Key struct {
	Example   Bytes     `json:"example"`
	Delimiter string    `json:"delimiter"`
	Segments  []Segment `json:"segments"`
}

// Segment is a segment of a row key.
type Segment struct {
	Name    string `json:"name"`
	Means   string `json:"means"`
	Example Bytes  `json:"example"`
	// Joined is set if the next segment follows directly, without the delimiter.
	Joined bool `json:"joined,omitempty"`
}

// Bytes are bytes that Bigtable stores.
type Bytes struct {
	// Show is the bytes as text, quoted as in Go if they are not printable, or in
	// hex after 0x if they are binary.
	Show string `json:"show"`
	Hex  string `json:"hex"`
}

// Pictures are drawings for pages, and for files next to Markdown.
type Pictures struct {
	Note string    `json:"note"` // what they show
	All  []Picture `json:"all"`
}

// Picture is a drawing.
type Picture struct {
	Title   string   `json:"title"`
	Caption []string `json:"caption"` // lines
	Style   Style    `json:"style,omitempty"`
	Width   float64  `json:"width"` // in pixels
	Height  float64  `json:"height"`
	SVG     string   `json:"svg"` // the elements
}

// Add adds a part.
func (s *Section) Add(p Part) { s.Parts = append(s.Parts, p) }

// Say adds a paragraph, unless it is empty. Line breaks and tabs become spaces.
func (s *Section) Say(text string) { s.add(Paragraph{Text: text}) }

// Note is Say for an explanation of what is above.
func (s *Section) Note(text string) { s.add(Paragraph{Text: text, Style: Muted}) }

// Cite is Note with the address of its source.
func (s *Section) Cite(text, source string) { s.add(Paragraph{text, Muted, source}) }

func (s *Section) add(p Paragraph) {
	lineBreak := func(r rune) bool { return r == '\n' || r == '\t' }
	if p.Text = strings.Join(strings.FieldsFunc(p.Text, lineBreak), " "); p.Text != "" {
		s.Add(Part{Paragraph: &p})
	}
}

// Table adds a table and returns it.
func (s *Section) Table(columns ...Column) *Table {
	t := &Table{Columns: columns, Rows: []Row{}}
	s.Add(Part{Table: t})
	return t
}

// Columns returns columns with headings and the same style.
func Columns(style Style, names ...string) []Column {
	var out []Column
	for _, name := range names {
		out = append(out, Column{name, style})
	}
	return out
}

// Row adds a row and returns it.
func (t *Table) Row(data any, cells ...string) *Row {
	t.Rows = append(t.Rows, Row{Cells: cells, Data: data})
	return &t.Rows[len(t.Rows)-1]
}

// DropEmpty removes the columns whose cells are all empty. All rows have all cells.
func (t *Table) DropEmpty() {
	for c := len(t.Columns) - 1; c >= 0; c-- {
		if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[c] != "" }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, c, c+1)
		for i := range t.Rows {
			t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, c, c+1)
		}
	}
}

// Section adds a section that the contents omit.
func (s *Section) Section(title string) *Section {
	out := &Section{ID: s.ID + "+" + Anchor(title), Title: title}
	s.Sections = append(s.Sections, out)
	return out
}

// Entry adds a section with a name in the contents. Its ID is id below that of s.
func (s *Section) Entry(id, name, title string) *Section {
	out := &Section{ID: s.ID + "." + Anchor(id), Name: name, Title: title}
	s.Sections = append(s.Sections, out)
	return out
}

// Anchor returns a text as a part of an ID.
func Anchor(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
}

// headed reports whether columns have headings.
func (t *Table) headed() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name != "" })
}

// shown returns the rows that people see.
func (t *Table) shown() []Row {
	all := t.Rows
	if t.Shown > 0 && len(all) > t.Shown {
		all = append(all[:t.Shown:t.Shown], Row{Cells: []string{t.More}, Style: Muted})
	}
	out := make([]Row, len(all))
	for i, row := range all {
		out[i] = row
		out[i].Cells = slices.Clone(row.Cells)
		for c := 0; i > 0 && c < t.Grouped && c < len(row.Cells) && row.Cells[c] == all[i-1].Cells[c]; c++ {
			out[i].Cells[c] = ""
		}
	}
	return out
}

// view writes the parts of sections in a format.
type view interface {
	begin(s *Section, level int)
	paragraph(p *Paragraph)
	table(t *Table)
	key(k *Key)
	code(lines []string)
	pictures(s *Section, p *Pictures)
	end(s *Section)
}

// walk writes a section of a level, from 1.
func walk(v view, s *Section, level int) {
	v.begin(s, level)
	for i := range s.Parts {
		switch p := &s.Parts[i]; {
		case p.Paragraph != nil:
			v.paragraph(p.Paragraph)
		case p.Table != nil:
			v.table(p.Table)
		case p.Key != nil:
			v.key(p.Key)
		case p.Code != nil:
			v.code(p.Code)
		default:
			v.pictures(s, p.Pictures)
		}
	}
	for _, below := range s.Sections {
		walk(v, below, level+1)
	}
	v.end(s)
}

// walk writes all sections of a document.
func (d *Document) walk(v view) {
	for _, s := range d.Sections {
		walk(v, s, 1)
	}
}

// contents reports whether the document begins with a table of contents: a single schema needs none.
func (d *Document) contents() bool { return len(d.Sections) > 1 && d.Sections[0].Name != "" }

// title begins a text with a capital letter.
func title(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// JSON renders a document as indented JSON.
func (d *Document) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return words.LogJSON(b.Bytes()), nil
}
