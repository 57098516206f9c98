package trial

import (
	"fmt"
	"slices"
	"strings"
)

// Assumptions returns all assumptions, in the order in which they are tried.
func Assumptions() []Assumption {
	return slices.Concat(assumptions(orderOfReads), assumptions(selectionOfCells), longReads, assumptions(writes), bulkWrites, conditionalWrites, limits,
		tableChanges(), seeds(), ofClient, later())
}

// announcement says what a trial makes, and what that costs.
func (r *run) announcement(tried []Assumption) string {
	left := ""
	if r.Leave {
		left = ", except for one with a few bytes, which --resume removes"
	}
	return fmt.Sprintf("trying %s with up to 60 scratch tables %s*, which are removed at the end%s. They hold less than 100 MB for some minutes, and "+
		"no nodes are added: less than a cent if a GB costs less than $1 a month", countOf(len(tried)), r.prefix, left)
}

// Page returns docs/reference/assumptions.md, which lists the assumptions in Markdown by their sources.
func Page() string {
	var sources []string
	of := map[string]string{}
	seeds := 0
	for _, a := range Assumptions() {
		id, says := a.ID, a.Says
		if strings.HasPrefix(id, "seed-") {
			if seeds++; seeds > 1 {
				continue
			}
			id, says = "seed-*", "What programs of the schemas in `schemas/` write, all methods read, replace and delete."
		}
		if of[a.Source] == "" {
			sources = append(sources, a.Source)
		}
		of[a.Source] += fmt.Sprintf("- `%s`: %s\n", id, says)
	}
	var b strings.Builder
	b.WriteString("# Assumptions\n\nWhat btgen assumes of Bigtable, by where it is promised. [`btgen-live trial`](btgen-live.md#trials) tries it on an instance.\n")
	for _, s := range sources {
		title := s
		if path, ok := strings.CutPrefix(s, "https://cloud.google.com/bigtable/"); ok {
			if _, message, ok := strings.Cut(path, "#google.bigtable."); ok {
				path = message
			}
			title = fmt.Sprintf("[%s](%s)", strings.TrimPrefix(path, "docs/"), s)
		}
		fmt.Fprintf(&b, "\n%s:\n\n%s", title, of[s])
	}
	return b.String()
}
