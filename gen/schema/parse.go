package schema

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Version is the version of the schema language that Parse reads.
const Version = "v1"

// maxErrors caps the errors reported per file.
const maxErrors = 100

// Parse parses one schema; positions in the result have name as their file. It returns
// what it could read and all errors, in the order of the file. The schema is never nil,
// and is complete only if the list has no errors. After 100 errors, the list ends with
// one that says so.
//
// Parse checks only the syntax and the references within the file. Package layout checks
// whether tables, keys and queries make sense.
func Parse(name string, text []byte) (*Schema, diag.List) {
	s := &Schema{File: name}
	s.Time.Precision.V = defaultPrecision
	w := &walker{file: name}
	if root := readYAML(w, text); root != nil {
		rootBlock.read(w, root, s)
		checkSchema(w, root, s)
	}
	return s, w.list()
}

// walker collects the errors of a file while its nodes are read.
type walker struct {
	file    string
	diags   diag.List
	dropped diag.Diagnostic // placeholder for errors over the limit
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

// want reports that n is not the expected value.
func (w *walker) want(n *node, what, hint string) {
	w.errorf(n.pos, "expected %s, found %s", what, n.describe()).Hint = hint
}

// problem reports an invalid value.
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

// messageText has the sentences of errors.
//
//go:embed messages.txt
var messageText string

var messages = diag.NewCatalog(messageText)

// reject adds an error of the catalog, with the arguments of the sentence and of the way out.
func (w *walker) reject(pos diag.Pos, name string, args ...any) {
	says, way := messages.Fill(name, args...)
	w.errorf(pos, "%s", says).Hint = way
}

// newProblem returns a problem of the catalog.
func newProblem(name string, args ...any) *problem {
	says, way := messages.Fill(name, args...)
	return &problem{says, way}
}

// problem is the error for an invalid value. hint says what to write instead; it may be
// empty.
type problem struct{ message, hint string }

// Error returns the message and the hint in one line.
func (p *problem) Error() string {
	if p.hint == "" {
		return p.message
	}
	return p.message + ": " + p.hint
}

// quote returns s in quotes, truncated to 40 characters.
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

// oneOf lists at most 20 names.
func oneOf(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// nearest is diag.Nearest until the limit of errors is reached.
func (w *walker) nearest(name string, names []string) (string, bool) {
	if w.full {
		return "", false
	}
	return diag.Nearest(name, names)
}

// suggest returns the hint for an unknown name: the nearest of names or, if none is near,
// all of them after the prefix all.
func (w *walker) suggest(name string, names []string, all string) string {
	if near, ok := w.nearest(name, names); ok {
		return "did you mean " + diag.Code(near) + "?"
	}
	return all + oneOf(names)
}
