package store

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
)

// marker makes the marks of a writer in a table with a rollup: cells that each mutation of events sets in their row, so
// that readers know that the runs of the row lack a change; see package rollup. All requests that
// change events get theirs here; TestMutations lists them. A nil marker makes none.
type marker struct {
	table rollup.Times
	name  string // of the family
	*marks
}

// marks has the mark of a process in families with the same name, of tables with the same grace: its writers with a *bigtable.Client
// share it, so that a writer for each request does not add one each. Readers and sealers only ask whether a mark is set, and none is
// set for longer than one writer would.
type marks struct {
	grace  time.Duration
	family []byte // its address

	mu      sync.Mutex
	current []byte    // address of the column of the mark
	until   time.Time // when another one takes its place, by the monotonic clock
	clock   func() time.Time
	random  func() uint64
}

// processMarks has the marks of the process, by marksKey.
var processMarks sync.Map

// marksKey is what tables have in common that share marks.
type marksKey struct {
	family string
	grace  time.Duration
}

// newMarker returns a marker for a table; nil if it has no rollup.
func (l *mapping) newMarker(client Client) *marker {
	if l.Rollup == nil {
		return nil
	}
	m := &marker{table: l.times(), name: l.Rollup.Family}
	m.marks = newMarks(m.name, m.table.Grace)
	if isOfficial(client) {
		shared, _ := processMarks.LoadOrStore(marksKey{m.name, m.table.Grace}, m.marks)
		m.marks = shared.(*marks)
	}
	return m
}

// newMarks returns marks that nobody uses.
func newMarks(family string, grace time.Duration) *marks {
	return &marks{grace: grace, family: wire.AppendFamily(nil, family), clock: time.Now, random: randomID}
}

// times returns the facts about the buckets of a table with a rollup.
func (l *mapping) times() rollup.Times {
	t := rollup.Times{Bucket: l.Key.Bucket, After: l.Rollup.After, Grace: l.Rollup.Grace(l.Key.Bucket)}
	for i := range l.Table.Families {
		for _, term := range l.Table.Families[i].Life.Retention {
			if term.MaxAge > 0 && (t.TTL == 0 || term.MaxAge < t.TTL) {
				t.TTL = term.MaxAge
			}
		}
	}
	return t
}

// randomID returns a random number.
func randomID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// address returns the address of the column of the current mark.
func (m *marks) address() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.clock(); m.current == nil || !now.Before(m.until) {
		m.current = wire.AppendQualifier(m.family[:len(m.family):len(m.family)], []byte(rollup.Mark(m.random())))
		m.until = now.Add(m.grace / 2)
	}
	return m.current
}

// append appends the current mark of a bucket to the mutations of its row, given the end of the bucket in
// microseconds. Its size depends only on that.
func (m *marker) append(dst []byte, end int64) []byte {
	return wire.AppendSetCell(dst, m.address(), end, nil)
}

// deletion adds the mark of a deletion to a mutation, given which times of the bucket it deletes.
func (m *marker) deletion(of *bigtable.Mutation, start time.Time, gone rollup.Ranges) {
	of.Set(m.name, rollup.DeletionName(m.random()), bigtable.Timestamp(codec.Micros(m.table.Bucket.End(start))), gone.Append(nil))
}

// within returns the longest time that a request may take, given that of the options.
func (m *marker) within(timeout time.Duration) time.Duration {
	if m == nil {
		return timeout
	}
	most := m.table.Grace / 10 // codec.Rollup.Deadline
	if timeout <= 0 {
		return most
	}
	return min(timeout, most)
}
