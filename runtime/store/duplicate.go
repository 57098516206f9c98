package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/internal/frame"
)

// ErrDuplicate is the error for an event that was refused because another event of the
// same call, with different values, would be stored in the same place. See
// [DuplicateError].
var ErrDuplicate = errors.New("another event of the call has the same series and time but different values")

// DuplicateError reports two events of one WriteAll, or of one batch of a Batcher, that
// would be stored in the same place: they have the same series, sequence number, and
// time at the precision of the schema, but different values. The earlier one is
// written. The error wraps [ErrDuplicate].
type DuplicateError struct {
	Table string    // with its prefix
	Row   string    // row key of both events
	Time  time.Time // stored time of both events
	// Event and Earlier are the two events as the caller passed them.
	Event, Earlier any
	// EarlierIndex is the index of Earlier in the slice passed to WriteAll; -1 for a
	// Batcher.
	EarlierIndex int
	// Times are the times of Earlier and Event as the caller passed them.
	Times [2]time.Time
}

// Error describes both events and says how to avoid the conflict.
func (e *DuplicateError) Error() string {
	earlier := "an earlier event"
	if e.EarlierIndex >= 0 {
		earlier = fmt.Sprintf("event %d", e.EarlierIndex)
	}
	at := func(t time.Time) string { return t.Format(time.RFC3339Nano) }
	return fmt.Sprintf("the event of %s would replace %s of %s, which has different values: row %q, time %s; use a finer time.precision or a sequence, or set WriteOptions.LastWins",
		at(e.Times[1]), earlier, at(e.Times[0]), e.Row, at(e.Time))
}

// Unwrap returns [ErrDuplicate].
func (e *DuplicateError) Unwrap() error { return ErrDuplicate }

// distinct refuses the current event if a different event already has its place in a
// table. In bucket_new_columns with one field, both are kept unless IfAbsent is set.
func (s *stage) distinct(table int, event event) {
	t := &s.tables[table]
	if s.lastWins || t.err != nil || t.latest() {
		return
	}
	if t.cells.pattern.Appends() && current(t.cells.columns) == 1 && !s.ifAbsent {
		return
	}
	if other, equal := t.inPlace(); other >= 0 && !equal && !s.equalByNow(table, other, event) {
		t.err = s.duplicate(table, other, event)
	}
}

// duplicate returns the error for the current event, whose place another event has.
func (s *stage) duplicate(table, other int, event event) *DuplicateError {
	t, l := &s.tables[table], s.writer.tables[table].mapping
	earlier := s.all.at(other)
	failed := &DuplicateError{
		Table: s.writer.tables[table].id, Row: t.keyOf(other), Time: t.cells.event.UTC(),
		Event: l.value(event), Earlier: l.value(earlier), EarlierIndex: other, Times: [2]time.Time{*l.Time(earlier), *l.Time(event)},
	}
	if s.batched {
		failed.EarlierIndex = -1
	}
	return failed
}

// latest reports whether the current event is later than all others in its rows, as
// most are. No other event then has its place.
func (t *staged) latest() bool {
	for i := range t.cells.rows {
		row := &t.cells.rows[i]
		if row.Count > 0 && row.Entry >= 0 && !t.batch.After(row.Entry, t.instant) {
			return false
		}
	}
	return true
}

// equalByNow compares the current event with another one as that would be staged now.
// It may have been staged at another time, which affects its cells.
func (s *stage) equalByNow(table, other int, event event) bool {
	t, l := &s.tables[table], s.writer.tables[table].mapping
	if !slices.ContainsFunc(l.Table.Families, func(f Family) bool { return !f.Life.EventTimed() }) {
		return false
	}
	given := bytes.Clone(t.cells.mutations[t.cells.taken:])
	s.layOut(table, s.all.at(other))
	equal := t.err == nil && bytes.Equal(given, t.cells.mutations[t.cells.taken:])
	s.layOut(table, event)
	return equal
}

// inPlace returns the event in the place of the current one, or -1 if there is none,
// and whether both have the same cells.
func (t *staged) inPlace() (event int, equal bool) {
	event, equal = -1, true
	rows, pieces := 0, 0
	for i := range t.cells.rows {
		row := &t.cells.rows[i]
		if row.Count == 0 {
			continue
		}
		rows++
		n := t.batch.InPlace(row.Entry, t.instant)
		if n < 0 {
			equal = false
			continue
		}
		p := &t.batch.Pieces[n]
		if event < 0 {
			event, pieces = p.Event, t.batch.PiecesOf(n)
		}
		equal = equal && bytes.Equal(t.cells.mutations[row.Begin:row.End], t.cells.mutations[p.Begin:p.End])
	}
	return event, equal && rows == pieces
}

// keyOf returns the key of the first row of a staged event.
func (t *staged) keyOf(event int) string {
	n, _ := slices.BinarySearchFunc(t.batch.Pieces, event, func(p batch.Piece, event int) int { return p.Event - event })
	return string(t.batch.Entries[t.batch.Pieces[n].Row].Key)
}

// instant returns what distinguishes the event from others in its rows. Events of
// several classes remain distinct in bucket_new_columns.
func (c *eventCells) instant() frame.Instant {
	at := frame.Instant{Micros: c.event.UnixMicro(), Sequence: c.sequence}
	if c.pattern.Appends() {
		at.Sequence = uint32(c.class)
	}
	return at
}
