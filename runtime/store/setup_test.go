package store_test

import (
	"context"

	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

func init() {
	store.SetUp = func(ctx context.Context, b *storetest.Bigtable, prefix string, tables []store.Table) error {
		_, err := setup.Setup(ctx, b.Admin, nil, tables, setup.Options{TablePrefix: prefix})
		return err
	}
}
