package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	SourceLayout string            `json:"source_layout"`
	TargetLayout string            `json:"target_layout"`
	From         string            `json:"from"`
	To           string            `json:"to"`
	Skip         bool              `json:"skip_undecodable"`
	Ranges       []checkpointRange `json:"ranges"`
}

// checkpointRange is the progress in a range of row keys.
type checkpointRange struct {
	Table  string         `json:"table"` // without prefix
	Range  KeyRange       `json:"range"`
	Last   []byte         `json:"last,omitempty"` // key of the last row that is copied; nil if none is
	Done   bool           `json:"done,omitempty"`
	Counts BackfillCounts `json:"counts"`
}

// checkpointVersion is the version of the format.
const checkpointVersion = 1

// saveInterval is the minimum time between two writes of a checkpoint.
const saveInterval = time.Second

// checkpoint returns the current checkpoint.
func (b *backfill[E]) checkpoint() checkpoint {
	layout := func(l *mapping) string {
		var lines []string
		for _, p := range l.Periods() {
			lines = append(lines, p.Table.ID+": "+p.Table.Layout)
		}
		return strings.Join(lines, "\n")
	}
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	return checkpoint{
		Version: checkpointVersion, Instance: b.Instance, Source: b.report.Source, Target: b.report.Target,
		SourceLayout: layout(b.source), TargetLayout: layout(b.target), From: text(b.From), To: text(b.To), Skip: b.SkipUndecodable,
		Ranges: b.progress.ranges,
	}
}

// resume takes the ranges of the checkpoint, if the file exists.
func (b *backfill[E]) resume() (found bool, err error) {
	text, err := os.ReadFile(b.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, &CheckpointError{b.Checkpoint, "not readable", err}
	}
	saved, err := parseCheckpoint(text)
	if err != nil {
		return false, &CheckpointError{b.Checkpoint, err.Error() + ": delete it to begin again", nil}
	}
	if reason := saved.differs(b.checkpoint()); reason != "" {
		return false, &CheckpointError{b.Checkpoint, "belongs to another back-fill: " + reason + ": use another file", nil}
	}
	b.progress.ranges = saved.Ranges
	return true, nil
}

// differs returns how the back-fill of a checkpoint differs from another one; empty if they
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
	} {
		if d.is != d.want {
			return fmt.Sprintf("its %s is %q, and not %q", d.what, d.is, d.want)
		}
	}
	return ""
}

// parseCheckpoint parses the contents of a file: JSON and a line with its SHA-256.
func parseCheckpoint(text []byte) (c checkpoint, err error) {
	body, sum, found := bytes.Cut(text, []byte("\n"))
	if !found || string(bytes.TrimSuffix(sum, []byte("\n"))) != checksum(body) {
		return c, errors.New("damaged: the checksum is wrong")
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return c, fmt.Errorf("damaged: %w", err)
	}
	if c.Version != checkpointVersion {
		return c, fmt.Errorf("version %d, and not %d", c.Version, checkpointVersion)
	}
	return c, nil
}

// text returns the contents of a file.
func (c checkpoint) text() ([]byte, error) {
	body, err := json.Marshal(c)
	return fmt.Appendf(body, "\n%s\n", checksum(body)), err
}

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// saveNow writes the checkpoint unless it was written just now and the process will write
// it again.
func (b *backfill[E]) saveNow(always bool) error {
	if !always && time.Since(b.progress.saved) < saveInterval {
		return nil
	}
	return b.save()
}

// save writes the checkpoint.
func (b *backfill[E]) save() error {
	if b.Checkpoint == "" || b.DryRun {
		return nil
	}
	text, err := b.checkpoint().text()
	if err == nil {
		err = replaceFile(b.Checkpoint, text)
	}
	if err != nil {
		return &CheckpointError{b.Checkpoint, "not writable", err}
	}
	b.progress.saved = time.Now()
	return nil
}

// replaceFile replaces a file so that it has either its old or its new contents, whenever
// the process is killed or the machine loses power.
func replaceFile(name string, text []byte) (err error) {
	temporary := name + ".tmp" // always the same, so that a killed process leaves at most one
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, name); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(name)); err == nil {
		_ = dir.Sync() // not supported by all systems
		_ = dir.Close()
	}
	return nil
}

// progress is the progress of all workers.
type progress struct {
	ranges      []checkpointRange
	began       time.Time
	new         int64   // events in this call
	beganAt     float64 // share at the begin of this call
	saved, told time.Time
}

// counts returns the sum of all ranges.
func (p *progress) counts() (sum BackfillCounts) {
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

// tellInterval is the minimum time between two reports of the progress.
const tellInterval = 200 * time.Millisecond

// tell reports the progress.
func (b *backfill[E]) tell(always bool) {
	p := &b.progress
	if b.Progress == nil || !always && time.Since(p.told) < tellInterval {
		return
	}
	out := BackfillProgress{BackfillCounts: p.counts(), Share: p.share()}
	elapsed := time.Since(p.began)
	out.Rate = float64(p.new) / max(elapsed.Seconds(), 1e-3)
	if here := out.Share - p.beganAt; here > 0 {
		out.Left = time.Duration(float64(elapsed) * (1 - out.Share) / here)
	}
	p.told = time.Now()
	b.Progress(out)
}

// limiter limits the number of events per second. It is safe for concurrent use.
type limiter struct {
	rate float64
	mu   sync.Mutex
	free time.Time // when the events so far have taken their time
}

// wait waits until n more events may be written.
func (l *limiter) wait(ctx context.Context, n int) error {
	if l.rate <= 0 {
		return nil
	}
	l.mu.Lock()
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	until := l.free
	l.free = l.free.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
	l.mu.Unlock()
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
