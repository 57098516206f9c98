package sample_test

import (
	"testing"

	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
)

var compare = assert.Same

// TestPicture compares the example with a key of generated code.
func TestPicture(t *testing.T) {
	l := testschema.Tables(t, "1m", `  numbered: {pattern: bucket_new_columns, key: {delimiter: "#", segments: [{const: v1}, id, host, metric, bucket]}, bucket: {every: 1w, origin: 2022-01-03, label: "w%04d"}, family: m, ttl: {keep: forever}}
`)
	compare(t, "v1#id#host#metric#bucket", sample.KeyNames(l.Tables[0]))
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
