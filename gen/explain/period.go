package explain

import (
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Period explains one of several layouts of a table: that of the events in a time range.
type Period struct {
	From    string `json:"from,omitempty"`  // time of the first event; empty in the oldest
	Until   string `json:"until,omitempty"` // time after the last event; empty in the newest
	Table   string `json:"table"`
	Pattern string `json:"pattern"`
	Family  string `json:"family"` // the first, if there are several
	Form    string `json:"form"`   // of the row key
	Means   string `json:"means"`  // of the bucket or the time in the key
	Example Bytes  `json:"example"`
}

// periodsOf explains the layouts of a table, newest first; nil if there is only one.
func periodsOf(l *layout.Layout, t *layout.Table) []Period {
	if len(t.Older) == 0 {
		return nil
	}
	var out []Period
	for _, p := range t.Periods() {
		period := Period{
			From: instant(p.Since), Until: instant(p.Until), Table: p.ID, Pattern: p.Pattern.String(),
			Form: sample.ShowKey(p.Key.String()), Example: bytesOf(sample.Key(l, p)),
		}
		for _, g := range p.Segments {
			if g.Kind == codec.BucketSegment || g.Kind == codec.TimeSegment {
				period.Means = prose.Means(l, p, g)
			}
		}
		if len(p.Families) > 0 {
			period.Family = p.Families[0].Name
		}
		out = append(out, period)
	}
	return out
}

// instant returns a time in the form of schemas; empty for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return schema.FormatInstant(t)
}

// periodNote explains what several layouts mean.
const periodNote = "The time of an event determines its layout, no matter when it is written. Reads continue from one layout to the next."

// when describes the events with the layout.
func (p *Period) when() string {
	switch {
	case p.From == "":
		return "before " + p.Until
	case p.Until == "":
		return "since " + p.From
	}
	return p.From + " to " + p.Until
}

// periods writes the layouts of a table with several.
func (w *textWriter) periods(t *Table) {
	if t.Periods == nil {
		return
	}
	w.heading("layouts by event time")
	g := w.grid()
	for i, p := range t.Periods {
		mark := "│"
		if i == 0 {
			mark = "▲"
		}
		g.add(cell{text: mark + " " + p.when()}, cell{text: p.Pattern + " in " + p.Table + ":" + p.Family}, cell{text: p.Means, paint: dim})
		g.add(cell{text: "│"}, cell{text: p.Form}, cell{text: p.Example.Show})
	}
	g.write(&w.b, "    ")
	w.wrapped("    ", plain, periodNote)
}

// periods writes the layouts of a table with several.
func (w *markdownWriter) periods(t *Table) {
	if t.Periods == nil {
		return
	}
	w.section("Layouts by event time")
	var rows [][]string
	for _, p := range t.Periods {
		rows = append(rows, []string{p.when(), code(p.Pattern) + " in " + code(p.Table+":"+p.Family), code(p.Form), markdown(p.Means), code(p.Example.Show)})
	}
	w.table([]string{"events", "layout", "row key", "time in the key", "example"}, rows)
	w.paragraph(periodNote)
}
