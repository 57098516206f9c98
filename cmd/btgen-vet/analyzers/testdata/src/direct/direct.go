// Package direct writes to tables with the official client.
package direct

import (
	"context"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
)

const logs = "logs"

func write(ctx context.Context, c *bigtable.Client, m *bigtable.Mutation, prefix string, row string) {
	c.Open("positions").Apply(ctx, row, m) // want `Apply writes to table positions of btgen.lock around its generated code: use examples.PositionWriter, or give a reason: //btgen:allow direct REASON`
	t := c.OpenTable(examples.PositionsTableID)
	t.ApplyBulk(ctx, nil, nil)                        // want `ApplyBulk writes to table positions`
	c.Open(prefix+"positions").Apply(ctx, row, m)     // want `Apply writes to table positions`
	c.Open(prefix+"-positions").Apply(ctx, row, m)    // want `Apply writes to table positions`
	c.Open("staging-"+"positions").Apply(ctx, row, m) // want `Apply writes to table positions`
	name := prefix + "positions"
	c.Open(name).Apply(ctx, row, m) // want `Apply writes to table positions`

	// Other tables, and reads.
	c.Open(logs).Apply(ctx, row, m)
	c.Open("ticks").Apply(ctx, row, m) // removed
	c.Open(prefix).Apply(ctx, row, m)
	c.Open(prefix+"old_positions").Apply(ctx, row, m)
	c.Open("positions").ReadRow(ctx, row)
	t.ReadRow(ctx, row)
}

func choose(ctx context.Context, c *bigtable.Client, m *bigtable.Mutation, old bool) {
	t := c.Open("positions")
	if old {
		t = c.Open(logs)
	}
	t.Apply(ctx, "", m)
	same := c.Open("positions")
	if old {
		same = c.Open("prefix-" + "positions")
	}
	same.Apply(ctx, "", m) // want `Apply writes to table positions`
	var given *bigtable.Table
	set(&given)
	given.Apply(ctx, "", m)
	again := c.Open("positions")
	again = again
	again.Apply(ctx, "", m)
}

func set(t **bigtable.Table) { *t = nil }

func passed(ctx context.Context, t *bigtable.Table, c *bigtable.Client, m *bigtable.Mutation) {
	if t == nil {
		t = c.Open("positions")
	}
	t.Apply(ctx, "", m)
}

type service struct {
	positions, logs, both bigtable.TableAPI
}

func newService(c *bigtable.Client) *service {
	s := &service{positions: c.OpenTable("positions"), logs: c.OpenTable(logs), both: c.OpenTable("positions")}
	s.both = c.OpenTable(logs)
	return s
}

func (s *service) write(ctx context.Context, m *bigtable.Mutation) {
	s.positions.Apply(ctx, "", m) // want `Apply writes to table positions`
	s.logs.Apply(ctx, "", m)
	s.both.Apply(ctx, "", m)
}

// opener is the part of the client that a program wraps.
type opener interface {
	OpenTable(table string) bigtable.TableAPI
}

func wrapped(ctx context.Context, o opener, m *bigtable.Mutation) {
	o.OpenTable("positions").Apply(ctx, "", m) // want `Apply writes to table positions`
}

func administer(ctx context.Context, admin *bigtable.AdminClient, policy bigtable.GCPolicy, prefix string) {
	admin.DropRowRange(ctx, "positions", "us/")      // want `DropRowRange deletes events from table positions of btgen.lock around its generated code: use the Delete methods of examples.PositionWriter`
	admin.DeleteTable(ctx, prefix+"positions")       // want `DeleteTable deletes table positions .*: use btgen-live delete-table`
	admin.SetGCPolicy(ctx, "positions", "m", policy) // want `SetGCPolicy changes table positions .*: use btgen-live setup`
	admin.DropRowRange(ctx, logs, "positions")
	admin.CreateTable(ctx, "positions")
}

func allowed(ctx context.Context, c *bigtable.Client, m *bigtable.Mutation) {
	//btgen:allow direct the rows of 2019 have a damaged cell
	c.Open("positions").Apply(ctx, "", m)
	c.Open("positions").Apply(ctx, "", m) //btgen:allow direct the rows of 2019 have a damaged cell

	//btgen:allow retry another analyzer
	c.Open("positions").Apply(ctx, "", m) // want `Apply writes to table positions`
	//btgen:allow direct nothing // want `btgen:allow direct allows nothing on this line and the next one`
	c.Open(logs).Apply(ctx, "", m)
}

func unexplained(ctx context.Context, c *bigtable.Client, m *bigtable.Mutation) {
	/* want `Apply writes to table positions .*; the comment that allows it lacks a reason` */ c.Open("positions").Apply(ctx, "", m) //btgen:allow direct
}
