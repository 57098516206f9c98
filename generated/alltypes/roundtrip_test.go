package alltypes

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/btgen-dev/btgen/golden/testlong" // fewer cases of a property in a usual run
	"github.com/btgen-dev/btgen/runtime/store"
)

// forEachTable runs a test for every table, all on one server.
func forEachTable(t *testing.T, f func(t *testing.T, client store.Client, l *store.Mapping)) {
	bt := newServer(t)
	for _, l := range sampleMappings {
		t.Run(l.Table.ID, func(t *testing.T) { f(t, bt.Client, l) })
	}
}

// Times are read in UTC, regardless of the zone in which they were written.
func TestTimesAreReadInUTC(t *testing.T) {
	forEachTable(t, func(t *testing.T, client store.Client, l *store.Mapping) {
		zone := time.FixedZone("LMT", 1172)
		e := plain()
		e.Time, e.At, e.DefaultAt = e.Time.In(zone), e.At.In(zone), e.DefaultAt.In(zone)
		e.MaybeAt = &e.At
		check(t, layoutWriter(client, l).Write(t.Context(), e))
		got, err := readLatest(client, l, e)
		check(t, err)
		for name, at := range map[string]time.Time{"Time": got.Time, "At": got.At, "MaybeAt": *got.MaybeAt, "DefaultAt": got.DefaultAt} {
			if at.Location() != time.UTC {
				t.Errorf("%s is in zone %s", name, at.Location())
			}
		}
		compare(t, l, e, got)
	})
}

// Parsing a key returns the values that it was built from.
func TestKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := newSeries(t), newTime(t)
		bucket := SampleCellsKey{s.Site, s.Sensor, s.Channel, s.Slot, s.Serial, s.Unit, s.Kind, s.Active, s.Tag, s.Since, s.Interval, at}
		row, err := bucket.Append(nil)
		check(t, err)
		parsed, err := ParseSampleCellsKey(string(row))
		check(t, err)
		bucket.Bucket = at.Truncate(24 * time.Hour)
		compare(t, sampleCellsMapping, bucket, parsed)

	})
}

// The series of an event is that of its key, even if the reader was given a different
// value with the same key.
func TestSeriesComeFromKeys(t *testing.T) {
	forEachTable(t, func(t *testing.T, client store.Client, l *store.Mapping) {
		e := rapid.Custom(func(t *rapid.T) SampleEvent { return newEvent(t, newSeries(t)) }).Example(1)
		check(t, layoutWriter(client, l).Write(t.Context(), e))
		base := SampleEvent{SampleSeries: e.SampleSeries}
		base.Since = e.Since.In(time.FixedZone("CET", 3600))
		base.Tag = slices.Clone(e.Tag)
		got := all(t, readTable(t, client, l, base))
		if len(got) != 1 || got[0].Since != e.Since.UTC() {
			t.Fatal(got)
		}
		clear(base.Tag) // which is the caller's
		compare(t, l, []SampleEvent{e}, got)
	})
}
