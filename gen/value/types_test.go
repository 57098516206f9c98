package value

import (
	"testing"

	"github.com/btgen-dev/btgen/gen/schema"
)

// TestKinds checks that each type but enums, whose codings depend on the field, has a kind with
// all functions.
func TestKinds(t *testing.T) {
	for _, typ := range schema.Types() {
		own, ok := kinds[typ]
		if typ == schema.Enum {
			own, ok = enums, true
		}
		if !ok || own.proto == nil || own.fromProto == nil || own.json == nil || own.member == nil || own.fromMember == nil || own.check == nil {
			t.Errorf("kinds lacks type %s, or a part of it", typ)
		}
	}
}
