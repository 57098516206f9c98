package wire_test

import (
	"context"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/runtime/internal/conformance/wired"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// The wire path reads and writes the same as the client.
func TestWired(t *testing.T) {
	bt := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "t", Families: map[string]bigtable.GCPolicy{"f": bigtable.NoGcPolicy()}})
	})
	set := func(family, value string) []*bigtablepb.Mutation {
		return []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
			FamilyName: family, ColumnQualifier: []byte("q"), TimestampMicros: 1000, Value: []byte(value),
		}}}}
	}
	table := bt.Client.OpenTable("t")
	errs, err := wired.ApplyBulk(t.Context(), table, []*bigtablepb.MutateRowsRequest_Entry{
		{RowKey: []byte("a"), Mutations: set("f", "1")}, {RowKey: []byte("b"), Mutations: set("none", "2")}, {RowKey: []byte("c"), Mutations: set("f", "3")},
	})
	if err != nil || len(errs) != 3 || errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Fatal(errs, err)
	}
	var want, got []bigtable.Row
	all := bigtable.InfiniteRange("")
	must(t, table.ReadRows(t.Context(), all, func(r bigtable.Row) bool { want = append(want, r); return true }))
	must(t, wired.ReadRows(t.Context(), table, all, func(r bigtable.Row) bool { got = append(got, r); return true }))
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 2 {
		t.Errorf("(-client +wire)\n%s", diff)
	}
}
