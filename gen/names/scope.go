package names

import (
	"cmp"
	"fmt"

	"github.com/btgen-dev/btgen/gen/diag"
)

// origin is the source of a name.
type origin struct {
	what string   // what the user wrote, for messages
	pos  diag.Pos // zero for names that are not from a schema
	// rename is what to rename, if it differs from what.
	rename string
	// within is the position of the enclosing part, if that can have a collision of its
	// own.
	within diag.Pos
}

// scope contains names that must be distinct: those of a package, a struct or a
// message.
type scope struct {
	where string // for messages
	taken map[string]origin
}

// newScope returns a scope of Go names.
func newScope() *scope { return &scope{"Go", map[string]origin{}} }

// registrar registers the names of one schema and finds collisions. It reports one
// collision per part of the schema, even if several of its names collide.
type registrar struct {
	pkg   *scope          // the package of the schema
	own   map[string]bool // the names registered in pkg
	found map[diag.Pos]diag.Diagnostic
}

// of returns the function that registers a name in a scope. It returns the name.
func (r *registrar) of(s *scope, from origin) func(name string) string {
	return func(name string) string {
		if s == r.pkg {
			r.own[name] = true
		}
		if other, taken := s.taken[name]; !taken {
			s.taken[name] = from
		} else if other != from {
			r.collide(s, from, other, name)
		}
		return name
	}
}

// collide reports a collision.
func (r *registrar) collide(s *scope, from, other origin, name string) {
	for _, pos := range []diag.Pos{from.pos, from.within} {
		if _, known := r.found[pos]; known {
			return
		}
	}
	if other.pos.IsValid() && other.pos.File != from.pos.File {
		other.what += " at " + other.pos.String()
	}
	r.found[from.pos] = diag.Diagnostic{
		Pos: from.pos, Hint: "rename " + cmp.Or(from.rename, from.what),
		Message: fmt.Sprintf("%s and %s would have the same name in %s, %s", from.what, other.what, s.where, name),
	}
}
