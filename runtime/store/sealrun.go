package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/checkpoint"
	"github.com/btgen-dev/btgen/runtime/internal/job"
	"github.com/btgen-dev/btgen/runtime/internal/request"
)

// sealing is one call of Rollup, which works in rounds. In each, workers search ranges of row keys for rows that have changed, until
// they have noted many, or for as long as marks are used. Then they seal the rows that the round before has noted: their marks are not
// used any more. Rows without marks, which RollupOptions.All finds, need not wait for the next round: their runs replace nothing.
type sealing struct {
	RollupOptions
	RollupParts
	job.Local
	test  rollupTest
	parts []jobRange // what is finished is searched

	// The fields below are guarded by Mu.
	ready, later []notedRow // to be sealed in this round, and in the next one
	noted        int        // rows in this round
	until        time.Time  // when the round ends its search
	done         sealed
	new          int64               // rows that were sealed in this call
	left         error               // the first error of a search
	ops          []request.Operation // of each sealer
	waits        time.Duration       // RollupProgress.Waiting
	replicating  string              // RollupProgress.Replicating
}

// notedRow is a row that has changed.
type notedRow struct {
	part *jobRange
	changedRow
	sealed bool
}

// maxNoted is the number of rows that a round notes, at most one more for each worker.
const maxNoted = 500_000

// newSealing returns a call that has not begun.
func newSealing(sealers []*sealer, o RollupOptions) *sealing {
	s := &sealing{RollupOptions: o, RollupParts: RollupParts{sealers}, ops: make([]request.Operation, len(sealers))}
	s.Local = job.NewLocal(o.Workers, o.Rate)
	s.Cancels, s.Saves = true, s.progress
	if o.test != nil {
		s.test = *o.test
	}
	s.Path = o.Checkpoint
	if o.Progress != nil {
		s.Show = func() { o.Progress(s.shown()) }
	}
	for i, of := range sealers {
		s.ops[i] = request.Operation{Name: "Rollup", Table: of.id}
	}
	if s.Sleep == nil {
		s.Sleep = job.RealClock.Sleep
	}
	return s
}

// report returns what was done.
func (s *sealing) report() RollupReport {
	r := RollupReport{RollupCounts: s.done.RollupCounts}
	for _, of := range s.sealers {
		r.Tables = append(r.Tables, of.id)
	}
	slices.Sort(r.Tables)
	r.Tables = slices.Compact(r.Tables)
	return r
}

// run executes the call.
func (s *sealing) run(ctx context.Context) (failed error) {
	for i := range s.ops {
		opCtx := s.Hooks.start(ctx, &s.ops[i])
		defer func() { s.Hooks.end(opCtx, &s.ops[i], failed) }()
	}
	return s.Run(ctx, s.call(), s.test.save, s.split, s.work)
}

// split splits the tables into ranges, or takes those of the checkpoint.
func (s *sealing) split(ctx context.Context) error {
	found, err := s.resume()
	if found || err != nil {
		return err
	}
	s.parts, err = jobRanges(ctx, s.First(), s.Splits)
	return err
}

// work searches and seals all ranges. It ends with the first error.
func (s *sealing) work(ctx context.Context) error {
	if s.All && !s.DryRun { // for events that were written without marks
		if err := s.replicated(ctx); err != nil {
			return err
		}
	}
	var noted time.Time // when the search of the round before ended
	for more := true; more || len(s.later) > 0; {
		waits := len(s.later) > 0
		s.ready, s.later, s.noted, s.until = s.later, nil, 0, time.Now().Add(s.Wait())
		err := s.Each(ctx, len(s.parts), func(ctx context.Context, i int) error { return s.search(ctx, &s.parts[i]) })
		before := noted
		if noted = time.Now(); err == nil && waits {
			err = s.wait(ctx, before)
		}
		if err == nil {
			chunks := s.chunks()
			err = s.Each(ctx, len(chunks), func(ctx context.Context, i int) error { return s.seal(ctx, chunks[i]) })
		}
		if err != nil {
			return err
		}
		more = open(s.parts)
	}
	return nil
}

// search notes the rows of a range, as far as the round goes.
func (s *sealing) search(ctx context.Context, p *jobRange) error {
	if p.Done || p.left || s.full() {
		return nil
	}
	var op request.Operation
	full, scanned := false, func(key string) { s.scanned(p, key) }
	err := s.sealers[p.Layout].note(ctx, &op, p.rest(), allClaims{}.Claim, scanned, func(n changedRow, waits bool) bool {
		full = s.note(p, n, waits)
		return !full
	})
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.ops[p.Layout].Add(&op)
	switch {
	case err == nil:
		p.Done = p.Done || !full
	case ctx.Err() != nil || general(err):
		return err
	default: // the other ranges are searched
		p.left, s.left = true, cmp.Or(s.left, err)
	}
	return nil
}

// full reports whether a round has noted enough rows.
func (s *sealing) full() bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.noted >= cmp.Or(s.test.most, maxNoted) || time.Now().After(s.until)
}

// scanned notes that a range has no more rows up to a key that have changed.
func (s *sealing) scanned(p *jobRange, key string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if key >= string(p.Next) {
		p.finish(key)
	}
	s.Tell(false)
	_ = s.Save(false) // the next time tells
}

// note notes a row. It reports whether the round has enough rows.
func (s *sealing) note(p *jobRange, n changedRow, waits bool) (full bool) {
	s.Mu.Lock()
	s.done.Noted++
	p.finish(n.key)
	s.Tell(false)
	if !s.DryRun {
		s.noted++
		to := &s.ready
		if waits {
			to = &s.later
		}
		*to = append(*to, notedRow{part: p, changedRow: n})
	}
	s.Mu.Unlock()
	return s.full()
}

// wait waits until marks are not used any more that were noted until a time, and the clusters have all that was written before.
func (s *sealing) wait(ctx context.Context, noted time.Time) error {
	if d := time.Until(noted.Add(s.Wait())); d > 0 {
		s.Mu.Lock()
		s.waits = d
		s.Tell(true)
		s.waits = 0
		s.Mu.Unlock()
		if err := s.Sleep(ctx, d); err != nil {
			return err
		}
	}
	return s.replicated(ctx)
}

// ReplicationError reports that the clusters of an instance have not caught up with what was written to a table.
type ReplicationError struct {
	Table string        // with its prefix
	After time.Duration // how long the call has waited
}

// Error says what follows.
func (e *ReplicationError) Error() string {
	return fmt.Sprintf("table %s: the clusters have not replicated what was written %s ago: nothing is summarized until they have: repeat the call later", e.Table, e.After)
}

// tellReplicating is when a call that waits for replication tells so.
const tellReplicating = 10 * time.Second

// replicated waits until all clusters have what was written to the tables, for each as long as marks are waited for. The error is then
// a *ReplicationError.
func (s *sealing) replicated(ctx context.Context) error {
	if s.Consistent == nil {
		return nil
	}
	limit, tell := s.Wait(), tellReplicating
	if s.test.replication > 0 {
		limit, tell = s.test.replication, s.test.replication/10
	}
	for _, table := range s.report().Tables {
		waiting, cancel := context.WithTimeoutCause(ctx, limit, &ReplicationError{table, limit})
		telling := time.AfterFunc(tell, func() {
			s.Mu.Lock()
			defer s.Mu.Unlock()
			s.replicating = table
			s.Tell(true)
			s.replicating = ""
		})
		err := s.Consistent(waiting, table)
		if err != nil {
			err = cmp.Or(context.Cause(waiting), err)
		}
		telling.Stop()
		if cancel(); err != nil {
			return err
		}
	}
	return nil
}

// remaining returns what a complete call has left.
func (s *sealing) remaining() error {
	left := cmp.Or(s.left, s.done.failed)
	if left == nil {
		return s.done.undecodable
	}
	return errors.Join(s.done.undecodable, &LeftError{s.done.Failed, left})
}

// chunks divides the rows that are ready into those of one layout that are read together.
func (s *sealing) chunks() (all [][]notedRow) {
	slices.SortFunc(s.ready, func(a, b notedRow) int {
		return cmp.Or(cmp.Compare(a.part.Layout, b.part.Layout), strings.Compare(a.key, b.key))
	})
	most, begin := max(1, min(maxSealed, len(s.ready)/(4*s.Parallel))), 0
	for i := 1; i <= len(s.ready); i++ {
		if i == len(s.ready) || i-begin == most || s.ready[i].part.Layout != s.ready[begin].part.Layout {
			all = append(all, s.ready[begin:i])
			begin = i
		}
	}
	return all
}

// seal seals a chunk.
func (s *sealing) seal(ctx context.Context, rows []notedRow) error {
	notes := make([]changedRow, len(rows))
	for i := range rows {
		notes[i] = rows[i].changedRow
	}
	layout := rows[0].part.Layout
	var op request.Operation
	defer func() {
		s.Mu.Lock()
		defer s.Mu.Unlock()
		s.ops[layout].Add(&op)
	}()
	return s.sealers[layout].seal(ctx, &op, notes, func(i int, done sealed) error {
		s.Mu.Lock()
		s.done.add(&done)
		s.new += done.Sealed
		s.Tell(false)
		rows[i].sealed = true
		err := s.Save(s.test.save != nil)
		if s.Mu.Unlock(); err != nil {
			return err
		}
		return s.Limit.Wait(ctx, 1)
	})
}

// shown returns the progress as it is told. Mu is locked.
func (s *sealing) shown() RollupProgress {
	return RollupProgress{
		RollupCounts: s.done.RollupCounts, Share: share(s.parts), Rate: s.PerSecond(s.new), Waiting: s.waits, Replicating: s.replicating,
	}
}

// rollupProgress is the progress in the checkpoint of a call of Rollup: which rows it has finished. What it has noted
// is not stored: rows that are not sealed are noted again.
type rollupProgress struct {
	Counts RollupCounts `json:"counts"`
	Ranges []jobRange   `json:"ranges"`
}

// call returns what a call has in common with one that continues it.
func (s *sealing) call() checkpoint.Call {
	var layouts []string // of each sealer: its table, and the facts about its rows
	for _, of := range s.sealers {
		layouts = append(layouts, fmt.Sprintf("%s: %s; %+v", of.id, of.mapping.Table.Layout, *of.mapping.Rollup))
	}
	return checkpoint.Call{Command: "rollup", Again: "delete it, and begin again", Facts: []checkpoint.Fact{
		{What: "instance", Is: s.Instance},
		{What: "list of tables and layouts", Is: strings.Join(layouts, "\n")},
		{What: "All (--all)", Is: fmt.Sprint(s.All)},
	}}
}

// progress returns the current progress. Mu is locked.
func (s *sealing) progress() any {
	first := map[*jobRange]string{} // row that was noted and is not sealed
	for _, list := range [][]notedRow{s.ready, s.later} {
		for i := range list {
			if n := &list[i]; !n.sealed && (first[n.part] == "" || n.key < first[n.part]) {
				first[n.part] = n.key
			}
		}
	}
	c := rollupProgress{Counts: s.done.RollupCounts}
	for i, r := range s.parts {
		if key, open := first[&s.parts[i]]; open {
			r.Next, r.Done = []byte(key), false
		}
		c.Ranges = append(c.Ranges, r)
	}
	return c
}

// resume takes the ranges of the checkpoint, if the file exists and something is left to do.
func (s *sealing) resume() (found bool, err error) {
	var saved rollupProgress
	if found, err = s.Load(&saved); !found || err != nil {
		return false, err
	}
	if !open(saved.Ranges) {
		return false, nil // begin again: the tables may have changed since
	}
	for _, r := range saved.Ranges {
		if r.Layout < 0 || r.Layout >= len(s.sealers) {
			return false, s.File.Damaged(errors.New("damaged: it has a range of no table"))
		}
	}
	s.parts, s.done.RollupCounts = saved.Ranges, saved.Counts
	s.done.Noted = saved.Counts.finished()
	return true, nil
}

// finished returns the number of rows that are not noted again, as far as they were counted.
func (c RollupCounts) finished() int64 {
	return c.Sealed + c.Clean + c.Busy + c.Undecodable + c.Unknown + c.Failed
}
