// Package rollup decides what the cells of a rollup say: it knows their names, which run of a row is the
// best one, and when a row may be sealed or read. It knows neither tables nor Bigtable, and all its
// functions are pure: package store reads and writes the cells.
//
// # Protocol
//
// A rollup keeps its cells in the rows of the events, in a family of its own. All have the end of the bucket as their
// timestamp, and each has a column of its own:
//
//   - A mark says that events of the row have changed. Each mutation of events sets one; a writer may use
//     the same mark in several mutations, for at most half of [codec.Rollup.Grace].
//   - A deletion is a mark that says which times were deleted, for rows whose events have expired. It belongs to
//     one request. One of all times of the bucket removes, in the same mutation, all cells that were there before it:
//     the events, those that its request has not read included, their marks, and the runs.
//   - A run has the statistics of all windows of the bucket. Its name has its total: the number of marks and
//     deletions that sealers have replaced by it and by the runs before it.
//
// A sealer notes the marks of a row, reads the row again when none of these can be set any more, and replaces exactly
// the marks and the runs that it has read by one run, in one conditional request, unless it finds a mark that
// it has not noted. The condition is that a mark that it has read is still there or, without marks, a run, and that there is no
// run that it has not read: else, another sealer has changed the row, and knows as much. If there are neither windows nor
// events, the sealer sets no run, so that nothing remains of the row. A reader uses the run with the highest total if the row
// has no mark, and the events otherwise. A deletion of all times without marks says that there is nothing, whatever
// has expired: a change after it would have set its mark. So readers are right at every moment: a change that a run does
// not know has a mark, and a sealer that is late changes nothing. Once events of a row may have expired, a run cannot be exact any more unless only deletions have followed the
// best one: it is made of the best run or, if there is none, of the events that are left, and says that its windows are
// inexact.
//
// All sealers of a table must use the same cluster. Before they read a row again, all clusters must have what was written
// before: nothing in a row that was erased tells a new run from those before the deletion.
package rollup

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// The first byte of the names of columns. Those of changes precede those of runs.
const (
	deletion = 'd'
	mark     = 'm'
	run      = 'r'
)

// FirstRun is the lowest name of a run: the columns of marks and deletions precede it.
const FirstRun = "r"

// AfterRuns is higher than the names of all runs.
const AfterRuns = "s"

// Mark returns the name of the column of a mark, given a random number.
func Mark(random uint64) string { return string(appendID([]byte{mark}, random)) }

// DeletionName returns the name of the column of a deletion, given a random number.
func DeletionName(random uint64) string { return string(appendID([]byte{deletion}, random)) }

// IsDeletion reports whether a name is that of the column of a deletion.
func IsDeletion(name string) bool { return len(name) == 1+idSize && name[0] == deletion }

// RunName returns the name of the column of a run. Names sort by totals.
func RunName(total, random uint64) string {
	const digits = 16
	b := strconv.AppendUint([]byte{run}, 1<<63|total, 16)
	return string(appendID(b[:1+digits], random))
}

// idSize is the length of a random number in a name.
const idSize = 11

func appendID(dst []byte, random uint64) []byte {
	return base64.RawURLEncoding.AppendEncode(dst, binary.BigEndian.AppendUint64(nil, random))
}

// totalOf returns the total in the name of a run; false if it is none.
func totalOf(name string) (uint64, bool) {
	const digits = 16
	if len(name) != 1+digits+idSize || name[0] != run {
		return 0, false
	}
	total, err := strconv.ParseUint(name[1:1+digits], 16, 64)
	return total &^ (1 << 63), err == nil && total >= 1<<63
}

// Known reports whether a name is that of a column of a mark, a deletion or a run.
func Known(name string) bool {
	_, is := totalOf(name)
	return is || len(name) == 1+idSize && name[0] == mark || IsDeletion(name)
}

// Row is what the cells of a rollup in a row say. The zero Row is one without cells.
type Row struct {
	Marks     []string // names of the marks
	Deletions []string // names of the deletions
	Runs      []string // names of the runs
	Total     uint64   // of the best run
	Gone      Ranges   // deleted times, as far as deletions say them
	Others    bool     // the row also has cells that are not of the rollup

	best  string // the name of the best run
	value []byte // its value
	vague bool   // a deletion cannot be decoded
	// foreign is set if there is a cell that this version does not know, which may be a mark.
	foreign bool
}

// Reset removes all cells.
func (r *Row) Reset() {
	*r = Row{Marks: r.Marks[:0], Deletions: r.Deletions[:0], Runs: r.Runs[:0], Gone: r.Gone[:0]}
}

// Add adds a cell, in any order. The row keeps value.
func (r *Row) Add(name string, value []byte) {
	total, isRun := totalOf(name)
	switch {
	case isRun:
		if r.Runs = append(r.Runs, name); name > r.best {
			r.best, r.Total, r.value = name, total, value
		}
	case len(name) == 1+idSize && name[0] == mark:
		r.Marks = append(r.Marks, name)
	case IsDeletion(name):
		r.Deletions = append(r.Deletions, name)
		if gone, ok := ParseRanges(value); ok {
			r.Gone = r.Gone.union(gone)
		} else {
			r.vague = true
		}
	default:
		r.foreign = true
	}
}

// Best returns the encoded run with the highest total; false if there is none.
func (r *Row) Best() ([]byte, bool) { return r.value, r.best != "" }

// BestName returns the name of the column of the run with the highest total; empty if there is none.
func (r *Row) BestName() string { return r.best }

// Reject makes the best run one that is only replaced, as if it were a mark that is not counted.
func (r *Row) Reject() { r.best, r.value = "", nil }

// Changed reports whether the best run may lack changes.
func (r *Row) Changed() bool { return r.Doubted() || len(r.Deletions) > 0 }

// Doubted reports whether the best run may lack changes that Gone does not say.
func (r *Row) Doubted() bool { return len(r.Marks) > 0 || r.vague || r.foreign }

// Changes returns the names of the cells that a run replaces: marks, deletions and runs.
func (r *Row) Changes() []string { return slices.Concat(r.Marks, r.Deletions, r.Runs) }

// Next returns the total of a run that replaces what was read.
func (r *Row) Next() uint64 { return r.Total + uint64(len(r.Marks)+len(r.Deletions)) }

// Note returns a number that tells whether a row has the same marks and deletions as before.
func (r *Row) Note() (note uint64) {
	for _, names := range [][]string{r.Marks, r.Deletions} {
		for _, name := range names {
			h := fnv.New64a()
			_, _ = h.Write([]byte(name))
			note += h.Sum64()
		}
	}
	return note
}

// Source says where the windows of a bucket come from.
type Source int

const (
	FromEvents    Source = iota // the events, which are complete
	FromRun                     // the best run, without what Row.Gone says
	DoubtedRun                  // the same, but all windows of the bucket are inexact
	DoubtedEvents               // the events that are left; all windows of the bucket are inexact
	Nowhere                     // there are none: all was deleted
)

// Source returns where the windows of a bucket come from, given whether all its events are there.
func (r *Row) Source(t *Times, start time.Time, whole bool) Source {
	_, has := r.Best()
	switch {
	case has && !r.Changed():
		return FromRun
	case whole:
		return FromEvents
	case r.erased(t, start):
		return Nowhere
	case !has:
		return DoubtedEvents
	case !r.Doubted():
		return FromRun
	}
	return DoubtedRun
}

// erased reports whether nothing has followed deletions of all times of a bucket. Programs that set no marks may have written
// other cells.
func (r *Row) erased(t *Times, start time.Time) bool {
	all, _ := r.Gone.Cover(Range{0, t.Bucket.End(start).Sub(start)})
	return all && !r.Doubted() && !r.Others
}

// Times has the facts about the buckets of a table on which the decisions of readers and sealers depend.
type Times struct {
	Bucket codec.Bucket
	After  time.Duration // how long after its end a bucket is sealed
	Grace  time.Duration
	TTL    time.Duration // age at which the first of the events expires; 0 for never
}

// Whole reports whether the events of a bucket are all there, whatever the clock of the server shows.
func (t *Times) Whole(start, now time.Time) bool {
	return t.TTL == 0 || now.Add(codec.Skew).Before(start.Add(t.TTL))
}

// Ended reports whether a bucket may be sealed.
func (t *Times) Ended(start, now time.Time) bool {
	return !now.Before(t.Bucket.End(start).Add(t.After))
}

// Final reports whether the run of a bucket is never computed from events any more: because they may
// begin to expire before it is stored.
func (t *Times) Final(start, now time.Time) bool {
	return t.TTL > 0 && !now.Add(2*t.Grace+codec.Skew).Before(start.Add(t.TTL))
}

// Verdict is what a sealer does with a row that it has read.
type Verdict int

const (
	Clean   Verdict = iota // nothing: the best run has all changes
	Open                   // nothing: the bucket has not ended for long enough
	Busy                   // nothing: the row has changed since its marks were noted
	Unknown                // nothing: a later version has written cells
	Compute                // it replaces all by a run of the events
	Rewrite                // it replaces all by the best run without what was deleted, inexact if that is doubted
	Salvage                // it replaces all by an inexact run of the events that are left
	Erase                  // it removes all
)

// Verdict returns what a sealer does with a row, given the note of its marks.
func (r *Row) Verdict(t *Times, start, now time.Time, note uint64) Verdict {
	_, has := r.Best()
	switch {
	case has && !r.Changed():
		return Clean
	case r.foreign:
		return Unknown
	case !t.Ended(start, now):
		return Open
	case r.Note() != note:
		return Busy
	case !t.Final(start, now):
		return Compute
	case r.erased(t, start):
		return Erase
	case has && !(r.Doubted() && t.Whole(start, now)):
		return Rewrite // the run knows more than the events that are left, or all that they would tell
	}
	return Salvage
}
