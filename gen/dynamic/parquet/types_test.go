package parquet

import (
	"testing"

	"github.com/btgen-dev/btgen/gen/schema"
)

// TestColumnTypes checks that each type has a column type.
func TestColumnTypes(t *testing.T) {
	for _, typ := range schema.Types() {
		own := columnTypes[typ]
		if own.node == nil || own.value == nil {
			t.Errorf("columnTypes lacks type %s", typ)
			continue
		}
		c := &column{}
		if v, err := own.value(c, nil); err != nil || !v.IsNull() {
			t.Errorf("%s: nil is written as %s, %v", typ, v, err)
		}
	}
}
