package evolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/words"
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
		i := -1
		for k, f := range c.Findings { // a name may have an equals sign
			if f.Rule.Class == Data && !f.Rule.NoAccept && strings.HasPrefix(argument, f.Name+"=") && (i < 0 || len(f.Name) > len(c.Findings[i].Name)) {
				i = k
			}
		}
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
		if f.Rule.Class == Data && !f.Rule.NoAccept {
			names = append(names, f.Name)
		}
		if f.Rule.NoAccept && strings.HasPrefix(argument, f.Name) {
			return f.Name + " cannot be accepted: " + f.Diagnostic.Hint
		}
		if f.Name == argument {
			return "a reason is missing: write " + argument + "=REASON"
		}
	}
	if names == nil {
		return "no such change: stored data is not affected, so leave out --accept"
	}
	return "no such change; the changes are " + strings.Join(slices.Compact(names), ", ")
}

// Refused returns the changes of stored data that are not accepted, with how to accept them.
func (c *Comparison) Refused(accepted []lock.Acceptance) diag.List {
	var out diag.List
	var names []string // of those that may be accepted
	for _, f := range c.Findings {
		if f.Rule.Class != Data || slices.ContainsFunc(accepted, func(a lock.Acceptance) bool { return a.Change == f.Name }) {
			continue
		}
		if out = append(out, f.Report()); f.Accept != "" && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	if len(names) > 1 {
		all := c.command()
		for _, name := range names {
			all += " --accept " + words.Shell(name+"=REASON")
		}
		out[len(out)-1].Note += "\nall of these in one run: " + all
	}
	return out
}

// Report returns the diagnostic of a finding with how to accept the change, or why it was
// accepted.
func (f *Finding) Report() diag.Diagnostic {
	d := f.Diagnostic
	switch {
	case f.Rule.Class != Data:
		return d
	case f.Accepted != "":
		d.Note += "\naccepted: " + f.Accepted
	case f.Accept == "":
	case f.fill:
		d.Note += "\nonce the table is backfilled: " + f.Accept
	default:
		d.Note += "\n" + f.Rule.accept + ": " + f.Accept
	}
	d.Note = strings.TrimPrefix(d.Note, "\n")
	return d
}

// accepting returns the command that accepts a change of this comparison.
func (c *Comparison) accepting(name string) string {
	return c.command() + " --accept " + words.Shell(name+"=REASON")
}

// command returns the command line of btgen generate.
func (c *Comparison) command() string { return cmp.Or(c.in.Command, "btgen generate") }

// Way is a way to accept a change: a comparison that btgen generate makes, after a command that
// must run first, if any.
type Way struct {
	First string
	Then  *Comparison
}

// Propose sets how the changes are accepted: by the first way that has them. A comparison with
// another version finds changes that the lock, which btgen generate compares, has already.
func (c *Comparison) Propose(ways []Way) {
	for i := range c.Findings {
		f := &c.Findings[i]
		f.Accept = ""
		for _, w := range ways {
			has := slices.ContainsFunc(w.Then.Findings, func(o Finding) bool { return o.Rule.Class == Data && o.Name == f.Name })
			if !has || f.Rule.Class != Data {
				continue
			}
			f.Accept = w.Then.accepting(f.Name)
			if w.First != "" {
				f.Accept = w.First + " && " + f.Accept
			}
			break
		}
	}
}

// Next returns the lock after the changes. A table with accepted changes keeps its previous
// facts as an older layout. Tables that are in no schema of the input are kept.
func (c *Comparison) Next(accepted []lock.Acceptance) *lock.Lock {
	out := &lock.Lock{}
	for i := range c.pairs {
		p := &c.pairs[i]
		t, known := p.next(c.acceptedOf(p, accepted))
		if !known {
			continue
		}
		if p.facts == nil {
			t.Schema = c.owner(p.old) // which has a new name, perhaps
		}
		if c.dropped(p) && p.old.Newest().Pattern.NewestOnly() {
			t.Removed, t.Serves = stateRemoved.ID+":"+p.old.Name+": other tables have its events", nil
		}
		out.Tables = append(out.Tables, t)
	}
	out.Sort()
	return c.in.Old.Next(out.Tables)
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
		t := *p.facts
		t.Layouts[0].Accepted = p.acceptTable(&t, accepted)
		return t, true
	case p.facts == nil:
		t := *p.old
		if len(accepted) > 0 {
			t.Removed, t.Serves = accepted[0].Change+": "+accepted[0].Reason, nil
		}
		return t, true
	}
	t := *p.old
	t.Removed, t.Schema, t.Serves = "", p.facts.Schema, p.facts.Serves
	accepted = p.acceptTable(&t, accepted)
	live := p.old.Periods()
	merged := p.merged(live)
	if len(accepted) == 0 {
		t.Layouts = append(merged, t.Layouts[len(live):]...)
	} else {
		for i := range merged {
			merged[i].Number = p.old.Newest().Number + len(merged) - i
		}
		merged[0].Accepted = accepted
		t.Layouts = append(merged, t.Layouts...)
	}
	p.move(&t, len(merged))
	return t, true
}

// move gives a table, the first layouts of which are in use, its new name.
func (p *pair) move(t *lock.Table, inUse int) {
	if t.Name == p.facts.Name {
		return
	}
	for i := range t.Layouts[inUse:] {
		l := &t.Layouts[inUse+i]
		l.Table = placeOf(p.old, l)
	}
	t.Name, t.Family = p.facts.Name, p.facts.Family
}

// acceptTable notes the accepted changes that are not about layouts, and returns the others.
func (p *pair) acceptTable(t *lock.Table, accepted []lock.Acceptance) []lock.Acceptance {
	var rest []lock.Acceptance
	t.Accepted = slices.Clone(t.Accepted)
	for _, a := range accepted {
		if readLacks.named(a.Change) || tableTaken.named(a.Change) || lossUnnamed.named(a.Change) {
			t.Accepted = append(t.Accepted, a)
		} else {
			rest = append(rest, a)
		}
	}
	lock.SortAccepted(t.Accepted)
	return rest
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
		merged := merge(was, &new[i])
		if k := slices.IndexFunc(p.old.Layouts, func(l lock.Layout) bool { return l.Blob == new[i].Blob }); was.Blob != new[i].Blob && k >= 0 {
			merged.Columns = merge(&p.old.Layouts[k], &new[i]).Columns // events were written in this format before
		}
		out = append(out, merged)
	}
	return out
}

// MarkAccepted sets the reasons of findings that were accepted since the old lock, according
// to the lock of the new version. since compares that lock with the schemas: what it refuses was
// changed later, and has the name of an accepted change, perhaps, but other facts.
func (c *Comparison) MarkAccepted(now *lock.Lock, since *Comparison) {
	for i := range c.Findings {
		f := &c.Findings[i]
		if f.Rule.Class != Data || f.pair == nil {
			continue
		}
		is := func(of *lock.Table) func(t lock.Table) bool {
			return func(t lock.Table) bool { return of != nil && t.Name == of.Name && t.Family == of.Family }
		}
		j := slices.IndexFunc(now.Tables, is(f.pair.old))
		if j < 0 {
			j = slices.IndexFunc(now.Tables, is(f.pair.facts))
		}
		if j >= 0 && !since.exceeds(&now.Tables[j], f.Name, c) {
			f.Accepted = f.pair.acceptedIn(&now.Tables[j], f.Name)
		}
	}
}

// exceeds reports whether a table of a lock has a change of class Data since then that goes beyond
// one that its lock may have accepted: by the same name, or by one that a comparison with an earlier
// lock does not have, since the earlier change contains it.
func (c *Comparison) exceeds(t *lock.Table, accepted string, all *Comparison) bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool {
		if f.Rule.Class != Data || f.pair == nil || f.pair.old == nil || f.pair.old.Key() != t.Key() {
			return false
		}
		apart := f.Name != accepted && slices.ContainsFunc(all.Findings, func(o Finding) bool { return o.Name == f.Name })
		return !apart
	})
}

// acceptedIn returns the reason for which a change was accepted since the old lock, according to
// the table of a later one; empty if it was not.
func (p *pair) acceptedIn(t *lock.Table, name string) string {
	before := 0
	if p.old != nil {
		before = len(p.old.Reasons(name))
	}
	if all := t.Reasons(name); len(all) > before {
		return all[len(all)-1]
	}
	return ""
}
