package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// selected is what a request selects.
type selected struct {
	of     dynamic.Selection
	reads  *layout.Table // the table that is read
	whole  string        // the table of which all series are selected; empty for others
	series [][]any       // the series, if their values are given
	marked int           // rows of a whole table that were left out; see markedText
}

// markedText says that rows of a table with the newest event of each series were left out.
func markedText(rows int) string {
	return fmt.Sprintf("%s left out: a deletion is changing the newest events of their series, or was stopped; read the series, "+
		"or a query of them", countOf(rows, "row"))
}

// choose resolves what the request selects of its schema.
func (r *request) choose() error {
	if r.several == nil || r.cmd != nil {
		return r.chooseOne(r.args)
	}
	if len(r.args) > 0 || r.query+r.tableID != "" {
		return errors.New("series: value, query and table select other events")
	}
	var all [][]any
	for _, text := range r.several {
		var args []string
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			return fmt.Errorf("series %q: want a JSON array of series values, such as [\"location=us-west2\",\"balloon_id=1\"]", text)
		}
		if err := r.chooseOne(args); err != nil {
			return err
		}
		if r.series == nil {
			return fmt.Errorf("series %q: want all values of a series", text)
		}
		all = append(all, r.series...)
	}
	r.series, r.of = all, dynamic.ManySeries(all)
	return nil
}

// chooseOne resolves values of a series or of a query; without any, all series of a table are selected.
func (r *request) chooseOne(args []string) error {
	l := r.schema.Layout()
	if r.leading != "" {
		args = append(slices.Clone(args), r.leading)
	}
	begin := r.begin(l, args)
	switch id := cmp.Or(r.tableID, l.Read.ID); {
	case r.query != "" && r.tableID != "":
		return fmt.Errorf("%s %q: query %s reads a table of its own: leave one of them out", r.param("table"), r.tableID, r.query)
	case begin != nil:
		v, err := parseValues(l, "the series", begin.Inputs, args)
		r.selected = selected{of: dynamic.Begin(begin, v), reads: begin.Table}
		return err
	case r.leading != "":
		return fmt.Errorf("%s %q: %s", r.param("prefix"), r.leading, prefixes(l))
	case r.tableID != "" && len(args) > 0:
		return fmt.Errorf("%s %q: a read of series values chooses the table by itself", r.param("table"), r.tableID)
	case r.tableID != "" || len(args) == 0 && len(l.Series) > 0 && r.query == "" && r.command != "delete":
		r.selected = selected{of: dynamic.Table(id), reads: l.Read, whole: id}
		for _, t := range l.Tables {
			if t.ID == id {
				r.reads = t
			}
		}
		return nil
	}
	q, err := r.queryOf(l, args)
	switch {
	case err != nil:
		return err
	case q == nil:
		return r.chooseSeries(l, args)
	}
	v, err := parseValues(l, "query "+q.Name, q.Inputs, args)
	r.selected = selected{of: dynamic.Query(q.Name, v), reads: q.Table}
	return err
}

// chooseSeries resolves all values of a series, of which one may be repeated, for several series.
func (r *request) chooseSeries(l *layout.Layout, args []string) error {
	inputs, many := l.ReadQuery().Inputs, -1
	if _, several := argumentNames(args); r.command != "delete" {
		many = slices.IndexFunc(inputs, func(in layout.Input) bool { return in.Of(l).Name == several })
	}
	if many >= 0 {
		inputs[many].Many = true
	}
	v, err := parseValues(l, "the series", inputs, args)
	r.selected = selected{of: dynamic.Series(v), reads: l.Read, series: [][]any{v}}
	if err != nil || many < 0 {
		return err
	}
	r.series = nil
	for _, of := range v[many].([]any) {
		one := slices.Clone(v)
		one[many] = of
		r.series = append(r.series, one)
	}
	r.of = dynamic.ManySeries(r.series)
	return nil
}

// begin returns the query of arguments that are the series values at the beginning of row keys, the last of which may be a prefix;
// nil if they are not, or if the request does not list series.
func (r *request) begin(l *layout.Layout, args []string) *layout.Query {
	names, several := argumentNames(args)
	leads := l.Leads()
	if !r.listing || r.query+r.tableID != "" || several != "" || len(names) == 0 || len(names) > len(leads) {
		return nil
	}
	var series []int
	for i, lead := range leads[:len(names)] {
		name := l.Series[lead.Series].Name
		last := i == len(names)-1 // which may be a prefix
		if series = append(series, lead.Series); !slices.Contains(names, name) || last && r.leading != "" && names[i] != name {
			return nil
		}
	}
	return l.Begin(series, r.leading != "")
}

// prefixes says by which prefixes series are found.
func prefixes(l *layout.Layout) string {
	var names, out []string
	for _, lead := range l.Leads() {
		name := l.Series[lead.Series].Name
		if lead.Prefix {
			out = append(out, strings.Join(append(names, "a prefix of "+name), " and "))
		}
		names = append(names, "the value of "+name)
	}
	return "want " + cmp.Or(strings.Join(out, ", or "), "no prefix, since row keys begin with none of a series value")
}

// queryOf returns the query that is named, or that takes the values of arguments; nil if they are those of a series, or of nothing.
func (r *request) queryOf(l *layout.Layout, args []string) (*layout.Query, error) {
	names, several := argumentNames(args)
	by := slices.DeleteFunc(l.AllSeries(), func(i int) bool { return !slices.Contains(names, l.Series[i].Name) })
	deletes := r.command == "delete"
	if r.query == "" && (deletes || len(by) == 0 || len(by) == len(l.Series)) {
		return nil, nil // parseValues explains other values
	}
	namesOf := func(series []int) string {
		var names []string
		for _, i := range series {
			names = append(names, l.Series[i].Name)
		}
		return listed(names)
	}
	var known, fit []string
	for i := range l.Queries {
		q := &l.Queries[i]
		switch {
		case q.Name == r.query && (q.Deletes != nil || !deletes):
			return q, nil
		case r.query == "" && len(q.Inputs) <= len(q.By): // only --query says that a value is a prefix, for example
			if slices.Equal(slices.Sorted(slices.Values(q.By)), by) && (several == "" || q.Several() != nil) {
				return q, nil
			}
			fit = append(fit, fmt.Sprintf("%s (%s)", q.Name, namesOf(q.By)))
		}
		if q.Deletes != nil || !deletes {
			known = append(known, q.Name)
		}
	}
	if r.query == "" {
		return nil, fmt.Errorf("no query takes only %s: give all of %s, or those of a query: %s",
			namesOf(by), namesOf(l.AllSeries()), listed(fit))
	}
	with := map[bool]string{true: " with `delete: true`"}[deletes]
	return nil, fmt.Errorf("%s %q: schema %s has no such query%s; it has %s", r.param("query"), r.query, l.Name, with, listed(known))
}

// parseValues parses the values of inputs: arguments of the form name=text, in any order. A range has
// the form name=from..to, and several values are several arguments. what takes them: the series,
// or a query.
func parseValues(l *layout.Layout, what string, inputs []layout.Input, args []string) (dynamic.Values, error) {
	out, all := make(dynamic.Values, len(inputs)), namesOf(slices.Concat(l.Series, l.Fields))
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		i := slices.IndexFunc(inputs, func(in layout.Input) bool { return in.Of(l).Name == name })
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want a value of the form name=value; %s takes %s", arg, what, forms(l, inputs))
		case i < 0 && !slices.Contains(all, name):
			return nil, fmt.Errorf("%q: the schema has no value %q; it has %s", arg, name, listed(all))
		case i < 0:
			return nil, fmt.Errorf("%q: %s does not take %s; it takes %s", arg, what, name, forms(l, inputs))
		case out[i] != nil && !inputs[i].Many:
			return nil, fmt.Errorf("%q: the value of %s is given twice", arg, name)
		}
		v, err := parseInput(l, what, &inputs[i], arg, text)
		if err != nil {
			return nil, err
		}
		if inputs[i].Many {
			several, _ := out[i].([]any)
			v = append(several, v)
		}
		out[i] = v
	}
	for i := range inputs {
		if out[i] == nil {
			return nil, fmt.Errorf("the value of %s is missing: %s takes %s", inputs[i].Of(l).Name, what, forms(l, inputs))
		}
	}
	return out, nil
}

// parseInput parses the value of an input, or its range.
func parseInput(l *layout.Layout, what string, in *layout.Input, arg, text string) (any, error) {
	f, texts := in.Of(l), []string{text}
	inKey := slices.ContainsFunc(l.Series, func(s layout.Field) bool { return s.Name == f.Name })
	if texty := f.Type == schema.String || f.Type == schema.Bytes; text == "" && in.Form == codec.GivenValue && (inKey || !texty) {
		example := value.Append(nil, f, codec.TextValues, sample.Value(f, 0, sample.SeriesTime))
		return nil, fmt.Errorf("%q: %s is empty: want a value of type %s, such as %s", arg, f.Name, f.Type, words.ShellPair(f.Name, string(example)))
	}
	if in.Ends() == 2 {
		if texts = strings.Split(text, ".."); len(texts) != 2 || texts[1] == "" {
			return nil, fmt.Errorf("%q: %s takes a range of %s with two ends, the last of which is excluded: write %s=from..to",
				arg, what, f.Name, f.Name)
		}
	}
	var out []any
	for _, text := range texts {
		v, err := format.ParseText(f, []byte(text))
		if err == nil {
			err = value.Check(f, v, layout.AllFloats)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", arg, err)
		}
		out = append(out, v)
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}

// forms lists the arguments for inputs.
func forms(l *layout.Layout, inputs []layout.Input) string {
	var out []string
	for i := range inputs {
		out = append(out, inputs[i].Of(l).Name+map[int]string{2: "=from..to"}[inputs[i].Ends()])
	}
	return listed(out)
}

// argumentNames returns the names in arguments, and one that is given several times.
func argumentNames(args []string) (names []string, several string) {
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains(names, name) {
			several = name
			continue
		}
		names = append(names, name)
	}
	return names, several
}

// namesOf returns the names of series values or fields.
func namesOf(fields []layout.Field) (names []string) {
	for i := range fields {
		names = append(names, fields[i].Name)
	}
	return names
}

// listed lists names; none if there are none.
func listed(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// picked returns the indexes of the values of a schema whose names a parameter lists, in the order of the schema; of all if
// names is nil. what is one of them, for an error.
func (r *request) picked(param, what string, of []layout.Field, names []string) (out []int, err error) {
	all := namesOf(of)
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%s: the schema has no %s %q; it has %s", r.param(param), what, name, listed(all))
		}
	}
	for i := range all {
		if names == nil || slices.Contains(names, all[i]) {
			out = append(out, i)
		}
	}
	return out, nil
}

// fieldsOf returns the names by which fields are read.
func (r *request) fieldsOf(fields []int) []store.Field {
	l, out := r.schema.Layout(), []store.Field{}
	for _, i := range fields {
		out = append(out, store.Field(l.FieldName(&l.Fields[i])))
	}
	return out
}

// events yields the selected events. The options do not apply to the events of a whole table.
func (r *request) events(ctx context.Context, o store.ReadOptions) iter.Seq2[dynamic.Event, error] {
	if r.whole != "" {
		return r.tableEvents(ctx)
	}
	return r.schema.NewReader(r.client, r.options).Read(ctx, r.of, r.from, r.to, o)
}

// windowsOf yields the windows of the selected events.
func (r *request) windowsOf(ctx context.Context, width window.Width, o store.WindowOptions) iter.Seq2[dynamic.Window, error] {
	return r.schema.NewReader(r.client, r.options).Windows(ctx, r.of, r.from, r.to, width, o)
}

// tableEvents yields the events of a whole table.
func (r *request) tableEvents(ctx context.Context) iter.Seq2[dynamic.Event, error] {
	return func(yield func(dynamic.Event, error) bool) {
		scanners, err := r.schema.NewScanners(r.client, r.whole, r.options)
		if err != nil {
			yield(dynamic.Event{}, err)
			return
		}
		for _, scanner := range scanners {
			for row, err := range scanner.Rows(ctx, store.KeyRange{}, r.from, r.to) {
				if err != nil && !yield(dynamic.Event{}, err) {
					return
				}
				if row.Marked {
					r.marked++
				}
				for _, e := range row.Events {
					if !yield(e, nil) {
						return
					}
				}
			}
		}
	}
}

// nameSeries returns the series values of an event as the command line takes them, such as "host=a disk=1".
func nameSeries(l *layout.Layout, series []any) string {
	return string(format.AppendSeries(nil, format.Columns(l)[:len(l.Series)], &dynamic.Event{Series: series}))
}
