// Package bigtable has the parts of the official client that the tests call.
package bigtable

import "context"

type (
	Client      struct{}
	AdminClient struct{}
	Table       struct{}
	Mutation    struct{}
	GCPolicy    interface{}
	TableAPI    interface {
		Apply(ctx context.Context, row string, m *Mutation) error
		ApplyBulk(ctx context.Context, rows []string, m []*Mutation) ([]error, error)
		ReadRow(ctx context.Context, row string) (map[string]string, error)
	}
)

func NewMutation() *Mutation { return nil }

func (c *Client) Open(table string) *Table { return nil }

func (c *Client) OpenTable(table string) TableAPI { return nil }

func (t *Table) Apply(ctx context.Context, row string, m *Mutation) error { return nil }

func (t *Table) ReadRow(ctx context.Context, row string) (map[string]string, error) { return nil, nil }

func (c *AdminClient) CreateTable(ctx context.Context, table string) error { return nil }

func (c *AdminClient) DeleteTable(ctx context.Context, table string) error { return nil }

func (c *AdminClient) DropRowRange(ctx context.Context, table, prefix string) error { return nil }

func (c *AdminClient) SetGCPolicy(ctx context.Context, table, family string, policy GCPolicy) error {
	return nil
}
