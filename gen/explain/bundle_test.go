package explain_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestBundle checks that explanations say which message a schema bundle has, in every format, and
// that setup deletes one.
func TestBundle(t *testing.T) {
	explained := func(bundle string) map[string]string {
		table := `{pattern: single_serialized, key: {delimiter: "#", segments: [host, {time: unix_s}]}, family: m, blob: {column: e, format: protobuf}, ttl: {keep: forever}` + bundle + "}"
		return rendered(t, documentOf(t, eventOf("{host: string}", "{value: {type: int64, number: 1}}", table, "")))
	}
	for bundle, want := range map[string]string{
		", schema_bundle: history":         "history.app.Event",
		", schema_bundle: {drop: history}": "deletes schema bundle history",
	} {
		for _, out := range explained(bundle) {
			assert.Contains(t, want, strings.Join(strings.Fields(out), " "), out)
		}
	}
	if strings.Contains(explained("")["json"], "bundle") {
		t.Error("a bundle that the schema does not have")
	}
}
