package setup

import (
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/facts"
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

// forgets makes a change of the older layouts one to be allowed by name, if it hides events that
// have not expired. It reports whether to record the change: an older build may still have what is expired.
func (h *layoutHistory) forgets(c *Change, have, own facts.Layouts, live *liveTable) bool {
	edge := have.DifferBefore(own)
	if edge.IsZero() {
		return false
	}
	rule, n := "E19", min(len(have), len(own))
	if len(have) > n {
		rule = "E18"
	}
	if kept, way := h.unexpired(have, n-1, edge, nil, live); kept != "" {
		c.hazard("unexpired_layout", rule, "this build does not find the events before "+kept+" that are stored in the recorded layout: "+way)
		return true
	}
	// What the recorded layouts leave out may be in another table, whose rules are not known here:
	// those of the layout that takes its place stand for them.
	if kept, way := h.unexpired(own, n-1, edge, have, live); kept != "" {
		c.hazard("unexpired_layout", rule, "this build looks in this table for the events before "+kept+", which the recorded layouts leave to another one: "+way)
		return true
	}
	late, _ := h.unexpired(own, n-1, edge, nil, live) // which do not expire with the recorded layouts
	return late != "" || have.Outlast(own, h.now())
}

// unexpired describes the first layout of l from i on that has begun and has events before edge
// that may be stored, apart from the times of other layouts; empty if there is none. way is what
// to do then.
func (h *layoutHistory) unexpired(l facts.Layouts, i int, edge time.Time, other facts.Layouts, live *liveTable) (kept, way string) {
	now := h.now()
	for ; i < len(l); i++ {
		f, end := l[i], edge
		if f.End().Before(edge) {
			end = f.End()
		}
		end = other.GapBefore(end)
		if !f.Since().Before(end) || f.Since().After(now) {
			continue
		}
		expired := live.expiry(end, f.Kinds(), slices.Sorted(maps.Keys(f.Kinds())))
		kept = showDay(end) + " (" + l.Describe(i) + ")"
		switch {
		case expired.IsZero():
			return kept, "restore since and before as they were recorded, or make sure that no such event is stored; their time does not say when they expire"
		case !collected(expired, now):
			return kept, "restore since and before as they were recorded, until the last of them has expired and was collected, on " + showDay(expired.Add(deletionDelay))
		}
	}
	return "", ""
}

// begun makes a layout by time that the history does not know, and that began in the past, one to
// be allowed by name: events since then are stored in the layout before it, where reads do not
// look for them. There are none in a table that does not exist. of are the recorded layouts.
func (h *layoutHistory) begun(c *Change, own facts.Layouts, of []recordedLayout) {
	if len(c.Hazards) > 0 {
		return
	}
	bounds := own.Bounds()
	if len(of) > 0 {
		have := of[len(of)-1].layouts
		if how, ok := own.Continues(have); ok { // its older layouts are judged by whether they have expired
			bounds = own[:how.Above].Bounds()
			if how.Ended {
				bounds = append(bounds, own[how.Above].Until())
			}
		} else {
			known := have.Bounds()
			bounds = slices.DeleteFunc(bounds, func(at time.Time) bool { return slices.ContainsFunc(known, at.Equal) })
		}
	}
	for _, at := range bounds {
		if !at.After(h.now()) {
			c.hazard("begun_layout", "", "the history does not know this layout, which began at "+at.Format(time.RFC3339Nano)+": events that programs with another layout wrote since then are not found: choose a later since, or make sure that there are none")
			return
		}
	}
}
