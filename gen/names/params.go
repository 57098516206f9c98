package names

import (
	godoc "go/doc"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
)

// visible lists the names in a query that a parameter would shadow or duplicate:
// imported packages, and variables of the methods.
var visible = []string{
	"context", "errors", "iter", "json", "time", "bigtable", "codec", "setup", "store", "window",
	"r", "ctx", "width", "from", "to", "opts", "columns", "event", "events", "low", "high", "field", "n",
}

// params sets the parameters for the series values of a query: one for each, and those for
// several values, a prefix or a range of one of them, and for conditions on fields. They do not shadow what the file declares or
// imports.
func (n *Schema) params(r *registrar, l *layout.Layout, q *layout.Query) {
	reserved := maps.Clone(r.own)
	for _, name := range visible {
		reserved[name] = true
	}
	name := func(series int) string { return unexported(n.Field(&l.Series[series]).Name) }
	var wanted []string
	for _, i := range q.By {
		wanted = append(wanted, name(i))
	}
	for _, i := range q.Many {
		wanted = append(wanted, plural(name(i)))
	}
	for _, i := range q.Prefix {
		wanted = append(wanted, name(i)+"Prefix")
	}
	for _, i := range q.Range {
		wanted = append(wanted, name(i)+"From", name(i)+"To")
	}
	for _, w := range q.Where {
		name := unexported(n.Field(&l.Fields[w.Field]).Name)
		if w.Equal {
			wanted = append(wanted, name)
		} else {
			wanted = append(wanted, name+"From", name+"To")
		}
	}
	out, params := n.Query(q), distinct(wanted, reserved)
	out.Params, params = params[:len(q.By)], params[len(q.By):]
	if len(q.Many) > 0 {
		out.Several, params = params[0], params[1:]
	}
	n.where(out, q, params)
}

// where sets the last parameters of a query: those for a prefix or a range, and for conditions.
func (n *Schema) where(out *Query, q *layout.Query, params []string) {
	partial := len(q.Prefix) + 2*len(q.Range)
	out.Partial, params = params[:partial], params[partial:]
	for _, w := range q.Where {
		ends := []string{params[0], params[0]}
		if params = params[1:]; !w.Equal {
			ends[1], params = params[0], params[1:]
		}
		out.Where = append(out.Where, ends)
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

// Parameters returns all parameters for the values of the query.
func (q *Query) Parameters() []string {
	out := slices.Concat(q.Params, q.Partial)
	if q.Several != "" {
		out = append(out, q.Several)
	}
	for _, ends := range q.Where {
		out = append(out, ends...)
	}
	return out
}
