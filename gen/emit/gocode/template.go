package gocode

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

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

// line is a line of a source: the text of a comment, or pieces, and what is copied.
type line struct {
	comment bool
	pieces  []string
}

// known has the lines of sources: each is filled for many schemas.
var known sync.Map

// linesOf returns the lines of a source.
func linesOf(source string) (out []line) {
	if all, ok := known.Load(source); ok {
		return all.([]line)
	}
	for text := range strings.SplitSeq(joined.ReplaceAllString(strings.TrimSpace(source), ""), "\n") {
		text = strings.TrimSpace(text)
		if comment, is := strings.CutPrefix(text, "//"); is {
			out = append(out, line{true, []string{strings.TrimPrefix(comment, " ")}})
			continue
		}
		var pieces []string
		end := 0
		for _, at := range append(piece.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
			for _, p := range []string{text[end:at[0]], text[at[0]:at[1]]} {
				if strings.TrimSpace(p) != "" {
					pieces = append(pieces, p)
				}
			}
			end = at[1]
		}
		out = append(out, line{false, pieces})
	}
	known.Store(source, out)
	return out
}

// Fill returns a source with parts in its holes. Comments on lines of their own are wrapped.
func (t *Template) Fill(source string, parts ...any) *jen.Statement {
	var out []jen.Code
	var comment []string
	for _, l := range linesOf(source) {
		if l.comment {
			comment = append(comment, t.text(l.pieces[0], parts))
			continue
		}
		if comment != nil {
			out = append(out, Doc(comment...))
			comment = nil
		}
		var code jen.Statement
		for _, p := range l.pieces {
			code = append(code, t.piece(p, parts)...)
		}
		if len(l.pieces) == 0 || len(code) > 0 {
			out = append(out, &code)
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

// piece returns the code of a piece, or of what is copied.
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
