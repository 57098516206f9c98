package explain_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/golden/assert"
)

// TestBundle checks that explanations say which message a schema bundle has, in every format, and
// that setup deletes one.
func TestBundle(t *testing.T) {
	const text = `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1s}
fields: {value: {type: int64, number: 1}}
tables:
  events:
    pattern: single_serialized
    key: {delimiter: "#", segments: [host, {time: unix_s}]}
    family: m
    blob: {column: e, format: protobuf}
    ttl: {keep: forever}
`
	for bundle, want := range map[string]string{
		"    schema_bundle: history\n":         "history.app.Event",
		"    schema_bundle: {drop: history}\n": "deletes schema bundle history",
	} {
		d := documentOf(t, gen.Input{Name: "event.yaml", Text: []byte(text + bundle)})
		for _, out := range rendered(t, d) {
			assert.Contains(t, want, strings.Join(strings.Fields(out), " "), out)
		}
	}
	if d := documentOf(t, gen.Input{Name: "event.yaml", Text: []byte(text)}); strings.Contains(rendered(t, d)["json"], "bundle") {
		t.Error("a bundle that the schema does not have")
	}
}
