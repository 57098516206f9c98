package store

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// BenchmarkNewestOfAll reads the newest event of each of several series (BTGEN_SERIES, or 500), with an event an
// hour for a week in rows of hours: from a table of states, and from the events. Cells are those that the
// server sends.
func BenchmarkNewestOfAll(b *testing.B) {
	series, _ := strconv.Atoi(cmp.Or(os.Getenv("BTGEN_SERIES"), "500"))
	const hours = 7 * 24
	now := nowRow()
	all := days()
	hour := codec.Bucket{Every: time.Hour, Label: codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02T15"}}}
	all.Key.Bucket, all.State = hour, now
	all.Put = func(e *sample, c *Cells) {
		w := codec.NewKeyWriter(nil, "#")
		w.String("series", codec.KeyForm{}, e.Series)
		w.Bucket(hour, e.Time)
		c.Row(w.Key())
		c.Set(0, codec.AppendBinaryUint64(nil, e.Value))
	}
	mappings := []*Mapping[sample]{all, now}
	s := storetest.New(b, func(ctx context.Context, t *storetest.Bigtable) error { return SetUp(ctx, t, "", Tables(mappings)) })
	w := NewWriter(s.Client, mappings)
	for i := range series {
		var events []sample
		for n := range hours {
			events = append(events, sample{Series: fmt.Sprintf("s%05d", i), Time: at(3600 * n), Value: uint64(n)})
		}
		if err := w.WriteAll(b.Context(), events); err != nil {
			b.Fatal(err)
		}
	}
	search := *all
	search.State = nil
	clock := ReaderOptions{Now: func() time.Time { return at(3600 * hours) }}
	for _, of := range []struct {
		name    string
		mapping *Mapping[sample]
	}{{"search", &search}, {"row", all}} {
		for _, from := range []time.Time{at(0), at(3600 * (hours - 24))} {
			b.Run(fmt.Sprintf("%s/since=%s", of.name, at(3600*hours).Sub(from)), func(b *testing.B) {
				cells := 0
				client := fakeClient{s.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
					return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
						return api.ReadRows(ctx, set, func(row bigtable.Row) bool {
							for _, items := range row {
								cells += len(items)
							}
							return f(row)
						}, opts...)
					}}
				}}
				r := NewReader(client, of.mapping, clock)
				q := Query[sample]{Name: "All"}
				for b.Loop() {
					n := 0
					for _, err := range r.Read(b.Context(), q.Bind(sample{}), from, at(3600*hours+1), ReadOptions{LatestOnly: true}) {
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
					if n != series {
						b.Fatalf("%d series", n)
					}
				}
				b.ReportMetric(float64(cells)/float64(b.N), "cells/op")
			})
		}
	}
}
