package dynamictest_test

import (
	"context"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/dynamictest"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestUntold compares tables of which the source has lost an event by a rule that events of the target do not tell: it is no
// certain difference, and a repair keeps it.
func TestUntold(t *testing.T) {
	for _, ttl := range []string{"{max_age: 30d, from: write}", "{default_expiration: 30d}", "{classes: {short: 30d, long: 60d}}", "{max_age: 30d}"} {
		s := dynamic.New(dynamictest.Resolve(t, []byte(`{btgen: v1, package: p, name: E, series: {host: string}, time: {precision: 1s}, fields: {v: int64}, tables: {
  a: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, family: m, ttl: `+ttl+`},
  b: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, family: m, ttl: {max_age: 400d}, serves: false}}}`)))
		bt := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
		if _, err := setup.Setup(t.Context(), bt.Admin, bt.Client, s.Tables()); err != nil {
			t.Fatal(err)
		}
		at := time.Now().UTC()
		now := func() time.Time { return at }
		e := dynamic.Event{Series: []any{"eu"}, Time: at.Add(-time.Second), Values: []any{int64(1)}, Class: 1}
		if err := s.NewWriter(bt.Client, store.WriterOptions{Now: now}).Write(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if err := bt.Admin.DropRowRange(t.Context(), "a", "eu"); err != nil {
			t.Fatal(err)
		}
		at = at.AddDate(0, 2, 0)
		o := store.BackfillOptions{Target: "b", Now: now, Verify: true}
		r, err := store.Backfill(t.Context(), bt.Client, s.Mappings(), o)
		if err != nil || len(r.Differences) > 0 && !r.Differences[0].MayHaveExpired {
			t.Errorf("%s: %v, %v", ttl, r, err)
		}
		o.Verify, o.Repair = false, true
		r, err = store.Backfill(t.Context(), bt.Client, s.Mappings(), o)
		if left := dynamictest.Rows(t.Context(), bt.Client, "b"); err != nil || len(left) != 1 {
			t.Errorf("%s: %v, %v: %v", ttl, r, err, left)
		}
	}
}
