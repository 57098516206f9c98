package gen_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestUntold compares tables of which one has lost events by a rule that events of the other one do not tell: they are no certain
// differences, a repair deletes nothing because of them, and it does not count what the target replaces again as changed.
func TestUntold(t *testing.T) {
	const forever = "{max_age: 400d}"
	for _, c := range []struct {
		source, target string // times to live
		changed        int64  // events that the first repair writes
	}{
		{"{max_age: 30d, from: write}", forever, 0},
		{"{default_expiration: 30d}", forever, 0},
		{"{classes: {short: 30d, long: 60d}}", forever, 0},
		{"{all_of: [{max_age: 30d}, {max_versions: 1}]}", forever, 0},
		{"{max_age: 30d}", forever, 0},
		{forever, "{max_age: 30d, from: write}", 2},
		{forever, "{all_of: [{max_age: 30d}, {max_versions: 1}]}", 0},
		{"{max_age: 300d, from: write}", "{max_age: 30d, from: write}", 2},
		{"{max_age: 300d, from: write}", "{max_age: 300d, from: write}", 1}, // each loses one of two events of an instant
	} {
		t.Run(c.source+c.target, func(t *testing.T) {
			table := func(ttl string) string {
				if strings.Contains(ttl, "max_versions") {
					return `pattern: bucket_new_cells, bucket: 1d, key: {delimiter: "#", segments: [host, bucket]}, family: m, ttl: ` + ttl
				}
				return `pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, family: m, ttl: ` + ttl
			}
			s := dynamic.New(dynamictest.Resolve(t, fmt.Appendf(nil, `{btgen: v1, package: p, name: E, series: {host: string}, time: {precision: 1s}, fields: {v: int64}, tables: {
  a: {%s},
  b: {%s, serves: false}}}`, table(c.source), table(c.target))))
			bt := dynamictest.Start(t, s)
			at := time.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour)
			now := func() time.Time { return at }
			e := dynamic.Event{Series: []any{"eu"}, Time: at.Add(-time.Second), Values: []any{int64(1)}, Class: 1}
			second := e
			second.Time = second.Time.Add(-time.Second)
			if c.source == c.target {
				second.Series, second.Time = []any{"us"}, e.Time
			}
			assert.Must(t, s.NewWriter(bt.Client, store.WriterOptions{Now: now}).WriteAll(t.Context(), []dynamic.Event{second, e}))
			before := dynamictest.Rows(t.Context(), bt.Client, "b")
			at = at.AddDate(0, 2, 0)
			if c.source == c.target {
				assert.Must(t, errors.Join(bt.Admin.DropRowRange(t.Context(), "a", "eu"), bt.Admin.DropRowRange(t.Context(), "b", "us")))
			}
			o := store.BackfillOptions{Source: "a", Target: "b", Now: now, Verify: true, RenewAges: true}
			r, err := store.Backfill(t.Context(), bt.Client, s.Mappings(), o)
			if err != nil || slices.ContainsFunc(r.Differences, func(d store.Difference) bool { return !d.MayHaveExpired }) {
				t.Errorf("%v, %v", r, err)
			}
			o.Verify, o.Repair = false, true
			for _, changed := range []int64{c.changed, 0} {
				r, err = store.Backfill(t.Context(), bt.Client, s.Mappings(), o)
				if err != nil || r.Deleted != 0 || r.Changed != changed {
					t.Errorf("%v, %v, want %d changed", r, err, changed)
				}
			}
			if diff := cmp.Diff(before, dynamictest.Rows(t.Context(), bt.Client, "b")); c.target == forever && diff != "" {
				t.Errorf("the target that keeps all (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPartsOfEvents copies events that the source keeps only in part: the target keeps what it has of them, which is no certain
// difference, and what differs otherwise is repaired.
func TestPartsOfEvents(t *testing.T) {
	const one, several = "family: m, ttl: {max_age: 400d}", "families: {r: {ttl: {max_age: 300d}}, m: {ttl: {max_age: 400d}}}"
	for _, c := range []struct{ source, target string }{
		{"{max_age: 5d}", one}, {"{max_age: 5d}", several}, {"{max_age: 5d, from: write}", one}, {"{max_age: 5d, from: write}", several}, {"{default_expiration: 5d}", one},
	} {
		t.Run(c.source+c.target, func(t *testing.T) {
			s := dynamic.New(dynamictest.Resolve(t, fmt.Appendf(nil, `{btgen: v1, package: p, name: E, series: {host: string}, time: {precision: 1s},
 fields: {v: {type: int64, family: m}, o: {type: int64, optional: true, family: r}, d: {type: int64, default: 3, family: r}}, tables: {
  a: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, families: {r: {ttl: %s}, m: {ttl: {keep: forever}}}},
  b: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, %s, serves: false}}}`, c.source, c.target)))
			bt := dynamictest.Start(t, s)
			at := time.Now().UTC().Truncate(time.Second)
			now := func() time.Time { return at }
			event := func(host string, values ...any) dynamic.Event {
				return dynamic.Event{Series: []any{host}, Time: at.Add(-time.Second), Values: values}
			}
			whole, changed := []dynamic.Event{event("eu", int64(1), int64(7), int64(8)), event("us", int64(2), nil, int64(3))}, event("eu", int64(5), int64(7), int64(9))
			merged := event("eu", int64(1), int64(7), int64(9))
			write := func(o store.WriterOptions, events ...dynamic.Event) map[string][]string {
				o.Now = now
				assert.Must(t, s.NewWriter(bt.Client, o).WriteAll(t.Context(), events))
				return dynamictest.Rows(t.Context(), bt.Client, "b")
			}
			before := write(store.WriterOptions{}, whole...)
			at = at.AddDate(0, 0, 6)
			fill := func(o store.BackfillOptions, changes int64, want map[string][]string) {
				t.Helper()
				o.Source, o.Target, o.Now = "a", "b", now
				r, err := store.Backfill(t.Context(), bt.Client, s.Mappings(), o)
				if err != nil || r.Changed != changes || r.Deleted != 0 || slices.ContainsFunc(r.Differences, func(d store.Difference) bool { return !d.MayHaveExpired }) {
					t.Errorf("%+v: %+v, %v", o, r, err)
				}
				if diff := cmp.Diff(want, dynamictest.Rows(t.Context(), bt.Client, "b")); diff != "" {
					t.Errorf("%+v: (-want +got)\n%s", o, diff)
				}
			}
			fill(store.BackfillOptions{}, 0, before)
			fill(store.BackfillOptions{Verify: true}, 0, before)
			fill(store.BackfillOptions{Repair: true}, 0, before)
			onlyTarget := store.WriterOptions{Tables: []string{"b"}}
			want := write(onlyTarget, merged)
			write(onlyTarget, changed)
			fill(store.BackfillOptions{Repair: true}, 1, want)
			write(onlyTarget, changed)
			fill(store.BackfillOptions{}, 0, want)
		})
	}
}

// TestPartsInCommon compares events of tables that lose different fields first: those that have no field in common anymore are not
// compared, and a stored default is copied although the source may lose it before the target does, if a field beside it is alive.
func TestPartsInCommon(t *testing.T) {
	s := dynamic.New(dynamictest.Resolve(t, []byte(`{btgen: v1, package: p, name: E, series: {host: string}, time: {precision: 1s},
 fields: {v: {type: int64, optional: true, family: m}, o: {type: int64, optional: true, family: r}, d: {type: int64, default: 7, family: r}}, tables: {
  a: {pattern: bucket_new_cells, bucket: 1d, key: {delimiter: "#", segments: [host, bucket]}, families: {m: {ttl: {max_age: 40d}}, r: {ttl: {max_age: 2d}}}},
  b: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, families: {m: {ttl: {max_age: 2d}}, r: {ttl: {max_age: 90d}}}},
  c: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, families: {m: {ttl: {max_age: 40d}}, r: {ttl: {max_age: 30d, from: write}}}}}}`)))
	bt := dynamictest.Start(t, s)
	at := time.Now().UTC().Truncate(time.Second)
	o := store.BackfillOptions{Now: func() time.Time { return at }, RenewAges: true}
	fill := func(source, target string, verify bool) store.BackfillReport {
		o.Source, o.Target, o.Verify, o.Repair = source, target, verify, !verify
		r, err := store.Backfill(t.Context(), bt.Client, s.Mappings(), o)
		assert.Must(t, err)
		return r
	}
	e := dynamic.Event{Series: []any{"eu"}, Time: at.Add(-time.Second), Values: []any{int64(1), int64(2), int64(3)}}
	write := func(tables ...string) {
		assert.Must(t, s.NewWriter(bt.Client, store.WriterOptions{Now: o.Now, Tables: tables}).Write(t.Context(), e))
	}
	write("a", "b", "c")
	e.Values[2] = int64(7)
	write("c")
	if r := fill("c", "b", false); r.Changed != 1 || len(fill("c", "b", true).Differences) != 0 {
		t.Errorf("a stored default is not copied: %+v", r)
	}
	at = at.AddDate(0, 0, 10)
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}} {
		if r := fill(pair[0], pair[1], true); len(r.Differences) != 0 || r.Events != 0 || r.Expired != 1 {
			t.Errorf("%v have nothing in common: %+v", pair, r)
		}
	}
}
