package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/runtime/internal/checkpoint"
)

// rollupProgress is the progress in the checkpoint of a call of Rollup: which rows it has finished. What it has noted
// is not stored: rows that are not finished are noted again.
type rollupProgress struct {
	Counts RollupCounts `json:"counts"`
	Ranges []rollupRest `json:"ranges"`
}

// rollupRest is what is left of a range of row keys.
type rollupRest struct {
	Layout int      `json:"layout"` // its number
	Range  KeyRange `json:"range"`
	Next   []byte   `json:"next,omitempty"` // the first row key that is not finished
	Done   bool     `json:"done,omitempty"`
}

// call returns what a call has in common with one that continues it.
func (s *sealing) call() checkpoint.Call {
	var layouts []string // of each sealer: its table, and the facts about its rows
	for _, of := range s.sealers {
		layouts = append(layouts, fmt.Sprintf("%s: %s; %+v", of.id, of.mapping.Table.Layout, *of.mapping.Rollup))
	}
	return checkpoint.Call{Command: "rollup", Facts: []checkpoint.Fact{
		{What: "instance", Is: s.Instance},
		{What: "list of tables and layouts", Is: strings.Join(layouts, "\n")},
		{What: "All (--all)", Is: fmt.Sprint(s.All)},
	}}
}

// progress returns the current progress.
func (s *sealing) progress() any {
	c := rollupProgress{Counts: s.report.RollupCounts}
	for _, p := range s.parts {
		next, more := p.next()
		c.Ranges = append(c.Ranges, rollupRest{Layout: p.sealer, Range: p.within, Next: []byte(next), Done: !more})
	}
	return c
}

// resume takes the ranges of the checkpoint, if the file exists and something is left to do.
func (s *sealing) resume() (found bool, err error) {
	var saved rollupProgress
	if found, err = s.load(&saved); !found || err != nil {
		return false, err
	}
	complete := true
	for _, r := range saved.Ranges {
		if r.Layout < 0 || r.Layout >= len(s.sealers) {
			return false, s.unusable(errors.New("damaged: it has a range of no table"))
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
