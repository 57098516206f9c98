package hotspot

import (
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The model; our judgment, since Google publishes no figures. Bigtable splits a table into
// tablets by size and load, and moves tablets between nodes:
// https://cloud.google.com/bigtable/docs/overview#load-balancing
const (
	fewTablets  = 20  // at the beginning, of equal size; more if their even share is over half a node
	mostTablets = 400 // at the beginning
	perNode     = 4   // tablets, so that a node has some to give away
	Steps       = 48  // of time: half an hour each in a day
	Bands       = 24  // of the key space, in pictures

	growth    = 3     // the most tablets, including those split by load, as a multiple
	hotTablet = 1.5   // times the even share, from which a tablet is split
	coldPair  = 0.5   // times the even share, below which two neighbors are merged
	writers   = 6_000 // that represent the series, so that a run has 288,000 keys
	history   = 4     // stored keys per writer
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
	// New reports whether every series is new, so that numbers in keys grow like the time:
	// the worst case of sequential IDs.
	New bool

	// Writers is the number of writers that represent the series; 0 for 6,000.
	Writers int

	trace func(step int, at time.Time, starts []string) // called with the tablets of each step
}

// Share is the share of the load in the hottest place of each step, from 0 to 1.
type Share struct {
	Mean float64 `json:"mean"` // weighted by the load of the steps
	Peak float64 `json:"peak"`
}

// Result is the outcome of a simulation.
type Result struct {
	Tablet Share // of the hottest tablet
	Node   Share // of the hottest node
	// Last is the share of the last tablet.
	Last    Share
	Tablets int // at the beginning
	Nodes   int
	// Heat is the share of each band of the key space in the load of each step, from 0 to 1.
	// Bands hold equal parts of the data and of the keys in the simulated time.
	Heat  [Bands][Steps]float64
	Width time.Duration // of a step
}

// OfEven returns the mean share in the hottest of some places as a multiple of the even share.
func (s Share) OfEven(places int) float64 { return s.Mean * float64(places) }

// Simulate runs a load on a table without errors. It is deterministic.
func Simulate(l *layout.Layout, t *layout.Table, load Load) Result {
	most := load.Writers
	if most == 0 {
		most = writers
	}
	s := newSimulation(l, t, load, most)
	s.stored = s.storedKeys()
	s.tablets = min(mostTablets, max(fewTablets, int(2*Total(t, load.Load)/NodeWrites)))
	s.nodes = s.tablets / perNode
	s.starts = quantiles(&s.stored, s.tablets)
	s.node = make([]int, s.tablets)
	for i := range s.node {
		s.node[i] = i % s.nodes
	}
	out := Result{Width: s.step, Tablets: s.tablets, Nodes: s.nodes}
	bands := places{starts: s.bands()}
	s.stored = keyList{}
	tablets := places{}
	total := 0.0
	for step := range Steps {
		now := s.loadOf(step)
		if load.trace != nil {
			load.trace(step, s.at(step), s.starts)
		}
		tablets.starts = s.starts
		shares := s.sharesOf(tablets.of(&now.keys), now.weights)
		for i, band := range bands.of(&now.keys) {
			out.Heat[band][step] += now.weights[i]
		}
		nodes := make([]float64, s.nodes)
		for i, share := range shares {
			nodes[s.node[i]] += share
		}
		arriving := s.arriving(step) * now.sum
		total += arriving
		out.Tablet.add(slices.Max(shares), arriving)
		out.Node.add(slices.Max(nodes), arriving)
		out.Last.add(shares[len(shares)-1], arriving)
		s.rebalance(shares, &tablets, now)
	}
	for _, share := range []*Share{&out.Tablet, &out.Node, &out.Last} {
		share.Mean /= max(total, math.SmallestNonzeroFloat64)
	}
	return out
}

// add adds the share of a step with some load.
func (s *Share) add(share, load float64) {
	if load > 0 {
		s.Mean += share * load
		s.Peak = max(s.Peak, share)
	}
}

// simulation is the state of Simulate.
type simulation struct {
	l       *layout.Layout
	t       *layout.Table
	load    Load
	writers []writer
	stored  keyList // keys of stored data, sorted
	begin   time.Time
	step    time.Duration
	tablets int // at the beginning
	nodes   int
	runs    []run           // of key segments
	ofTime  bool            // whether keys differ within a bucket
	buf     []byte          // of the last key
	text    []byte          // of the last run
	part    codec.KeyWriter // of the last run
	series  []any           // of the last key
	starts  []string        // of the tablets, sorted; the first is empty
	node    []int           // of each tablet

	computed map[int]*stepLoad // of some steps
	current  *stepLoad         // of the last step
	sorting  []sortedKey       // memory for sorting
}

// run is successive segments of the row key. Those of a fixed run have the same values in all keys
// of a writer.
type run struct {
	segments []layout.Segment
	fixed    bool
}

// newSimulation returns a simulation that has not begun.
func newSimulation(l *layout.Layout, t *layout.Table, load Load, most int) *simulation {
	s := &simulation{l: l, t: t, load: load, writers: population(l, t, load.Load, load.Seed, most), computed: map[int]*stepLoad{}}
	s.begin, s.step = window(t)
	s.ofTime = !t.Pattern.Bucketed()
	for _, g := range t.Segments {
		fixed := !isTime(g) && !s.varies(g)
		s.ofTime = s.ofTime || s.varies(g)
		if last := len(s.runs) - 1; last >= 0 && s.runs[last].fixed == fixed {
			s.runs[last].segments = append(s.runs[last].segments, g)
		} else {
			s.runs = append(s.runs, run{[]layout.Segment{g}, fixed})
		}
	}
	return s
}

// varies reports whether a segment depends on series values that differ between the keys of a
// writer: a time is that of the series' first event, and a number grows if every series is new.
func (s *simulation) varies(g layout.Segment) bool {
	series := g.Salted
	if g.Kind == layout.SeriesSegment {
		series = []int{g.Series}
	}
	return slices.ContainsFunc(series, func(i int) bool {
		return s.l.Series[i].Type == schema.Timestamp || s.load.New && isInteger(&s.l.Series[i])
	})
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

// at returns the middle of a step.
func (s *simulation) at(step int) time.Time {
	return s.begin.Add(time.Duration(step)*s.step + s.step/2)
}

// arriving returns the load of a step, as a multiple of the average. Bursts are shorter than
// steps.
func (s *simulation) arriving(step int) float64 {
	if s.load.Arrival != schema.Daily || s.step >= 12*time.Hour {
		return 1
	}
	at := s.at(step)
	hours := at.Sub(at.Truncate(24 * time.Hour)).Hours()
	return 1 + math.Sin((hours-10)/24*2*math.Pi) // highest at 16:00
}

// storedKeys returns keys of the data before the window, some of each writer at stratified
// times.
func (s *simulation) storedKeys() keyList {
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
	out := newKeyList(history*len(s.writers), 64)
	for i := range s.writers {
		w := &s.writers[i]
		for n := range history {
			// The fractions of all writers together cover the time evenly.
			_, fraction := math.Modf(float64(i) * 0.6180339887498949)
			age := time.Duration((float64(n) + fraction) / history * float64(kept))
			out.add(s.key(w, s.begin.Add(-age)))
		}
	}
	return out.sorted(s.sort(&out, nil))
}

// key returns the row key of a writer's event, or an empty one if the event has none. The next
// call overwrites it.
func (s *simulation) key(w *writer, at time.Time) []byte {
	if s.ofTime {
		return s.newKey(w, at)
	}
	if start := s.t.Bucket.Start(at); w.last == nil || !start.Equal(w.bucket) {
		w.last, w.bucket = append(w.last[:0], s.newKey(w, at)...), start
	}
	return w.last
}

// newKey computes the row key of a writer's event.
func (s *simulation) newKey(w *writer, at time.Time) []byte {
	k := w.key
	k.At = at
	if s.load.New {
		k.Series = s.newSeries(w, at)
	}
	for _, g := range s.t.Segments {
		if g.Kind == layout.SeriesSegment && s.l.Series[g.Series].Type == schema.Timestamp {
			s.series = append(s.series[:0], k.Series...)
			k.Series = s.series
			k.Series[g.Series] = at
			break
		}
	}
	first := w.fixed == nil
	var parts [][]byte
	key := s.buf[:0]
	for i, r := range s.runs {
		if i > 0 {
			key = append(key, s.t.Delimiter...)
		}
		if r.fixed && !first {
			key = append(key, w.fixed[i]...)
			continue
		}
		part, ok := s.write(r.segments, &k)
		if !ok {
			return nil
		}
		key = append(key, part...)
		if first {
			parts = append(parts, slices.Clone(part))
		}
	}
	if first {
		w.fixed = parts
	}
	s.buf = key
	return key
}

// write writes some segments of a key. It reports false if a writer would reject them.
func (s *simulation) write(segments []layout.Segment, k *value.Key) ([]byte, bool) {
	s.part = codec.NewKeyWriter(s.text[:0], s.t.Delimiter)
	value.WriteSegments(s.l, s.t, &s.part, segments, k)
	part, err := s.part.Key()
	s.text = part[:0]
	return part, err == nil
}

// newSeries returns the values of the series that a writer begins at some time: integers are
// consecutive in time.
func (s *simulation) newSeries(w *writer, at time.Time) []any {
	out := slices.Clone(w.key.Series)
	number := uint64(1e9+at.Sub(s.begin).Seconds()*100) + w.number%100
	for i := range s.l.Series {
		if f := &s.l.Series[i]; isInteger(f) {
			out[i] = seriesValue(f, s.t.FormOf(i), number, 1<<53)
		}
	}
	return out
}

// stepLoad is the keys that the load of a step hits, with their shares, and the total before
// normalization.
type stepLoad struct {
	keys    keyList
	weights []float64
	sum     float64
	bucket  time.Time // the bucket of all keys, if they have one
}

// newLoad returns a load without keys.
func (s *simulation) newLoad() *stepLoad {
	return &stepLoad{keys: newKeyList(len(s.writers), len(s.buf)), weights: make([]float64, 0, len(s.writers))}
}

// loadOf returns the load of a step, which is valid until the next call.
func (s *simulation) loadOf(step int) *stepLoad {
	if have, computed := s.computed[step]; computed {
		s.current = have
		delete(s.computed, step)
		return have
	}
	s.compute(step, s.current)
	return s.current
}

// compute sets the load of a step.
func (s *simulation) compute(step int, out *stepLoad) {
	at := s.at(step)
	bucket := s.onlyBucket(at)
	if !bucket.IsZero() && bucket.Equal(out.bucket) {
		return // the keys are the same
	}
	*out = stepLoad{keys: out.keys.emptied(), weights: out.weights[:0], bucket: bucket}
	for i := range s.writers {
		w := &s.writers[i]
		_, fraction := math.Modf(float64(i+step) * 0.6180339887498949)
		when := at.Add(time.Duration((fraction - 0.5) * float64(s.step)))
		if s.load.Range > 0 {
			_, back := math.Modf(float64(i)*0.7548776662466927 + float64(step)*0.5698402909980532)
			when = when.Add(-time.Duration(back * float64(s.load.Range)))
		}
		if key := s.key(w, when); len(key) > 0 {
			out.keys.add(key)
			out.weights = append(out.weights, w.weight)
			out.sum += w.weight
		}
	}
	for i := range out.weights {
		out.weights[i] /= out.sum
	}
}

// onlyBucket returns the bucket of all keys of the step around a time; zero if there are several.
func (s *simulation) onlyBucket(at time.Time) time.Time {
	if s.ofTime || s.load.Range > 0 {
		return time.Time{}
	}
	first, last := s.t.Bucket.Start(at.Add(-s.step/2)), s.t.Bucket.Start(at.Add(s.step/2))
	if !first.Equal(last) {
		return time.Time{}
	}
	return first
}

// bands returns the starts of the bands of pictures.
func (s *simulation) bands() []string {
	all := newKeyList(s.stored.len()+Steps/8*len(s.writers), len(s.buf))
	all.addAll(&s.stored)
	for step := 0; step < Steps; step += 8 {
		load := s.newLoad()
		s.compute(step, load)
		all.addAll(&load.keys)
		s.computed[step] = load
	}
	sorted := all.sorted(s.sort(&all, nil))
	out := quantiles(&sorted, Bands)
	return out[:min(len(out), Bands)]
}

// sharesOf returns the share of each tablet.
func (s *simulation) sharesOf(tablets []int, weights []float64) []float64 {
	out := make([]float64, len(s.starts))
	for i, tablet := range tablets {
		out[tablet] += weights[i]
	}
	return out
}

// rebalance changes tablets for the next step: it splits hot ones at the median key of their
// load, merges cold neighbors beyond the original number, and spreads the tablets over the
// nodes by their load, the largest first.
func (s *simulation) rebalance(shares []float64, tablets *places, now *stepLoad) {
	if s.split(shares, tablets.found, now) {
		tablets.starts = s.starts
		shares = s.sharesOf(tablets.of(&now.keys), now.weights)
	}
	shares = s.merge(shares)
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case shares[a] > shares[b]:
			return -1
		case shares[a] < shares[b]:
			return 1
		}
		return 0
	})
	loads, counts := make([]float64, s.nodes), make([]int, s.nodes)
	s.node = make([]int, len(shares))
	for _, i := range order {
		least := 0
		for n := range s.nodes {
			if loads[n] < loads[least] || loads[n] == loads[least] && counts[n] < counts[least] {
				least = n
			}
		}
		s.node[i] = least
		loads[least] += shares[i]
		counts[least]++
	}
}

// split splits hot tablets, and reports whether there were any.
func (s *simulation) split(shares []float64, tablets []int, now *stepLoad) bool {
	hot := map[int][]int{} // keys of hot tablets
	for i, tablet := range tablets {
		if shares[tablet] > hotTablet/float64(s.tablets) {
			hot[tablet] = append(hot[tablet], i)
		}
	}
	starts := slices.Clone(s.starts)
	for tablet := range s.starts {
		in := hot[tablet]
		if in == nil || len(starts) >= growth*s.tablets {
			continue
		}
		sum := 0.0
		sorted := s.sort(&now.keys, in)
		for _, k := range sorted {
			if sum += now.weights[k.index]; sum >= shares[tablet]/2 {
				if middle := string(now.keys.at(k.index)); middle > s.starts[tablet] && middle > string(now.keys.at(sorted[0].index)) {
					starts = append(starts, middle)
				}
				break
			}
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	changed := len(starts) > len(s.starts)
	s.starts = starts
	return changed
}

// merge merges cold neighbors while there are more tablets than at first, and returns the
// shares of the remaining ones.
func (s *simulation) merge(shares []float64) []float64 {
	for i := 0; i+1 < len(shares) && len(shares) > s.tablets; {
		if shares[i]+shares[i+1] < coldPair/float64(s.tablets) {
			shares[i] += shares[i+1]
			shares = slices.Delete(shares, i+1, i+2)
			s.starts = slices.Delete(s.starts, i+1, i+2)
		} else {
			i++
		}
	}
	return shares
}
