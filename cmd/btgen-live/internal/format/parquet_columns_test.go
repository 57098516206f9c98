package format_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/parquet"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// TestColumnTypes checks that a file can have columns of all types.
func TestColumnTypes(t *testing.T) {
	for _, typ := range schema.Types() {
		column := format.Column{Field: layout.Field{Name: "x", Type: typ}}
		assert.Must(t, parquet.NewWriter(io.Discard, new(layout.Layout), []format.Column{column}).Close())
	}
}

// TestWindowsInParquet checks the types of the columns of windows in Parquet, and their values. The
// series value start has the name of a column of windows. testdata/parquet_windows.txt has both.
func TestWindowsInParquet(t *testing.T) {
	l := dynamictest.Resolve(t, []byte(`btgen: v1
package: trips
name: Trip
series: {start: string}
fields:
  speed: {type: float32, optional: true}
  stops: {type: uint32, example: 3}
  took: {type: duration, optional: true}
  kind: {type: enum, of: [local, express]}
tables:
  trips: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [start, bucket]}, bucket: 1d, family: m,
    ttl: {keep: forever}}
`))
	s := dynamic.New(l)
	b := dynamictest.Start(t, s)
	at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	events := []dynamic.Event{
		{Series: []any{"a"}, Time: at, Values: []any{0.1, uint64(3), time.Hour, "local"}},
		{Series: []any{"a"}, Time: at.Add(time.Minute), Values: []any{nil, uint64(4294967295), nil, "express"}},
	}
	assert.Must(t, s.NewWriter(b.Client).WriteAll(t.Context(), events))
	o := format.WindowOptions{By: []int{0}, Zone: time.UTC, Micros: true}
	for i := range l.Fields {
		for which := dynamic.Count; which <= dynamic.Rate; which++ {
			if _, ok := which.Type(&l.Fields[i]); ok {
				o.Statistics = append(o.Statistics, format.Statistic{Field: i, Statistic: which})
			}
		}
	}
	rows := format.NewWindows(l, o)
	var out, csv bytes.Buffer
	w := parquet.NewWriter(&out, l, rows.Columns())
	for of, err := range s.NewReader(b.Client).Windows(t.Context(), dynamic.Series([]any{"a"}), time.Time{}, at.Add(time.Hour), window.Every(time.Hour)) {
		assert.Must(t, err)
		assert.Must(t, w.Write(rows.Row(&of)))
		csv.Write(format.NewCSV(rows.Columns()).Append(nil, rows.Row(&of)))
	}
	assert.Must(t, w.Close())
	file, err := pq.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	assert.Must(t, err)
	const name = "testdata/parquet_windows.txt"
	got := fmt.Sprintf("%s\n%d row: %s", file.Schema(), file.NumRows(), csv.String())
	if *update {
		assert.Must(t, os.WriteFile(name, []byte(got), 0o666))
	}
	want, err := os.ReadFile(name)
	assert.Must(t, err)
	assert.Same(t, string(want), got)
}
