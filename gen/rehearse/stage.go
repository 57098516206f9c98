package rehearse

import (
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// stage is what all epochs of a rehearsal have in common: where time is cut, and what was seen and done.
type stage struct {
	starts []time.Time      // of periods of event times; the first has no beginning
	lives  []codec.Lifetime // those that end, each once
	stamps []codec.Lifetime // how cells are written, each once
	after  []ages           // the lives that have ended when the one with the index has
	widths []time.Duration  // of windows
	absent []string         // IDs of all fields that events of some program may lack

	acts []act
	said []string // of each act, in words

	places numbered[place]
	values numbered[string] // of cells
	ids    map[string]int   // of states
	states []*state
}

// numbered are values, each of which has a number.
type numbered[T comparable] struct {
	numbers map[T]int32
	all     []T
}

// number returns the number of a value.
func (t *numbered[T]) number(v T) int32 {
	n, known := t.numbers[v]
	if !known {
		if t.numbers == nil {
			t.numbers = map[T]int32{}
		}
		n = int32(len(t.all))
		t.numbers[v], t.all = n, append(t.all, v)
	}
	return n
}

// ages is a set of lives that have ended, as bits.
type ages uint32

// place is where a cell is.
type place struct{ table, rows, family, column string }

// maxLives is how many times to live a rehearsal tells apart. Any more are taken for the last of these.
const maxLives = 31

// newStage returns the stage for an epoch and all before it.
func newStage(e *Epoch) *stage {
	s := &stage{starts: []time.Time{{}}, stamps: []codec.Lifetime{{}}, ids: map[string]int{}}
	cells := map[[2]string]*written{}
	walk(e, map[*Epoch]bool{}, func(e *Epoch) { s.collect(e, cells) })
	for _, key := range slices.SortedFunc(maps.Keys(cells), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		for _, r := range cells[key].rules {
			for _, l := range cells[key].by {
				s.live(r.of(l))
			}
		}
	}
	slices.SortFunc(s.starts, time.Time.Compare)
	s.starts = slices.CompactFunc(s.starts, time.Time.Equal)
	if len(s.widths) > 0 { // one that has events of several windows of each rollup
		widest := slices.Max(s.widths)
		wide := widest
		for _, w := range s.widths {
			for wide%w != 0 {
				wide += widest
			}
		}
		s.widths = append(s.widths, 2*wide)
	}
	slices.Sort(s.widths)
	s.widths = slices.Compact(s.widths)
	s.order()
	s.acts = []act{erase, rewrite}
	if s.widths != nil {
		s.acts = append(s.acts, touch, seal)
	}
	for i := range s.lives {
		s.acts = append(s.acts, act(i))
	}
	for _, a := range s.acts {
		s.said = append(s.said, s.describe(a))
	}
	return s
}

// collect adds the times, the lives and the optional fields of an epoch.
func (s *stage) collect(e *Epoch, cells map[[2]string]*written) {
	if !e.Now.IsZero() {
		s.starts = append(s.starts, e.Now.Add(1))
	}
	for i := range e.Program.Schemas {
		p := &e.Program.Schemas[i]
		for _, f := range p.Fields {
			if (f.Optional || f.Zero) && !slices.Contains(s.absent, f.ID) {
				s.absent = append(s.absent, f.ID)
			}
		}
		for l := range p.layouts() {
			s.collectLayout(l, cells)
		}
	}
}

// written is how the cells of a family are written, and the rules that it has, or had.
type written struct {
	by    []codec.Lifetime
	rules []Rule
}

// collectLayout adds the times and the lives of a layout.
func (s *stage) collectLayout(l *Layout, cells map[[2]string]*written) {
	s.starts = append(s.starts, l.Since)
	add := func(family string, by codec.Lifetime, r Rule) {
		w := cells[[2]string{l.Place, family}]
		if w == nil {
			w = &written{}
			cells[[2]string{l.Place, family}] = w
		}
		w.by, w.rules = append(w.by, by), append(w.rules, r)
	}
	for _, f := range l.Families {
		add(f.Name, f.Life, f.Rule)
	}
	if l.Rollup != nil {
		add(l.Rollup.Family, codec.Lifetime{}, l.Rollup.Rule)
		s.widths = append(s.widths, l.Rollup.Every)
	}
}

// live adds a time to live, unless it has no end.
func (s *stage) live(l codec.Lifetime) {
	if !l.Forever() && s.life(l) < 0 && len(s.lives) < maxLives {
		s.lives = append(s.lives, l)
	}
}

// life returns the index of a time to live; -1 if it has no end.
func (s *stage) life(l codec.Lifetime) int {
	if l.Forever() {
		return -1
	}
	i := slices.IndexFunc(s.lives, func(o codec.Lifetime) bool { return o.Outlives(l) && l.Outlives(o) })
	if i < 0 && len(s.lives) == maxLives {
		return maxLives - 1
	}
	return i
}

// order finds out which lives end before others.
func (s *stage) order() {
	s.after = make([]ages, len(s.lives))
	for i, l := range s.lives {
		s.after[i] = 1 << i
		for k, o := range s.lives {
			fromWrite := l.Timestamp == codec.TimestampWrite && o.EventTimed() && l.Retention.Covers(o.Retention)
			if l.Outlives(o) || fromWrite { // no event is written before its time
				s.after[i] |= 1 << k
			}
		}
	}
}

// end returns the ages when one more life has ended; false if that cannot be the next one.
func (s *stage) end(a ages, life int) (ages, bool) {
	if a&(1<<life) != 0 || s.after[life]&^(a|1<<life) != 0 {
		return a, false
	}
	return a | 1<<life, true
}

// ended reports whether cells with a time to live have expired at an age.
func (s *stage) ended(l codec.Lifetime, a ages) bool {
	i := s.life(l)
	return i >= 0 && a&(1<<i) != 0
}

// written returns the ages of an event when it is written: what expires some time after that has not.
func (s *stage) written(a ages) ages {
	for i, l := range s.lives {
		if !l.EventTimed() {
			a &^= 1 << i
		}
	}
	return a
}

// age returns how old events are when a life ends, if that depends on the time of the event alone.
func age(l codec.Lifetime) (time.Duration, bool) {
	if l.Timestamp != codec.TimestampEvent || len(l.Retention) != 1 || l.Retention[0].Versions > 0 {
		return 0, false
	}
	return l.Retention[0].MaxAge, true
}

// between returns the youngest and the oldest that an event can be at an age: at least from, and less than to,
// which is 0 if there is no bound.
func (s *stage) between(a ages) (from, to time.Duration) {
	for i, l := range s.lives {
		switch end, known := age(l); {
		case !known:
		case a&(1<<i) != 0:
			from = max(from, end)
		case to == 0 || end < to:
			to = end
		}
	}
	return from, to
}

// stamp returns the number of how cells are written.
func (s *stage) stamp(l codec.Lifetime) int32 {
	is := func(o codec.Lifetime) bool { return o.Timestamp == l.Timestamp && o.Default == l.Default }
	i := slices.IndexFunc(s.stamps, is)
	if i < 0 {
		i = len(s.stamps)
		s.stamps = append(s.stamps, l)
	}
	return int32(i)
}

// add returns the number of a state, among all that there are.
func (s *stage) add(e *state) int {
	key := e.key()
	n, known := s.ids[key]
	if !known {
		n = len(s.states)
		s.ids[key], s.states = n, append(s.states, e)
	}
	return n
}
