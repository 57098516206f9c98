package store

import (
	"testing"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestRowForms checks that each pattern has a form, which agrees with the facts about the pattern.
func TestRowForms(t *testing.T) {
	same(t, len(codec.Patterns())+1, len(rowForms))
	for _, p := range codec.Patterns() {
		l := days()
		l.Pattern = p
		form := l.untyped().form()
		if form == nil {
			t.Errorf("%s has no form", p)
			continue
		}
		column := l.Columns[0].Name
		c := newCells(l.untyped())
		if named := form.qualifier(c, 0, []byte("datum")); (named == column) != (p.Naming() == codec.NamedByField) || (named == "datum") != (p.Naming() == codec.NamedByValue) {
			t.Errorf("%s: the column of %s is %q", p, column, named)
		}
	}
}
