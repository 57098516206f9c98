package main

import "strings"

// Where the tables stand in the README.
const (
	tablesBegin = "<!-- benchmarks -->\n"
	tablesEnd   = "<!-- end of benchmarks -->"
)

// The units of what is shown.
const (
	perEvent = "cpu-ns/event"
	perCell  = "cpu-ns/cell"
	allocs   = "allocs/op"
	heldMB   = "held-MB"
)

// rendered is what is shown of results.
type rendered struct{ readme, picture string }

// markError says that the README has no place for the tables.
type markError struct{}

func (markError) Error() string { return readme + " has no " + tablesBegin + " and " + tablesEnd }

// render shows what benchmarks have printed: as the tables of a README, and as a
// plot. It depends on nothing else.
func render(printed, page string) (rendered, error) {
	results, err := parse(printed)
	if err != nil {
		return rendered{}, err
	}
	before, rest, some := strings.Cut(page, tablesBegin)
	_, after, ends := strings.Cut(rest, tablesEnd)
	if !some || !ends {
		return rendered{}, markError{}
	}
	m := &medians{results: results}
	out := rendered{readme: before + tablesBegin + tablesOf(m) + tablesEnd + after, picture: plot(m)}
	return out, m.err
}
