package sample

import (
	"errors"
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Check reports examples that cannot be stored: those of series values that a table's
// key rejects, and those of fields that the writer rejects. l must be the layout of s
// and have no errors.
func Check(s *schema.Schema, l *layout.Layout) diag.List {
	found := checkFields(s)
	for _, t := range l.Tables {
		_, err := t.Append(nil, exampleKey(l, t))
		failed, ok := errors.AsType[*codec.FieldError](err)
		if !ok || !t.Complete() {
			continue
		}
		for _, f := range l.Series {
			if f.Example != nil && (f.Name == failed.Field || errors.Is(err, codec.ErrKeyTooLong)) {
				found.Errorf(f.Pos, "the example of %q cannot be in the key of table %q: %s", f.Name, t.ID, failed.Err).Hint = exampleHint(t, err)
				break
			}
		}
	}
	return found
}

// exampleHint says what to do about an example that a row key cannot contain.
func exampleHint(t *layout.Table, err error) string {
	if errors.Is(err, codec.ErrDelimiter) {
		return fmt.Sprintf("if events have such values, choose another delimiter than %q; if not, write another example", t.Delimiter)
	}
	return "write a value that events can have"
}

// checkFields reports the examples of fields that the writer rejects.
func checkFields(s *schema.Schema) diag.List {
	var found diag.List
	for i := range s.Fields {
		f := &s.Fields[i]
		at, ok := f.Example.(time.Time)
		if !ok {
			continue
		}
		var c codec.Checker
		c.Timestamp(f.Name.V, at)
		if failed, ok := errors.AsType[*codec.FieldError](c.Err()); ok {
			found.Errorf(f.ExamplePos, "the example of %q cannot be stored: %s", f.Name.V, failed.Err).Hint = "write a value that events can have"
		}
	}
	return found
}
