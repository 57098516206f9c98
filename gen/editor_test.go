package gen_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/internal/editor"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
)

// TestRandomSchemasInEditors checks that editors accept schemas without findings, and
// that formatting these does not change their meaning.
func TestRandomSchemasInEditors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, in := range randomInputs.Draw(t, "schemas") {
			assert.Is(t, nil, editor.Check(in.Text), in.Text)
			text, found := schema.Format(in.Name, in.Text)
			if found != nil {
				t.Fatalf("%v in\n%s", found, in.Text)
			}
			before, _ := schema.Parse(in.Name, in.Text)
			after, wrong := schema.Parse(in.Name, text)
			if diff := cmp.Diff(before, after, cmpopts.IgnoreTypes(diag.Pos{})); wrong != nil || diff != "" {
				t.Errorf("%v (-before +formatted)\n%s\n%s", wrong, diff, text)
			}
		}
	})
}
