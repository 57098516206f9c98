package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/facts"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/store"
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

// bounds returns the times at which layouts begin or end that the history does not know. of are the recorded layouts.
func bounds(own facts.Layouts, of []recordedLayout) []time.Time {
	if len(of) == 0 {
		return own.Bounds()
	}
	have := of[len(of)-1].layouts
	if how, ok := own.Continues(have); ok { // its older layouts are judged by whether they have expired
		all := own[:how.Above].Bounds()
		if how.Ended {
			all = append(all, own[how.Above].Until())
		}
		return all
	}
	known := have.Bounds()
	return slices.DeleteFunc(own.Bounds(), func(at time.Time) bool { return slices.ContainsFunc(known, at.Equal) })
}

// begun makes a layout by time that the history does not know one to be allowed by name if it began in the past, or if it hides
// stored events with later times, such as forecasts: these are in the layout before it, where reads do not look for them. There are
// none in a table that does not exist. of are the recorded layouts.
func (h *layoutHistory) begun(c *Change, own facts.Layouts, of []recordedLayout) {
	if len(c.Hazards) > 0 {
		return
	}
	for _, at := range bounds(own, of) {
		if !at.After(h.now()) {
			c.hazard("begun_layout", "", "the history does not know this layout, which began at "+at.Format(time.RFC3339Nano)+": events that programs with another layout wrote since then are not found: choose a later since, or make sure that there are none")
			return
		}
	}
	if says := h.later[[2]string{c.Table, own.String()}]; says != "" {
		c.hazard("later_events", "E38", says)
	}
}

// look searches existing tables for stored events that layouts hide which are still to begin, and which the history does not know. It
// gives up after the timeout. What programs with the old code write from now on is not seen.
func (h *layoutHistory) look(ctx context.Context, client store.Client, declared []store.Table, live map[string]*liveTable, o Options) {
	for _, t := range declared {
		id := o.TablePrefix + t.ID
		i := slices.IndexFunc(h.own[id], func(own facts.Layouts) bool { return own.String() == t.Layout })
		if live[id] == nil || i < 0 {
			continue
		}
		ends := slices.DeleteFunc(bounds(h.own[id][i], h.rows[id].ofSchema(h.own[id], i)), func(at time.Time) bool { return !at.After(h.now()) })
		if len(ends) == 0 {
			continue
		}
		limited, cancel := call.Within(ctx, o.Timeout)
		found, err := t.Hidden(limited, client, ends, store.ReaderOptions{TablePrefix: o.TablePrefix, Timeout: o.Timeout, Now: o.Now})
		if found.Events > 0 || err != nil {
			if limited.Err() != nil && ctx.Err() == nil {
				err = fmt.Errorf("it took longer than %s", o.Timeout)
			}
			h.later[[2]string{id, t.Layout}] = hides(found, slices.MinFunc(ends, time.Time.Compare), err)
		}
		cancel()
	}
}

// hides says that a layout hides stored events from a time on, or that nobody knows, because the search for them has failed.
func hides(found store.HiddenEvents, from time.Time, failed error) string {
	since := "from " + showDay(from) + " on, when its new layout begins"
	if found.Events == 0 {
		return fmt.Sprintf("the search for stored events %s, which would be hidden, has failed: %v: give it more time (Options.Timeout, --timeout), or make sure that there are none, and allow this", since, failed)
	}
	least := map[bool]string{true: "at least "}[failed != nil]
	return fmt.Sprintf("stored events %s, would be hidden: %s%d, up to %s, such as in row %q: choose a since after them, delete them, or allow this to hide them",
		since, least, found.Events, showDay(found.Last), found.Row)
}
