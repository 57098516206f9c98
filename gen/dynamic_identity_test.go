package gen_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// identities writes events of all series, at times that are close and far, with sequences, to tables that differ in what tells
// these apart.
type identities struct {
	server    *storetest.Bigtable
	precision string

	prefixes, passed, refused int
}

// segments of row keys that a table may have. One of some tables may be missing.
var (
	identitySeries = []string{"host", "{name: sensor, encoding: hex}", "host, {name: sensor, reverse: true}", "sensor, host", "{hash: [host, sensor], buckets: 4}, host, sensor"}
	identityTimes  = []string{"unix_s", "unix_ms", "unix_us", "binary", "2006-01-02", "2006-01-02T15:04:05", "2006-01-02T15:04:05.000"}
	identityWidths = []string{"{every: 1h, label: unix_s}", "{every: 1h, label: 2006-01-02}", "{every: 1d, label: 2006-01-02}", "{every: 1d, label: 2006-01}", "{every: 1d, label: 02}"}
)

// identitySeriesValues are the series of the events.
var identitySeriesValues = [][]any{{"a", int64(1)}, {"a", int64(2)}, {"b", int64(1)}}

// identityNow is the clock, and identityStart the time of the first event.
var (
	identityNow   = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	identityStart = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
)

// table draws a table of the language.
func (*identities) table(t *rapid.T, id string) string {
	pattern := rapid.SampledFrom(slices.DeleteFunc(codec.Patterns(), codec.Pattern.NewestOnly)).Draw(t, "pattern")
	draw := func(name string, all []string) string { return rapid.SampledFrom(all).Draw(t, name) }
	sequence := draw("sequence", []string{"", ", {sequence: true}"}) // also before: events had none if an earlier layout has none
	key := func() (key, bucket string) {
		series := draw("series", slices.Concat(identitySeries[2:], identitySeries))
		at := "{time: " + fmt.Sprintf("%q", draw("time", identityTimes)) + "}"
		if pattern.Bucketed() {
			at, bucket = "bucket", draw("bucket", identityWidths)
		}
		if pattern.RowPerField() {
			at = "metric, " + at
		}
		return fmt.Sprintf(`{delimiter: "#", segments: [%s, %s%s]}`, series, at, sequence), bucket
	}
	now, bucket := key()
	out := fmt.Sprintf("  %s:\n    pattern: %s\n    key: %s\n    family: m\n    ttl: {keep: forever}\n", id, pattern, now)
	if bucket != "" {
		out += "    bucket: " + bucket + "\n"
	}
	if pattern.Traits().Cell == codec.SerializedCell {
		out += "    blob: {column: b, format: protobuf}\n"
	}
	if was, _ := key(); rapid.IntRange(0, 3).Draw(t, "before") == 0 {
		out += fmt.Sprintf("    since: 2026-03-06\n    before: [{key: %s, table: %s_before}]\n", was, id)
	}
	return out
}

// schema resolves a schema with tables; nil with the IDs of its errors if it has any.
func (i *identities) schema(tables ...string) (*dynamic.Schema, []string) {
	text := "btgen: v1\npackage: pairs\nname: Pair\nseries: {host: string, sensor: int64}\ntime: {precision: " + i.precision + "}\n" +
		"fields: {value: {type: int64, number: 1}}\ntables:\n" + strings.Join(tables, "")
	r := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: []byte(text)}})
	if r.Diagnostics.Err() == nil {
		return dynamic.New(r.Layouts[0]), nil
	}
	return nil, each(r.Diagnostics, func(d diag.Diagnostic) string { return d.Rule })
}

// events returns events that some tables tell apart, each with its number as its value.
func (i *identities) events(sequences bool) (out []dynamic.Event) {
	seen := map[string]bool{}
	precision, _ := time.ParseDuration(i.precision)
	for _, series := range identitySeriesValues {
		for _, after := range []time.Duration{0, time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 31 * 24 * time.Hour} {
			for sequence := range uint32(2) {
				e := dynamic.Event{Series: series, Time: identityStart.Add(after).Truncate(precision), Values: []any{int64(len(out))}}
				if sequences {
					e.Sequence = sequence
				}
				if at := placeOf(&e); !seen[at] {
					seen[at] = true
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// placeOf is what tells an event from others.
func placeOf(e *dynamic.Event) string {
	return fmt.Sprint(e.Series, e.Time.UnixNano(), e.Sequence)
}

// kept writes events to all tables of a schema, and deletes some of them. It returns those that are left in each table.
func (i *identities) kept(t *rapid.T, s *dynamic.Schema, events []dynamic.Event, deleted ...dynamic.Event) (all []map[string]string) {
	ctx := context.Background()
	i.prefixes++
	prefix := fmt.Sprintf("i%d_", i.prefixes)
	_, err := setup.Setup(ctx, i.server.Admin, nil, s.Tables(), setup.Options{TablePrefix: prefix, NoHistory: true})
	must(t, err)
	defer func() {
		for _, of := range s.Tables() {
			_ = i.server.Admin.DeleteTable(ctx, prefix+of.ID)
		}
	}()
	clock := func() time.Time { return identityNow }
	w := s.NewWriter(i.server.Client, store.WriterOptions{TablePrefix: prefix, Now: clock})
	var failed *store.WriteError
	if err := w.WriteAll(ctx, events); err != nil && (!errors.As(err, &failed) || failed.Failures[0].Outcome != store.Refused) {
		t.Fatal(err)
	}
	if len(deleted) > 0 {
		_, err := w.Delete(ctx, deleted)
		must(t, err)
	}
	for _, l := range s.Mappings() {
		r := store.NewReader(i.server.Client, l, store.ReaderOptions{TablePrefix: prefix, Now: clock})
		found := map[string]string{}
		for _, series := range identitySeriesValues {
			for e, err := range store.ResultsOf[dynamic.Event](r.Read(ctx, store.SeriesOf(&dynamic.Event{Series: series}), time.Time{}, identityNow)) {
				assert.Must(t, err)
				found[placeOf(&e)] = fmt.Sprint(e.Values)
			}
		}
		all = append(all, found)
	}
	return all
}

// check draws a pair of tables. Each of them alone has no error, so that it loses none of the events of its schema.
func (i *identities) check(t *rapid.T) {
	i.precision = rapid.SampledFrom([]string{"1ms", "1ms", "1s", "1m"}).Draw(t, "precision")
	var tables []string
	var alone [2]*dynamic.Schema
	sequences := false
	for n, id := range []string{"first", "second"} {
		tables = append(tables, rapid.Custom(func(t *rapid.T) string { return i.table(t, id) }).Filter(func(table string) bool {
			alone[n], _ = i.schema(table)
			return alone[n] != nil
		}).Draw(t, id))
		sequences = sequences || alone[n].Layout().Tables[0].HasSequence()
	}
	var each [2]map[string]string
	for n, s := range alone {
		each[n] = i.kept(t, s, i.events(s.Layout().Tables[0].HasSequence()))[0]
	}
	differ := !maps.EqualFunc(each[0], each[1], func(string, string) bool { return true })
	both, rules := i.schema(tables...)
	switch {
	case differ != (both == nil):
		t.Fatalf("rules %v, although the tables have %d and %d events:\n%s", rules, len(each[0]), len(each[1]), strings.Join(tables, ""))
	case differ:
		i.refused++
		return
	}
	i.passed++
	events := i.events(sequences)
	if left := i.kept(t, both, events); !maps.Equal(left[0], left[1]) || len(left[0]) != len(each[0]) {
		t.Fatalf("one table has %v, the other %v:\n%s", left[0], left[1], strings.Join(tables, ""))
	}
	some := rapid.Permutation(events).Draw(t, "deleted")[:len(events)/2]
	if left := i.kept(t, both, events, some...); !maps.Equal(left[0], left[1]) || len(left[0]) != len(each[0])-len(some) {
		t.Fatalf("after a deletion, one table has %v, the other %v:\n%s", left[0], left[1], strings.Join(tables, ""))
	}
}

// TestIdentities draws pairs of tables that differ in what tells events apart: the schema is refused exactly if one table loses
// events that the other one keeps, and else, both have the same events. The class: tables of one schema that do not agree on what
// an event is.
func TestIdentities(t *testing.T) {
	testlong.Checks(t, testlong.Pick(30, 1000))
	i := &identities{server: storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })}
	rapid.Check(t, i.check)
	if i.passed == 0 || i.refused == 0 {
		t.Errorf("%d pairs were refused, and %d passed", i.refused, i.passed)
	}
}
