package verify

import (
	"context"
	"math/big"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"
)

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
	table     bigtable.TableAPI
	sampling  Sampling
	parent    context.Context                                                     // without the timeout of a request
	read      func(ctx context.Context, r *stretch, n int) (more bool, err error) // reads up to n rows, and advances the stretch
	stretches []*stretch                                                          // of the table, in order, without gaps
	first     string                                                              // key of the table
	last      string                                                              // likewise
	forward   bool                                                                // whether the server ignores the direction of reads
	attempts  int                                                                 // number of attempts to cut
	rows      int                                                                 // that were read
	cells     int                                                                 // of the rows
	bytes     int                                                                 // of the rows
	longer    int                                                                 // rows with more cells than may be read
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
func (p *spreader) run(ctx context.Context) (Sampled, error) {
	p.parent = ctx
	err := p.begin(ctx)
	for round, more := 0, true; err == nil && more; round++ {
		left := p.left()
		if err = p.cut(ctx, min(maxPlaces, left)); err != nil || left <= 0 {
			break
		}
		active := p.active()
		if len(active) == 0 {
			break
		}
		budget := left
		if round < 2 {
			budget = left / (4 >> round) // what follows is spread by what these rounds have found
		}
		share := max(1, budget/len(active))
		if round == 0 && (p.sampling.Cells > 0 || p.sampling.Bytes > 0) {
			share = 1 // their sizes say how many follow
		}
		for _, r := range spread(active, left) {
			n := min(share, p.left())
			if n <= 0 || !more || err != nil {
				break
			}
			err = p.request(ctx, func(ctx context.Context) (err error) {
				more, err = p.read(ctx, r, n)
				return err
			})
		}
	}
	return p.result(), missing(err)
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

// request runs a request with its timeout.
func (p *spreader) request(ctx context.Context, run func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.sampling.Timeout)
	defer cancel()
	return run(ctx)
}

// active returns the stretches that have more rows.
func (p *spreader) active() []*stretch {
	return slices.DeleteFunc(slices.Clone(p.stretches), func(r *stretch) bool { return r.done })
}

// begin finds the ends of the table, and the stretches between sampled row keys.
func (p *spreader) begin(ctx context.Context) error {
	within := p.sampling.within()
	var keys []string
	err := p.request(ctx, func(ctx context.Context) (err error) {
		keys, err = p.table.SampleRowKeys(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if p.first, err = p.firstIn(ctx, within.Start, within.End); err != nil || p.first == "" {
		return err
	}
	if p.last, err = p.lastOf(ctx, within.End); err != nil {
		return err
	}
	slices.Sort(keys)
	keys = slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key <= p.first || key >= p.last })
	starts := []string{p.first}
	for _, key := range spread(keys, max(0, min(maxPlaces, p.sampling.Rows)-2)) {
		if key, err = p.firstIn(ctx, key, within.End); err != nil {
			return err
		}
		if key > starts[len(starts)-1] && key < p.last { // another program may have deleted rows
			starts = append(starts, key)
		}
	}
	if p.last > p.first && p.sampling.Rows > 1 {
		starts = append(starts, p.last)
	}
	for i, start := range starts {
		r := &stretch{next: start, end: within.End}
		if i+1 < len(starts) {
			r.end = starts[i+1]
		} else {
			r.last, r.whole = p.last, true
		}
		p.stretches = append(p.stretches, r)
	}
	if len(starts) == 1 {
		p.stretches[0].whole = false
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
		if r.last, err = p.lastIn(ctx, r.next, r.end); err != nil {
			return nil, err
		}
		if r.last == "" {
			r.done = true // no rows are left
			return nil, nil
		}
	}
	key := r.last
	if middle := halfway(r.next, r.last); middle > r.next && middle < r.last {
		if key, err = p.firstIn(ctx, middle, r.end); err != nil {
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

// firstIn returns the first row key in [start, end); empty if there is none.
func (p *spreader) firstIn(ctx context.Context, start, end string) (string, error) {
	keys, err := p.probe(ctx, start, end)
	return strings.Join(keys, ""), err
}

// lastIn returns the last row key in [start, end); empty if there is none.
func (p *spreader) lastIn(ctx context.Context, start, end string) (string, error) {
	if p.forward {
		return p.search(ctx, start, end, someSteps)
	}
	keys, err := p.probe(ctx, start, end, bigtable.ReverseScan())
	return strings.Join(keys, ""), err
}

// lastOf returns the last row key of the table. A server that ignores the direction of a read
// returns the first one instead: then this one and others are searched for.
func (p *spreader) lastOf(ctx context.Context, end string) (string, error) {
	last, err := p.lastIn(ctx, p.first, end)
	if err != nil || last == "" {
		return p.first, err
	}
	after, err := p.firstIn(ctx, last+"\x00", end)
	if p.forward = after != ""; err != nil || !p.forward {
		return last, err
	}
	return p.search(ctx, after, end, manySteps)
}

// Numbers of steps of a search: for the last row of the table, and for that of a stretch, where
// one that is close to it will do.
const (
	manySteps = 512
	someSteps = 64
)

// search returns the last row key in [start, end), or one close to it; empty if there is none.
func (p *spreader) search(ctx context.Context, start, end string, steps int) (string, error) {
	key, err := p.firstIn(ctx, start, end)
	if err != nil || key == "" {
		return "", err
	}
	if end == "" {
		end = strings.Repeat("\xff", len(key)+1)
	}
	for range steps {
		middle := halfway(key, end)
		if middle <= key || middle >= end {
			break
		}
		next, err := p.firstIn(ctx, middle, end)
		switch {
		case err != nil:
			return "", err
		case next == "":
			end = middle
		default:
			key = next
		}
	}
	return key, nil
}

// probe returns the first row key in [start, end), in the direction of the read, if there is one.
func (p *spreader) probe(ctx context.Context, start, end string, options ...bigtable.ReadOption) (keys []string, err error) {
	options = append(options, bigtable.LimitRows(1), bigtable.RowFilter(keysOnly))
	err = p.request(ctx, func(ctx context.Context) error {
		return p.table.ReadRows(ctx, bigtable.NewRange(start, end), func(row bigtable.Row) bool {
			keys = append(keys, row.Key())
			return true
		}, options...)
	})
	return keys, err
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
