package prose

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Windows says which windows of a table come from its rollup, and which are inexact; empty for a table without one.
func Windows(t *layout.Table) string {
	if !t.Rolled() {
		return ""
	}
	var out []string
	serves := false
	for _, p := range t.Periods() {
		serves = serves || p.Rollup != nil && !p.Rollup.Idle
		of := Period(p)
		if of != "" {
			of = "Of " + of + ", windows"
		} else {
			of = "Windows"
		}
		switch r := p.Rollup; {
		case r == nil:
			out = append(out, of+" come from the events.")
		case r.Idle:
			out = append(out, fmt.Sprintf("%s come from the events, because the rollup of table %s has serves: false.", of, p.ID))
		default:
			out = append(out, fmt.Sprintf("%s of %s and its multiples%s come from the rollup of table %s: one cell per bucket, which is there when the events have expired.", of, schema.FormatDuration(r.Every), ofFields(r.Fields), p.ID))
		}
	}
	if serves {
		out = append(out, "Buckets that are not summarized, or have changed since, come from their events, as do narrower windows and those that the time range cuts: the windows are the same. "+
			"Those that need events which have expired are Inexact.")
	}
	return strings.Join(out, " ")
}

// ofFields restricts windows to those of some fields; nil for all.
func ofFields(names []string) string {
	if names == nil {
		return ""
	}
	return words.Plural(len(names), ", of field ", ", of fields ") + words.List(names, "and") + ","
}
