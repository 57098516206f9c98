package explain

import (
	"bytes"
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// Comparison is two designs side by side. Facts that differ come first.
type Comparison struct {
	Version int    `json:"btgen_comparison"`
	A       string `json:"a"` // file names
	B       string `json:"b"`
	Facts   []Fact `json:"facts"`
}

// Fact is a property of two designs. A design without it has an empty text.
type Fact struct {
	What    string `json:"what"`
	A       string `json:"a"`
	B       string `json:"b"`
	Differs bool   `json:"differs"`
}

// Compare compares two schemas. Their tables are matched by ID or, if each has one table, with
// each other; reads are matched by method.
func Compare(a, b *Schema) Comparison {
	single := len(a.Tables) == 1 && len(b.Tables) == 1
	left, right := factsOf(a, single), factsOf(b, single)
	out := Comparison{Version: Version, A: a.File, B: b.File, Facts: []Fact{}}
	var names []string
	values := map[string]*Fact{}
	for i, side := range [][]setting{left, right} {
		for _, fact := range side {
			f, known := values[fact[0]]
			if !known {
				f = &Fact{What: fact[0]}
				values[fact[0]] = f
				names = append(names, fact[0])
			}
			if i == 0 {
				f.A = fact[1]
			} else {
				f.B = fact[1]
			}
		}
	}
	for _, name := range names {
		f := *values[name]
		f.Differs = f.A != f.B
		out.Facts = append(out.Facts, f)
	}
	slices.SortStableFunc(out.Facts, func(a, b Fact) int {
		switch {
		case a.Differs == b.Differs:
			return 0
		case a.Differs:
			return -1
		}
		return 1
	})
	return out
}

// factsOf lists the properties of a schema as pairs of a name and a text. The names of those
// of a table contain its ID unless it is the single one.
func factsOf(s *Schema, single bool) []setting {
	out := append([]setting{{"load", loadWords(&s.Load)}}, s.settings...)
	for i := range s.Tables {
		t := &s.Tables[i]
		of := ""
		if !single {
			of = " of " + t.ID
		}
		for _, fact := range tableFacts(t) {
			out = append(out, setting{fact[0] + of, fact[1]})
		}
	}
	for i := range s.Reads {
		out = append(out, setting{s.Reads[i].Method, expectedWords(&s.Reads[i])})
		if t := s.Reads[i].Tier; t != nil {
			out = append(out, setting{s.Reads[i].Method + " tiers", t.Means})
		}
	}
	return append(out, capacityFacts(s)...)
}

// tableFacts lists the properties of a table.
func tableFacts(t *Table) []setting {
	chosen := &t.Choices[0]
	facts := []setting{{"pattern", choiceName(chosen)}}
	facts = append(append(facts, t.settings...), setting{"findings", ruleNames(chosen)})
	for _, row := range sizeRows(&t.Size) {
		facts = append(facts, setting{row.What, row.Bytes + ": " + row.Means})
	}
	if y := chosen.Year; y != nil {
		row := yearRow(chosen)
		facts = append(facts, setting{"stored after a year", strings.Join(slices.DeleteFunc(row[1:], func(text string) bool { return text == "–" }), ", a month then costs ")})
	}
	return facts
}

// capacityFacts lists what a schema needs.
func capacityFacts(s *Schema) []setting {
	var out []setting
	for _, row := range capacityRows(&s.Capacity) {
		name := row.What
		if row.What == "storage" {
			name, _, _ = strings.Cut("storage "+row.Means, ", from")
			name, _, _ = strings.Cut(name, ";")
		} else if _, isRead := named(s, row.What); isRead {
			name += " calls"
		}
		out = append(out, setting{name, row.Value + ": " + row.Means})
	}
	head := nodeHead(&s.Capacity)
	for i := range s.Capacity.Nodes {
		row := nodeRow(&s.Capacity, &s.Capacity.Nodes[i])
		var parts []string
		for i, text := range row[1:] {
			parts = append(parts, head[i+1]+" "+text)
		}
		out = append(out, setting{row[0] + " nodes", strings.Join(parts, ", ")})
	}
	return out
}

// named returns the declared read of a method.
func named(s *Schema, method string) (int, bool) {
	for i := range s.Capacity.Reads {
		if s.Capacity.Reads[i].Method == method {
			return i, true
		}
	}
	return 0, false
}

// split returns how many facts differ.
func (c *Comparison) split() int {
	for i := range c.Facts {
		if !c.Facts[i].Differs {
			return i
		}
	}
	return len(c.Facts)
}

// shown writes a fact that a design may lack.
func shown(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// Text renders a comparison in aligned lines.
func (c *Comparison) Text(o TextOptions) string {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	w := textWriter{style: style{o.Color}, width: max(o.Width, leastWidth)}
	n := c.split()
	for _, part := range []struct {
		title string
		facts []Fact
	}{{words.Count(float64(n), "difference", "differences"), c.Facts[:n]}, {"the same in both", c.Facts[n:]}} {
		if part.title != "" && (len(part.facts) > 0 || n == 0) {
			w.heading(part.title)
		}
		g := w.grid()
		if len(part.facts) > 0 && part.facts[0].Differs {
			g.add(cell{}, cell{text: c.A, paint: bold}, cell{text: c.B, paint: bold})
		}
		for _, f := range part.facts {
			row := []cell{{text: f.What, paint: dim}, {text: shown(f.A)}}
			if f.Differs {
				row = append(row, cell{text: shown(f.B)})
			}
			g.add(row...)
		}
		g.write(&w.b, "    ")
	}
	return strings.TrimPrefix(w.b.String(), "\n")
}

// Markdown renders a comparison as GitHub Flavored Markdown.
func (c *Comparison) Markdown() string {
	w := markdownWriter{anchors: map[string]string{}, taken: map[string]bool{}}
	n := c.split()
	w.heading(1, "", words.Count(float64(n), "difference", "differences"))
	var rows [][]string
	for _, f := range c.Facts[:n] {
		rows = append(rows, []string{markdown(f.What), markdown(shown(f.A)), markdown(shown(f.B))})
	}
	w.table([]string{"", code(c.A), code(c.B)}, rows)
	w.line("")
	w.heading(1, "", "The same in both")
	rows = nil
	for _, f := range c.Facts[n:] {
		rows = append(rows, []string{markdown(f.What), markdown(shown(f.A))})
	}
	w.table([]string{"", ""}, rows)
	return w.b.String()
}

// JSON renders a comparison as indented JSON.
func (c *Comparison) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return nil, err
	}
	return words.LogJSON(b.Bytes()), nil
}

// comparisonTemplate is the page of a comparison, with the style of that of a document.
var comparisonTemplate = template.Must(template.Must(pageTemplate.Clone()).New("comparison").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.A}} and {{.B}}</title>
{{template "style"}}
</head>
<body>
<h1>{{.Count}}</h1>
<table class="compared"><thead><tr><th></th><th>{{.A}}</th><th>{{.B}}</th></tr></thead><tbody>
{{range .Different}}<tr><td class="muted">{{.What}}</td><td class="break" data-of="{{$.A}}">{{orDash .A}}</td><td class="break" data-of="{{$.B}}">{{orDash .B}}</td></tr>
{{end}}</tbody></table>
<h1>The same in both</h1>
<table class="compared"><tbody>
{{range .Same}}<tr><td class="muted">{{.What}}</td><td class="break">{{orDash .A}}</td></tr>
{{end}}</tbody></table>
</body>
</html>
`))

// HTML renders a comparison as a self-contained file.
func (c *Comparison) HTML() ([]byte, error) {
	n := c.split()
	var b bytes.Buffer
	err := comparisonTemplate.Execute(&b, struct {
		A, B, Count     string
		Different, Same []Fact
	}{c.A, c.B, words.Count(float64(n), "difference", "differences"), c.Facts[:n], c.Facts[n:]})
	if err != nil {
		return nil, err
	}
	return words.LogHTML(b.Bytes()), nil
}
