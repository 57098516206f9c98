package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/facts"
	"github.com/btgen-dev/btgen/runtime/store"
)

// The history answers one question: may a build with this layout set up this table, or would it
// then miss events that are stored in another layout? The schema of a live table does not say,
// since it has families and rules, but neither keys nor columns.
//
// Several setups of different builds may run at once, and be killed at any time. Creating a
// table and recording its layout are separate requests, so a row of the history is a log: every
// setup adds the next step with a conditional mutation, which fails if another one was faster.
// The column of a step is its number, and the condition is that the column does not exist: the
// steps of a table thus have one order, on which all setups agree, and none is ever changed. A
// setup that loses reads the row and the table again, and decides anew. There are no locks and no
// leases, which a killed setup would leave behind, and no clocks, except for layouts by time.
//
// A setup that finds no table adds the step "creates" with its layouts, creates the table, and
// adds the step "exists". Each "creates" begins a life of the table, which has no events of
// layouts that were recorded before. Until "exists", nobody knows whether a setup is still
// running, so that another layout is refused, although there are no events.
//
// The history is read before the tables: what a step was decided on then holds when it is added. A
// setup that adds none reads the history once more.
//
// A setup is done in this order, and a kill between any two requests leaves a state that the next
// one continues from:
//
//  1. Read the history, then the live tables; plan, and refuse what is not allowed.
//  2. Record: add a step with the layouts. What others have recorded since the plan is compared
//     again, but is no longer allowed by name, because nobody has seen it. If this fails, the table
//     is not touched: the history may be ahead of a table, and never behind it.
//  3. Create or change the table.
//  4. Confirm: add "exists" where the table was being created, and read the history of the others
//     again. A setup that another one has overruled in the meantime fails here, after it has
//     changed the table, but before its caller writes any event.
//
// So at most one of several layouts that contradict each other is confirmed, unless another one is
// allowed by name. TestClaimInAllOrders and TestClaimsWithKills run setups in all orders of these
// steps, and with kills: they fail if any of these rules is left out.

// stepKind is what a setup was about to do when it added a step.
type stepKind string

const (
	stepCreates stepKind = "creates" // found no table, and creates it with the layouts
	stepJoins   stepKind = "joins"   // found that the table is being created, adds its layouts, if any, and creates it, too
	stepExists  stepKind = "exists"  // found the table, and adds its layouts, if any
)

// step is a step of a setup.
type step struct {
	kind    stepKind
	columns []string // of the layouts that it recorded
}

// parseStep decodes a step.
func parseStep(text string) (step, error) {
	words := strings.Fields(text)
	if len(words) > 0 {
		s := step{kind: stepKind(words[0]), columns: words[1:]}
		if slices.Contains([]stepKind{stepCreates, stepJoins, stepExists}, s.kind) {
			return s, nil
		}
	}
	return step{}, fmt.Errorf("undecodable step %q", text)
}

// String returns the text of a step.
func (s step) String() string {
	return strings.Join(append([]string{string(s.kind)}, s.columns...), " ")
}

// historyRow is what the history has of a table.
type historyRow struct {
	layouts []recordedLayout // by family and number
	steps   []step
}

// life returns the steps since the table was last found missing.
func (r historyRow) life() []step {
	for i, s := range slices.Backward(r.steps) {
		if s.kind == stepCreates {
			return r.steps[i:]
		}
	}
	return r.steps
}

// pending reports whether a setup that creates the table may still be running, or was killed.
func (r historyRow) pending() bool {
	life := r.life()
	return len(life) > 0 && life[0].kind == stepCreates && !slices.ContainsFunc(life, func(s step) bool { return s.kind == stepExists })
}

// alive reports whether the table may have events of a recorded layout.
func (r historyRow) alive(l *recordedLayout) bool {
	life := r.life()
	if len(life) == 0 || life[0].kind != stepCreates {
		return true
	}
	return slices.ContainsFunc(life, func(s step) bool { return slices.Contains(s.columns, l.column()) })
}

// ofSchema returns the recorded layouts of a schema of the table, oldest first: those that have a
// family in common with its layout, all[i], or else belong to a schema of the same name that has
// moved to other families.
func (r historyRow) ofSchema(all []facts.Layouts, i int) []recordedLayout {
	same := func(family string) []recordedLayout {
		return slices.DeleteFunc(slices.Clone(r.layouts), func(o recordedLayout) bool { return o.Family != family })
	}
	named := ""
	for _, l := range r.layouts {
		switch {
		case l.layouts.ShareFamily(all[i]):
			return same(l.Family)
		case l.layouts.ShareSchema(all[i]) && !slices.ContainsFunc(all, l.layouts.ShareFamily):
			named = l.Family
		}
	}
	if named == "" {
		return nil
	}
	return same(named)
}

// claim is what a setup has to record of a table.
type claim struct {
	step    step // without kind if there is nothing to do
	entries []recordedLayout
	changes []Change // of an existing table, and what must be allowed by name
}

// inMicros adds the hazard of the first layout in a table of another program that stores several events in a millisecond.
func (c *Change) inMicros(live *liveTable, own facts.Layouts) {
	if !live.unseen.Micros || !slices.ContainsFunc(own, func(l facts.Layout) bool { return l.Pattern().EventTimed() }) {
		return
	}
	c.hazard("micros", "", "the granularity of the table is MICROS: what the schema writes replaces other events of its millisecond, or fields of them; "+
		"to read it, no setup is needed, and new events need another table")
}

// hazardous reports whether anything must be allowed by name.
func (c *claim) hazardous() bool {
	return slices.ContainsFunc(c.changes, func(c Change) bool { return len(c.Hazards) > 0 })
}

// claim returns what to record of a table; live is nil if it does not exist.
func (h *layoutHistory) claim(t store.Table, live *liveTable) *claim {
	row, all := h.rows[t.ID], h.own[t.ID]
	c, exists := &claim{}, live != nil
	if len(all) == 0 {
		return c
	}
	fresh := !exists && !row.pending() // a table without events may have any layout
	for i := range all {
		of := row.ofSchema(all, i)
		next, change := firstOf(t.ID, all[i], of), Change{}
		switch {
		case !fresh && len(of) > 0 && row.alive(&of[len(of)-1]):
			compared := false
			if next, change, compared = h.compare(t.ID, live, all[i], of); !compared {
				continue
			}
		case exists:
			change = Change{Kind: "layout", Sign: "~", Table: t.ID, Family: next.Family}
			change.because("", reasonFor(row))
			change.inMicros(live, all[i])
		}
		if exists && (len(of) > 0 || len(row.layouts) == 0) { // another schema of the table is new in it
			h.begun(&change, all[i], of)
		}
		c.entries = append(c.entries, next)
		if exists || len(change.Hazards) > 0 {
			c.changes = append(c.changes, change)
		}
	}
	switch {
	case exists && (row.pending() || len(c.entries) > 0):
		c.step.kind = stepExists
	case exists:
	case fresh:
		c.step.kind = stepCreates
	case c.hazardous():
		c.step.kind = stepCreates
		c.restart(t.ID, row, all)
	default:
		c.step.kind = stepJoins
	}
	for i := range c.entries {
		c.step.columns = append(c.step.columns, c.entries[i].column())
	}
	return c
}

// firstOf returns a layout that is not compared with any other.
func firstOf(table string, own facts.Layouts, of []recordedLayout) recordedLayout {
	out := recordedLayout{RecordedLayout{table, own.Families()[0], 1, own.String()}, own}
	if len(of) > 0 {
		out.Family, out.Number = of[0].Family, of[len(of)-1].Number+1
	}
	return out
}

// reasonFor returns why the layout of an existing table has to be recorded.
func reasonFor(row historyRow) string {
	if len(row.layouts) == 0 {
		return "the table exists, but has no history"
	}
	return "the schema is new in the table"
}

// restart turns what contradicts an unfinished setup into a new beginning, with all layouts.
func (c *claim) restart(table string, row historyRow, all []facts.Layouts) {
	c.entries = nil
	for i := range all {
		c.entries = append(c.entries, firstOf(table, all[i], row.ofSchema(all, i)))
	}
	for i := range c.changes {
		c.changes[i].Hazards, c.changes[i].Reasons = nil, nil
		c.changes[i].hazard("unfinished_layout", "", "a setup with the recorded layout is creating the table, or was stopped: wait for it or run it again, or make sure that none is running and allow this one")
	}
}

// maxConflicts limits how often a setup gives way to others that are faster.
const maxConflicts = 50

// record records what is to be recorded of a table, and reports whether this setup did. live is nil
// if the table does not exist. What the setup has found so far is allowed.
func (h *layoutHistory) record(ctx context.Context, t store.Table, live *liveTable) (own bool, err error) {
	return h.settle(ctx, t, live, errConcurred, true)
}

// confirm records that a table exists, and that the layouts are still the recorded ones.
func (h *layoutHistory) confirm(ctx context.Context, t store.Table, live *liveTable) error {
	_, err := h.settle(ctx, t, live, errReplaced, false)
	return err
}

// settle adds a step if there is anything to record. What others have recorded in the meantime
// is compared, and never allowed: it then returns an error with the given contradiction.
func (h *layoutHistory) settle(ctx context.Context, t store.Table, live *liveTable, contradiction error, allowed bool) (own bool, err error) {
	creates := allowed // a missing table
	for range maxConflicts {
		c := h.claim(t, live)
		switch {
		case c.hazardous() && !allowed:
			return false, &HistoryError{t.ID, contradiction}
		case c.step.kind == "":
			return own, nil
		}
		added, lost, err := h.add(ctx, t.ID, c)
		if err != nil {
			return false, &HistoryError{t.ID, err}
		}
		if added {
			return true, nil
		}
		own, allowed = lost, false
		if live, err = h.again(ctx, t); err != nil {
			return false, err
		} else if live == nil && !creates {
			return false, &HistoryError{t.ID, errDeleted}
		}
	}
	return false, &HistoryError{t.ID, contradiction}
}

// again reads the history of a table and, after that, the table, which is nil if it does not exist.
func (h *layoutHistory) again(ctx context.Context, t store.Table) (*liveTable, error) {
	rows, err := h.read(ctx, []store.Table{t})
	if err != nil {
		return nil, err
	}
	h.rows[t.ID] = rows[t.ID]
	return readTable(ctx, h.admin, t.ID)
}

// recheck confirms the layouts of tables for which the setup has added no step, if any other did
// so since it read them.
func (h *layoutHistory) recheck(ctx context.Context, tables []store.Table) (errs []error) {
	rest := slices.DeleteFunc(slices.Clone(tables), func(t store.Table) bool { return t.Layout == "" || h.added[t.ID] })
	if len(rest) == 0 {
		return nil
	}
	now, err := h.read(ctx, rest)
	if err != nil {
		return []error{err}
	}
	for _, t := range rest {
		if len(now[t.ID].steps) == len(h.rows[t.ID].steps) {
			continue
		}
		live, err := h.again(ctx, t)
		switch {
		case err != nil:
		case live == nil:
			err = &HistoryError{t.ID, errDeleted}
		default:
			err = h.confirm(ctx, t, live)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// add adds the next step, and reports whether it did. It does not if there is such a step,
// because another setup was faster, or if it has added the step, but the reply was lost.
func (h *layoutHistory) add(ctx context.Context, table string, c *claim) (added, lost bool, err error) {
	row := h.rows[table]
	set, now := bigtable.NewMutation(), bigtable.Time(time.Now())
	column := fmt.Sprintf("%s%06d", stepPrefix, len(row.steps)+1)
	set.Set(historyFamily, column, now, []byte(historyVersion+c.step.String()))
	for i := range c.entries {
		e := &c.entries[i]
		set.Set(historyFamily, e.column(), now, []byte(historyVersion+e.Layout))
		row.layouts = append(row.layouts, *e)
	}
	taken := false
	lost, err = h.admin.retry(ctx, HistoryTable, func(ctx context.Context) error {
		exists := bigtable.ColumnRangeFilter(historyFamily, column, column+"\x00")
		return h.table.Apply(ctx, table, bigtable.NewCondMutation(exists, nil, set), bigtable.GetCondMutationResult(&taken))
	})
	if err != nil || taken {
		return false, lost, err
	}
	row.steps = append(row.steps, c.step)
	slices.SortFunc(row.layouts, func(a, b recordedLayout) int { return strings.Compare(a.column(), b.column()) })
	h.rows[table], h.added[table] = row, true
	return true, lost, nil
}
