package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// report prints the results of the demo.
type report struct {
	to  io.Writer
	err error // the first failure to print
}

// printf prints unless printing has failed before.
func (r *report) printf(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.to, format, args...)
	}
}

// step prints a step and its duration since begin.
func (r *report) step(what string, begin time.Time, format string, args ...any) {
	took := time.Since(begin)
	r.printf("%-9s %s  %s\n", what, fmt.Sprintf(format, args...), short(took))
}

// line prints a detail of the last step.
func (r *report) line(format string, args ...any) { r.printf("            "+format+"\n", args...) }

// short rounds a duration to about three digits.
func short(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond)
	default:
		return d.Round(10 * time.Microsecond)
	}
}

// number formats a count with thousands separators.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// bytesOf formats a size in decimal units.
func bytesOf(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// stored is the content of a table.
type stored struct{ rows, cells, bytes int }

// tables are the tables of the hourly schema, with their patterns.
var tables = []struct{ id, pattern string }{
	{"normal_columns", "bucket_new_columns"},
	{"normal_cells", "bucket_new_cells"},
	{"normal_combined", "bucket_serialized"},
	{"normal_unserialized", "single_unserialized"},
	{"normal_serialized", "single_serialized"},
}

// countTables prints the sizes of the tables, each of which has the events of the year.
func countTables(ctx context.Context, bt *storetest.Bigtable, events int, r *report) error {
	r.printf("\nthe same year in five patterns:\n%-22s %7s %8s %10s %10s\n", "pattern", "rows", "cells", "stored", "per event")
	for _, t := range tables {
		s, err := count(ctx, bt.Client.Open(t.id))
		if err != nil {
			return err
		}
		r.printf("%-22s %7s %8s %10s %10s\n", t.pattern, number(s.rows), number(s.cells), bytesOf(s.bytes), fmt.Sprintf("%d B", s.bytes/events))
	}
	r.printf("\nSizes include the row key, column name, timestamp and value of each cell, uncompressed.\n")
	return nil
}

// timestampSize is the size of a cell timestamp, in bytes.
const timestampSize = 8

// count reads a table and counts its rows, cells and bytes, with the row key, family, column
// name and timestamp of each cell.
func count(ctx context.Context, table *bigtable.Table) (stored, error) {
	var s stored
	err := table.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		s.rows++
		for _, cells := range row {
			for _, c := range cells {
				s.cells++
				s.bytes += len(c.Row) + len(c.Column) + timestampSize + len(c.Value)
			}
		}
		return true
	})
	if err == nil && s.rows == 0 {
		err = errors.New("the table is empty")
	}
	return s, err
}
