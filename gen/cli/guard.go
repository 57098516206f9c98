package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/btgen-dev/btgen/gen/words"
)

// guard is the writer through which everything passes that commands print. It escapes each
// line: for a terminal with [words.AppendTerminal], so that no text of a schema, a table, a
// server or a file name steers it, and otherwise with [words.AppendLine], so that no CI system
// interprets it, either.
type guard struct {
	out      io.Writer
	rest     []byte // an incomplete line
	terminal bool
	colored  bool
	recorded *bytes.Buffer // what was written, for RunOnce; nil if that is not wanted, or too much
	// repeatable reports whether the run only depends on what it has read; see [MayRepeat].
	repeatable bool
}

// maxRecorded is the number of bytes of an output that are recorded.
const maxRecorded = 4 << 20

// guarded returns out with a guard.
func guarded(out io.Writer) *guard {
	return &guard{out: out, terminal: IsTerminal(out), colored: Colored(out)}
}

// unwrapped returns the output below a guard.
func unwrapped(out io.Writer) io.Writer {
	if g, ok := out.(*guard); ok {
		return g.out
	}
	return out
}

// IsTerminal reports whether an output is a terminal.
func IsTerminal(out io.Writer) bool {
	file, ok := unwrapped(out).(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Colored reports whether to use colors: if out is a terminal, and the environment variable
// NO_COLOR is empty.
func Colored(out io.Writer) bool { return IsTerminal(out) && os.Getenv("NO_COLOR") == "" }

// Width returns the number of columns of a terminal; 0 if out is not a terminal, or its
// width is unknown.
func Width(out io.Writer) int {
	if !IsTerminal(out) {
		return 0
	}
	width, _, err := term.GetSize(int(unwrapped(out).(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Unguarded returns an output of [Run] without escaping, for data that other programs read and
// for lines that CI systems are supposed to interpret. A terminal always has its guard.
func Unguarded(out io.Writer) io.Writer {
	if IsTerminal(out) {
		return out
	}
	return unwrapped(out)
}

// Redraw replaces the line of a terminal, in which the cursor stays, by a text; with an empty
// text, it clears the line.
func Redraw(out io.Writer, text string) {
	_, _ = unwrapped(out).Write(append(words.AppendTerminal([]byte("\r"), []byte(text), false), "\x1b[K"...))
}

// Write writes complete lines, and buffers the rest.
func (g *guard) Write(text []byte) (int, error) {
	var lines []byte
	rest := append(g.rest, text...)
	for {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if !ended {
			break
		}
		lines = append(g.escape(lines, line), '\n')
		rest = after
	}
	g.rest = bytes.Clone(rest)
	if len(lines) > 0 {
		if err := g.print(lines); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// escape appends a line in a form that is safe for the output.
func (g *guard) escape(dst, line []byte) []byte {
	if g.terminal {
		return words.AppendTerminal(dst, line, g.colored)
	}
	return words.AppendLine(dst, line)
}

// flush writes an incomplete last line.
func (g *guard) flush() error {
	if len(g.rest) == 0 {
		return nil
	}
	err := g.print(g.escape(nil, g.rest))
	g.rest = nil
	return err
}

// print writes escaped text.
func (g *guard) print(text []byte) error {
	if g.recorded != nil && g.recorded.Len()+len(text) > maxRecorded {
		g.recorded = nil
	}
	if g.recorded != nil {
		g.recorded.Write(text)
	}
	_, err := g.out.Write(text)
	return err
}

// message returns the message of an error, with the file names in it escaped.
func message(err error) string {
	text := err.Error()
	for _, name := range fileNames(err) {
		if safe := words.Printable(name); safe != name {
			text = strings.ReplaceAll(text, name, safe)
		}
	}
	return text
}

// fileNames returns the file names in errors of the operating system.
func fileNames(err error) []string {
	switch e := err.(type) {
	case *fs.PathError:
		return []string{e.Path}
	case *os.LinkError:
		return []string{e.Old, e.New}
	case interface{ Unwrap() []error }:
		var all []string
		for _, one := range e.Unwrap() {
			all = append(all, fileNames(one)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil {
		return fileNames(inner)
	}
	return nil
}
