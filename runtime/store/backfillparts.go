package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// BackfillParts are the steps of [Backfill]. Find notes the places of the events of the source. Do copies these
// events, and settles them. When no request of any attempt to do so can arrive any more, Differs compares the tables
// at these places, and Find notes the places of the events of the target that only a stopped pipeline can have left.
// Settle repairs both.
type BackfillParts struct{ b *backfill }

// placesNote names places of events.
type placesNote struct {
	Table  string      `json:"table,omitempty"` // of the source that has the events; empty if it lacks them
	Rows   KeyRange    `json:"rows"`
	Places []rowPlaces `json:"places"`
}

// NewBackfillParts returns the steps of a backfill that began at a time, and the errors of Backfill for
// tables and times that are refused. Options about checkpoints, workers, rates, progress and
// verification are ignored. A client is needed only for the steps.
func NewBackfillParts(client Client, mappings []*Mapping, began time.Time, o BackfillOptions) (*BackfillParts, error) {
	o.Checkpoint, o.Workers, o.Rate, o.Progress, o.DryRun, o.Verify = "", 0, 0, nil, false, false
	b, err := newBackfill(client, mappings, o)
	if err != nil {
		return nil, err
	}
	if b.target.Pattern.NewestOnly() {
		return nil, &BackfillError{b.source.Table.ID, b.target.Table.ID, []string{"a pipeline cannot fill a table with pattern latest, which needs a search for each series: use btgen-live backfill, or Backfill"}}
	}
	b.began = began
	return &BackfillParts{b}, nil
}

// made returns the backfill. Without one, it is that of a table without a client.
func (p *BackfillParts) made() *backfill {
	if p == nil || p.b == nil {
		return &backfill{source: new(mapping), target: new(mapping)}
	}
	return p.b
}

// First returns the tables of the source.
func (p *BackfillParts) First() []JobTable { return tablesOf(p.made().source, JobTable{}) }

// Left returns the tables of the target; none if a search could delete events that the source never had.
func (p *BackfillParts) Left(oldest time.Time) []JobTable {
	if !p.made().sweeps() {
		return nil
	}
	return tablesOf(p.made().target, JobTable{Sweep: true, Oldest: oldest})
}

// TargetFirst is that of BackfillReport.
func (p *BackfillParts) TargetFirst() bool { return p.made().report.TargetFirst }

// tablesOf returns the tables of a mapping and of its earlier layouts. They are otherwise like another one.
func tablesOf(l *mapping, like JobTable) (all []JobTable) {
	for _, period := range l.Periods() {
		if like.Table = period.Table.ID; !slices.Contains(all, like) {
			all = append(all, like)
		}
	}
	return all
}

// Splits is that of JobParts.
func (p *BackfillParts) Splits(ctx context.Context, t JobTable) ([]KeyRange, error) {
	return p.made().splits(ctx, t)
}

// attemptTime is how long an attempt of Do may take.
func (p *BackfillParts) attemptTime() time.Duration { return 2 * p.made().requestTime() }

// Wait is how long after it began no request of an attempt of Do can arrive any more: half of the limit of a request
// after its deadline, and as much as a reserve.
func (p *BackfillParts) Wait() time.Duration { return p.attemptTime() + p.made().requestTime() }

// Pause is Wait: it is the same for attempts of Settle.
func (p *BackfillParts) Pause() time.Duration { return p.Wait() }

// Find notes the places of the events of claimed rows of a table: of the source, or of those in the target that the
// source lacks and only a stopped backfill can have written.
func (p *BackfillParts) Find(ctx context.Context, t JobTable, within KeyRange, claims RowClaims, emit func(JobNote)) (counts JobCounts, err error) {
	b, in, c := p.made(), jobRange{Table: t.Table, Range: within}, &counts.Backfill
	if err = b.missingClient(); err != nil {
		return counts, err
	}
	if t.Sweep {
		err = b.sweepRange(ctx, in, claims, func(lacking []event) error {
			kept := lacking
			if !b.Repair {
				var err error
				if kept, err = b.ofCopies(ctx, lacking, t.Oldest); err != nil {
					return err
				}
				c.OnlyTarget += int64(len(lacking) - len(kept))
			}
			if len(kept) > 0 {
				emit(note(placesNote{Places: b.source.noted(nil, kept)}))
			}
			return nil
		})
		return counts, err
	}
	err = b.chunks(ctx, b.source, in, maxCopied, claims, c, func(read *rowChunk) error {
		c.Events += int64(len(read.events))
		if places := b.source.noted(nil, read.events); len(places) > 0 {
			emit(note(placesNote{t.Table, KeyRange{read.within.Start, read.last + "\x00"}, places}))
		}
		return nil
	})
	return counts, err
}

// Do copies the events at places, and settles all of them: those that the source has lost since may be what an
// earlier attempt has written.
func (p *BackfillParts) Do(ctx context.Context, n JobNote) (oldest time.Time, counts JobCounts, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.attemptTime())
	defer cancel()
	c, rows, places, err := p.open(n)
	if err != nil {
		return oldest, counts, err
	}
	wanted := p.b.source.placesOf(places)
	var counted BackfillCounts // by Find
	if err := p.b.chunks(ctx, p.b.source, rows, maxCopied, allClaims{}, &counted, func(read *rowChunk) error {
		c.events = p.b.source.among(c.events, read.events, wanted)
		return nil
	}); err != nil {
		return oldest, counts, err
	}
	found := p.b.source.placesOf(c.events)
	lost := slices.DeleteFunc(places, func(e event) bool {
		at, _ := p.b.source.placeOf(e)
		return found[at]
	})
	if err := c.write(ctx, rows.Range); err != nil {
		return oldest, counts, err
	}
	c.events = lost
	err = c.settle(ctx, nil)
	return c.oldest, JobCounts{Backfill: c.counts}, err
}

// open returns a copier, and the rows and places of a note.
func (p *BackfillParts) open(n JobNote) (c *copier, rows jobRange, places []event, err error) {
	b := p.made()
	if err = b.missingClient(); err != nil {
		return c, rows, places, err
	}
	var of placesNote
	damaged := json.Unmarshal(n, &of)
	rows = jobRange{Table: cmp.Or(of.Table, b.source.Table.ID), Range: of.Rows}
	places, err = b.source.eventsAt(of.Places)
	return b.newCopier(rows.Table, -1), rows, places, cmp.Or(err, damaged)
}

const (
	maxChecks     = 3                      // comparisons of places that differ
	checkInterval = 500 * time.Millisecond // between them, for programs to end what they have begun
)

// Differs reports whether the tables differ at places, also when they are compared again, because programs may be
// between their writes to both.
func (p *BackfillParts) Differs(ctx context.Context, n JobNote) (differs bool, err error) {
	c, rows, places, err := p.open(n)
	if err != nil {
		return false, err
	}
	for n := range maxChecks {
		if n > 0 {
			if err := p.b.clock.Sleep(ctx, checkInterval); err != nil {
				return false, err
			}
		}
		found, err := c.differences(ctx, places, &rows.Range, 0, false)
		if err != nil || found.count() == 0 {
			return false, err
		}
	}
	return true, nil
}

// Settle makes the target equal to the source at places. No request of an earlier attempt may arrive any more. Events
// are counted by Do.
func (p *BackfillParts) Settle(ctx context.Context, n JobNote) (counts JobCounts, err error) {
	c, _, places, err := p.open(n)
	if err != nil {
		return counts, err
	}
	c.events = places
	err = c.settle(ctx, nil)
	c.counts.Events = 0
	return JobCounts{Backfill: c.counts}, err
}
