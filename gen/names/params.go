package names

import (
	godoc "go/doc"
	"go/token"
	"maps"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
)

// visible lists the names in a query that a parameter would shadow or duplicate:
// imported packages, and variables of the methods.
var visible = []string{
	"context", "errors", "iter", "json", "time", "bigtable", "codec", "store",
	"r", "ctx", "from", "to", "opts", "columns", "event", "events",
}

// params returns the parameters for the series values of a query, and the one for several
// values of one of them. They do not shadow what the file declares or imports.
func (n *Schema) params(r *registrar, l *layout.Layout, q *layout.Query) (params []string, several string) {
	reserved := maps.Clone(r.own)
	for _, name := range visible {
		reserved[name] = true
	}
	wanted := make([]string, len(q.By))
	for i, by := range q.By {
		wanted[i] = unexported(n.Field(&l.Series[by]).Name)
	}
	for _, i := range q.Many {
		wanted = append(wanted, plural(unexported(n.Field(&l.Series[i]).Name)))
	}
	params = distinct(wanted, reserved)
	if len(q.Many) > 0 {
		several = params[len(q.By)]
	}
	return params[:len(q.By)], several
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

// distinct returns distinct names in the order of the wanted ones. It keeps those that
// are free and extends the others.
func distinct(wanted []string, reserved map[string]bool) []string {
	taken := maps.Clone(reserved)
	free := func(name string) bool { return !taken[name] && !token.IsKeyword(name) && !godoc.IsPredeclared(name) }
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
