package setup

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/facts"
)

// begun makes a layout by time that the history does not know, and that began in the past, one to
// be allowed by name: events since then are stored in the layout before it, where reads do not
// look for them. There are none in a table that does not exist. of are the recorded layouts.
func (h *layoutHistory) begun(c *Change, own facts.Layouts, of []recordedLayout) {
	if c == nil || len(c.Hazards) > 0 {
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
