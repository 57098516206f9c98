package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// microsecondSchemas are a schema of a table with timestamps in microseconds, and one to which the manual moves its events.
var microsecondSchemas = map[string]string{
	"old": "time: {precision: 1ms}\nfields: {load: int64}\ntables:\n  old:\n    pattern: bucket_new_cells\n",
	"new": "time: {precision: 1us}\nfields: {load: int64}\ntables:\n  new:\n    pattern: bucket_offsets\n",
}

// TestMicrosOfTheManual reads a table in which another program has stored events in microseconds, and moves them to a table
// that can be written, by the commands of the manual. The commands that look at the table name its granularity.
func TestMicrosOfTheManual(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	t.Setenv(store.EmulatorVariable, b.Addr)
	conn, err := grpc.NewClient(b.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer func() { _ = conn.Close() }()
	parent := "projects/" + storetest.Project + "/instances/" + storetest.Instance
	_, err = adminpb.NewBigtableTableAdminClient(conn).CreateTable(t.Context(), &adminpb.CreateTableRequest{
		Parent: parent, TableId: "old", Table: &adminpb.Table{Granularity: adminpb.Table_MICROS, ColumnFamilies: map[string]*adminpb.ColumnFamily{"m": {}}},
	})
	must(t, err)
	at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for i, us := range []int64{0, 123, 456, 999, 1000, 1001, 1500, 2000, 3001, 5000, 70_000, 900_123} {
		_, err := bigtablepb.NewBigtableClient(conn).MutateRow(t.Context(), &bigtablepb.MutateRowRequest{
			TableName: parent + "/tables/old", RowKey: []byte("host1#2026-03-05"),
			Mutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
				FamilyName: "m", ColumnQualifier: []byte("load"), TimestampMicros: at.UnixMicro() + us, Value: []byte{0, 0, 0, 0, 0, 0, 0, byte(i)},
			}}}},
		})
		must(t, err)
	}
	t.Chdir(t.TempDir())
	for name, part := range microsecondSchemas {
		text := "btgen: v1\npackage: loads\nname: " + strings.ToUpper(name[:1]) + name[1:] + "\nseries: {host: string}\n" + part +
			"    key: {delimiter: \"#\", segments: [host, bucket]}\n    bucket: {every: 1d, label: \"2006-01-02\"}\n    family: m\n    ttl: {keep: forever}\n"
		must(t, os.MkdirAll("schemas", 0o777))
		must(t, os.WriteFile(filepath.Join("schemas", name+".yaml"), []byte(text), 0o666))
	}
	for _, c := range []struct {
		command string
		want    []string // in what it prints
	}{
		{"infer --table old", []string{"granularity MICROS"}},
		{"verify --table old", []string{"granularity MICROS", "100% of 12"}},
		{"setup schemas/new.yaml", nil},
		{"count Old --from 2026-03-05T12:00:00.0001Z --to 2026-03-05T12:00:00.001Z", []string{"3\n"}},
		{"count Old --from 2026-03-05T12:00:00.000456Z --to 2026-03-05T12:00:00.001001Z", []string{"3\n"}},
		{"read Old --format ndjson --from 2026-03-05T12:00:00.0001Z --to 2026-03-05T12:00:00.000456Z", []string{`"2026-03-05T12:00:00.000123Z"`}},
		{"read Old --output events.ndjson", nil},
		{"write New events.ndjson", nil},
		{"count New --from 2026-03-05T12:00:00.000456Z --to 2026-03-05T12:00:00.001001Z", []string{"3\n"}},
		{"count New", []string{"12\n"}},
	} {
		code, stdout, stderr := ranAt(c.command)
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", c.command, code, stdout, stderr)
		}
		for _, want := range c.want {
			assert.Contains(t, want, stdout, c.command, stderr)
		}
	}
}
