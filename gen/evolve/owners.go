package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/lock"
)

// schemaNames are the names of the schemas of the input, and of those in its lock.
type schemaNames struct{ now, before map[string]bool }

func (c *Comparison) schemas() schemaNames {
	out := schemaNames{map[string]bool{}, map[string]bool{}}
	for _, l := range c.in.Layouts {
		out.now[lock.SchemaOf(l)] = true
	}
	for i := range c.in.Old.Tables {
		out.before[c.in.Old.Tables[i].Schema] = true
	}
	return out
}

// rename finds the schemas that have a new name: a name that the lock does not know beside the old one, of a schema
// whose tables in the lock are those of one schema, which has no others, and is no longer there.
// A table whose removal was accepted does not tell: a schema of any name may take it.
func (c *Comparison) rename() {
	names := c.schemas()
	from, to := map[string]map[string]bool{}, map[string]map[string]bool{}
	note := func(in map[string]map[string]bool, key, value string) {
		if in[key] == nil {
			in[key] = map[string]bool{}
		}
		in[key][value] = true
	}
	for i := range c.pairs {
		if p := &c.pairs[i]; p.old != nil && p.layout != nil && (p.old.Removed == "" || p.old.Schema == lock.SchemaOf(p.layout)) {
			if note(to, p.old.Schema, lock.SchemaOf(p.layout)); p.old.Schema != lock.SchemaOf(p.layout) {
				note(from, lock.SchemaOf(p.layout), p.old.Schema)
			}
		}
	}
	c.renamed = map[string]string{}
	for old, heirs := range to {
		for new := range heirs {
			if old != new && len(heirs) == 1 && len(from[new]) == 1 && !names.now[old] && !c.knowsBoth(old, new) {
				c.renamed[old] = new
			}
		}
	}
}

// knowsBoth reports whether the lock, or one side of a merge, has tables of two schemas.
func (c *Comparison) knowsBoth(a, b string) bool {
	return slices.ContainsFunc(c.in.Old.Heads(), func(r *lock.Epoch) bool {
		knows := map[string]bool{}
		for _, t := range r.Tables() {
			knows[t.Schema] = true
		}
		return knows[a] && knows[b]
	})
}

// owner returns the name that the schema of a table in the lock has now.
func (c *Comparison) owner(t *lock.Table) string {
	if name, ok := c.renamed[t.Schema]; ok {
		return name
	}
	return t.Schema
}

// owners adds the findings for tables that a schema has from another one: their layouts may be
// equal, but not what their events mean.
func (c *Comparison) owners() {
	for i := range c.pairs {
		p := &c.pairs[i]
		if p.old == nil || p.facts == nil || c.owner(p.old) == p.facts.Schema {
			continue
		}
		c.add(p, Change{Old: "events of " + p.old.Schema, New: "events of " + p.facts.Schema, way: way{text: ownerWay(p)}}, "foreign-events", p.old.Name, p.old.Schema, p.facts.Schema)
	}
}

// ownerWay returns how a schema gets tables of its own.
func ownerWay(p *pair) string {
	if p.old.Removed != "" {
		return "give the schema a table of another name; if it is the removed schema, restore that by its old name, run btgen generate, and then rename it"
	}
	return "give each schema its own tables again; to rename several schemas, rename one at a time, and run btgen generate after each"
}
