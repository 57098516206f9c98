package evolve

import (
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/words"
)

// After a merge, the schemas are compared with what both sides say together, and with what each of them says: this
// file knows what only both sides together tell.

// since adds the changes of stored events since one side of a merge, and returns those that the other side has accepted.
func (c *Comparison) since(side int) (accepted []Finding) {
	in := c.in
	in.Old, in.Locked, in.Kept = c.heads[side].Lock(), nil, nil // which are about the whole file
	for _, f := range byRules(in, c.heads).Findings {
		same := func(o Finding) bool { return o.Name == f.Name }
		if f.Rule.Class != Data || slices.ContainsFunc(c.Findings, same) {
			continue
		}
		of := f.pair
		f.pair = nil
		for i := range c.pairs {
			p := &c.pairs[i]
			if of != nil && (p.table != nil && p.table == of.table || p.table == nil && of.old != nil && p.old.Key() == of.old.Key()) {
				f.pair = p
			}
		}
		unmarked := f.Rule == rollupServes && of != nil && of.old.Newest().Rollup() == nil                     // by programs of this side
		moved := f.Rule == tableRemoved && f.pair != nil && strings.HasPrefix(f.pair.old.Removed, "moved to ") // to another lock
		if c.acceptedSince(side, f.Name) && !unmarked || moved {
			accepted = append(accepted, f)
		} else {
			c.Findings = append(c.Findings, f)
		}
	}
	return accepted
}

// acceptedSince reports whether another side of a merge has accepted a change of what both had in common. If both
// sides have, each has accepted another one, perhaps.
func (c *Comparison) acceptedSince(side int, name string) bool {
	own := c.heads[side]
	return slices.ContainsFunc(c.heads, func(other *lock.Epoch) bool {
		before := 0
		if common := own.Common(other); common != nil {
			before = common.Accepted(name)
		}
		return other != own && own.Accepted(name) == before && other.Accepted(name) > before
	})
}

// heirs returns the fields that the sides of a merge have made of one field of what both had in common: each by its
// name, with one of these names. Columns of the one are columns of the others.
func (c *Comparison) heirs(p *pair) map[string]string {
	out := map[string]string{}
	for i, head := range c.heads {
		for _, other := range c.heads[:i] {
			base := head.Common(other)
			if base == nil {
				continue
			}
			was, ours, theirs := base.Table(p.old.Key()), head.Table(p.old.Key()), other.Table(p.old.Key())
			if was == nil || ours == nil || theirs == nil {
				continue
			}
			for _, col := range was.Newest().Live() {
				a, known := inPlace(ours.Newest(), col.Key, col.Family)
				b, too := inPlace(theirs.Newest(), col.Key, col.Family)
				if known && too && !col.Written {
					one := owner(theirs.Newest(), b)
					out[one], out[owner(ours.Newest(), a)] = one, one
				}
			}
		}
	}
	return out
}

// mixed returns which values a column has, if the sides of a merge have added it for values of which none is read as
// those of the other side; empty if it has no such values.
func (c *Comparison) mixed(p *pair, of *lock.Column) string {
	var all []lock.Column
	var types []string
	misread := false
	for _, head := range c.heads {
		t := head.Table(p.old.Key())
		if t == nil {
			continue
		}
		if col, known := inPlace(t.Newest(), of.Key, of.Family); known {
			either := &comparer{old: t.Newest(), new: t.Newest()}
			misread = misread || slices.ContainsFunc(all, func(o lock.Column) bool { return either.misreads(o, col) && either.misreads(col, o) })
			all, types = append(all, col), append(types, col.Type.String())
		}
	}
	if !misread {
		return ""
	}
	return words.List(slices.Compact(types), "and")
}
