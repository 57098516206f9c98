// Package infer proposes a schema for a table that other programs write, from a sample of
// its rows: the segments of the row keys, the place and the form of the time, the pattern,
// columns and their types, and the time to live. Each is a hypothesis that is tried against
// what is observed of the sample, and refuted or kept; of those that are kept, a plain order
// takes the one that explains most: [compareKeys], [draft.order], and the order of the
// codings of a type. A proposal prints what shows its conclusions, and asks about what would
// contradict them. The package also proposes schemas for the events in files of other
// systems. It accesses neither tables nor the disk.
package infer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Sample is a part of a table.
type Sample struct {
	Table    string                  // its ID
	Families map[string]codec.GCRule // of the table, with their garbage collection rules
	Tier     codec.Tier              // of the table; 0 without one
	Micros   bool                    // whether the table is known to have the granularity MICROS
	Rows     []bigtable.Row          // sorted by key
	Sampled  *verify.Sampled         // how they were read; nil if they are the whole table
}

// Proposal is a schema that describes a sample.
type Proposal struct {
	// Schema is the text of the schema, which package lint accepts. Its comments give the
	// reasons, and ask the questions.
	Schema []byte
	// Questions are what the sample does not tell, in the order of the schema.
	Questions []string
	// Report is what of the sample the schema reads.
	Report *verify.Report
	// Unread are the errors of lines of a file that the schema does not read.
	Unread []error
}

// Errors of [Propose].
var (
	ErrEmpty = errors.New("the sample has no cells")
	// ErrNoSchema is the error for rows that the schema language cannot describe. It says why.
	ErrNoSchema = errors.New("the schema language cannot describe the rows")
)

// Propose returns a schema that reads most of a sample; of several, the one that explains more of it: see
// [draft.order]. The result depends on the sample alone. Errors are [ErrEmpty] and [ErrNoSchema].
func Propose(s Sample) (*Proposal, error) {
	t := newTable(s)
	switch {
	case t.cells == 0 && len(t.rollups) > 0:
		return nil, fmt.Errorf("table %s: %w of events, but those of a rollup in family %s: its events have expired", s.Table, ErrEmpty, t.rollups[0].family)
	case t.cells == 0:
		return nil, fmt.Errorf("table %s: %w", s.Table, ErrEmpty)
	}
	var best *draft
	var why []string
	for _, k := range t.keys() {
		drafts, refused := k.drafts()
		for _, d := range drafts {
			switch err := d.resolve(); {
			case err != nil:
				why = append(why, err.Error())
			case best == nil || slices.Compare(d.order(), best.order()) < 0:
				best = d
			}
		}
		if refused != "" {
			why = append(why, refused)
		}
	}
	if best == nil {
		slices.Sort(why)
		return nil, fmt.Errorf("table %s: %w: %s", s.Table, ErrNoSchema, strings.Join(slices.Compact(why), "; "))
	}
	return best.propose(), nil
}

// table is a sample in a form that is easier to examine.
type table struct {
	Sample
	rows     []row
	cells    int
	families map[string]int // cells, also of families without any
	rollups  []*rolled      // the one that was changed last comes first
}

type row struct {
	key   string
	cells []cell // sorted by family and column; of a column, the newest first

	oldest, newest int64 // timestamps of cells
}

type cell struct {
	columnOf
	at    int64 // microseconds since 1970
	value []byte
}

type columnOf struct{ family, qualifier string }

// newTable returns the rows of a sample that have cells, without those of rollups: these say nothing about how events
// are stored. It leaves out the sums of versions, which belong to a table of states: the table has none of their families.
func newTable(s Sample) *table {
	t := &table{Sample: s, families: map[string]int{}, rollups: rollupsOf(s.Rows)}
	for family := range s.Families {
		t.families[family] = 0
	}
	for _, r := range t.rollups {
		delete(t.families, r.family)
	}
	t.Rows = nil
	for _, r := range s.Rows {
		out, kept := row{key: r.Key(), oldest: math.MaxInt64, newest: math.MinInt64}, bigtable.Row{}
		for _, family := range slices.Sorted(maps.Keys(r)) {
			if _, plain := s.Families[family]; !plain && strings.HasSuffix(family, codec.VersionsFamily("")) {
				continue
			}
			kept[family] = r[family]
			if slices.ContainsFunc(t.rollups, func(of *rolled) bool { return of.family == family }) {
				continue
			}
			t.families[family] += len(r[family])
			for _, item := range r[family] {
				at := int64(item.Timestamp)
				out.oldest, out.newest = min(out.oldest, at), max(out.newest, at)
				out.cells = append(out.cells, cell{columnOf{family, qualifierOf(family, item)}, at, item.Value})
			}
		}
		if len(kept) > 0 {
			t.Rows = append(t.Rows, kept)
		}
		if len(out.cells) > 0 {
			t.rows = append(t.rows, out)
			t.cells += len(out.cells)
		}
	}
	return t
}

func qualifierOf(family string, item bigtable.ReadItem) string {
	return strings.TrimPrefix(item.Column, family+":")
}

// spread returns at most n elements of a slice, evenly spread.
func spread[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, n)
	for i := range out {
		out[i] = all[i*len(all)/n]
	}
	return out
}
