package layout

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/schema"
)

// bundle resolves the schema bundle of a table with all its layouts.
func (r *resolver) bundle(t *Table, s *schema.Table) {
	if !s.Bundle.Pos.IsValid() {
		return
	}
	t.Bundle = s.Bundle
	protobuf := slices.ContainsFunc(t.Periods(), func(p *Table) bool { return p.ID == t.ID && p.Blob == Protobuf })
	if !t.Bundle.Drop && !protobuf {
		r.reject(t.Bundle.Pos, "no-protobuf", t.ID)
	}
}
