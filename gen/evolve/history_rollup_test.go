package evolve_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// drawnRollup is the rollup of a layout; the zero value is none.
type drawnRollup struct {
	every, family, ttl string
	idle               bool
	field              int // the ID of the only field; 0 for all
}

// The parts of rollups.
var (
	rollupFamilies = []string{"r", "r", "q", "g"}
	rollupTTLs     = []string{"{max_age: 2000d}", "{max_age: 2000d}", "{max_age: 3000d}", "{keep: forever}"}
	rollupWidths   = []string{"1h", "1h", "15m"}
)

// rollup draws a rollup of a layout; none if the language has none for it.
func (r *random) rollup(l *drawnLayout, idle bool) drawnRollup {
	if !l.summarizes() {
		return drawnRollup{}
	}
	out := drawnRollup{every: one(r, rollupWidths...), family: one(r, rollupFamilies...), ttl: one(r, rollupTTLs...), idle: idle}
	for _, rule := range l.rules() {
		if rule.family == out.family || ages[rule.ttl] == 0 {
			out.family, out.ttl = "r", "{keep: forever}"
		}
	}
	return out
}

// summarizes reports whether a layout can have a rollup.
func (l *drawnLayout) summarizes() bool { return l.bucketed() && !l.metrics() && classes[l.ttl] == nil }

// text returns a rollup in YAML.
func (s *drawn) rollupText(r drawnRollup) string {
	if r.family == "" {
		return "none"
	}
	text := fmt.Sprintf("{every: %s, family: %s, ttl: %s", r.every, r.family, r.ttl)
	if i := slices.IndexFunc(s.fields, func(f drawnField) bool { return f.id == r.field }); i >= 0 {
		text += ", fields: [" + s.fields[i].name + "]"
	}
	if r.idle {
		text += ", serves: false"
	}
	return text + "}"
}

// changeRollup changes the rollup of a table, in all layouts that have that of the newest.
func (h *life) changeRollup(s *drawn, t *drawnTable) {
	was := t.layouts[0].rollup
	is := was
	switch n := h.IntN(10); {
	case was.family == "":
		is = h.rollup(&t.layouts[0], !h.chance(4))
	case n < 3:
		is.idle = !was.idle
	case n < 5:
		is = drawnRollup{}
	case n == 5:
		is.every = one(h.random, rollupWidths...)
	case n == 6:
		is.family = one(h.random, rollupFamilies...)
	case n == 7:
		is.ttl = one(h.random, rollupTTLs...)
	default:
		is.field = one(h.random, 0, h.anyField(s).id)
	}
	for i := range t.layouts {
		if l := &t.layouts[i]; l.rollup == was && (l.summarizes() || is.family == "") {
			l.rollup = is
		}
	}
}

// seal summarizes buckets with the code of a version.
func (h *life) seal(v *version, all bool) error {
	if len(v.layout.Rollups()) == 0 {
		return nil
	}
	o := store.RollupOptions{All: all, Workers: -1, Now: h.clock, Sleep: func(context.Context, time.Duration) error { return nil }}
	report, err := v.schema.Rollup(h.ctx, h.client, o)
	h.count.Sealed += int(report.Sealed)
	if _, undecodable := errors.AsType[*store.DecodeError](err); err != nil && !undecodable {
		return fmt.Errorf("summarizing: %w", err)
	}
	return nil
}

// withoutRuns returns the layout of a version whose reads use events only.
func withoutRuns(l *layout.Layout) *layout.Layout {
	out := *l
	out.Tables = slices.Clone(l.Tables)
	idle := func(t *layout.Table) *layout.Table {
		if t.Rollup == nil {
			return t
		}
		one, r := *t, *t.Rollup
		r.Idle, one.Rollup = true, &r
		return &one
	}
	for i, t := range l.Tables {
		one := *idle(t)
		one.Older = nil
		for _, older := range t.Older {
			one.Older = append(one.Older, idle(older))
		}
		out.Tables[i] = &one
		if l.Read == t {
			out.Read = &one
		}
	}
	return &out
}

// checkWindows compares the windows of a series with those of its events alone, where all are alive.
func (h *life) checkWindows(v *version) error {
	if !slices.ContainsFunc(v.layout.Rollups(), func(t *layout.Table) bool { return !t.Rollup.Idle }) {
		return nil
	}
	who := h.IntN(len(h.series))
	events := h.of(always, only(who))
	if len(events) == 0 || slices.ContainsFunc(events, func(e *stored) bool { return v.inexact(e, nil) }) {
		return nil
	}
	width := one(h.random, 15*time.Minute, time.Hour, 24*time.Hour)
	from, to := events[0].at.Truncate(24*time.Hour), events[len(events)-1].at.Add(24*time.Hour).Truncate(24*time.Hour)
	read := func(s *dynamic.Schema) (map[time.Time]string, error) {
		out := map[time.Time]string{}
		o := store.ReaderOptions{Now: h.clock, Hooks: store.Hooks{End: func(_ context.Context, op store.Operation, _ error) { h.count.Runs += op.Runs }}}
		for w, err := range s.NewReader(h.client, o).Windows(h.ctx, dynamic.Series(v.given(h.series[who])), from, to, window.Every(width)) {
			if err != nil {
				return nil, err
			}
			text := fmt.Sprint(w.Events)
			for i := range v.layout.Fields {
				for _, of := range []dynamic.Statistic{dynamic.Count, dynamic.First, dynamic.Last, dynamic.Min, dynamic.Max, dynamic.FirstTime} {
					text += fmt.Sprintf(" %v", of.Of(&w, &v.layout.Fields[i], i))
				}
			}
			if w.Inexact {
				text = "inexact"
			}
			out[w.Start] = text
		}
		return out, nil
	}
	got, err := read(v.schema)
	if err != nil {
		return fmt.Errorf("windows: %w", err)
	}
	want, err := read(dynamic.New(withoutRuns(v.layout)))
	if err != nil {
		return fmt.Errorf("windows of events: %w", err)
	}
	starts := slices.SortedFunc(maps.Keys(want), time.Time.Compare)
	for start := range got {
		if _, both := want[start]; !both {
			starts = append(starts, start)
		}
	}
	for _, start := range starts {
		in := func(e *stored) bool { return !e.at.Before(start) && e.at.Before(start.Add(width)) }
		doubtful := slices.ContainsFunc(events, func(e *stored) bool { return in(e) && (h.may(v, e) || e.parted()) })
		if is := got[start]; doubtful || is == want[start] || is == "inexact" {
			continue
		}
		return fmt.Errorf("window %v by %v of %v is %q, but that of its events %q", start, width, h.series[who], got[start], want[start])
	}
	return nil
}
