package trial

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/store"
)

// bundlesProbe is the table that an emulator with schema bundles answers specially; see package call of the runtime.
const bundlesProbe = "btgen.schema_bundles"

// emulated reports whether the server is an emulator.
func (r *run) emulated() bool { return os.Getenv(store.EmulatorVariable) != "" }

// ofClient are assumptions about what the Go client does with requests and answers.
var ofClient = []Assumption{
	{"client-rows", "The client returns the cells that the server sends, in their order.", client("reader.go"), clientRows},
	{"client-truncates", "The client truncates timestamps of mutations to milliseconds.", client("bigtable.go"), clientTruncates},
	{"client-range-end", "The client truncates the end of a time range to milliseconds, so that 500 µs is no end.", client("filter.go"), clientRangeEnd},
	{"client-bulk-errors", "ApplyBulk returns the error of each entry, and no error for all.", client("apply_bulk.go"), clientBulkErrors},
	{"client-stops", "A read ends when the caller wants no more rows.", client("bigtable.go"), clientStops},
	{"client-deadline", "A read whose context has expired gets DEADLINE_EXCEEDED.", client("bigtable.go"), clientDeadline},
	{"client-single-range", "A read of one key as a range returns the same as ReadRow.", client("bigtable.go"), clientSingleRange},
	{"client-reversed", "The client passes reversed reads on, and keeps the order.", client("bigtable.go"), clientReversed},
	{"client-wire", "With the options of generated code, requests and answers bypass the client's encoding.", client("client.go"), clientWire},
	{"sessions", "The server says which share of requests may use sessions; reads and writes of single rows work either way.", data("GetClientConfigurationRequest"), sessions},
	{"ping", "PingAndWarm succeeds, without which the client does not start.", data("PingAndWarmRequest"), ping},
}

// client returns the table of a place for the client, after it has written cells.
func (p place) client(ctx context.Context, cells string) (*bigtable.Table, error) {
	_, err := fixture{cells: cells, want: cells}.tried(ctx, p)
	return p.Client.Open(p.id), err
}

// clientRead reads the rows of a place with the client.
func (p place) clientRead(ctx context.Context, table *bigtable.Table, options ...bigtable.ReadOption) (string, error) {
	var cells []cell
	err := table.ReadRows(ctx, bigtable.PrefixRange(p.keys), func(row bigtable.Row) bool {
		for _, items := range row {
			for _, item := range items {
				family, qualifier, _ := strings.Cut(item.Column, ":")
				cells = append(cells, cell{strings.TrimPrefix(item.Row, p.keys), family, qualifier, string(item.Value), int64(item.Timestamp)})
			}
		}
		return true
	}, options...)
	return showCells(cells, p.base), err
}

// clientReads returns what the client reads instead of cells; an error if it is something else.
func (p place) clientReads(ctx context.Context, table *bigtable.Table, want string, options ...bigtable.ReadOption) (string, error) {
	got, err := p.clientRead(ctx, table, options...)
	if err == nil && got != want {
		err = differs("read %s instead of %s", got, want)
	}
	return "read " + got, err
}

// clientRows reads with the client.
func clientRows(ctx context.Context, p place) (string, error) {
	const cells = `a f:@1=0 f:x@2=2 f:x@1=1 f:y@1= | b f:x@1=\xff`
	table, err := p.client(ctx, cells)
	if err != nil {
		return "", err
	}
	return p.clientReads(ctx, table, cells)
}

// clientTruncates writes a timestamp in microseconds.
func clientTruncates(ctx context.Context, p place) (string, error) {
	table, err := p.client(ctx, "")
	if err != nil {
		return "", err
	}
	m := bigtable.NewMutation()
	m.Set("f", "x", bigtable.Timestamp(p.base+1999), []byte("1"))
	if err := table.Apply(ctx, p.keys+"a", m); err != nil {
		return "", err
	}
	return fixture{want: "a f:x@1=1"}.tried(ctx, p)
}

// clientRangeEnd reads a time range that ends in the first millisecond of 1970.
func clientRangeEnd(ctx context.Context, p place) (string, error) {
	table, err := p.client(ctx, "a f:x@1=1 f:x@!0=0")
	if err != nil {
		return "", err
	}
	return p.clientReads(ctx, table, "a f:x@1=1 f:x@!0=0", bigtable.RowFilter(bigtable.TimestampRangeFilterMicros(0, 500)))
}

// clientBulkErrors applies two mutations, one of which fails.
func clientBulkErrors(ctx context.Context, p place) (string, error) {
	table, err := p.client(ctx, "")
	if err != nil {
		return "", err
	}
	var all []*bigtable.Mutation
	for _, family := range []string{"f", "none"} {
		m := bigtable.NewMutation()
		m.Set(family, "x", bigtable.Timestamp(p.base+ms), []byte("1"))
		all = append(all, m)
	}
	errs, err := table.ApplyBulk(ctx, []string{p.keys + "a", p.keys + "b"}, all)
	if err != nil {
		return "", err
	}
	if len(errs) != 2 || errs[0] != nil || errs[1] == nil {
		return "", differs("the errors are %v", errs)
	}
	return "the second of two errors is set", nil
}

// clientStops reads one of three rows.
func clientStops(ctx context.Context, p place) (string, error) {
	table, err := p.client(ctx, threeRows)
	if err != nil {
		return "", err
	}
	rows := 0
	err = table.ReadRows(ctx, bigtable.PrefixRange(p.keys), func(bigtable.Row) bool { rows++; return false })
	if err == nil && rows != 1 {
		err = differs("read %d rows", rows)
	}
	return "read 1 of 3 rows", err
}

// clientDeadline reads after a deadline.
func clientDeadline(ctx context.Context, p place) (string, error) {
	table, err := p.client(ctx, threeRows)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	_, err = p.clientRead(ctx, table)
	if code := status.Code(err); code != codes.DeadlineExceeded {
		return "", differs("the status is %s", code)
	}
	return "the status is DeadlineExceeded", nil
}

// clientSingleRange reads a key in two ways.
func clientSingleRange(ctx context.Context, p place) (string, error) {
	table, err := p.client(ctx, threeRows)
	if err != nil {
		return "", err
	}
	row, err := table.ReadRow(ctx, p.keys+"b")
	if err != nil {
		return "", err
	}
	var ranged bigtable.Row
	err = table.ReadRows(ctx, bigtable.NewRange(p.keys+"b", p.keys+"b\x00"), func(r bigtable.Row) bool { ranged = r; return true })
	if err == nil && (len(row["f"]) != 1 || fmt.Sprint(row) != fmt.Sprint(ranged)) {
		err = differs("read %v and %v", row, ranged)
	}
	return "both read the row", err
}

// clientReversed reads in reverse.
func clientReversed(ctx context.Context, p place) (string, error) {
	table, err := p.client(ctx, threeRows)
	if err != nil {
		return "", err
	}
	return p.clientReads(ctx, table, "c f:x@1=3 | b f:x@1=2 | a f:x@1=1", bigtable.ReverseScan())
}

// sessions asks for the share of sessions, and writes and reads single rows.
func sessions(ctx context.Context, p place) (string, error) {
	answer, err := p.data.GetClientConfiguration(ctx, &bigtablepb.GetClientConfigurationRequest{InstanceName: p.parent(), AppProfileId: p.AppProfile})
	if err != nil {
		return "", err
	}
	for _, disabled := range []bool{false, true} {
		config := bigtable.ClientConfig{AppProfile: p.AppProfile, DisableSession: disabled, MetricsProvider: bigtable.NoopMetricsProvider{}}
		client, err := store.NewClient(ctx, p.Project, p.Instance, config)
		if err != nil {
			return "", err
		}
		defer client.Close()
		table := client.Open(p.id)
		for i := range 10 {
			m := bigtable.NewMutation()
			m.Set("f", "x", bigtable.Timestamp(p.base+ms), []byte(fmt.Sprint(i)))
			if err := table.Apply(ctx, p.keys+"a", m); err != nil {
				return "", err
			}
			row, err := table.ReadRow(ctx, p.keys+"a")
			if err != nil {
				return "", err
			}
			if items := row["f"]; len(items) != 1 || string(items[0].Value) != fmt.Sprint(i) {
				return "", differs("with sessions disabled: %v, write %d reads %v", disabled, i, row)
			}
		}
	}
	return fmt.Sprintf("the share is %v; 10 writes and reads in each way agree", answer.GetSessionConfiguration().GetSessionLoad()), nil
}

// ping pings.
func ping(ctx context.Context, p place) (string, error) {
	_, err := p.data.PingAndWarm(ctx, &bigtablepb.PingAndWarmRequest{Name: p.parent(), AppProfileId: p.AppProfile})
	return "it does", err
}
