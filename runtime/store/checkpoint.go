package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
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

// checkpoint is the contents of a checkpoint file.
type checkpoint struct {
	Version  int    `json:"version"`
	Instance string `json:"instance,omitempty"`
	Source   string `json:"source"`
	Target   string `json:"target"`
	// SourceLayout and TargetLayout are the facts of the layouts, one line for each.
	SourceLayout string `json:"source_layout"`
	TargetLayout string `json:"target_layout"`
	From         string `json:"from"`
	To           string `json:"to"`
	Skip         bool   `json:"skip_undecodable"`
	Repair       bool   `json:"repair"`
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

// checkpointVersion is the version of the format.
const checkpointVersion = 2

// contents returns the current checkpoint.
func (b *backfill) contents() checkpoint {
	layout := func(l *mapping) string {
		var lines []string
		for _, p := range l.Periods() {
			lines = append(lines, p.Table.ID+": "+p.Table.Layout)
		}
		return strings.Join(lines, "\n")
	}
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	p := &b.progress
	return checkpoint{
		Version: checkpointVersion, Instance: b.Instance, Source: b.report.Source, Target: b.report.Target,
		SourceLayout: layout(b.source), TargetLayout: layout(b.target), From: text(b.From), To: text(b.To), Skip: b.SkipUndecodable, Repair: b.Repair,
		Until: p.until.UTC(), Wait: 2 * b.requestTime(), Swept: p.swept, Suspects: p.suspected, Beside: p.beside, Ranges: p.ranges,
	}
}

// begunAgain says what to do about a damaged checkpoint.
const begunAgain = ": delete it, wait for twice the timeout, and copy with --repair (Repair): without it, copies of events that were deleted since may remain"

// resume takes the ranges of the checkpoint, if the file exists and something is left to do. It
// then belongs to this call.
func (b *backfill) resume() (found bool, err error) {
	var saved checkpoint
	found, err = b.load(backfillCommand, begunAgain, func(text []byte) (err error) {
		saved, err = parseCheckpoint(text)
		return err
	})
	if !found || err != nil {
		return false, err
	}
	if reason := saved.differs(b.contents()); reason != "" {
		return false, &CheckpointError{b.Checkpoint, "belongs to another backfill: " + reason + ": use another file", nil}
	}
	if saved.complete() {
		return false, nil // begin again: the tables may have changed since
	}
	p := &b.progress
	p.ranges, p.swept, p.suspected, p.beside = saved.Ranges, saved.Swept, saved.Suspects, saved.Beside
	p.until, p.wait, p.resumed = saved.Until, saved.Wait, true
	if !p.swept { // it begins again
		p.suspected, p.beside.OnlyTarget = nil, 0
	}
	return true, b.save(true)
}

// complete reports whether nothing is left to do.
func (c checkpoint) complete() bool {
	for i := range c.Ranges {
		if !c.Ranges[i].Done || len(c.Ranges[i].Flight) > 0 {
			return false
		}
	}
	return len(c.Suspects) == 0
}

// stopped reports whether this run continues another one.
func (b *backfill) stopped() bool { return b.progress.resumed }

// stillArriving returns how long requests of the run before this one may still arrive.
func (b *backfill) stillArriving() time.Duration {
	return min(b.progress.until.Sub(b.clock.now()), b.progress.wait)
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return nil
	}
	if i >= 0 {
		b.progress.ranges[i].Flight = b.encodePlaces(nil, events)
	}
	b.progress.until = b.clock.now().Add(2 * b.requestTime())
	return b.save(true)
}

// request calls f, which sends requests that change the target, with their time limit. Before, it
// records when they will have ended at the latest, with half of the limit for the way to the server.
func (b *backfill) request(ctx context.Context, f func(ctx context.Context) error) error {
	limit := b.requestTime()
	b.mu.Lock()
	now := b.clock.now()
	var err error
	if b.file != nil && b.progress.until.Before(now.Add(limit+limit/2)) {
		b.progress.until = now.Add(2 * limit)
		err = b.save(true)
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// differs returns how the backfill of a checkpoint differs from another one; empty if they
// are the same.
func (c checkpoint) differs(o checkpoint) string {
	for _, d := range []struct{ what, is, want string }{
		{"instance", c.Instance, o.Instance},
		{"source", c.Source, o.Source},
		{"target", c.Target, o.Target},
		{"layout of the source", c.SourceLayout, o.SourceLayout},
		{"layout of the target", c.TargetLayout, o.TargetLayout},
		{"first time", c.From, o.From},
		{"end time", c.To, o.To},
		{"skipping of undecodable rows", fmt.Sprint(c.Skip), fmt.Sprint(o.Skip)},
		{"repair", fmt.Sprint(c.Repair), fmt.Sprint(o.Repair)},
	} {
		if d.is != d.want {
			return fmt.Sprintf("its %s is %q, not %q", d.what, d.is, d.want)
		}
	}
	return ""
}

// parseCheckpoint parses the contents of a file.
func parseCheckpoint(text []byte) (c checkpoint, err error) {
	if err := parseChecked(text, &c); err != nil {
		return c, err
	}
	if c.Version != checkpointVersion {
		return c, fmt.Errorf("version %d, not %d", c.Version, checkpointVersion)
	}
	return c, c.check()
}

// check returns an error unless the ranges cover each table.
func (c checkpoint) check() error {
	open := map[string]string{} // the end of the ranges so far
	for _, r := range c.Ranges {
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

// text returns the contents of a file.
func (c checkpoint) text() ([]byte, error) { return checkedText(c) }

// progress is the progress of all workers.
type progress struct {
	ranges  []checkpointRange
	before  int64         // events of earlier calls
	beganAt float64       // share at the begin of this call
	waiting time.Duration // BackfillProgress.Waiting

	resumed   bool          // by a checkpoint
	until     time.Time     // when no request can arrive any more
	wait      time.Duration // of the run before this one
	swept     bool
	suspected []byte // places of events that the source lacks
	suspects  int    // their number, as far as this call has found them
	beside    BackfillCounts
}

// oldest returns the time of the first event in the source; zero if there is none.
func (p *progress) oldest() (first time.Time) {
	for i := range p.ranges {
		if at := p.ranges[i].Oldest; at != nil && (first.IsZero() || at.Before(first)) {
			first = *at
		}
	}
	return first
}

// counts returns the sum of all ranges.
func (p *progress) counts() (sum BackfillCounts) {
	sum = p.beside
	for i := range p.ranges {
		sum.add(p.ranges[i].Counts)
	}
	return sum
}

// share returns the share of the ranges that is copied.
func (p *progress) share() float64 {
	sum := 0.0
	for i := range p.ranges {
		switch r := &p.ranges[i]; {
		case r.Done:
			sum++
		case r.Last != nil:
			sum += r.Range.Done(string(r.Last))
		}
	}
	return sum / float64(max(1, len(p.ranges)))
}

// shown returns the progress as it is told.
func (p *progress) shown(l *local) BackfillProgress {
	out := BackfillProgress{BackfillCounts: p.counts(), Share: p.share(), Waiting: p.waiting}
	out.Rate = l.perSecond(out.Events - p.before)
	if here := out.Share - p.beganAt; here > 0 {
		out.Left = time.Duration(float64(time.Since(l.began)) * (1 - out.Share) / here)
	}
	return out
}
