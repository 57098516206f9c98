package words

import (
	"fmt"
	"testing"
)

func TestSplit(t *testing.T) {
	for name, want := range map[string]string{
		"balloon_id": "[balloon id]", "balloonId": "[balloon Id]", "HTTPUrl": "[HTTPUrl]", "temp2M": "[temp2 M]",
		"a__b_": "[a b]", "my-table.v2": "[my table v2]", "ÄgyptÖl": "[Ägypt Öl]", "___": "[]", "": "[]",
	} {
		if got := fmt.Sprint(Split(name)); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{"HourlyNormal": "hourly_normal", "a__b_": "a_b", "HTTPUrl": "httpurl", "___": ""} {
		if got := Snake(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
