package store

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// The limits that Bigtable puts on one request, and what is kept to here.
const (
	// maxMutations is Bigtable's limit for a request, and for one entry in it.
	maxMutations = 100_000
	// maxRequest is the size from which on a new request is begun, in bytes.
	// A gRPC server takes 4 MiB unless it is told otherwise.
	maxRequest = 3 << 20
)

// batch gathers events into one entry a row. A row whose entry is full goes on
// in the next wave: waves are sent one after the other, since the entries of one
// request are applied in any order and a later event may replace an earlier one.
type batch struct {
	entries []entry
	pieces  []piece
	keys    []byte
	rows    rowTable
	waves   [][]int // entries

	// What tells apart the events of a row, unless a row has one.
	single    bool
	instants  []instant // of the pieces
	histories []history // of the rows
	places    placeTable
}

// history is what is known of the events of a row: the last instant, and whether all
// pieces are in the table of places.
type history struct {
	latest  instant
	indexed bool
}

// entry is the mutations of one row.
type entry struct {
	key         []byte
	count       int   // of its mutations
	bytes       int   // of its mutations
	first, last int32 // of its pieces
	wave        int32
	row         int32 // the first entry of its row
	before      int32 // the entry of its row in the wave before; -1 if there is none
	history     int32 // of its row, unless a row has one event
}

// piece is what an entry has of one event: mutations in wire form, by their place
// among those of all events. next is the entry's next piece, and row the first entry of
// its row.
type piece struct {
	event      int
	begin, end int
	next, row  int32
}

// reset forgets all events.
func (b *batch) reset() {
	b.entries, b.pieces, b.keys, b.waves = b.entries[:0], b.pieces[:0], b.keys[:0], b.waves[:0]
	b.rows.reset()
	b.instants, b.histories = b.instants[:0], b.histories[:0]
	b.places.reset()
}

// find sets the entry of a row, if it has one.
func (b *batch) find(row *stagedRow) {
	if row.entry < 0 && row.count > 0 {
		row.entry = b.rows.find(row.key, b.entries)
	}
}

// add takes what an event has of a row, whose entry was looked for, and returns its
// entry.
func (b *batch) add(event int, at instant, row *stagedRow) int {
	i := row.entry
	if i < 0 {
		b.keys = append(b.keys, row.key...)
		i = b.begin(b.keys[len(b.keys)-len(row.key):], 0, -1)
	}
	if e := &b.entries[i]; e.count > 0 && (e.count+row.count > maxMutations || e.size()+row.end-row.begin > maxRequest) {
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
func (b *batch) follow(n int, at instant, h *history) {
	b.instants = append(b.instants, at)
	if at.micros > h.latest.micros || at.compare(h.latest) > 0 {
		h.latest = at
	}
	if h.indexed {
		b.places.put(n, b)
	}
}

// begin begins an entry, which from then on is that of its row, after the one before.
func (b *batch) begin(key []byte, wave, before int) int {
	i := len(b.entries)
	row, known := int32(i), int32(len(b.histories))
	switch {
	case before >= 0:
		row, known = b.entries[before].row, b.entries[before].history
	case !b.single:
		b.histories = append(b.histories, history{latest: instant{micros: math.MinInt64}})
	}
	b.entries = append(b.entries, entry{key: key, wave: int32(wave), first: -1, last: -1, row: row, before: int32(before), history: known})
	if wave == len(b.waves) {
		b.waves = slices.Grow(b.waves, 1)[:wave+1] // with the memory of one that was
		b.waves[wave] = b.waves[wave][:0]
	}
	b.waves[wave] = append(b.waves[wave], i)
	b.rows.put(i, b.entries)
	return i
}

// size is what the entry takes in a request.
func (e *entry) size() int { return wire.EntrySize(e.key, e.bytes) }

// requests cuts a wave into requests under Bigtable's limits.
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

// runs calls f with the mutations of an entry, in as few parts as they lie in.
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

// rowTable finds the newest entry of a row: a hash table of numbers of entries, plus
// one, of which at most the half are taken.
type rowTable struct {
	slots []int32
	used  int
}

var rowSeed = maphash.MakeSeed()

// reset empties the table.
func (t *rowTable) reset() {
	clear(t.slots)
	t.used = 0
}

// find returns the newest entry with the key; -1 if there is none.
func (t *rowTable) find(key []byte, entries []entry) int {
	if t.used == 0 {
		return -1
	}
	return int(t.slots[t.slot(key, entries)]) - 1
}

// put makes an entry the newest of its row.
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

// slot returns where a key is or is to be put.
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

// grow doubles the table.
func (t *rowTable) grow(entries []entry) {
	old := t.slots
	t.slots = make([]int32, max(16, 2*len(old)))
	for _, n := range old {
		if n > 0 {
			t.slots[t.slot(entries[n-1].key, entries)] = n
		}
	}
}
