package trial

import (
	"context"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
)

// serverTime is the timestamp for which Bigtable uses the time of the write.
const serverTime = -1

// writes are assumptions about mutations.
var writes = []row{
	{"write-replaces", "A cell replaces that of the same column and timestamp.", data("Mutation.SetCell"),
		fixture{cells: "a f:x@1=old f:x@2=2", change: []mutation{set("f", "x", ms, "new")}, want: "a f:x@2=2 f:x@1=new"}},
	{"write-order", "Mutations of a row take effect in their order.", data("MutateRowRequest"),
		fixture{cells: "a f:y@1=1", change: []mutation{set("f", "x", ms, "1"), set("f", "x", ms, "2")}, want: "a f:x@1=2 f:y@1=1"}},
	{"write-delete-set", "A cell that a request writes after it deletes the column stays.", data("MutateRowRequest"),
		fixture{cells: "a f:x@2=old", change: []mutation{deleteColumn("f", "x", nil), set("f", "x", ms, "new")}, want: "a f:x@1=new"}},
	{"write-set-delete", "A cell that a request writes before it deletes the column is gone.", data("MutateRowRequest"),
		fixture{cells: "a f:y@1=1", change: []mutation{set("f", "x", ms, "1"), deleteColumn("f", "x", nil)}, want: "a f:y@1=1"}},
	{"write-server-time", "The timestamp -1 stands for the time of the write.", data("Mutation.SetCell"),
		fixture{change: []mutation{set("f", "x", serverTime, "1")}, want: "a f:x@3600000=1"}},
	{"write-granularity", "A timestamp that is no whole millisecond is refused.", data("Mutation.SetCell"),
		fixture{cells: "a f:y@1=1", change: []mutation{set("f", "x", ms+500, "1")}, code: codes.InvalidArgument, want: "a f:y@1=1"}},
	{"write-negative", "A timestamp below -1 is refused.", data("Mutation.SetCell"),
		fixture{cells: "a f:y@1=1", change: []mutation{set("f", "x", -1000, "1")}, code: codes.InvalidArgument, want: "a f:y@1=1"}},
	{"write-epoch", "The timestamp 0 is that of 1970.", data("Mutation.SetCell"),
		fixture{change: []mutation{set("f", "x", 0, "1")}, want: "a f:x@!0=1"}},
	{"write-far", "A timestamp may be in the year 9999.", data("Mutation.SetCell"),
		fixture{cells: "a f:x@!253402300799000000=1", want: "a f:x@!253402300799000000=1"}},
	{"write-atomic", "A request for a row with a failing mutation changes nothing.", docs + "writes",
		fixture{cells: "a f:y@1=1", change: []mutation{set("f", "x", ms, "1"), set("none", "x", ms, "1")}, code: anyCode, want: "a f:y@1=1"}},
	{"write-unknown-family", "A write to an unknown family gets NOT_FOUND.", docs + "status-codes",
		fixture{cells: "a f:y@1=1", change: []mutation{set("none", "x", ms, "1")}, code: codes.NotFound, want: "a f:y@1=1"}},
	{"write-nothing", "A write without mutations is refused.", data("MutateRowRequest"),
		fixture{cells: "a f:y@1=1", change: []mutation{}, code: codes.InvalidArgument, want: "a f:y@1=1"}},
	{"delete-row", "Deleting a row removes its cells in all families.", data("Mutation.DeleteFromRow"),
		fixture{cells: "a f:x@1=1 g:x@1=2 | b f:x@1=3", change: []mutation{deleteRow()}, want: "b f:x@1=3"}},
	{"delete-family", "Deleting a family of a row removes its cells, and no others.", data("Mutation.DeleteFromFamily"),
		fixture{cells: "a f:x@1=1 f:y@1=2 g:x@1=3 | b f:x@1=4", change: []mutation{deleteFamily("f")}, want: "a g:x@1=3 | b f:x@1=4"}},
	{"delete-column", "Deleting a column of a row removes all its cells, and no others.", data("Mutation.DeleteFromColumn"),
		fixture{cells: "a f:x@1=1 f:x@2=2 f:xy@1=3 g:x@1=4", change: []mutation{deleteColumn("f", "x", nil)}, want: "a f:xy@1=3 g:x@1=4", sorted: true}},
	{"delete-empty-column", "The column with an empty qualifier can be deleted.", data("Mutation.DeleteFromColumn"),
		fixture{cells: "a f:@1=1 f:x@1=2", change: []mutation{deleteColumn("f", "", nil)}, want: "a f:x@1=2"}},
	{"delete-times", "A deletion of a time range excludes its end.", data("Mutation.DeleteFromColumn"),
		fixture{cells: "a f:x@1=1 f:x@2=2 f:x@3=3 f:x@4=4", change: []mutation{deleteColumn("f", "x", timestamps(2*ms, 4*ms))}, want: "a f:x@4=4 f:x@1=1"}},
	{"delete-times-no-end", "A deletion of a time range whose end is 0 has no end.", data("Mutation.DeleteFromColumn"),
		fixture{cells: "a f:x@1=1 f:x@2=2 f:x@3=3", change: []mutation{deleteColumn("f", "x", timestamps(2*ms, 0))}, want: "a f:x@1=1"}},
	{"delete-missing", "Deleting what does not exist succeeds.", data("Mutation.DeleteFromColumn"),
		fixture{cells: "b f:x@1=1", change: []mutation{deleteColumn("f", "x", nil), deleteRow()}, want: "b f:x@1=1"}},
	{"delete-last", "A row whose last cell was deleted does not exist.", docs + "writes",
		fixture{cells: "a f:x@1=1 | b f:x@1=2", change: []mutation{deleteColumn("f", "x", timestamps(ms, 2*ms))}, filter: cellsPerRow(1), want: "b f:x@1=2"}},
	{"delete-and-write", "A row can be deleted and written again in one request.", data("MutateRowRequest"),
		fixture{cells: "a f:x@2=old g:x@1=old", change: []mutation{deleteRow(), set("f", "y", ms, "new")}, want: "a f:y@1=new"}},
}

// bulk changes rows, and returns the code of each entry. A missing entry is an error.
func (p place) bulk(ctx context.Context, request *bigtablepb.MutateRowsRequest) (out []codes.Code, err error) {
	request.AppProfileId = p.AppProfile
	err = again(ctx, func() error {
		seen := make([]int, len(request.Entries))
		out = make([]codes.Code, len(request.Entries))
		stream, err := p.data.MutateRows(streaming(ctx, request), request)
		if err != nil {
			return err
		}
		if err := receive(stream, func(r *bigtablepb.MutateRowsResponse) error {
			for _, e := range r.GetEntries() {
				i := int(e.GetIndex())
				if i < 0 || i >= len(out) {
					return differs("the result of entry %d of %d came", i, len(out))
				}
				out[i] = codes.Code(e.GetStatus().GetCode())
				seen[i]++
			}
			return nil
		}); err != nil {
			return err
		}
		for i, n := range seen {
			if n != 1 {
				return differs("the result of entry %d came %d times", i, n)
			}
		}
		return nil
	})
	return out, err
}

// bulkOf returns a request that changes rows of a place, each with one entry.
func (p place) bulkOf(entries ...entry) *bigtablepb.MutateRowsRequest {
	out := &bigtablepb.MutateRowsRequest{TableName: p.name()}
	for _, e := range entries {
		out.Entries = append(out.Entries, &bigtablepb.MutateRowsRequest_Entry{RowKey: []byte(p.keys + e.row), Mutations: rebased(e.mutations, p.base)})
	}
	return out
}

// entry is one of a request that changes several rows.
type entry struct {
	row       string
	mutations []mutation
}

// bulkWrites are assumptions about requests that change several rows.
var bulkWrites = []Assumption{
	{"bulk-results", "Each entry of a bulk request gets one result, under its index.", data("MutateRowsResponse.Entry"), bulkCheck(
		[]entry{{"a", []mutation{set("f", "x", ms, "1")}}, {"b", []mutation{set("f", "x", ms, "2")}}}, []codes.Code{0, 0}, "a f:x@1=1 | b f:x@1=2")},
	{"bulk-failing-entry", "An entry that fails does not stop the others, and its result says so.", data("MutateRowsRequest"), bulkCheck(
		[]entry{{"a", []mutation{set("f", "x", ms, "1")}}, {"b", []mutation{set("none", "x", ms, "2")}}, {"c", []mutation{set("f", "x", ms, "3")}}},
		[]codes.Code{codes.OK, anyCode, codes.OK}, "a f:x@1=1 | c f:x@1=3")},
	{"bulk-same-row", "Two entries of a bulk request for one row both take effect.", data("MutateRowsRequest.Entry"), bulkCheck(
		[]entry{{"a", []mutation{set("f", "x", ms, "1")}}, {"a", []mutation{set("f", "y", ms, "2")}}}, []codes.Code{0, 0}, "a f:x@1=1 f:y@1=2")},
	{"bulk-entry-order", "The mutations of an entry take effect in their order.", data("MutateRowsRequest.Entry"), bulkCheck(
		[]entry{{"a", []mutation{set("f", "x", 2*ms, "1"), deleteColumn("f", "x", nil), set("f", "x", ms, "2")}}}, []codes.Code{0}, "a f:x@1=2")},
	{"bulk-entry-atomic", "An entry with a failing mutation changes nothing.", data("MutateRowsRequest.Entry"), bulkCheck(
		[]entry{{"a", []mutation{set("f", "x", ms, "1"), set("none", "x", ms, "2")}}}, []codes.Code{anyCode}, "")},
	{"bulk-repeated", "Repeating a bulk request with explicit timestamps stores nothing twice.", docs + "writes", bulkRepeated},
	{"bulk-many", "A bulk request may have 2,000 entries.", quotas, filled(2000, "v")},
}

// bulkCheck returns the check of a bulk request.
func bulkCheck(entries []entry, want []codes.Code, cells string) check {
	return func(ctx context.Context, p place) (string, error) {
		got, err := p.bulk(ctx, p.bulkOf(entries...))
		if err != nil {
			return "", err
		}
		text := ""
		for i, code := range got {
			if (code == codes.OK) != (want[i] == codes.OK) {
				return "", differs("entry %d got %s, and its mutations should %sbe accepted", i, code, map[bool]string{want[i] != codes.OK: "not "}[true])
			}
			text += code.String() + ", "
		}
		seen, err := fixture{want: cells}.tried(ctx, p)
		return text + seen, err
	}
}

// bulkRepeated sends a request twice.
func bulkRepeated(ctx context.Context, p place) (string, error) {
	request := p.bulkOf(entry{"a", []mutation{set("f", "x", ms, "1")}}, entry{"a", []mutation{set("f", "x", 2*ms, "2")}})
	for range 2 {
		if _, err := p.bulk(ctx, request); err != nil {
			return "", err
		}
	}
	return fixture{want: "a f:x@2=2 f:x@1=1"}.tried(ctx, p)
}
