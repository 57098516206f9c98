package dynamic

import (
	"context"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Window summarizes the events of a series of any schema in a window of time. See [Statistic] for
// the statistics of its fields.
type Window = value.Window

// windows says how events are summarized.
func windows(l *layout.Layout) *window.Spec {
	return value.Windows(l, valueIndex)
}

// Rollup summarizes the events of all tables with a rollup; see [store.Rollup]. The error is
// store.ErrNoRollup if the schema has no such table.
func (s *Schema) Rollup(ctx context.Context, client store.Client, opts ...store.RollupOptions) (store.RollupReport, error) {
	columns := s.rollupColumns()
	if columns == nil {
		return store.RollupReport{}, store.ErrNoRollup
	}
	return store.Rollup(ctx, client, s.Mappings(), columns, s.windows, opts...)
}

// RollupParts returns the steps of [Schema.Rollup]; see [store.NewRollupParts].
func (s *Schema) RollupParts(client store.Client, o store.RollupOptions) (*store.RollupParts, error) {
	columns := s.rollupColumns()
	if columns == nil {
		return nil, store.ErrNoRollup
	}
	return store.NewRollupParts(client, s.Mappings(), columns, s.windows, o)
}

// rollupColumns returns the columns of the first table with a rollup; nil if there is none.
func (s *Schema) rollupColumns() *store.Columns {
	i := slices.IndexFunc(s.layout.Tables, (*layout.Table).Rolled)
	if i < 0 {
		return nil
	}
	return s.tables[s.layout.Tables[i]].columns
}
