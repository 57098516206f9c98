package gen_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestSeriesOfOneTable deletes, in every way, events of a series that only one of two tables can
// store, as after a table with another delimiter was added: they go, and a series that no table
// can store is an error. Latest of a series that only the earlier layout can store finds none.
func TestSeriesOfOneTable(t *testing.T) {
	at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for i, tables := range []string{"first", "second"} {
		other := "  other: {pattern: bucket_new_cells, key: {delimiter: \"/\", segments: [site, unit, bucket]}, bucket: 1d, family: m, serves: false, ttl: {max_age: 3650d}}\n"
		own := "  own: {pattern: single_unserialized, since: 2026-06-01, key: {delimiter: \"/\", segments: [site, unit, time]}, family: m, ttl: {max_age: 3650d}, before: [{key: {delimiter: \"#\", segments: [site, unit, time]}, family: n}]}\n"
		both := [2]string{other + own, own + other}[i]
		l, b := start(t, fmt.Sprintf(`btgen: v1
package: app
name: Event%d
series: {site: string, unit: string}
time: {precision: 1s}
fields: {value: int64}
tables:
%squeries:
  BySite: {by: [site], delete: true}
`, i, both))
		e := dynamic.Event{Series: []any{"a/b", "u"}, Time: at, Values: []any{int64(7)}}
		all, writer := store.WriterOptions{}, l.NewWriter(b.Client, store.WriterOptions{Tables: []string{"own"}})
		series := dynamic.Event{Series: e.Series}
		given := dynamic.Values{"a/b"}
		for name, remove := range map[string]func(w *dynamic.Writer) (store.Deletion, error){
			"Delete": func(w *dynamic.Writer) (store.Deletion, error) {
				return w.Delete(t.Context(), []dynamic.Event{e})
			},
			"DeleteRange": func(w *dynamic.Writer) (store.Deletion, error) {
				return w.DeleteRange(t.Context(), store.SeriesOf(&series), at, at.Add(1))
			},
			"DeleteSeries": func(w *dynamic.Writer) (store.Deletion, error) {
				return w.DeleteAll(t.Context(), store.SeriesOf(&series))
			},
			"DeleteBySite": func(w *dynamic.Writer) (store.Deletion, error) {
				return l.Delete(t.Context(), w, dynamic.Query("BySite", given), at, at.Add(1))
			},
			"DeleteAllBySite": func(w *dynamic.Writer) (store.Deletion, error) {
				return l.DeleteAll(t.Context(), w, dynamic.Query("BySite", given))
			},
		} {
			must(t, writer.Write(t.Context(), e))
			d, err := remove(l.NewWriter(b.Client, all))
			if err != nil || d.Events() != 1 {
				t.Errorf("%s first, %s: %v, %v", tables, name, d, err)
			}
			if _, err := l.NewReader(b.Client).Latest(t.Context(), e.Series); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s first, %s: the latest event: %v", tables, name, err)
			}
		}
		nowhere := dynamic.Event{Series: []any{"a/b#", "u"}}
		_, err := l.NewWriter(b.Client, all).DeleteAll(t.Context(), store.SeriesOf(&nowhere))
		if _, refused := errors.AsType[*codec.FieldError](err); !refused {
			t.Errorf("%s first: a series that no table can store: %v", tables, err)
		}
	}
}
