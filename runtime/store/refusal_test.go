package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// keyed returns singles whose series have a form in keys: the empty one accepts no delimiter. age is unlimited if 0.
func keyed(id string, age time.Duration, form codec.KeyForm) *mappingOf[sample] {
	l := singles()
	segments := []codec.Segment{{Name: "series", Form: form}, {Kind: codec.TimeSegment}}
	key := codec.Key{Delimiter: "#", Segments: segments, Time: l.Key.Time}
	l.Table.ID = id
	if age > 0 {
		l.Table.Families = []Family{aged("f.1", age)}
	}
	l.Put = func(e *sample, c *eventCells) {
		c.Row(keyOf(&key, e))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
	}
	return l
}

// anySeries is a form that accepts any short series.
var anySeries = codec.KeyForm{Encoding: codec.KeyHex}

// taken returns a client that counts the rows sent to each table.
func taken(rows map[string]int) Client {
	return tableClient{noTables{}, func(table string, _ bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{
			apply: func(context.Context, string, *bigtable.Mutation) error {
				rows[table]++
				return nil
			},
			bulk: func(_ context.Context, keys []string, _ []*bigtable.Mutation) ([]error, error) {
				rows[table] += len(keys)
				return nil, nil
			},
		}
	}}
}

// TestOneTableRefusesForAll writes events that one of several tables refuses: no table stores them, and each has a
// failure with the reason. Events that are only too old for a table are stored in the others.
func TestOneTableRefusesForAll(t *testing.T) {
	now := at(0).Add(48 * time.Hour)
	refusing := map[string]*mappingOf[sample]{
		"delimiter": keyed("t", 0, codec.KeyForm{}), "delimiter, for an hour": keyed("t", time.Hour, codec.KeyForm{}),
		"qualifier": metrics(),
	}
	for _, c := range []struct {
		table string
		event sample
		want  error
	}{
		{"delimiter", sample{Series: "a#b", Time: at(1)}, codec.ErrDelimiter},
		{"delimiter, for an hour", sample{Series: "a#b", Time: now}, codec.ErrDelimiter},
		{"delimiter, for an hour", sample{Series: "a#b", Time: at(1)}, codec.ErrDelimiter}, // it is too old, too
		{"qualifier", sample{Series: "a", Time: at(1), Note: make([]byte, maxQualifier+1)}, codec.ErrTooLarge},
	} {
		for place := range 3 {
			for _, skip := range []bool{false, true} {
				others := []*mappingOf[sample]{keyed("u", 0, anySeries), keyed("v", time.Hour, anySeries)}
				mappings := slices.Insert(others, place, refusing[c.table])
				rows := map[string]int{}
				w := newWriterOf(taken(rows), mappings, WriterOptions{Now: func() time.Time { return now }, SkipExpired: skip})
				name := fmt.Sprintf("%s, table %d, skip %v", c.table, place, skip)

				refused := func(how string, event int, err error) {
					t.Helper()
					assert.Is(t, c.want, err, name, how)
					tables := map[string]bool{}
					for _, f := range asError[*WriteError](t, err, name, how).Failures {
						if f.Index == event && f.Outcome == Refused && errors.Is(f.Err, c.want) {
							tables[f.Table] = true
						}
					}
					assert.Same(t, 3, len(tables), name, how, err)
				}
				refused("Write", 0, w.Write(t.Context(), c.event))
				b := newBatcherOf(w, func(event sample, err error) { t.Errorf("%s: %v: %v", name, event, err) })
				refused("Add", 0, b.Add(t.Context(), c.event))
				must(t, b.Close(t.Context()))
				assert.Same(t, map[string]int{}, rows, name)
				good := sample{Series: "good", Time: now}
				refused("WriteAll", 1, w.WriteAll(t.Context(), []sample{good, c.event, {Series: "good too", Time: now, Value: 1}}))
				assert.Same(t, map[string]int{"u": 2, "v": 2, refusing[c.table].Table.ID: 2}, rows, name)
			}
		}
	}
}

// TestRefusedByName checks that a failure names the table that has refused the event.
func TestRefusedByName(t *testing.T) {
	tables := []*mappingOf[sample]{keyed("any", 0, anySeries), keyed("delimited", 0, codec.KeyForm{})}
	w := newWriterOf(taken(map[string]int{}), tables, WriterOptions{TablePrefix: "p_"})
	err := w.Write(t.Context(), sample{Series: "a#b", Time: at(1)})
	want := `event not written; event 0, table p_any: refused by table p_delimited: series "a#b": key segment contains the delimiter; ` +
		`event 0, table p_delimited: series "a#b": key segment contains the delimiter`
	same(t, want, strings.TrimSpace(fmt.Sprint(err)))
}
