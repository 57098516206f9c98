package store

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/window"
)

// RollupParts are the steps of [Rollup]. Find notes the rows that have changed. When no mark that was noted can be
// set any more, and the client sees all that was written before, Settle summarizes these rows.
type RollupParts struct{ sealers []*sealer }

// maxSends is the number of changes of a note that Settle sends at a time.
const maxSends = 16

// rowsNote names rows that have changed.
type rowsNote struct {
	Layout int      `json:"layout"` // index in RollupParts.First
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

// First returns the table of each layout with a rollup.
func (p *RollupParts) First() (all []JobTable) {
	for i, s := range p.sealers {
		all = append(all, JobTable{Table: s.mapping.Table.ID, Layout: i})
	}
	return all
}

// Left returns nothing: what a stopped pipeline has left is changed.
func (p *RollupParts) Left(time.Time) []JobTable { return nil }

// Wait returns the longest time for which a mark may still be set after it was noted.
func (p *RollupParts) Wait() (longest time.Duration) {
	for _, s := range p.sealers {
		longest = max(longest, s.times.Grace)
	}
	return longest
}

// Pause returns 0: attempts to settle may overlap.
func (p *RollupParts) Pause() time.Duration { return 0 }

// Do does nothing: the rows may be changing.
func (p *RollupParts) Do(context.Context, JobNote) (oldest time.Time, counts JobCounts, err error) {
	_, err = p.sealer(0)
	return oldest, counts, err
}

// Differs returns true: Settle reads the rows.
func (p *RollupParts) Differs(context.Context, JobNote) (bool, error) {
	_, err := p.sealer(0)
	return true, err
}

// sealer returns the sealer of a layout; a *[NoClientError] without one, or without a client.
func (p *RollupParts) sealer(layout int) (*sealer, error) {
	if layout < 0 || layout >= len(p.sealers) {
		return nil, &NoClientError{}
	}
	s := p.sealers[layout]
	return s, missingClient(s.reader.table.API)
}

// Splits is that of JobParts.
func (p *RollupParts) Splits(ctx context.Context, t JobTable) ([]KeyRange, error) {
	s, err := p.sealer(t.Layout)
	if err != nil {
		return nil, err
	}
	return splits(ctx, s.reader.table.API, s.id, s.reader.table.Timeout)
}

// Find notes the claimed rows of a layout that have changed.
func (p *RollupParts) Find(ctx context.Context, t JobTable, within KeyRange, claims RowClaims, emit func(JobNote)) (counts JobCounts, err error) {
	s, err := p.sealer(t.Layout)
	if err != nil {
		return counts, err
	}
	rows := rowsNote{Layout: t.Layout}
	end := func() {
		if len(rows.Keys) > 0 {
			emit(note(rows))
			rows.Keys, rows.Marks = rows.Keys[:0], rows.Marks[:0]
		}
	}
	var op request.Operation
	err = s.note(ctx, &op, within, claims.Claim, nil, func(n changedRow, _ bool) bool {
		rows.Keys, rows.Marks = append(rows.Keys, []byte(n.key)), append(rows.Marks, n.marks)
		if counts.Rollup.Noted++; len(rows.Keys) == maxSealed {
			end()
		}
		return true
	})
	if err == nil {
		end()
	}
	return counts, err
}

// Settle summarizes rows. Once all others are summarized, an error about a row that cannot be decoded is a
// *DecodeError, and one about rows of which a request failed a *LeftError.
func (p *RollupParts) Settle(ctx context.Context, n JobNote) (counts JobCounts, err error) {
	var of rowsNote
	damaged := json.Unmarshal(n, &of)
	s, err := p.sealer(of.Layout)
	if err = cmp.Or(err, damaged); err != nil {
		return counts, err
	}
	rows := make([]changedRow, 0, len(of.Keys))
	for i, key := range of.Keys[:min(len(of.Keys), len(of.Marks))] {
		rows = append(rows, changedRow{string(key), of.Marks[i]})
	}
	var op request.Operation
	done, err := s.seal(ctx, &op, rows)
	if err == nil && done.failed != nil {
		err = &LeftError{done.Failed, done.failed}
	}
	if err == nil {
		err = done.undecodable
	}
	counts.Rollup = done.RollupCounts
	return counts, err
}
