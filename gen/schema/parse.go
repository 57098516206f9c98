package schema

import (
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Version is the version of the schema language that Parse reads.
const Version = "v1"

// maxErrors is how many errors of a file are reported: more help nobody.
const maxErrors = 100

// Parse reads one schema. Positions name the file as name does. It returns what
// could be read together with all that is wrong with it, in the order of the
// file; the schema is never nil, and is complete only where the list holds no
// error. After 100 errors the list ends with one that says so.
//
// Parse checks what the words of the language allow, and no more: whether the
// tables, keys and queries make sense is the business of package layout.
func Parse(name string, text []byte) (*Schema, diag.List) {
	s := &Schema{File: name}
	s.Time.Precision.V = defaultPrecision
	w := &walker{file: name}
	if root := readYAML(w, text); root != nil {
		rootBlock.read(w, root, s)
		checkSchema(w, s)
	}
	return s, w.list()
}

// walker collects what is wrong with a file while its nodes are read.
type walker struct {
	file    string
	diags   diag.List
	dropped diag.Diagnostic // where errors go that are too many
	full    bool
}

// errorf adds an error, and returns it so that a hint can be set.
func (w *walker) errorf(pos diag.Pos, format string, args ...any) *diag.Diagnostic {
	if len(w.diags) >= maxErrors {
		w.full = true
		return &w.dropped
	}
	return w.diags.Errorf(pos, format, args...)
}

// want reports that n is not what the language wants here.
func (w *walker) want(n *node, what, hint string) {
	w.errorf(n.pos, "expected %s, found %s", what, n.describe()).Hint = hint
}

// problem reports what is wrong with a value.
func (w *walker) problem(n *node, p *problem) {
	w.errorf(n.pos, "%s", p.message).Hint = p.hint
}

// list returns the errors in the order of the file.
func (w *walker) list() diag.List {
	w.diags.Sort()
	if w.full {
		w.diags.Errorf(w.diags[len(w.diags)-1].Pos, "too many errors").Hint = "these are the first " + strconv.Itoa(maxErrors)
	}
	return w.diags
}

// problem is what is wrong with a value, and what to write instead.
type problem struct{ message, hint string }

// Error returns the message and the hint in one line.
func (p *problem) Error() string {
	if p.hint == "" {
		return p.message
	}
	return p.message + ": " + p.hint
}

// quote returns s in quotes, cut where it is too long for a message.
func quote(s string) string {
	const most = 40
	n := 0
	for i := range s {
		if n++; n > most {
			return strconv.Quote(s[:i]) + "…"
		}
	}
	return strconv.Quote(s)
}

// oneOf returns names for a hint, cut where they are too many.
func oneOf(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// nearest is diag.Nearest as long as errors are still reported.
func (w *walker) nearest(name string, names []string) (string, bool) {
	if w.full {
		return "", false
	}
	return diag.Nearest(name, names)
}

// suggest returns the hint for a name that is none of names.
func (w *walker) suggest(name string, names []string, all string) string {
	if near, ok := w.nearest(name, names); ok {
		return "did you mean " + diag.Code(near) + "?"
	}
	return all + oneOf(names)
}
