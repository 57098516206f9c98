package format_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/parquet"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// schemas are the example schemas, and others that are drawn from their parts.
func schemas(t *testing.T, drawn int) map[string]*layout.Layout {
	t.Helper()
	out := map[string]*layout.Layout{}
	files, err := filepath.Glob("../../../../schemas/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		yaml, err := os.ReadFile(file)
		assert.Must(t, err)
		out[filepath.Base(file)] = dynamictest.Resolve(t, yaml)
	}
	some, err := corpus.DrawAll(0, drawn, "../../../../schemas")
	assert.Must(t, err)
	for i, d := range some {
		out[strconv.Itoa(i)] = d.Layout
	}
	return out
}

// TestRandomEvents writes events of the example schemas and of drawn ones, reads them, writes
// them as text, and stores the events that are read from the text under another prefix: cell
// by cell, the tables are equal.
func TestRandomEvents(t *testing.T) {
	testlong.Checks(t, testlong.Pick(1, 3))
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	for name, l := range testlong.SampleMap(schemas(t, testlong.Pick(20, 60)), 5) {
		traffic, ok := dynamictest.NewTraffic(l)
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := &stored{schema: dynamic.New(l), layout: l, traffic: traffic, server: b}
			rapid.Check(t, d.formats)
		})
	}
}

// formats checks one case.
func (d *stored) formats(t *rapid.T) {
	ctx := context.Background()
	for _, prefix := range []string{"all_", "rest_"} {
		o := setup.Options{TablePrefix: prefix, AllowDrafts: true}
		_, err := setup.Setup(ctx, d.server.Admin, d.server.Client, d.schema.Tables(), o)
		must(t, err)
	}
	defer d.drop(ctx)
	events := d.traffic.Events(t, 12)
	for i := range events {
		events[i].TTL = 0 // events that are read have ExpiresAt instead
		storable(t, d.layout, &events[i])
		assert.Must(t, d.writer("all_", false).Write(ctx, events[i]))
	}
	scanners, err := d.schema.NewScanners(d.server.Client, d.layout.Read.ID, store.ReaderOptions{TablePrefix: "all_", Now: d.clock})
	assert.Must(t, err)
	var read []dynamic.Event
	for _, scanner := range scanners {
		for row, err := range scanner.Rows(ctx, store.KeyRange{}, time.Time{}, scan.MaxTime) {
			assert.Must(t, err)
			read = append(read, row.Events...)
		}
	}
	if len(read) == 0 {
		t.Fatal("nothing is read")
	}
	var again []dynamic.Event
	for i, name := range rapid.Permutation([]string{"ndjson", "csv", "parquet"}).Draw(t, "formats") {
		text := written(t, name, d.layout, read)
		parsed := parsed(t, name, d.layout, text)
		if !slices.EqualFunc(parsed, read, func(a, b dynamic.Event) bool { return dynamictest.Equal(&a, &b) }) {
			t.Fatalf("%s: want %+v\ngot %+v\n%q", name, read, parsed, text)
		}
		if i == 0 {
			again = parsed
		}
	}
	assert.Must(t, d.writer("rest_", true).WriteAll(ctx, again, store.WriteOptions{LastWins: true}))
	for _, table := range d.layout.AllPeriods() {
		other := table != d.layout.Read && len(d.layout.Tables) > 1
		if other && table.Metrics() != d.layout.Read.Metrics() || table.Pattern.NewestOnly() {
			continue // it may have more than the table that is read, or other versions after calls with other events
		}
		want, got := dynamictest.EventRows(ctx, d.server.Client, "all_", table), dynamictest.EventRows(ctx, d.server.Client, "rest_", table)
		assert.Same(t, want, got, table.ID)
	}
}

// stored is a schema whose tables are stored twice, with the prefixes all_ and rest_.
type stored struct {
	schema  *dynamic.Schema
	layout  *layout.Layout
	traffic *dynamictest.Traffic
	server  *storetest.Bigtable
}

func (d *stored) writer(prefix string, keep bool) *dynamic.Writer {
	return d.schema.NewWriter(d.server.Client, store.WriterOptions{TablePrefix: prefix, Now: d.clock, KeepWrittenAt: keep})
}

func (d *stored) drop(ctx context.Context) {
	ids, _ := d.server.Admin.Tables(ctx)
	for _, id := range ids {
		_ = d.server.Admin.DropAllRows(ctx, id) // it may be protected
		_ = d.server.Admin.DeleteTable(ctx, id)
	}
}

// clock is the clock of writers and readers.
func (d *stored) clock() time.Time { return d.traffic.Now }

// storable replaces values that tables store and text represents in another way, and adds
// floats that are not finite if all tables store them.
func storable(t *rapid.T, l *layout.Layout, e *dynamic.Event) {
	for i, f := range l.Fields {
		switch v := e.Values[i].(type) {
		case string:
			if f.Type == schema.JSON {
				e.Values[i] = strings.TrimSpace(v) // white space around a value is lost in NDJSON
			} else if f.Type == schema.String {
				e.Values[i] = v + rapid.SampledFrom([]string{"", "\u2028\x7f\\u0041 ", "\r\n", ",\"", "𝄞"}).Draw(t, "text")
			}
		case float64:
			special := []float64{v, math.Copysign(0, -1)}
			if l.Floats() != layout.FiniteFloats {
				special = append(special, math.Inf(1), math.Inf(-1))
			}
			if l.Floats() == layout.AllFloats {
				special = append(special, math.NaN())
			}
			e.Values[i] = rapid.SampledFrom(special).Draw(t, "float")
		}
	}
}

// written returns events in a format.
func written(t *rapid.T, name string, l *layout.Layout, events []dynamic.Event) []byte {
	var file bytes.Buffer
	w, columns := parquet.NewWriter(&file, l, format.Columns(l)), format.Columns(l)
	encoder := map[string]func([]format.Column) format.Encoder{"ndjson": format.NewNDJSON, "csv": format.NewCSV, "parquet": format.NewCSV}[name](columns)
	text := encoder.Begin(nil)
	for i := range events {
		text = encoder.Append(text, &events[i])
		assert.Must(t, w.Write(&events[i]))
	}
	assert.Must(t, w.Close())
	if name == "parquet" {
		return file.Bytes()
	}
	return encoder.End(text)
}

// parsed returns the events in a text or a file.
func parsed(t *rapid.T, name string, l *layout.Layout, text []byte) []dynamic.Event {
	in := io.Reader(bytes.NewReader(text))
	if name != "parquet" && rapid.Bool().Draw(t, "slow") {
		in = iotest.OneByteReader(in)
	}
	r, err := format.Find(name).Read(in, l, format.ReaderOptions{})
	assert.Must(t, err)
	var out []dynamic.Event
	for {
		e, line, err := r.Next()
		if err == io.EOF {
			return slices.Clip(out)
		}
		must(t, err, text)
		if line < 1 || name != "parquet" && line > bytes.Count(text, []byte("\n")) {
			t.Fatalf("an event on line %d of\n%s", line, text)
		}
		out = append(out, e)
	}
}
