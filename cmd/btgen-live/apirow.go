package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Limits of a row that is shown.
const (
	shownCells = maxRows
	shownBytes = 200 // of a value
)

// storedRow is a row as it is stored, whatever of it reads return.
type storedRow struct {
	Table     string       `json:"table"`
	Key       string       `json:"key"`
	Delimiter string       `json:"delimiter"`
	Parts     []keyPart    `json:"parts"`
	Cells     []shownCell  `json:"cells"`
	Families  []ruleOfRows `json:"families"`
}

// keyPart is a segment of a row key.
type keyPart struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ruleOfRows says when cells of a family are garbage-collected.
type ruleOfRows struct {
	Family string `json:"family"`
	Rule   string `json:"rule"`
}

// shownCell is a stored cell.
type shownCell struct {
	Column    string `json:"column"`
	Timestamp string `json:"timestamp"`
	Value     string `json:"value"` // the beginning of a long one
	Bytes     int    `json:"bytes"`
	Live      bool   `json:"live"`    // reads return it
	Expires   string `json:"expires"` // empty if it does not, or if that depends on newer cells
}

// row answers with the rows in which an event of a series is stored, in the table that is read: several if its
// key has the field.
func (a *api) row(ctx context.Context, q url.Values) ([]byte, error) {
	at, n := "", 0
	var of selection
	s, err := a.selected(q, &of, func(f *pflag.FlagSet) {
		f.StringVar(&at, "time", "", "")
		f.Var(number{&n, 0, math.MaxInt32}, "sequence", "")
	})
	if err != nil {
		return nil, err
	}
	t, err := parseInstant("time", at, anInstant)
	if err != nil {
		return nil, invalid(err)
	}
	if of.from+of.to != "" {
		return nil, invalid(errors.New("from and to: want the time of one event instead"))
	}
	if s.of != ofSeries {
		return nil, invalid(errors.New("want the values of one series"))
	}
	l := s.schema.Layout()
	if !codec.Truncate(t, l.Precision).Equal(t) {
		return nil, invalid(fmt.Errorf("time %q: finer than the precision of the schema, %s, so no event has it", at, schema.FormatDuration(l.Precision)))
	}
	table, sequence := periodAt(l.Read, t), uint32(n)
	out := []storedRow{}
	for _, metric := range metricsOf(table) {
		v := codec.KeyValues{Series: value.Pointers(l, s.values, nil), Metric: metric, At: &t, Sequence: &sequence}
		row, err := a.storedRow(ctx, l, table, &v)
		if err != nil {
			return nil, err
		}
		if len(row.Cells) > 0 || metric == nil {
			out = append(out, row)
		}
	}
	return json.Marshal(map[string]any{"rows": out})
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

// storedRow reads a row.
func (a *api) storedRow(ctx context.Context, l *layout.Layout, t *layout.Table, v *codec.KeyValues) (storedRow, error) {
	key, err := t.Append(nil, v)
	if err != nil {
		return storedRow{}, invalid(err)
	}
	out := storedRow{Table: a.options.TablePrefix + t.ID, Key: sample.ShowKey(string(key)), Delimiter: t.Delimiter, Cells: []shownCell{}}
	for i := range t.Segments {
		part, err := t.AppendPart(nil, i, i+1, v)
		if err != nil {
			return storedRow{}, invalid(err)
		}
		out.Parts = append(out.Parts, keyPart{t.Segments[i].Title(), sample.ShowKey(string(part))})
	}
	for _, f := range t.AllFamilies() {
		out.Families = append(out.Families, ruleOfRows{f.Name, f.GC.String()})
	}
	row, err := a.client.OpenTable(out.Table).ReadRow(ctx, string(key), bigtable.RowFilter(bigtable.CellsPerRowLimitFilter(shownCells)))
	if err != nil {
		return storedRow{}, err
	}
	now := time.Now()
	for _, family := range slices.Sorted(maps.Keys(row)) {
		cells := cellsOf(t, family, row[family], now)
		if t.Rollup != nil && family == t.Rollup.Family {
			describeRollup(l, t, cells, row[family])
		}
		out.Cells = append(out.Cells, cells...)
	}
	return out, nil
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
			Column:    family + ":" + sample.ShowKey(strings.TrimPrefix(item.Column, family+":")),
			Timestamp: item.Timestamp.Time().UTC().Format(time.RFC3339Nano),
			Value:     sample.ShowKey(string(item.Value[:min(len(item.Value), shownBytes)])), Bytes: len(item.Value),
		}
		if len(item.Value) == 0 {
			c.Value = ""
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

// describeRollup shows what the cells of a rollup say, in place of their bytes.
func describeRollup(l *layout.Layout, t *layout.Table, cells []shownCell, items []bigtable.ReadItem) {
	spec := value.Windows(l, 0)
	for i, item := range items {
		var found rollup.Row
		found.Add(strings.TrimPrefix(item.Column, t.Rollup.Family+":"), item.Value)
		run, isRun := found.Best()
		switch {
		case len(found.Marks) > 0:
			cells[i].Value = "mark: events have changed"
		case len(found.Deletions) > 0:
			cells[i].Value = fmt.Sprintf("deletion of %s", countOf(len(found.Gone), "time range"))
		case isRun:
			var windows window.Run
			if err := spec.ParseRun(&windows, run); err != nil {
				cells[i].Value = "run: " + err.Error()
				continue
			}
			cells[i].Value = fmt.Sprintf("run: %s by %s, in place of %s", countOf(len(windows.Windows), "window"), schema.FormatDuration(windows.Every), countOf(int(found.Total), "change"))
		}
	}
}
