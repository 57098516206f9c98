package explain

import (
	"bytes"
	_ "embed"
	"html/template"

	"github.com/btgen-dev/btgen/gen/words"
)

//go:embed page.html
var page string

// pageTemplate is the page of a document. It needs nothing but itself.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"load":         func(s Schema) string { return loadWords(&s.Load) },
	"drawKey":      func(t Table) keyPicture { return drawKey(&t) },
	"drawPanels":   func(t Table) []panel { return drawPanels(&t) },
	"drawGrowth":   func(t Table) *chart { return drawGrowth(&t) },
	"segment":      func(s Segment) string { return segmentText(s) },
	"paintOf":      func(i int) int { return i % len(segmentPaints) },
	"eventHead":    func(t Table) []string { return eventHead(&t) },
	"eventRow":     func(t Table, e Event) []string { return eventRow(&t, &e) },
	"shown":        func(rows []Row) []Row { return rows[:min(len(rows), shownRows)] },
	"hidden":       func(rows []Row) int { return max(0, len(rows)-shownRows) },
	"cellTexts":    func(c Stored) [2]string { value, means := cellTexts(&c); return [2]string{value, means} },
	"sizeRows":     func(t Table) []sizeRow { return sizeRows(&t.Size) },
	"last":         func(cells []Stored) int { return len(cells) - 1 },
	"sizes":        func(r Range) string { return words.Sizes(r.Lower, r.Upper) },
	"number":       words.Number,
	"count":        func(n int64) string { return words.Number(float64(n)) },
	"choice":       func(c Choice) string { return choiceName(&c) },
	"rules":        func(c Choice) string { return ruleNames(&c) },
	"notes":        notes,
	"given":        orAll,
	"example":      func(r Read) string { return exampleWords(&r) },
	"expected":     func(r Read) string { return expectedWords(&r) },
	"requests":     func(r Read) []Request { return r.Requests[:min(len(r.Requests), shownRequests)] },
	"moreRequests": func(r Read) string { return furtherRequests(&r) },
	"asked":        func(r Request) []string { return rowsWords(&r) },
	"estimateNote": func() string { return estimateNote },
	"choicesNote":  func() string { return choicesNote },
}).Parse(page))

// HTML renders a document as one file with its pictures, in light or dark as the
// reader has it.
func HTML(doc Document) ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, doc); err != nil {
		return nil, err
	}
	return words.LogHTML(b.Bytes()), nil
}

// furtherRequests says how many requests of a read are not shown; empty if none.
func furtherRequests(r *Read) string {
	if n := len(r.Requests) - shownRequests; n > 0 {
		return moreRequests(n)
	}
	return ""
}
