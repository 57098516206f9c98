// Package latecopy lets tests execute a request of a call once more after the call has ended, as if the service had answered the
// first attempt with "unavailable", and executed it nevertheless.
package latecopy

import (
	"context"

	"cloud.google.com/go/bigtable"
)

// Copy is a copy of the n-th request of a call that changes rows. It is not safe for concurrent use.
type Copy struct {
	N     int    // requests before it; negative for none
	Again func() // executes it once more; nil if there was no such request
	Table string // its table
}

// Of returns a table whose requests that change rows are counted.
func (c *Copy) Of(id string, api bigtable.TableAPI) bigtable.TableAPI {
	return table{api, c, id}
}

// request executes a request.
func (c *Copy) request(table string, do func() error) error {
	if c.N--; c.N == -1 {
		c.Table, c.Again = table, func() { _ = do() }
	}
	return do()
}

// table is a table of which a request is executed once more.
type table struct {
	bigtable.TableAPI
	late *Copy
	id   string
}

// Apply implements [bigtable.TableAPI].
func (t table) Apply(ctx context.Context, row string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	ctx = context.WithoutCancel(ctx)
	return t.late.request(t.id, func() error { return t.TableAPI.Apply(ctx, row, m, opts...) })
}

// ApplyBulk implements [bigtable.TableAPI].
func (t table) ApplyBulk(ctx context.Context, rows []string, muts []*bigtable.Mutation, opts ...bigtable.ApplyOption) (errs []error, err error) {
	ctx = context.WithoutCancel(ctx)
	err = t.late.request(t.id, func() error {
		errs, err = t.TableAPI.ApplyBulk(ctx, rows, muts, opts...)
		return err
	})
	return errs, err
}
