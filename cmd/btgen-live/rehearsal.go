package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// rehearsal writes events to an in-memory Bigtable, and prints what it then contains.
type rehearsal struct {
	server *storetest.Bigtable
	writer *dynamic.Writer
	tables []string
	out    io.Writer
}

// rehearse starts an in-memory Bigtable with the tables of a schema.
func rehearse(ctx context.Context, schema *dynamic.Schema, o store.WriterOptions, out io.Writer) (*rehearsal, error) {
	server, err := storetest.Start(ctx)
	if err != nil {
		return nil, err
	}
	tables := schema.Tables()
	if _, err := setup.Setup(ctx, server.Admin, server.Client, tables, setup.Options{TablePrefix: o.TablePrefix, AllowDrafts: true, NoHistory: true}); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	r := &rehearsal{server: server, writer: schema.NewWriter(server.Client, o), out: out}
	for _, t := range tables {
		if id := o.TablePrefix + t.ID; !slices.Contains(r.tables, id) {
			r.tables = append(r.tables, id)
		}
	}
	return r, nil
}

// write writes events, prints the cells, and deletes them.
func (r *rehearsal) write(ctx context.Context, events []dynamic.Event) error {
	refused := r.writer.WriteAll(ctx, events, store.WriteOptions{LastWins: true})
	for _, table := range r.tables {
		if err := r.show(ctx, table); err != nil {
			return err
		}
		if err := r.server.Admin.DropAllRows(ctx, table); err != nil {
			return err
		}
	}
	return refused
}

// show prints the rows of a table.
func (r *rehearsal) show(ctx context.Context, table string) error {
	var failed error
	header := "table " + table + "\n"
	err := r.server.Client.Open(table).ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		_, failed = io.WriteString(r.out, header+rowText(row))
		header = ""
		return failed == nil
	})
	return errors.Join(err, failed)
}

// rowText describes a row: its key, and a line for each cell with column, time and value.
func rowText(row bigtable.Row) string {
	var cells [][3]string
	var widths [3]int
	for _, family := range slices.Sorted(maps.Keys(row)) {
		for _, item := range row[family] {
			cell := [3]string{printed([]byte(item.Column)), item.Timestamp.Time().UTC().Format(time.RFC3339Nano), printed(item.Value)}
			for i := range cell {
				widths[i] = max(widths[i], words.Width(cell[i]))
			}
			cells = append(cells, cell)
		}
	}
	padded := func(c [3]string, i int) string { return c[i] + strings.Repeat(" ", widths[i]-words.Width(c[i])) }
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", printed([]byte(row.Key())))
	for _, c := range cells {
		fmt.Fprintf(&b, "    %s  %s  %s\n", padded(c, 0), padded(c, 1), c[2])
	}
	return b.String()
}

// printed returns bytes as text, quoted as in Go if it is not printable.
func printed(b []byte) string {
	if text := string(b); words.Printable(text) == text && text != "" {
		return text
	}
	return strconv.Quote(string(b))
}
