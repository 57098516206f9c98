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
// and in a line from time to time otherwise.
type meter struct {
	name     string // of the program
	out      io.Writer
	terminal bool
	shown    time.Time
	drawn    bool // the cursor is in the line
}

const (
	drawEvery = 100 * time.Millisecond // time between two drawings on a terminal
	lineEvery = 10 * time.Second       // time between two lines
)

// newMeter returns the meter of a command.
func newMeter(cmd *cobra.Command) *meter {
	m := &meter{name: cmd.Root().Name(), out: cmd.ErrOrStderr(), shown: time.Now()}
	m.terminal = cli.IsTerminal(m.out)
	return m
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

// isUndecodable reports whether an error is that of an event or a row that cannot be decoded, after which others follow.
func isUndecodable(err error) bool {
	_, is := errors.AsType[*store.DecodeError](err)
	return is
}

// decodable yields what a read yields, but calls undecodable for what cannot be decoded.
func decodable[T any](all iter.Seq2[T, error], undecodable func(err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if isUndecodable(err) {
				undecodable(err)
			} else if !yield(v, err) {
				return
			}
		}
	}
}

// maxReported is the maximum number of undecodable events that are reported one by one.
const maxReported = 10

// reportUndecodable prints the n-th error of an event that cannot be decoded, if it is among the first.
func (m *meter) reportUndecodable(err error, n int) {
	if n <= maxReported {
		m.line("%v", err)
	}
}

// undecodable prints how many events or rows could not be decoded. It returns ErrFindings if there are any.
func (m *meter) undecodable(n int) error {
	if n == 0 {
		return nil
	}
	m.line("%s; btgen-live verify explains why", undecodableText(n))
	return cli.ErrFindings
}

// undecodableText says how many events or rows could not be decoded.
func undecodableText(n int) string {
	return words.Count(float64(n), "event or row", "events or rows") + " could not be decoded"
}

// end removes the line that is redrawn.
func (m *meter) end() {
	if m.drawn {
		cli.Redraw(m.out, "")
		m.drawn = false
	}
}
