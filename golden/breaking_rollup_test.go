package golden

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// rollupTrial is a table whose schema changes, while programs with the code of two versions write, and one summarizes.
type rollupTrial struct {
	t      *testing.T
	bt     *storetest.Bigtable
	now    time.Time
	events map[time.Time]map[string]any // by the names of fields
	count  int
}

// trialDay is the first day of the events.
var trialDay = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func (p *rollupTrial) clock() time.Time { return p.now }

// write writes events again, with other values, with the code of a version.
func (p *rollupTrial) write(client store.Client, l *layout.Layout, times ...time.Time) {
	p.t.Helper()
	var events []dynamic.Event
	for _, at := range times {
		p.count++
		values := map[string]any{
			"pressure": int64(p.count), "temperature": 0.1 * float64(p.count), "level": "info", "note": fmt.Sprint("note ", p.count), "humidity": 0.5,
		}
		maps.DeleteFunc(values, func(name string, _ any) bool {
			return !slices.ContainsFunc(l.Fields, func(f layout.Field) bool { return f.Name == name })
		})
		values["hpa"], values["temp"] = float64(p.count), 0.1*float64(p.count)
		p.events[at] = values
		events = append(events, eventOf(l, at, values))
	}
	if err := dynamic.New(l).NewWriter(client, store.WriterOptions{Now: p.clock}).WriteAll(p.t.Context(), events); err != nil {
		p.t.Fatal(err)
	}
}

// eventOf returns an event of a version.
func eventOf(l *layout.Layout, at time.Time, values map[string]any) dynamic.Event {
	e := dynamic.Event{Time: at, Series: []any{"us-west2", int64(3698)}}
	for i := range l.Fields {
		name := l.Fields[i].Name
		if name == "pressure" && len(l.Fields[i].Was) > 0 {
			name = "hpa"
		}
		e.Values = append(e.Values, values[name])
	}
	return e
}

// seal summarizes all buckets with the code of a version, if it has a rollup.
func (p *rollupTrial) seal(l *layout.Layout) {
	p.t.Helper()
	if len(l.Rollups()) == 0 {
		return
	}
	o := store.RollupOptions{All: true, Now: p.clock, Sleep: func(context.Context, time.Duration) error { return nil }}
	if _, err := dynamic.New(l).Rollup(p.t.Context(), p.bt.Client, o); err != nil {
		p.t.Fatal(err)
	}
}

// collect deletes the cells of events that have expired, according to a version.
func (p *rollupTrial) collect(l *layout.Layout) {
	p.t.Helper()
	for _, f := range l.Tables[0].Families {
		if f.GC.MaxAge == 0 {
			continue
		}
		table := p.bt.Client.Open(l.Tables[0].ID)
		deletions := map[string]*bigtable.Mutation{}
		err := table.ReadRows(p.t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
			m := bigtable.NewMutation()
			for _, item := range row[f.Name] {
				m.DeleteTimestampRange(f.Name, strings.TrimPrefix(item.Column, f.Name+":"), 0, bigtable.Time(p.now.Add(-f.GC.MaxAge)))
				deletions[row.Key()] = m
			}
			return true
		})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(deletions)) {
			if err := table.Apply(p.t.Context(), key, deletions[key]); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// serving returns a version whose rollups serve reads.
func serving(l *layout.Layout, serves bool) *layout.Layout {
	out := *l
	out.Tables = slices.Clone(l.Tables)
	for i, t := range l.Tables {
		if t.Rollup != nil {
			one, r := *t, *t.Rollup
			r.Idle, one.Rollup = !serves, &r
			out.Tables[i] = &one
			if l.Read == t {
				out.Read = &one
			}
		}
	}
	return &out
}

// windowsOf returns the windows of the series, by their start.
func windowsOf(t *testing.T, client store.Client, l *layout.Layout, now time.Time, width time.Duration) map[time.Time]string {
	t.Helper()
	out := map[time.Time]string{}
	r := dynamic.New(l).NewReader(client, store.ReaderOptions{Now: func() time.Time { return now }})
	for w, err := range r.Windows(t.Context(), dynamic.Series([]any{"us-west2", int64(3698)}), trialDay, trialDay.AddDate(0, 0, 4), window.Every(width)) {
		if err != nil {
			t.Fatal(err)
		}
		out[w.Start] = fmt.Sprint(w.Events)
		for i := range l.Fields {
			for _, of := range []dynamic.Statistic{dynamic.Count, dynamic.First, dynamic.Last, dynamic.Min, dynamic.Sum} {
				v := of.Of(&w, &l.Fields[i], i)
				if sum, is := v.(float64); is { // sums of other windows are rounded otherwise
					v = float32(sum)
				}
				out[w.Start] += fmt.Sprint(" ", v)
			}
		}
		if w.Inexact {
			out[w.Start] = "inexact"
		}
	}
	return out
}

// harm returns windows that a version reads otherwise than those of the events, in silence, and whether any are inexact or
// missing.
func (p *rollupTrial) harm(l *layout.Layout, now time.Time, width time.Duration) (wrong []string, lost bool) {
	p.t.Helper()
	reference := rollupServer(p.t)
	q := &rollupTrial{t: p.t, bt: reference, now: trialDay.AddDate(0, 0, 5)}
	var events []dynamic.Event
	for _, at := range slices.SortedFunc(maps.Keys(p.events), time.Time.Compare) {
		events = append(events, eventOf(l, at, p.events[at]))
	}
	if err := dynamic.New(l).NewWriter(reference.Client, store.WriterOptions{Now: q.clock}).WriteAll(p.t.Context(), events); err != nil {
		p.t.Fatal(err)
	}
	want := windowsOf(p.t, reference.Client, serving(l, false), q.now, width)
	got := windowsOf(p.t, p.bt.Client, l, now, width)
	for start, text := range want {
		switch is := got[start]; is {
		case text:
		case "", "inexact":
			lost = true
		default:
			wrong = append(wrong, fmt.Sprintf("at %v: window %v is %s, not %s", now, start, is, text))
		}
	}
	return wrong, lost
}

// rollupServer returns a server with the tables of all edits.
func rollupServer(t *testing.T) *storetest.Bigtable {
	return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		for _, id := range []string{"readings", "copies"} {
			conf := &bigtable.TableConf{TableID: id, ColumnFamilies: map[string]bigtable.Family{"m": {}, "n": {}, "h": {}, "k": {}}}
			if err := b.Admin.CreateTableFromConf(ctx, conf); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestBreakingRollups tries each edit of rollups, with the programs of both versions: after one of class DATA, windows are wrong, inexact
// or missing if the order of deployment is the worst one or if the events have expired. After one of class SAFE, or of class ROLLOUT if
// programs are deployed in the order that it states, none is wrong.
func TestBreakingRollups(t *testing.T) {
	tried := 0
	for _, e := range edits(t) {
		if !strings.HasPrefix(e.name, "rollup_") {
			continue
		}
		if tried++; tried%8 > 0 && !testlong.Enabled() {
			continue
		}
		_, c := e.compare(t)
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			verdict := evolve.Safe
			for _, f := range c.Findings {
				verdict = min(verdict, f.Rule.Class)
			}
			if verdict == evolve.Source {
				verdict = evolve.Safe
			}
			p := &rollupTrial{t: t, bt: rollupServer(t), now: trialDay.AddDate(0, 0, 5), events: map[time.Time]map[string]any{}}
			var times []time.Time
			for i := range 3 * 24 * 2 {
				times = append(times, trialDay.Add(time.Duration(i)*30*time.Minute))
			}
			first := layoutOf(t, e.versions[0])
			p.write(p.bt.Client, first, times...)
			p.seal(first)
			for i := range e.versions[1:] {
				p.step(layoutOf(t, e.versions[i]), layoutOf(t, e.versions[i+1]), times[40*i:], verdict == evolve.Data)
				if verdict == evolve.Data && i > 0 { // a program with the first version is still running
					p.write(p.bt.Client, first, times[40*i+20])
				}
			}
			p.verdict(layoutOf(t, e.versions[len(e.versions)-2]), layoutOf(t, e.versions[len(e.versions)-1]), verdict)
		})
	}
	if tried < 20 {
		t.Errorf("%d edits", tried)
	}
}

// step replaces a version by another one. In the worst order, programs with the old code change events after one with the
// new code has summarized them.
func (p *rollupTrial) step(old, new *layout.Layout, times []time.Time, worst bool) {
	if worst {
		p.seal(new)
	}
	p.write(p.bt.Client, old, times[3], times[60])
	if worst && new.Tables[0].Age() > old.Tables[0].Age() && old.Tables[0].Age() > 0 { // the first day has expired in part
		p.now = trialDay.Add(old.Tables[0].Age() + 12*time.Hour)
		p.collect(old)
		p.write(p.bt.Client, new, times[40])
		return
	}
	if !worst {
		p.write(p.bt.Client, new, times[5], times[61])
		p.seal(new)
	}
}

// verdict compares what a version reads with what was written: now, and when the events have expired.
func (p *rollupTrial) verdict(old, new *layout.Layout, class evolve.Class) {
	widths := []time.Duration{2 * time.Hour}
	if class == evolve.Data {
		widths = append(widths, 30*time.Minute, time.Hour)
	}
	late := p.now.AddDate(0, 0, 500)
	serves := slices.ContainsFunc(old.Rollups(), func(t *layout.Table) bool { return !t.Rollup.Idle })
	harmed := false
	for _, l := range []*layout.Layout{new, serving(new, true)} {
		for _, width := range widths {
			wrong, lost := p.harm(l, p.now, width)
			if class != evolve.Data && (len(wrong) > 0 || lost) {
				p.t.Errorf("verdict %s, but %v, lost: %v", class, wrong, lost)
			}
			if old.Rollups() == nil || !slices.ContainsFunc(old.Rollups(), func(t *layout.Table) bool { return t.Rollup.Every > width }) {
				harmed = harmed || len(wrong) > 0 || lost
			}
		}
	}
	p.now = late
	p.collect(new)
	for _, width := range widths {
		if slices.ContainsFunc(old.Rollups(), func(t *layout.Table) bool { return t.Rollup.Every > width }) &&
			!slices.ContainsFunc(new.Rollups(), func(t *layout.Table) bool { return t.Rollup.Every <= width }) {
			continue // neither version promises it
		}
		wrong, lost := p.harm(new, p.now, width)
		if class != evolve.Data && (len(wrong) > 0 || lost && class == evolve.Safe && serves) {
			p.t.Errorf("verdict %s, but later %v, lost: %v", class, wrong, lost)
		}
		harmed = harmed || len(wrong) > 0 || lost && serves
	}
	if class == evolve.Data && !harmed {
		p.t.Error("verdict DATA, but all windows are those of the events")
	}
}
