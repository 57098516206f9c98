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

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
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
	id := options.Prefix + schemas[0].Table.ID
	v := newVerifier(id, schemas)
	var ranges []store.KeyRange
	sampling := Sampling{
		Rows: options.Rows, Bytes: maxBytes, RowCells: maxCells, Timeout: options.Timeout,
		Read: func(start, end string) { ranges = append(ranges, store.KeyRange{Start: start, End: end}) },
	}
	sampled, err := Sample(ctx, client.OpenTable(id), sampling, func(row bigtable.Row) bool {
		v.row(row)
		return true
	})
	v.report.Sample = &sampled
	if err == nil {
		err = v.events(ctx, client, options, ranges)
	}
	if err == nil {
		err = v.windows(ctx, client, options, ranges)
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

// Schema is a schema and one of its tables.
type Schema struct {
	Layout *layout.Layout
	Table  *layout.Table
}

// verifier verifies the rows of a table. Several schemas may share it: a row is readable if
// one of them reads it.
type verifier struct {
	schemas []Schema
	blobs   []*value.Blob // of serialized events, one per schema; nil for the others
	report  *Report

	reported map[string]bool // rows whose keys are reported
}

func newVerifier(table string, schemas []Schema) *verifier {
	v := &verifier{schemas: schemas, report: &Report{Table: table, Findings: []Finding{}}, reported: map[string]bool{}}
	for _, s := range schemas {
		var blob *value.Blob
		if s.Table.Serialized() {
			blob = value.NewBlob(s.Layout.Fields, s.Table.Blob)
		}
		v.blobs = append(v.blobs, blob)
	}
	return v
}

// done returns the report, the most frequent findings first.
func (v *verifier) done() *Report {
	slices.SortStableFunc(v.report.Findings, func(a, b Finding) int { return b.Count - a.Count })
	return v.report
}

// reading is the key of a row as a schema reads it.
type reading struct {
	Schema
	at     time.Time // of the event, or the start of the bucket
	metric string
	blob   *value.Blob // nil unless events are serialized
}

// row verifies a row.
func (v *verifier) row(row bigtable.Row) {
	var first Finding
	var readings []reading
	for i, s := range v.schemas {
		at, metric, err := s.key(row.Key())
		if err == nil {
			readings = append(readings, reading{s, at, metric, v.blobs[i]})
		} else if i == 0 {
			problem := err.Error()
			first = Finding{Row: show(row.Key()), Problem: problem, Guess: guessKey(s, row.Key(), err), kind: "key"}
		}
	}
	v.report.Rows.add(readings != nil)
	if readings == nil {
		v.reported[row.Key()] = true
		v.found(first)
		return
	}
	v.cells(row, readings)
}

// key parses a row key of the table. If the table has several layouts, the key must have a
// time of its layout.
func (s Schema) key(row string) (at time.Time, metric string, err error) {
	err = s.Table.Verify(row, &codec.KeyValues{Series: value.Pointers(s.Layout, nil, nil), At: &at, Metric: &metric})
	if err == nil && (at.Before(s.Table.Since) || !s.Table.Until.IsZero() && !at.Before(s.Table.Until)) {
		err = fmt.Errorf("%w: reads expect events of %s in another layout of the table", codec.ErrTimeRange, at.Format(time.RFC3339))
	}
	return at, metric, err
}

// found counts a finding with those of its kind.
func (v *verifier) found(f Finding) {
	for i := range v.report.Findings {
		if other := &v.report.Findings[i]; other.kind == f.kind && other.Guess == f.Guess && (other.Column == f.Column || f.kind != "value" && f.kind != "column") {
			other.Count++
			return
		}
	}
	if f.Count = 1; len(v.report.Findings) < maxFindings {
		v.report.Findings = append(v.report.Findings, f)
	}
}

// maxFindings bounds the findings of a table.
const maxFindings = 100

// cells verifies the cells of a row whose key some schemas read.
func (v *verifier) cells(row bigtable.Row, readings []reading) {
	at := readings[0].at
	for _, family := range slices.Sorted(maps.Keys(row)) {
		for _, item := range row[family] {
			v.report.Micros = v.report.Micros || item.Timestamp%1000 != 0
			qualifier := strings.TrimPrefix(item.Column, family+":")
			if slices.ContainsFunc(readings, func(s reading) bool {
				sums := s.Table.SumFamily()
				return sums != nil && (strings.HasPrefix(qualifier, layout.MarkPrefix) || family == sums.Name)
			}) {
				continue // a deletion is in progress, or was killed; or a sum of versions
			}
			if rollup.Known(qualifier) && slices.ContainsFunc(readings, func(s reading) bool { return s.Table.Rollup != nil && s.Table.Rollup.Family == family }) {
				continue // windows, or a mark
			}
			s, column, known := columnOf(readings, family, qualifier)
			v.report.Columns.add(known)
			name := family + ":" + show(qualifier)
			if !known {
				f := Finding{Row: show(row.Key()), Column: name, Problem: "the schema has no such column", Guess: v.guessColumn(family, qualifier), kind: "column"}
				v.found(f)
				continue
			}
			err := s.checkValue(column, at, qualifier, item)
			v.report.Values.add(err == nil)
			if compared, wrong := s.checkTime(family, qualifier, item); compared {
				v.report.Times.add(wrong == nil)
				if wrong != nil {
					v.found(Finding{Row: show(row.Key()), Problem: wrong.Error(), Guess: guessTime(row.Key()), kind: "time"})
				}
			}
			if err == nil {
				continue
			}
			if s.Table.Pattern.Naming() != codec.NamedByField {
				name = family + ":" // a column for each value or event
			}
			v.found(Finding{Row: show(row.Key()), Column: name, Problem: err.Error(), Guess: guessValue(s.Schema, column, qualifier, item, err), kind: "value"})
		}
	}
}

// columnOf finds the column of a cell in the schemas that read the row.
func columnOf(readings []reading, family, qualifier string) (*reading, layout.Column, bool) {
	for i := range readings {
		s := &readings[i]
		for _, c := range s.Table.AllColumns() {
			switch naming := s.Table.Pattern.Naming(); {
			case !inFamily(s.Table, c, family):
			case s.Table.Metrics() && c.Qualifier == s.metric, naming == codec.NamedByTime,
				naming == codec.NamedByField && c.Qualifier == qualifier:
				return s, c, true
			}
		}
	}
	return nil, layout.Column{}, false
}

// inFamily reports whether a column is in a family: in any, if events have classes.
func inFamily(t *layout.Table, c layout.Column, family string) bool {
	if t.HasClasses() {
		return slices.ContainsFunc(t.Families, func(f layout.Family) bool { return f.Name == family })
	}
	return t.Families[c.Family].Name == family
}

// errStray is the error for a timestamp outside of the bucket of its row.
var errStray = errors.New("the timestamp is not in the bucket of the row")

// errImplausible is the error for a number whose bits are more likely those of another type.
var errImplausible = errors.New("implausible value")

// checkValue returns why a cell cannot be read.
func (s *reading) checkValue(c layout.Column, at time.Time, qualifier string, item bigtable.ReadItem) error {
	t := s.Table
	if stamp := int64(item.Timestamp); t.Pattern.EventTimed() && t.Pattern.Bucketed() && (stamp < at.UnixMicro() || stamp >= t.Bucket.End(at).UnixMicro()) {
		return fmt.Errorf("%w: %s is not in the bucket from %s", errStray, codec.FromMicros(stamp).Format(time.RFC3339), at.Format(time.RFC3339))
	}
	if t.Pattern.Naming() == codec.NamedByTime {
		times := t.Offset(s.Layout).In(at)
		if _, _, ok := times.Parse([]byte(qualifier)); !ok {
			return times.Refuse([]byte(qualifier))
		}
	}
	return s.decode(c, datumOf(t, qualifier, item))
}

// datumOf returns the stored datum of a cell.
func datumOf(t *layout.Table, qualifier string, item bigtable.ReadItem) []byte {
	if t.Pattern.Naming() == codec.NamedByValue {
		return []byte(qualifier)
	}
	return item.Value
}

// decode decodes a datum, and doubts numbers.
func (s *reading) decode(c layout.Column, datum []byte) error {
	values, _, err := Decode(s.Layout, s.blob, &c, datum)
	if err == nil && c.Field >= 0 && !c.Values.Text() {
		err = plausible(values[c.Field])
	}
	return err
}

// Decode decodes the datum of a column: the values of its fields, or when the event was written. blob is that of a table with
// serialized events.
func Decode(l *layout.Layout, blob *value.Blob, c *layout.Column, datum []byte) (values []any, writtenAt time.Time, err error) {
	values = make([]any, len(l.Fields))
	switch {
	case c.Field == layout.WholeEvent:
		err = blob.Parse(values, datum)
	case c.Field == layout.WrittenAt && c.Values.Text():
		writtenAt, err = codec.Text.Timestamp.Decode(datum)
	case c.Field == layout.WrittenAt:
		writtenAt, err = codec.Binary.Timestamp.Decode(datum)
	case c.Was != nil:
		values[c.Field], err = value.OlderCoding(&l.Fields[c.Field], c.Was, c.Values).Decode(datum)
	default:
		values[c.Field], err = value.Coding(&l.Fields[c.Field], c.Values).Decode(datum)
	}
	return values, writtenAt, err
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
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` {
		return quoted
	}
	return s
}
