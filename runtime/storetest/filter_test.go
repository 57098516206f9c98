package storetest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// fill creates a table with families f, fg and f.g, and cells in columns whose names begin with each other.
func fill(ctx context.Context, b *storetest.Bigtable) error {
	families := []string{"f", "fg", "f.g"}
	if err := b.Admin.CreateTable(ctx, "t"); err != nil {
		return err
	}
	for _, family := range families { // one after the other, for their order
		if err := b.Admin.CreateColumnFamily(ctx, "t", family); err != nil {
			return err
		}
	}
	for row := range 8 {
		m := bigtable.NewMutation()
		for _, family := range families {
			for n, column := range []string{"", "a", "ab", "b", "a|b", "a.c", "x y", "ü"} {
				for at := range (row + n) % 3 {
					m.Set(family, column, bigtable.Timestamp(1000*(at+row)), fmt.Append(nil, row, n, at))
				}
			}
		}
		if err := b.Client.Open("t").Apply(ctx, fmt.Sprint("row", row), m); err != nil {
			return err
		}
	}
	return nil
}

// randomFilter returns a chain of filters as readers send them, and others.
func randomFilter(r *rand.Rand) bigtable.Filter {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	names := func() string {
		var out []string
		for range 1 + r.IntN(3) {
			out = append(out, pick("a", "ab", "b", "a|b", "a.c", "a\\.c", "x y", "", "ü", "none"))
		}
		return strings.Join(out, "|")
	}
	all := []func() bigtable.Filter{
		func() bigtable.Filter {
			return bigtable.FamilyFilter(pick("f", "fg", "f.g", "f|fg", "f\\.g", "none", ""))
		},
		func() bigtable.Filter { return bigtable.ColumnFilter(names()) },
		func() bigtable.Filter { return bigtable.StripValueFilter() },
		func() bigtable.Filter { return bigtable.LatestNFilter(1 + r.IntN(2)) },
		func() bigtable.Filter {
			return bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(1000*r.IntN(3)), bigtable.Timestamp(1000*(3+r.IntN(8))))
		},
		func() bigtable.Filter {
			return bigtable.InterleaveFilters(bigtable.ColumnFilter("a"), bigtable.FamilyFilter("fg"))
		},
	}
	var chain []bigtable.Filter
	for range 2 + r.IntN(3) {
		chain = append(chain, all[r.IntN(len(all))]())
	}
	if r.IntN(3) == 0 {
		chain = append(chain, bigtable.ChainFilters(chain...))
	}
	if r.IntN(3) == 0 { // among several families, the server takes them in any order
		chain = append(append([]bigtable.Filter{bigtable.FamilyFilter("f")}, chain...), bigtable.CellsPerRowLimitFilter(1+r.IntN(4)))
	}
	return bigtable.ChainFilters(chain...)
}

// TestFilters reads with random filters: the same as from the server without the interceptors of this package.
func TestFilters(t *testing.T) {
	plain, err := bttest.NewServer("127.0.0.1:0")
	must(t, err)
	defer plain.Close()
	var clients []*bigtable.Client
	for _, addr := range []string{plain.Addr, storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil }).Addr} {
		client, err1 := storetest.ConnectPlain(t.Context(), addr)
		admin, err2 := storetest.ConnectAdmin(t.Context(), addr)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		defer client.Close()
		defer admin.Close()
		must(t, fill(t.Context(), &storetest.Bigtable{Client: client, Admin: admin}))
		clients = append(clients, client)
	}
	r := rand.New(rand.NewPCG(1, 2))
	cells := 0
	for range testlong.Pick(100, 2000) {
		filter := randomFilter(r)
		var read [2][]bigtable.Row
		var errs [2]error
		for i, client := range clients {
			errs[i] = client.Open("t").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
				read[i] = append(read[i], row)
				for _, items := range row {
					cells += len(items)
				}
				return true
			}, bigtable.RowFilter(filter))
		}
		if fmt.Sprint(errs[0]) != fmt.Sprint(errs[1]) || !reflect.DeepEqual(read[0], read[1]) {
			t.Fatalf("%v:\n%v, %v\n%v, %v", filter, read[0], errs[0], read[1], errs[1])
		}
	}
	if cells == 0 {
		t.Error("no filter selects anything")
	}
}
