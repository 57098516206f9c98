package storetest_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// makeTable creates table t with family f.
func makeTable(ctx context.Context, b *storetest.Bigtable) error {
	return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{
		TableID: "t", ColumnFamilies: map[string]bigtable.Family{"f": {}},
	})
}

// write writes a cell of the given size.
func write(ctx context.Context, client *bigtable.Client, column string, size int) error {
	m := bigtable.NewMutation()
	m.Set("f", column, 1000, bytes.Repeat([]byte{'x'}, size))
	return client.Open("t").Apply(ctx, "row", m)
}

// A row may be larger than gRPC's default limit for messages.
func TestLargeRow(t *testing.T) {
	b := storetest.New(t, makeTable)
	const size = 6 << 20
	for _, column := range []string{"a", "b"} {
		must(t, write(t.Context(), b.Client, column, size))
	}
	row, err := b.Client.Open("t").ReadRow(t.Context(), "row")
	must(t, err)
	if n := len(row["f"]); n != 2 || len(row["f"][1].Value) != size {
		t.Errorf("read %d cells", n)
	}
}

// The environment variable for another emulator does not affect the clients.
func TestOtherEmulator(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Setenv("BIGTABLE_EMULATOR_HOST", l.Addr().String())
	must(t, l.Close())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := storetest.New(t, makeTable)
	assert.Is(t, nil, write(ctx, b.Client, "a", 1))
}

// A test may close what New closes at the end, even after garbage collection has
// started.
func TestCloseTwice(t *testing.T) {
	b := storetest.New(t, makeTable)
	if err := b.Admin.CreateColumnFamily(t.Context(), "t", "g"); err != nil { // starts garbage collection
		t.Fatal(err)
	}
	for range 2 {
		assert.Is(t, nil, b.Close())
	}
	if conn, err := net.Dial("tcp", b.Addr); err == nil {
		t.Error("the server listens after Close")
		_ = conn.Close()
	}
}

func TestStartAtTakenAddress(t *testing.T) {
	b := storetest.New(t, makeTable)
	if other, err := storetest.StartAt(t.Context(), b.Addr); err == nil {
		t.Error("started twice at one address")
		_ = other.Close()
	}
}

// A row is read as it was before or after each mutation, also while others add columns.
func TestReadsBesideWrites(t *testing.T) {
	b := storetest.New(t, makeTable)
	columns := testlong.Pick(150, 500)
	m := bigtable.NewMutation()
	for i := range columns {
		m.Set("f", fmt.Sprintf("b%03d", i), 1000, nil)
	}
	table := b.Client.Open("t")
	must(t, table.Apply(t.Context(), "row", m))
	done := make(chan error)
	go func() {
		var err error
		for i := 0; i < columns && err == nil; i++ {
			err = write(t.Context(), b.Client, fmt.Sprintf("a%03d", columns-i), 1)
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		row, err := table.ReadRow(t.Context(), "row")
		must(t, err)
		seen := map[string]int{}
		for _, cell := range row["f"] {
			seen[cell.Column]++
		}
		for i := range columns {
			if n := seen[fmt.Sprintf("f:b%03d", i)]; n != 1 {
				t.Fatalf("column b%03d was read %d times", i, n)
			}
		}
	}
}

var must = assert.Must
