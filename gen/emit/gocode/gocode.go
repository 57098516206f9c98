// Package gocode renders parts of Go source: comments that no text can escape from, groups of
// imports, and times as literals.
package gocode

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"
)

// Int renders an integer, whose digits do not depend on the size of int where btgen runs.
func Int[T ~int | ~int64](v T) *jen.Statement { return jen.Id(strconv.FormatInt(int64(v), 10)) }

// GroupImports groups the imports of a file: the standard library, other modules, and generated
// packages, whose paths begin with root. It prepends head.
func GroupImports(head string, src []byte, root string) []byte {
	begin := bytes.Index(src, []byte("import ("))
	if begin < 0 {
		return slices.Concat([]byte(head), src)
	}
	end := begin + bytes.Index(src[begin:], []byte(")"))
	var groups [3][]string
	for line := range strings.Lines(string(src[begin+len("import (") : end])) {
		line = strings.TrimSpace(line)
		_, quoted, ok := strings.Cut(line, `"`)
		if !ok {
			continue
		}
		importPath := strings.TrimSuffix(quoted, `"`)
		first, _, _ := strings.Cut(importPath, "/")
		switch {
		case importPath == root || strings.HasPrefix(importPath, root+"/"):
			groups[2] = append(groups[2], line)
		case strings.Contains(first, "."):
			groups[1] = append(groups[1], line)
		default:
			groups[0] = append(groups[0], line)
		}
	}
	var b strings.Builder
	b.WriteString("import (\n")
	for _, g := range groups {
		b.WriteString(strings.Join(g, "\n") + "\n\n")
	}
	return slices.Concat([]byte(head), src[:begin], []byte(b.String()), src[end:])
}

// Doc returns a wrapped comment. Text of a schema cannot escape from the comment. A line
// that begins with a tab is kept as is.
func Doc(lines ...string) *jen.Statement {
	lines = Wrap(strings.Split(strings.Join(lines, "\n"), "\n"))
	c := make(jen.Statement, 0, 2*len(lines)+declSize)
	for i, line := range lines {
		if i > 0 {
			c.Line()
			alone := lines[i-1] == "" && (i == len(lines)-1 || lines[i+1] == "")
			if first, _ := utf8.DecodeRuneInString(line); alone && unicode.IsUpper(first) {
				line = Sentence(line) // otherwise, gofmt would make it a heading
			}
		}
		c.Comment(Comment(line))
	}
	return &c
}

// declSize is the usual maximum number of parts after the comment of a declaration.
const declSize = 12

// straight replaces text that gofmt would replace or move only when it formats the
// comment a second time: paired quotes and link definitions.
func straight(line string) string {
	line = strings.ReplaceAll(line, "``", `"`)
	line = strings.ReplaceAll(line, "''", `"`)
	return strings.ReplaceAll(line, "]:", "] :")
}

// listItem matches the beginning of an item of a list.
var listItem = regexp.MustCompile(`^([-*+•]|[0-9]+[.)])[ \t]`)

// Comment returns a line of text as a comment. It must not be a directive: gofmt moves
// a comment that begins with +build, wherever it is, to the top of the file, where it
// would exclude the file from the build. Nor must code be the item of a list, which gofmt would indent.
func Comment(line string) string {
	line = CommentLine(line)
	if code, ok := strings.CutPrefix(line, "\t"); ok { // gofmt indents code by one tab, and keys are shown unchanged
		line = "\t" + strings.TrimLeft(code, " \t")
	} else {
		line = straight(line)
	}
	blank := line[:len(line)-len(strings.TrimLeftFunc(line, unicode.IsSpace))]
	if rest := line[len(blank):]; strings.HasPrefix(rest, "+build") || blank != "" && listItem.MatchString(rest) {
		line = blank + `\` + rest
	}
	if line == "" || line[0] == '\t' {
		return "//" + line
	}
	return "// " + line
}

// Wrap breaks lines that are too long for a comment, and joins the remainder with the
// next line. Lines that begin with a tab are code, and are separated from text by an
// empty line. It merges successive empty lines, and removes those at the end.
func Wrap(lines []string) []string {
	const width = 110
	var out []string
	var rest []byte
	used := 0 // part of the width
	flush := func() {
		if len(rest) > 0 {
			out = append(out, string(rest))
		}
		rest, used = rest[:0], 0
	}
	isCode := func(line string) bool { return strings.HasPrefix(line, "\t") }
	for _, line := range lines {
		line = CommentLine(line)
		if line == "" || isCode(line) {
			flush()
		}
		last := ""
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		if last != "" && (line == "" || isCode(line) != isCode(last)) {
			out = append(out, "")
		}
		if isCode(line) {
			out = append(out, line)
			continue
		}
		for _, word := range strings.Fields(line) {
			size := utf8.RuneCountInString(word)
			if used > 0 && used+1+size > width {
				flush()
			}
			if used > 0 {
				rest, used = append(rest, ' '), used+1
			}
			rest, used = append(rest, word...), used+size
		}
	}
	if flush(); len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// CommentLine escapes text so that it is safe in one line of a comment.
func CommentLine(s string) string {
	s = strings.TrimRight(s, " \t")
	if isPlain(s) {
		return s
	}
	return strings.TrimRight(strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff':
			return ' '
		case unicode.Is(unicode.Cf, r):
			return utf8.RuneError // it would hide from reviewers what the compiler sees
		}
		return r
	}, s), " \t")
}

// isPlain reports whether text is printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Sentence ends a text of the schema with a period.
func Sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// Duration renders a duration in Go syntax: 7 * 24 * time.Hour.
func Duration(d time.Duration) *jen.Statement {
	units := []struct {
		size time.Duration
		code func() *jen.Statement
	}{
		{24 * time.Hour, func() *jen.Statement { return jen.Lit(24).Op("*").Qual("time", "Hour") }},
		{time.Hour, func() *jen.Statement { return jen.Qual("time", "Hour") }},
		{time.Minute, func() *jen.Statement { return jen.Qual("time", "Minute") }},
		{time.Second, func() *jen.Statement { return jen.Qual("time", "Second") }},
		{time.Millisecond, func() *jen.Statement { return jen.Qual("time", "Millisecond") }},
		{time.Microsecond, func() *jen.Statement { return jen.Qual("time", "Microsecond") }},
		{time.Nanosecond, func() *jen.Statement { return jen.Qual("time", "Nanosecond") }},
	}
	for _, u := range units {
		if d == 0 || d%u.size != 0 {
			continue
		}
		if n := int(d / u.size); n != 1 {
			return jen.Lit(n).Op("*").Add(u.code())
		}
		return u.code()
	}
	return jen.Lit(0)
}

// Date renders an instant as a call of time.Date.
func Date(t time.Time) *jen.Statement {
	t = t.UTC()
	return jen.Qual("time", "Date").Call(
		jen.Lit(t.Year()), jen.Qual("time", t.Month().String()), jen.Lit(t.Day()),
		jen.Lit(t.Hour()), jen.Lit(t.Minute()), jen.Lit(t.Second()), jen.Lit(t.Nanosecond()), jen.Qual("time", "UTC"),
	)
}

// Default formats the default of a field for a comment.
func Default(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []byte:
		return fmt.Sprintf("%x", v)
	default:
		return fmt.Sprint(v)
	}
}
