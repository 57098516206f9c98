package explain

import (
	"slices"
	"strconv"

	"github.com/btgen-dev/btgen/gen/words"
)

// How much the renderings for people show of what may be long. JSON has it all.
const (
	shownRows     = 12 // example rows
	shownRequests = 2  // requests of a read
	shownRanges   = 3  // ranges or keys of a request
	shownFields   = 8  // fields of an example event
)

// eventHead are the heads of the columns of the example events.
func eventHead(t *Table) []string {
	out := []string{"time"}
	e := &t.Events[0]
	if e.Sequence != nil {
		out = append(out, "sequence")
	}
	for _, v := range e.Values[:min(len(e.Values), shownFields)] {
		name := v.Field
		if v.Unit != "" && v.Unit != v.Field {
			name += ", " + v.Unit
		}
		out = append(out, name)
	}
	if n := len(e.Values) - shownFields; n > 0 {
		out = append(out, words.Count(float64(n), "more field", "more fields"))
	}
	for _, said := range sayings {
		if said.isSaid(t) {
			out = append(out, said.name)
		}
	}
	return out
}

// eventRow is the columns of an example event.
func eventRow(t *Table, e *Event) []string {
	out := []string{e.Time}
	if e.Sequence != nil {
		out = append(out, strconv.Itoa(int(*e.Sequence)))
	}
	for _, v := range e.Values[:min(len(e.Values), shownFields)] {
		if v.None {
			v.Text = none
		}
		out = append(out, v.Text)
	}
	if len(e.Values) > shownFields {
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

// none is shown for what an event lacks.
const none = "–"

// saying is what an event may say of its time to live.
type saying struct {
	name string
	of   func(e *Event) string
}

// sayings are what events may say.
var sayings = []saying{
	{"class", func(e *Event) string { return e.Class }},
	{"lives", func(e *Event) string { return e.TTL }},
	{"expires at", func(e *Event) string { return e.ExpiresAt }},
}

// isSaid reports whether an event of the table says it.
func (s saying) isSaid(t *Table) bool {
	return slices.ContainsFunc(t.Events, func(e Event) bool { return s.of(&e) != "" })
}
