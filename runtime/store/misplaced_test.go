package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// TestMisplacedRows copies the row of a series to a key that the writer would not give it, and that the
// reader of keys accepts: a scan reports the row, and a backfill fails, or counts it and does not copy it.
func TestMisplacedRows(t *testing.T) {
	lax := func(l *mappingOf[sample]) *mappingOf[sample] {
		return adjusted(l, func(m *mapping) {
			parser := m.parser
			m.parser = func(e event) func(row string) (time.Time, error) {
				parse := parser(e)
				return func(row string) (time.Time, error) { return parse(strings.TrimPrefix(row, "7")) }
			}
		})
	}
	r := refillOf(t, lax(singles()), days(), sample{Series: "s", Time: at(1), Value: 5}, sample{Series: "t", Time: at(1), Value: 6})
	m := bigtable.NewMutation()
	m.Set("f.1", "v.1", bigtable.Time(at(1)), codec.Binary.Uint64.Append(nil, 5))
	must(t, r.Client.Open("singles").Apply(t.Context(), fmt.Sprintf("7s#%013d", at(1).UnixMilli()), m))
	scanner, err := newScannerOf(r.Client, r.mappings[:1], "singles")
	must(t, err)
	events, misplaced := 0, 0
	for row, err := range scanner.Rows(t.Context(), KeyRange{}, time.Time{}, scan.MaxTime) {
		if errors.Is(err, ErrMisplaced) {
			misplaced++
		} else if must(t, err); true {
			events += len(row.Events)
		}
	}
	if events != 2 || misplaced != 1 {
		t.Errorf("%d events, %d misplaced rows", events, misplaced)
	}
	if _, err := backfillOf(t.Context(), r.Client, r.mappings, r.options); !errors.Is(err, ErrMisplaced) {
		t.Error(err)
	}
	r.options.SkipUndecodable = true
	got, err := backfillOf(t.Context(), r.Client, r.mappings, r.options)
	if err != nil || got.Events != 2 || got.Undecodable != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
