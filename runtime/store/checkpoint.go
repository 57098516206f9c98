package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/checkpoint"
	"github.com/btgen-dev/btgen/runtime/internal/job"
)

// CheckpointError reports a checkpoint that cannot be used.
type CheckpointError struct {
	File   string
	Reason string
	Err    error // of the file system; may be nil
}

// Error says what is wrong with the file.
func (e *CheckpointError) Error() string {
	s := fmt.Sprintf("checkpoint %s: %s", e.File, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *CheckpointError) Unwrap() error { return e.Err }

// refusedCheckpoint returns a *CheckpointError.
func refusedCheckpoint(file, reason string, err error) error {
	return &CheckpointError{file, reason, err}
}

// checkpointRange is the progress in a range of row keys.
type checkpointRange struct {
	Table string   `json:"table"` // without prefix
	Range KeyRange `json:"range"`
	Last  []byte   `json:"last,omitempty"` // key of the last row that is copied; nil if none is
	Done  bool     `json:"done,omitempty"`
	// Flight has the places of the events that are being written, as encodePlaces returns them.
	Flight []byte         `json:"flight,omitempty"`
	Oldest *time.Time     `json:"oldest,omitempty"` // time of the first event in the source
	Counts BackfillCounts `json:"counts"`
}

// call returns what a backfill has in common with one that continues it.
func (b *backfill) call() checkpoint.Call {
	layout := func(l *mapping) string {
		var lines []string
		for _, p := range l.Periods() {
			lines = append(lines, p.Table.ID+": "+p.Table.Layout)
		}
		return strings.Join(lines, "\n")
	}
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	return checkpoint.Call{Command: "backfill", Facts: []checkpoint.Fact{
		{What: "instance", Is: b.Instance},
		{What: "source", Is: b.report.Source},
		{What: "target", Is: b.report.Target},
		{What: "layout of the source", Is: layout(b.source)},
		{What: "layout of the target", Is: layout(b.target)},
		{What: "first time", Is: text(b.From)},
		{What: "end time", Is: text(b.To)},
		{What: "skipping of undecodable rows", Is: fmt.Sprint(b.SkipUndecodable)},
		{What: "repair", Is: fmt.Sprint(b.Repair)},
	}}
}

// begunAgain says what to do about a damaged checkpoint.
const begunAgain = ": delete it, wait for twice the timeout, and copy with --repair (Repair): without it, copies of events that were deleted since may remain"

// resume takes the progress of the checkpoint, if the file exists and something is left to do. It
// then belongs to this call.
func (b *backfill) resume() (found bool, err error) {
	var saved progress
	if found, err = b.Load(&saved); !found || err != nil {
		return false, err
	}
	if err := saved.check(); err != nil {
		return false, b.Unusable(err)
	}
	if saved.complete() {
		return false, nil // begin again: the tables may have changed since
	}
	p := &b.progress
	saved.wait, saved.Wait, saved.resumed = saved.Wait, max(saved.Wait, p.Wait), true
	if *p = saved; !p.Swept { // it begins again
		p.Suspects, p.Beside.OnlyTarget = nil, 0
	}
	return true, b.Save(true)
}

// complete reports whether nothing is left to do.
func (p *progress) complete() bool {
	for i := range p.Ranges {
		if !p.Ranges[i].Done || len(p.Ranges[i].Flight) > 0 {
			return false
		}
	}
	return len(p.Suspects) == 0
}

// stopped reports whether this run continues another one.
func (b *backfill) stopped() bool { return b.progress.resumed }

// stillArriving returns how long requests of the run before this one may still arrive.
func (b *backfill) stillArriving() time.Duration {
	return min(b.progress.Until.Sub(b.clock.Now()), b.progress.wait)
}

// requestTime is the time limit of requests that change the target. There is always one, since a
// run that continues has to know when they have ended.
func (b *backfill) requestTime() time.Duration {
	if b.Timeout > 0 {
		return b.Timeout
	}
	return DefaultTimeout
}

// begin records that the events of a range are going to be written, and the time until which
// requests may arrive.
func (b *backfill) begin(i int, events []event) error {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.File == nil {
		return nil
	}
	if i >= 0 {
		b.progress.Ranges[i].Flight = b.encodePlaces(nil, events)
	}
	b.progress.Until = b.clock.Now().Add(2 * b.requestTime())
	return b.Save(true)
}

// request calls f, which sends requests that change the target, with their time limit. Before, it
// records when they will have ended at the latest, with half of the limit for the way to the server.
func (b *backfill) request(ctx context.Context, f func(ctx context.Context) error) error {
	limit := b.requestTime()
	b.Mu.Lock()
	now := b.clock.Now()
	var err error
	if b.File != nil && b.progress.Until.Before(now.Add(limit+limit/2)) {
		b.progress.Until = now.Add(2 * limit)
		err = b.Save(true)
	}
	b.Mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// check returns an error unless the ranges cover each table.
func (p *progress) check() error {
	open := map[string]string{} // the end of the ranges so far
	for _, r := range p.Ranges {
		end, begun := open[r.Table]
		if begun && end == "" || r.Range.Start != end {
			return fmt.Errorf("damaged: a range of table %q does not follow the one before it", r.Table)
		}
		open[r.Table] = r.Range.End
	}
	for table, end := range open {
		if end != "" {
			return fmt.Errorf("damaged: the last range of table %q is missing", table)
		}
	}
	if len(open) == 0 {
		return errors.New("damaged: it has no ranges")
	}
	return nil
}

// progress is the progress of all workers. A checkpoint contains the exported fields.
type progress struct {
	// Until is when no request of the run can arrive any more, and Wait how long that takes at
	// most after it was stopped, whatever the clock says.
	Until time.Time     `json:"until"`
	Wait  time.Duration `json:"wait"`
	// Swept is whether the target was searched for events that the source lacks, and Suspects
	// are the places of those that are left.
	Swept    bool              `json:"swept,omitempty"`
	Suspects []byte            `json:"suspects,omitempty"`
	Beside   BackfillCounts    `json:"beside"` // what does not belong to a range
	Ranges   []checkpointRange `json:"ranges"`

	before   int64         // events of earlier calls
	beganAt  float64       // share at the begin of this call
	waiting  time.Duration // BackfillProgress.Waiting
	resumed  bool          // by a checkpoint
	wait     time.Duration // of the run before this one
	suspects int           // number of Suspects, as far as this call has found them
}

// oldest returns the time of the first event in the source; zero if there is none.
func (p *progress) oldest() (first time.Time) {
	for i := range p.Ranges {
		if at := p.Ranges[i].Oldest; at != nil && (first.IsZero() || at.Before(first)) {
			first = *at
		}
	}
	return first
}

// counts returns the sum of all ranges.
func (p *progress) counts() (sum BackfillCounts) {
	sum = p.Beside
	for i := range p.Ranges {
		sum.add(p.Ranges[i].Counts)
	}
	return sum
}

// share returns the share of the ranges that is copied.
func (p *progress) share() float64 {
	sum := 0.0
	for i := range p.Ranges {
		switch r := &p.Ranges[i]; {
		case r.Done:
			sum++
		case r.Last != nil:
			sum += r.Range.Done(string(r.Last))
		}
	}
	return sum / float64(max(1, len(p.Ranges)))
}

// shown returns the progress as it is told.
func (p *progress) shown(l *job.Local) BackfillProgress {
	out := BackfillProgress{BackfillCounts: p.counts(), Share: p.share(), Waiting: p.waiting}
	out.Rate = l.PerSecond(out.Events - p.before)
	if here := out.Share - p.beganAt; here > 0 {
		out.Left = time.Duration(float64(time.Since(l.Started)) * (1 - out.Share) / here)
	}
	return out
}
