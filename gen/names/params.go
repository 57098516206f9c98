package names

import (
	godoc "go/doc"
	"go/token"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// reserved are the names that generated code and its tests use for themselves: the packages that they
// import, and all receivers, parameters and variables that do not come from a schema.
var reserved = []string{
	"beamstore", "bigtable", "codec", "context", "errors", "iter", "json", "setup", "slices", "store", "storetest", "testing", "time", "window",
	"admin", "at", "b", "begin", "blob", "bt", "c", "client", "clock", "columns", "ctx", "dst", "e", "encoded", "end", "err", "event", "events",
	"failed", "field", "from", "i", "k", "mappings", "n", "now", "old", "opts", "queries", "r", "row", "s", "series", "t", "text", "to",
	"unstamped", "updated", "v", "w", "width",
}

// Reserved reports whether generated code uses a name for itself, so that nothing that comes from a
// schema may have it where it could shadow that.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// params sets the parameters of a query: one for each input, or two for a range. They do not shadow
// what the file declares or imports.
func (n *Schema) params(r *registrar, l *layout.Layout, q *layout.Query) {
	taken := func(name string) bool { return r.own[name] || slices.Contains(reserved, name) }
	var wanted []string
	for _, in := range q.Inputs {
		name := unexported(n.Field(in.Of(l)).Name)
		switch {
		case in.Form == codec.GivenPrefix:
			name += "Prefix"
		case in.Form == codec.GivenRange && !in.Many:
			wanted = append(wanted, name+"From")
			name += "To"
		case in.Form == codec.GivenRange:
			name += "Range"
		}
		if wanted = append(wanted, name); in.Many {
			wanted = append(wanted, plural(name))
		}
	}
	out, params := n.Query(q), distinct(wanted, taken)
	for _, in := range q.Inputs {
		ends := in.Ends()
		if in.Many {
			ends, out.One, params = 1, params[0], params[1:]
		}
		out.Params, params = append(out.Params, params[:ends]), params[ends:]
	}
}

// plural returns the plural of an English noun, which is regular.
func plural(noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case y && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

// distinct returns distinct names in the order of the wanted ones, none of which is reserved. It keeps those that
// are free and extends the others.
func distinct(wanted []string, reserved func(name string) bool) []string {
	taken := map[string]bool{}
	free := func(name string) bool {
		return !taken[name] && !reserved(name) && !token.IsKeyword(name) && !godoc.IsPredeclared(name)
	}
	out := make([]string, len(wanted))
	for i, name := range wanted {
		if free(name) {
			out[i], taken[name] = name, true
		}
	}
	for i, name := range wanted {
		if out[i] == "" {
			for !free(name) {
				name += "Value"
			}
			out[i], taken[name] = name, true
		}
	}
	return out
}

// Parameters returns all parameters of the query, and the variable with one of several values.
func (q *Query) Parameters() []string { return append(slices.Concat(q.Params...), q.One) }
