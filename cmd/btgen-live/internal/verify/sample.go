package verify

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
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
	Bytes int // of memory, about, at which the sample ends; 0 for any size
	// RowCells is the maximum number of cells of a row: [Sample] leaves out the others, and counts the
	// rows that have more. 0 for any number.
	RowCells int
	Filter   bigtable.Filter // limits the cells of a row, before RowCells does; nil for none
	Prefix   string          // of row keys; empty for all rows
	Timeout  time.Duration   // for each request

	// Read is called with the ranges of row keys, [start, end), that [Sample] has read; nil for nobody.
	Read func(start, end string) error
}

// KeysOnly is a filter that drops all of a row but its key.
var KeysOnly = bigtable.ChainFilters(bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())

// Sampled says which rows of a table were read.
type Sampled struct {
	Rows     int    `json:"rows"`
	Places   int    `json:"places"`          // runs of adjacent rows; between most of them are rows that were not read
	First    string `json:"first,omitempty"` // row key of the table, quoted as in Go if it is not printable
	Last     string `json:"last,omitempty"`  // likewise
	Complete bool   `json:"complete"`        // whether the rows are the whole table, or all rows with the prefix
	// Full says that bytes, not rows, ended the sample.
	Full bool `json:"full,omitempty"`
	// CutRows is the number of rows that have more than RowCells cells, of which the others were not read.
	CutRows  int `json:"cut_rows,omitempty"`
	RowCells int `json:"row_cells,omitempty"`
}

// String says how much of the table was read, such as "1000 rows at 32 places".
func (s Sampled) String() string {
	count := func(n int, noun string) string { return fmt.Sprintf("%d %s", n, words.Plural(n, noun, noun+"s")) }
	cut := ""
	if s.CutRows > 0 {
		cut = fmt.Sprintf("; of %s, only the first %d cells", count(s.CutRows, "row"), s.RowCells)
	}
	switch {
	case s.Complete:
		return "all " + count(s.Rows, "row") + cut
	case s.Rows == 0:
		return "no rows"
	}
	out := fmt.Sprintf("%s at %s between %s and %s", count(s.Rows, "row"), count(s.Places, "place"), s.First, s.Last)
	if s.Full {
		out += ", which reach the limit of memory"
	}
	return out + cut
}

// Sample reads rows at places that are spread over a table, also if the server samples no row
// keys: see [spreader]. It calls row for each row until that returns false. Rows of one place
// are in order; places are not. The error is [ErrNoTable] if the table does not exist.
func Sample(ctx context.Context, table bigtable.TableAPI, s Sampling, row func(bigtable.Row) bool) (Sampled, error) {
	p := &spreader{Sampling: s, table: table, row: row, filter: bigtable.PassAllFilter()}
	switch limit := bigtable.CellsPerRowLimitFilter(s.RowCells + 1); { // one more, so that rows that have more are known
	case s.RowCells > 0 && s.Filter != nil:
		p.filter = bigtable.ChainFilters(s.Filter, limit)
	case s.RowCells > 0:
		p.filter = limit
	case s.Filter != nil:
		p.filter = s.Filter
	}
	err := p.run(ctx)
	if status.Code(err) == codes.NotFound {
		err = fmt.Errorf("%w: %w", ErrNoTable, err)
	}
	return p.result(), err
}

// spreader reads rows at places that are spread over a table.
//
// Nothing says where rows are. SampleRowKeys returns the boundaries of parts of about the same
// size, but none for a table that has never been split, whatever it contains. The spreader takes
// these keys as a hint, and cuts the rest of the table itself. It reads the first key and, in
// reverse, the last one. Then it cuts one stretch of the table after the other in two, at the
// first row from the key on that is halfway between the first and the last row of the stretch.
// Since both are rows, the cut is between them, however close they are together in the space of
// all keys, and every cut finds a row. Stretches that were cut less often are cut first.
//
// Rows are then read in rounds, a share from each stretch. After each round, stretches that have
// no more rows are replaced by cutting the others, so that a part with few rows does not leave
// its share to the beginning of the next one. The last row of the table is a stretch of one row.
type spreader struct {
	Sampling
	table       bigtable.TableAPI
	row         func(bigtable.Row) bool
	filter      bigtable.Filter
	stretches   []*stretch // of the table, in order, without gaps
	first, last string     // keys of the table
	attempts    int        // number of attempts to cut
	rows        int        // that were read
	bytes       int        // of the rows
	longer      int        // rows with more cells than may be read
}

// stretch is a part of a table that is read from its beginning.
type stretch struct {
	next, end string // what is left to read; end is exclusive, and empty for the end of the table
	last      string // key of its last row; empty if it is unknown
	cuts      int    // that made it
	rows      int    // that were read
	done      bool   // whether all rows were read
	whole     bool   // whether it cannot be cut
}

const (
	maxPlaces = 32  // number of stretches that are read in a round
	maxCuts   = 100 // number of attempts to cut
)

// run samples the table.
func (p *spreader) run(ctx context.Context) error {
	err := p.begin(ctx)
	for round, more := 0, true; err == nil && more; round++ {
		left := p.left()
		if err = p.cut(ctx, min(maxPlaces, left)); err != nil || left <= 0 {
			return err
		}
		active := p.active()
		if len(active) == 0 {
			return nil
		}
		budget := left
		if round < 2 {
			budget = left / (4 >> round) // what follows is spread by what these rounds have found
		}
		share := max(1, budget/len(active))
		if round == 0 && p.Bytes > 0 {
			share = 1 // their sizes say how many follow
		}
		for _, r := range spread(active, left) {
			n := min(share, p.left())
			if n <= 0 || !more || err != nil {
				break
			}
			more, err = p.read(ctx, r, n)
		}
	}
	return err
}

// spread returns at most n elements of a slice, evenly spread, the first and the last included.
func spread[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, n)
	for i := range out {
		out[i] = all[i*(len(all)-1)/max(1, n-1)]
	}
	return out
}

// active returns the stretches that have more rows.
func (p *spreader) active() []*stretch {
	return slices.DeleteFunc(slices.Clone(p.stretches), func(r *stretch) bool { return r.done })
}

// read reads up to n rows of a stretch, and advances it. It returns false if no more rows are wanted.
func (p *spreader) read(ctx context.Context, r *stretch, n int) (more bool, err error) {
	got, start, more := 0, r.next, true
	err = p.request(ctx, r.next, r.end, func(row bigtable.Row) bool {
		got++
		r.next = row.Key() + "\x00"
		p.count(row)
		more = p.row(row) && !p.full()
		return more
	}, bigtable.LimitRows(int64(n)), bigtable.RowFilter(p.filter))
	r.rows += got
	r.done = got < n && more
	if err == nil && got > 0 && p.Read != nil {
		err = p.Read(start, r.next)
	}
	return more, err
}

// request reads rows within the timeout of a request.
func (p *spreader) request(
	ctx context.Context, start, end string, row func(bigtable.Row) bool, options ...bigtable.ReadOption,
) error {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	return p.table.ReadRows(ctx, bigtable.NewRange(start, end), row, options...)
}

// count adds what a row takes, and drops the cell that is one too many.
func (p *spreader) count(row bigtable.Row) {
	p.rows++
	cells := 0
	for _, items := range row {
		cells += len(items)
		for i := range items {
			p.bytes += cellBytes + len(items[i].Value) + len(items[i].Column)
		}
	}
	if p.RowCells > 0 && cells > p.RowCells {
		p.longer++
		last := slices.Max(slices.Collect(maps.Keys(row)))
		row[last] = row[last][:len(row[last])-1]
	}
}

// cellBytes is about what a cell takes of memory besides its value and its column name.
const cellBytes = 250

// full reports whether bytes have reached their maximum.
func (p *spreader) full() bool { return p.Bytes > 0 && p.bytes >= p.Bytes }

// left returns the number of rows that may still be read: fewer than Rows if rows like those
// that were read would exceed the maximum of bytes, so that a sample of large rows is
// spread, too.
func (p *spreader) left() int {
	left := p.Rows - p.rows
	switch {
	case p.full():
		return 0
	case p.Bytes > 0 && p.bytes > 0:
		return min(left, max(1, int(float64(p.Bytes-p.bytes)*float64(p.rows)/float64(p.bytes))))
	}
	return left
}

// begin finds the ends of the table, and the stretches between sampled row keys.
func (p *spreader) begin(ctx context.Context) error {
	within := codec.PrefixRows(p.Prefix)
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	keys, err := p.table.SampleRowKeys(limited)
	if err != nil {
		return err
	}
	if p.first, err = p.key(ctx, within.Start, within.End); err != nil || p.first == "" {
		return err
	}
	if p.last, err = p.key(ctx, p.first, within.End, bigtable.ReverseScan()); err != nil {
		return err
	}
	slices.Sort(keys)
	keys = slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key <= p.first || key >= p.last })
	starts := []string{p.first}
	for _, key := range spread(keys, max(0, min(maxPlaces, p.Rows)-2)) {
		if key, err = p.key(ctx, key, within.End); err != nil {
			return err
		}
		if key > starts[len(starts)-1] && key < p.last { // another program may have deleted rows
			starts = append(starts, key)
		}
	}
	if p.last > p.first && p.Rows > 1 {
		starts = append(starts, p.last)
	}
	for i, start := range starts {
		r := &stretch{next: start, end: within.End, last: p.last, whole: i > 0}
		if i+1 < len(starts) {
			r.end, r.last, r.whole = starts[i+1], "", false
		}
		p.stretches = append(p.stretches, r)
	}
	return nil
}

// cut cuts stretches until so many have more rows, or none can be cut.
func (p *spreader) cut(ctx context.Context, places int) error {
	for len(p.active()) < places && p.attempts < maxCuts {
		at := -1
		for i, r := range p.stretches {
			if !r.done && !r.whole && (at < 0 || r.cuts < p.stretches[at].cuts) {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		p.attempts++
		upper, err := p.halve(ctx, p.stretches[at])
		if err != nil {
			return err
		}
		if upper != nil {
			p.stretches = slices.Insert(p.stretches, at+1, upper)
		}
	}
	return nil
}

// halve cuts a stretch in two, and returns the upper part; nil if there is none.
func (p *spreader) halve(ctx context.Context, r *stretch) (*stretch, error) {
	var err error
	if r.last == "" {
		if r.last, err = p.key(ctx, r.next, r.end, bigtable.ReverseScan()); err != nil || r.last == "" {
			r.done = true // no rows are left
			return nil, err
		}
	}
	key := r.last
	if middle := halfway(r.next, r.last); middle > r.next && middle < r.last {
		if key, err = p.key(ctx, middle, r.end); err != nil {
			return nil, err
		}
	}
	if key <= r.next || r.end != "" && key >= r.end {
		r.whole = true // one row is left, or another program has deleted the others
		return nil, nil
	}
	r.cuts++
	upper := &stretch{next: key, end: r.end, last: max(key, r.last), cuts: r.cuts}
	upper.whole = upper.next == upper.last
	r.end, r.last = key, ""
	return upper, nil
}

// key returns the first row key in [start, end), in the direction of the read; empty if there is none.
func (p *spreader) key(ctx context.Context, start, end string, options ...bigtable.ReadOption) (key string, err error) {
	err = p.request(ctx, start, end, func(row bigtable.Row) bool {
		key = row.Key()
		return true
	}, append(options, bigtable.LimitRows(1), bigtable.RowFilter(KeysOnly))...)
	return key, err
}

// halfway returns a key about halfway between two keys: the mean of the bytes that follow what
// they have in common, as one number.
func halfway(a, b string) string {
	const precision = 8 // bytes
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	width := common + precision
	number := func(s string) *big.Int {
		padded := make([]byte, width)
		copy(padded, s)
		return new(big.Int).SetBytes(padded)
	}
	sum := number(a)
	sum.Add(sum, number(b))
	mean := sum.Rsh(sum, 1).FillBytes(make([]byte, width))
	return strings.TrimRight(string(mean), "\x00")
}

// result describes what was read.
func (p *spreader) result() Sampled {
	out := Sampled{Rows: p.rows, First: show(p.first), Last: show(p.last), Complete: true, CutRows: p.longer}
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
		out.RowCells = p.RowCells
	}
	out.Full = !out.Complete && p.rows < p.Rows
	return out
}
