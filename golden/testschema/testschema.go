// Package testschema resolves the schemas of tests.
package testschema

import (
	"fmt"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
)

// Parse returns a schema and its layout. It ends the test if there is an error.
func Parse(t assert.T, name, text string) (*schema.Schema, *layout.Layout) {
	t.Helper()
	s, found := schema.Parse(name, []byte(text))
	l, more := layout.Resolve(s)
	assert.Must(t, append(found, more...).Err(), text)
	return s, l
}

// Layout returns the layout of a schema. It ends the test if there is an error.
func Layout(t assert.T, text string) *layout.Layout {
	t.Helper()
	_, l := Parse(t, "s.yaml", text)
	return l
}

// Tables returns the layout of a schema with two series values, two fields and some tables. It ends the test if there is an error.
func Tables(t assert.T, precision, tables string) *layout.Layout {
	t.Helper()
	return Layout(t, fmt.Sprintf(`btgen: v1
package: app
name: Event
series: {host: string, id: {type: int64, example: 7}}
time: {precision: %s}
fields: {a: {type: int64, number: 1}, b: {type: string, number: 2, column: bb, values: text}}
tables:
%s`, precision, tables))
}
