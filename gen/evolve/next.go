package evolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lock"
)

// AcceptError is the error for a change that cannot be accepted.
type AcceptError struct {
	Argument string // as the user wrote it
	Reason   string
}

// Error returns the argument and the reason.
func (e *AcceptError) Error() string { return fmt.Sprintf("--accept %q: %s", e.Argument, e.Reason) }

// Accept parses arguments of the form NAME=REASON and returns the acceptances, for Refused and
// Next. Each argument must name a finding of class Data. The error is an *AcceptError.
func (c *Comparison) Accept(arguments []string) ([]lock.Acceptance, error) {
	var out []lock.Acceptance
	for _, argument := range arguments {
		i := slices.IndexFunc(c.Findings, func(f Finding) bool { return f.Class == Data && strings.HasPrefix(argument, f.Name+"=") })
		if i < 0 {
			return nil, &AcceptError{argument, c.notAcceptable(argument)}
		}
		f := &c.Findings[i]
		reason := strings.TrimSpace(strings.TrimPrefix(argument, f.Name+"="))
		if reason == "" {
			return nil, &AcceptError{argument, "a reason is missing after the equals sign"}
		}
		out = append(out, lock.Acceptance{Change: f.Name, Reason: reason})
	}
	return out, nil
}

// notAcceptable explains why an argument accepts no change.
func (c *Comparison) notAcceptable(argument string) string {
	var names []string
	for _, f := range c.Findings {
		if f.Class == Data {
			names = append(names, f.Name)
		}
		if f.Name == argument {
			return "a reason is missing: write " + argument + "=REASON"
		}
	}
	if names == nil {
		return "no such change: stored data is not affected"
	}
	return "no such change; the changes are " + strings.Join(slices.Compact(names), ", ")
}

// Refused returns the changes of stored data that are not accepted, with how to accept them.
func (c *Comparison) Refused(accepted []lock.Acceptance) diag.List {
	var out diag.List
	for _, f := range c.Findings {
		if f.Class != Data || slices.ContainsFunc(accepted, func(a lock.Acceptance) bool { return a.Change == f.Name }) {
			continue
		}
		out = append(out, f.Report())
	}
	return out
}

// Report returns the diagnostic of a finding with how to accept the change, or why it was
// accepted.
func (f *Finding) Report() diag.Diagnostic {
	d := f.Diagnostic
	switch {
	case f.Class != Data:
		return d
	case f.Accepted != "":
		d.Note += "\naccepted: " + f.Accepted
	default:
		d.Note += "\nif losing stored events is acceptable: btgen generate --accept " + shellQuoted(f.Name+"=REASON")
	}
	d.Note = strings.TrimPrefix(d.Note, "\n")
	return d
}

// shellQuoted returns an argument for a shell.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Next returns the lock after the changes. A table with accepted changes keeps its previous
// facts as an older layout. Tables that are in no schema of the input are kept.
func (c *Comparison) Next(accepted []lock.Acceptance) *lock.Lock {
	out := &lock.Lock{}
	for i := range c.pairs {
		p := &c.pairs[i]
		if t, known := p.next(c.acceptedOf(p, accepted)); known {
			out.Tables = append(out.Tables, t)
		}
	}
	out.Sort()
	return out
}

// Locked returns the number of tables that the lock gets for the first time.
func (c *Comparison) Locked() int {
	n := 0
	for i := range c.pairs {
		if p := &c.pairs[i]; p.old == nil && p.facts != nil {
			n++
		}
	}
	return n
}

// acceptedOf returns the accepted changes of a table, sorted.
func (c *Comparison) acceptedOf(p *pair, accepted []lock.Acceptance) []lock.Acceptance {
	var out []lock.Acceptance
	for _, a := range accepted {
		if slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.pair == p && f.Name == a.Change }) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b lock.Acceptance) int { return cmp.Compare(a.Change, b.Change) })
	return slices.CompactFunc(out, func(a, b lock.Acceptance) bool { return a.Change == b.Change })
}

// next returns a table after the changes, and whether the lock has it.
func (p *pair) next(accepted []lock.Acceptance) (lock.Table, bool) {
	switch {
	case p.old == nil && p.facts == nil:
		return lock.Table{}, false
	case p.old == nil:
		return *p.facts, true
	case p.facts == nil:
		t := *p.old
		if len(accepted) > 0 {
			t.Removed = accepted[0].Change + ": " + accepted[0].Reason
		}
		return t, true
	}
	t := *p.old
	t.Removed = ""
	live := p.old.Periods()
	merged := p.merged(live)
	if len(accepted) == 0 {
		t.Layouts = append(merged, t.Layouts[len(live):]...)
		return t, true
	}
	for i := range merged {
		merged[i].Number = p.old.Newest().Number + len(merged) - i
	}
	merged[0].Accepted = accepted
	t.Layouts = append(merged, t.Layouts...)
	return t, true
}

// merged returns the new layouts by time, each merged with its counterpart in the lock.
func (p *pair) merged(old []lock.Layout) []lock.Layout {
	var out []lock.Layout
	new := p.facts.Periods()
	added := len(new) - len(old)
	for i := range new {
		if i < added || i-max(0, added) >= len(old) {
			out = append(out, new[i])
			out[i].Number = p.old.Newest().Number + added - i
			continue
		}
		was := &old[i-max(0, added)]
		merged := Merge(was, &new[i])
		out = append(out, merged)
	}
	return out
}

// MarkAccepted sets the reasons of findings that were accepted since the old lock, according
// to the lock of the new version.
func (c *Comparison) MarkAccepted(now *lock.Lock) {
	for i := range c.Findings {
		f := &c.Findings[i]
		if f.Class != Data || f.pair == nil || f.pair.old == nil {
			continue
		}
		j := slices.IndexFunc(now.Tables, func(t lock.Table) bool { return t.Name == f.pair.old.Name && t.Family == f.pair.old.Family })
		if j < 0 {
			continue
		}
		f.Accepted = acceptedIn(&now.Tables[j], f.Name, f.pair.old.Newest().Number)
	}
}

// acceptedIn returns the reason for a change in the layouts after one; empty if there is none.
func acceptedIn(t *lock.Table, name string, after int) string {
	if reason, ok := strings.CutPrefix(t.Removed, name+": "); ok {
		return reason
	}
	for _, l := range t.Layouts {
		for _, a := range l.Accepted {
			if l.Number > after && a.Change == name {
				return a.Reason
			}
		}
	}
	return ""
}
