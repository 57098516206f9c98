package store

import (
	"fmt"
	"slices"
)

// rollupCheckpoint is the contents of the checkpoint of a call of Rollup: which rows it has finished. What it has noted
// is not stored: rows that are not finished are noted again.
type rollupCheckpoint struct {
	Version  int          `json:"version"`
	Instance string       `json:"instance,omitempty"`
	All      bool         `json:"all,omitempty"`
	Layouts  []string     `json:"layouts"` // of each sealer: its table, and the facts about its rows
	Counts   RollupCounts `json:"counts"`
	Ranges   []rollupRest `json:"ranges"`
}

// rollupRest is what is left of a range of row keys.
type rollupRest struct {
	Layout int      `json:"layout"` // its number
	Range  KeyRange `json:"range"`
	Next   []byte   `json:"next,omitempty"` // the first row key that is not finished
	Done   bool     `json:"done,omitempty"`
}

// rollupCheckpointVersion is the version of the format.
const rollupCheckpointVersion = 1

// contents returns the current checkpoint.
func (s *sealing) contents() rollupCheckpoint {
	c := rollupCheckpoint{Version: rollupCheckpointVersion, Instance: s.Instance, All: s.All, Counts: s.report.RollupCounts}
	for _, of := range s.sealers {
		c.Layouts = append(c.Layouts, fmt.Sprintf("%s: %s; %+v", of.id, of.mapping.Table.Layout, *of.mapping.Rollup))
	}
	for _, p := range s.parts {
		next, more := p.next()
		c.Ranges = append(c.Ranges, rollupRest{Layout: p.sealer, Range: p.within, Next: []byte(next), Done: !more})
	}
	return c
}

// resume takes the ranges of the checkpoint, if the file exists and something is left to do.
func (s *sealing) resume() (found bool, err error) {
	var saved rollupCheckpoint
	found, err = s.load(rollupCommand, ": delete it, and begin again", func(text []byte) error { return parseChecked(text, &saved) })
	if !found || err != nil {
		return false, err
	}
	if reason := saved.differs(s.contents()); reason != "" {
		return false, &CheckpointError{s.Checkpoint, "belongs to another call: " + reason + ": use another file", nil}
	}
	complete := true
	for _, r := range saved.Ranges {
		if r.Layout < 0 || r.Layout >= len(s.sealers) {
			return false, &CheckpointError{s.Checkpoint, "damaged: it has a range of no table: delete it, and begin again", nil}
		}
		p := newSealPart(r.Layout, r.Range)
		p.rest.Start, p.done = max(string(r.Next), r.Range.Start), r.Done
		s.parts, complete = append(s.parts, p), complete && r.Done
	}
	if complete { // begin again: the tables may have changed since
		s.parts = nil
		return false, nil
	}
	s.report.RollupCounts = saved.Counts
	s.report.Noted = saved.Counts.finished()
	return true, nil
}

// finished returns the number of rows that are not noted again, as far as they were counted.
func (c RollupCounts) finished() int64 {
	return c.Sealed + c.Clean + c.Busy + c.Undecodable + c.Unknown + c.Failed
}

// differs returns how a call differs from another one; empty if they are the same.
func (c rollupCheckpoint) differs(o rollupCheckpoint) string {
	switch {
	case c.Version != o.Version:
		return fmt.Sprintf("its version is %d, not %d", c.Version, o.Version)
	case !slices.Equal(c.Layouts, o.Layouts):
		return "the tables or their layouts differ"
	case c.Instance != o.Instance:
		return fmt.Sprintf("its instance is %q, not %q", c.Instance, o.Instance)
	case c.All != o.All:
		return fmt.Sprintf("it was made with All (--all) %v, not %v", c.All, o.All)
	}
	return ""
}
