package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The numbers of example events in a bucket and in the next one.
const (
	exampleEvents     = 3
	moreExampleEvents = 1
)

// How much people see. Data contains everything.
const (
	shownRows     = 12 // example rows
	shownFields   = 6  // fields of an example event
	shownValue    = 64 // characters of the value of a cell
	shownRequests = 2  // requests of a read
	shownRanges   = 3  // ranges or keys of a request
)

// none is shown for a missing value.
const none = "–"

// examples shows example events and the rows in which they are stored.
func examples(of *document.Section, l *layout.Layout, t *layout.Table) {
	events := sample.Events(l, t, exampleEvents, moreExampleEvents)
	rows := sample.Rows(l, t, events)
	if len(rows) == 0 {
		of.Section("example rows").Say("None: the table cannot store the time of the example.")
		return
	}
	eventTable(of.Section("example events"), l, events)
	out := of.Section("example rows")
	table := out.Table(document.Code.Column("row key"), document.Code.Column("column"), document.Time.Column("timestamp"),
		document.Code.Column("value"), document.Muted.Column("meaning"))
	table.Grouped = 2
	naming := t.Pattern.Naming()
	for i, row := range rows {
		for _, c := range row.Cells {
			readable := sample.Readable(l, t, c.Column)
			name := shown(c.Qualifier, naming == codec.NamedByField || naming == codec.NamedByValue && readable)
			addCell(table, t, row.Key, c, name, shown(string(c.Value), readable), meaning(l, t, c, &events[c.Event]))
		}
		if in := eventsIn(&row, events); t.Rollup != nil && in != nil {
			ended := len(rows) == 1 || t.Bucket.Start(in[0].Time).Before(t.Bucket.Start(events[len(events)-1].Time))
			c, value, means := rollupCell(l, t, in, ended)
			addCell(table, t, row.Key, c, shown(c.Qualifier, true), value, means)
		}
		if i == shownRows-1 && len(rows) > shownRows {
			table.Shown = len(table.Rows)
			table.More = "… and " + count(len(rows)-shownRows, "more row")
		}
	}
	if t.Rollup != nil {
		out.Note("In family " + t.Rollup.Family + `, cells whose names begin with m are marks. A d marks a deletion of expired
			events, and has the times that were deleted. An r is a run: the windows of the bucket, and in its name the number
			of marks and deletions that it and the runs before it have replaced.`)
	}
}

// eventTable shows events: their times, what decides when they expire, and their first fields.
func eventTable(of *document.Section, l *layout.Layout, events []sample.Event) {
	table := of.Table(document.Columns(document.Plain, "time", "sequence", "class", "TTL", "expires at")...)
	shown := l.Fields[:min(len(l.Fields), shownFields)]
	for i := range shown {
		name, unit := l.Fields[i].Name, oneLine(l.Fields[i].Unit)
		if unit != "" && unit != name {
			name += ", " + unit
		}
		table.Columns = append(table.Columns, document.Column{Name: name})
	}
	if n := len(l.Fields) - len(shown); n > 0 {
		table.Columns = append(table.Columns, document.Column{Name: count(n, "more field")})
	}
	for i := range events {
		cells := expiryCells(l, &events[i])
		values := map[string]string{}
		for n, v := range events[i].Values {
			text := none
			if v != nil {
				text = sample.ShowValue(&l.Fields[n], v)
				values[l.Fields[n].Name] = text
			}
			if n < len(shown) {
				cells = append(cells, words.Excerpt(text, longKey))
			}
		}
		if len(l.Fields) > len(shown) {
			cells = append(cells, "…")
		}
		table.Row(values, cells...)
	}
	table.DropEmpty()
}

// expiryCells shows the time of an event, its sequence number, and what decides when it expires.
func expiryCells(l *layout.Layout, e *sample.Event) []string {
	out := []string{showTime(e.Time), "", "", "", ""}
	if l.Sequence {
		out[1] = strconv.Itoa(int(e.Sequence))
	}
	if e.Class > 0 {
		out[2] = l.Classes[e.Class-1]
	}
	if e.TTL > 0 {
		out[3] = schema.FormatDuration(e.TTL)
	}
	if !e.ExpiresAt.IsZero() {
		out[4] = showTime(e.ExpiresAt)
	}
	return out
}

// stored is the data of a cell of an example row.
type stored struct {
	Key       string `json:"key"` // in hex, as are qualifier and value
	Family    string `json:"family"`
	Qualifier string `json:"qualifier"`
	Micros    int64  `json:"timestamp_micros"`
	Value     string `json:"value"`
	Event     int    `json:"event"` // index of the example event; -1 for a cell of a rollup
}

// addCell adds a cell of an example row of a table, with its name and value as they are shown.
func addCell(to *document.Table, t *layout.Table, key string, c sample.Cell, name, value, means string) {
	switch {
	case len(c.Value) == 0:
		value = "(empty)"
	case strings.HasSuffix(means, " "+value):
		means = ""
	case words.Width(value) > shownValue:
		value = string([]rune(value)[:shownValue]) + "…"
	}
	family := t.AllFamilies()[c.Family].Name
	to.Row(stored{inHex(key), family, inHex(c.Qualifier), c.Micros, inHex(string(c.Value)), c.Event},
		sample.ShowKey(key), family+":"+name, showTime(codec.FromMicros(c.Micros)), value, means)
}

// meaning says what a cell contains.
func meaning(l *layout.Layout, t *layout.Table, c sample.Cell, e *sample.Event) string {
	column := t.Columns[c.Column]
	text := ""
	switch column.Field {
	case layout.WrittenAt:
		return "written at " + showTime(e.WrittenAt)
	case layout.WholeEvent:
		text = sample.ShowEvent(l, e)
	default:
		f := &l.Fields[column.Field]
		text = f.Name + " " + sample.ShowValue(f, e.Values[column.Field])
	}
	if t.Pattern.Naming() != codec.NamedByTime {
		return text
	}
	at := schema.FormatDuration(e.Time.Sub(t.Bucket.Start(e.Time))) + " into the bucket"
	if t.Sequence {
		at += fmt.Sprintf(", sequence %d", e.Sequence)
	}
	return at + ": " + text
}

// eventsIn returns the events with cells in a row.
func eventsIn(row *sample.Row, events []sample.Event) []sample.Event {
	var out []sample.Event
	for i := range events {
		if slices.ContainsFunc(row.Cells, func(c sample.Cell) bool { return c.Event == i }) {
			out = append(out, events[i])
		}
	}
	return out
}

// rollupCell returns the cell of a rollup in the row of some events, and its value and meaning: a run, or a mark if the
// bucket has not ended.
func rollupCell(l *layout.Layout, t *layout.Table, events []sample.Event, ended bool) (c sample.Cell, value, means string) {
	if !ended {
		until := showTime(t.Bucket.End(events[0].Time).Add(t.Rollup.After))
		means = "events have changed: windows come from them until the bucket is summarized, from " + until + " on"
		return sample.Mark(t, events[0].Time), "", means
	}
	c = sample.Run(l, t, events)
	means = "windows by " + schema.FormatDuration(t.Rollup.Every) + " of " + count(len(events), "event")
	if until := t.RollupFamily.Life.Fresh(c.Micros, true); until.Year() < 9000 && !until.IsZero() {
		means += "; expires " + showTime(until)
	}
	return c, count(len(c.Value), "byte"), means
}
