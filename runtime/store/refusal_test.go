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
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// keyed returns a mapping with one row per sample, whose key begins with a segment. Its maximum
// age is age, or unlimited if that is 0.
func keyed(id string, age time.Duration, first codec.Segment, times codec.TimeKind) *mappingOf[sample] {
	l := singles()
	key := codec.Key{Delimiter: "#", Segments: []codec.Segment{first, {Kind: codec.TimeSegment}}, Time: codec.TimeFormat{Kind: times}}
	l.Table.ID = id
	if age > 0 {
		l.Table.Families = []Family{aged("f.1", age)}
	}
	l.Put = func(e *sample, c *eventCells) {
		c.Row(key.Append(c.Buffer(), &codec.KeyValues{Series: []any{&e.Series, &e.Value}, At: &e.Time}))
		c.Set(0, codec.Binary.Uint64.Append(c.Cell(0), e.Value))
		if e.Note != nil {
			c.Set(1, e.Note)
		}
	}
	return l
}

// hexed returns keyed with a key that accepts any short series.
func hexed(id string, age time.Duration) *mappingOf[sample] {
	return keyed(id, age, codec.Segment{Name: "series", Form: codec.KeyForm{Encoding: codec.KeyHex}}, codec.UnixMicros)
}

// delimited returns keyed with a key that accepts no delimiter in a series.
func delimited(id string, age time.Duration) *mappingOf[sample] {
	return keyed(id, age, codec.Segment{Name: "series"}, codec.UnixMillis)
}

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

// TestOneTableRefusesForAll writes events with a value that one of several tables
// refuses. No table stores any part of such an event, and each has a failure with the
// reason. An event that is too old for a table is stored in the others, unless it has
// such a value.
func TestOneTableRefusesForAll(t *testing.T) {
	now := at(0).Add(48 * time.Hour)
	number := codec.Bucket{Every: 24 * time.Hour, Origin: day0, Label: codec.Label{Kind: codec.NumberLabel, Prefix: "d", Pad: 1}}
	refusing := map[string]*mappingOf[sample]{
		"delimiter":              delimited("t", 0),
		"delimiter, for an hour": delimited("t", time.Hour),
		"range":                  keyed("t", 0, codec.Segment{Name: "value", Type: codec.Uint64Segment, Series: 1, Form: codec.KeyForm{Encoding: codec.KeyDecimal, Pad: 2}}, codec.UnixMillis),
		"label":                  days(),
		"qualifier":              metrics(),
	}
	label := refusing["label"]
	label.Put = func(e *sample, c *eventCells) {
		key := codec.Key{Delimiter: "#", Bucket: number, Segments: []codec.Segment{{Form: codec.KeyForm{Encoding: codec.KeyHex}}, {Kind: codec.BucketSegment}}}
		c.Row(keyOf(&key, e))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
	}
	for _, c := range []struct {
		table string
		event sample
		want  error
	}{
		{"delimiter", sample{Series: "a#b", Time: at(1)}, codec.ErrDelimiter},
		{"delimiter, for an hour", sample{Series: "a#b", Time: now}, codec.ErrDelimiter},
		{"delimiter, for an hour", sample{Series: "a#b", Time: at(1)}, codec.ErrDelimiter}, // it is too old, too
		{"range", sample{Series: "a", Time: at(1), Value: 100}, codec.ErrRange},
		{"label", sample{Series: "a", Time: day0.Add(-1)}, codec.ErrTimeRange},
		{"label", sample{Series: "a", Time: day0.Add(9 * 24 * time.Hour)}, codec.ErrTimeRange},
		{"qualifier", sample{Series: "a", Time: at(1), Note: make([]byte, maxQualifier+1)}, codec.ErrTooLarge},
	} {
		for place := range 3 {
			for _, skip := range []bool{false, true} {
				mappings := slices.Insert([]*mappingOf[sample]{hexed("u", 0), hexed("v", time.Hour)}, place, refusing[c.table])
				rows := map[string]int{}
				w := newWriterOf(taken(rows), mappings, WriterOptions{Now: func() time.Time { return now }, SkipExpired: skip})
				name := fmt.Sprintf("%s, table %d, skip %v", c.table, place, skip)

				refused := func(how string, event int, err error) {
					t.Helper()
					var failed *WriteError
					if !errors.As(err, &failed) || !errors.Is(err, c.want) {
						t.Fatalf("%s: %s: %v", name, how, err)
					}
					tables := map[string]bool{}
					for _, f := range failed.Failures {
						if f.Index == event && f.Outcome == Refused && errors.Is(f.Err, c.want) {
							tables[f.Table] = true
						}
					}
					if len(tables) != 3 {
						t.Errorf("%s: %s: %v", name, how, err)
					}
				}
				refused("Write", 0, w.Write(t.Context(), c.event))
				b := newBatcherOf(w, func(event sample, err error) { t.Errorf("%s: %v: %v", name, event, err) })
				refused("Add", 0, b.Add(t.Context(), c.event))
				if err := b.Close(t.Context()); err != nil || len(rows) != 0 {
					t.Errorf("%s: sent %v, %v", name, rows, err)
				}
				good := sample{Series: "good", Time: now}
				refused("WriteAll", 1, w.WriteAll(t.Context(), []sample{good, c.event, {Series: "good too", Time: now, Value: 1}}))
				want := map[string]int{mappings[0].Table.ID: 2, mappings[1].Table.ID: 2, mappings[2].Table.ID: 2}
				if diff := cmp.Diff(want, rows); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		}
	}
}

// TestRefusedByName checks that the failure of a table that could have stored the event
// names the table that refused it.
func TestRefusedByName(t *testing.T) {
	err := newWriterOf(taken(map[string]int{}), []*mappingOf[sample]{hexed("any", 0), delimited("delimited", 0)}, WriterOptions{TablePrefix: "p_"}).Write(t.Context(), sample{Series: "a#b", Time: at(1)})
	want := `event not written; event 0, table p_any: refused by table p_delimited: series "a#b": key segment contains the delimiter; ` +
		`event 0, table p_delimited: series "a#b": key segment contains the delimiter`
	if err == nil || strings.TrimSpace(err.Error()) != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
