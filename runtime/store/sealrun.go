package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/checkpoint"
	"github.com/btgen-dev/btgen/runtime/internal/job"
	"github.com/btgen-dev/btgen/runtime/internal/request"
)

// sealing is one call of Rollup. Workers search ranges of row keys for rows that have changed, and collect these in
// chunks. A chunk waits in the queue of its table until the marks that it has noted are not used any more, and is
// then sealed by another worker. Rows without marks, which RollupOptions.All finds, need not wait: their runs replace
// nothing.
type sealing struct {
	RollupOptions
	job.Local
	test    rollupTest
	sealers []*sealer
	waiting []chan *sealChunk // of each sealer
	ready   chan *sealChunk   // may be sealed
	parts   []*sealPart

	// The fields below are guarded by Mu.
	report      RollupReport
	undecodable error               // the first *DecodeError
	left        error               // the first error of a bucket that is left, or of a search
	ops         []request.Operation // of each sealer
	new         int64               // rows that were sealed in this call
	waits       time.Duration       // RollupProgress.Waiting
	replicating string              // RollupProgress.Replicating
}

// sealPart is a range of row keys of a table.
type sealPart struct {
	sealer int // its number
	within KeyRange
	rest   KeyRange            // what is left to search
	done   bool                // nothing is
	open   map[*sealChunk]bool // chunks that are not sealed
}

// sealChunk contains rows that are sealed together.
type sealChunk struct {
	part  *sealPart
	notes []changedRow
	at    time.Time // when all of them had been noted
}

const (
	maxSealed  = 100    // rows of a chunk
	maxWaiting = 10_000 // chunks of a table that wait
)

// newSealing returns a call that has not begun.
func newSealing(sealers []*sealer, o RollupOptions) *sealing {
	s := &sealing{RollupOptions: o, sealers: sealers, ready: make(chan *sealChunk), ops: make([]request.Operation, len(sealers))}
	s.Local = job.NewLocal(o.Workers, o.Rate, refusedCheckpoint)
	s.Cancels, s.Again, s.Saves = true, ": delete it, and begin again", s.progress
	if o.test != nil {
		s.test = *o.test
	}
	if !o.DryRun {
		s.Path = o.Checkpoint
	}
	if o.Progress != nil {
		s.Show = func() { o.Progress(s.shown()) }
	}
	for i, of := range sealers {
		s.report.Tables = append(s.report.Tables, of.id)
		s.waiting = append(s.waiting, make(chan *sealChunk, cmp.Or(s.test.queue, maxWaiting)))
		s.ops[i] = request.Operation{Name: "Rollup", Table: of.id}
	}
	slices.Sort(s.report.Tables)
	s.report.Tables = slices.Compact(s.report.Tables)
	if s.Sleep == nil {
		s.Sleep = job.RealClock.Sleep
	}
	return s
}

// run executes the call.
func (s *sealing) run(ctx context.Context) (failed error) {
	for i := range s.ops {
		opCtx := s.Hooks.start(ctx, &s.ops[i])
		defer func() { s.Hooks.end(opCtx, &s.ops[i], failed) }()
	}
	s.Started = time.Now()
	if err := s.split(ctx); err != nil {
		return err
	}
	if s.All && s.Consistent != nil && !s.DryRun { // for events that were written without marks
		for _, table := range s.report.Tables {
			if err := s.replicated(ctx, table); err != nil {
				return err
			}
		}
	}
	failed = s.work(ctx)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if failed == nil {
		failed = s.Save(true)
	}
	s.Tell(true)
	return failed
}

// split splits the tables into ranges, or takes those of the checkpoint.
func (s *sealing) split(ctx context.Context) error {
	if found, err := s.resume(); found || err != nil {
		return err
	}
	for i, of := range s.sealers {
		ranges, err := splits(ctx, of.reader.table.API, of.id, s.Timeout)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			s.parts = append(s.parts, newSealPart(i, r))
		}
	}
	return nil
}

func newSealPart(sealer int, within KeyRange) *sealPart {
	return &sealPart{sealer: sealer, within: within, rest: within, open: map[*sealChunk]bool{}}
}

// work searches and seals all ranges. It ends with the first error.
func (s *sealing) work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := func(group *sync.WaitGroup, f func() error) {
		group.Go(func() {
			if err := f(); err != nil {
				cancel(err)
			}
		})
	}
	var delaying, working sync.WaitGroup
	for i := range s.sealers {
		run(&delaying, func() error { return s.delay(ctx, i) })
	}
	for range s.Workers {
		run(&working, func() error { return eachOf(s.ready, func(c *sealChunk) error { return s.seal(ctx, c) }) })
	}
	if err := s.Each(ctx, len(s.parts), func(ctx context.Context, i int) error { return s.search(ctx, s.parts[i]) }); err != nil {
		cancel(err)
	}
	for _, queue := range s.waiting {
		close(queue)
	}
	delaying.Wait()
	close(s.ready)
	working.Wait()
	return context.Cause(ctx)
}

// eachOf calls f for what a channel yields, until it fails.
func eachOf[T any](c <-chan T, f func(T) error) error {
	for v := range c {
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// send sends a chunk, or returns the cause of the end of ctx.
func (c *sealChunk) send(ctx context.Context, to chan<- *sealChunk) error {
	select {
	case to <- c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// search notes the rows of a range. If its queue is full, it stops reading until there is room.
func (s *sealing) search(ctx context.Context, p *sealPart) error {
	var now, later *sealChunk // that are being filled
	for !p.done {
		var full *sealChunk
		var failed error
		found := func(n changedRow, waits bool) bool {
			to := &now
			if waits {
				to = &later
			}
			if c := s.noted(p, to, n); c == nil {
				return true
			} else if !waits {
				failed = c.send(ctx, s.ready)
				return failed == nil
			} else {
				select {
				case s.waiting[p.sealer] <- c:
				default:
					full = c
				}
				return full == nil
			}
		}
		if err := s.note(ctx, p, found); failed != nil || ctx.Err() != nil || err != nil && general(err) {
			return errors.Join(err, failed)
		} else if err != nil {
			s.Mu.Lock()
			s.left = cmp.Or(s.left, err)
			s.Mu.Unlock()
			break // the other ranges are searched
		}
		if full == nil {
			s.Mu.Lock()
			p.done = true
			s.Mu.Unlock()
		} else if err := full.send(ctx, s.waiting[p.sealer]); err != nil {
			return err
		}
	}
	for c, to := range map[*sealChunk]chan *sealChunk{now: s.ready, later: s.waiting[p.sealer]} {
		if c == nil {
			continue
		}
		c.at = time.Now()
		if err := c.send(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// note calls found for rows of the rest of a range.
func (s *sealing) note(ctx context.Context, p *sealPart, found func(n changedRow, waits bool) bool) error {
	var op request.Operation
	err := s.sealers[p.sealer].note(ctx, &op, p.rest, func(string) bool { return true }, func(key string) { s.scanned(p, key) }, found)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.ops[p.sealer].Add(&op)
	return err
}

// scanned notes that a range has no more rows up to a key that have changed.
func (s *sealing) scanned(p *sealPart, key string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	p.rest.Start = max(p.rest.Start, key+"\x00")
	s.Tell(false)
	_ = s.Save(false) // the next time tells
}

// noted adds a row to the chunk that is being filled. It returns the chunk if it is complete.
func (s *sealing) noted(p *sealPart, to **sealChunk, n changedRow) (complete *sealChunk) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.report.Noted++
	p.rest.Start = n.key + "\x00"
	defer s.Tell(false)
	if s.DryRun {
		return nil
	}
	if *to == nil {
		*to = &sealChunk{part: p}
		p.open[*to] = true
	}
	c := *to
	c.notes = append(c.notes, n)
	if len(c.notes) < cmp.Or(s.test.chunk, maxSealed) {
		return nil
	}
	c.at, *to = time.Now(), nil
	return c
}

// delay passes the chunks of a table on when their marks are not used any more, and the cluster has all that was written before.
func (s *sealing) delay(ctx context.Context, sealer int) error {
	of := s.sealers[sealer]
	var consistent time.Time // the cluster has all that was written before
	return eachOf(s.waiting[sealer], func(c *sealChunk) error {
		due := c.at.Add(of.times.Grace)
		if d := time.Until(due); d > 0 {
			s.Mu.Lock()
			s.waits = d
			s.Tell(true)
			s.waits = 0
			s.Mu.Unlock()
			if err := s.Sleep(ctx, d); err != nil {
				return err
			}
		}
		if s.Consistent != nil && consistent.Before(due) {
			begun := time.Now()
			if err := s.replicated(ctx, of.id); err != nil {
				return err
			}
			consistent = begun
		}
		return c.send(ctx, s.ready)
	})
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

// tellReplicating is how often a call that waits for replication tells its progress.
const tellReplicating = 10 * time.Second

// replicated waits until all clusters have what was written to a table, for as long as marks are waited for. The error is then
// a *ReplicationError.
func (s *sealing) replicated(ctx context.Context, table string) error {
	limit, every := s.sealers[0].times.Grace, tellReplicating
	if s.test.replication > 0 {
		limit, every = s.test.replication, s.test.replication/10
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &ReplicationError{table, limit})
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Consistent(ctx, table) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return call.Explain(ctx, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			s.Mu.Lock()
			s.replicating = table
			s.Tell(true)
			s.replicating = ""
			s.Mu.Unlock()
		}
	}
}

// remaining returns what a complete call has left.
func (s *sealing) remaining() error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.left == nil {
		return s.undecodable
	}
	return errors.Join(s.undecodable, &LeftError{s.report.Failed, s.left})
}

// seal seals the rows of a chunk.
func (s *sealing) seal(ctx context.Context, c *sealChunk) error {
	of := s.sealers[c.part.sealer]
	for notes := range slices.Chunk(c.notes, s.Limit.Piece(len(c.notes))) {
		if err := s.Limit.Wait(ctx, len(notes)); err != nil {
			return err
		}
		var op request.Operation
		done, err := of.seal(ctx, &op, notes)
		s.Mu.Lock()
		s.ops[c.part.sealer].Add(&op)
		s.report.add(done.RollupCounts)
		s.new += done.Sealed
		s.undecodable, s.left = cmp.Or(s.undecodable, done.undecodable), cmp.Or(s.left, done.failed)
		s.Tell(false)
		s.Mu.Unlock()
		if err != nil {
			return err
		}
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	delete(c.part.open, c)
	return s.Save(s.test.save != nil)
}

// next returns the first row key of a range that is not finished: that of a row that was noted and is not sealed, or
// that has not been searched; false if there is none.
func (p *sealPart) next() (key string, more bool) {
	if key, more = p.rest.Start, !p.done; len(p.open) == 0 {
		return key, more
	}
	firsts := make([]string, 0, len(p.open))
	for c := range maps.Keys(p.open) {
		firsts = append(firsts, c.notes[0].key)
	}
	return slices.Min(firsts), true
}

// shown returns the progress as it is told. mu is locked.
func (s *sealing) shown() RollupProgress {
	share := 0.0
	for _, p := range s.parts {
		if p.done {
			share++
		} else {
			share += p.within.Done(p.rest.Start)
		}
	}
	return RollupProgress{
		RollupCounts: s.report.RollupCounts, Share: share / float64(max(1, len(s.parts))), Rate: s.PerSecond(s.new), Waiting: s.waits, Replicating: s.replicating,
	}
}

// rollupProgress is the progress in the checkpoint of a call of Rollup: which rows it has finished. What it has noted
// is not stored: rows that are not finished are noted again.
type rollupProgress struct {
	Counts RollupCounts `json:"counts"`
	Ranges []rollupRest `json:"ranges"`
}

// rollupRest is what is left of a range of row keys.
type rollupRest struct {
	Layout int      `json:"layout"` // its number
	Range  KeyRange `json:"range"`
	Next   []byte   `json:"next,omitempty"` // the first row key that is not finished
	Done   bool     `json:"done,omitempty"`
}

// call returns what a call has in common with one that continues it.
func (s *sealing) call() checkpoint.Call {
	var layouts []string // of each sealer: its table, and the facts about its rows
	for _, of := range s.sealers {
		layouts = append(layouts, fmt.Sprintf("%s: %s; %+v", of.id, of.mapping.Table.Layout, *of.mapping.Rollup))
	}
	return checkpoint.Call{Command: "rollup", Facts: []checkpoint.Fact{
		{What: "instance", Is: s.Instance},
		{What: "list of tables and layouts", Is: strings.Join(layouts, "\n")},
		{What: "All (--all)", Is: fmt.Sprint(s.All)},
	}}
}

// progress returns the current progress.
func (s *sealing) progress() any {
	c := rollupProgress{Counts: s.report.RollupCounts}
	for _, p := range s.parts {
		next, more := p.next()
		c.Ranges = append(c.Ranges, rollupRest{Layout: p.sealer, Range: p.within, Next: []byte(next), Done: !more})
	}
	return c
}

// resume takes the ranges of the checkpoint, if the file exists and something is left to do.
func (s *sealing) resume() (found bool, err error) {
	var saved rollupProgress
	if found, err = s.Load(&saved); !found || err != nil {
		return false, err
	}
	complete := true
	for _, r := range saved.Ranges {
		if r.Layout < 0 || r.Layout >= len(s.sealers) {
			return false, s.Unusable(errors.New("damaged: it has a range of no table"))
		}
		p := newSealPart(r.Layout, r.Range)
		p.rest.Start, p.done = max(string(r.Next), r.Range.Start), r.Done
		s.parts, complete = append(s.parts, p), complete && r.Done
	}
	if complete { // begin again: the tables may have changed since
		s.parts = nil
		return false, nil
	}
	s.report.RollupCounts = saved.Counts
	s.report.Noted = saved.Counts.finished()
	return true, nil
}

// finished returns the number of rows that are not noted again, as far as they were counted.
func (c RollupCounts) finished() int64 {
	return c.Sealed + c.Clean + c.Busy + c.Undecodable + c.Unknown + c.Failed
}
