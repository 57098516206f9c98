package store

import (
	"context"
	"time"

	"github.com/btgen-dev/btgen/runtime/window"
)

// RollupParts are the steps of [Rollup] for package beamstore, which distributes them over machines. Other programs call
// Rollup. Nothing but what a runner stores between the steps survives a kill, so they keep its promise in this order:
//
//   - Note finds the rows that have changed, and returns chunks of them, which the runner stores.
//   - Grace after the last chunk is stored, no mark that it has noted can be set any more. Then the client must see all that
//     was written before.
//   - Seal summarizes the rows of a chunk.
//
// Every step can be executed again, and several attempts of Seal may overlap.
type RollupParts struct{ sealers []*sealer }

// maxSends is the number of changes of a chunk that Seal sends at a time.
const maxSends = 16

// RollupChunk names rows that have changed.
type RollupChunk struct {
	Layout int      `json:"layout"` // index in RollupParts.Tables
	Keys   [][]byte `json:"keys"`   // row keys
	Marks  []uint64 `json:"marks"`  // identify the marks of each row
}

// NewRollupParts returns the steps of a call of Rollup, or ErrNoRollup. Options about checkpoints, workers, rates,
// waits and progress are ignored. A client is needed only for the steps.
func NewRollupParts(client Client, mappings []*Mapping, columns *Columns, spec *window.Spec, o RollupOptions) (*RollupParts, error) {
	p := &RollupParts{sealersOf(client, mappings, columns, spec, &o)}
	if len(p.sealers) == 0 {
		return nil, ErrNoRollup
	}
	for _, s := range p.sealers {
		s.sends = maxSends
	}
	return p, nil
}

// Tables returns the table of each layout with a rollup, with its prefix. Several layouts may share a table.
func (p *RollupParts) Tables() (ids []string) {
	for _, s := range p.sealers {
		ids = append(ids, s.id)
	}
	return ids
}

// Grace returns the longest time for which a mark may still be set after it was noted.
func (p *RollupParts) Grace() (longest time.Duration) {
	for _, s := range p.sealers {
		longest = max(longest, s.times.Grace)
	}
	return longest
}

// sealer returns the sealer of a layout; a *[NoClientError] without one, or without a client.
func (p *RollupParts) sealer(layout int) (*sealer, error) {
	if layout < 0 || layout >= len(p.sealers) {
		return nil, &NoClientError{}
	}
	s := p.sealers[layout]
	return s, missingClient(s.reader.table.api)
}

// Splits returns ranges of row keys that together cover the table of a layout; see [Scanner.Splits].
func (p *RollupParts) Splits(ctx context.Context, layout int) ([]KeyRange, error) {
	s, err := p.sealer(layout)
	if err != nil {
		return nil, err
	}
	t := s.reader.table
	return splits(ctx, t.api, t.id, t.timeout)
}

// Note finds the claimed rows of a layout that have changed, and emits them.
func (p *RollupParts) Note(ctx context.Context, layout int, within KeyRange, claims RowClaims, emit func(RollupChunk)) (counts RollupCounts, err error) {
	s, err := p.sealer(layout)
	if err != nil {
		return counts, err
	}
	chunk := RollupChunk{Layout: layout}
	end := func() {
		if len(chunk.Keys) > 0 {
			emit(chunk)
			chunk.Keys, chunk.Marks = nil, nil
		}
	}
	var op Operation
	err = s.note(ctx, &op, within, claims.Claim, nil, func(n note, _ bool) bool {
		chunk.Keys, chunk.Marks = append(chunk.Keys, []byte(n.key)), append(chunk.Marks, n.marks)
		if counts.Noted++; len(chunk.Keys) == maxSealed {
			end()
		}
		return true
	})
	if err == nil {
		end()
	}
	return counts, err
}

// Seal summarizes the rows of a chunk. Once all others are summarized, an error about a row that cannot be decoded is a *DecodeError,
// and one about rows of which a request failed a *LeftError.
func (p *RollupParts) Seal(ctx context.Context, chunk RollupChunk) (RollupCounts, error) {
	s, err := p.sealer(chunk.Layout)
	if err != nil {
		return RollupCounts{}, err
	}
	notes := make([]note, 0, len(chunk.Keys))
	for i, key := range chunk.Keys[:min(len(chunk.Keys), len(chunk.Marks))] {
		notes = append(notes, note{string(key), chunk.Marks[i]})
	}
	var op Operation
	done, err := s.seal(ctx, &op, notes)
	if err == nil && done.failed != nil {
		err = &LeftError{done.Failed, done.failed}
	}
	if err == nil {
		err = done.undecodable
	}
	return done.RollupCounts, err
}
