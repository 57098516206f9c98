package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Sampling bounds what [Sample] reads of a table.
type Sampling struct {
	Rows  int // maximum number of rows
	Cells int // maximum number of cells; 0 for any number
	Bytes int // maximum size of values and column names; 0 for any size
	// RowCells is the maximum number of cells of a row: [Sample] leaves out the others, and counts the
	// rows that have more. 0 for any number.
	RowCells int
	Filter   bigtable.Filter // limits the cells of a row, before RowCells does; nil for none
	Prefix   string          // of row keys; empty for all rows
	Timeout  time.Duration   // for each request

	// Read is told the ranges of row keys, [start, end), that [Sample] has read; nil for nobody.
	Read func(start, end string)
}

// Sampled says which rows of a table were read.
type Sampled struct {
	Rows     int    `json:"rows"`
	Places   int    `json:"places"`          // runs of adjacent rows; between most of them are rows that were not read
	First    string `json:"first,omitempty"` // row key of the table, quoted as in Go if it is not printable
	Last     string `json:"last,omitempty"`  // likewise
	Complete bool   `json:"complete"`        // whether the rows are the whole table, or all rows with the prefix
	// Full says that cells or bytes, not rows, ended the sample.
	Full bool `json:"full,omitempty"`
	// CutRows is the number of rows that have more than RowCells cells, of which the others were not read.
	CutRows  int `json:"cut_rows,omitempty"`
	RowCells int `json:"row_cells,omitempty"`
}

// String says how much of the table was read, such as "1000 rows at 32 places".
func (s Sampled) String() string {
	rows, places := fmt.Sprintf("%d rows", s.Rows), fmt.Sprintf("%d places", s.Places)
	if s.Rows == 1 {
		rows = "1 row"
	}
	if s.Places == 1 {
		places = "1 place"
	}
	cut := ""
	if s.CutRows > 0 {
		cut = fmt.Sprintf("; of %s, only the first %d cells", words.Count(float64(s.CutRows), "row", "rows"), s.RowCells)
	}
	switch {
	case s.Complete:
		return "all " + rows + cut
	case s.Rows == 0:
		return "no rows"
	}
	out := fmt.Sprintf("%s at %s between %s and %s", rows, places, s.First, s.Last)
	if s.Full {
		out += ", which reach the limit of memory"
	}
	return out + cut
}

// Sample reads rows at places that are spread over a table, also if the server samples no row
// keys: see [spreader]. It calls row for each row until that returns false. Rows of one place
// are in order; places are not. The error is [ErrNoTable] if the table does not exist.
func Sample(ctx context.Context, table bigtable.TableAPI, s Sampling, row func(bigtable.Row) bool) (Sampled, error) {
	p := &spreader{table: table, sampling: s}
	filter := s.filter()
	p.read = func(ctx context.Context, r *stretch, n int) (more bool, err error) {
		got, stopped, start := 0, false, r.next
		err = table.ReadRows(ctx, bigtable.NewRange(r.next, r.end), func(read bigtable.Row) bool {
			got++
			r.next = read.Key() + "\x00"
			p.count(read)
			p.cutRow(read)
			stopped = !row(read) || p.full()
			return !stopped
		}, bigtable.LimitRows(int64(n)), bigtable.RowFilter(filter))
		r.rows += got
		r.done = got < n && !stopped
		if got > 0 && s.Read != nil {
			s.Read(start, r.next)
		}
		return !stopped, err
	}
	return p.run(ctx)
}

// SampleRanges is like [Sample] for callers that read rows themselves: it calls read with ranges
// of row keys, [start, end), that contain at most s.Rows rows together. Only keys are read to
// find them; s.Cells, s.Bytes and s.Filter have no effect.
func SampleRanges(ctx context.Context, table bigtable.TableAPI, s Sampling, read func(ctx context.Context, start, end string) error) (Sampled, error) {
	p := &spreader{table: table, sampling: s}
	p.read = func(ctx context.Context, r *stretch, n int) (more bool, err error) {
		got, start := 0, r.next
		err = table.ReadRows(ctx, bigtable.NewRange(r.next, r.end), func(read bigtable.Row) bool {
			got++
			r.next = read.Key() + "\x00"
			return true
		}, bigtable.LimitRows(int64(n)), bigtable.RowFilter(keysOnly))
		p.rows += got
		r.rows += got
		r.done = got < n
		if err != nil || got == 0 {
			return err == nil, err
		}
		return true, read(p.parent, start, r.next)
	}
	return p.run(ctx)
}

// filter returns the filter of a sample. It lets one cell more pass than a row may have, so that rows
// that have more are known.
func (s *Sampling) filter() bigtable.Filter {
	switch limit := bigtable.CellsPerRowLimitFilter(s.RowCells + 1); {
	case s.RowCells == 0 && s.Filter == nil:
		return bigtable.PassAllFilter()
	case s.RowCells == 0:
		return s.Filter
	case s.Filter == nil:
		return limit
	default:
		return bigtable.ChainFilters(s.Filter, limit)
	}
}

// cutRow drops the cell of a row that is one too many.
func (p *spreader) cutRow(row bigtable.Row) {
	cells := 0
	for _, items := range row {
		cells += len(items)
	}
	if p.sampling.RowCells == 0 || cells <= p.sampling.RowCells {
		return
	}
	p.longer++
	last := slices.Max(slices.Collect(maps.Keys(row)))
	row[last] = row[last][:len(row[last])-1]
}

// keysOnly drops all of a row but its key.
var keysOnly = bigtable.ChainFilters(bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())

// count adds what a row takes.
func (p *spreader) count(row bigtable.Row) {
	p.rows++
	for _, items := range row {
		p.cells += len(items)
		for i := range items {
			p.bytes += len(items[i].Value) + len(items[i].Column)
		}
	}
}

// full reports whether cells or bytes have reached their maximum.
func (p *spreader) full() bool {
	return p.sampling.Cells > 0 && p.cells >= p.sampling.Cells || p.sampling.Bytes > 0 && p.bytes >= p.sampling.Bytes
}

// left returns the number of rows that may still be read: fewer than s.Rows if rows like those
// that were read would exceed the maximum of cells or bytes, so that a sample of large rows is
// spread, too.
func (p *spreader) left() int {
	left := p.sampling.Rows - p.rows
	if p.full() {
		return 0
	}
	for _, of := range [][2]int{{p.sampling.Cells, p.cells}, {p.sampling.Bytes, p.bytes}} {
		if most, have := of[0], of[1]; most > 0 && have > 0 {
			left = min(left, max(1, int(float64(most-have)*float64(p.rows)/float64(have))))
		}
	}
	return left
}

// result describes what was read.
func (p *spreader) result() Sampled {
	out := Sampled{Rows: p.rows, First: show(p.first), Last: show(p.last), Complete: true}
	gap := true
	for _, r := range p.stretches {
		if r.rows > 0 && gap {
			out.Places++
			gap = false
		}
		if !r.done {
			out.Complete, gap = false, true
		}
	}
	if p.longer > 0 {
		out.CutRows, out.RowCells = p.longer, p.sampling.RowCells
	}
	out.Full = !out.Complete && p.rows < p.sampling.Rows
	return out
}

// missing adds ErrNoTable to the error of a table that does not exist.
func missing(err error) error {
	if status.Code(err) == codes.NotFound {
		return fmt.Errorf("%w: %w", ErrNoTable, err)
	}
	return err
}

// within returns the range of the rows that may be sampled.
func (s Sampling) within() codec.Rows { return codec.PrefixRows(s.Prefix) }
