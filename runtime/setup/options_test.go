package setup

import (
	"reflect"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/runtime/store"
)

// TestOptions checks what the options are, and that a negative timeout disables it.
func TestOptions(t *testing.T) {
	var names []string
	of := reflect.TypeFor[Options]()
	for i := range of.NumField() {
		names = append(names, of.Field(i).Name)
	}
	if got := strings.Join(names, " "); got != "TablePrefix Timeout DryRun Allow NoHistory AllowDrafts ListBundles Confirm Now" {
		t.Errorf("the options are %s", got)
	}
	if o := defaults([]Options{{Timeout: store.NoTimeout}}); o.Timeout >= 0 {
		t.Errorf("%+v", o)
	}
}
