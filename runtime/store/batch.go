package store

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"

	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// Limits for one request.
const (
	// maxMutations is Bigtable's limit for a request, and for one entry in it.
	maxMutations = 100_000
	// maxRequest is the size in bytes that a request does not exceed if it has more
	// than one entry. gRPC servers accept 4 MiB by default.
	maxRequest = 3 << 20
)

// batch collects events in one entry per row. When an entry is full, its row continues
// in the next wave. Waves are sent one after the other, because Bigtable applies the
// entries of a request in any order, and a later event may replace an earlier one.
type batch struct {
	entries []entry
	pieces  []piece
	keys    []byte
	rows    rowTable
	waves   [][]int // indexes of entries

	// Of the bucket of the current event, in a table with a rollup: the timestamp of the mark that each of
	// its entries gets, and the size of that. The size is 0 in other tables.
	mark     int64
	markSize int

	// The fields below distinguish the events of a row, unless single is set.
	single    bool
	instants  []frame.Instant // per piece
	histories []history       // per row
	places    map[place]int32 // the first piece of each place, in rows that are indexed
}

// history summarizes the events of a row: the latest instant, and whether places
// contains all of its pieces.
type history struct {
	latest  frame.Instant
	indexed bool
}

// entry contains the mutations of one row.
type entry struct {
	key         []byte
	count       int   // number of mutations, with the mark
	bytes       int   // size of the mutations, with the mark
	mark        int64 // its timestamp
	first, last int32 // pieces
	wave        int32
	row         int32 // the first entry of the same row
	before      int32 // the entry of the same row in the previous wave; -1 if there is none
	history     int32 // index of the row's history, unless a row has one event
}

// piece is the part of an entry that belongs to one event: mutations in wire form, as a
// range of those of all events. next is the entry's next piece, and row the first entry
// of its row.
type piece struct {
	event      int
	begin, end int
	next, row  int32
}

// reset removes all events.
func (b *batch) reset() {
	b.entries, b.pieces, b.keys, b.waves = b.entries[:0], b.pieces[:0], b.keys[:0], b.waves[:0]
	b.rows.reset()
	b.instants, b.histories = b.instants[:0], b.histories[:0]
	clear(b.places)
}

// find sets the entry of a row, if it has one.
func (b *batch) find(row *stagedRow) {
	if row.entry < 0 && row.count > 0 {
		row.entry = b.rows.find(row.key, b.entries)
	}
}

// add adds the part of an event that belongs to a row and returns the row's entry.
// row.entry must be up to date.
func (b *batch) add(event int, at frame.Instant, row *stagedRow) int {
	i := row.entry
	if i < 0 {
		b.keys = append(b.keys, row.key...)
		i = b.begin(b.keys[len(b.keys)-len(row.key):], 0, -1)
	}
	if e := &b.entries[i]; e.first >= 0 && (e.count+row.count > maxMutations || e.size()+row.end-row.begin > maxRequest) {
		i = b.begin(e.key, int(e.wave)+1, i)
	}
	e := &b.entries[i]
	n := len(b.pieces)
	b.pieces = append(b.pieces, piece{event: event, begin: row.begin, end: row.end, next: -1, row: e.row})
	if !b.single {
		b.follow(n, at, &b.histories[e.history])
	}
	if e.first < 0 {
		e.first = int32(n)
	} else {
		b.pieces[e.last].next = int32(n)
	}
	e.last = int32(n)
	e.count += row.count
	e.bytes += row.end - row.begin
	return i
}

// follow adds the instant of a piece to the history of its row.
func (b *batch) follow(n int, at frame.Instant, h *history) {
	b.instants = append(b.instants, at)
	if at.Micros > h.latest.Micros || at.Compare(h.latest) > 0 {
		h.latest = at
	}
	if h.indexed {
		b.occupy(n)
	}
}

// begin creates an entry, which becomes the current one of its row. before is the
// previous one.
func (b *batch) begin(key []byte, wave, before int) int {
	i := len(b.entries)
	row, known := int32(i), int32(len(b.histories))
	switch {
	case before >= 0:
		row, known = b.entries[before].row, b.entries[before].history
	case !b.single:
		b.histories = append(b.histories, history{latest: frame.Instant{Micros: math.MinInt64}})
	}
	e := entry{key: key, wave: int32(wave), first: -1, last: -1, row: row, before: int32(before), history: known}
	if b.markSize > 0 {
		e.count, e.bytes, e.mark = 1, b.markSize, b.mark
	}
	b.entries = append(b.entries, e)
	if wave == len(b.waves) {
		b.waves = slices.Grow(b.waves, 1)[:wave+1] // reuses the memory of an earlier wave
		b.waves[wave] = b.waves[wave][:0]
	}
	b.waves[wave] = append(b.waves[wave], i)
	b.rows.put(i, b.entries)
	return i
}

// size returns the size of the entry in a request, in bytes.
func (e *entry) size() int { return wire.EntrySize(e.key, e.bytes) }

// requests splits a wave into requests within Bigtable's limits.
func (b *batch) requests(wave []int) [][]int {
	var out [][]int
	begin, count, bytes := 0, 0, 0
	for i, n := range wave {
		e := &b.entries[n]
		if i > begin && (count+e.count > maxMutations || bytes+e.size() > maxRequest) {
			out = append(out, wave[begin:i])
			begin, count, bytes = i, 0, 0
		}
		count += e.count
		bytes += e.size()
	}
	if begin < len(wave) {
		out = append(out, wave[begin:])
	}
	return out
}

// runs calls f with the ranges of an entry's mutations, merging adjacent ones.
func (b *batch) runs(e *entry, f func(begin, end int)) {
	begin, end := -1, -1
	for p := e.first; p >= 0; p = b.pieces[p].next {
		if b.pieces[p].begin != end {
			if begin >= 0 {
				f(begin, end)
			}
			begin = b.pieces[p].begin
		}
		end = b.pieces[p].end
	}
	if begin >= 0 {
		f(begin, end)
	}
}

// rowTable finds the newest entry of a row. It is a hash table of entry numbers plus
// one that is at most half full.
type rowTable struct {
	slots []int32
	used  int
}

var rowSeed = maphash.MakeSeed()

func (t *rowTable) reset() {
	clear(t.slots)
	t.used = 0
}

// find returns the newest entry with the given key; -1 if there is none.
func (t *rowTable) find(key []byte, entries []entry) int {
	if t.used == 0 {
		return -1
	}
	return int(t.slots[t.slot(key, entries)]) - 1
}

// put makes entry i the newest of its row.
func (t *rowTable) put(i int, entries []entry) {
	if 2*t.used >= len(t.slots) {
		t.grow(entries)
	}
	slot := t.slot(entries[i].key, entries)
	if t.slots[slot] == 0 {
		t.used++
	}
	t.slots[slot] = int32(i + 1)
}

// slot returns the slot of a key, or the empty slot for it.
func (t *rowTable) slot(key []byte, entries []entry) int {
	mask := len(t.slots) - 1
	slot := int(maphash.Bytes(rowSeed, key)) & mask
	for {
		n := t.slots[slot]
		if n == 0 || bytes.Equal(entries[n-1].key, key) {
			return slot
		}
		slot = (slot + 1) & mask
	}
}

func (t *rowTable) grow(entries []entry) {
	old := t.slots
	t.slots = make([]int32, max(16, 2*len(old)))
	for _, n := range old {
		if n > 0 {
			t.slots[t.slot(entries[n-1].key, entries)] = n
		}
	}
}
