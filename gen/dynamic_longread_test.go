package gen_test

import (
	"errors"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestLongRead reads events that become too old during the read, so that only newer ones, which may be after the range, tell
// whether they are kept. The read does not leave them out without a word.
func TestLongRead(t *testing.T) {
	s := dynamic.New(dynamictest.Resolve(t, []byte(`{btgen: v1, package: p, name: E, series: {host: string}, time: {precision: 1h}, fields: {v: int64}, tables: {
  a: {pattern: bucket_new_cells, bucket: 1d, key: {delimiter: "#", segments: [host, bucket]}, family: m, ttl: {all_of: [{max_age: 30d}, {max_versions: 1}]}}}}`)))
	bt := dynamictest.Start(t, s)
	day := time.Now().UTC().Truncate(24 * time.Hour)
	var now time.Time
	var passes time.Duration
	o := store.ReaderOptions{Now: func() time.Time { now = now.Add(passes); return now.Add(-passes) }}
	for h := range 3 {
		e := dynamic.Event{Series: []any{"eu"}, Time: day.Add(time.Duration(h) * time.Hour), Values: []any{int64(h)}}
		assert.Must(t, s.NewWriter(bt.Client, store.WriterOptions{}).Write(t.Context(), e))
	}
	for _, c := range []struct {
		passes time.Duration
		hours  int
		events int
		err    error
	}{
		{0, 2, 2, nil}, {0, 24, 3, nil}, {40 * 24 * time.Hour, 24, 1, nil}, {40 * 24 * time.Hour, 2, 0, store.ErrLongRead},
	} {
		n, failed := 0, error(nil)
		now, passes = day.Add(23*time.Hour), c.passes
		for _, err := range s.NewReader(bt.Client, o).Read(t.Context(), dynamic.Series([]any{"eu"}), day, day.Add(time.Duration(c.hours)*time.Hour)) {
			if failed = errors.Join(failed, err); err == nil {
				n++
			}
		}
		if n != c.events || !errors.Is(failed, c.err) {
			t.Errorf("%+v: %d events, %v", c, n, failed)
		}
	}
}
