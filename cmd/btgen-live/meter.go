package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// meter shows the progress of a command on stderr: in one line that is redrawn on a terminal,
// and in a line from time to time otherwise. It counts what cannot be decoded.
type meter struct {
	name        string // of the program
	out         io.Writer
	terminal    bool
	shown       time.Time
	drawn       bool // the cursor is in the line
	undecodable int  // events or rows
}

const (
	drawEvery   = 100 * time.Millisecond // time between two drawings on a terminal
	lineEvery   = 10 * time.Second       // time between two lines
	maxReported = 10                     // undecodable events that are reported one by one
)

// newMeter returns the meter of a command.
func newMeter(cmd *cobra.Command) *meter {
	out := cmd.ErrOrStderr()
	return &meter{name: cmd.Root().Name(), out: out, shown: time.Now(), terminal: cli.IsTerminal(out)}
}

// show shows what text returns, unless that was done a moment ago.
func (m *meter) show(text func() string) {
	switch since := time.Since(m.shown); {
	case m.terminal && since >= drawEvery:
		cli.Redraw(m.out, text())
		m.drawn = true
	case !m.terminal && since >= lineEvery:
		fmt.Fprintf(m.out, "%s: %s\n", m.name, text())
	default:
		return
	}
	m.shown = time.Now()
}

// line prints a line that stays.
func (m *meter) line(format string, args ...any) {
	m.end()
	fmt.Fprintf(m.out, "%s: %s\n", m.name, fmt.Sprintf(format, args...))
}

// end removes the line that is redrawn.
func (m *meter) end() {
	if m.drawn {
		cli.Redraw(m.out, "")
		m.drawn = false
	}
}

// skip counts the error of an event or a row that cannot be decoded, and prints it if it is among the first.
func (m *meter) skip(err error) {
	if m.undecodable++; m.undecodable <= maxReported {
		m.line("%v", err)
	}
}

// done prints how many events or rows could not be decoded. It returns ErrFindings if there are any.
func (m *meter) done() error {
	if m.end(); m.undecodable == 0 {
		return nil
	}
	m.line("%s; btgen-live verify explains why", undecodableText(m.undecodable))
	return cli.ErrFindings
}

// step starts to show what a command without a meter is doing.
func (r *request) step(format string, args ...any) *cli.Progress {
	progress := cli.StartProgress(r.cmd.ErrOrStderr(), r.cmd.Root().Name())
	progress.Step(format, args...)
	return progress
}

// isUndecodable reports whether an error is that of an event or a row that cannot be decoded, after which others follow.
func isUndecodable(err error) bool {
	_, is := errors.AsType[*store.DecodeError](err)
	return is
}

// decodable yields what a read yields, but calls skip for what cannot be decoded.
func decodable[T any](all iter.Seq2[T, error], skip func(err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if isUndecodable(err) {
				skip(err)
			} else if !yield(v, err) {
				return
			}
		}
	}
}

// undecodableText says how many events or rows could not be decoded.
func undecodableText(n int) string {
	return words.Count(float64(n), "event or row", "events or rows") + " could not be decoded"
}

// countOf formats a number of things, such as "1 row".
func countOf[N int | int64 | uint64](n N, noun string) string {
	return words.Count(float64(n), noun, noun+"s")
}

// rateText describes how many events were processed.
func rateText(n int, begun time.Time) string {
	return fmt.Sprintf("%s, %s/s", countOf(n, "event"), words.Number(float64(n)/time.Since(begun).Seconds()))
}
