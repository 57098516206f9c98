package alltypes

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/btgen-dev/btgen/golden/testlong" // fewer cases of a property in a usual run
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// forEachTable runs a test for every table, all on one server.
func forEachTable(t *testing.T, f func(t *testing.T, client store.Client, l *store.Mapping[SampleEvent])) {
	bt := newServer(t)
	for _, l := range sampleMappings {
		t.Run(l.Table.ID, func(t *testing.T) { f(t, bt.Client, l) })
	}
}

// model is the expected content of a table for one series: the last event of each time.
type model map[int64]SampleEvent

// write adds an event.
func (m model) write(e SampleEvent) { m[e.Time.UnixNano()] = e }

// between returns the events with from <= time < to, in time order.
func (m model) between(from, to time.Time) []SampleEvent {
	var out []SampleEvent
	for _, e := range m {
		if !e.Time.Before(from) && e.Time.Before(to) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b SampleEvent) int { return a.Time.Compare(b.Time) })
	return out
}

// newEvents draws events of a series, some of the same time unless the table
// is append-only.
func newEvents(t *rapid.T, l *store.Mapping[SampleEvent], series SampleSeries) []SampleEvent {
	event := rapid.Custom(func(t *rapid.T) SampleEvent { return newEvent(t, series) })
	if l.Pattern == codec.BucketNewColumns {
		return rapid.SliceOfNDistinct(event, 0, 3, func(e SampleEvent) int64 { return e.Time.UnixNano() }).Draw(t, "events")
	}
	return rapid.SliceOfN(event, 0, 6).Draw(t, "events")
}

// newBound draws a bound of a range: at an event, next to one, or anywhere.
func newBound(t *rapid.T, events []SampleEvent, label string) time.Time {
	at := newTime(t)
	if len(events) > 0 && rapid.Bool().Draw(t, label+" at an event") {
		at = rapid.SampledFrom(events).Draw(t, label).Time
	}
	return at.Add(rapid.SampledFrom([]time.Duration{0, -1, 1, -time.Millisecond, time.Millisecond}).Draw(t, label+" shift"))
}

func TestRandomEventsAreReadBack(t *testing.T) {
	forEachTable(t, func(t *testing.T, client store.Client, l *store.Mapping[SampleEvent]) {
		w, r := layoutWriter(client, l), store.NewReader(client, l, options)
		rapid.Check(t, func(t *rapid.T) {
			series := newSeries(t)
			events := newEvents(t, l, series)
			m := model{}
			for _, e := range events {
				m.write(e)
			}
			cut := rapid.IntRange(0, len(events)).Draw(t, "cut")
			check(t, w.WriteAll(t.Context(), events[:cut], store.WriteOptions{LastWins: true}))
			check(t, w.WriteAll(t.Context(), events[cut:], store.WriteOptions{LastWins: true}))

			base := SampleEvent{SampleSeries: series}
			compare(t, l, m.between(start, end), all(t, r.Read(t.Context(), store.SeriesOf(base), start, end)))
			from, to := newBound(t, events, "from"), newBound(t, events, "to")
			if from.After(to) {
				from, to = to, from
			}
			compare(t, l, m.between(from, to), all(t, r.Read(t.Context(), store.SeriesOf(base), from, to)))

			latest, err := r.Latest(t.Context(), base)
			whole := m.between(start, end)
			if len(whole) == 0 {
				if !errors.Is(err, store.ErrNotFound) {
					t.Fatalf("Latest of nothing: %v", err)
				}
				return
			}
			check(t, err)
			compare(t, l, whole[len(whole)-1], latest)
		})
	})
}

// Times are read in UTC, regardless of the zone in which they were written.
func TestTimesAreReadInUTC(t *testing.T) {
	forEachTable(t, func(t *testing.T, client store.Client, l *store.Mapping[SampleEvent]) {
		zone := time.FixedZone("LMT", 1172)
		e := plain()
		e.Time, e.At, e.DefaultAt = e.Time.In(zone), e.At.In(zone), e.DefaultAt.In(zone)
		e.MaybeAt = &e.At
		check(t, layoutWriter(client, l).Write(t.Context(), e))
		got, err := store.NewReader(client, l, options).Latest(t.Context(), seriesOf(e))
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
	forEachTable(t, func(t *testing.T, client store.Client, l *store.Mapping[SampleEvent]) {
		e := rapid.Custom(func(t *rapid.T) SampleEvent { return newEvent(t, newSeries(t)) }).Example(1)
		check(t, layoutWriter(client, l).Write(t.Context(), e))
		base := SampleEvent{SampleSeries: e.SampleSeries}
		base.Since = e.Since.In(time.FixedZone("CET", 3600))
		base.Tag = slices.Clone(e.Tag)
		got := all(t, store.NewReader(client, l, options).Read(t.Context(), store.SeriesOf(base), start, end))
		if len(got) != 1 || got[0].Since != e.Since.UTC() {
			t.Fatal(got)
		}
		clear(base.Tag) // which is the caller's
		compare(t, l, []SampleEvent{e}, got)
	})
}
