package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/facts"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/store"
)

// HistoryTable is the ID, without any prefix, of the table in which [Setup] records the
// layouts of all tables of an instance. The key of a row is the ID of a table, with its
// prefix. In the family "layouts", it has a column for every layout that setup has recorded,
// whose name is the first column family of its schema and a number that counts the layouts of
// the schema, and a column for every step of setups, whose name is # and a number. The values
// are text. No cell is ever changed or deleted.
const HistoryTable = "btgen_layouts"

const (
	historyFamily  = "layouts"
	historyVersion = "btgen layout v1\n" // first line of each value
	stepPrefix     = "#"                 // of the names of columns with steps; no family begins with it
)

// historyTable is what setup needs to know of HistoryTable.
var historyTable = store.Table{ID: HistoryTable, Families: []store.Family{{Name: historyFamily}}}

// HistoryError reports that setup cannot read or extend the history of layouts; see
// [HistoryTable].
type HistoryError struct {
	Table string // whose history it is, with its prefix; empty for all
	Err   error
}

// Error describes the error and says what to do.
func (e *HistoryError) Error() string {
	of := ""
	if e.Table != "" {
		of = " of table " + e.Table
	}
	advice := "run setup again"
	switch status.Code(e.Err) {
	case codes.PermissionDenied:
		advice = "grant permission to create the table, and to read and mutate its rows"
	case codes.FailedPrecondition, codes.InvalidArgument:
		advice = "use an app profile with single-cluster routing that allows single-row transactions"
	}
	const without = ", or set setup.Options.NoHistory, or --no-history of btgen-live, to set up without a history"
	err := e.Err
	switch _, clientless := errors.AsType[*store.NoClientError](err); {
	case clientless:
		err, advice = errors.New("there is no client to read and write it"), "pass a *bigtable.Client"+without
	case errors.Is(e.Err, errConcurred), errors.Is(e.Err, errReplaced):
		advice = "deploy only one of the two builds, and run setup again"
	default:
		advice += without
	}
	return fmt.Sprintf("the history of layouts%s, in table %s: %v: %s", of, HistoryTable, err, advice)
}

func (e *HistoryError) Unwrap() error { return e.Err }

var (
	errConcurred = errors.New("another process recorded a different layout at the same time, and this setup did not change the table")
	errDeleted   = errors.New("the table was deleted at the same time")
	errReplaced  = errors.New("another process was allowed to record a different layout while this setup created the table")
)

// RecordedLayout is the newest layout of the events of a schema in a table, as [Setup] found it
// in the history.
type RecordedLayout struct {
	Table  string // with its prefix
	Family string // the first family that the schema had in the table
	Number int    // counted from 1
	Layout string // as in Table.Layout
}

// column returns the qualifier of a recorded layout.
func (r *RecordedLayout) column() string { return fmt.Sprintf("%s/%04d", r.Family, r.Number) }

// layoutHistory reads and extends the history of layouts.
type layoutHistory struct {
	table bigtable.TableAPI
	admin retryAdmin
	rows  map[string]historyRow // by table
	now   func() time.Time
	added map[string]bool            // tables for which this setup has added a step
	own   map[string][]facts.Layouts // of each schema of the setup, by table
	later map[[2]string]string       // why new layouts may hide stored events, by table and text; see look
}

// recordedLayout is a recorded layout with its facts.
type recordedLayout struct {
	RecordedLayout
	layouts facts.Layouts
}

// newHistory returns the history for setting up tables; nil if there is nothing to record.
func newHistory(ctx context.Context, client store.Client, admin retryAdmin, tables []store.Table, o Options) (*layoutHistory, error) {
	if o.NoHistory || !slices.ContainsFunc(tables, func(t store.Table) bool { return t.Layout != "" }) {
		return nil, nil
	}
	h := &layoutHistory{table: store.OpenTable(client, HistoryTable), admin: admin, now: call.Clock(o.Now), added: map[string]bool{}, own: map[string][]facts.Layouts{}, later: map[[2]string]string{}}
	var err error
	for _, t := range tables {
		if h.own[t.ID], err = layoutsOf(&t); err != nil {
			return nil, &HistoryError{t.ID, err}
		}
	}
	h.rows, err = h.read(ctx, tables)
	return h, err
}

// layoutsOf returns the layouts of a table, by schema.
func layoutsOf(t *store.Table) ([]facts.Layouts, error) {
	var out []facts.Layouts
	for text := range strings.SplitSeq(t.Layout, schemaSeparator) {
		if text == "" {
			continue
		}
		own, err := facts.Parse(text)
		if err == nil && len(own.Families()) == 0 {
			err = errors.New("the layout has no family")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, own)
	}
	return out, nil
}

// newest returns the newest recorded layouts of the schemas of tables, in their order.
func (h *layoutHistory) newest(tables []store.Table) []RecordedLayout {
	var out []RecordedLayout
	for _, t := range tables {
		for i := range h.own[t.ID] {
			if of := h.rows[t.ID].ofSchema(h.own[t.ID], i); len(of) > 0 {
				out = append(out, of[len(of)-1].RecordedLayout)
			}
		}
	}
	return out
}

// compare compares a layout of a table with the recorded ones of its schema, of which there is
// at least one. It returns what to record, with the change; false if there is nothing. live is
// nil if the table does not exist.
func (h *layoutHistory) compare(table string, live *liveTable, own facts.Layouts, of []recordedLayout) (next recordedLayout, c Change, differs bool) {
	newest := &of[len(of)-1]
	have := newest.layouts
	foreign := own.Foreign(have, slices.Concat(slices.Collect(maps.Values(h.own))...))
	differences := append(have[0].Contradictions(own[0]), foreign...)
	c = Change{Kind: "layout", Sign: "~", Table: table, Family: newest.Family, Says: strings.Join(texts(differences), ", ")}
	next = firstOf(table, own, of)
	how, follows := own.Continues(have)
	var before []facts.Layouts
	for i := range of[:len(of)-1] {
		before = append(before, of[i].layouts)
	}
	switch {
	case follows && foreign == nil:
		if c.Says = h.extend(&c, differences, own, have, how, live); c.Says == "" {
			return next, c, false
		}
		next.layouts = slices.Clone(own)
		for i := 0; how.Above+i < len(own) && i < len(have); i++ {
			next.layouts[how.Above+i] = own[how.Above+i].With(have[i])
		}
		next.Layout = next.layouts.String()
		if len(c.Hazards) == 0 || !next.layouts.IsOlder(have, before) {
			return next, c, true
		}
		c.Hazards, c.Reasons, c.Rules = nil, nil, nil
		fallthrough
	case own.IsOlder(have, before):
		c.hazard("older_layout", "", "a newer build last set up the table, and this build cannot find the events that the newer one writes: deploy the newer build"+h.unlessWithdrawn(have))
	default:
		c.hazard("other_layout", "", "this build cannot find or decode events that are stored in the recorded layout: restore that layout in the schema, or use a new table")
		c.Rules = facts.Rules(differences)
	}
	return next, c, true
}

// unlessWithdrawn returns what to do if the newest of recorded layouts, which has not begun, is withdrawn; empty if it has.
func (h *layoutHistory) unlessWithdrawn(have facts.Layouts) string {
	since := have[0].Since()
	if !since.After(h.now()) {
		return ""
	}
	return "; if its layout from " + showDay(since) + " on is withdrawn, replace all programs that have it before then, make sure that no event has a later time, and allow this"
}

// extend returns what to record of layouts that continue recorded ones, given by what these differ: what is newer, and
// which older ones differ. It adds the hazard of those that are not expired.
func (h *layoutHistory) extend(c *Change, differences []facts.Difference, own, have facts.Layouts, how facts.Continuation, live *liveTable) string {
	says := texts(have[0].Added(own[0]))
	if how.Grown() { // or what contradicts is older
		says = append(texts(differences), says...)
	}
	common := own[how.Above:]
	if h.forgets(c, have, common, live) {
		says = append(says, slices.DeleteFunc(have.OlderFacts(common), func(fact string) bool { return slices.Contains(says, fact) })...)
	}
	return strings.Join(says, ", ")
}

// read returns what the history has of tables, by table.
func (h *layoutHistory) read(ctx context.Context, tables []store.Table) (map[string]historyRow, error) {
	ctx, cancel := call.Within(ctx, h.admin.timeout)
	defer cancel()
	out := map[string]historyRow{}
	var failed error
	keys := bigtable.RowRangeList{}
	for _, t := range tables {
		keys = append(keys, bigtable.NewRange(t.ID, t.ID+"\x00"))
	}
	_, err := h.admin.retry(ctx, HistoryTable, func(ctx context.Context) error {
		return h.table.ReadRows(ctx, keys, func(row bigtable.Row) bool {
			r, err := parseHistory(row.Key(), row[historyFamily])
			if err != nil {
				failed = &HistoryError{row.Key(), err}
			}
			out[row.Key()] = r
			return err == nil
		}, bigtable.RowFilter(bigtable.LatestNFilter(1)))
	})
	switch {
	case status.Code(err) == codes.NotFound: // the table is still to be created
		return out, nil
	case err != nil:
		return nil, &HistoryError{Err: call.Explain(ctx, err)}
	}
	return out, failed
}

// parseHistory decodes a row of the history.
func parseHistory(table string, cells []bigtable.ReadItem) (historyRow, error) {
	var row historyRow
	for _, item := range cells {
		column := strings.TrimPrefix(item.Column, historyFamily+":")
		text, versioned := strings.CutPrefix(string(item.Value), historyVersion)
		name, number, _ := strings.Cut(column, "/")
		digits, isStep := strings.CutPrefix(column, stepPrefix)
		if isStep {
			number = digits
		}
		n, err := strconv.Atoi(number)
		switch {
		case err != nil || n < 1 || isStep && n != len(row.steps)+1:
			return row, fmt.Errorf("unknown column %q", column)
		case !versioned:
			return row, fmt.Errorf("column %q was written by a newer btgen, or another program: use the newer runtime", column)
		case !isStep:
			l := recordedLayout{RecordedLayout{table, name, n, text}, nil}
			l.layouts, err = facts.Parse(text)
			row.layouts = append(row.layouts, l)
		default:
			var s step
			s, err = parseStep(text)
			row.steps = append(row.steps, s)
		}
		if err != nil {
			return row, fmt.Errorf("column %q: %w", column, err)
		}
	}
	return row, nil
}
