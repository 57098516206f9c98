// Package diag defines diagnostics: findings in schemas, with a position, a message and a
// hint. It also formats them for terminals.
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

// Pos is a position in a schema file. The zero Pos is unknown.
type Pos struct {
	File   string // as given to btgen, slash-separated
	Line   int    // from 1; 0 if only the file is known
	Column int    // in runes, from 1; 0 if only the line is known
}

// IsValid reports whether the line is known.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String returns p as file:line:col, without the unknown parts.
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

// Severity is how severe a finding is. A lower value is more severe.
type Severity int

// The severities. Only an Error prevents code generation.
const (
	Error Severity = iota
	Warning
	Advice
)

// String returns the severity in lower case.
func (s Severity) String() string {
	return [...]string{"error", "warning", "advice"}[s]
}

// Diagnostic is one finding at one position of a schema.
type Diagnostic struct {
	Pos      Pos
	Severity Severity
	Class    string // of a change, such as "DATA", shown instead of the severity; empty for others
	Rule     string // ID of the broken rule, such as "K01"; empty for errors in the schema language
	Message  string // what is wrong and its consequence, without a period
	// Note shows what the finding is about, such as an example of a row key, in lines that
	// are printed below the line of the schema; it may be empty.
	Note string
	// Hint is how to fix it; it may be empty. YAML to paste is in backquotes, or in the
	// lines after the first. Entries, such as `bucket: 6h`, belong in the nearest mapping
	// around Pos that allows them. Other YAML replaces the value at Pos.
	Hint string
}

// Code returns a text in backquotes, which mark YAML to paste in hints.
func Code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// Error returns the finding on one line: file:line:col: severity: message [rule], where an
// Error has no severity, and a change has its class instead.
func (d Diagnostic) Error() string { return d.line(style{}) }

// line is Error in a style.
func (d Diagnostic) line(s style) string {
	var b strings.Builder
	if at := d.Pos.String(); at != "" {
		b.WriteString(s.in(bold, words.Printable(at)+":") + " ")
	}
	if d.Class != "" {
		b.WriteString(s.in(d.paint(), d.Class+":") + " ")
	} else if d.Severity != Error {
		b.WriteString(s.in(d.paint(), d.Severity.String()+":") + " ")
	}
	b.WriteString(s.in(bold, words.Printable(d.Message)))
	if d.Rule != "" {
		b.WriteString(" " + s.in(d.paint(), "["+d.Rule+"]"))
	}
	return b.String()
}

// List is a list of findings. As an error, it should be returned by [List.Err] only.
type List []Diagnostic

// Errorf adds an error. The caller may set the hint and the rule of the result, which is
// valid until the list changes.
func (l *List) Errorf(pos Pos, format string, args ...any) *Diagnostic {
	*l = append(*l, Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)})
	return &(*l)[len(*l)-1]
}

// Warnf is Errorf for a warning.
func (l *List) Warnf(pos Pos, format string, args ...any) *Diagnostic {
	d := l.Errorf(pos, format, args...)
	d.Severity = Warning
	return d
}

// HasErrors reports whether any finding is an Error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Err returns l if it contains an Error, and nil otherwise.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error returns the findings, one per line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort sorts the findings by file, line, column and severity, and removes duplicates.
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

// Format returns the findings for terminals: each on one line, followed by the line of the
// schema with a caret below the position, and by the hint. source returns the text of a
// file, or nil to omit the line. The result has no control characters other than line
// ends and tabs.
func (l List) Format(source func(file string) []byte) string { return l.format(source, style{}) }

// FormatColor is Format with colors, as ANSI escape sequences.
func (l List) FormatColor(source func(file string) []byte) string {
	return l.format(source, style{colored: true})
}

// format is Format in a style.
func (l List) format(source func(file string) []byte, s style) string {
	var b strings.Builder
	texts := map[string][]string{} // lines by file
	for _, d := range l {
		lines, read := texts[d.Pos.File]
		if !read {
			lines = linesOf(source(d.Pos.File))
			texts[d.Pos.File] = lines
		}
		b.WriteString(d.line(s) + "\n")
		b.WriteString(snippet(lines, d, s))
		for line := range strings.Lines(d.Note) {
			b.WriteString("  " + s.in(dim, words.Printable(strings.TrimSuffix(line, "\n"))) + "\n")
		}
		if d.Hint != "" {
			b.WriteString("  " + s.in(bold, "help:") + " " + hint(d.Hint, s) + "\n")
		}
	}
	return b.String()
}

// proposal matches YAML to paste in the first line of a hint.
var proposal = regexp.MustCompile("`[^`]+`")

// hint formats a hint, with its further lines, which are YAML to paste, below the first.
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

// maxSnippet is the length limit of schema lines that are shown, in runes.
const maxSnippet = 200

// snippet returns the line at the position and a caret below its column, or "" if the line
// is unknown or too long.
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

// linesOf returns the lines of a text, without line ends; nil for a nil text.
func linesOf(text []byte) []string {
	if text == nil {
		return nil
	}
	lines := strings.Split(string(bytes.TrimPrefix(text, []byte("\uFEFF"))), "\n") // columns do not count the byte order mark
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r")
	}
	return lines
}

// visible returns a line with nonprintable characters replaced, one by one.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) {
			return utf8.RuneError
		}
		return r
	}, line)
}
