package infer

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/words"
)

// Layouts of package time that readers need --time-layout for: those of a date, and of what follows it.
var (
	dateLayouts = append(strings.Split("1/2/2006,2/1/2006,1-2-2006,2-1-2006,2.1.2006,1/2/06,2/1/06,2.1.06,Jan 2 2006,2 Jan 2006,2-Jan-2006,2-Jan-06,"+
		"January 2 2006,2 January 2006,2006-01,2006.1.2,2006-002", ","), "Jan 2, 2006", "January 2, 2006", "Mon, 02 Jan 2006", "2006-01-02")
	timeLayouts = []string{"", " 15:04", " 15:04:05", " 3:04 PM", " 3:04:05 PM", " 15:04:05 -0700"}
)

// layoutsOf returns the layouts that all texts have.
func layoutsOf(texts data) (layouts []string) {
	for _, date := range dateLayouts {
		for _, clock := range timeLayouts {
			layout := date + clock
			if texts.all(func(b []byte) bool { _, err := time.Parse(layout, string(bytes.TrimSpace(b))); return err == nil }) {
				layouts = append(layouts, layout)
			}
		}
	}
	return layouts
}

// layoutHint says how texts that are no times are read: with the layout that all have, if there is only one.
func layoutHint(texts data) string {
	switch layouts := layoutsOf(texts); len(layouts) {
	case 0:
		return format.TimeForms + "; for other forms, add --time-layout with how the file writes January 2, 2006, 15:04:05, as in --time-layout '1/2/2006 15:04'"
	case 1:
		return "add --time-layout " + words.Shell(layouts[0])
	default:
		for i := range layouts {
			layouts[i] = words.Shell(layouts[i])
		}
		return fmt.Sprintf("%s is ambiguous: add --time-layout with %s", show(texts[0]), words.List(layouts, "or"))
	}
}
