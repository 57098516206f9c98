package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
)

// selectionHelp describes the arguments and flags of a selection.
const selectionHelp = `Series values have the form location=us-west2. With the values of all series fields, the
command selects one series; with those of a query, which --query may name, what the query
finds; and with none, all series of a table. A query with where, named by --query, takes its
conditions with --where, as in --where magnitude=4.5..9 or --where kind=rockfall.

` + valuesHelp

// valuesHelp describes the forms of values on the command line.
const valuesHelp = `Times are dates such as 2021-03-05, times such as 2021-03-05T12:00:00Z, or durations
before now such as -36h. Series values are text: bytes are base64, durations have the form
1h30m, and timestamps are times.`

// selection are the arguments and flags that select events.
type selection struct {
	schemas      []string
	query, table string
	from, to     string
	where        []string
}

// flags adds the flags to a command.
func (s *selection) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.schemas, "schemas", nil, schemasHelp)
	cmd.Flags().StringVar(&s.query, "query", "", "select what the query with this `name` finds")
	cmd.Flags().StringVar(&s.table, "table", "", "for all series, the `table` to read; by default the one that serves reads")
	cmd.Flags().StringVar(&s.from, "from", "", "`time` of the first event; by default all")
	cmd.Flags().StringVar(&s.to, "to", "", "`time` before which events are selected; by default all")
	cmd.Flags().StringArrayVar(&s.where, "where", nil, "for a query with where, a `condition`: field=from..to, whose end is excluded, or field=value")
	cmd.MarkFlagsMutuallyExclusive("query", "table")
}

// selected are selected events.
type selected struct {
	schema   *dynamic.Schema
	of       chosen
	series   []any  // one for each of Layout.Series
	query    string // of ofQuery
	table    string // of ofTable
	from, to time.Time
	// low and high have the values of the conditions of the query, for each of Layout.Fields; nil if
	// it has none.
	low, high []any
}

// chosen is a kind of selection.
type chosen int

const (
	ofSeries chosen = iota
	ofQuery
	ofTable
)

// resolve resolves the arguments: the name of a schema, and series values. It prints findings
// in the schemas to out.
func (s *selection) resolve(out io.Writer, args []string) (*selected, error) {
	now := time.Now()
	sel := &selected{to: scan.MaxTime}
	var err error
	if s.from != "" {
		if sel.from, err = parseTime("--from", s.from, now); err != nil {
			return nil, err
		}
	}
	if s.to != "" {
		if sel.to, err = parseTime("--to", s.to, now); err != nil {
			return nil, err
		}
	}
	if sel.from.After(sel.to) {
		return nil, fmt.Errorf("--from %s is after --to %s", s.from, s.to)
	}
	l, err := loadLayout(out, s.schemas, args[0])
	if err != nil {
		return nil, err
	}
	sel.schema = dynamic.New(l)
	by, err := s.choose(sel, l, args[1:])
	if err != nil {
		return nil, err
	}
	if sel.series, err = parseSeries(l, by, args[1:]); err != nil {
		return nil, err
	}
	return sel, s.conditions(sel, l)
}

// conditions parses the conditions of the query.
func (s *selection) conditions(sel *selected, l *layout.Layout) error {
	i := slices.IndexFunc(l.Queries, func(q layout.Query) bool { return sel.of == ofQuery && q.Name == sel.query })
	if i < 0 || len(l.Queries[i].Where) == 0 {
		if len(s.where) > 0 {
			return fmt.Errorf("--where %q: want --query with a query that has where", s.where[0])
		}
		return nil
	}
	var forms []string
	sel.low, sel.high = make([]any, len(l.Fields)), make([]any, len(l.Fields))
	for _, w := range l.Queries[i].Where {
		form := "=from..to"
		if w.Equal {
			form = "=value"
		}
		forms = append(forms, "--where "+l.Fields[w.Field].Name+form)
	}
	for _, text := range s.where {
		name, values, _ := strings.Cut(text, "=")
		k := slices.IndexFunc(l.Queries[i].Where, func(w layout.Where) bool { return l.Fields[w.Field].Name == name })
		if k < 0 {
			return fmt.Errorf("--where %q: query %s takes %s", text, sel.query, strings.Join(forms, " "))
		}
		w := l.Queries[i].Where[k]
		low, high, isRange := strings.Cut(values, "..")
		if w.Equal {
			low, high = values, values
		} else if !isRange {
			return fmt.Errorf("--where %q: want %s", text, forms[k])
		}
		for end, text := range map[*any]string{&sel.low[w.Field]: low, &sel.high[w.Field]: high} {
			v, err := format.ParseText(&l.Fields[w.Field], []byte(text))
			if err != nil {
				return fmt.Errorf("--where %s: %q: %w", name, text, err)
			}
			*end = v
		}
	}
	if slices.ContainsFunc(l.Queries[i].Where, func(w layout.Where) bool { return sel.low[w.Field] == nil }) {
		return fmt.Errorf("query %s takes %s", sel.query, strings.Join(forms, " "))
	}
	return nil
}

// choose decides the kind of selection, and returns the indexes of the series values that it
// takes.
func (s *selection) choose(sel *selected, l *layout.Layout, args []string) ([]int, error) {
	if s.query != "" {
		return s.named(sel, l)
	}
	var by []int
	for i := range l.Series {
		if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, l.Series[i].Name+"=") }) {
			by = append(by, i)
		}
	}
	switch {
	case s.table != "" && len(args) > 0:
		return nil, fmt.Errorf("--table %q: a read of series values chooses the table by itself", s.table)
	case len(args) == 0 && len(l.Series) > 0 || s.table != "":
		sel.of, sel.table = ofTable, cmp.Or(s.table, l.Read.ID)
		return nil, nil
	case len(by) == 0 || len(by) == len(l.Series): // parseSeries explains others
		return l.AllSeries(), nil
	}
	var queries []string
	for _, q := range l.Queries {
		if q.TakesRange() {
			continue // it takes a prefix, a range or values of fields
		}
		if slices.Equal(slices.Sorted(slices.Values(q.By)), by) {
			sel.of, sel.query = ofQuery, q.Name
			return by, nil
		}
		queries = append(queries, fmt.Sprintf("%s (%s)", q.Name, seriesNames(l, q.By)))
	}
	return nil, fmt.Errorf("no query takes only %s: give all of %s, or those of a query: %s",
		seriesNames(l, by), seriesNames(l, l.AllSeries()), cmp.Or(strings.Join(queries, ", "), "none"))
}

// named finds the query that --query names.
func (s *selection) named(sel *selected, l *layout.Layout) ([]int, error) {
	var names []string
	for _, q := range l.Queries {
		if q.Path.Partial != nil {
			continue // it takes a prefix or a range
		}
		if q.Name == s.query {
			sel.of, sel.query = ofQuery, q.Name
			return q.By, nil
		}
		names = append(names, q.Name)
	}
	return nil, fmt.Errorf("--query %q: schema %s has no such query; it has %s", s.query, l.Name, cmp.Or(strings.Join(names, ", "), "none"))
}

// readTable returns the table that is read.
func (s *selected) readTable() *layout.Table {
	l := s.schema.Layout()
	switch s.of {
	case ofQuery:
		for i := range l.Queries {
			if l.Queries[i].Name == s.query {
				return l.Queries[i].Table
			}
		}
	case ofTable:
		for _, t := range l.Tables {
			if t.ID == s.table {
				return t
			}
		}
	}
	return l.Read
}

// events yields the selected events. The options do not apply to the events of a table.
func (s *selected) events(ctx context.Context, client store.Client, ro store.ReaderOptions, o store.ReadOptions) iter.Seq2[dynamic.Event, error] {
	switch s.of {
	case ofQuery:
		reader := s.schema.NewReader(client, ro)
		if s.low != nil {
			var err error
			if reader, err = reader.Where(s.query, s.low, s.high); err != nil {
				return func(yield func(dynamic.Event, error) bool) { yield(dynamic.Event{}, err) }
			}
		}
		return reader.Query(ctx, s.query, s.series, s.from, s.to, o)
	case ofTable:
		return s.all(ctx, client, ro)
	}
	return s.schema.NewReader(client, ro).Read(ctx, s.series, s.from, s.to, o)
}

// all yields the events of a table.
func (s *selected) all(ctx context.Context, client store.Client, ro store.ReaderOptions) iter.Seq2[dynamic.Event, error] {
	return func(yield func(dynamic.Event, error) bool) {
		scanners, err := s.schema.NewScanners(client, s.table, ro)
		if err != nil {
			yield(dynamic.Event{}, err)
			return
		}
		for _, scanner := range scanners {
			for row, err := range scanner.Rows(ctx, store.KeyRange{}, s.from, s.to) {
				if err != nil && !yield(dynamic.Event{}, err) {
					return
				}
				for i := range row.Events {
					if !yield(row.Events[i], nil) {
						return
					}
				}
			}
		}
	}
}

// parseTime parses a date, a time or a duration before now.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago <= 0 {
		return now.Add(ago), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339Nano} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %q: want a date such as 2021-03-05, a time such as 2021-03-05T12:00:00Z, or a duration before now such as -36h", flag, text)
}

// parseSeries parses series values of the form name=text, in any order. by has the indexes of
// the values that are expected.
func parseSeries(l *layout.Layout, by []int, args []string) ([]any, error) {
	out := make([]any, len(l.Series))
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		i := slices.IndexFunc(l.Series, func(f layout.Field) bool { return f.Name == name })
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want a series value of the form name=value", arg)
		case i < 0:
			return nil, fmt.Errorf("%q: the schema has no series value %q; it has %s", arg, name, seriesNames(l, l.AllSeries()))
		case !slices.Contains(by, i):
			return nil, fmt.Errorf("%q: the query does not take %s; it takes %s", arg, name, seriesNames(l, by))
		case out[i] != nil:
			return nil, fmt.Errorf("%q: the value of %s is given twice", arg, name)
		}
		v, err := format.ParseText(&l.Series[i], []byte(text))
		if err == nil {
			err = value.Check(&l.Series[i], v, layout.AllFloats)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", arg, err)
		}
		out[i] = v
	}
	for _, i := range by {
		if out[i] == nil {
			return nil, fmt.Errorf("the value of %s is missing: the series values are %s", l.Series[i].Name, seriesNames(l, by))
		}
	}
	return out, nil
}

// seriesNames lists series values of a schema.
func seriesNames(l *layout.Layout, by []int) string {
	var names []string
	for _, i := range by {
		names = append(names, l.Series[i].Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
