package dynamictest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/dynamictest"
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
			if err := s.NewWriter(bt.Client, store.WriterOptions{Now: now}).WriteAll(t.Context(), []dynamic.Event{second, e}); err != nil {
				t.Fatal(err)
			}
			at = at.AddDate(0, 2, 0)
			if c.source == c.target {
				if err := errors.Join(bt.Admin.DropRowRange(t.Context(), "a", "eu"), bt.Admin.DropRowRange(t.Context(), "b", "us")); err != nil {
					t.Fatal(err)
				}
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
		})
	}
}
