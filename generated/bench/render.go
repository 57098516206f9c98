package main

import "strings"

// marks are the lines around the tables.
type marks struct{ begin, end string }

var (
	tableMarks = marks{"<!-- benchmarks -->\n", "<!-- end of benchmarks -->"} // in the manual
	costMarks  = marks{"<!-- costs -->\n", "<!-- end of costs -->"}           // in the README
)

// The units of the results shown.
const (
	perEvent = "cpu-ns/event"
	perCell  = "cpu-ns/cell"
	allocs   = "allocs/op"
	heldMB   = "held-MB"
)

// shown contains everything that shows results: two pages and a plot.
type shown struct{ readme, manual, picture string }

// markError is the error for a page without the marks.
type markError struct {
	page  string
	marks marks
}

// Error names the page and the marks.
func (e markError) Error() string {
	return e.page + " does not contain " + strings.TrimSpace(e.marks.begin) + " and " + e.marks.end
}

// render renders the output of benchmarks, in the pages and as a plot. It depends on nothing else.
func render(printed string, pages shown) (shown, error) {
	results, err := parse(printed)
	if err != nil {
		return shown{}, err
	}
	m := &medians{results: results}
	readme, err := costMarks.fill(readme, pages.readme, costsOf(m))
	if err != nil {
		return shown{}, err
	}
	manual, err := tableMarks.fill(manual, pages.manual, tablesOf(m))
	if err != nil {
		return shown{}, err
	}
	out := shown{readme, manual, plot(m)}
	return out, m.err
}

// fill replaces the text between the marks of a page.
func (m marks) fill(name, page, with string) (string, error) {
	before, rest, begins := strings.Cut(page, m.begin)
	_, after, ends := strings.Cut(rest, m.end)
	if !begins || !ends {
		return "", markError{name, m}
	}
	return before + m.begin + with + m.end + after, nil
}
