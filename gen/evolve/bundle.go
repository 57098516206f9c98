package evolve

import "github.com/btgen-dev/btgen/gen/layout"

// The rules that this file applies. Like a tier, a schema bundle is not data.
var (
	bundleGone = rollout(Rule{ID: "E42"})
	bundleSafe = safe(Rule{ID: "E75"})
)

// bundles adds the changes of schema bundles between two versions of a schema.
func (c *Comparison) bundles(a, b *layout.Layout) {
	for _, t := range b.Tables {
		was := tableOf(a, t.ID)
		if was == nil || was.Draft {
			continue
		}
		old, new := was.Bundle, t.Bundle
		pos := new.Pos
		if !pos.IsValid() {
			pos = t.Pos
		}
		had := old.ID != "" && !old.Drop
		if had && new.Drop && old.ID != new.ID {
			c.plain(bundleSafe, pos, t.ID, "table %q no longer has schema bundle %q, which setup leaves alone: it deletes only %q", t.ID, old.ID, new.ID)
		}
		switch {
		case old.Same(new):
		case new.Drop:
			c.plain(bundleGone, pos, t.ID, "schema bundle %q of table %q is deleted: change the queries that name it, then run setup", new.ID, t.ID)
		case had && new.ID != "":
			c.plain(bundleGone, pos, t.ID, "the schema bundle of table %q changes from %q to %q: run setup, then change the queries that name it", t.ID, old.ID, new.ID)
		case had:
			c.plain(bundleSafe, pos, t.ID, "table %q no longer has schema bundle %q, which setup leaves alone", t.ID, old.ID)
		case new.ID != "":
			c.plain(bundleSafe, pos, t.ID, "table %q has a new schema bundle, %q: run setup", t.ID, new.ID)
		}
	}
}
