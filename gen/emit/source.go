package emit

import (
	"bytes"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/output"
)

// source is a Go file under construction.
type source struct {
	*jen.File
	paths  paths
	origin output.Record
}

// newSource returns an empty file of a package.
func newSource(importPath, name string, origin output.Record, paths paths) *source {
	f := jen.NewFilePathName(importPath, name)
	f.NoFormat = true
	f.ImportNames(map[string]string{
		bigtablePath: "bigtable", paths.codec: "codec", paths.store: "store", paths.storetest: "storetest",
		"context": "context", "encoding/json": "json", "iter": "iter", "testing": "testing", "time": "time",
	})
	return &source{File: f, paths: paths, origin: origin}
}

// importPackage imports a generated package under its name, unless the file declares a
// variable or a function with that name.
func (s *source) importPackage(name string, taken ...string) {
	if slices.Contains(taken, name) {
		s.ImportAlias(s.paths.pkg(name), name+"pkg")
		return
	}
	s.ImportName(s.paths.pkg(name), name)
}

// codec and store refer to packages of the runtime.
func (s *source) codec(name string) *jen.Statement { return jen.Qual(s.paths.codec, name) }
func (s *source) store(name string) *jen.Statement { return jen.Qual(s.paths.store, name) }

// storetest refers to the runtime's package for tests.
func (s *source) storetest(name string) *jen.Statement { return jen.Qual(s.paths.storetest, name) }

// render returns the formatted file with its header.
func (s *source) render() ([]byte, error) {
	var b bytes.Buffer
	if err := s.Render(&b); err != nil {
		return nil, err
	}
	out, err := format.Source(groupImports(s.origin.Head()+"\n", b.Bytes(), s.paths.root))
	if err != nil {
		return nil, fmt.Errorf("rendering Go source: %w", err)
	}
	return out, nil
}

// groupImports groups the imports: the standard library, other modules, and generated
// packages. It prepends head.
func groupImports(head string, src []byte, root string) []byte {
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

// doc adds a wrapped comment. Text of a schema cannot escape from the comment. A line
// that begins with a tab is kept as is.
func doc(lines ...string) *jen.Statement {
	lines = wrap(strings.Split(strings.Join(lines, "\n"), "\n"))
	c := make(jen.Statement, 0, 2*len(lines)+declSize)
	for i, line := range lines {
		if i > 0 {
			c.Line()
			alone := lines[i-1] == "" && (i == len(lines)-1 || lines[i+1] == "")
			if first, _ := utf8.DecodeRuneInString(line); alone && unicode.IsUpper(first) {
				line = sentence(line) // otherwise, gofmt would make it a heading
			}
		}
		c.Comment(comment(line))
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

// comment returns a line of text as a comment. It must not be a directive: gofmt moves
// a comment that begins with +build, wherever it is, to the top of the file, where it
// would exclude the file from the build.
func comment(line string) string {
	line = commentLine(line)
	if code, ok := strings.CutPrefix(line, "\t"); ok { // gofmt indents code by one tab, and keys are shown unchanged
		line = "\t" + strings.TrimLeft(code, " ")
	} else {
		line = straight(line)
	}
	blank := line[:len(line)-len(strings.TrimLeftFunc(line, unicode.IsSpace))]
	if rest := line[len(blank):]; strings.HasPrefix(rest, "+build") {
		line = blank + "+ " + rest[1:]
	}
	if line == "" || line[0] == '\t' {
		return "//" + line
	}
	return "// " + line
}

// wrap breaks lines that are too long for a comment, and joins the remainder with the
// next line. Lines that begin with a tab are code, and are separated from text by an
// empty line. It merges successive empty lines.
func wrap(lines []string) []string {
	const width = 77
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
		line = commentLine(line)
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
	flush()
	return out
}

// commentLine escapes text so that it is safe in one line of a comment.
func commentLine(s string) string {
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
		case unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError // it would hide the order that the compiler sees from reviewers
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

// sentence ends a text of the schema with a period.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// duration renders a duration in Go syntax: 7 * 24 * time.Hour.
func duration(d time.Duration) *jen.Statement {
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

// date renders an instant as a call of time.Date.
func date(t time.Time) *jen.Statement {
	t = t.UTC()
	return jen.Qual("time", "Date").Call(
		jen.Lit(t.Year()), jen.Qual("time", t.Month().String()), jen.Lit(t.Day()),
		jen.Lit(t.Hour()), jen.Lit(t.Minute()), jen.Lit(t.Second()), jen.Lit(t.Nanosecond()), jen.Qual("time", "UTC"),
	)
}

// field is one Field: value of a composite literal.
type field struct {
	name  string
	value jen.Code
}

// lines renders fields for a composite literal, each on a separate line.
func lines(fields ...field) *jen.Statement {
	return jen.CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, func(g *jen.Group) {
		for _, f := range fields {
			g.Id(f.name).Op(":").Add(f.value)
		}
	})
}

// inline renders fields for a composite literal on one line.
func inline(fields ...field) *jen.Statement {
	return jen.CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ","}, func(g *jen.Group) {
		for _, f := range fields {
			g.Id(f.name).Op(":").Add(f.value)
		}
	})
}
