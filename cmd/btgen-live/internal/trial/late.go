package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// late is an assumption that takes days. Its family of the table that is left behind has cells of one column, whose timestamps are some
// days after the trial, or before it.
type late struct {
	id, says, source string
	rule             codec.GCRule
	stays, goes      []int // days
}

// collection is the time after which collected cells must be gone: a week, says Google, and a day for the trial to be late.
const collection = 8 * day

// lates are the assumptions that take days.
var lates = []late{
	{"collect-age", "Cells over a maximum age are garbage-collected within about a week, and others stay.", docs + "garbage-collection", maxAge(day), []int{30}, []int{-2}},
	{"collect-second", "With a maximum age of a second, cells of the future stay until then.", docs + "gc-cell-level", maxAge(time.Second), []int{30}, []int{-1}},
	{"collect-versions", "Cells over a maximum number of versions are garbage-collected, the oldest first.", docs + "garbage-collection", maxVersions(2), []int{-1, -2}, []int{-3}},
	{"collect-union", "A union collects the cells that any of its rules collects.", docs + "garbage-collection", anyOf(maxAge(day), maxVersions(1)), []int{30}, []int{20, -2}},
	{"collect-intersection", "An intersection collects the cells that all of its rules collect.", docs + "garbage-collection", allOf(maxAge(day), maxVersions(1)), []int{30, 20}, []int{-2}},
	{"collect-nothing", "Without a rule, nothing is garbage-collected.", docs + "garbage-collection", codec.GCRule{}, []int{30, -1, -4000}, nil},
	{"tier-reads", "Cells in the infrequent access tier can be read like others.", docs + "tiered-storage", codec.GCRule{}, []int{-1, -40, -400}, nil},
}

// ErrNothingToLeave is the error of [Run] with [Options.Leave] if none of the assumptions takes days.
var ErrNothingToLeave = errors.New("--leave: none of these assumptions takes days: leave it out, or add one that does, such as collect-age")

// takesDays reports whether an assumption is one of lates.
func takesDays(a Assumption) bool {
	return slices.ContainsFunc(lates, func(l late) bool { return l.id == a.ID })
}

// later returns the assumptions that take days, which a trial does not decide.
func later() (out []Assumption) {
	for _, l := range lates {
		out = append(out, Assumption{l.id, l.says, l.source, func(ctx context.Context, p place) (string, error) {
			if !p.Leave {
				return "", untried("it takes days: try it with --leave, and with --resume after eight days")
			}
			_, err := p.once(leftTable, func(string) error { return p.leave(ctx) })
			if err == nil {
				err = untried("it takes days: try --resume after eight days")
			}
			return "", err
		}})
	}
	return out
}

// cells returns cells of the family of an assumption, the newest first.
func (l *late) cells(days []int) string {
	if len(days) == 0 {
		return ""
	}
	text := "a"
	for _, d := range days {
		text += fmt.Sprintf(" %s:x@%d=%d", l.id, int64(d)*day.Milliseconds(), d)
	}
	return text
}

// left returns the place of rows in a table that was left behind at a time.
func (r *run) left(id string, made time.Time) place {
	return place{&run{Clients: r.Clients, base: made.UnixMicro()}, id, "left/"}
}

// leave makes the table that is left behind, with a tier if the instance may have one.
func (r *run) leave(ctx context.Context) error {
	t := store.Table{ID: leftTable, Tier: codec.Tier(codec.MinTier)}
	for _, l := range lates {
		t.Families = append(t.Families, store.Family{Name: l.id, GC: l.rule})
	}
	if _, err := r.setUp(ctx, false, nil, t); err != nil {
		t.Tier = 0
		if _, err := r.setUp(ctx, false, nil, t); err != nil {
			return err
		}
	}
	if err := r.visible(ctx, r.prefix+leftTable); err != nil {
		return err
	}
	p := r.left(r.prefix+leftTable, r.Now.Truncate(time.Second))
	for _, l := range lates {
		cells, err := parseCells(l.cells(slices.Concat(l.stays, l.goes)), p.base)
		if err == nil {
			err = p.mutate(ctx, "a", setCells(cells))
		}
		if err != nil {
			return err
		}
	}
	r.Notice("left behind table " + r.prefix + leftTable + ", with a few cells: judge it with --resume after eight days; after 15 days, a trial removes it")
	return nil
}

// Resume judges what a trial with [Options.Leave] has left behind, of which the newest counts. It removes the tables of which nothing
// is undecided.
func Resume(ctx context.Context, c *Clients, o Options) (*Report, error) {
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	report, err := newRun(c, o).resume(ctx)
	return report, c.close(err)
}

// ErrNothingLeft is the error of [Resume] if no trial has left anything behind.
var ErrNothingLeft = errors.New("no trial has left a table behind: begin one with --leave")

// resume judges the tables that were left behind.
func (r *run) resume(ctx context.Context) (*Report, error) {
	ours, _, err := r.scratchTables(ctx)
	if err != nil {
		return nil, err
	}
	ours = slices.DeleteFunc(ours, func(s scratch) bool { return s.name != leftTable })
	if len(ours) == 0 {
		return nil, ErrNothingLeft
	}
	report := newReport()
	for _, s := range ours {
		report.Results = nil
		r.prefix = strings.TrimSuffix(s.id, leftTable)
		for _, l := range lates {
			seen, err := l.judge(ctx, r.left(s.id, s.made), r.Now.Sub(s.made))
			report.Results = append(report.Results, r.result(Assumption{l.id, l.says, l.source, nil}, seen, err))
		}
		if undecided := func(o Result) bool { return o.Verdict == NotTried && o.ID != "tier-reads" }; !slices.ContainsFunc(report.Results, undecided) {
			err = errors.Join(err, r.removeTable(ctx, s.id))
		}
	}
	return report, err
}

// judge tries the assumption with a table that was left behind some time ago.
func (l *late) judge(ctx context.Context, p place, age time.Duration) (string, error) {
	if l.id == "tier-reads" {
		info, err := p.Admin.TableInfo(ctx, p.id)
		if err != nil {
			return "", err
		}
		if setup.TierOf(info.TieredStorageConfig) == 0 {
			return "", untried("the table has no infrequent access tier")
		}
	}
	cells, err := p.readRows(ctx, fixture{filter: family(l.id)})
	if err != nil {
		return "", err
	}
	var got []string
	for _, c := range cells {
		got = append(got, c.value)
	}
	after := fmt.Sprintf("after %.1f days", age.Hours()/24)
	for _, d := range l.stays {
		if !slices.Contains(got, fmt.Sprint(d)) {
			return "", differs("the cell of day %d is gone %s; there are those of days %s", d, after, strings.Join(got, ", "))
		}
	}
	for _, d := range l.goes {
		text := fmt.Sprintf("the cell of day %d is there %s", d, after)
		switch there := slices.Contains(got, fmt.Sprint(d)); {
		case there && age < collection:
			return "", untried(text + ": try again after eight days")
		case there:
			return "", contradiction(text)
		}
	}
	return fmt.Sprintf("%s, there are the cells of days %s", after, strings.Join(got, ", ")), nil
}
