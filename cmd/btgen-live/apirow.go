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
	Column    string    `json:"column"`
	Timestamp time.Time `json:"timestamp"`
	Time      time.Time `json:"time,omitzero"` // of the event, if the column is named after it
	Means     string    `json:"means"`         // what the cell says, or why it cannot be decoded
	Value     string    `json:"value"`         // the beginning of a long one, in hex if it is not text
	Bytes     int       `json:"bytes"`
	Live      bool      `json:"live"`             // reads return it
	Expires   time.Time `json:"expires,omitzero"` // zero if it does not, or if that depends on newer cells
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
	if r.sequence > 0 && !l.Sequence {
		return nil, fmt.Errorf("sequence %d: events of schema %s have none: leave it out", r.sequence, l.Name)
	}
	if !codec.Truncate(t, l.Precision).Equal(t) {
		return nil, fmt.Errorf("time %q: finer than the precision of the schema, %s, so no event has it", r.instant,
			schema.FormatDuration(l.Precision))
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
		}
		parts = append(parts, object{
			"name": g.Title(), "text": sample.ShowKey(string(part)), "means": prose.Means(l, t, g),
			"joined": g.Joined, // the next part follows without the delimiter
		})
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
	cells, now := []shownCell{}, time.Now()
	for _, family := range slices.Sorted(maps.Keys(row)) {
		rank := 0
		for k, item := range row[family] {
			if rank++; k == 0 || row[family][k-1].Column != item.Column {
				rank = 1
			}
			cells = append(cells, cellOf(&of, family, item, rank, now))
		}
	}
	rules := objects(t.AllFamilies(), func(f layout.Family) object { return object{"family": f.Name, "rule": f.GC.String()} })
	return object{
		"table": id, "key": sample.ShowKey(string(key)), "delimiter": t.Delimiter, "parts": parts, "cells": cells, "families": rules,
	}, len(cells), nil
}

// cellOf describes a cell in a row of a key. The newest of its column has rank 1.
func cellOf(key *verify.Key, family string, item bigtable.ReadItem, rank int, now time.Time) shownCell {
	shown, qualifier := item.Value[:min(len(item.Value), shownBytes)], strings.TrimPrefix(item.Column, family+":")
	c := shownCell{Column: family + ":" + textOrHex([]byte(qualifier)), Value: textOrHex(shown), Bytes: len(item.Value)}
	c.Timestamp = item.Timestamp.Time().UTC()
	for _, f := range key.Table.AllFamilies() {
		if f.Name == family {
			c.Live = f.Life.Alive(now, int64(item.Timestamp), rank)
			if until := f.Life.Fresh(int64(item.Timestamp), rank == 1); until.Year() < 9000 {
				c.Expires = until.UTC()
			}
		}
	}
	if of := key.Table.Rollup; of != nil && of.Family == family {
		c.Means = rollupMeaning(key.Layout, qualifier, item.Value)
		return c
	}
	cell, found := key.Cell(family, item)
	if !found {
		return c
	}
	c.Time = cell.Time.UTC()
	switch {
	case cell.Err != nil:
		c.Means = cell.Err.Error()
	case cell.Column.Field == layout.WrittenAt:
		c.Means = "written at " + cell.WrittenAt.UTC().Format(time.RFC3339Nano)
	default:
		c.Means = words.Excerpt(sample.ShowEvent(key.Layout, &sample.Event{Values: cell.Values}), shownMeaning)
	}
	k := slices.IndexFunc(key.Table.Columns, func(of layout.Column) bool { return of.Qualifier == cell.Column.Qualifier })
	if k >= 0 && !sample.Readable(key.Layout, key.Table, k) && len(shown) > 0 {
		c.Value = fmt.Sprintf("0x%x", shown)
	}
	return c
}

// textOrHex shows bytes as they are if they are printable, and otherwise in hex.
func textOrHex(b []byte) string {
	if text := string(b); text == "" || sample.ShowKey(text) == text {
		return text
	}
	return fmt.Sprintf("0x%x", b)
}

// rollupMeaning says what a cell of a rollup is.
func rollupMeaning(l *layout.Layout, qualifier string, datum []byte) string {
	var found rollup.Row
	found.Add(qualifier, datum)
	run, isRun := found.Best()
	switch {
	case len(found.Marks) > 0:
		return "mark: events have changed"
	case len(found.Deletions) > 0:
		return fmt.Sprintf("deletion of %s", countOf(len(found.Gone), "time range"))
	case !isRun:
		return ""
	}
	var windows window.Run
	if err := value.Windows(l, 0).ParseRun(&windows, run); err != nil {
		return "run: " + err.Error()
	}
	return fmt.Sprintf("run: %s by %s, in place of %s", countOf(len(windows.Windows), "window"),
		schema.FormatDuration(windows.Every), countOf(found.Total, "change"))
}
