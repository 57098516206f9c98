package explain

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/words"
)

//go:embed page.html
var page string

// pageTemplate is the page of a document. It is self-contained.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"contents":       func(doc Document) []heading { return contents(&doc) },
	"anchor":         func(s Schema, parts ...string) string { return s.anchor(parts...) },
	"load":           func(s Schema) string { return loadWords(&s.Load) },
	"drawKey":        func(t Table) keyPicture { return drawKey(&t) },
	"drawPanels":     func(t Table) []panel { return drawPanels(&t) },
	"drawGrowth":     func(t Table) *chart { return drawGrowth(&t) },
	"segment":        segmentText,
	"paintOf":        func(i int) int { return i % len(segmentPaints) },
	"splits":         splitWords,
	"eventHead":      func(t Table) []string { return eventHead(&t, shownFields) },
	"eventRow":       func(t Table, e Event) []string { return eventRow(&t, &e, shownFields) },
	"shown":          func(rows []Row) []Row { return rows[:min(len(rows), shownRows)] },
	"hidden":         func(rows []Row) string { return furtherRows(len(rows) - shownRows) },
	"cellTexts":      func(c Stored) [2]string { value, means := cellTexts(&c); return [2]string{value, means} },
	"sizeRows":       func(t Table) []sizeRow { return sizeRows(&t.Size) },
	"last":           func(cells []Stored) int { return len(cells) - 1 },
	"notSimulated":   func() string { return notSimulated },
	"orDash":         shown,
	"sizes":          func(r Range) string { return words.Sizes(r.Lower, r.Upper) },
	"number":         words.Number,
	"count":          func(n int64) string { return words.Number(float64(n)) },
	"choice":         func(c Choice) string { return choiceName(&c) },
	"rules":          func(c Choice) string { return ruleNames(&c) },
	"reason":         func(c Choice) string { return reason(&c) },
	"notes":          notes,
	"facts":          func(r Read) []fact { return facts(&r) },
	"title":          title,
	"heatName":       func(h Heat) string { return heatName(&h) },
	"heatWords":      func(h Heat) string { return heatWords(&h) },
	"seen":           func(h Heat) string { return seen(&h) },
	"drawHeat":       func(h Heat) []heatRect { return drawHeat(&h) },
	"heatNote":       func(t Table) string { return heatNote(&t) },
	"heatSize":       func() [2]float64 { return [2]float64{heatWidth, heatHeight} },
	"levels":         func() []int { return []int{1, 2, 3, 4, 5, 6, 7, 8, 9} },
	"capacityRows":   func(s Schema) []capacityRow { return capacityRows(&s.Capacity) },
	"capacityNotes":  func(s Schema) []string { return capacityNotes(&s.Capacity) },
	"nodeHead":       func(s Schema) []string { return nodeHead(&s.Capacity) },
	"nodeRow":        func(s Schema, i int) []string { return nodeRow(&s.Capacity, &s.Capacity.Nodes[i]) },
	"figures":        func() string { return capacity.Source },
	"estimateNote":   func() string { return estimateNote },
	"when":           func(p Period) string { return p.when() },
	"writeOnlyNote":  func() string { return writeOnlyNote },
	"periodNote":     func() string { return periodNote },
	"collectionNote": func() string { return collectionNote },
	"choicesTitle":   func() string { return title(choicesTitle) },
	"yearTitle":      func() string { return title(yearTitle) },
	"yearChoices":    func(t Table) []*Choice { return yearChoices(&t) },
	"yearHead":       func(t Table) []string { return yearHead(&t) },
	"yearRow":        yearRow,
	"yearNote":       func(s Schema, t Table) string { return yearNote(&s, &t) },
	"yearSource":     func() string { return yearSource },
	"cheaperTitle":   func() string { return title(cheaperTitle) },
}).Parse(page))

// title begins a text with a capital letter.
func title(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// furtherRows says how many example rows are not shown; empty if none.
func furtherRows(n int) string {
	if n <= 0 {
		return ""
	}
	return "… and " + words.Count(float64(n), "more row", "more rows")
}

// HTML renders a document as a self-contained file with pictures, in the reader's light
// or dark mode.
func HTML(doc Document) ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, doc); err != nil {
		return nil, err
	}
	return words.LogHTML(b.Bytes()), nil
}

// Body renders a document as the contents of the body of [HTML], for pages that show more beside it. They
// need [Style].
func Body(doc Document) (template.HTML, error) {
	var b bytes.Buffer
	err := pageTemplate.ExecuteTemplate(&b, "body", doc)
	return template.HTML(b.String()), err
}

// Style returns the style of [HTML] and [Body], as CSS.
func Style() string {
	_, text, _ := strings.Cut(page, "<style>")
	text, _, _ = strings.Cut(text, "</style>")
	return text
}
