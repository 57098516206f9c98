// Package latecopy lets tests execute a request of a call once more after the call has ended, as if the service had answered the
// first attempt with "unavailable", and executed it nevertheless.
package latecopy

import (
	"context"

	"cloud.google.com/go/bigtable"
)

// Requests is called before each request to a table that changes rows. again executes it once more, at any time.
type Requests func(table string, again func())

// Of returns a table with these requests.
func (r Requests) Of(id string, api bigtable.TableAPI) bigtable.TableAPI { return table{api, r, id} }

// Copy is a copy of the n-th request of a call that changes something. It is not safe for concurrent use.
type Copy struct {
	N     int    // requests before it; negative for none
	Again func() // executes it once more; nil if there was no such request
	Table string // its table
}

// Of returns a table whose requests that change rows are counted.
func (c *Copy) Of(id string, api bigtable.TableAPI) bigtable.TableAPI {
	return Requests(c.Count).Of(id, api)
}

// Count counts a request.
func (c *Copy) Count(table string, again func()) {
	if c.N--; c.N == -1 {
		c.Table, c.Again = table, again
	}
}

// table is a table of which requests are executed once more.
type table struct {
	bigtable.TableAPI
	requests Requests
	id       string
}

// Apply implements [bigtable.TableAPI].
func (t table) Apply(ctx context.Context, row string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	late := context.WithoutCancel(ctx)
	t.requests(t.id, func() { _ = t.TableAPI.Apply(late, row, m, opts...) })
	return t.TableAPI.Apply(ctx, row, m, opts...)
}

// ApplyBulk implements [bigtable.TableAPI].
func (t table) ApplyBulk(ctx context.Context, rows []string, muts []*bigtable.Mutation, opts ...bigtable.ApplyOption) (errs []error, err error) {
	late := context.WithoutCancel(ctx)
	t.requests(t.id, func() { _, _ = t.TableAPI.ApplyBulk(late, rows, muts, opts...) })
	return t.TableAPI.ApplyBulk(ctx, rows, muts, opts...)
}
