package store

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
	var known []string
	if len(of) > 0 {
		have, err := parseLayouts(of[len(of)-1].Layout)
		if err != nil {
			return err
		}
		known = have.bounds()
	}
	for _, bound := range own.bounds() {
		at, err := time.Parse(time.RFC3339Nano, bound)
		if err != nil {
			return err
		}
		if !slices.Contains(known, bound) && !at.After(h.now()) {
			c.hazard("begun_layout", "", "the history does not know this layout, which began at "+bound+": events that programs with another layout wrote since then are not found: choose a later since, or make sure that there are none")
			return nil
		}
	}
	return nil
}

// bounds returns the times at which one layout ends and the next one begins, newest first.
func (l layouts) bounds() []string {
	var out []string
	for _, f := range l {
		for _, key := range []string{untilKey, sinceKey} {
			if at := f.values[key]; at != "" && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}
