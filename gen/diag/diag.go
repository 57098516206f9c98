// Package diag holds what btgen finds wrong with a schema: a place, a message
// and what to write instead, and how a person is shown it. It knows nothing of
// YAML, of Bigtable or of Go source.
package diag

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/words"
)

// Pos is a place in a schema file. The zero Pos is no place.
type Pos struct {
	File   string // as the file was named to btgen, slash-separated
	Line   int    // from 1; 0 where only the file is known
	Column int    // in runes, from 1; 0 where only the line is known
}

// IsValid reports whether p names a line.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String returns p as file:line:col, without the parts that are not known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Severity says how bad a finding is.
type Severity int

// The severities, worst first. Only an Error stops the generator.
const (
	Error Severity = iota
	Warning
	Advice
)

// String returns the severity in lower case.
func (s Severity) String() string {
	return [...]string{"error", "warning", "advice"}[s]
}

// Diagnostic is one finding about one place of a schema.
type Diagnostic struct {
	Pos      Pos
	Severity Severity
	Rule     string // id of the rule that was broken, such as "K01"; empty for the language itself
	Message  string // what is wrong, without a full stop
	// Hint is what to do instead; it may be empty. What is to be pasted stands between
	// backquotes, or in indented lines at the end. Entries, such as `bucket: 6h`, belong
	// in the nearest mapping around Pos that can have them. Anything else is to be
	// written at Pos.
	Hint string
}

// Code returns a text between backquotes, as hints have what is to be pasted.
func Code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// Error returns the finding in one line, in the form file:line:col: message [rule].
func (d Diagnostic) Error() string { return d.line(style{}) }

// line is Error in a style.
func (d Diagnostic) line(s style) string {
	var b strings.Builder
	if at := d.Pos.String(); at != "" {
		b.WriteString(s.in(bold, words.Printable(at)+":") + " ")
	}
	if d.Severity != Error {
		b.WriteString(s.in(d.paint(), d.Severity.String()+":") + " ")
	}
	b.WriteString(s.in(bold, words.Printable(d.Message)))
	if d.Rule != "" {
		b.WriteString(" " + s.in(d.paint(), "["+d.Rule+"]"))
	}
	return b.String()
}

// List is the findings of a run. A List that holds an error is itself an error.
type List []Diagnostic

// Errorf adds an error without a rule id, and returns it so that a hint can be set.
func (l *List) Errorf(pos Pos, format string, args ...any) *Diagnostic {
	*l = append(*l, Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)})
	return &(*l)[len(*l)-1]
}

// Warnf adds a warning; the caller may set its rule and hint.
func (l *List) Warnf(pos Pos, format string, args ...any) *Diagnostic {
	d := l.Errorf(pos, format, args...)
	d.Severity = Warning
	return d
}

// HasErrors reports whether any finding is an Error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Err returns l as an error if it holds an Error, and nil otherwise.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error returns the findings, one a line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort orders the findings by file, line and column, and drops exact repetitions.
func (l *List) Sort() {
	slices.SortStableFunc(*l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			cmp.Compare(a.Severity, b.Severity),
		)
	})
	*l = slices.Compact(*l)
}

// Format returns the findings for a person: each in one line, then the line of
// the schema with a caret below the place, then the hint. The text of a file
// comes from source, which may return nil.
func (l List) Format(source func(file string) []byte) string { return l.format(source, style{}) }

// FormatColor is Format for a terminal that shows colors.
func (l List) FormatColor(source func(file string) []byte) string {
	return l.format(source, style{colored: true})
}

// format is Format in a style.
func (l List) format(source func(file string) []byte, s style) string {
	var b strings.Builder
	texts := map[string][]string{} // the lines of files
	for _, d := range l {
		lines, read := texts[d.Pos.File]
		if !read {
			lines = linesOf(source(d.Pos.File))
			texts[d.Pos.File] = lines
		}
		b.WriteString(d.line(s) + "\n")
		b.WriteString(snippet(lines, d, s))
		if d.Hint != "" {
			b.WriteString("  " + s.in(bold, "help:") + " " + hint(d.Hint, s) + "\n")
		}
	}
	return b.String()
}

// proposal is what a line of a hint proposes.
var proposal = regexp.MustCompile("`[^`]+`")

// hint returns a hint with its further lines, which are to be pasted, below the first.
func hint(text string, s style) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line = words.Printable(line); i > 0 {
			lines[i] = s.in(pasted, line)
			continue
		}
		lines[i] = proposal.ReplaceAllStringFunc(line, func(code string) string { return s.in(pasted, code) })
	}
	return strings.Join(lines, "\n        ")
}

// maxSnippet is the longest line of a schema, in runes, that is shown with a caret.
const maxSnippet = 200

// snippet returns the line at pos and a caret below its column, or nothing
// where the line is not known.
func snippet(lines []string, d Diagnostic, s style) string {
	pos := d.Pos
	if pos.Line < 1 || pos.Line > len(lines) || len(lines[pos.Line-1]) > maxSnippet*utf8.UTFMax {
		return ""
	}
	line := visible(lines[pos.Line-1])
	if utf8.RuneCountInString(line) > maxSnippet {
		return ""
	}
	gutter := fmt.Sprintf("%5d | ", pos.Line)
	out := s.in(dim, gutter) + line + "\n"
	if pos.Column < 1 {
		return out
	}
	pad := s.in(dim, strings.Repeat(" ", len(gutter)-2)+"| ")
	runes := []rune(line)
	for i := range min(pos.Column-1, len(runes)) {
		if runes[i] == '\t' {
			pad += "\t"
		} else {
			pad += " "
		}
	}
	return out + pad + s.in(d.paint(), "^") + "\n"
}

// linesOf returns the lines of a text, without their ends; nil for no text.
func linesOf(text []byte) []string {
	if text == nil {
		return nil
	}
	lines := strings.Split(string(bytes.TrimPrefix(text, []byte("\uFEFF"))), "\n") // no column counts the mark
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r")
	}
	return lines
}

// visible returns a line made safe for a terminal, a character for each that it has.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) {
			return utf8.RuneError
		}
		return r
	}, line)
}
