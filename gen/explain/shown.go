package explain

import (
	"slices"
	"strconv"

	"github.com/btgen-dev/btgen/gen/words"
)

// How much the formats for people show. JSON contains everything.
const (
	shownRows     = 12 // example rows
	shownRequests = 2  // requests of a read
	shownRanges   = 3  // ranges or keys of a request
	shownFields   = 8  // fields of an example event
)

// eventHead returns the column headings of the example events, with some of their fields.
func eventHead(t *Table, fields int) []string {
	out := []string{"time"}
	e := &t.Events[0]
	if e.Sequence != nil {
		out = append(out, "sequence")
	}
	for _, v := range e.Values[:min(len(e.Values), fields)] {
		name := v.Field
		if v.Unit != "" && v.Unit != v.Field {
			name += ", " + v.Unit
		}
		out = append(out, name)
	}
	if n := len(e.Values) - fields; n > 0 {
		out = append(out, words.Count(float64(n), "more field", "more fields"))
	}
	for _, said := range sayings {
		if said.isSaid(t) {
			out = append(out, said.name)
		}
	}
	return out
}

// eventRow returns the columns of an example event, with some of its fields.
func eventRow(t *Table, e *Event, fields int) []string {
	out := []string{e.Time}
	if e.Sequence != nil {
		out = append(out, strconv.Itoa(int(*e.Sequence)))
	}
	for _, v := range e.Values[:min(len(e.Values), fields)] {
		if v.None {
			v.Text = none
		}
		out = append(out, v.Text)
	}
	if len(e.Values) > fields {
		out = append(out, "…")
	}
	for _, said := range sayings {
		if !said.isSaid(t) {
			continue
		}
		text := said.of(e)
		if text == "" {
			text = none
		}
		out = append(out, text)
	}
	return out
}

// none is shown for a missing value.
const none = "–"

// saying is a value of an event about its time to live.
type saying struct {
	name string
	of   func(e *Event) string
}

// sayings are the values about the time to live.
var sayings = []saying{
	{"class", func(e *Event) string { return e.Class }},
	{"TTL", func(e *Event) string { return e.TTL }},
	{"expires at", func(e *Event) string { return e.ExpiresAt }},
}

// isSaid reports whether an event of the table has the value.
func (s saying) isSaid(t *Table) bool {
	return slices.ContainsFunc(t.Events, func(e Event) bool { return s.of(&e) != "" })
}
