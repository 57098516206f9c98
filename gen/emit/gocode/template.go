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

// templateLine is a line of a source, in the pieces of which it consists; what is copied lies between the others.
type templateLine struct {
	text    string
	comment bool
	pieces  []templatePiece
}

type templatePiece struct {
	text   string
	copied bool
}

// sources has the lines of the sources that were filled before: they are constants, each filled once for every schema.
var sources sync.Map

// linesOf returns the lines of a source.
func linesOf(source string) []templateLine {
	if known, ok := sources.Load(source); ok {
		return known.([]templateLine)
	}
	var out []templateLine
	for line := range strings.Lines(joined.ReplaceAllString(strings.TrimSpace(source), "") + "\n") {
		line = strings.TrimSpace(line)
		if text, comment := strings.CutPrefix(line, "//"); comment {
			out = append(out, templateLine{text: strings.TrimPrefix(text, " "), comment: true})
			continue
		}
		out = append(out, templateLine{text: line, pieces: piecesOf(line)})
	}
	sources.Store(source, out)
	return out
}

// piecesOf returns the pieces of a line.
func piecesOf(line string) (out []templatePiece) {
	end := 0
	for _, at := range piece.FindAllStringIndex(line, -1) {
		if copied := line[end:at[0]]; strings.TrimSpace(copied) != "" {
			out = append(out, templatePiece{copied, true})
		}
		out = append(out, templatePiece{line[at[0]:at[1]], false})
		end = at[1]
	}
	if copied := line[end:]; copied != "" {
		out = append(out, templatePiece{copied, true})
	}
	return out
}

// Fill returns a source with parts in its holes. Comments on lines of their own are wrapped.
func (t *Template) Fill(source string, parts ...any) *jen.Statement {
	var out []jen.Code
	var comment []string
	for _, line := range linesOf(source) {
		if !line.comment && comment != nil {
			out = append(out, Doc(comment...))
			comment = nil
		}
		if line.comment {
			comment = append(comment, t.text(line.text, parts))
			continue
		}
		var code []jen.Code
		for _, p := range line.pieces {
			if p.copied {
				code = append(code, jen.Op(p.text))
			} else {
				code = append(code, t.piece(p.text, parts)...)
			}
		}
		if line.text == "" || len(code) > 0 {
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
