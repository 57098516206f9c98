package setup

import (
	"slices"
	"strings"
	"testing"
)

// modelWorld is a small model of what setups do: a table that exists or not, a log of steps in
// the history, and three setups. A setup can be killed at any time: it is then never continued.
type modelWorld struct {
	exists    bool
	log       string // each step is a kind, 'c' for creates or 'e' for exists, and a layout; ' ' for none
	deletions int    // of the table, by a person
	winners   string // layouts of setups that have succeeded since the last deletion
	setups    [3]modelSetup
}

// modelSetup is a setup in progress.
type modelSetup struct {
	layout    byte
	allow     bool // an unfinished setup with another layout may be replaced
	at        byte // the next request; 0 if it has ended
	base      int  // how much of the log it has read
	exists    bool // whether it found the table
	again     bool // it has lost a conditional mutation
	created   bool
	deletions int // when it last looked
}

// protocol are the parts of the protocol that can be taken out, to see that the exploration notices.
type protocol struct{ tablesFirst, noConfirm, anyIfMissing, blind, silentJoin, noRecheck bool }

const (
	atHistory = 'h'
	atTable   = 't'
	atClaim   = 'c'
	atCreate  = 'n'
	atConfirm = 'x'
	atRecheck = 'r'
)

// life returns the layout of the current life of the table, ' ' if none, and whether it is pending.
func life(log string) (layout byte, pending bool) {
	layout = ' '
	for i := 0; i < len(log); i += 2 {
		if pending = log[i] == 'c'; pending || log[i+1] != ' ' {
			layout = log[i+1]
		}
	}
	return layout, pending
}

// step makes the next request of a setup.
func (w modelWorld) step(i int, p protocol) modelWorld {
	s := &w.setups[i]
	switch s.at {
	case atHistory:
		s.base = len(w.log)
		if s.at = atTable; p.tablesFirst {
			w.decide(s, p)
		}
	case atTable:
		s.exists, s.deletions = w.exists, w.deletions
		if s.at = atHistory; !p.tablesFirst {
			w.decide(s, p)
		}
	case atCreate:
		w.exists, s.exists, s.created = true, true, true
		w.decide(s, p)
	case atRecheck:
		if len(w.log) == s.base {
			w.win(s)
			break
		}
		s.again, s.allow, s.at = true, false, atHistory
	case atClaim, atConfirm:
		if len(w.log) != s.base && !p.blind {
			s.again, s.allow = true, false
			if s.at = atHistory; p.tablesFirst {
				s.at = atTable
			}
			break
		}
		layout, _ := life(w.log)
		switch {
		case !s.exists:
			w.log += "c" + string(s.layout) // or joins the creation, which is the same here
			s.at = atCreate
		case layout == ' ':
			w.log += "e" + string(s.layout)
			w.win(s)
		default:
			w.log += "e "
			w.win(s)
		}
		s.base, s.deletions = len(w.log), w.deletions
	}
	return w
}

// decide decides what a setup does next.
func (w *modelWorld) decide(s *modelSetup, p protocol) {
	layout, pending := life(w.log[:s.base])
	switch {
	case s.exists && layout != ' ' && layout != s.layout:
		s.at = 0 // refused
	case s.exists && (pending || layout == ' ') && !(p.noConfirm && s.created):
		s.at = atConfirm
	case s.exists && p.noRecheck:
		w.win(s)
	case s.exists:
		s.at = atRecheck
	case s.created:
		s.at = 0 // the table was deleted at once
	case pending && layout == s.layout && p.silentJoin:
		s.at = atCreate
	case pending && layout != s.layout && !s.allow && !p.anyIfMissing:
		s.at = 0 // unfinished
	default:
		s.at = atClaim
	}
}

// win ends a setup with success. It does not count if the table was deleted since it looked.
func (w *modelWorld) win(s *modelSetup) {
	if s.at = 0; s.deletions == w.deletions && !strings.ContainsRune(w.winners, rune(s.layout)) {
		w.winners += string(s.layout)
	}
}

// creating reports whether a setup is going to create the table. Nobody can exclude that it does
// so after a deletion, and thus without a step of its own.
func (w *modelWorld) creating() bool {
	return slices.ContainsFunc(w.setups[:], func(s modelSetup) bool { return s.at == atCreate })
}

// explore returns how many worlds can be reached, and one in which two layouts have won.
func explore(p protocol, start modelWorld) (worlds int, bad *modelWorld) {
	seen, todo := map[modelWorld]bool{start: true}, []modelWorld{start}
	add := func(w modelWorld) {
		if !seen[w] && len(w.log) < 20 {
			seen[w] = true
			todo = append(todo, w)
		}
	}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(w.winners) > 1 {
			return len(seen), &w
		}
		for i := range w.setups {
			if w.setups[i].at != 0 {
				add(w.step(i, p))
			}
		}
		if w.exists && w.deletions == 0 && !w.creating() {
			w.exists, w.winners = false, ""
			w.deletions++
			add(w)
		}
	}
	return len(seen), nil
}

// starts are the worlds in which three setups begin.
func starts(p protocol) []modelWorld {
	var out []modelWorld
	for _, before := range []modelWorld{{}, {log: "cA", exists: false}, {log: "cA", exists: true}, {log: "cAe ", exists: true}, {log: "cAe ", exists: false}, {exists: true}} {
		for _, who := range []string{"AB ", "aB ", "Ab ", "ab ", "ABB", "AAB", "aAB", "AaB", "ABC", "Abc"} { // a small letter is allowed to replace unfinished ones
			w := before
			for i := range w.setups {
				at := byte(atHistory)
				if p.tablesFirst {
					at = atTable
				}
				if who[i] == ' ' {
					at = 0
				}
				w.setups[i] = modelSetup{layout: strings.ToUpper(who)[i], allow: who[i] >= 'a', at: at}
			}
			out = append(out, w)
		}
	}
	return out
}

// At most one layout wins, in every order of the requests of three setups, each of which may be
// killed before any of them, and with a person that deletes the table while none creates it. If any part of
// the protocol is taken out, two do.
func TestModelOfClaims(t *testing.T) {
	for _, tt := range []struct {
		name     string
		protocol protocol
		broken   bool
	}{
		{"the protocol", protocol{}, false},
		{"tables are read before the history", protocol{tablesFirst: true}, true},
		{"no confirmation", protocol{noConfirm: true}, true},
		{"any layout while the table is missing", protocol{anyIfMissing: true, noConfirm: true}, true},
		{"unconditional mutations", protocol{blind: true}, true},
		{"the history is not read again", protocol{noRecheck: true}, true},
		{"an unfinished setup is completed without a step", protocol{silentJoin: true}, true},
	} {
		total, found := 0, 0
		for _, start := range starts(tt.protocol) {
			n, bad := explore(tt.protocol, start)
			total += n
			if bad == nil {
				continue
			}
			if found++; !tt.broken {
				t.Errorf("%s: from %+v\ntwo layouts win: %+v", tt.name, start, *bad)
				break
			}
		}
		if tt.broken && found == 0 {
			t.Errorf("%s: not noticed in %d worlds", tt.name, total)
		}
		t.Logf("%s: %d worlds", tt.name, total)
	}
}
