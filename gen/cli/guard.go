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

// guard escapes each line with [words.AppendLine], so that no CI system interprets texts of
// schemas or names of files.
type guard struct {
	out  io.Writer
	rest []byte // an incomplete line
}

// guarded returns out with a guard, and a function that flushes it. A terminal gets no
// guard: text for terminals has colors, and is escaped where it is formatted.
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

// Colored reports whether to use colors: if out is a terminal, and the environment variable
// NO_COLOR is empty.
func Colored(out io.Writer) bool { return IsTerminal(out) && os.Getenv("NO_COLOR") == "" }

// Width returns the number of columns of a terminal; 0 if out is not a terminal, or its
// width is unknown.
func Width(out io.Writer) int {
	if !IsTerminal(out) {
		return 0
	}
	width, _, err := term.GetSize(int(out.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Unguarded returns an output of [Run] without escaping, for lines that CI systems are
// supposed to interpret.
func Unguarded(out io.Writer) io.Writer {
	if g, ok := out.(*guard); ok {
		return g.out
	}
	return out
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

// flush writes an incomplete last line.
func (g *guard) flush() error {
	if len(g.rest) == 0 {
		return nil
	}
	_, err := g.out.Write(words.AppendLine(nil, g.rest))
	g.rest = nil
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
