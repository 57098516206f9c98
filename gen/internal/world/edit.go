package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Edited is what became of an edit of a schema with stored events.
type Edited int

// What may become of it.
const (
	Skipped Edited = iota // no event fits the schema
	Refused               // the edit is one of class DATA, or setup refuses it
	Passed
)

// Edit plays writes of a schema, and then reads the events with an edited schema, unless the edit is refused. It returns what
// the edit hides or changes without a word.
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
	for range 12 {
		p.Rand = rand.New(rand.NewPCG(random.Uint64(), 0))
		if err := p.step(changes); err != nil {
			return Passed, err
		}
	}
	s := dynamic.New(edited)
	if p.setup(s) != nil {
		return Refused, nil
	}
	r := s.NewReader(w.clients[0], store.ReaderOptions{TablePrefix: p.prefix, Now: p.clock})
	if lost = p.compareEdited(r, edited); lost != nil {
		lost = p.told(lost)
	}
	return Passed, lost
}

// compareEdited compares what readers of an edited schema find with what those of the schema find.
func (p *play) compareEdited(r *dynamic.Reader, edited *layout.Layout) error {
	index := func(in []layout.Field, f *layout.Field) int {
		return slices.IndexFunc(in, func(o layout.Field) bool { return o.Name == f.Name && o.Type == f.Type })
	}
	if len(p.layout.Series) != len(edited.Series) || p.layout.Precision != edited.Precision {
		return nil // events have other places
	}
	for name, of := range p.allSeries() {
		moved := make([]any, len(of))
		for i := range p.layout.Series {
			n := index(edited.Series, &p.layout.Series[i])
			if n < 0 {
				return nil
			}
			moved[n] = of[i]
		}
		got, err := collected(r.Read(p.ctx, dynamic.Series(moved), time.Time{}, p.end()))
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
				n := index(edited.Fields, &p.layout.Fields[k])
				if n < 0 || l.Values[k] == (unknown{}) || value.Equal(got[i].Values[n], l.Values[k]) || l.Values[k] == nil && !edited.Fields[n].Optional {
					continue
				}
				if value.Equal(got[i].Values[n], l.versions[0].event.Values[k]) {
					p.Counts["known: a field that has expired is returned after a longer age"]++
					continue
				}
				return fmt.Errorf("%s is %v in %s", p.layout.Fields[k].Name, got[i].Values[n], shown([]dynamic.Event{l.Event}))
			}
		}
		for _, e := range got {
			same := func(l living) bool { return e.Time.Equal(l.Time) && e.Sequence == l.Sequence }
			if slices.ContainsFunc(expired, same) && !slices.ContainsFunc(want, same) {
				p.Counts["known: an event that has expired is returned after a longer age"]++
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
