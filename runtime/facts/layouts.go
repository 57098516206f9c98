package facts

import (
	"slices"
	"strings"
	"time"
)

// Layouts are the layouts of the events of one schema in a table, newest first.
type Layouts []Layout

// Parse parses the text of layouts: one per line, of facts "KEY: VALUE" that "; " separates.
func Parse(text string) (Layouts, error) {
	var out Layouts
	for line := range strings.SplitSeq(text, "\n") {
		l, err := parseLayout(line)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// String returns one line per layout.
func (ls Layouts) String() string {
	lines := make([]string, len(ls))
	for i, l := range ls {
		lines[i] = l.String()
	}
	return strings.Join(lines, "\n")
}

// each returns what all layouts have.
func (ls Layouts) each(of func(Layout) []string) []string {
	var out []string
	for _, l := range ls {
		out = append(out, of(l)...)
	}
	return out
}

// Families returns the column families of all layouts; see [Layout.Families].
func (ls Layouts) Families() []string { return ls.each(Layout.Families) }

// ShareFamily reports whether two layouts have a column family in common.
func (ls Layouts) ShareFamily(other Layouts) bool { return common(ls.Families(), other.Families()) }

// Live returns the names of the column families in the table.
func (ls Layouts) Live() []string {
	out := ls.Families()
	for i := range out {
		out[i] = liveName(out[i])
	}
	return out
}

// schemas returns the names of the schemas whose layouts these are. A schema that gets another name has both.
func (ls Layouts) schemas() []string {
	var out []string
	for _, name := range ls.each(func(l Layout) []string { return l.parts(Schema) }) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// ShareSchema reports whether layouts may be of one schema.
func (ls Layouts) ShareSchema(other Layouts) bool {
	short := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	return slices.ContainsFunc(ls.schemas(), func(a string) bool {
		return slices.ContainsFunc(other.schemas(), func(b string) bool {
			return a == b || short(a) == short(b) && (a == short(a) || b == short(b))
		})
	})
}

// common reports whether two lists have an element in common.
func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// Foreign returns the difference for which the events of other layouts are not those of ls, though nothing in their
// rows contradicts that: they are in other families, or belong to another one of all schemas.
func (ls Layouts) Foreign(was Layouts, all []Layouts) []Difference {
	differ := func(kind Kind, was, is []string) []Difference {
		return []Difference{{Key{Kind: kind}, strings.Join(was, ", "), strings.Join(is, ", ")}}
	}
	if !common(ls.Live(), was.Live()) {
		return differ(Family, was.Families(), ls.Families())
	}
	if lost, new := was[0].classes(ls[0]), ls[0].classes(was[0]); len(lost) > 0 && len(new) > 0 { // neither is older
		return differ(Family, lost, new)
	}
	if is := ls.schemas(); len(is) > 0 && !ls.ShareSchema(was) && slices.ContainsFunc(all, was.ShareSchema) {
		return differ(Schema, was.schemas(), is)
	}
	return nil
}

// Continuation is how layouts continue earlier ones.
type Continuation struct {
	Above int  // how many newer layouts there are
	Ended bool // the newest of the earlier ones has got an end
}

// Grown reports whether there is anything newer.
func (c Continuation) Grown() bool { return c.Above > 0 || c.Ended }

// Continues reports whether ls contain other layouts, which contradict none of them: newer ones may be above them,
// the newest of the others may have got an end, and below those that both have, only one may have more; see
// [Layouts.DifferBefore].
func (ls Layouts) Continues(other Layouts) (Continuation, bool) {
	for above := range ls {
		if ended, ok := other.matches(ls[above:]); ok {
			return Continuation{above, ended}, true
		}
	}
	return Continuation{}, false
}

// matches compares layouts one by one with later ones, up to the last one of either, whose events may have been the
// first ones only in one of them. ended is whether only the later ones have an end.
func (ls Layouts) matches(later Layouts) (ended, ok bool) {
	n := min(len(ls), len(later))
	for i := range n {
		a, b := ls[i], later[i]
		ignored := []Kind{Until}
		if i == n-1 {
			ignored = append(ignored, Since)
		}
		switch until := b.Until(); {
		case until.Equal(a.Until()):
		case i == 0 && a.Until().IsZero() && until.After(a.Since()):
			ended = true
		default:
			return false, false
		}
		mine, its := Layouts{a}.Live(), Layouts{b}.Live()
		elsewhere := len(mine) > 0 && len(its) > 0 && !common(mine, its)
		if elsewhere || len(a.Contradictions(b, ignored...)) > 0 {
			return false, false
		}
	}
	return ended, true
}

// IsOlder reports whether layouts are older than the newest ones, given those before these.
func (ls Layouts) IsOlder(newest Layouts, before []Layouts) bool {
	if how, ok := newest.Continues(ls); ok && how.Grown() {
		return true
	}
	return slices.ContainsFunc(before, func(was Layouts) bool {
		how, ok := ls.Continues(was)
		return ok && !how.Grown() && was.DifferBefore(ls).IsZero() && len(was[0].Added(ls[0])) == 0
	})
}

// Bounds returns the times at which one layout ends and the next one begins, newest first.
func (ls Layouts) Bounds() []time.Time {
	var out []time.Time
	for _, l := range ls {
		for _, at := range []time.Time{l.Until(), l.Since()} {
			if !at.IsZero() && !slices.ContainsFunc(out, at.Equal) {
				out = append(out, at)
			}
		}
	}
	return out
}

// endOfTime is the end of a layout that has none.
var endOfTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// End returns the end of a layout; a time after all events if it has none.
func (l Layout) End() time.Time {
	if until := l.Until(); !until.IsZero() {
		return until
	}
	return endOfTime
}

// DifferBefore returns the time from which layouts and later ones, which continue them without anything newer, have
// the same layout for each event. Before it, only one of them has layouts, or one goes on with a layout where the
// other has none or a different one. It is zero if they are the same.
func (ls Layouts) DifferBefore(later Layouts) time.Time {
	n := min(len(ls), len(later))
	was, is := ls[n-1].Since(), later[n-1].Since()
	switch {
	case was.After(is):
		return was
	case is.After(was):
		return is
	case len(ls) > n:
		return ls[n].End()
	case len(later) > n:
		return later[n].End()
	}
	return time.Time{}
}

// Outlast reports whether layouts have older ones that later ones no longer have, or begin at another time that is
// still to come.
func (ls Layouts) Outlast(later Layouts, now time.Time) bool {
	n := min(len(ls), len(later))
	was, is := ls[n-1].Since(), later[n-1].Since()
	return len(ls) > n || is.Before(was) || !is.Equal(was) && was.After(now)
}

// OlderFacts returns the text of the facts in which the older layouts of ls and of later ones differ.
func (ls Layouts) OlderFacts(later Layouts) []string {
	n := min(len(ls), len(later))
	since := Key{Kind: Since}
	var out []string
	if d := (Difference{since, ls[n-1].value(since), later[n-1].value(since)}); d.Was != d.Is {
		out = append(out, d.String())
	}
	before := func(l Layout) string { return "before " + l.value(Key{Kind: Until}) + ": " }
	for i := n; i < len(ls); i++ {
		out = append(out, before(ls[i])+ls.Describe(i)+" → none")
	}
	for i := n; i < len(later); i++ {
		out = append(out, before(later[i])+"none → "+later.Describe(i))
	}
	return out
}

// Describe returns the facts about the rows of a layout that differ from those of the next newer one.
func (ls Layouts) Describe(i int) string {
	var out Layout
	for _, f := range ls[i] {
		ofRows := f.Part == "" && f.Kind != Since && f.Kind != Until && f.Kind != Names || f.Kind == Family
		if ofRows && (i == 0 || f.Value != ls[i-1].value(f.Key)) {
			out = append(out, f)
		}
	}
	if out == nil {
		return "with other columns"
	}
	return out.String()
}

// GapBefore returns the end of the newest part of the time before at that no layout has.
func (ls Layouts) GapBefore(at time.Time) time.Time {
	for _, l := range ls {
		if l.Since().Before(at) && !l.End().Before(at) {
			at = l.Since()
		}
	}
	return at
}
