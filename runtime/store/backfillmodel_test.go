package store

import (
	"fmt"
	"testing"
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

// exploreModel returns the number of states, and the states at the ends in which the tables differ.
func exploreModel(rules modelRules, start int, program []int, copiers, kills int, expires bool) (states int, wrong []string) {
	s := modelState{source: start, expires: expires}
	for i := range s.copiers {
		s.copiers[i] = modelCopier{phase: mDone}
		if i < copiers {
			s.copiers[i] = modelCopier{phase: mRead, kills: kills}
		}
	}
	type traced struct {
		modelState
		trace string
	}
	seen := map[modelState]bool{}
	stack := []traced{{s, ""}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[at.modelState] {
			continue
		}
		seen[at.modelState] = true
		ended := true
		next := func(s modelState, format string, args ...any) {
			ended = false
			if !seen[s] {
				stack = append(stack, traced{s, at.trace + "; " + fmt.Sprintf(format, args...)})
			}
		}
		modelProgram(at.modelState, program, next)
		for i := range at.copiers {
			modelCopierSteps(at.modelState, rules, i, next)
		}
		if ended && (at.copied || !at.expired && at.source != at.target) {
			wrong = append(wrong, fmt.Sprintf("source %d, target %d after %s", at.source, at.target, at.trace))
		}
	}
	return len(seen), wrong
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
	faults := map[string]int{}
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
		states, first := 0, ""
		for _, program := range programs {
			for start := range 2 {
				n, wrong := exploreModel(tt.rules, start, program, tt.copiers, tt.kills, tt.expires)
				states += n
				faults[tt.name] += len(wrong)
				if len(wrong) > 0 && (first == "" || len(wrong[0]) < len(first)) {
					first = wrong[0]
				}
			}
		}
		t.Logf("%-34s %7d states, %3d wrong ends%s", tt.name, states, faults[tt.name], first)
		if tt.right != (faults[tt.name] == 0) {
			t.Errorf("%s: %d wrong ends, such as %s", tt.name, faults[tt.name], first)
		}
	}
}
