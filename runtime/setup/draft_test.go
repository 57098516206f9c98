package setup_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestDrafts checks that setup creates a draft only on an emulator or where a test allows it,
// and that it refuses a draft before it sends any request.
func TestDrafts(t *testing.T) {
	ctx := context.Background()
	bt := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	tables := []store.Table{
		{ID: "kept", Families: []store.Family{{Name: "m"}}},
		{ID: "shared", Families: []store.Family{{Name: "a"}}},
		{ID: "shared", Families: []store.Family{{Name: "b"}}, Draft: true},
	}
	t.Setenv(store.EmulatorVariable, "")
	for _, o := range []setup.Options{{TablePrefix: "p_"}, {TablePrefix: "p_", DryRun: true}} {
		_, err := setup.Setup(ctx, nil, nil, tables, o) // without a client, a request would panic
		var draft *setup.DraftError
		if !errors.As(err, &draft) || len(draft.Tables) != 1 || draft.Tables[0] != "p_shared" || !strings.Contains(err.Error(), "remove draft: true") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	assert.Contains(t, "tables a, b are drafts, whose layout may still change; setup creates them only", &setup.DraftError{Tables: []string{"a", "b"}})
	if plan, err := setup.Setup(ctx, bt.Admin, nil, tables[:1]); err != nil || plan.Empty() {
		t.Errorf("without drafts: %v, %v", plan, err)
	}
	if plan, err := setup.Setup(ctx, bt.Admin, nil, tables, setup.Options{TablePrefix: "a_", AllowDrafts: true}); err != nil || plan.Empty() {
		t.Errorf("allowed: %v, %v", plan, err)
	}
	t.Setenv(store.EmulatorVariable, bt.Addr)
	if plan, err := setup.Setup(ctx, bt.Admin, nil, tables, setup.Options{TablePrefix: "b_"}); err != nil || plan.Empty() {
		t.Errorf("on an emulator: %v, %v", plan, err)
	}
}
