package setup

import (
	"slices"
	"time"
)

// begun makes a layout by time that the history does not know, and that began in the past, one to
// be allowed by name: events since then are stored in the layout before it, where reads do not
// look for them. There are none in a table that does not exist. of are the recorded layouts.
func (h *layoutHistory) begun(c *Change, own layouts, of []RecordedLayout) error {
	if c == nil || len(c.Hazards) > 0 {
		return nil
	}
	bounds := own.bounds()
	if len(of) > 0 {
		have, err := parseLayouts(of[len(of)-1].Layout)
		if err != nil {
			return err
		}
		if how, ok := own.continues(have); ok { // its older layouts are judged by whether they have expired
			bounds = own[:how.above].bounds()
			if how.ended {
				bounds = append(bounds, own[how.above].until)
			}
		} else {
			known := have.bounds()
			bounds = slices.DeleteFunc(bounds, func(at time.Time) bool { return slices.ContainsFunc(known, at.Equal) })
		}
	}
	for _, at := range bounds {
		if !at.After(h.now()) {
			c.hazard("begun_layout", "", "the history does not know this layout, which began at "+at.Format(time.RFC3339Nano)+": events that programs with another layout wrote since then are not found: choose a later since, or make sure that there are none")
			return nil
		}
	}
	return nil
}

// bounds returns the times at which one layout ends and the next one begins, newest first.
func (l layouts) bounds() []time.Time {
	var out []time.Time
	for _, f := range l {
		for _, at := range []time.Time{f.until, f.since} {
			if !at.IsZero() && !slices.ContainsFunc(out, at.Equal) {
				out = append(out, at)
			}
		}
	}
	return out
}
