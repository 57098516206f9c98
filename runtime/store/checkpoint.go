package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/checkpoint"
	"github.com/btgen-dev/btgen/runtime/internal/job"
)

// CheckpointError reports a checkpoint that cannot be used: its File, a string, the Reason, a string, and the Err behind it, which may be nil.
type CheckpointError = checkpoint.Error

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
	return checkpoint.Call{Command: "backfill", Again: begunAgain, Facts: []checkpoint.Fact{
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
const begunAgain = "delete it, wait for twice the timeout, and copy with --repair (Repair): without it, copies of events that were deleted since may remain"

// resume takes the progress of the checkpoint, if the file exists and something is left to do. It
// then belongs to this call.
func (b *backfill) resume() (found bool, err error) {
	var saved progress
	if found, err = b.Load(&saved); !found || err != nil {
		return false, err
	}
	if err := saved.check(b.source); err != nil {
		return false, b.File.Damaged(err)
	}
	if !open(saved.Ranges) && len(saved.Suspects) == 0 {
		return false, nil // begin again: the tables may have changed since
	}
	p := &b.progress
	saved.stopped, saved.Wait = saved.Wait, max(saved.Wait, p.Wait)
	if *p = saved; !p.Swept { // it begins again
		p.Suspects, p.Counts.OnlyTarget = nil, 0
	}
	return true, b.Save(true)
}

// requestTime is the time limit of requests that change the target. There is always one, since a
// run that continues has to know when they have ended.
func (b *backfill) requestTime() time.Duration {
	if b.Timeout > 0 {
		return b.Timeout
	}
	return DefaultTimeout
}

// begin records that the events of a range are going to be written.
func (b *backfill) begin(i int, events []event) error {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if i < 0 || b.File == nil {
		return nil
	}
	b.progress.Ranges[i].Flight = b.source.noted(nil, events)
	return b.Save(true)
}

// check returns an error unless the ranges cover each table, and events can have the places.
func (p *progress) check(source *mapping) error {
	ends := map[string]string{} // the end of the ranges so far
	places := slices.Clone(p.Suspects)
	for _, r := range p.Ranges {
		end, begun := ends[r.Table]
		if begun && end == "" || r.Range.Start != end {
			return fmt.Errorf("damaged: a range of table %q does not follow the one before it", r.Table)
		}
		ends[r.Table] = r.Range.End
		places = append(places, r.Flight...)
	}
	for table, end := range ends {
		if end != "" {
			return fmt.Errorf("damaged: the last range of table %q is missing", table)
		}
	}
	if len(ends) == 0 {
		return errors.New("damaged: it has no ranges")
	}
	_, err := source.eventsAt(places)
	return err
}

// progress is the progress of all workers. A checkpoint contains the exported fields.
type progress struct {
	// Wait is how long requests of the run may still arrive after it was stopped.
	Wait time.Duration `json:"wait"`
	// Swept is whether the target was searched for events that the source lacks, and Suspects
	// are the places of those that are left.
	Swept    bool           `json:"swept,omitempty"`
	Suspects []rowPlaces    `json:"suspects,omitempty"`
	Counts   BackfillCounts `json:"counts"`
	Oldest   time.Time      `json:"oldest,omitzero"` // time of the first event in the source
	Ranges   []jobRange     `json:"ranges"`

	before   int64         // events of earlier calls
	beganAt  float64       // share at the begin of this call
	waiting  time.Duration // BackfillProgress.Waiting
	stopped  time.Duration // Wait of the run that this one continues; 0 if there is none
	suspects int           // number of Suspects, as far as this call has found them
}

// shown returns the progress as it is told.
func (p *progress) shown(l *job.Local) BackfillProgress {
	out := BackfillProgress{BackfillCounts: p.Counts, Share: share(p.Ranges), Waiting: p.waiting}
	out.Rate = l.PerSecond(out.Events - p.before)
	if here := out.Share - p.beganAt; here > 0 {
		out.Left = time.Duration(float64(time.Since(l.Started)) * (1 - out.Share) / here)
	}
	return out
}
