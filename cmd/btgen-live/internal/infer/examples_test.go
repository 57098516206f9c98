package infer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestExamples infers the schemas of tables that generated code writes: they read all of the
// tables, and most have an equivalent layout. What cannot be seen differs, such as the strategy
// of a time to live, or strings of digits.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../../../schemas/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no schemas", err)
	}
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	tables, read, equivalent, equal := 0, 0, 0, 0
	for _, path := range testlong.Sample(paths, 5) {
		if strings.HasPrefix(filepath.Base(path), "adopted_") {
			continue // tables of other programs: see TestDesigns
		}
		text, err := os.ReadFile(path)
		must(t, err)
		l := dynamictest.Resolve(t, text)
		prefix := filepath.Base(path) + "_"
		fill(t, b, prefix, l)
		for _, of := range l.Tables {
			tables++
			s := sampled(t, b, prefix+of.ID, codec.GCRule{})
			s.Table = of.ID
			for _, f := range of.Families {
				s.Families[f.Name] = f.GC
			}
			if of.Rollup != nil { // a sample of marks does not tell its width: see TestRollup
				delete(s.Families, of.Rollup.Family)
				for _, row := range s.Rows {
					delete(row, of.Rollup.Family)
				}
			}
			p, err := infer.Propose(s)
			if err != nil {
				t.Logf("%s: %v", of.ID, err)
				continue
			}
			linted(t, p)
			single, alone := *l, *of
			if of.Pattern.NewestOnly() { // a single table has all events that are known
				alone.Pattern = codec.BucketNewCells
			}
			single.Tables = []*layout.Table{&alone}
			if p.Report.Values.Readable < p.Report.Columns.Total || p.Report.Rows.Readable < p.Report.Rows.Total {
				t.Logf("%s: reads %s row keys, %s values: %+v", of.ID, p.Report.Rows, p.Report.Values, p.Report.Findings[:1])
				continue
			}
			read++
			got, want := alike(resolved(t, string(p.Schema))), alike(&single)
			if differs := compare(got, want, "columns"); differs != "" {
				t.Logf("%s: %s", of.ID, differs)
				continue
			}
			if equivalent++; compare(got, want) == "" {
				equal++
			}
		}
	}
	if read < tables || equivalent*100 < tables*82 {
		t.Error("infer became worse")
	}
	t.Logf("of %d tables, %d are read, %d have an equivalent key, bucket and pattern, and %d also columns of such types", tables, read, equivalent, equal)
}

// fill creates the tables of a schema, without garbage collection of old events, and writes
// events of some series and buckets to them.
func fill(t *testing.T, b *storetest.Bigtable, prefix string, l *layout.Layout) {
	t.Helper()
	created := map[string]bool{}
	for _, p := range l.AllPeriods() {
		if created[p.ID] {
			continue
		}
		created[p.ID] = true
		conf := &bigtable.TableConf{TableID: prefix + p.ID, ColumnFamilies: map[string]bigtable.Family{}}
		for _, f := range p.AllFamilies() {
			conf.ColumnFamilies[f.Name] = bigtable.Family{}
			if f.Sums {
				conf.ColumnFamilies[f.Name] = bigtable.Family{ValueType: setup.Sums}
			}
		}
		must(t, b.Admin.CreateTableFromConf(t.Context(), conf))
	}
	var events []dynamic.Event
	var first time.Time
	seen := map[string]bool{}
	for n := range 12 {
		var series []any
		for i := range l.Series {
			series = append(series, seriesValue(&l.Series[i], n/(1+i)))
		}
		for k, e := range sample.Events(l, l.Tables[0], 12, 6) {
			if width := l.Tables[0].Bucket.Widest(); width > 0 {
				e.Time = e.Time.Add(time.Duration(n%4) * width)
			} else {
				e.Time = e.Time.Add(time.Duration(n*7919) * l.Precision)
			}
			if first.IsZero() || e.Time.Before(first) {
				first = e.Time
			}
			if k == 0 && !e.ExpiresAt.IsZero() {
				e.ExpiresAt = e.Time.Add(time.Hour)
			}
			if id := fmt.Sprint(series, e.Time, e.Sequence); seen[id] {
				continue
			} else {
				seen[id] = true
			}
			events = append(events, dynamic.Event{Series: series, Time: e.Time, Sequence: e.Sequence, Values: e.Values, Class: e.Class, TTL: e.TTL, ExpiresAt: e.ExpiresAt, WrittenAt: e.WrittenAt})
		}
	}
	w := dynamic.New(l).NewWriter(b.Client, store.WriterOptions{TablePrefix: prefix, Now: func() time.Time { return first }})
	must(t, w.WriteAll(t.Context(), events), prefix)
}

// seriesValue returns the n-th value of a series value.
func seriesValue(f *layout.Field, n int) any {
	switch f.Type {
	case schema.String:
		if f.Example != nil {
			return fmt.Sprintf("%s%d", f.Example, n%5)
		}
		return []string{"oslo", "rome", "lima", "bern", "riga"}[n%5]
	case schema.Bytes:
		return []byte{byte(n), 7, 0xfe}
	case schema.Bool:
		return n%2 == 0
	case schema.Int32, schema.Int64:
		return int64(3698 + 15*(n%5))
	case schema.Uint32, schema.Uint64:
		return uint64(258 + n%5)
	case schema.Timestamp:
		return noon.Add(time.Duration(n) * time.Second)
	case schema.Duration:
		return time.Duration(n+1) * time.Second
	case schema.UUID:
		return fmt.Sprintf("123e4567-e89b-42d3-a456-4266141740%02d", n)
	case schema.Enum:
		return f.Enum[n%len(f.Enum)].Name
	}
	return nil
}

// alike returns a layout in which types that are stored alike are the same.
func alike(l *layout.Layout) *layout.Layout {
	out := *l
	out.Series, out.Fields = append([]layout.Field(nil), l.Series...), append([]layout.Field(nil), l.Fields...)
	of := *l.Tables[0]
	of.Segments = append([]codec.Segment(nil), of.Segments...)
	out.Tables = []*layout.Table{&of}
	for i := range of.Segments {
		if g := &of.Segments[i]; g.Kind == codec.SeriesSegment {
			f := &out.Series[g.Series]
			f.Type = likeKey(f.Type)
			if f.Type == schema.Int64 && of.Delimiter == "" {
				g.Form = codec.KeyForm{} // bytes have no sign
			}
		}
	}
	if of.Pattern != codec.BucketOffsets {
		out.Precision = 0 // events are at full minutes
	}
	for i := range out.Fields {
		out.Fields[i].Type = likeCell(out.Fields[i].Type, of.Serialized())
	}
	return &out
}

// likeKey returns the type that a type in a row key looks like.
func likeKey(t schema.Type) schema.Type {
	switch t {
	case schema.Int32, schema.Uint32, schema.Uint64, schema.Duration, schema.Timestamp:
		return schema.Int64
	case schema.Bool, schema.Enum, schema.Bytes:
		return schema.String
	}
	return t
}

// likeCell returns the type that a type in a cell or a serialized event looks like.
func likeCell(t schema.Type, serialized bool) schema.Type {
	switch t {
	case schema.Int32, schema.Uint32, schema.Uint64, schema.Duration, schema.Enum:
		return schema.Int64
	case schema.Bool:
		if serialized {
			return schema.Int64
		}
	}
	return t
}
