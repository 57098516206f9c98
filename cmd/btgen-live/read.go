package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newRead returns the command read.
func newRead() *cobra.Command {
	var r reading
	cmd := command("read", r.run)
	r.target.flags(cmd, "app `profile` of the reads")
	r.selection.flags(cmd)
	cmd.Flags().BoolVar(&r.options.LatestOnly, "latest", false, "print only the newest event of each series")
	cmd.Flags().BoolVar(&r.options.NewestFirst, "newest-first", false, "print the newest events first")
	cmd.Flags().Var(number(&r.options.Limit, 0, 0, 0), "limit", "maximum number of `events`; 0 for no limit")
	cmd.Flags().StringSliceVar(&r.fields, "fields", nil, "`fields` to print, separated by commas; by default all")
	r.printing.flags(cmd, format.Formats((*format.Format).Writes))
	return cmd
}

// reading are the flags of the command read.
type reading struct {
	target
	selection
	printing
	options store.ReadOptions
	fields  []string
}

// run prints events.
func (r *reading) run(cmd *cobra.Command, args []string) error {
	selected, err := r.resolve(args)
	if err != nil {
		return err
	}
	columns, err := r.project(selected)
	if err != nil {
		return err
	}
	return r.with(cmd, func(ctx context.Context, client *bigtable.Client) error {
		found := false
		events := func(yield func(dynamic.Event, error) bool) {
			for e, err := range selected.events(ctx, client, r.readerOptions(), r.options) {
				if found = true; !yield(e, err) {
					return
				}
			}
		}
		of := tallied{one: "event", limit: r.options.Limit}
		err := r.print(ctx, cmd, selected.schema.Layout(), columns, of, pointers(events))
		switch {
		case selected.marked > 0:
			newMeter(cmd).line("%s", markedText(selected.marked))
		case err == nil && !found && selected.of != ofTable:
			newMeter(cmd).line("no event is selected; %s", selected.example(ctx, client, r.readerOptions()))
		}
		return err
	})
}

// example describes the first event of the table that is read, for those who selected nothing: another spelling of a
// value, for example, or another time.
func (s *selected) example(ctx context.Context, client store.Client, ro store.ReaderOptions) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	l, whole := s.schema.Layout(), selected{schema: s.schema, table: s.readTable().ID}
	whole.from, whole.to, _ = new(selection).times() // all
	for e, err := range whole.all(ctx, client, ro) {
		if err != nil {
			return err.Error()
		}
		series := format.AppendSeries(nil, format.Columns(l)[:len(l.Series)], &e)
		return fmt.Sprintf("the first in table %q is of %s at %s", whole.table, series, e.Time.Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("table %q has none", whole.table)
}

// pointers yields events by reference.
func pointers(events iter.Seq2[dynamic.Event, error]) iter.Seq2[*dynamic.Event, error] {
	return func(yield func(*dynamic.Event, error) bool) {
		for e, err := range events {
			if !yield(&e, err) {
				return
			}
		}
	}
}

// project returns the columns to print, and restricts the read to them.
func (r *reading) project(s *selected) ([]format.Column, error) {
	switch {
	case s.of != ofTable:
	case r.options.LatestOnly:
		return nil, fmt.Errorf("the newest event of each series (%s) needs series values, or those of a query", r.param("latest"))
	case r.options.NewestFirst:
		return nil, fmt.Errorf("events with the newest first (%s) need series values, or those of a query", r.param("newest-first"))
	case r.options.TimeOrder: // of the API
		return nil, errors.New("events in order of time (order=time) need series values, or those of a query")
	}
	l := s.schema.Layout()
	columns := format.Columns(l)
	if r.fields == nil {
		return columns, nil
	}
	fields, err := r.picked("fields", "field", l.Fields, r.fields)
	if err != nil {
		return nil, err
	}
	r.options.Fields = fieldsOf(l, fields)
	return slices.DeleteFunc(columns, func(c format.Column) bool { return c.OfField() && !slices.Contains(r.fields, c.Name) }), nil
}

// picked returns the indexes of the values of a schema whose names a parameter lists, in the order of the schema; of all if
// names is nil. what is one of them, for an error.
func (s *selection) picked(param, what string, of []layout.Field, names []string) (out []int, err error) {
	all := namesOf(of)
	for i := range all {
		if names == nil || slices.Contains(names, all[i]) {
			out = append(out, i)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%s: the schema has no %s %q; it has %s", s.param(param), what, name, listed(all))
		}
	}
	return out, nil
}

// fieldsOf returns the names by which fields are read.
func fieldsOf(l *layout.Layout, fields []int) []store.Field {
	out := []store.Field{}
	for _, i := range fields {
		out = append(out, store.Field(l.FieldName(&l.Fields[i])))
	}
	return out
}
