// Package verify samples rows of live tables, and reports the share of row keys, columns and
// values that a schema can read. For the rest, it guesses which edit of the schema caused it.
// It changes nothing, and works for any table.
package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Options configure [Table].
type Options struct {
	Prefix  string        // precedes the table ID
	Rows    int           // maximum number of rows to sample
	Timeout time.Duration // for each request
}

const (
	maxCells = 1000      // maximum number of cells to check of a row
	maxBytes = 256 << 20 // maximum size of what is read of a table
)

// Share is a part of a sample.
type Share struct {
	Readable int `json:"readable"`
	Total    int `json:"total"`
}

// add counts one more.
func (s *Share) add(readable bool) {
	s.Total++
	if readable {
		s.Readable++
	}
}

// String returns the share, such as "99.5% of 1000".
func (s Share) String() string {
	if s.Total == 0 {
		return "0 of 0"
	}
	percent := float64(s.Readable*1000/s.Total) / 10 // rounded down, so that 100% means all
	return strconv.FormatFloat(percent, 'f', -1, 64) + "% of " + strconv.Itoa(s.Total)
}

// Finding describes data that the schema cannot read, with one example.
type Finding struct {
	Count   int    `json:"count"`            // in the sample
	Row     string `json:"row"`              // quoted as in Go if it is not printable
	Column  string `json:"column,omitempty"` // family:qualifier; empty for a row key
	Problem string `json:"problem"`
	Guess   string `json:"guess,omitempty"` // the edit of the schema that probably caused it

	kind string // findings of one kind are counted together
}

// Report is the result for one table.
type Report struct {
	Table   string   `json:"table"`            // with its prefix
	Sample  *Sampled `json:"sample,omitempty"` // nil for rows that were read before
	Rows    Share    `json:"row_keys"`
	Columns Share    `json:"columns"` // cells by family and qualifier
	Values  Share    `json:"values"`
	// Times are the cells whose timestamps agree with the time of their event in the row key
	// or the column name, where the schema says that they should.
	Times Share `json:"times"`
	// Micros reports whether cells have timestamps that are not whole milliseconds: the table has the granularity
	// MICROS. Reads are exact to the microsecond; writers store whole milliseconds.
	Micros bool `json:"micros,omitempty"`
	// Events are the events in the sampled rows, as readers find them: without those that have
	// expired. Readable are those with all of their required fields. A row that no read of a series
	// looks for counts as one event that is not readable.
	Events *Share `json:"events,omitempty"` // nil for rows that were read before
	// Windows are the buckets of a rollup whose windows were compared with their events, as long as all of these are there.
	// Readable are those that agree. It is nil for rows that were read before, and for a table without a rollup.
	Windows  *Share    `json:"windows,omitempty"`
	Findings []Finding `json:"findings"`
}

// ErrNoTable is the error for a table that does not exist.
var ErrNoTable = errors.New("the table does not exist")

// Table samples a table. schemas are all schemas that have the table, at least one. It reads
// at most options.Rows rows and maxBytes, then the events of the same rows and their windows, and holds one row in memory.
func Table(ctx context.Context, client store.Client, schemas []Schema, options Options) (*Report, error) {
	v := newVerifier(options.Prefix+schemas[0].Table.ID, schemas)
	sampled, err := Sample(ctx, client.OpenTable(v.report.Table), Sampling{
		Rows: options.Rows, Bytes: maxBytes, RowCells: maxCells, Timeout: options.Timeout,
		Read: func(start, end string) error {
			v.ranges = append(v.ranges, store.KeyRange{Start: start, End: end})
			return nil
		},
	}, func(row bigtable.Row) bool {
		v.row(row)
		return true
	})
	v.report.Sample = &sampled
	if err == nil {
		err = v.events(ctx, client, options)
	}
	if err == nil {
		err = v.windows(ctx, client, options)
	}
	return v.done(), err
}

// Rows verifies rows of a table that were read before. schemas are as for [Table].
func Rows(schemas []Schema, rows []bigtable.Row) *Report {
	v := newVerifier(schemas[0].Table.ID, schemas)
	for _, row := range rows {
		v.row(row)
	}
	return v.done()
}

// verifier verifies the rows of a table. Several schemas may share it: a row is readable if
// one of them reads it.
type verifier struct {
	schemas []Schema
	report  *Report

	ranges   []store.KeyRange // of the sampled rows
	reported map[string]bool  // rows whose keys are reported
}

func newVerifier(table string, schemas []Schema) *verifier {
	v := &verifier{report: &Report{Table: table, Findings: []Finding{}}, reported: map[string]bool{}}
	for _, s := range schemas {
		v.schemas = append(v.schemas, s.prepared())
	}
	return v
}

// done returns the report, the most frequent findings first.
func (v *verifier) done() *Report {
	slices.SortStableFunc(v.report.Findings, func(a, b Finding) int { return b.Count - a.Count })
	return v.report
}

// row verifies a row.
func (v *verifier) row(row bigtable.Row) {
	var refused error // by the first schema
	var keys []Key
	for i, s := range v.schemas {
		key, err := s.Key(row.Key())
		if err == nil {
			keys = append(keys, key)
		} else if i == 0 {
			refused = err
		}
	}
	v.report.Rows.add(keys != nil)
	if keys == nil {
		v.reported[row.Key()] = true
		v.found("key", row.Key(), "", refused.Error(), guessKey(v.schemas[0], row.Key(), refused))
		return
	}
	for _, family := range slices.Sorted(maps.Keys(row)) {
		for _, item := range row[family] {
			v.report.Micros = v.report.Micros || item.Timestamp%1000 != 0
			v.cell(row.Key(), keys, family, item)
		}
	}
}

// found counts a finding with those of its kind.
func (v *verifier) found(kind, row, column, problem, guess string) {
	for i := range v.report.Findings {
		other, ofColumn := &v.report.Findings[i], kind == "value" || kind == "column"
		if other.kind == kind && other.Guess == guess && (other.Column == column || !ofColumn) {
			other.Count++
			return
		}
	}
	if len(v.report.Findings) < maxFindings {
		v.report.Findings = append(v.report.Findings, Finding{1, show(row), column, problem, guess, kind})
	}
}

// maxFindings bounds the findings of a table.
const maxFindings = 100

// cell verifies a cell of a row whose key some schemas read.
func (v *verifier) cell(row string, keys []Key, family string, item bigtable.ReadItem) {
	qualifier := strings.TrimPrefix(item.Column, family+":")
	of, found := Cell{}, false
	for _, key := range keys {
		if key.internal(family, qualifier) {
			return
		}
		if !found {
			of, found = key.Cell(family, item)
		}
	}
	name := family + ":" + show(qualifier)
	if v.report.Columns.add(found); !found {
		v.found("column", row, name, "the schema has no such column", v.guessColumn(family, qualifier))
		return
	}
	err := of.doubt(item)
	v.report.Values.add(err == nil)
	if compared, wrong := of.checkTime(family, item); compared {
		v.report.Times.add(wrong == nil)
		if wrong != nil {
			v.found("time", row, "", wrong.Error(), guessTime(row))
		}
	}
	if err != nil {
		if of.Table.Pattern.Naming() != codec.NamedByField {
			name = family + ":" // a column for each value or event
		}
		v.found("value", row, name, err.Error(), of.guess(err))
	}
}

// errStray is the error for a timestamp outside of the bucket of its row.
var errStray = errors.New("the timestamp is not in the bucket of the row")

// errImplausible is the error for a number whose bits are more likely those of another type.
var errImplausible = errors.New("implausible value")

// doubt returns why a cell cannot be read, or is probably read wrong.
func (c *Cell) doubt(item bigtable.ReadItem) error {
	pattern, at := c.Table.Pattern, codec.FromMicros(int64(item.Timestamp))
	switch {
	case pattern.EventTimed() && pattern.Bucketed() && (at.Before(c.At) || !at.Before(c.Table.Bucket.End(c.At))):
		return fmt.Errorf("%w: %s is not in the bucket from %s", errStray, at.Format(time.RFC3339), c.At.Format(time.RFC3339))
	case c.Err == nil && c.Column.Field >= 0 && !c.Column.Values.Text():
		return plausible(c.Values[c.Column.Field])
	}
	return c.Err
}

// plausible rejects numbers whose bits are probably those of another type.
func plausible(v any) error {
	if f, ok := v.(float64); ok && f != 0 && f > -smallestFloat && f < smallestFloat {
		return fmt.Errorf("%w: %g", errImplausible, f)
	}
	return nil
}

// smallestFloat is smaller than any likely measurement. Integers up to 2^52 have the bits of
// smaller floats.
const smallestFloat = 1e-300

// show quotes unprintable text.
func show(s string) string {
	if s == "" {
		return ""
	}
	return sample.ShowKey(s)
}
