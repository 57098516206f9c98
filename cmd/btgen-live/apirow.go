package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Limits of a row that is shown.
const (
	shownCells   = maxRows
	shownBytes   = 200 // of a value
	shownMeaning = 500 // columns of a decoded one
)

// shownCell is a stored cell.
type shownCell struct {
	Column    string `json:"column"`
	Timestamp string `json:"timestamp"`
	Time      string `json:"time"`  // of the event, if the column is named after it
	Means     string `json:"means"` // what the cell says, or why it cannot be decoded
	Value     string `json:"value"` // the beginning of a long one, in hex if it is not text
	Bytes     int    `json:"bytes"`
	Live      bool   `json:"live"`    // reads return it
	Expires   string `json:"expires"` // empty if it does not, or if that depends on newer cells
}

// row answers with the rows in which an event of a series is stored, in the table that is read: several if its
// key has the field.
func (a *api) row(ctx context.Context, r *request) (any, error) {
	t, err := parseInstant("time", r.instant, "")
	switch {
	case err != nil:
		return nil, err
	case r.fromText+r.toText != "":
		return nil, errors.New("from and to: want the time of one event instead")
	case len(r.series) != 1:
		return nil, errors.New("want the values of one series")
	}
	l := r.schema.Layout()
	if !codec.Truncate(t, l.Precision).Equal(t) {
		return nil, fmt.Errorf("time %q: finer than the precision of the schema, %s, so no event has it", r.instant, schema.FormatDuration(l.Precision))
	}
	table, sequence := periodAt(l.Read, t), uint32(r.sequence)
	out := []object{}
	for _, metric := range metricsOf(table) {
		v := codec.KeyValues{Series: value.Pointers(l, r.series[0], nil), Metric: metric, At: &t, Sequence: &sequence}
		row, cells, err := a.storedRow(ctx, l, table, &v)
		if err != nil {
			return nil, err
		}
		if cells > 0 || metric == nil {
			out = append(out, row)
		}
	}
	return object{"rows": out}, nil
}

// periodAt returns the layout of a table for events at a time.
func periodAt(t *layout.Table, at time.Time) *layout.Table {
	for _, p := range t.Periods() {
		if !at.Before(p.Since) {
			return p
		}
	}
	return t
}

// metricsOf returns the fields in row keys; one nil if there are none.
func metricsOf(t *layout.Table) []*string {
	if !t.Metrics() {
		return []*string{nil}
	}
	var out []*string
	for i := range t.Columns {
		out = append(out, &t.Columns[i].Qualifier)
	}
	return out
}

// storedRow reads a row, whatever of it reads return, and returns the number of its cells, too.
func (a *api) storedRow(ctx context.Context, l *layout.Layout, t *layout.Table, v *codec.KeyValues) (object, int, error) {
	key, err := t.Append(nil, v)
	if err != nil {
		return nil, 0, err
	}
	var parts []object
	for i, g := range t.Segments {
		part, err := t.AppendPart(nil, i, i+1, v)
		if err != nil {
			return nil, 0, err
		} // the next part follows a joined one without the delimiter
		parts = append(parts, object{"name": g.Title(), "text": sample.ShowKey(string(part)), "means": prose.Means(l, t, g), "joined": g.Joined})
	}
	of, err := verify.Schema{Layout: l, Table: t}.Key(string(key))
	if err != nil {
		return nil, 0, err
	}
	id := a.options.TablePrefix + t.ID
	row, err := a.client.OpenTable(id).ReadRow(ctx, string(key), bigtable.RowFilter(bigtable.CellsPerRowLimitFilter(shownCells)))
	if err != nil {
		return nil, 0, err
	}
	all, now := []shownCell{}, time.Now()
	for _, family := range slices.Sorted(maps.Keys(row)) {
		cells := cellsOf(t, family, row[family], now)
		if t.Rollup != nil && family == t.Rollup.Family {
			describeRollup(l, t, cells, row[family])
		} else {
			describeEvents(&of, family, cells, row[family])
		}
		all = append(all, cells...)
	}
	rules := objects(t.AllFamilies(), func(f layout.Family) object { return object{"family": f.Name, "rule": f.GC.String()} })
	return object{
		"table": id, "key": sample.ShowKey(string(key)), "delimiter": t.Delimiter, "parts": parts, "cells": all, "families": rules,
	}, len(all), nil
}

// cellsOf describes the cells of a family, those of a column together and the newest first.
func cellsOf(t *layout.Table, family string, items []bigtable.ReadItem, now time.Time) []shownCell {
	families := t.AllFamilies()
	i := slices.IndexFunc(families, func(f layout.Family) bool { return f.Name == family })
	var out []shownCell
	rank := 0
	for k, item := range items {
		if rank++; k == 0 || items[k-1].Column != item.Column {
			rank = 1
		}
		c := shownCell{
			Column:    family + ":" + textOrHex([]byte(strings.TrimPrefix(item.Column, family+":"))),
			Timestamp: item.Timestamp.Time().UTC().Format(time.RFC3339Nano),
			Value:     textOrHex(item.Value[:min(len(item.Value), shownBytes)]), Bytes: len(item.Value),
		}
		if i >= 0 {
			life := families[i].Life
			c.Live = life.Alive(now, int64(item.Timestamp), rank)
			if until := life.Fresh(int64(item.Timestamp), rank == 1); !until.IsZero() && until.Year() < 9000 {
				c.Expires = until.UTC().Format(time.RFC3339Nano)
			}
		}
		out = append(out, c)
	}
	return out
}

// textOrHex shows bytes as they are if they are printable, and otherwise in hex.
func textOrHex(b []byte) string {
	if text := string(b); text == "" || sample.ShowKey(text) == text {
		return text
	}
	return fmt.Sprintf("0x%x", b)
}

// describeEvents decodes cells of the events in the row of a key.
func describeEvents(key *verify.Key, family string, cells []shownCell, items []bigtable.ReadItem) {
	for i, item := range items {
		cell, found := key.Cell(family, item)
		if !found {
			continue
		}
		if !cell.Time.IsZero() {
			cells[i].Time = cell.Time.UTC().Format(time.RFC3339Nano)
		}
		switch {
		case cell.Err != nil:
			cells[i].Means = cell.Err.Error()
		case cell.Column.Field == layout.WrittenAt:
			cells[i].Means = "written at " + cell.WrittenAt.UTC().Format(time.RFC3339Nano)
		default:
			cells[i].Means = words.Excerpt(sample.ShowEvent(key.Layout, &sample.Event{Values: cell.Values}), shownMeaning)
		}
		k := slices.IndexFunc(key.Table.Columns, func(c layout.Column) bool { return c.Qualifier == cell.Column.Qualifier })
		if k >= 0 && !sample.Readable(key.Layout, key.Table, k) && len(item.Value) > 0 {
			cells[i].Value = fmt.Sprintf("0x%x", item.Value[:min(len(item.Value), shownBytes)])
		}
	}
}

// describeRollup says what the cells of a rollup are.
func describeRollup(l *layout.Layout, t *layout.Table, cells []shownCell, items []bigtable.ReadItem) {
	spec := value.Windows(l, 0)
	for i, item := range items {
		var found rollup.Row
		found.Add(strings.TrimPrefix(item.Column, t.Rollup.Family+":"), item.Value)
		run, isRun := found.Best()
		switch {
		case len(found.Marks) > 0:
			cells[i].Means = "mark: events have changed"
		case len(found.Deletions) > 0:
			cells[i].Means = fmt.Sprintf("deletion of %s", countOf(len(found.Gone), "time range"))
		case isRun:
			var windows window.Run
			if err := spec.ParseRun(&windows, run); err != nil {
				cells[i].Means = "run: " + err.Error()
				continue
			}
			cells[i].Means = fmt.Sprintf("run: %s by %s, in place of %s", countOf(len(windows.Windows), "window"), schema.FormatDuration(windows.Every), countOf(found.Total, "change"))
		}
	}
}
