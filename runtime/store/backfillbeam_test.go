package store

import (
	"fmt"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
)

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

// exploreBeam is exploreModel for pipelines.
func exploreBeam(rules beamRules, start int, program []int, attempts, kills int) (states int, wrong []string) {
	s := beamState{modelState: modelState{source: start}}
	s.copiers = [2]modelCopier{{phase: bRecord, kills: kills}, {phase: bIdle, kills: kills}}
	type traced struct {
		beamState
		trace string
	}
	seen := map[beamState]bool{}
	stack := []traced{{s, ""}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[at.beamState] {
			continue
		}
		seen[at.beamState] = true
		last := true
		next := func(s beamState, format string, args ...any) {
			last = false
			if !seen[s] {
				stack = append(stack, traced{s, at.trace + "; " + fmt.Sprintf(format, args...)})
			}
		}
		modelProgram(at.modelState, program, func(m modelState, format string, args ...any) {
			n := at.beamState
			n.modelState = m
			next(n, format, args...)
		})
		for i := range attempts {
			beamSteps(at.beamState, rules, i, next)
		}
		switch {
		case last && !at.ended:
			wrong = append(wrong, "the pipeline hangs after "+at.trace)
		case last && at.source != at.target:
			wrong = append(wrong, fmt.Sprintf("source %d, target %d after %s", at.source, at.target, at.trace))
		}
	}
	return len(seen), wrong
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
		states, faults, first := 0, 0, ""
		tried := programs
		if tt.attempts > 1 {
			tried = [][]int{{0}, {2, 0}, {0, 2}, {2, 0, 3}}[:testlong.Pick(2, 4)]
		}
		for _, program := range tried {
			for start := range 2 {
				n, wrong := exploreBeam(tt.rules, start, program, tt.attempts, tt.kills)
				states, faults = states+n, faults+len(wrong)
				if len(wrong) > 0 && (first == "" || len(wrong[0]) < len(first)) {
					first = wrong[0]
				}
			}
		}
		t.Logf("%-34s %7d states, %3d wrong ends%s", tt.name, states, faults, first)
		if tt.right != (faults == 0) {
			t.Errorf("%s: %d wrong ends, such as %s", tt.name, faults, first)
		}
	}
}
