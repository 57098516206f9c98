package setup_test

import (
	"context"
	"errors"
	"testing"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Class: a nil client that panics where it is used. All functions that take an admin client or a client are called with nil and
// with a nil pointer, and return a typed error.
func TestNil(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	none := (*bigtable.AdminClient)(nil)
	tables := []store.Table{{ID: "t", Families: []store.Family{{Name: "m"}}, Layout: daily}}
	found := []setup.Unmanaged{{Table: "u"}}
	for _, client := range []store.Client{b.Client, nil, (*bigtable.Client)(nil)} {
		for name, err := range map[string]error{
			"Setup":                   second(setup.Setup(t.Context(), nil, client, tables)),
			"Setup, typed":            second(setup.Setup(t.Context(), none, client, tables)),
			"DeleteTables":            second(setup.DeleteTables(t.Context(), nil, client, tables, []string{"u"})),
			"DeleteTables, typed":     second(setup.DeleteTables(t.Context(), none, client, tables, []string{"u"})),
			"ExamineUnmanaged":        second(setup.ExamineUnmanaged(t.Context(), nil, client, found)),
			"ExamineUnmanaged, typed": second(setup.ExamineUnmanaged(t.Context(), none, client, found)),
			"UnknownTables":           second(setup.UnknownTables(t.Context(), nil, tables)),
			"UnknownTables, typed":    second(setup.UnknownTables(t.Context(), none, tables)),
			"Views":                   second(setup.Views(t.Context(), nil, nil, "i", tables)),
			"Views, typed":            second(setup.Views(t.Context(), none, nil, "i", tables)),
		} {
			assert.Is(t, setup.ErrNoAdmin, err, name)
		}
		if client == b.Client {
			continue
		}
		for name, err := range map[string]error{
			"Setup":            second(setup.Setup(t.Context(), b.Admin, client, tables)),
			"DeleteTables":     second(setup.DeleteTables(t.Context(), b.Admin, client, tables, []string{"u"})),
			"ExamineUnmanaged": second(setup.ExamineUnmanaged(t.Context(), b.Admin, client, found)),
		} {
			if _, ok := errors.AsType[*store.NoClientError](err); !ok {
				t.Errorf("%s without a client: %v", name, err)
			}
		}
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }
