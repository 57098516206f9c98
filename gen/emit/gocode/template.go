package gocode

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
)

// A Template makes code of Go source with holes: $1 is the first of some parts, and $Name an identifier of the package that is
// generated. A part is an identifier, an int, code, or a list of code, each on a line of its own; in a comment, it is text. Parts
// without code remove their line. A backslash joins lines. What comes from a schema is a part, so that no text of it becomes
// other source.
type Template struct {
	Imports map[string]string        // import paths of the packages that templates may refer to, by name
	Package string                   // the import path of the generated package
	Name    func(hole string) string // the identifier for $Name
}

// piece matches what is not copied: a string, which has no holes; a comment, a hole, a selector, and a name of a package.
var (
	piece  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|//.*|\$\w+|\.{3}|\.\w+|\b[a-z]+\.[A-Z$]\w*`)
	joined = regexp.MustCompile(`\\\n\s*`)
	hole   = regexp.MustCompile(`\$\w+`)
)

// Fill returns a source with parts in its holes. Comments on lines of their own are wrapped.
func (t *Template) Fill(source string, parts ...any) *jen.Statement {
	var out []jen.Code
	var comment []string
	for line := range strings.Lines(joined.ReplaceAllString(strings.TrimSpace(source), "") + "\n") {
		line = strings.TrimSpace(line)
		text, isComment := strings.CutPrefix(line, "//")
		if !isComment && comment != nil {
			out = append(out, Doc(comment...))
			comment = nil
		}
		switch code := t.line(line, parts); {
		case isComment:
			comment = append(comment, t.text(strings.TrimPrefix(text, " "), parts))
		case line == "" || len(code) > 0:
			out = append(out, jen.Add(code...))
		}
	}
	if comment != nil {
		out = append(out, Doc(comment...))
	}
	return jen.Add(Lines(out)...)
}

// text fills the holes of a comment, or of a name in another package.
func (t *Template) text(text string, parts []any) string {
	return hole.ReplaceAllStringFunc(text, func(of string) string {
		if text, is := t.part(of[1:], parts).(string); is {
			return text
		}
		return t.Name(of[1:])
	})
}

// part returns what is in a hole; nil for a name.
func (t *Template) part(hole string, parts []any) any {
	if n, err := strconv.Atoi(hole); err == nil && n <= len(parts) {
		return parts[n-1]
	}
	return nil
}

// line returns the code of a line.
func (t *Template) line(line string, parts []any) (out []jen.Code) {
	end := 0
	for _, at := range piece.FindAllStringIndex(line, -1) {
		if copied := line[end:at[0]]; strings.TrimSpace(copied) != "" {
			out = append(out, jen.Op(copied))
		}
		out = append(out, t.piece(line[at[0]:at[1]], parts)...)
		end = at[1]
	}
	if copied := line[end:]; copied != "" {
		out = append(out, jen.Op(copied))
	}
	return out
}

// piece returns the code of what a line does not copy.
func (t *Template) piece(text string, parts []any) []jen.Code {
	pkg, name, _ := strings.Cut(text, ".")
	switch importPath := t.Imports[pkg]; {
	case importPath != "":
		return []jen.Code{jen.Qual(importPath, t.text(name, parts))}
	case strings.HasPrefix(text, "//"):
		return []jen.Code{jen.Comment(Comment(t.text(strings.TrimPrefix(text[2:], " "), parts)))}
	case strings.HasPrefix(name, "$"):
		return append([]jen.Code{jen.Op(pkg + ".")}, t.piece(name, parts)...)
	case text[0] != '$':
		return []jen.Code{jen.Op(text)}
	}
	switch part := t.part(text[1:], parts).(type) {
	case string:
		return []jen.Code{jen.Id(part)}
	case int:
		return []jen.Code{jen.Lit(part)}
	case []jen.Code:
		return Lines(part)
	case *jen.Statement:
		if part == nil || len(*part) == 0 {
			return nil
		}
		return []jen.Code{part}
	}
	return []jen.Code{jen.Qual(t.Package, t.Name(text[1:]))}
}

// Lines returns code with a line break between each.
func Lines(code []jen.Code) (out []jen.Code) {
	for _, c := range code {
		if statement, is := c.(*jen.Statement); is && statement == nil {
			continue
		}
		if out != nil {
			out = append(out, jen.Line())
		}
		out = append(out, c)
	}
	return out
}
