package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/job"
)

// Long jobs (back-fills, their verification, and rollups) follow one protocol:
//
//   - split: tables are split into ranges of row keys, of about the same size;
//   - do(range, claim): a worker reads the rows of a range that it can claim, and notes what is to be done;
//   - wait: until nothing of others is in flight that could change what was noted;
//   - settle(notes): it is done, and compared with what was read. Every step can be executed again.
//
// There are two runners. JobParts are the steps for that of package beamstore, which stores notes between them, and
// lets several workers claim parts of a range. job.Local is the other one: its workers claim whole ranges, and what they
// have done is in a checkpoint.

// JobParts are the steps of a long job for package beamstore, which distributes them over machines: those of
// [NewBackfillParts] or [NewRollupParts]. Other programs call [Backfill] or [Rollup]. Nothing but what a runner
// stores between the steps survives a kill, so they keep their promise in this order:
//
//   - Find searches ranges of the tables of First, and emits notes of what is to be done, which the runner stores.
//   - Do does it, unless that must wait.
//   - Wait later, nothing of any attempt, or of other programs, is in flight that could change what is noted. Then
//     Differs says whether anything is left to do, and writes nothing, and Find searches the tables of Left for what
//     only a stopped pipeline can have left. The runner stores these notes, too.
//   - Settle does what they say. Before, each attempt waits for Pause.
//
// Every step can be executed again, and several attempts of Do and, without Pause, of Settle may overlap.
type JobParts interface {
	First() []JobTable
	// Left returns what else to search. oldest is the earliest time that Do has returned; zero if there is none.
	Left(oldest time.Time) []JobTable
	// Splits returns ranges of row keys that together cover a table; see [Scanner.Splits].
	Splits(ctx context.Context, t JobTable) ([]KeyRange, error)
	Find(ctx context.Context, t JobTable, within KeyRange, claims RowClaims, emit func(JobNote)) (JobCounts, error)
	// Do returns the time of the oldest event that it has copied; zero if there is none.
	Do(ctx context.Context, note JobNote) (oldest time.Time, counts JobCounts, err error)
	Wait() time.Duration
	Differs(ctx context.Context, note JobNote) (bool, error)
	Pause() time.Duration
	Settle(ctx context.Context, note JobNote) (JobCounts, error)
}

// JobTable is a table to search.
type JobTable struct {
	Table  string    // without prefix
	Layout int       // index of the layout with a rollup, several of which may share a table
	Sweep  bool      // whether to look for what a stopped backfill has left
	Oldest time.Time // of the events that were copied, with Sweep; zero if there are none
}

// JobNote says what is to be done: in JSON, so that it can be stored.
type JobNote []byte

// note returns a note. What notes contain can be encoded.
func note(v any) JobNote {
	text, _ := json.Marshal(v)
	return text
}

// JobCounts are what a step has done. Only one of them has counts.
type JobCounts struct {
	Backfill BackfillCounts
	Rollup   RollupCounts
}

// jobRange is the progress of a job in a range of row keys, as checkpoints have it.
type jobRange struct {
	Table  string      `json:"table"`            // without prefix
	Layout int         `json:"layout,omitempty"` // JobTable.Layout
	Range  KeyRange    `json:"range"`
	Next   []byte      `json:"next,omitempty"` // the first row key that is not finished
	Done   bool        `json:"done,omitempty"`
	Flight []rowPlaces `json:"flight,omitempty"` // of the events that a back-fill is writing

	left bool // a search has failed
}

// jobRanges returns the ranges of row keys of tables.
func jobRanges(ctx context.Context, tables []JobTable, splits func(ctx context.Context, t JobTable) ([]KeyRange, error)) (all []jobRange, err error) {
	for _, t := range tables {
		ranges, err := splits(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, r := range ranges {
			all = append(all, jobRange{Table: t.Table, Layout: t.Layout, Range: r})
		}
	}
	return all, nil
}

// rest returns the range without what is finished.
func (r *jobRange) rest() KeyRange { return KeyRange{max(r.Range.Start, string(r.Next)), r.Range.End} }

// finish notes that a row is finished, and all before it.
func (r *jobRange) finish(key string) {
	r.Next = []byte(key + "\x00")
	r.Done = r.Done || string(r.Next) == r.Range.End
}

// share returns the share of ranges that is finished.
func share(ranges []jobRange) float64 {
	sum := 0.0
	for i := range ranges {
		if r := &ranges[i]; r.Done {
			sum++
		} else {
			sum += r.Range.Done(string(r.Next))
		}
	}
	return sum / float64(max(1, len(ranges)))
}

// open reports whether anything is left to do in some ranges.
func open(ranges []jobRange) bool {
	return slices.ContainsFunc(ranges, func(r jobRange) bool { return !r.Done && !r.left || len(r.Flight) > 0 })
}

// RowClaims decides which rows of a range belong to a worker while others take parts of it.
type RowClaims interface {
	Contains(key string) bool
	Claim(key string) bool // in order; false if the row and all that follow belong to others
}

// Each calls use for the rows of the table, as [Scanner.Rows] yields them, in several ranges of row keys at a time: 0
// means DefaultWorkers, and a negative number 1. After an error, which it returns, it cancels the reads of the
// others. If ctx ends, the error is its cause.
func (s *Scanner[E]) Each(ctx context.Context, workers int, from, to time.Time, use func(row *ScannedRow[E], err error) error) error {
	return s.untyped().inRanges(ctx, workers, func(ctx context.Context, within KeyRange) error {
		for row, err := range s.Rows(ctx, within, from, to) {
			if err := use(&row, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// inRanges calls use for ranges of row keys that cover the table; see [Scanner.Each].
func (s *scanner) inRanges(ctx context.Context, workers int, use func(ctx context.Context, within KeyRange) error) error {
	ranges, err := s.splits(ctx)
	if err != nil {
		return err
	}
	l := job.Local{Parallel: max(1, cmp.Or(workers, DefaultWorkers)), Cancels: true}
	err = l.Each(ctx, len(ranges), func(ctx context.Context, i int) error { return use(ctx, ranges[i]) })
	return cmp.Or(context.Cause(ctx), err)
}
