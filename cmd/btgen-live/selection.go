package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// selection are the parameters that select events, from a command line or from a request of the API.
type selection struct {
	schemaFlags
	timeRange
	query, table string
	several      []string // of the API: series
	listing      bool     // of series: values at the beginning of row keys suffice
	prefixed     string   // with listing, of the series value after those given; empty for none
	deleting     bool     // of events to delete: of a series, or of a query with delete: true
}

// timeRange are the parameters from, to and, for some commands, zone.
type timeRange struct {
	api      bool // the parameters are those of the API
	from, to string
	zoned    bool // zoneName is a parameter
	zoneName string
	now      *time.Time     // of times before now; nil for that of the call
	zone     *time.Location // of dates; nil for UTC
}

// rangeFlags adds the parameters from and to, which ends what to describes.
func (s *timeRange) rangeFlags(f *pflag.FlagSet, to string) {
	f.StringVar(&s.from, "from", "", "`time` of the first event; by default all")
	f.StringVar(&s.to, "to", "", "`time` before which events "+to)
}

// flags adds the flags to a command.
func (s *selection) flags(cmd *cobra.Command) {
	s.schemaFlags.flags(cmd, 0)
	s.parameters(cmd.Flags())
}

// parameters adds the parameters of all sources.
func (s *selection) parameters(f *pflag.FlagSet) {
	f.StringVar(&s.query, "query", "", "select what the query with this `name` finds")
	f.StringVar(&s.table, "table", "", "for all series, the `table` to read; by default the one that serves reads")
	s.rangeFlags(f, "are selected; by default all")
}

// addZone adds the time zone of dates.
func (s *timeRange) addZone(f *pflag.FlagSet, help string) {
	s.zoned = true
	f.StringVar(&s.zoneName, "zone", "UTC", help)
}

// param returns the name of a parameter in messages.
func (s *timeRange) param(name string) string {
	switch {
	case !s.api:
		return "--" + name
	case name == "newest-first":
		return "order=newest"
	}
	return name
}

// selected are selected events.
type selected struct {
	schema   *dynamic.Schema
	of       chosen
	query    *layout.Query // of ofQuery and ofBegin
	table    string        // of ofTable
	inputs   []layout.Input
	values   dynamic.Values   // of the inputs
	many     []dynamic.Values // of several series of ofSeries, if there are several
	from, to time.Time
	marked   int // rows of ofTable that were left out; see markedText
}

// markedText says that rows of a table with the newest event of each series were left out.
func markedText(rows int) string {
	return fmt.Sprintf("%s left out: a deletion is changing the newest events of their series, or was stopped; read the series, or a query of them", countOf(rows, "row"))
}

// chosen is a kind of selection.
type chosen int

const (
	ofSeries chosen = iota
	ofQuery
	ofTable
	ofBegin // series values begin with those given
)

// resolve resolves the arguments: the name of a schema, and series values.
func (s *selection) resolve(args []string) (*selected, error) {
	if _, _, err := s.times(); err != nil {
		return nil, err
	}
	schema, _, err := s.load(args[0])
	if err != nil {
		return nil, err
	}
	return s.in(schema, args[1:])
}

// in resolves series values of a schema.
func (s *selection) in(schema *dynamic.Schema, args []string) (*selected, error) {
	l := schema.Layout()
	sel := &selected{schema: schema}
	var err error
	if sel.from, sel.to, err = s.times(); err != nil {
		return nil, err
	}
	if s.prefixed != "" {
		args = append(slices.Clone(args), s.prefixed)
	}
	if s.listing && s.query == "" && s.table == "" {
		sel.query = leading(l, args, s.prefixed != "")
	}
	switch {
	case sel.query != nil:
		sel.of, sel.inputs = ofBegin, sel.query.Inputs
	case s.prefixed != "":
		return nil, fmt.Errorf("%s %q: %s", s.param("prefix"), s.prefixed, prefixes(l))
	default:
		if err := s.choose(sel, l, args); err != nil {
			return nil, err
		}
	}
	what := "the series"
	if sel.of == ofQuery {
		what = "query " + sel.query.Name
	}
	sel.values, err = parseValues(l, what, sel.inputs, args)
	return sel, err
}

// leading returns the query of arguments that are the series values at the beginning of row keys, the last of which may be a prefix;
// nil if they are not.
func leading(l *layout.Layout, args []string, prefix bool) *layout.Query {
	names, several := argumentNames(args)
	leads := l.Leads()
	if several != "" || len(names) == 0 || len(names) > len(leads) {
		return nil
	}
	var series []int
	for _, lead := range leads[:len(names)] {
		series = append(series, lead.Series)
		if !slices.Contains(names, l.Series[lead.Series].Name) {
			return nil
		}
	}
	if prefix && names[len(names)-1] != l.Series[series[len(series)-1]].Name {
		return nil
	}
	return l.Begin(series, prefix)
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

// times returns the time range, of dates in the time zone; an end that is not given has no bound.
func (s *timeRange) times() (from, to time.Time, err error) {
	if s.zoned {
		if s.zone, err = parseZone(s.param("zone"), s.zoneName); err != nil {
			return from, to, err
		}
	}
	now := time.Now()
	if s.now != nil {
		now = *s.now
	}
	to = scan.MaxTime
	if s.from != "" {
		from, err = parseTime(s.param("from"), s.from, now, s.zone)
	}
	if s.to != "" && err == nil {
		to, err = parseTime(s.param("to"), s.to, now, s.zone)
	}
	if err == nil && from.After(to) {
		err = fmt.Errorf("%s %s is after %s %s", s.param("from"), s.from, s.param("to"), s.to)
	}
	return from, to, err
}

// choose decides the kind of selection, and its inputs.
func (s *selection) choose(sel *selected, l *layout.Layout, args []string) error {
	if s.query != "" && s.table != "" {
		return fmt.Errorf("%s %q: query %s reads a table of its own: leave one of them out", s.param("table"), s.table, s.query)
	}
	if s.query != "" {
		q, err := s.named(l)
		if err == nil {
			sel.of, sel.query, sel.inputs = ofQuery, q, q.Inputs
		}
		return err
	}
	if s.deleting {
		sel.inputs = l.ReadQuery().Inputs
		return nil
	}
	names, several := argumentNames(args)
	whole := l.ReadQuery().Inputs
	by := slices.DeleteFunc(l.AllSeries(), func(i int) bool { return !slices.Contains(names, l.Series[i].Name) })
	switch {
	case s.table != "" && len(args) > 0:
		return fmt.Errorf("%s %q: a read of series values chooses the table by itself", s.param("table"), s.table)
	case len(args) == 0 && len(l.Series) > 0 || s.table != "":
		sel.of, sel.table = ofTable, cmp.Or(s.table, l.Read.ID)
		return nil
	case len(by) == 0 || len(by) == len(l.Series): // parseValues explains others
		sel.inputs = whole
		for i := range sel.inputs {
			sel.inputs[i].Many = several == sel.inputs[i].Of(l).Name
		}
		return nil
	}
	series := func(by []int) string {
		var names []string
		for _, i := range by {
			names = append(names, l.Series[i].Name)
		}
		return listed(names)
	}
	var queries []string
	for i := range l.Queries {
		q := &l.Queries[i]
		if len(q.Inputs) > len(q.By) {
			continue // only --query says that a value is a prefix, for example
		}
		if slices.Equal(slices.Sorted(slices.Values(q.By)), by) && (several == "" || q.Several() != nil) {
			sel.of, sel.query, sel.inputs = ofQuery, q, q.Inputs
			return nil
		}
		queries = append(queries, fmt.Sprintf("%s (%s)", q.Name, series(q.By)))
	}
	return fmt.Errorf("no query takes only %s: give all of %s, or those of a query: %s", series(by), series(l.AllSeries()), listed(queries))
}

// named returns the query that --query names.
func (s *selection) named(l *layout.Layout) (*layout.Query, error) {
	var names []string
	for i := range l.Queries {
		q := &l.Queries[i]
		switch {
		case s.deleting && q.Deletes == nil:
		case q.Name == s.query:
			return q, nil
		default:
			names = append(names, q.Name)
		}
	}
	with := map[bool]string{true: " with `delete: true`"}[s.deleting]
	return nil, fmt.Errorf("%s %q: schema %s has no such query%s; it has %s", s.param("query"), s.query, l.Name, with, listed(names))
}

// readTable returns the table that is read.
func (s *selected) readTable() *layout.Table {
	l := s.schema.Layout()
	switch s.of {
	case ofQuery, ofBegin:
		return s.query.Table
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
	if s.of == ofTable {
		return s.all(ctx, client, ro)
	}
	return s.schema.NewReader(client, ro).Read(ctx, s.selection(), s.from, s.to, o)
}

// windows yields the windows of the selected events.
func (s *selected) windows(ctx context.Context, client store.Client, ro store.ReaderOptions, width window.Width, o store.WindowOptions) iter.Seq2[dynamic.Window, error] {
	return s.schema.NewReader(client, ro).Windows(ctx, s.selection(), s.from, s.to, width, o)
}

// selection returns what is selected.
func (s *selected) selection() dynamic.Selection {
	switch s.of {
	case ofTable:
		return dynamic.Table(s.table)
	case ofQuery:
		return dynamic.Query(s.query.Name, s.values)
	case ofBegin:
		return dynamic.Begin(s.query, s.values)
	}
	if series := s.wholes(); len(series) > 1 {
		return dynamic.ManySeries(series)
	}
	return dynamic.Series(s.values)
}

// wholes returns the series of ofSeries.
func (s *selected) wholes() (series [][]any) {
	several := slices.IndexFunc(s.inputs, func(in layout.Input) bool { return in.Many })
	switch {
	case s.many != nil:
		for _, values := range s.many {
			series = append(series, values)
		}
		return series
	case several < 0:
		return [][]any{s.values}
	}
	for _, v := range s.values[several].([]any) {
		one := slices.Clone(s.values)
		one[several] = v
		series = append(series, one)
	}
	return series
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
				if row.Marked {
					s.marked++
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

// parseTime parses a date, a time or a duration before now. A date is its first instant in a time
// zone, which is UTC by default, as windows of days begin.
func parseTime(flag, text string, now time.Time, zone *time.Location) (time.Time, error) {
	if ago, err := parseDuration(text); err == nil && ago <= 0 {
		return now.Add(ago), nil
	}
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return window.StartOfDay(date, cmp.Or(zone, time.UTC)), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, cmp.Or(zone, time.UTC)); err == nil {
			return at, nil
		}
	}
	return parseInstant(flag, text, "a date such as 2021-03-05, a time such as 2021-03-05T12:00:00Z, or a duration before now such as -36h or -7d")
}

// parseInstant parses a time that a parameter has; want describes its forms.
func parseInstant(param, text, want string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil:
		return at, fmt.Errorf("%s %q: want %s", param, text, want)
	case format.FinerTime([]byte(text)):
		return at, fmt.Errorf("%s %q: want at most nine digits after the point: there are no times between nanoseconds", param, text)
	}
	return at, nil
}

// anInstant describes the form of a time.
const anInstant = "a time such as 2021-03-05T12:00:00Z"
