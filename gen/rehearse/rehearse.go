package rehearse

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fresh returns the events that a program may write: of each period, with each class, without each optional
// field, with each value of enums.
func (w *side) fresh(by string) (out []int) {
	for i := range w.program.Schemas {
		p := &w.program.Schemas[i]
		kinds := w.kinds(p)
		for period := range w.starts {
			for _, class := range p.classes() {
				for _, kind := range kinds {
					e := &state{schema: p.Name, class: class, absent: kind.absent, label: kind.label, period: period}
					e.did = e.written(p) + by
					w.write(p, e)
					out = append(out, w.add(e))
				}
			}
		}
	}
	return out
}

// written tells that an event is written.
func (e *state) written(p *Schema) string {
	var without []string
	for _, f := range p.Fields {
		if e.lacks(f.ID) {
			without = append(without, strconv.Quote(f.ID))
		}
	}
	if without == nil {
		return "an event is written"
	}
	return "an event without " + strings.Join(without, " and ") + " is written"
}

// kind is which fields an event lacks, and the value of its enums.
type kind struct{ absent, label string }

// kinds returns the events of a schema that differ: with all fields, without one of them, without all that it may
// lack, with only one if it may lack any; and with each value of its enums. A field with a default is always written.
func (s *stage) kinds(p *Schema) []kind {
	missing := sep // what programs have that this one lacks
	for _, id := range s.absent {
		if p.field(id) == nil {
			missing += id + sep
		}
	}
	all, label := missing, ""
	var alone []kind
	var optional []string
	for _, f := range p.Fields {
		if f.Optional && f.Default == "" {
			all += f.ID + sep
			optional = append(optional, f.ID)
		}
		if f.Optional && f.Default == "" || f.Zero {
			alone = append(alone, kind{absent: missing + f.ID + sep})
		}
		for _, name := range p.labels(f.ID) {
			if label == "" {
				label = name
				continue
			}
			alone = append(alone, kind{missing, name})
		}
	}
	out := append([]kind{{missing, label}}, alone...)
	if n := len(optional); n > 2 && n == len(p.Fields) {
		for i := range optional {
			others := slices.Delete(slices.Clone(optional), i, i+1)
			out = append(out, kind{absent: missing + strings.Join(others, sep) + sep})
		}
	}
	if all != missing {
		out = append(out, kind{absent: all})
	}
	for i := range out {
		if out[i].label == "" {
			out[i].label = label
		}
	}
	return out
}

// closure returns the numbers of all states into which a program can bring some.
func (w *side) closure(states []int) (out []int) {
	known := map[int]bool{}
	add := func(n int) {
		if !known[n] {
			known[n] = true
			out = append(out, n)
		}
	}
	for _, n := range states {
		add(n)
	}
	for k := 0; k < len(out); k++ {
		for i := range w.acts {
			if next := w.do(out[k], i); next >= 0 {
				add(next)
			}
		}
	}
	return out
}

// outcome is what an epoch leaves behind.
type outcome struct {
	world  *side
	states []int
}

// play returns the outcome of an epoch and of those before it. by tells, in stories, whose events are written.
func (s *stage) play(e *Epoch, by string, done map[*Epoch]*outcome) *outcome {
	if out := done[e]; out != nil {
		return out
	}
	var states []int
	before := rules{}
	for _, p := range e.After {
		earlier := " by an earlier version"
		if p.Name != "" {
			earlier = " by the version of " + p.Name
		}
		was := s.play(p, earlier, done)
		maps.Copy(before, was.world.rules)
		for _, pair := range s.begin(was, p, e) {
			states = append(states, pair[1])
		}
	}
	w := s.side(&e.Program, before.setup(&e.Program))
	out := &outcome{w, w.closure(append(states, w.fresh(by)...))}
	done[e] = out
	return out
}

// begin returns the states at the end of an epoch, each before and after the setup of the next one.
func (s *stage) begin(was *outcome, prev, next *Epoch) (out [][2]int) {
	w := s.side(&next.Program, was.world.rules.setup(&next.Program))
	for _, n := range s.possible(was.states, prev, next) {
		later := s.states[n].next("a later version begins")
		s.fill(was.world, n, next, later)
		w.expire(later)
		out = append(out, [2]int{n, s.add(later)})
	}
	return out
}

// fill makes the tables with which an epoch begins filled have an event if the program before finds it, and only
// then.
func (s *stage) fill(before *side, n int, next *Epoch, e *state) {
	p, q := before.program.schema(e.schema), next.Program.schema(e.schema)
	if len(next.Filled) == 0 || p == nil || q == nil {
		return
	}
	found := slices.ContainsFunc(p.Reads, func(r Read) bool {
		t := &p.Tables[r.Table]
		return !r.Idle && !t.Newest && before.event(p, t, s.states[n]) != nil
	})
	after := s.side(&next.Program, nil)
	for t, l := range s.tables(q, e) {
		switch {
		case !slices.Contains(next.Filled, t.Name):
		case found && !e.deleted:
			s.writeTo(q, l, e)
		case e.deleted && after.event(q, t, e) != nil:
			s.eraseIn(l, e)
		}
	}
}

// possible returns the states that can be when the next epoch begins: its new layouts begin later, and what its clock
// says to be older has expired.
func (s *stage) possible(states []int, prev, next *Epoch) (out []int) {
	first, last := prev.latest(), endOfTime
	if !next.Now.IsZero() {
		first, last = next.Now, next.Now
	}
	for _, at := range next.Program.starts() {
		if next.Now.IsZero() && !at.IsZero() && !slices.ContainsFunc(prev.Program.starts(), at.Equal) && at.Before(last) {
			last = at.Add(-1)
		}
	}
	for _, n := range states {
		e := s.states[n]
		from, to := s.between(e.age)
		begins, ends := s.starts[e.period], endOfTime
		if e.period+1 < len(s.starts) {
			ends = s.starts[e.period+1]
		}
		if !begins.IsZero() && begins.Add(from).After(last) || to > 0 && ends != endOfTime && !ends.Add(to).After(first) {
			continue
		}
		out = append(out, n)
	}
	return out
}

var endOfTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// latest returns the latest clock that is known of an epoch and those before it; zero if none is.
func (e *Epoch) latest() (out time.Time) {
	walk(e, map[*Epoch]bool{}, func(e *Epoch) {
		if e.Now.After(out) {
			out = e.Now
		}
	})
	return out
}

// starts returns the times at which layouts of a program begin.
func (p *Program) starts() (out []time.Time) {
	for l := range p.layouts() {
		out = append(out, l.Since)
	}
	return out
}

// pair is an event in two worlds.
type pair struct {
	was, is int // the numbers of the states
	from    int // the index of the pair before; -1 if it is one of the first
	act     act
}

// pairs returns all pairs of worlds into which equal acts bring some.
func (s *stage) pairs(start [][2]int, old, new *side) []pair {
	known := map[[2]int]bool{}
	var out []pair
	add := func(p pair) {
		if key := [2]int{p.was, p.is}; !known[key] {
			known[key] = true
			out = append(out, p)
		}
	}
	for _, p := range start {
		add(pair{p[0], p[1], -1, 0})
	}
	for n := 0; n < len(out); n++ {
		for i, a := range s.acts {
			if was, is := old.do(out[n].was, i), new.do(out[n].is, i); was >= 0 && is >= 0 {
				add(pair{was, is, n, a})
			}
		}
	}
	return out
}

// story tells how a pair came about.
func (s *stage) story(all []pair, n int) []string {
	var acts []string
	for ; all[n].from >= 0; n = all[n].from {
		acts = append(acts, s.describe(all[n].act))
	}
	slices.Reverse(acts)
	return append(s.states[all[n].is].story(), acts...)
}
