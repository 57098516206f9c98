package setup

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A layout that has ended may be forgotten when its events have expired: a week after the time to
// live of the last one, in the live garbage collection rule. Until then, a build that no longer
// has it, or that has another layout in its place, does not find them. The layouts in the history
// and those of a build agree on the newest ones; where their older ones begin to differ is a
// time, and what the recorded ones may hold of the events before it decides.

// deletionDelay is how long after its newest event expired a table is kept: as long as
// Bigtable may take to collect the event.
const deletionDelay = 7 * ageDay

// collected reports whether Bigtable has collected the events that expired at a time.
func collected(expired, now time.Time) bool { return expired.Add(deletionDelay).Before(now) }

// expiry returns when the newest event before a time expires in families of the given kinds;
// zero if it may never do so, or if that depends on more than the time of the event. A table or
// family that does not exist contains none.
func (t *liveTable) expiry(end time.Time, kinds map[string]string, families []string) time.Time {
	if t == nil {
		return end
	}
	var age time.Duration
	for _, name := range families {
		live, exists := t.families[name]
		if !exists {
			continue
		}
		of := longest(live.rule)
		if of == 0 || kinds[name] != "events" && kinds[name] != "class" && kinds[name] != "rollup" {
			return time.Time{}
		}
		age = max(age, of)
	}
	return end.Add(age)
}

// endOfTime is the end of a layout that has none.
var endOfTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// end returns the end of a layout, or endOfTime.
func (f facts) end() time.Time {
	if f.until.IsZero() {
		return endOfTime
	}
	return f.until
}

// differBefore returns the time from which layouts and later ones, which continue them without
// anything newer, have the same layout for each event. Before it, only one of them has layouts, or one
// goes on with a layout where the other has none or a different one. It is zero if they are the same.
func (l layouts) differBefore(later layouts) time.Time {
	n := min(len(l), len(later))
	was, is := l[n-1].since, later[n-1].since
	switch {
	case was.After(is):
		return was
	case is.After(was):
		return is
	case len(l) > n:
		return l[n].end()
	case len(later) > n:
		return later[n].end()
	}
	return time.Time{}
}

// outlasts reports whether layouts have older ones that later ones no longer have, or begin at
// another time that is still to come.
func (l layouts) outlasts(later layouts, now time.Time) bool {
	n := min(len(l), len(later))
	was, is := l[n-1].since, later[n-1].since
	return len(l) > n || is.Before(was) || !is.Equal(was) && was.After(now)
}

// olderFacts returns the facts in which the older layouts of l and of later ones differ, as
// [facts.contradicts] does.
func (l layouts) olderFacts(later layouts) []string {
	n := min(len(l), len(later))
	var out []string
	if was, is := l[n-1].values[sinceKey], later[n-1].values[sinceKey]; was != is {
		out = append(out, sinceKey+": "+orNone(was)+" → "+orNone(is))
	}
	for i := n; i < len(l); i++ {
		out = append(out, "before "+l[i].values[untilKey]+": "+l.describe(i)+" → none")
	}
	for i := n; i < len(later); i++ {
		out = append(out, "before "+later[i].values[untilKey]+": none → "+later.describe(i))
	}
	return out
}

// describe returns the facts about the rows of a layout that differ from those of the next newer one.
func (l layouts) describe(i int) string {
	var out []string
	for _, key := range l[i].keys {
		ofRows := key != sinceKey && key != untilKey && key != namesKey && (!isPart(key) || strings.HasPrefix(key, "family "))
		if ofRows && (i == 0 || l[i].values[key] != l[i-1].values[key]) {
			out = append(out, key+": "+l[i].values[key])
		}
	}
	if out == nil {
		return "with other columns"
	}
	return strings.Join(out, "; ")
}

// forgets makes a change of the older layouts one to be allowed by name, if it hides events that
// have not expired.
func (h *layoutHistory) forgets(c *Change, have, own layouts, live *liveTable) {
	edge := have.differBefore(own)
	if edge.IsZero() {
		return
	}
	rule, n := "E19", min(len(have), len(own))
	if len(have) > n {
		rule = "E18"
	}
	if kept, way := h.unexpired(have, n-1, edge, nil, live); kept != "" {
		c.hazard("unexpired_layout", rule, "this build does not find the events before "+kept+" that are stored in the recorded layout: "+way)
		return
	}
	// What the recorded layouts leave out may be in another table, whose rules are not known here:
	// those of the layout that takes its place stand for them.
	if kept, way := h.unexpired(own, n-1, edge, have, live); kept != "" {
		c.hazard("unexpired_layout", rule, "this build looks in this table for the events before "+kept+", which the recorded layouts leave to another one: "+way)
	}
}

// unexpired describes the first layout of l from i on that has begun and has events before edge
// that may be stored, apart from the times of other layouts; empty if there is none. way is what
// to do then.
func (h *layoutHistory) unexpired(l layouts, i int, edge time.Time, other layouts, live *liveTable) (kept, way string) {
	now := h.now()
	for ; i < len(l); i++ {
		f, end := l[i], edge
		if f.end().Before(edge) {
			end = f.end()
		}
		end = other.gapBefore(end)
		if !f.since.Before(end) || f.since.After(now) {
			continue
		}
		expired := live.expiry(end, f.kinds(), slices.Sorted(maps.Keys(f.kinds())))
		kept = showDay(end) + " (" + l.describe(i) + ")"
		switch {
		case expired.IsZero():
			return kept, "restore since and before as they were recorded, or make sure that no such event is stored; their time does not say when they expire"
		case !collected(expired, now):
			return kept, "restore since and before as they were recorded, until the last of them has expired and was collected, on " + showDay(expired.Add(deletionDelay))
		}
	}
	return "", ""
}

// mayKeep reports whether the older layouts of own, which differ from the recorded ones, may have
// events that do not expire with those: late ones.
func (h *layoutHistory) mayKeep(own, have layouts, live *liveTable) bool {
	kept, _ := h.unexpired(own, min(len(have), len(own))-1, have.differBefore(own), nil, live)
	return kept != ""
}

// gapBefore returns the end of the newest part of the time before at that no layout has.
func (l layouts) gapBefore(at time.Time) time.Time {
	for _, f := range l {
		if f.since.Before(at) && !f.end().Before(at) {
			at = f.since
		}
	}
	return at
}
