package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	progressAfter = 2 * time.Second  // until progress is printed
	progressEvery = 10 * time.Second // until the same step is printed again
)

// Progress prints what a command is doing, if that takes longer than two seconds. It prints
// whole lines, which are also readable in the log of a CI job.
type Progress struct {
	out  io.Writer
	name string
	done chan struct{}
	gone chan struct{}

	mu    sync.Mutex
	step  string
	begun time.Time
	late  bool // progressAfter has passed
}

// StartProgress starts to print the progress of a command to out, after the name of the
// command. The caller must call Stop. From the first call of Step until Stop, nothing else
// may write to out.
func StartProgress(out io.Writer, name string) *Progress {
	p := &Progress{out: unwrapped(out), name: name, done: make(chan struct{}), gone: make(chan struct{}), begun: time.Now()}
	go p.watch()
	return p
}

// Step sets what the command is doing, such as "rendering 1,000 schemas".
func (p *Progress) Step(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = fmt.Sprintf(format, args...)
	if p.late {
		p.print()
	}
}

// Stop ends the progress. It may be called more than once, but not concurrently.
func (p *Progress) Stop() {
	select {
	case <-p.done:
	default:
		close(p.done)
		<-p.gone
	}
}

// watch prints the step periodically.
func (p *Progress) watch() {
	defer close(p.gone)
	timer := time.NewTimer(progressAfter)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
		p.mu.Lock()
		p.late = true
		p.print()
		p.mu.Unlock()
		timer.Reset(progressEvery)
	}
}

// print prints the step and how long the command has run. The caller holds the lock.
func (p *Progress) print() {
	if p.step != "" {
		fmt.Fprintf(p.out, "%s: %s (%s)\n", p.name, p.step, time.Since(p.begun).Round(time.Second))
	}
}
