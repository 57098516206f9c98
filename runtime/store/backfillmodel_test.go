package store

import (
	"fmt"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// The protocol of backfills, explored for one event: every interleaving of a program that changes
// the source and then the target, of one or two copiers, of kills, and of requests of killed
// copiers that arrive later. A value of 0 means that a table does not have the event.

// modelRules are the protocol. The zero value is that of Backfill; each field breaks it.
type modelRules struct {
	old       bool // the first protocol: read the source again, and follow what was copied
	hasty     bool // a run that continues does not wait for requests of the stopped one
	oneWay    bool // nothing is deleted
	once      bool // repairs are not compared again
	unsettled bool // a run that continues does not settle what the stopped one was writing
	mortal    bool // what the source has lost by expiry is deleted, too
	sourceFar bool // the target is not read: what the run wrote is taken for its contents
}

// modelPhase is what a copier does next.
type modelPhase int

const (
	mRead   modelPhase = iota // read the source
	mWrite                    // send a copy
	mAwait                    // wait for its result
	mTarget                   // read the target
	mSource                   // read the source again
	mRepair                   // send a repair
	mAwaitRepair
	mDone
)

// modelCopier is a copier.
type modelCopier struct {
	phase   modelPhase
	source  int  // what it has read
	target  int  // what it has read, or for the first protocol: what it has copied
	flying  int  // the value of its request in flight
	flies   bool // there is one
	kills   int
	stopped int // for runs that were killed: their request in flight, plus 1; 0 for none
}

// modelState is the state of everything.
type modelState struct {
	source, target int
	step           int // of the program
	expires        bool
	expired        bool
	copied         bool // a deletion of what only expired
	copiers        [2]modelCopier
}

// explore visits all states from a first one, and returns their number. steps calls next with the states after a step, and wrong
// returns what is wrong with an end, after which there are none.
func explore[S comparable](first S, steps func(s S, next func(s S, format string, args ...any)), wrong func(s S) string) (states int, failures []string) {
	type traced struct {
		state S
		trace string
	}
	seen := map[S]bool{}
	stack := []traced{{first, ""}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[at.state] {
			continue
		}
		seen[at.state] = true
		ended := true
		steps(at.state, func(s S, format string, args ...any) {
			if ended = false; !seen[s] {
				stack = append(stack, traced{s, at.trace + "; " + fmt.Sprintf(format, args...)})
			}
		})
		if why := wrong(at.state); ended && why != "" {
			failures = append(failures, why+" after "+at.trace)
		}
	}
	return len(seen), failures
}

// exploreModel explores a program and copiers.
func exploreModel(rules modelRules, start int, program []int, copiers, kills int, expires bool) (states int, wrong []string) {
	s := modelState{source: start, expires: expires}
	for i := range s.copiers {
		s.copiers[i] = modelCopier{phase: mDone}
		if i < copiers {
			s.copiers[i] = modelCopier{phase: mRead, kills: kills}
		}
	}
	return explore(s, func(s modelState, next func(modelState, string, ...any)) {
		modelProgram(s, program, next)
		for i := range s.copiers {
			modelCopierSteps(s, rules, i, next)
		}
	}, func(s modelState) string {
		if s.copied || !s.expired && s.source != s.target {
			return fmt.Sprintf("source %d, target %d", s.source, s.target)
		}
		return ""
	})
}

// tried explores all programs with the event in the source and without it. It checks that those that lack a rule fail.
func tried(t *testing.T, name string, right bool, programs [][]int, one func(start int, program []int) (states int, wrong []string)) {
	t.Helper()
	states, faults, first := 0, 0, ""
	for _, program := range programs {
		for start := range 2 {
			n, wrong := one(start, program)
			states, faults = states+n, faults+len(wrong)
			if len(wrong) > 0 && (first == "" || len(wrong[0]) < len(first)) {
				first = wrong[0]
			}
		}
	}
	t.Logf("%-34s %7d states, %3d wrong ends%s", name, states, faults, first)
	if right != (faults == 0) {
		t.Errorf("%s: %d wrong ends, such as %s", name, faults, first)
	}
}

// modelProgram adds the next step of the program, and the expiry of the event in the source.
func modelProgram(s modelState, program []int, next func(modelState, string, ...any)) {
	if s.expires && !s.expired && s.source != 0 {
		n := s
		n.source, n.expired = 0, true
		next(n, "the event expires in the source")
	}
	if s.step == 2*len(program) || s.expired {
		return
	}
	n := s
	n.step++
	v := program[s.step/2]
	if s.step%2 == 0 {
		n.source = v
		next(n, "program: source %d", v)
		return
	}
	n.target = v
	next(n, "program: target %d", v)
}

// modelCopierSteps adds the next steps of a copier.
func modelCopierSteps(s modelState, rules modelRules, i int, next func(modelState, string, ...any)) {
	c := s.copiers[i]
	add := func(change func(n *modelState, c *modelCopier), format string, args ...any) {
		n := s
		change(&n, &n.copiers[i])
		next(n, fmt.Sprintf("copier %d ", i)+format, args...)
	}
	if c.stopped > 0 {
		add(func(n *modelState, c *modelCopier) { n.target, c.stopped = c.stopped-1, 0 }, "(killed) writes %d late", c.stopped-1)
	}
	waits := c.stopped > 0 && !rules.hasty // for the end of requests of the stopped run
	send := func(v int, then modelPhase) {
		add(func(_ *modelState, c *modelCopier) { c.flying, c.flies, c.phase = v, true, then }, "sends %d", v)
	}
	switch c.phase {
	case mRead:
		if !waits {
			add(func(n *modelState, c *modelCopier) { c.source, c.target, c.phase = n.source, n.source, mWrite }, "reads source %d", s.source)
		}
	case mWrite:
		if c.source == 0 {
			add(func(_ *modelState, c *modelCopier) { c.phase = mDone }, "has nothing to copy")
		} else {
			send(c.source, mAwait)
		}
	case mAwait, mAwaitRepair:
		add(func(n *modelState, c *modelCopier) {
			n.target, c.flies = c.flying, false
			if c.phase = mTarget; n.copiers[i].phase == mTarget && rules.once && s.copiers[i].phase == mAwaitRepair {
				c.phase = mDone
			}
		}, "has written %d", c.flying)
	case mTarget:
		switch {
		case rules.old || rules.sourceFar:
			add(func(_ *modelState, c *modelCopier) { c.phase = mSource }, "compares")
		case !waits:
			add(func(n *modelState, c *modelCopier) { c.target, c.phase = n.target, mSource }, "reads target %d", s.target)
		}
	case mSource:
		add(func(n *modelState, c *modelCopier) {
			c.source = n.source
			lost := n.source == 0 && n.expired && !rules.mortal
			switch {
			case n.source == c.target, lost, n.source == 0 && rules.oneWay, rules.old && c.target == 0:
				c.phase = mDone // the first protocol forgets what it has deleted
			default:
				c.phase = mRepair
			}
		}, "reads source %d", s.source)
	case mRepair:
		n := s
		n.copied = s.copied || c.source == 0 && s.expired && c.target != 0 && s.step == 0
		n.copiers[i].flying, n.copiers[i].flies, n.copiers[i].phase = c.source, true, mAwaitRepair
		n.copiers[i].target = c.source
		next(n, "copier %d repairs: %d", i, c.source)
	}
	if c.kills > 0 && c.phase != mDone && c.stopped == 0 {
		add(func(_ *modelState, c *modelCopier) { modelKill(c, rules) }, "is killed")
	}
}

// modelKill kills a copier, which then runs again.
func modelKill(c *modelCopier, rules modelRules) {
	k := modelCopier{kills: c.kills - 1, phase: mRead}
	if c.flies {
		k.stopped = c.flying + 1
	}
	if c.phase > mRead && !rules.old && !rules.unsettled { // its place was recorded
		k.phase = mTarget
	}
	*c = k
}

// TestBackfillModel explores the protocol, and those that lack one of its rules: they must fail.
func TestBackfillModel(t *testing.T) {
	programs := [][]int{{}, {0}, {2}, {0, 2}, {2, 0}, {2, 0, 3}, {0, 2, 0}}
	for _, tt := range []struct {
		name           string
		rules          modelRules
		right          bool
		copiers, kills int
		expires        bool
	}{
		{"protocol", modelRules{}, true, 1, 2, false},
		{"expiry", modelRules{}, true, 1, 1, true},
		{"two copiers", modelRules{}, true, 2, 1, false},
		{"the first protocol, killed", modelRules{old: true}, false, 1, 1, false},
		{"the first protocol, never killed", modelRules{old: true}, false, 1, 0, false},
		{"without waiting", modelRules{hasty: true}, false, 1, 2, false},
		{"without deletions", modelRules{oneWay: true}, false, 1, 0, false},
		{"one repair", modelRules{once: true}, false, 1, 0, false},
		{"without a record", modelRules{unsettled: true}, false, 1, 1, false},
		{"deletes what has expired", modelRules{mortal: true}, false, 1, 0, true},
		{"does not read the target", modelRules{sourceFar: true}, false, 1, 1, false},
	} {
		tried(t, tt.name, tt.right, programs, func(start int, program []int) (int, []string) {
			return exploreModel(tt.rules, start, program, tt.copiers, tt.kills, tt.expires)
		})
	}
}

// The protocol of backfills as pipelines, in which nothing survives a kill but what the runner has
// stored between two stages:
//
//	record  read the source: the place is stored
//	copy    read the source at the place, write, and settle; attempts overlap
//	wait    until no request of any attempt of the copy can arrive any more
//	check   compare, and write nothing: places that differ are stored
//	repair  wait for the requests of earlier attempts, and settle
//
// A killed attempt runs again unless another one has succeeded; then the runner kills the others.

// beamRules are the protocol. Each field breaks it.
type beamRules struct {
	unsettled bool // the copy neither settles nor does anything follow: the first pipeline
	unstored  bool // the place is not stored: an attempt that finds nothing in the source has ended
	unchecked bool // nothing follows the copy
	hasty     bool // nothing waits for the requests of attempts of the copy
	eager     bool // an attempt of the repair does not wait for those of earlier ones
	parallel  bool // attempts of the repair overlap, which runners are assumed not to let happen
}

const (
	bRecord modelPhase = 100 + iota
	bRead
	bWrite
	bAwait
	bTarget
	bSource
	bRepair
	bAwaitRepair
	bIdle // an attempt that has not begun, or has ended
	bCheckTarget
	bCheckSource
	bWait
)

// beamState is the state of everything.
type beamState struct {
	modelState
	stored, succeeded, checked, ended bool
}

// exploreBeam explores a program and the attempts of a pipeline.
func exploreBeam(rules beamRules, start int, program []int, attempts, kills int) (states int, wrong []string) {
	s := beamState{modelState: modelState{source: start}}
	s.copiers = [2]modelCopier{{phase: bRecord, kills: kills}, {phase: bIdle, kills: kills}}
	return explore(s, func(s beamState, next func(beamState, string, ...any)) {
		modelProgram(s.modelState, program, func(m modelState, format string, args ...any) {
			n := s
			n.modelState = m
			next(n, format, args...)
		})
		for i := range attempts {
			beamSteps(s, rules, i, next)
		}
	}, func(s beamState) string {
		switch {
		case !s.ended:
			return "the pipeline hangs"
		case s.source != s.target:
			return fmt.Sprintf("source %d, target %d", s.source, s.target)
		}
		return ""
	})
}

// quiet reports whether no request of a killed attempt can arrive any more.
func (s *beamState) quiet() bool { return s.copiers[0].stopped == 0 && s.copiers[1].stopped == 0 }

// kill ends an attempt, whose request may arrive later.
func (c *modelCopier) kill(then modelPhase) {
	if c.flies {
		c.stopped = c.flying + 1
	}
	c.flies, c.phase, c.source, c.target, c.flying = false, then, 0, 0, 0
}

// beamSteps adds the next steps of an attempt. The first attempt also takes those of the runner.
func beamSteps(s beamState, rules beamRules, i int, next func(beamState, string, ...any)) {
	c := s.copiers[i]
	add := func(change func(n *beamState, c *modelCopier), format string, args ...any) {
		n := s
		change(&n, &n.copiers[i])
		next(n, fmt.Sprintf("attempt %d ", i)+format, args...)
	}
	if c.stopped > 0 {
		add(func(n *beamState, c *modelCopier) { n.target, c.stopped = c.stopped-1, 0 }, "(killed) writes %d late", c.stopped-1)
	}
	succeed := func(n *beamState, c *modelCopier) {
		c.phase = bIdle
		n.succeeded = true
		if s.checked || rules.unchecked || rules.unsettled {
			n.ended = true
		}
	}
	first := bRead
	if s.checked {
		first = bWait
	}
	switch c.phase {
	case bRecord:
		add(func(n *beamState, c *modelCopier) {
			c.phase, n.ended, n.stored = bIdle, n.source == 0, n.source != 0
		}, "reads source %d to store its places", s.source)
	case bIdle:
		switch {
		case !s.stored || s.ended || s.checked && !rules.parallel && s.copiers[1-i].phase != bIdle:
		case !s.succeeded:
			add(func(_ *beamState, c *modelCopier) { c.phase = first }, "begins")
		case i == 0 && !s.checked && s.copiers[1].phase == bIdle && (s.quiet() || rules.hasty):
			add(func(_ *beamState, c *modelCopier) { c.phase = bCheckTarget }, "has waited")
		}
	case bCheckTarget:
		add(func(n *beamState, c *modelCopier) { c.target, c.phase = n.target, bCheckSource }, "reads target %d", s.target)
	case bCheckSource:
		add(func(n *beamState, c *modelCopier) {
			n.checked, n.succeeded, c.phase = true, false, bIdle
			n.ended = n.source == c.target
		}, "reads source %d", s.source)
	case bWait:
		if s.quiet() || rules.eager {
			add(func(_ *beamState, c *modelCopier) { c.phase = bTarget }, "has waited")
		}
	case bRead:
		add(func(n *beamState, c *modelCopier) {
			if c.source, c.phase = n.source, bWrite; n.source != 0 {
				return
			}
			if c.phase = bTarget; rules.unstored || rules.unsettled {
				succeed(n, c)
			}
		}, "reads source %d", s.source)
	case bWrite, bRepair:
		add(func(_ *beamState, c *modelCopier) { c.flying, c.flies, c.phase = c.source, true, c.phase+1 }, "sends %d", c.source)
		return // killed before or after
	case bAwait, bAwaitRepair:
		add(func(n *beamState, c *modelCopier) {
			n.target, c.flies = c.flying, false
			if c.phase = bTarget; rules.unsettled {
				succeed(n, c)
			}
		}, "has written %d", c.flying)
	case bTarget:
		add(func(n *beamState, c *modelCopier) { c.target, c.phase = n.target, bSource }, "reads target %d", s.target)
	case bSource:
		add(func(n *beamState, c *modelCopier) {
			if c.source, c.phase = n.source, bRepair; n.source == c.target {
				succeed(n, c)
			}
		}, "reads source %d", s.source)
	}
	if c.phase == bIdle || c.phase == bRecord || c.stopped > 0 && c.flies {
		return
	}
	switch superfluous := s.succeeded && c.phase != bCheckTarget && c.phase != bCheckSource; {
	case superfluous:
		add(func(_ *beamState, c *modelCopier) { c.kill(bIdle) }, "is killed, since another one has succeeded")
	case c.kills > 0:
		add(func(_ *beamState, c *modelCopier) { c.kills--; c.kill(bIdle) }, "is killed")
	}
}

// TestBackfillModelOfPipelines explores the protocol of pipelines, and those that lack one of its
// rules: they must fail.
func TestBackfillModelOfPipelines(t *testing.T) {
	programs := [][]int{{}, {0}, {2}, {0, 2}, {2, 0}, {2, 0, 3}}
	for _, tt := range []struct {
		name            string
		rules           beamRules
		right           bool
		attempts, kills int
	}{
		{"protocol", beamRules{}, true, 1, 3},
		{"attempts of the copy overlap", beamRules{}, true, 2, 1},
		{"attempts of the repair overlap", beamRules{parallel: true}, false, 2, 1},
		{"the first pipeline, never killed", beamRules{unsettled: true}, false, 1, 0},
		{"without stored places", beamRules{unstored: true, unchecked: true}, false, 1, 1},
		{"without a check", beamRules{unchecked: true}, false, 1, 1},
		{"without waiting after the copy", beamRules{hasty: true}, false, 1, 1},
		{"without waiting in the repair", beamRules{eager: true}, false, 1, 2},
	} {
		some := programs
		if tt.attempts > 1 {
			some = [][]int{{0}, {2, 0}, {0, 2}, {2, 0, 3}}[:testlong.Pick(2, 4)]
		}
		tried(t, tt.name, tt.right, some, func(start int, program []int) (int, []string) {
			return exploreBeam(tt.rules, start, program, tt.attempts, tt.kills)
		})
	}
}
