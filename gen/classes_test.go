package gen_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/output"
)

// TestOrderOfClasses generates code from TTL classes in two orders: page tokens have their numbers.
func TestOrderOfClasses(t *testing.T) {
	code := func(classes string) []output.File {
		return generate(t, []gen.Input{{Name: "usage.yaml", Text: []byte(`{btgen: v1, package: usage, name: Usage,
  series: {customer: string}, fields: {bytes: int64}, tables: {
    usage: {pattern: bucket_new_cells, key: {segments: [customer, bucket]}, bucket: 1h, ttl: {classes: ` + classes + `}}}}`)}}).Files
	}
	if diff := cmp.Diff(code("{trial: 30d, paid: 730d}"), code("{paid: 730d, trial: 30d}")); diff != "" {
		t.Errorf("(-trial first +paid first)\n%s", diff)
	}
}
