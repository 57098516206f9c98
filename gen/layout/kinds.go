package layout

import (
	"net/url"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// TellApart reports whether the row keys of two tables have different text at the same place,
// which both schemas declare to distinguish kinds of records. No row key is then one of both,
// and readers of each table pass over the rows of the other.
func TellApart(a, b *Table) bool {
	if a.Delimiter != b.Delimiter {
		return false
	}
	for i := range min(len(a.Segments), len(b.Segments)) {
		x, y := a.Segments[i], b.Segments[i]
		if x.Tells && y.Tells {
			n := min(len(x.Const), len(y.Const))
			switch {
			case x.Const[:n] != y.Const[:n], x.Const != y.Const && !x.Joined && !y.Joined:
				return true
			case x.Const != y.Const || x.Joined != y.Joined:
				return false
			}
		}
		if !sameEnd(a, &x, b, &y) {
			return false
		}
	}
	return false
}

// sameEnd reports whether readers of two tables find the end of a segment at the same place.
func sameEnd(a *Table, x *codec.Segment, b *Table, y *codec.Segment) bool {
	if x.Joined != y.Joined {
		return false
	}
	switch {
	case a.Delimiter == "" && x.Terminated() && y.Terminated() && !x.Joined:
		return true
	case a.Delimiter == "", x.Joined, a.InBytes(x), b.InBytes(y):
		return a.Width(x) > 0 && a.Width(x) == b.Width(y)
	}
	return true
}

// Kinds returns what distinguishes the records of the table from those of other schemas in
// the same family, as a suffix of the family: ":click", or empty. It contains no spaces,
// slashes or quotes.
func (t *Table) Kinds() string {
	var out strings.Builder
	for _, g := range t.Segments {
		if g.Tells {
			out.WriteString(":" + url.QueryEscape(g.Const))
		}
	}
	return out.String()
}
