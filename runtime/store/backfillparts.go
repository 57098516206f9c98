package store

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// BackfillParts are the steps of [Backfill] for package beamstore, which distributes them over
// machines. Other programs call Backfill. Nothing but what a runner stores between the steps
// survives a kill, so they keep its promise in this order:
//
//   - Record reads the source, and returns the places of its events, which the runner stores.
//   - Copy copies the events at these places and settles them, within AttemptTime.
//   - After WaitTime, no request of any attempt of Copy can arrive any more. Then Check compares the
//     tables at the places and writes nothing, and Sweep finds what only a stopped pipeline can have
//     left in the target.
//   - Settle repairs what these two found. Before, each attempt waits for WaitTime.
//
// Every step can be executed again, and those of Copy may overlap.
type BackfillParts struct{ b *backfill }

// BackfillChunk names places of events.
type BackfillChunk struct {
	Table  string   `json:"table,omitempty"` // of the source that has the events; empty if it lacks them
	Rows   KeyRange `json:"rows"`
	Places []byte   `json:"places"`
}

// RowClaims decides which rows of a range belong to a worker while others take parts of it.
type RowClaims interface {
	Contains(key string) bool
	Claim(key string) bool // in order; false if the row and all that follow belong to others
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

// Sources returns the tables that Record reads, and Targets those that Sweep reads; none if a
// sweep could delete events that the source never had. They have no prefix.
func (p *BackfillParts) Sources() []string { return tablesOf(p.made().source) }

// Targets are the tables that Sweep reads; see Sources.
func (p *BackfillParts) Targets() []string {
	if !p.made().sweeps() {
		return nil
	}
	return tablesOf(p.made().target)
}

// TargetFirst is that of BackfillReport.
func (p *BackfillParts) TargetFirst() bool { return p.made().report.TargetFirst }

// tablesOf returns the IDs of the tables of a mapping and of its earlier layouts.
func tablesOf(l *mapping) (ids []string) {
	for _, period := range l.Periods() {
		if !slices.Contains(ids, period.Table.ID) {
			ids = append(ids, period.Table.ID)
		}
	}
	return ids
}

// Splits returns ranges of row keys that together cover a table of Sources or Targets; see [Scanner.Splits].
func (p *BackfillParts) Splits(ctx context.Context, table string) ([]KeyRange, error) {
	return p.made().splits(ctx, table)
}

// AttemptTime is how long an attempt of Copy may take for a chunk. WaitTime is how long after
// it began no request of it can arrive any more: half of the limit of a request after its deadline, and
// as much as a reserve.
func (p *BackfillParts) AttemptTime() time.Duration { return 2 * p.made().requestTime() }

// WaitTime is the time after which no request of an earlier attempt can arrive; see AttemptTime.
func (p *BackfillParts) WaitTime() time.Duration { return p.AttemptTime() + p.made().requestTime() }

// Record reads the claimed rows of a table of the source, and emits the places of their events.
func (p *BackfillParts) Record(ctx context.Context, table string, within KeyRange, claims RowClaims, emit func(BackfillChunk)) (counts BackfillCounts, err error) {
	b := p.made()
	err = b.chunks(ctx, b.source, checkpointRange{Table: table, Range: within}, maxCopied, claims, &counts, func(c *rowChunk) error {
		counts.Events += int64(len(c.events))
		if places := b.encodePlaces(nil, c.events); len(places) > 0 {
			emit(BackfillChunk{Table: table, Rows: KeyRange{c.within.Start, c.last + "\x00"}, Places: places})
		}
		return nil
	})
	return counts, err
}

// Copy copies the events at the places of a chunk, and settles all of them: those that the source
// has lost since may be what an earlier attempt has written. It returns the time of the oldest
// event; zero if there is none.
func (p *BackfillParts) Copy(ctx context.Context, chunk BackfillChunk) (counts BackfillCounts, oldest time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.AttemptTime())
	defer cancel()
	c, places, err := p.open(chunk)
	if err != nil {
		return counts, oldest, err
	}
	wanted := c.ofSource.placesOf(places)
	var counted BackfillCounts // by Record
	in := checkpointRange{Table: cmp.Or(chunk.Table, p.b.source.Table.ID), Range: chunk.Rows}
	if err := p.b.chunks(ctx, p.b.source, in, maxCopied, allClaims{}, &counted, func(read *rowChunk) error {
		c.events = c.ofSource.wanted(c.events, read.events, wanted)
		return nil
	}); err != nil {
		return counts, oldest, err
	}
	found := c.ofSource.placesOf(c.events)
	lost := slices.DeleteFunc(places, func(e event) bool {
		at, _ := c.ofSource.places.of(e)
		_, is := found[at]
		return is
	})
	if err := c.write(ctx, chunk.Rows); err != nil {
		return counts, oldest, err
	}
	c.events = lost
	err = c.settle(ctx, nil, true)
	return c.counts, c.oldest, err
}

// open returns a copier and the places of a chunk.
func (p *BackfillParts) open(chunk BackfillChunk) (*copier, []event, error) {
	table := chunk.Table
	if table == "" {
		table = p.made().source.Table.ID
	}
	c, err := p.made().newCopier(table, -1)
	if err != nil {
		return nil, nil, err
	}
	places, err := p.made().decodePlaces(chunk.Places)
	return c, places, err
}

const (
	maxChecks     = 3                      // comparisons of a chunk that differs
	checkInterval = 500 * time.Millisecond // between them, for programs to end what they have begun
)

// Check reports whether the tables differ at the places of a chunk, also when they are compared
// again, because programs may be between their writes to both.
func (p *BackfillParts) Check(ctx context.Context, chunk BackfillChunk) (differs bool, err error) {
	c, places, err := p.open(chunk)
	if err != nil {
		return false, err
	}
	for n := range maxChecks {
		if n > 0 {
			if err := p.b.clock.sleep(ctx, checkInterval); err != nil {
				return false, err
			}
		}
		missing, differing, deleted, err := c.differences(ctx, places, &chunk.Rows, 0, true, false)
		if err != nil || len(missing)+len(differing)+len(deleted) == 0 {
			return false, err
		}
	}
	return true, nil
}

// Sweep emits the places of events in the claimed rows of a table of the target that the source
// lacks and only a stopped backfill can have written. oldest is that of all chunks; zero if
// there is none.
func (p *BackfillParts) Sweep(ctx context.Context, table string, within KeyRange, claims RowClaims, oldest time.Time, emit func(BackfillChunk)) (counts BackfillCounts, err error) {
	b := p.made()
	first := &oldest
	if oldest.IsZero() {
		first = nil
	}
	err = b.sweepRange(ctx, checkpointRange{Table: table, Range: within}, claims, func(kept []event) error {
		if lacking := len(kept); !b.Repair {
			if kept, err = b.ofCopies(ctx, kept, first); err != nil {
				return err
			}
			counts.OnlyTarget += int64(lacking - len(kept))
		}
		if len(kept) > 0 {
			emit(BackfillChunk{Places: b.encodePlaces(nil, kept)})
		}
		return nil
	})
	return counts, err
}

// Settle makes the target equal to the source at the places of a chunk. No request of an earlier
// attempt may arrive any more.
func (p *BackfillParts) Settle(ctx context.Context, chunk BackfillChunk) (BackfillCounts, error) {
	c, places, err := p.open(chunk)
	if err != nil {
		return BackfillCounts{}, err
	}
	c.events = places
	err = c.settle(ctx, nil, true)
	return c.counts, err
}
