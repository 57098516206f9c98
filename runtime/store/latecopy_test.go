package store

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
)

// lateCopy executes the n-th request of a call that changes something, and once more at a later time, as if
// the service had answered the first attempt with "unavailable", and executed it nevertheless.
type lateCopy struct {
	table string // whose requests are counted
	n     int    // requests before it
	again func() // executes it once more; nil if there was none
}

// client returns a client whose requests are counted.
func (l *lateCopy) client(c Client) Client {
	return tableClient{c, func(id string, api bigtable.TableAPI) bigtable.TableAPI {
		if id != l.table {
			return api
		}
		return lateTable{api, l}
	}}
}

// request executes a request.
func (l *lateCopy) request(do func() error) error {
	if l.n--; l.n == -1 {
		l.again = func() { _ = do() }
	}
	return do()
}

// lateTable is a table of which a request is executed once more.
type lateTable struct {
	bigtable.TableAPI
	late *lateCopy
}

func (t lateTable) Apply(ctx context.Context, row string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	ctx = context.WithoutCancel(ctx)
	return t.late.request(func() error { return t.TableAPI.Apply(ctx, row, m, opts...) })
}

func (t lateTable) ApplyBulk(ctx context.Context, rows []string, muts []*bigtable.Mutation, opts ...bigtable.ApplyOption) (errs []error, err error) {
	ctx = context.WithoutCancel(ctx)
	err = t.late.request(func() error {
		errs, err = t.TableAPI.ApplyBulk(ctx, rows, muts, opts...)
		return err
	})
	return errs, err
}

// lateCalls are calls that change a row of a table of states, one of whose requests is executed once more.
var lateCalls = map[string]func(ctx context.Context, c *nowCase, client Client) error{
	"Delete": func(ctx context.Context, c *nowCase, client Client) error {
		_, err := c.writer(client).Delete(ctx, []sample{{Series: "a", Time: at(920)}})
		return err
	},
	"Delete of an older event": func(ctx context.Context, c *nowCase, client Client) error {
		_, err := c.writer(client).Delete(ctx, []sample{{Series: "a", Time: at(900)}})
		return err
	},
	"DeleteRange": func(ctx context.Context, c *nowCase, client Client) error {
		_, err := c.writer(client).DeleteRange(ctx, SeriesOf(sample{Series: "a"}), at(915), at(930))
		return err
	},
	"DeleteAll": func(ctx context.Context, c *nowCase, client Client) error {
		_, err := c.writer(client).DeleteAll(ctx, SeriesOf(sample{Series: "a"}))
		return err
	},
	"Replace": func(ctx context.Context, c *nowCase, client Client) error {
		return c.writer(client).Replace(ctx, sample{Series: "a", Time: at(920)}, sample{Series: "a", Time: at(905), Value: 5})
	},
	"Backfill": func(ctx context.Context, c *nowCase, client Client) error {
		m := bigtable.NewMutation() // what was deleted by a program that does not know the table
		m.Set("f.1", "v.1", bigtable.Time(at(925)), make([]byte, 8))
		must(c.t, c.Client.Open("now").Apply(ctx, "a", m))
		_, err := Backfill(ctx, client, c.mappings, BackfillOptions{Target: "now", Repair: true, Now: c.clock, Workers: -1})
		return err
	},
}

// TestLateCopies executes each request of a call that changes a row of a table of states once more when the
// call has ended, and before or after an event is written that is late, the newest, or a rewritten one: readers find what
// a search finds at any time. The class: unconditional mutations that arrive after their call has ended.
func TestLateCopies(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	write := func(n, value int) {
		must(t, c.writer(c.Client).Write(t.Context(), sample{Series: "a", Time: at(n), Value: uint64(value)}))
	}
	then := map[string]int{"nothing": 0, "a late event": 890, "the newest event": 940, "the older event again": 910}
	for name, call := range lateCalls {
		for next, at := range then {
			for n := 0; ; n++ {
				must(t, c.Admin.DropAllRows(t.Context(), "now"))
				must(t, c.Admin.DropAllRows(t.Context(), "days"))
				for i, event := range []int{900, 910, 920} {
					write(event, i)
				}
				late := &lateCopy{table: "now", n: n}
				must(t, call(t.Context(), c, late.client(c.Client)))
				if late.again == nil {
					if n < 3 {
						t.Errorf("%s has %d requests", name, n)
					}
					break
				}
				c.agree("a")
				if at > 0 {
					write(at, 7)
				}
				late.again()
				c.agree("a")
				write(895, 8)
				c.agree("a")
				if t.Failed() {
					t.Fatalf("%s, a copy of its request %d arrives after %s: the row has %v", name, n, next, c.row("a"))
				}
			}
		}
	}
}
