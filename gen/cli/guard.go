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

// guard is an output in which no line is an instruction to who shows it: see
// [words.AppendLine]. What a schema says, or how a file is called, may be anything.
type guard struct {
	out  io.Writer
	rest []byte // of a line that has not ended
}

// guarded returns an output with a guard, and what ends it. A terminal has none: what
// is written for one is in color, and made safe where it is made.
func guarded(out io.Writer) (io.Writer, func() error) {
	if IsTerminal(out) {
		return out, func() error { return nil }
	}
	g := &guard{out: out}
	return g, g.flush
}

// IsTerminal reports whether an output is a terminal.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Colored reports whether an output is a terminal that may be written to in color: the
// environment variable NO_COLOR forbids it, with any text in it.
func Colored(out io.Writer) bool { return IsTerminal(out) && os.Getenv("NO_COLOR") == "" }

// Unguarded returns an output for lines that are instructions by design.
func Unguarded(out io.Writer) io.Writer {
	if g, ok := out.(*guard); ok {
		return g.out
	}
	return out
}

// Write writes the lines that have ended.
func (g *guard) Write(text []byte) (int, error) {
	var lines []byte
	rest := append(g.rest, text...)
	for {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if !ended {
			break
		}
		lines = append(words.AppendLine(lines, line), '\n')
		rest = after
	}
	g.rest = bytes.Clone(rest)
	if len(lines) > 0 {
		if _, err := g.out.Write(lines); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// flush writes what is left without the end of a line.
func (g *guard) flush() error {
	if len(g.rest) == 0 {
		return nil
	}
	_, err := g.out.Write(words.AppendLine(nil, g.rest))
	g.rest = nil
	return err
}

// message returns what an error says. The names of files in it may have line ends.
func message(err error) string {
	text := err.Error()
	for _, name := range fileNames(err) {
		if safe := words.Printable(name); safe != name {
			text = strings.ReplaceAll(text, name, safe)
		}
	}
	return text
}

// fileNames returns the names in what the operating system says.
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
