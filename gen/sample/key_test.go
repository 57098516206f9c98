package sample_test

import (
	"fmt"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
)

var compare = assert.Same

// resolve resolves tables below a schema with the given precision.
func resolve(t *testing.T, precision, tables string) *layout.Layout {
	t.Helper()
	s, found := schema.Parse("event.yaml", fmt.Appendf(nil, `btgen: v1
package: app
name: Event
series: {host: string, id: {type: int64, example: 7}}
time: {precision: %s}
fields: {a: {type: int64, number: 1}, b: {type: string, number: 2, column: bb, values: text}}
tables:
%s`, precision, tables))
	if len(found) == 0 {
		var l *layout.Layout
		if l, found = layout.Resolve(s); len(found) == 0 {
			return l
		}
	}
	t.Fatal(found)
	return nil
}

// TestPicture compares the example with a key of generated code.
func TestPicture(t *testing.T) {
	l := resolve(t, "1m", `  numbered: {pattern: bucket_new_columns, key: {delimiter: "#", segments: [{const: v1}, id, host, metric, bucket]}, bucket: {every: 1w, origin: 2022-01-03, label: "w%04d"}, family: m, ttl: {keep: forever}}
`)
	compare(t, "v1#id#host#metric#bucket", l.Tables[0].Key.String())
	compare(t, "v1#7#host#a#w0001", sample.Key(l, l.Tables[0]))
	compare(t, "the bucket: 1w wide, labeled w%04d from 2022-01-03", prose.Describe(l, l.Tables[0], l.Tables[0].Segments[4]))
}

// Comments of generated code show keys on one line: those that are not printable are
// quoted.
func TestShowKey(t *testing.T) {
	for key, want := range map[string]string{
		"us-west2#3698": "us-west2#3698", "größe": "größe", "a b": "a b",
		"": `""`, "a\nb": `"a\nb"`, "\xca\xfe": `"\xca\xfe"`, "\u202e": `"\u202e"`,
	} {
		compare(t, want, sample.ShowKey(key))
	}
}
