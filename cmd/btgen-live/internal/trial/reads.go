package trial

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// row is an assumption that a fixture proves.
type row struct {
	id, says, source string
	fixture
}

// assumptions returns the assumptions of fixtures.
func assumptions(rows []row) (out []Assumption) {
	for _, r := range rows {
		out = append(out, Assumption{r.id, r.says, r.source, r.tried})
	}
	return out
}

// Sources.
const (
	docs   = "https://cloud.google.com/bigtable/docs/"
	quotas = "https://cloud.google.com/bigtable/quotas"
)

// data names a message of the data API in its reference.
func data(message string) string {
	return docs + "reference/data/rpc/google.bigtable.v2#google.bigtable.v2." + message
}

// tables names a message of the admin API in its reference.
func tables(message string) string {
	return docs + "reference/admin/rpc/google.bigtable.admin.v2#google.bigtable.admin.v2." + message
}

// client names a file of the Go client.
func client(file string) string { return "cloud.google.com/go/bigtable v1.58.0, " + file }

// threeRows are cells of three rows.
const threeRows = "a f:x@1=1 | b f:x@1=2 | c f:x@1=3"

// orderOfReads are assumptions about the order and the selection of rows and cells.
var orderOfReads = []row{
	{"order-cells", "The cells of a column come newest first.", data("Column"),
		fixture{cells: "a f:x@1=1 f:x@3=3 f:x@2=2", want: "a f:x@3=3 f:x@2=2 f:x@1=1"}},
	{"order-columns", "Columns of a family come in ascending order, as unsigned bytes.", data("Family"),
		fixture{cells: `a f:\xff@1=5 f:b@1=4 f:B@1=3 f:\x00@1=2 f:@1=1`, want: `a f:@1=1 f:\x00@1=2 f:B@1=3 f:b@1=4 f:\xff@1=5`}},
	{"order-families", "All cells of a family come together.", data("Row"),
		fixture{cells: "a f:a@1=1 g:b@1=2 f:c@1=3 g:d@1=4", want: "a f:a@1=1 f:c@1=3 g:b@1=2 g:d@1=4", sorted: true}},
	{"order-rows", "Rows come in ascending order of their keys, as unsigned bytes.", docs + "reads",
		fixture{cells: `\xff f:x@1=5 | b f:x@1=4 | a\x00 f:x@1=2 | a f:x@1=1 | aa f:x@1=3`, want: `a f:x@1=1 | a\x00 f:x@1=2 | aa f:x@1=3 | b f:x@1=4 | \xff f:x@1=5`}},
	{"order-reversed", "A reversed read returns rows in descending order, with their cells in the usual one.", docs + "reads#reverse-scan",
		fixture{cells: "a f:x@1=1 | b f:x@2=3 f:x@1=2 f:y@1=4", reverse: true, want: "b f:x@2=3 f:x@1=2 f:y@1=4 | a f:x@1=1"}},
	{"order-reversed-limit", "A reversed read of one row returns the last one.", docs + "reads#reverse-scan",
		fixture{cells: threeRows, reverse: true, limit: 1, want: "c f:x@1=3"}},
	{"order-reversed-ranges", "A reversed read of several ranges begins with the last range.", docs + "reads#reverse-scan",
		fixture{cells: threeRows, reverse: true, rows: []span{{start: "a", end: "b"}, {start: "c", end: "d"}}, want: "c f:x@1=3 | a f:x@1=1"}},
	{"rows-half-open", "A range of keys excludes its end.", data("RowRange"),
		fixture{cells: threeRows, rows: []span{{start: "a", end: "c"}}, want: "a f:x@1=1 | b f:x@1=2"}},
	{"rows-single-range", "The range from a key to that key and a zero byte has one row.", data("RowRange"),
		fixture{cells: `a f:x@1=1 | a\x00 f:x@1=2 | aa f:x@1=3`, rows: []span{{start: "a", end: "a\x00"}}, want: "a f:x@1=1"}},
	{"rows-ranges-ordered", "Rows of several ranges come in the order of their keys.", data("RowSet"),
		fixture{cells: threeRows, rows: []span{{start: "c", end: "d"}, {start: "a", end: "b"}}, want: "a f:x@1=1 | c f:x@1=3"}},
	{"rows-once", "A row comes once, even if several ranges and keys contain it.", data("RowSet"),
		fixture{cells: threeRows, rows: []span{{start: "a", end: "c"}, {start: "b", end: "d"}, {key: "b"}, {key: "b"}}, want: threeRows}},
	{"rows-keys-ordered", "Rows that are requested by key come in the order of their keys.", data("RowSet"),
		fixture{cells: threeRows, rows: []span{{key: "c"}, {key: "a"}, {key: "none"}}, want: "a f:x@1=1 | c f:x@1=3"}},
	{"rows-limit", "The limit of rows counts only rows with cells that pass the filter.", data("ReadRowsRequest"),
		fixture{cells: threeRows + " | d f:x@1=4", limit: 1, filter: values("3", ""), want: "c f:x@1=3"}},
	{"rows-filtered-out", "A row without cells that pass the filter is not returned.", data("RowFilter"),
		fixture{cells: threeRows, filter: values("2", "3"), want: "b f:x@1=2"}},
	{"empty-value", "A cell may have an empty value, and an empty qualifier.", data("Mutation.SetCell"),
		fixture{cells: "a f:x@1= f:@1=", want: "a f:@1= f:x@1="}},
	{"any-bytes", "Keys, qualifiers and values may have any bytes.", docs + "schema-design",
		fixture{cells: `\x00\xff\n f:\n\x00\xc3@1=\x00\xff`, want: `\x00\xff\n f:\n\x00\xc3@1=\x00\xff`}},
}

// selectionOfCells are assumptions about filters.
var selectionOfCells = []row{
	{"filter-times", "A time range excludes its end, exact to the millisecond.", data("TimestampRange"),
		fixture{cells: "a f:x@1=1 f:x@2=2 f:x@3=3 f:x@4=4", filter: times(2*ms, 4*ms), want: "a f:x@3=3 f:x@2=2"}},
	{"filter-times-no-end", "A time range whose end is 0 has no end.", data("TimestampRange"),
		fixture{cells: "a f:x@1=1 f:x@2=2 f:x@3=3", filter: times(2*ms, 0), want: "a f:x@3=3 f:x@2=2"}},
	{"filter-times-no-start", "A time range whose start is 0 has no start.", data("TimestampRange"),
		fixture{cells: "a f:x@!0=0 f:x@1=1 f:x@2=2", filter: times(0, 2*ms), want: "a f:x@1=1 f:x@!0=0"}},
	{"filter-latest", "A limit of cells per column keeps the newest.", data("RowFilter"),
		fixture{cells: "a f:x@1=1 f:x@2=2 f:x@3=3 f:y@1=4", filter: latest(2), want: "a f:x@3=3 f:x@2=2 f:y@1=4"}},
	{"filter-times-latest", "A limit after a time range keeps the newest cells of the range.", data("RowFilter.Chain"),
		fixture{cells: "a f:x@1=1 f:x@2=2 f:x@3=3", filter: chain(times(1*ms, 3*ms), latest(1)), want: "a f:x@2=2"}},
	{"filter-latest-times", "A time range after a limit selects among the newest cells only.", data("RowFilter.Chain"),
		fixture{cells: "a f:x@1=1 f:x@2=2 f:x@3=3", filter: chain(latest(2), times(1*ms, 3*ms)), want: "a f:x@2=2"}},
	{"filter-cells-per-row", "A limit of cells per row keeps the first.", data("RowFilter"),
		fixture{cells: "a f:x@2=2 f:x@1=1 f:y@1=3 | b f:y@1=4", filter: cellsPerRow(1), want: "a f:x@2=2 | b f:y@1=4"}},
	{"filter-strip", "Stripping values leaves all else of a cell.", data("RowFilter"),
		fixture{cells: "a f:x@2=2 f:x@1=1 f:y@1=3", filter: stripped(), want: "a f:x@2= f:x@1= f:y@1="}},
	{"filter-condition-then-strip", "A filter of values before one that strips them sees the values.", data("RowFilter.Chain"),
		fixture{cells: threeRows, filter: chain(values("2", "3"), stripped()), want: "b f:x@1="}},
	{"filter-family", "A pattern for families must match the whole name.", data("RowFilter"),
		fixture{cells: "a f:x@1=1 g:x@1=2 a.b:x@1=3", filter: family("a"), want: ""}},
	{"filter-family-any", "A pattern with alternatives selects several families.", data("RowFilter"),
		fixture{cells: "a f:x@1=1 g:x@1=2 a.b:x@1=3", filter: family("f|g"), want: "a f:x@1=1 g:x@1=2", sorted: true}},
	{"filter-family-dot", "An escaped dot in a pattern for families matches only a dot.", data("RowFilter"),
		fixture{cells: "a a.b:x@1=1 a-b:x@1=2", filter: family(`a\.b`), want: "a a.b:x@1=1"}},
	{"filter-family-unescaped-dot", "An unescaped dot matches any character: names must be quoted.", data("RowFilter"),
		fixture{cells: "a a.b:x@1=1 a-b:x@1=2", filter: family(`a.b`), want: "a a.b:x@1=1 a-b:x@1=2", sorted: true}},
	{"filter-column", "A pattern for columns must match the whole qualifier.", data("RowFilter"),
		fixture{cells: "a f:x@1=1 f:xy@1=2 f:y@1=3", filter: column("x"), want: "a f:x@1=1"}},
	{"filter-column-any", "A pattern with alternatives selects several columns, in all families.", data("RowFilter"),
		fixture{cells: "a f:x@1=1 f:y@1=2 f:z@1=3 g:x@1=4", filter: column("x|y"), want: "a f:x@1=1 f:y@1=2 g:x@1=4", sorted: true}},
	{"filter-column-any-byte", `In patterns, \C matches any byte, also newlines and invalid UTF-8.`, data("RowFilter"),
		fixture{cells: `a f:a\n\xff@1=1 f:a\n@1=2`, filter: column(`a\C\C`), want: `a f:a\n\xff@1=1`}},
	{"filter-column-dot", "In patterns, a dot does not match a newline.", data("RowFilter"),
		fixture{cells: `a f:a\n@1=1 f:ab@1=2`, filter: column(`a.`), want: "a f:ab@1=2"}},
	{"filter-column-quoted", `Quoted as \x00 to \xff, any bytes match only themselves.`, data("RowFilter"),
		fixture{cells: `a f:\x00\n.\xc3\xa4\xff@1=1 f:\x00\n-\xc3\xa4\xff@1=2`, filter: column(codec.QuoteRegexp("\x00\n.\xc3\xa4\xff")), want: `a f:\x00\n.\xc3\xa4\xff@1=1`}},
	{"filter-column-empty", "An empty qualifier is matched by a pattern that matches nothing else.", data("RowFilter"),
		fixture{cells: "a f:@1=1 f:x@1=2", filter: column(`|y`), want: "a f:@1=1"}},
	{"filter-key", "A pattern for keys must match the whole key.", data("RowFilter"),
		fixture{cells: "aa f:x@1=1 | ab f:x@1=2 | b f:x@1=3 | xab f:x@1=4", filter: key(`\C*/ab`), want: "ab f:x@1=2"}},
	{"filter-key-bytes", `In patterns for keys, \C{n} counts bytes, also of invalid UTF-8.`, data("RowFilter"),
		fixture{cells: `a\xff\n\xc3b f:x@1=1 | a\xffb f:x@1=2 | aäb f:x@1=3`, filter: key(`\C*/a\C{3}b`), want: `a\xff\n\xc3b f:x@1=1`}},
	{"filter-key-class", `A class such as [\x80-\xff] in a pattern for keys matches one byte.`, data("RowFilter"),
		fixture{cells: `a\x7f f:x@1=1 | a\x80 f:x@1=2 | a\xff f:x@1=3 | aä f:x@1=4`, filter: key(`\C*/a[\x80-\xff]`), want: `a\x80 f:x@1=2 | a\xff f:x@1=3`}},
	{"filter-key-times", "Bounded repetitions and groups work in patterns for keys.", data("RowFilter"),
		fixture{cells: "a1 f:x@1=1 | a12 f:x@1=2 | a123 f:x@1=3 | a1234 f:x@1=4", filter: key(`\C*/a(?:[1-9][0-9]{1,2}|x)`), want: "a12 f:x@1=2 | a123 f:x@1=3"}},
	{"filter-values", "A range of values excludes its end, and compares unsigned bytes.", data("ValueRange"),
		fixture{cells: `a f:x@4=b f:x@3=\xff f:x@2=a\x00 f:x@1=a`, filter: values("a\x00", "\xff"), want: `a f:x@4=b f:x@2=a\x00`}},
	{"filter-values-no-end", "A range of values may lack an end.", data("ValueRange"),
		fixture{cells: `a f:x@3=\xff f:x@2=b f:x@1=a`, filter: values("b", ""), want: `a f:x@3=\xff f:x@2=b`}},
	{"filter-columns", "A range of columns excludes its end, and other families.", data("ColumnRange"),
		fixture{cells: "a f:a@1=1 f:b@1=2 f:c@1=3 g:b@1=4", filter: columns("f", "a", "c"), want: "a f:a@1=1 f:b@1=2"}},
	{"filter-columns-no-end", "A range of columns may lack an end.", data("ColumnRange"),
		fixture{cells: `a f:a@1=1 f:b@1=2 f:\xff@1=3`, filter: columns("f", "b", ""), want: `a f:b@1=2 f:\xff@1=3`}},
	{"filter-columns-no-start", "A range of columns without a start begins with the empty qualifier.", data("ColumnRange"),
		fixture{cells: "a f:@1=0 f:a@1=1 f:b@1=2", filter: columns("f", "", "b"), want: "a f:@1=0 f:a@1=1"}},
	{"filter-unknown-family", "A pattern of an unknown family selects nothing.", data("RowFilter"),
		fixture{cells: "a f:x@1=1", filter: family("later"), want: ""}},
	{"filter-interleave", "An interleave of disjoint filters returns each cell once, in the usual order.", data("RowFilter.Interleave"),
		fixture{cells: "a f:x@3=3 f:x@2=2 f:x@1=1 f:y@1=4", filter: interleave(times(1*ms, 2*ms), times(3*ms, 4*ms)), want: "a f:x@3=3 f:x@1=1 f:y@1=4"}},
	{"filter-interleave-twice", "A cell that two filters of an interleave return comes twice.", data("RowFilter.Interleave"),
		fixture{cells: "a f:x@1=1", filter: interleave(family("f"), column("x")), want: "a f:x@1=1 f:x@1=1"}},
	{"filter-interleave-latest", "A limit in an interleave counts only the cells of its filter.", data("RowFilter.Interleave"),
		fixture{cells: "a f:x@3=3 f:x@2=2 f:x@1=1", filter: interleave(chain(times(1*ms, 3*ms), latest(1)), times(3*ms, 0)), want: "a f:x@3=3 f:x@2=2"}},
	{"filter-interleave-one", "An interleave of one filter is refused.", data("RowFilter.Interleave"),
		fixture{cells: "a f:x@1=1", filter: interleave(family("f")), refused: codes.InvalidArgument}},
	{"filter-chain-one", "A chain of one filter is refused.", data("RowFilter.Chain"),
		fixture{cells: "a f:x@1=1", filter: chain(family("f")), refused: codes.InvalidArgument}},
	{"filter-condition", "A condition applies its first filter to rows in which the predicate finds a cell, and its second to others.", data("RowFilter.Condition"),
		fixture{cells: "a f:x@1=1 f:y@1=2 | b f:y@1=3 f:z@1=4", filter: condition(column("x"), column("y"), column("z")), want: "a f:y@1=2 | b f:z@1=4"}},
	{"filter-condition-none", "Without a second filter, a condition returns nothing of other rows.", data("RowFilter.Condition"),
		fixture{cells: "a f:x@1=1 f:y@1=2 | b f:y@1=3", filter: condition(column("x"), column("y"), nil), want: "a f:y@1=2"}},
	{"filter-condition-values", "The predicate of a condition may be a chain of columns, a limit and values.", data("RowFilter.Condition"),
		fixture{cells: "a f:x@2=1 f:x@1=9 f:y@1=2 | b f:x@2=9 f:x@1=1 f:y@1=3", filter: condition(chain(column("x"), latest(1), values("9", "")), column("y"), nil), want: "b f:y@1=3"}},
	{"filter-condition-in-chain", "A condition in a chain sees what the filters before it leave.", data("RowFilter.Condition"),
		fixture{cells: "a f:x@1=1 f:y@1=2 | b f:x@2=1 f:y@1=3", filter: chain(times(1*ms, 2*ms), condition(column("x"), column("y"), nil)), want: "a f:y@1=2"}},
	{"filter-depth", "A filter may be nested 19 deep.", docs + "filters",
		fixture{cells: "a f:x@1=1 f:y@1=2", filter: nested(19, column("x")), want: "a f:x@1=1"}},
	{"filter-too-deep", "A filter nested deeper than 20 is refused.", docs + "filters",
		fixture{cells: "a f:x@1=1", filter: nested(24, column("x")), refused: codes.InvalidArgument}},
	{"filter-size", "A filter of nearly 20 KiB is accepted.", quotas,
		fixture{cells: "a f:x@1=1 f:y@1=2", filter: column("x|" + strings.Repeat("z", 20_000)), want: "a f:x@1=1"}},
	{"filter-too-large", "A filter over 20 KiB is refused.", quotas,
		fixture{cells: "a f:x@1=1", filter: column("x|" + strings.Repeat("z", 20_600)), refused: codes.InvalidArgument}},
}

// nested returns a filter in chains, which are depth deep.
func nested(depth int, f filter) filter {
	for range depth - 1 {
		f = chain(family("f"), f)
	}
	return f
}

// longReads are assumptions about reads that fixtures do not prove.
var longReads = []Assumption{
	{"read-many-rows", "A read of many rows returns each once, however many messages they take.", data("ReadRowsResponse"), filled(3000, strings.Repeat("v", 200))},
	{"read-large-cell", "A cell of 9 MB arrives whole, however many chunks it takes.", data("ReadRowsResponse.CellChunk"), stored(largeCell)},
	{"read-wide-row", "A row of 5,000 columns arrives whole and in order.", data("ReadRowsResponse.CellChunk"), stored(wideRow)},
	{"read-resume", "A read from behind a key continues with the next row.", data("RowRange"), resume},
	{"read-missing-table", "A read of a missing table gets NOT_FOUND.", docs + "status-codes", missingTable},
	{"read-after-write", "In one cluster, a read sees what was written before.", docs + "replication-overview#consistency-model", readAfterWrite},
	{"read-row-set", "A request with 500 KB of ranges is accepted.", docs + "reads", largeRowSet},
}

// fill writes n rows with one cell each, as in "0007", in one request.
func (p place) fill(ctx context.Context, n int, value string) error {
	request := &bigtablepb.MutateRowsRequest{TableName: p.name(), AppProfileId: p.AppProfile}
	for i := range n {
		request.Entries = append(request.Entries, &bigtablepb.MutateRowsRequest_Entry{
			RowKey: fmt.Appendf(nil, "%s%04d", p.keys, i), Mutations: rebased([]mutation{set("f", "x", ms, value)}, p.base),
		})
	}
	all, err := p.bulk(ctx, request)
	for i, code := range all {
		if code != codes.OK {
			return fmt.Errorf("entry %d got %s", i, code)
		}
	}
	return err
}

// filled is the check of a read of n rows that one request has written.
func filled(n int, value string) check {
	return func(ctx context.Context, p place) (string, error) {
		if err := p.fill(ctx, n, value); err != nil {
			return "", err
		}
		cells, err := p.readRows(ctx, fixture{})
		for i, c := range cells {
			if want := fmt.Sprintf("%04d", i); c.row != want {
				return "", differs("row %d is %s instead of %s", i, c.row, want)
			}
		}
		if err == nil && len(cells) != n {
			err = differs("read %d of %d rows", len(cells), n)
		}
		return fmt.Sprintf("read %d rows", n), err
	}
}

// stored is the check of a fixture that reads what it writes, which is made when it is tried.
func stored(cells func() string) check {
	return func(ctx context.Context, p place) (string, error) {
		text := cells()
		return fixture{cells: text, want: text}.tried(ctx, p)
	}
}

// largeCell returns a large cell.
func largeCell() string { return "a f:x@1=" + strings.Repeat("0123456789", 900_000) }

// wideRow returns many columns of a row.
func wideRow() string {
	var b strings.Builder
	b.WriteString("a")
	for i := range 5000 {
		fmt.Fprintf(&b, " f:%05d@1=v", i)
	}
	return b.String()
}

// resume reads row after row, each from behind the last.
func resume(ctx context.Context, p place) (string, error) {
	if err := p.fill(ctx, 5, "v"); err != nil {
		return "", err
	}
	after, seen := p.keys, 0
	for {
		cells, err := p.read(ctx, &bigtablepb.ReadRowsRequest{TableName: p.name(), RowsLimit: 1, Rows: &bigtablepb.RowSet{RowRanges: []*bigtablepb.RowRange{{
			StartKey: &bigtablepb.RowRange_StartKeyOpen{StartKeyOpen: []byte(after)},
			EndKey:   &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(p.keys + "~")},
		}}}})
		if err != nil {
			return "", err
		}
		if len(cells) == 0 {
			break
		}
		if want := fmt.Sprintf("%s%04d", p.keys, seen); cells[0].row != want || len(cells) > 1 {
			return "", differs("row %d is %s instead of %s", seen, cells[0].row, want)
		}
		after = cells[0].row
		seen++
	}
	if seen != 5 {
		return "", differs("read %d of 5 rows", seen)
	}
	return "read 5 rows with 6 requests", nil
}

// missingTable reads a table that does not exist.
func missingTable(ctx context.Context, p place) (string, error) {
	_, err := p.read(ctx, &bigtablepb.ReadRowsRequest{TableName: p.table(p.prefix + "none"), RowsLimit: 1})
	return "the read got NotFound", expected(err, codes.NotFound, "the read")
}

// readAfterWrite reads what it has just written, several times.
func readAfterWrite(ctx context.Context, p place) (string, error) {
	const n = 20
	for i := range n {
		value := fmt.Sprint(i)
		if err := p.mutate(ctx, "a", rebased([]mutation{set("f", "x", ms, value)}, p.base)); err != nil {
			return "", err
		}
		cells, err := p.readRows(ctx, fixture{})
		if err != nil {
			return "", err
		}
		if len(cells) != 1 || cells[0].value != value {
			return "", differs("after write %d, read %s: the app profile may route to several clusters", i, showCells(cells, p.base))
		}
	}
	return fmt.Sprintf("%d reads saw the write before", n), nil
}

// largeRowSet reads many ranges.
func largeRowSet(ctx context.Context, p place) (string, error) {
	if err := p.fill(ctx, 1, "v"); err != nil {
		return "", err
	}
	f, size := fixture{}, 0
	for i := 0; size < 500_000; i++ {
		k := fmt.Sprintf("%04d%s", 2*i, strings.Repeat("k", 100))
		f.rows = append(f.rows, span{start: k, end: k + "\x00"})
		size += codec.RangeSize(p.keys+k, p.keys+k+"\x00")
	}
	f.rows[0] = span{start: "0000", end: "0000\x00"}
	cells, err := p.readRows(ctx, f)
	if err != nil {
		return "", err
	}
	if len(cells) != 1 {
		return "", differs("read %d cells", len(cells))
	}
	return fmt.Sprintf("%d ranges were accepted", len(f.rows)), nil
}
