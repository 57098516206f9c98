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

	bandStep  = 8     // how often the keys of a step count for the bands
	growth    = 3     // the most tablets, including those split by load, as a multiple
	hotTablet = 1.5   // times the even share, from which a tablet is split
	coldPair  = 0.5   // times the even share, below which two neighbors are merged
	writers   = 6_000 // that represent the series, so that a run has 288,000 keys
	adapting  = 4     // steps before, in which tablets are split by load
	history   = 4     // stored keys per writer
	keyText   = 8e6   // bytes of keys in memory, from which writers are fewer
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

	// Writers is the number of writers that represent the series; 0 for 6,000, or fewer if keys
	// are long.
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

// Hot reports whether the writes of a simulated load have a hotspot. Where even shares of all
// tablets, of which there are at most 400, are more than a node writes, it is as [Ends.Hot].
func (r *Result) Hot(l *layout.Layout, t *layout.Table, load layout.Load) bool {
	if r.Tablets == mostTablets && r.Tablet.Peak < 3.0/mostTablets {
		return EndsOf(l, t).Hot(t, load)
	}
	return Hot(t, load, r.Tablet.Peak)
}

// Simulator runs one load after another in the same memory: that of the longest keys. The zero
// value is ready for use.
type Simulator struct {
	writers []writer
	fixed   textList                   // the fixed runs of the keys of each writer
	varied  []any                      // values of each writer in the other runs
	keys    keyList                    // of stored data and some steps
	sorting []sortedKey                // the order of keys
	grouped []int                      // keys by tablet
	current stepLoad                   // of the last step
	early   [Steps / bandStep]stepLoad // of the steps that count for the bands
	places  [2][]int                   // of the keys of the last step: their tablets, and their bands
}

// Simulate is like the function of that name.
func (m *Simulator) Simulate(l *layout.Layout, t *layout.Table, load Load) Result {
	most := load.Writers
	if most == 0 {
		most = m.fitting(l, t, load)
	}
	s := newSimulation(m, l, t, load, most)
	s.storeKeys()
	s.tablets = tablets(t, load.Load)
	s.nodes = s.tablets / perNode
	s.starts = s.quantiles(&s.keys, s.tablets)
	s.sizes = make([]float64, len(s.starts))
	for i := range s.sizes {
		s.sizes[i] = 1
	}
	out := Result{Width: s.step, Tablets: s.tablets, Nodes: s.nodes}
	bands, tablets := places{starts: s.bands(), found: m.places[0]}, places{found: m.places[1]}
	for step := -adapting; step < 0; step++ {
		s.compute(step, &s.current)
		s.rebalance(s.sharesOf(&tablets, &s.current), &tablets, &s.current)
	}
	total := 0.0
	for step := range Steps {
		now := s.loadOf(step)
		if load.trace != nil {
			load.trace(step, s.middle(step), s.starts)
		}
		shares := s.sharesOf(&tablets, now)
		for i, band := range s.find(&now.keys, &bands) {
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
	m.places = [2][]int{bands.found, tablets.found}
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

// simulation is the state of [Simulator.Simulate].
type simulation struct {
	*Simulator
	l          *layout.Layout
	t          *layout.Table
	load       Load
	begin      time.Time
	step       time.Duration
	tablets    int // at the beginning
	nodes      int
	runs       []run           // of key segments
	sequential int             // the series value that grows like the time; -1 if none does
	newest     float64         // its value at the beginning
	perSecond  float64         // its growth
	fixedRuns  int             // number of fixed runs
	varying    []int           // series values in the runs that are not fixed
	first      int             // the one that is the time of the series' first event; -1 if none is
	ofTime     bool            // whether keys differ within a bucket
	buf        []byte          // of the last key
	other      []byte          // another one
	text       []byte          // of the last run
	values     codec.KeyValues // of the last key
	event      time.Time       // the time of the event with the last key
	starts     []string        // of the tablets, sorted; the first is empty
	sizes      []float64       // of the tablets, as multiples of those at the beginning
	node       []int           // of each tablet
}

// run is successive segments of the row key. Those of a fixed run have the same values in all keys
// of a writer.
type run struct {
	begin, end int // indexes of the segments
	fixed      bool
}

// newSimulation returns a simulation that has not begun.
func newSimulation(m *Simulator, l *layout.Layout, t *layout.Table, load Load, most int) *simulation {
	m.writers = population(m.writers[:0], l, t, load.Load, load.Seed, most)
	m.fixed.cut(0)
	m.varied = m.varied[:0]
	m.keys.empty()
	m.current.empty()
	s := &simulation{Simulator: m, l: l, t: t, load: load, first: -1, sequential: -1}
	s.begin, s.step = window(t)
	if i := sequential(l, t, load.Load); i >= 0 && load.New {
		s.number(i)
	}
	s.ofTime = !t.Pattern.Bucketed()
	for i, g := range t.Segments {
		if s.first < 0 && g.Kind == codec.SeriesSegment && l.Series[g.Series].Type == schema.Timestamp {
			s.first = g.Series
		}
		varying := s.varyingOf(g)
		fixed := !isTime(g) && varying == nil
		s.ofTime = s.ofTime || varying != nil
		s.varying = append(s.varying, varying...)
		if last := len(s.runs) - 1; last >= 0 && s.runs[last].fixed == fixed {
			s.runs[last].end = i + 1
			continue
		}
		s.runs = append(s.runs, run{i, i + 1, fixed})
		if fixed {
			s.fixedRuns++
		}
	}
	s.values = codec.KeyValues{At: &s.event}
	s.fix()
	return s
}

// fitting returns the number of writers whose keys fit in memory, by the keys of one of them.
func (m *Simulator) fitting(l *layout.Layout, t *layout.Table, load Load) int {
	s := newSimulation(m, l, t, load, 1)
	s.add(&s.keys, 0, s.begin)
	fixed := len(s.fixed.text) / len(s.writers)
	return min(writers, keyText/max(1, fixed+(1+history+Steps/bandStep)*len(s.keys.varied.text)))
}

// fix computes the fixed runs of the keys of all writers, and their values in the others.
func (s *simulation) fix() {
	number := uint64(math.MaxUint64)
	for i := range s.writers {
		w := &s.writers[i]
		if w.number != number {
			number = w.number
			s.values.Series = value.Pointers(s.l, seriesValues(s.l, s.t, number, uint64(s.load.Series)), s.values.Series[:0])
		}
		for _, f := range s.varying {
			s.varied = append(s.varied, s.values.Series[f])
		}
		s.values.Metric = &w.metric
		for _, r := range s.runs {
			if !r.fixed {
				continue
			}
			part, ok := s.write(r)
			w.rejected = w.rejected || !ok
			if i == 0 {
				s.fixed.grow(len(s.writers)*s.fixedRuns, part)
			}
			s.fixed.add(part)
		}
	}
}

// varyingOf returns the series values of a segment with values that differ between the keys of a
// writer, or nil if none does: a time is that of the series' first event, and a number grows if
// every series is new.
func (s *simulation) varyingOf(g codec.Segment) []int {
	series := g.Salted
	if g.Kind == codec.SeriesSegment {
		series = []int{g.Series}
	}
	if !slices.ContainsFunc(series, func(i int) bool {
		return s.l.Series[i].Type == schema.Timestamp || i == s.sequential
	}) {
		return nil
	}
	return series
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

// storeKeys computes the keys of the data before the window, some of each writer at stratified
// times.
func (s *simulation) storeKeys() {
	kept := s.kept()
	for i := range s.writers {
		for n := range history {
			// The fractions of all writers together cover the time evenly.
			_, fraction := math.Modf(float64(i) * 0.6180339887498949)
			age := time.Duration((float64(n) + fraction) / history * float64(kept))
			s.add(&s.keys, i, s.begin.Add(-age))
		}
	}
}

// vary sets the values of a writer's event in runs that are not fixed.
func (s *simulation) vary(writer int, at time.Time) {
	for n, i := range s.varying {
		f := &s.l.Series[i]
		switch {
		case i == s.first:
			s.values.Series[i] = &s.event
		case i == s.sequential:
			number := s.newest + at.Sub(s.begin).Seconds()*s.perSecond
			s.values.Series[i] = value.Pointer(f, seriesValue(f, s.t.FormOf(i), uint64(max(0, number)), 1<<53))
		default:
			s.values.Series[i] = s.varied[writer*len(s.varying)+n]
		}
	}
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

// write writes a run of a key with the present values. It reports false if a writer would
// reject them.
func (s *simulation) write(r run) ([]byte, bool) {
	part, err := s.t.AppendPart(s.text[:0], r.begin, r.end, &s.values)
	s.text = part[:0]
	return part, err == nil
}

// stepLoad is the keys that the load of a step hits, with their shares, and the total before
// normalization.
type stepLoad struct {
	keys    keyList
	weights []float64
	sum     float64
	bucket  time.Time // the bucket of all keys, if they have one
}

// empty removes all keys, but keeps the memory.
func (l *stepLoad) empty() {
	l.keys.empty()
	*l = stepLoad{keys: l.keys, weights: l.weights[:0]}
}

// loadOf returns the load of a step, which is valid until the next call.
func (s *simulation) loadOf(step int) *stepLoad {
	if step%bandStep == 0 {
		return &s.early[step/bandStep]
	}
	s.compute(step, &s.current)
	return &s.current
}

// compute sets the load of a step.
func (s *simulation) compute(step int, out *stepLoad) {
	at := s.middle(step)
	bucket := s.onlyBucket(at)
	if !bucket.IsZero() && bucket.Equal(out.bucket) {
		return // the keys are the same
	}
	out.empty()
	out.bucket = bucket
	for i := range s.writers {
		w := &s.writers[i]
		_, fraction := math.Modf(float64(i+step) * 0.6180339887498949)
		when := at.Add(time.Duration((fraction - 0.5) * float64(s.step)))
		if s.load.Range > 0 {
			_, back := math.Modf(float64(i)*0.7548776662466927 + float64(step)*0.5698402909980532)
			when = when.Add(-time.Duration(back * float64(s.load.Range)))
		}
		if s.add(&out.keys, i, when) {
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

// bands returns the starts of the bands of pictures, by the stored keys and those of some steps.
func (s *simulation) bands() []string {
	var ends [len(s.early)]int
	for i := range s.early {
		s.compute(i*bandStep, &s.current)
		weights := append(s.early[i].weights[:0], s.current.weights...)
		s.early[i] = stepLoad{weights: weights, sum: s.current.sum, bucket: s.current.bucket}
		s.keys.addAll(&s.current.keys)
		ends[i] = s.keys.len()
	}
	for i, end := range ends {
		s.early[i].keys = s.keys.part(end-len(s.early[i].weights), end)
	}
	return s.quantiles(&s.keys, Bands)
}

// sharesOf returns the share of each tablet, and sets where the keys are.
func (s *simulation) sharesOf(tablets *places, now *stepLoad) []float64 {
	tablets.starts = s.starts
	out := make([]float64, len(s.starts))
	for i, tablet := range s.find(&now.keys, tablets) {
		out[tablet] += now.weights[i]
	}
	return out
}

// rebalance changes tablets for the next step: it splits hot ones at the median key of their
// load, merges cold neighbors that were split, and spreads the tablets over the
// nodes by their load, the largest first.
func (s *simulation) rebalance(shares []float64, tablets *places, now *stepLoad) {
	if s.split(shares, tablets.found, now) {
		shares = s.sharesOf(tablets, now)
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
	var starts []string
	var sizes []float64
	end, room := s.group(tablets), growth*s.tablets-len(s.starts)
	for tablet, start := range s.starts {
		starts, sizes = append(starts, start), append(sizes, s.sizes[tablet])
		in := s.grouped[:end[tablet]]
		if tablet > 0 {
			in = in[end[tablet-1]:]
		}
		if len(in) == 0 || shares[tablet] <= hotTablet/float64(s.tablets) || room == 0 {
			continue
		}
		if middle := s.median(now, in, shares[tablet]); middle > start {
			half := s.sizes[tablet] / 2
			sizes[len(sizes)-1] = half
			starts, sizes = append(starts, middle), append(sizes, half)
			room--
		}
	}
	changed := len(starts) > len(s.starts)
	s.starts, s.sizes = starts, sizes
	return changed
}

// median returns the median key of a tablet's load, by its keys and their share, or the next one
// after the first row, which cannot be split. It is empty if there is no other.
func (s *simulation) median(now *stepLoad, in []int, share float64) string {
	sum, sorted := 0.0, s.sort(&now.keys, in)
	first := string(s.at(&now.keys, sorted[0].index, s.buf))
	for _, k := range sorted {
		if sum += now.weights[k.index]; sum < share/2 {
			continue
		}
		if s.buf = s.at(&now.keys, k.index, s.buf); string(s.buf) > first {
			return string(s.buf)
		}
	}
	return ""
}

// group groups keys by their tablets, and returns where the group of each tablet ends.
func (s *simulation) group(tablets []int) (end []int) {
	s.grouped = slices.Grow(s.grouped[:0], len(tablets))[:len(tablets)]
	end = make([]int, len(s.starts)+1)
	for _, tablet := range tablets {
		end[tablet+1]++
	}
	for i := range s.starts {
		end[i+1] += end[i]
	}
	for i, tablet := range tablets {
		s.grouped[end[tablet]] = i
		end[tablet]++
	}
	return end
}

// merge merges cold neighbors up to the size that tablets have at first, and returns the shares of
// the remaining ones.
func (s *simulation) merge(shares []float64) []float64 {
	for i := 0; i+1 < len(shares); {
		if s.sizes[i]+s.sizes[i+1] > 1 || shares[i]+shares[i+1] >= coldPair/float64(s.tablets) {
			i++
			continue
		}
		shares[i] += shares[i+1]
		s.sizes[i] += s.sizes[i+1]
		shares = slices.Delete(shares, i+1, i+2)
		s.starts = slices.Delete(s.starts, i+1, i+2)
		s.sizes = slices.Delete(s.sizes, i+1, i+2)
	}
	return shares
}
