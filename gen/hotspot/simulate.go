package hotspot

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The size of a picture; our judgment.
const (
	Steps = 48 // of time: half an hour each in a day
	Bands = 24 // of the key space

	halves    = 2 * Bands
	writers   = 1_000 // that represent the series
	stored    = 10    // keys per writer, divided evenly among the bands
	keyText   = 2e6   // bytes of keys in memory, from which writers are fewer
	usualDays = 30    // of stored data, if it is kept forever
)

// Seed is the default seed of simulations.
const Seed = 1

// Load is what hits a table.
type Load struct {
	layout.Load
	Seed uint64
	// Range is how far back keys are read: 0 for writes, and for reads of the newest events.
	Range time.Duration
	// New reports whether every series is new, so that the number at the beginning of the keys
	// grows like the time: the worst case of sequential IDs, as in [NewShare].
	New bool
}

// Share is the share of the load in the hottest part of the key space in each step, from 0 to 1. A part has as many keys as a band.
type Share struct {
	Mean float64 `json:"mean"` // weighted by the load of the steps
	Peak float64 `json:"peak"`
}

// Result is how a load spreads over the key space.
type Result struct {
	Hottest Share
	// Heat is the share of each band of the key space in the load of each step, from 0 to 1.
	// Bands hold equal parts of the data at the end.
	Heat  [Bands][Steps]float64
	Width time.Duration // of a step
}

// Simulate computes the keys that a load on a table hits in each step, and counts them in bands of the key space.
func Simulate(l *layout.Layout, t *layout.Table, load Load) Result {
	one := newSimulation(l, t, load, 1)
	key, _ := one.key(0, one.begin)
	s := newSimulation(l, t, load, min(writers, keyText/(stored*max(1, len(key)))))
	starts := s.halves()
	out, total := Result{Width: s.step}, 0.0
	for step := range Steps {
		var shares [halves]float64
		sum := 0.0
		s.each(step, func(key []byte, weight float64) {
			shares[halfOf(starts, key)] += weight
			sum += weight
		})
		if sum == 0 {
			continue
		}
		hottest := 0.0
		for i := range halves - 1 { // also a part that begins in the middle of a band
			share := (shares[i] + shares[i+1]) / sum
			if hottest = max(hottest, share); i%2 == 0 {
				out.Heat[i/2][step] = share
			}
		}
		arriving := s.arriving(step) * sum
		total += arriving
		out.Hottest.Mean += hottest * arriving
		if arriving > 0 {
			out.Hottest.Peak = max(out.Hottest.Peak, hottest)
		}
	}
	out.Hottest.Mean /= max(total, math.SmallestNonzeroFloat64)
	return out
}

// simulation computes the keys of writers.
type simulation struct {
	l          *layout.Layout
	t          *layout.Table
	load       Load
	writers    []writer
	begin      time.Time
	step       time.Duration
	sequential int     // the series value that grows like the time; -1 if none does
	newest     float64 // its value at the beginning
	perSecond  float64 // its growth
	buf        []byte  // of the last key
	values     codec.KeyValues
	event      time.Time // of the last key
}

// newSimulation returns a simulation with at most some writers.
func newSimulation(l *layout.Layout, t *layout.Table, load Load, most int) *simulation {
	s := &simulation{l: l, t: t, load: load, writers: population(nil, l, t, load.Load, load.Seed, most), sequential: -1}
	s.values.At = &s.event
	s.begin, s.step = window(t)
	if i := sequential(l, t, load.Load); i >= 0 && load.New {
		s.number(i)
	}
	first := slices.IndexFunc(t.Segments, func(g codec.Segment) bool {
		return g.Kind == codec.SeriesSegment && l.Series[g.Series].Type == schema.Timestamp
	})
	for i := range s.writers {
		w := &s.writers[i]
		w.series = value.Pointers(l, seriesValues(l, t, w.number, uint64(load.Series)), nil)
		if first >= 0 { // the time of the first event of a series
			w.series[t.Segments[first].Series] = &s.event
		}
	}
	return s
}

// key returns the row key of a writer's event, which is valid until the next call; false if a writer would refuse it.
func (s *simulation) key(writer int, at time.Time) ([]byte, bool) {
	w := &s.writers[writer]
	s.event, s.values.Series, s.values.Metric = at, w.series, &w.metric
	if i := s.sequential; i >= 0 {
		number := s.newest + at.Sub(s.begin).Seconds()*s.perSecond
		f := &s.l.Series[i]
		w.series[i] = value.Pointer(f, seriesValue(f, s.t.FormOf(i), uint64(max(0, number)), 1<<53))
	}
	key, err := s.t.AppendPart(s.buf[:0], 0, len(s.t.Segments), &s.values)
	s.buf = key
	return key, err == nil
}

// each calls f with the keys that the load hits in a step, and their weights.
func (s *simulation) each(step int, f func(key []byte, weight float64)) {
	at := s.middle(step)
	for i := range s.writers {
		_, fraction := math.Modf(float64(i+step) * 0.6180339887498949)
		when := at.Add(time.Duration((fraction - 0.5) * float64(s.step)))
		if s.load.Range > 0 {
			_, back := math.Modf(float64(i)*0.7548776662466927 + float64(step)*0.5698402909980532)
			when = when.Add(-time.Duration(back * float64(s.load.Range)))
		}
		if key, ok := s.key(i, when); ok {
			f(key, s.writers[i].weight)
		}
	}
}

// halves returns the starts of all halves of bands but the first, by the data at the end: keys of each writer at stratified times.
// Equal keys are in one half, so there may be fewer.
func (s *simulation) halves() (starts []string) {
	var keys []string
	end, age := s.begin.Add(Steps*s.step), s.kept()+Steps*s.step
	for i := range s.writers {
		for n := range stored {
			// The fractions of all writers together cover the time evenly.
			_, fraction := math.Modf(float64(i) * 0.6180339887498949)
			if key, ok := s.key(i, end.Add(-time.Duration((float64(n)+fraction)/stored*float64(age)))); ok {
				keys = append(keys, string(key))
			}
		}
	}
	slices.Sort(keys)
	for i := 1; i < halves && len(keys) > 0; i++ {
		if key := keys[i*len(keys)/halves]; key > keys[0] && (len(starts) == 0 || key > starts[len(starts)-1]) {
			starts = append(starts, key)
		}
	}
	return starts
}

// halfOf returns the half of a band that contains a key.
func halfOf(starts []string, key []byte) int {
	return sort.Search(len(starts), func(i int) bool { return starts[i] > string(key) })
}

// window returns the simulated time: a day or, if buckets are wide, four buckets.
func window(t *layout.Table) (begin time.Time, step time.Duration) {
	width := 24 * time.Hour
	bucketed := t.Pattern.Bucketed() && !t.Endless()
	if bucketed {
		width = max(width, 4*t.Bucket.Widest())
	}
	begin = sample.Time(t)
	if !bucketed {
		return begin, width / Steps
	}
	begin = t.Bucket.Start(begin)
	if end := t.Bucket.Max(); !begin.Add(width).Before(end) { // room for all steps, and for history
		begin = end.Add(-width)
	}
	return begin, width / Steps
}

// middle returns the middle of a step.
func (s *simulation) middle(step int) time.Time {
	return s.begin.Add(time.Duration(step)*s.step + s.step/2)
}

// arriving returns the load of a step, as a multiple of the average. Bursts are shorter than
// steps.
func (s *simulation) arriving(step int) float64 {
	if s.load.Arrival != schema.Daily || s.step >= 12*time.Hour {
		return 1
	}
	at := s.middle(step)
	hours := at.Sub(at.Truncate(24 * time.Hour)).Hours()
	return 1 + math.Sin((hours-10)/24*2*math.Pi) // highest at 16:00
}

// kept returns the age of the oldest data.
func (s *simulation) kept() time.Duration {
	_, kept := s.t.Ages()
	if kept == 0 {
		kept = usualDays * 24 * time.Hour
	}
	if !s.t.Endless() {
		kept = max(kept, 2*s.t.Bucket.Widest())
	}
	if s.t.Pattern.Bucketed() {
		kept = min(kept, s.begin.Sub(s.t.Bucket.Min()))
	}
	return kept
}

// number makes a series value grow like the time, by as many numbers per step as there are
// series. Those of stored data have as many digits, as far as possible: numbers without padding
// sort as text.
func (s *simulation) number(series int) {
	s.sequential, s.perSecond, s.newest = series, float64(s.load.Series)/s.step.Seconds(), 1e9
	for s.newest < 2*s.perSecond*s.kept().Seconds() && s.newest < 1e15 {
		s.newest *= 10
	}
}
