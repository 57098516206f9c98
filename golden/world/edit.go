package world

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Edited is what became of an edit of a schema with stored events.
type Edited int

// What may become of it.
const (
	Skipped Edited = iota // no event fits the schema
	Refused               // the edit is one of class DATA, or setup refuses it
	Passed
)

// againAlive counts events that were longer dead than a new age, and not yet removed.
const (
	againAlive      = "known: an event that has expired is returned after a longer age"
	fieldAgainAlive = "known: a field that has expired is returned after a longer age"
)

// Edit plays writes of a schema, and then reads the events with an edited schema, unless the edit is refused. It
// returns what the edit hides or changes without a word.
func (w *World) Edit(ctx context.Context, old, edited *layout.Layout, seed uint64) (out Edited, lost error) {
	p, err := w.begin(ctx, Script{Layout: old})
	if err != nil || p == nil {
		return Skipped, err
	}
	defer p.drop()
	if slices.ContainsFunc(old.Tables, func(t *layout.Table) bool { return t.Draft }) {
		return Skipped, nil // it promises nothing
	}
	for _, f := range evolve.Diff(evolve.Input{Old: evolve.LockOf([]*layout.Layout{old}), Layouts: []*layout.Layout{edited}, Whole: true, Now: p.now, Gone: func(*lock.Table) diag.Pos { return diag.Pos{} }}).Findings {
		if f.Rule.Class == evolve.Data {
			return Refused, nil
		}
	}
	random := rand.New(rand.NewPCG(seed, 2))
	known := slices.DeleteFunc(slices.Clone(changes), func(o operation) bool { return o.name == withoutTable }) // by the lock
	for range 12 {
		p.Rand = rand.New(rand.NewPCG(random.Uint64(), 0))
		if err := p.step(known); err != nil {
			return Passed, err
		}
	}
	s := dynamic.New(edited)
	r := s.NewReader(w.clients[0], store.ReaderOptions{TablePrefix: p.prefix, Now: p.clock})
	before, err := p.windowsShown(p.layout, p.programs[0], edited)
	if err != nil {
		return Passed, p.told(err)
	}
	if p.setup(s) != nil {
		return Refused, nil
	}
	returned := p.Counts[againAlive] + p.Counts[fieldAgainAlive]
	if lost = p.compareEdited(r, edited); lost == nil && p.Counts[againAlive]+p.Counts[fieldAgainAlive] == returned {
		lost = p.compareWindows(before, &interpreter{s, nil, r}, edited)
	}
	if lost != nil {
		lost = p.told(lost)
	}
	return Passed, lost
}

// shownWindow is which window of which series is shown, of which field; empty if it is the number of events.
type shownWindow struct {
	series, field string
	width         time.Duration
	start         time.Time
}

// windowsShown returns the windows that a program with a schema shows of all series, of the number of events, and
// of the fields that the other schema has alike. It returns nothing if either schema has no windows, or other
// series.
func (p *play) windowsShown(l *layout.Layout, x program, other *layout.Layout) (map[shownWindow]summary, error) {
	if len(l.Series) != len(other.Series) || l.Precision != other.Precision || l.Read.Metrics() || other.Read.Metrics() {
		return nil, nil
	}
	widths := []time.Duration{24 * time.Hour}
	for _, t := range slices.Concat(l.Read.Periods(), other.Read.Periods()) {
		if t.Rollup != nil && t.Rollup.Every < 24*time.Hour && !slices.Contains(widths, t.Rollup.Every) {
			widths = append(widths, t.Rollup.Every)
		}
	}
	out := map[shownWindow]summary{}
	from, to := p.now.AddDate(-3, 0, 0).Truncate(24*time.Hour), p.end().Truncate(24*time.Hour).Add(24*time.Hour)
	for _, of := range p.allSeries() {
		series := seriesOf(p.layout, l, of)
		if series == nil {
			return nil, nil
		}
		for _, field := range append(alike(l, other), "") {
			o := store.WindowOptions{Fields: []store.Field{}}
			if i := indexOf(l, field); i >= 0 {
				o.Fields = append(o.Fields, store.Field(l.FieldName(&l.Fields[i])))
			}
			for _, width := range widths {
				for w, err := range x.windows(p.ctx, &selection{of: dynamic.Series(series)}, from, to, window.Every(width), o) {
					if err != nil {
						return nil, err
					}
					out[shownWindow{text(of...), field, width, w.Start}] = w
				}
			}
		}
	}
	return out, nil
}

// seriesOf returns the values of a series in the order of another schema; nil if that has other ones.
func seriesOf(l, edited *layout.Layout, of []any) []any {
	out := make([]any, len(of))
	for i := range l.Series {
		n := sameField(edited.Series, &l.Series[i])
		if n < 0 {
			return nil
		}
		out[n] = of[i]
	}
	return out
}

// sameField returns the index of the field or series value of the same name and type; -1 if there is none.
func sameField(in []layout.Field, f *layout.Field) int {
	return slices.IndexFunc(in, func(o layout.Field) bool { return o.Name == f.Name && o.Type == f.Type })
}

// indexOf returns the index of a field; -1 if there is none.
func indexOf(l *layout.Layout, name string) int {
	return slices.IndexFunc(l.Fields, func(f layout.Field) bool { return f.Name == name })
}

// alike returns the names of the fields of a schema of which another one says the same.
func alike(l, other *layout.Layout) (out []string) {
	for i := range l.Fields {
		f, k := &l.Fields[i], indexOf(other, l.Fields[i].Name)
		if k >= 0 && f.Type == other.Fields[k].Type && f.Optional == other.Fields[k].Optional && value.Equal(f.Default, other.Fields[k].Default) && f.Type != schema.Enum {
			out = append(out, f.Name)
		}
	}
	return out
}

// compareWindows compares the windows that a program with an edited schema shows with those that were shown before.
func (p *play) compareWindows(before map[shownWindow]summary, x program, edited *layout.Layout) error {
	if before == nil {
		return nil
	}
	after, err := p.windowsShown(edited, x, p.layout)
	if err != nil || after == nil {
		return err
	}
	for k, w := range before {
		got, has := after[k]
		switch r := p.layout.Read.Rollup; {
		case r != nil && edited.Read.Rollup != nil && !r.GC.Equal(edited.Read.Rollup.GC) && collects(r.GC, p.now.Sub(k.start.Add(-k.width)), 1):
			continue // expired runs may return with a longer age
		case !has:
			return fmt.Errorf("window %v of %d events is hidden", k, w.Events)
		case w.Inexact:
			p.Counts["inexact windows before an edit"]++
			continue
		case got.Inexact || got.Events != w.Events:
			return fmt.Errorf("window %v has %d events, and %d before (inexact: %v)", k, got.Events, w.Events, got.Inexact)
		}
		p.Counts["windows before and after an edit"]++
		if k.field == "" {
			continue
		}
		i, n := indexOf(p.layout, k.field), indexOf(edited, k.field)
		for _, stat := range []dynamic.Statistic{dynamic.Count, dynamic.Min, dynamic.Max} {
			if _, ok := stat.Type(&p.layout.Fields[i]); ok && fmt.Sprint(w.of(stat, i)) != fmt.Sprint(got.of(stat, n)) {
				return fmt.Errorf("window %v: %v is %v, and was %v", k, stat, got.of(stat, n), w.of(stat, i))
			}
		}
	}
	return nil
}

// compareEdited compares what readers of an edited schema find with what those of the schema find.
func (p *play) compareEdited(r *dynamic.Reader, edited *layout.Layout) error {
	if len(p.layout.Series) != len(edited.Series) || p.layout.Precision != edited.Precision {
		return nil // events have other places
	}
	for name, of := range p.allSeries() {
		moved := seriesOf(p.layout, edited, of)
		if moved == nil {
			return nil
		}
		got, err := collected(r.Read(p.ctx, dynamic.Series(moved), time.Time{}, p.end()))
		if errors.Is(err, codec.ErrInexact) {
			p.Counts["known: an integer beyond 2^53 is an error of reads"]++
			return nil
		}
		if err != nil {
			return fmt.Errorf("series %s: %w", name, err)
		}
		s := *p.seriesOf(of)
		want := p.expected(s, time.Time{}, p.end())
		expired := p.ever(s, time.Time{}, p.end(), slices.Clone(want))
		for _, l := range want {
			i := slices.IndexFunc(got, func(e dynamic.Event) bool { return e.Time.Equal(l.Time) && e.Sequence == l.Sequence })
			if i < 0 {
				return fmt.Errorf("hidden: %s", shown([]dynamic.Event{l.Event}))
			}
			if l.versions[0].period.Pattern.Appends() {
				continue
			}
			for k := range p.layout.Fields {
				n, want := sameField(edited.Fields, &p.layout.Fields[k]), l.Values[k]
				if n >= 0 && want != nil && !l.keeps(k) {
					want = defaultOf(&edited.Fields[n]) // it has expired
				}
				if n < 0 || value.Equal(got[i].Values[n], want) || want == nil && !edited.Fields[n].Optional {
					continue
				}
				if value.Equal(got[i].Values[n], l.versions[0].event.Values[k]) {
					p.Counts[fieldAgainAlive]++
					continue
				}
				return fmt.Errorf("%s is %v in %s", p.layout.Fields[k].Name, got[i].Values[n], shown([]dynamic.Event{l.Event}))
			}
		}
		for _, e := range got {
			same := func(l living) bool { return e.Time.Equal(l.Time) && e.Sequence == l.Sequence }
			if slices.ContainsFunc(expired, same) && !slices.ContainsFunc(want, same) {
				p.Counts[againAlive]++
				continue
			}
			if !slices.ContainsFunc(want, same) {
				return fmt.Errorf("returned: %s", shown([]dynamic.Event{e}))
			}
		}
		newest, err := r.Latest(p.ctx, moved)
		if len(want) > 0 && len(got) == len(want) && (err != nil || !newest.Time.Equal(want[len(want)-1].Time)) {
			return fmt.Errorf("latest of %s: %v, %w", name, newest, err)
		}
	}
	return nil
}
