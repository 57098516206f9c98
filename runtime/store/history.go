package store

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
)

// HistoryTable is the ID, without any prefix, of the table in which [Setup] records the
// layouts of all tables of an instance. The key of a row is the ID of a table, with its
// prefix. For each schema, it has a column for every layout that setup has recorded, in the
// family "layouts": its name is the first column family of the schema, and a number that counts
// the layouts. The value is text. No cell is ever changed or deleted.
const HistoryTable = "btgen_layouts"

const (
	historyFamily  = "layouts"
	historyVersion = "btgen layout v1\n" // first line of each value
)

// historyTable is what setup needs to know of HistoryTable.
var historyTable = Table{ID: HistoryTable, Families: []Family{{Name: historyFamily}}}

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
	const without = ", or do without a history: SetupOptions.NoHistory, or --no-history of btgen-live"
	switch {
	case errors.Is(e.Err, errNoClient):
		advice = "pass a *bigtable.Client" + without
	case errors.Is(e.Err, errConcurred):
		advice = "deploy only one of the two builds, and run setup again"
	default:
		advice += without
	}
	return fmt.Sprintf("the history of layouts%s, in table %s: %v: %s", of, HistoryTable, e.Err, advice)
}

func (e *HistoryError) Unwrap() error { return e.Err }

var (
	errNoClient  = errors.New("there is no client to read and write it")
	errConcurred = errors.New("another process recorded a different layout at the same time, and this setup did not change the table")
)

// RecordedLayout is the newest layout of the events of a schema in a table, as [Setup] found it
// in the history.
type RecordedLayout struct {
	Table  string // with its prefix
	Family string // the first family that the schema had in the table
	Number int    // counted from 1
	Layout string // as in Table.Layout
}

// layoutHistory reads and extends the history of layouts.
type layoutHistory struct {
	table bigtable.TableAPI
	admin retryAdmin
}

// layoutEntry is a layout to record.
type layoutEntry struct {
	RecordedLayout
	change *Change // nil if the table is created
}

// column returns the qualifier of a recorded layout.
func (r *RecordedLayout) column() string { return fmt.Sprintf("%s/%04d", r.Family, r.Number) }

// newHistory returns the history for setting up tables; nil if there is nothing to record.
func newHistory(client Client, admin retryAdmin, tables []Table, o SetupOptions) (*layoutHistory, error) {
	if o.NoHistory || !slices.ContainsFunc(tables, func(t Table) bool { return t.Layout != "" }) {
		return nil, nil
	}
	if client == nil {
		return nil, &HistoryError{Err: errNoClient}
	}
	return &layoutHistory{client.OpenTable(HistoryTable), admin}, nil
}

// compare returns the layouts to record, by table, and those that were recorded. It adds the
// changes to the live tables. A table that does not exist has no events, so that its layout
// may be any.
func (h *layoutHistory) compare(ctx context.Context, tables []Table, live map[string]liveTable) (map[string][]layoutEntry, []RecordedLayout, error) {
	// A layout is recorded before its table is created, so that this cannot miss that of a
	// live table.
	known, err := h.read(ctx, tables)
	if err != nil {
		return nil, nil, err
	}
	entries := map[string][]layoutEntry{}
	var newest []RecordedLayout
	for _, t := range tables {
		for text := range strings.SplitSeq(t.Layout, schemaSeparator) {
			if text == "" {
				continue
			}
			e, recorded, err := compareLayout(t.ID, text, known[t.ID])
			if err != nil {
				return nil, nil, &HistoryError{t.ID, err}
			}
			if recorded != nil {
				newest = append(newest, *recorded)
			}
			if e == nil {
				continue
			}
			if table, exists := live[t.ID]; exists {
				table.layouts = append(table.layouts, *e.change)
				live[t.ID] = table
			} else {
				e.change = nil
			}
			entries[t.ID] = append(entries[t.ID], *e)
		}
	}
	return entries, newest, nil
}

// compareLayout compares the layouts of the events of a schema with those that the history
// has of the table. It returns what to record, if anything, and the newest that was recorded.
func compareLayout(table, text string, known []RecordedLayout) (*layoutEntry, *RecordedLayout, error) {
	own, err := parseLayouts(text)
	if err != nil {
		return nil, nil, err
	}
	c := Change{Kind: RecordLayout, Table: table}
	of, err := ofSchema(known, own)
	if err != nil {
		return nil, nil, err
	}
	if len(of) == 0 {
		c.Family = own.families()[0]
		reason := "the table exists, but has no history"
		if len(known) > 0 {
			reason = "the schema is new in the table"
		}
		c.because("", reason)
		return &layoutEntry{RecordedLayout{table, c.Family, 1, text}, &c}, nil, nil
	}
	newest := &of[len(of)-1]
	have, err := parseLayouts(newest.Layout)
	if err != nil {
		return nil, nil, err
	}
	c.Family, c.Facts = newest.Family, have[0].contradicts(own[0])
	next := &layoutEntry{RecordedLayout{table, newest.Family, newest.Number + 1, text}, &c}
	above, grown, follows := own.continues(have)
	switch {
	case follows:
		if !grown {
			c.Facts = nil // at most, the first event is another one
		}
		if c.Facts = append(c.Facts, have[0].added(own[0])...); len(c.Facts) == 0 {
			return nil, newest, nil
		}
		for i := 0; above+i < len(own) && i < len(have); i++ {
			own[above+i] = own[above+i].with(have[i])
		}
		next.Layout = own.String()
	case isOlder(own, have, of[:len(of)-1]):
		c.hazard("older_layout", "", "a newer build last set up the table, and this build cannot find the events that the newer one writes: deploy the newer build")
	default:
		c.hazard("other_layout", "", "this build cannot find or decode events that are stored in the recorded layout: restore that layout in the schema, or use a new table")
	}
	return next, newest, nil
}

// isOlder reports whether layouts are older than the newest that were recorded.
func isOlder(own, newest layouts, before []RecordedLayout) bool {
	if _, grown, ok := newest.continues(own); ok && grown {
		return true
	}
	return slices.ContainsFunc(before, func(r RecordedLayout) bool {
		was, err := parseLayouts(r.Layout)
		_, grown, ok := own.continues(was)
		return err == nil && ok && !grown && len(was[0].added(own[0])) == 0
	})
}

// ofSchema returns the recorded layouts of a schema: those that share a family with it.
func ofSchema(known []RecordedLayout, own layouts) ([]RecordedLayout, error) {
	families := own.families()
	if len(families) == 0 {
		return nil, errors.New("the layout has no family")
	}
	for _, r := range known {
		was, err := parseLayouts(r.Layout)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(was.families(), func(name string) bool { return slices.Contains(families, name) }) {
			return slices.DeleteFunc(slices.Clone(known), func(o RecordedLayout) bool { return o.Family != r.Family }), nil
		}
	}
	return nil, nil
}

// read returns the recorded layouts of tables, by table, each sorted by family and number.
func (h *layoutHistory) read(ctx context.Context, tables []Table) (map[string][]RecordedLayout, error) {
	ctx, cancel := within(ctx, h.admin.timeout)
	defer cancel()
	out := map[string][]RecordedLayout{}
	var failed error
	keys := bigtable.RowRangeList{}
	for _, t := range tables {
		keys = append(keys, bigtable.NewRange(t.ID, t.ID+"\x00"))
	}
	err := h.table.ReadRows(ctx, keys, func(row bigtable.Row) bool {
		for _, item := range row[historyFamily] {
			r, err := recordedLayout(row.Key(), item)
			if err != nil {
				failed = &HistoryError{row.Key(), err}
				return false
			}
			out[r.Table] = append(out[r.Table], r)
		}
		return true
	}, bigtable.RowFilter(bigtable.LatestNFilter(1)))
	switch {
	case status.Code(err) == codes.NotFound: // the table is still to be created
		return nil, nil
	case err != nil:
		return nil, &HistoryError{Err: explain(ctx, err)}
	}
	return out, failed
}

// recordedLayout decodes a cell of the history.
func recordedLayout(table string, item bigtable.ReadItem) (RecordedLayout, error) {
	column := strings.TrimPrefix(item.Column, historyFamily+":")
	family, number, _ := strings.Cut(column, "/")
	n, err := strconv.Atoi(number)
	text, versioned := strings.CutPrefix(string(item.Value), historyVersion)
	switch {
	case err != nil || n < 1:
		return RecordedLayout{}, fmt.Errorf("unknown column %q", column)
	case !versioned:
		return RecordedLayout{}, fmt.Errorf("column %q was written by a newer btgen, or another program: use the newer runtime", column)
	}
	return RecordedLayout{table, family, n, text}, nil
}

// add records a layout, and reports whether it did. The history may have the layout already, if
// a reply was lost, which counts as recorded, or another process is setting up the same table.
func (h *layoutHistory) add(ctx context.Context, r *RecordedLayout) (bool, error) {
	column := r.column()
	set := bigtable.NewMutation()
	set.Set(historyFamily, column, bigtable.Time(time.Now()), []byte(historyVersion+r.Layout))
	taken := false
	lost, err := h.admin.do(ctx, func(ctx context.Context) error {
		exists := bigtable.ColumnRangeFilter(historyFamily, column, column+"\x00")
		return h.table.Apply(ctx, r.Table, bigtable.NewCondMutation(exists, nil, set), bigtable.GetCondMutationResult(&taken))
	})
	if err != nil {
		return false, &HistoryError{r.Table, err}
	}
	if !taken {
		return true, nil
	}
	known, err := h.read(ctx, []Table{{ID: r.Table}})
	if err == nil && !slices.Contains(known[r.Table], *r) {
		err = &HistoryError{r.Table, errConcurred}
	}
	return lost, err
}
