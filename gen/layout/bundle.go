package layout

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Bundle is the schema bundle of a table: the messages of its serialized events, for SQL.
type Bundle struct {
	Pos  diag.Pos
	ID   string
	Drop bool // setup deletes it
}

// Same reports whether two bundles, of which neither may be missing, are the same.
func (b Bundle) Same(other Bundle) bool { return b.ID == other.ID && b.Drop == other.Drop }

// bundle resolves the schema bundle of a table with all its layouts.
func (r *resolver) bundle(t *Table, s *schema.Table) {
	if !s.Bundle.Pos.IsValid() {
		return
	}
	t.Bundle = Bundle{s.Bundle.Pos, s.Bundle.ID.V, s.Bundle.Drop}
	protobuf := slices.ContainsFunc(t.Periods(), func(p *Table) bool { return p.ID == t.ID && p.Blob == Protobuf })
	if !t.Bundle.Drop && !protobuf {
		r.reject(t.Bundle.Pos, "no-protobuf", t.ID)
	}
}
