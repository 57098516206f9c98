package words

import (
	"fmt"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

func TestSplit(t *testing.T) {
	for name, want := range map[string]string{
		"balloon_id": "[balloon id]", "balloonId": "[balloon Id]", "HTTPUrl": "[HTTPUrl]", "temp2M": "[temp2 M]",
		"a__b_": "[a b]", "my-table.v2": "[my table v2]", "ÄgyptÖl": "[Ägypt Öl]", "___": "[]", "": "[]",
	} {
		assert.Same(t, want, fmt.Sprint(Split(name)), name)
	}
}
