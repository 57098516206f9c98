package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
	added map[string]bool // tables for which this setup has added a step
	all   []layouts       // of all schemas and tables of the setup
}

// newHistory returns the history for setting up tables; nil if there is nothing to record.
func newHistory(ctx context.Context, client store.Client, admin retryAdmin, tables []store.Table, o Options) (*layoutHistory, error) {
	if o.NoHistory || !slices.ContainsFunc(tables, func(t store.Table) bool { return t.Layout != "" }) {
		return nil, nil
	}
	h := &layoutHistory{table: store.OpenTable(client, HistoryTable), admin: admin, now: call.Clock(o.Now), added: map[string]bool{}}
	for _, t := range tables {
		own, err := layoutsOf(&t)
		if err != nil {
			return nil, &HistoryError{t.ID, err}
		}
		h.all = append(h.all, own...)
	}
	var err error
	h.rows, err = h.read(ctx, tables)
	return h, err
}

// layoutsOf returns the layouts of a table, by schema.
func layoutsOf(t *store.Table) ([]layouts, error) {
	var out []layouts
	for text := range strings.SplitSeq(t.Layout, schemaSeparator) {
		if text == "" {
			continue
		}
		own, err := parseLayouts(text)
		if err == nil && len(own.families()) == 0 {
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
func (h *layoutHistory) newest(tables []store.Table) ([]RecordedLayout, error) {
	var out []RecordedLayout
	for _, t := range tables {
		all, err := layoutsOf(&t)
		for i := 0; i < len(all) && err == nil; i++ {
			var of []RecordedLayout
			if of, err = h.rows[t.ID].ofSchema(all, i); len(of) > 0 {
				out = append(out, of[len(of)-1])
			}
		}
		if err != nil {
			return nil, &HistoryError{t.ID, err}
		}
	}
	return out, nil
}

// compare compares a layout of a table with the recorded ones of its schema, of which there is
// at least one. It returns what to record, with the change, and nil if there is nothing. live is
// nil if the table does not exist.
func (h *layoutHistory) compare(table string, live *liveTable, own layouts, of []RecordedLayout) (*layoutEntry, error) {
	newest := &of[len(of)-1]
	have, err := parseLayouts(newest.Layout)
	if err != nil {
		return nil, err
	}
	c := Change{Kind: RecordLayout, Table: table, Family: newest.Family, Facts: have[0].contradicts(own[0])}
	next := &layoutEntry{RecordedLayout{table, newest.Family, newest.Number + 1, own.String()}, &c}
	how, follows := own.continues(have)
	foreign := h.foreign(own, have)
	switch {
	case follows && foreign == "":
		if h.extend(&c, own, have, how, live); len(c.Facts) == 0 {
			return nil, nil
		}
		for i := 0; how.above+i < len(own) && i < len(have); i++ {
			own[how.above+i] = own[how.above+i].with(have[i])
		}
		next.Layout = own.String()
		if len(c.Hazards) == 0 || !isOlder(own, have, of[:len(of)-1]) {
			return next, nil
		}
		c.Hazards, c.Reasons, c.Rules = nil, nil, nil
		fallthrough
	case isOlder(own, have, of[:len(of)-1]):
		c.hazard("older_layout", "", "a newer build last set up the table, and this build cannot find the events that the newer one writes: deploy the newer build"+h.unlessWithdrawn(have))
	default:
		c.hazard("other_layout", "", "this build cannot find or decode events that are stored in the recorded layout: restore that layout in the schema, or use a new table")
	}
	if foreign != "" {
		c.Facts = append(c.Facts, foreign)
	}
	if c.Hazards[0] == "other_layout" {
		c.Rules = rulesOf(c.Facts)
	}
	return next, nil
}

// unlessWithdrawn returns what to do if the newest of recorded layouts, which has not begun, is withdrawn; empty if it has.
func (h *layoutHistory) unlessWithdrawn(have layouts) string {
	if !have[0].since.After(h.now()) {
		return ""
	}
	return "; if its layout from " + showDay(have[0].since) + " on is withdrawn, replace all programs that have it before then, and allow this"
}

// extend sets the facts to record of layouts that continue recorded ones: what is newer, and which
// older ones are gone. It adds the hazard of those that are not expired.
func (h *layoutHistory) extend(c *Change, own, have layouts, how continuation, live *liveTable) {
	if !how.grown() {
		c.Facts = nil // what contradicts is older
	}
	c.Facts = append(c.Facts, have[0].added(own[0])...)
	common := own[how.above:]
	h.forgets(c, have, common, live)
	if len(c.Hazards) == 0 && !have.outlasts(common, h.now()) && !h.mayKeep(common, have, live) {
		return // an older build may still have what is expired
	}
	for _, fact := range have.olderFacts(common) {
		if !slices.Contains(c.Facts, fact) {
			c.Facts = append(c.Facts, fact)
		}
	}
}

// foreign returns the fact for which the events of a recorded layout are not those of a layout,
// though nothing in their rows contradicts that: they are in other families, or belong to another
// schema of the setup. It is empty if there is none.
func (h *layoutHistory) foreign(own, have layouts) string {
	if !common(own.live(), have.live()) {
		return "family: " + strings.Join(have.families(), ", ") + " → " + strings.Join(own.families(), ", ")
	}
	if lost, new := have[0].classes(own[0]), own[0].classes(have[0]); len(lost) > 0 && len(new) > 0 { // neither is older
		return "family: " + strings.Join(lost, ", ") + " → " + strings.Join(new, ", ")
	}
	is, was := own.schemas(), have.schemas()
	if len(is) > 0 && !own.shareSchema(have) && slices.ContainsFunc(h.all, have.shareSchema) {
		return "schema: " + strings.Join(was, ", ") + " → " + strings.Join(is, ", ")
	}
	return ""
}

// isOlder reports whether layouts are older than the newest that were recorded.
func isOlder(own, newest layouts, before []RecordedLayout) bool {
	if how, ok := newest.continues(own); ok && how.grown() {
		return true
	}
	return slices.ContainsFunc(before, func(r RecordedLayout) bool {
		was, err := parseLayouts(r.Layout)
		how, ok := own.continues(was)
		return err == nil && ok && !how.grown() && was.differBefore(own).IsZero() && len(was[0].added(own[0])) == 0
	})
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
		step, isStep := strings.CutPrefix(column, stepPrefix)
		if isStep {
			number = step
		}
		n, err := strconv.Atoi(number)
		switch {
		case err != nil || n < 1 || isStep && n != len(row.steps)+1:
			return row, fmt.Errorf("unknown column %q", column)
		case !versioned:
			return row, fmt.Errorf("column %q was written by a newer btgen, or another program: use the newer runtime", column)
		case !isStep:
			row.layouts = append(row.layouts, RecordedLayout{table, name, n, text})
			continue
		}
		s, err := parseStep(text)
		if err != nil {
			return row, fmt.Errorf("column %q: %w", column, err)
		}
		row.steps = append(row.steps, s)
	}
	return row, nil
}

// editRules are the rules by which btgen generate refuses an edit of a fact of stored events, by
// the first word of the fact.
var editRules = map[string]string{
	"pattern": "E03", "blob": "E03", "bucket": "E04", "delimiter": "E05", "key": "E05", "sequence": "E05", "time": "E07",
	"family": "E08", "rollup": "E26", "column": "E10", "number": "E10", "name": "E10", "precision": "E16", "since": "E19", "until": "E19", "schema": "E22",
}

// rulesOf returns the rules for the edits of facts, each once, in ascending order.
func rulesOf(facts []string) []string {
	var out []string
	for _, fact := range facts {
		key, values := cutUnquoted(fact, ": ")
		was, is, _ := strings.Cut(values, " → ")
		first, rest := cutUnquoted(key, " ")
		rule := editRules[first]
		_, number := cutUnquoted(rest, " enum ")
		wasIn, isIn := inFamily(was), inFamily(is)
		switch {
		case number != "":
			rule = "E11"
		case first == "family" && rest != "": // another strategy
			rule = "E15"
		case rule == "E19" && (was == "none" || is == "none"): // a layout by time more or less
			rule = ""
		case rule == "E10" && wasIn != isIn:
			rule = "E08"
		case first == "key" && strings.Contains(was+is, "salt "):
			rule = "E06"
		}
		if rule != "" && !slices.Contains(out, rule) {
			out = append(out, rule)
		}
	}
	slices.Sort(out)
	return out
}

// inFamily returns the family in the fact of a column.
func inFamily(column string) string {
	_, family, _ := strings.Cut(column, " in ")
	return family
}
