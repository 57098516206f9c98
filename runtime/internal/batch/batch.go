// Package batch divides the mutations of events among requests within the limits of Bigtable, and finds events that would replace
// each other. It knows rows and instants, and neither tables nor clients.
package batch

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
	// MaxMutations is Bigtable's limit for a request, and for one entry in it.
	MaxMutations = 100_000
	// MaxRequest is the size in bytes that a request does not exceed if it has more
	// than one entry. gRPC servers accept 4 MiB by default.
	MaxRequest = 3 << 20
)

// Batch collects events in one entry per row. When an entry is full, its row continues
// in the next wave. Waves are sent one after the other, because Bigtable applies the
// entries of a request in any order, and a later event may replace an earlier one.
type Batch struct {
	Entries []Entry
	Pieces  []Piece
	Keys    []byte
	rows    rowTable
	Waves   [][]int // indexes of entries

	// Of the bucket of the current event, in a table with a rollup: the timestamp of the mark that each of
	// its entries gets, and the size of that. The size is 0 in other tables.
	Mark     int64
	MarkSize int

	// The fields below distinguish the events of a row, unless Single is set.
	Single    bool
	Instants  []frame.Instant // per piece
	histories []history       // per row
	places    map[place]int32 // the first piece of each place, in rows that are indexed
}

// history summarizes the events of a row: the latest instant, and whether places
// contains all of its pieces.
type history struct {
	latest  frame.Instant
	indexed bool
}

// Entry contains the mutations of one row.
type Entry struct {
	Key         []byte
	Count       int   // number of mutations, with the mark
	Bytes       int   // size of the mutations, with the mark
	Mark        int64 // its timestamp
	First, Last int32 // pieces
	wave        int32
	row         int32 // the first entry of the same row
	before      int32 // the entry of the same row in the previous wave; -1 if there is none
	history     int32 // index of the row's history, unless a row has one event
}

// Piece is the part of an entry that belongs to one event: mutations in wire form, as a
// range of those of all events. Next is the entry's next piece, and Row the first entry
// of its row.
type Piece struct {
	Event      int
	Begin, End int
	Next, Row  int32
}

// Reset removes all events.
func (b *Batch) Reset() {
	b.Entries, b.Pieces, b.Keys, b.Waves = b.Entries[:0], b.Pieces[:0], b.Keys[:0], b.Waves[:0]
	b.rows.reset()
	b.Instants, b.histories = b.Instants[:0], b.histories[:0]
	clear(b.places)
}

// Find sets the entry of a row, if it has one.
func (b *Batch) Find(row *Row) {
	if row.Entry < 0 && row.Count > 0 {
		row.Entry = b.rows.find(row.Key, b.Entries)
	}
}

// Add adds the part of an event that belongs to a row and returns the row's entry.
// row.Entry must be up to date.
func (b *Batch) Add(event int, at frame.Instant, row *Row) int {
	i := row.Entry
	if i < 0 {
		b.Keys = append(b.Keys, row.Key...)
		i = b.begin(b.Keys[len(b.Keys)-len(row.Key):], 0, -1)
	}
	if e := &b.Entries[i]; e.First >= 0 && (e.Count+row.Count > MaxMutations || e.Size()+row.End-row.Begin > MaxRequest) {
		i = b.begin(e.Key, int(e.wave)+1, i)
	}
	e := &b.Entries[i]
	n := len(b.Pieces)
	b.Pieces = append(b.Pieces, Piece{Event: event, Begin: row.Begin, End: row.End, Next: -1, Row: e.row})
	if !b.Single {
		b.follow(n, at, &b.histories[e.history])
	}
	if e.First < 0 {
		e.First = int32(n)
	} else {
		b.Pieces[e.Last].Next = int32(n)
	}
	e.Last = int32(n)
	e.Count += row.Count
	e.Bytes += row.End - row.Begin
	return i
}

// follow adds the instant of a piece to the history of its row.
func (b *Batch) follow(n int, at frame.Instant, h *history) {
	b.Instants = append(b.Instants, at)
	if at.Micros > h.latest.Micros || at.Compare(h.latest) > 0 {
		h.latest = at
	}
	if h.indexed {
		b.occupy(n)
	}
}

// begin creates an entry, which becomes the current one of its row. before is the
// previous one.
func (b *Batch) begin(key []byte, wave, before int) int {
	i := len(b.Entries)
	row, known := int32(i), int32(len(b.histories))
	switch {
	case before >= 0:
		row, known = b.Entries[before].row, b.Entries[before].history
	case !b.Single:
		b.histories = append(b.histories, history{latest: frame.Instant{Micros: math.MinInt64}})
	}
	e := Entry{Key: key, wave: int32(wave), First: -1, Last: -1, row: row, before: int32(before), history: known}
	if b.MarkSize > 0 {
		e.Count, e.Bytes, e.Mark = 1, b.MarkSize, b.Mark
	}
	b.Entries = append(b.Entries, e)
	if wave == len(b.Waves) {
		b.Waves = slices.Grow(b.Waves, 1)[:wave+1] // reuses the memory of an earlier wave
		b.Waves[wave] = b.Waves[wave][:0]
	}
	b.Waves[wave] = append(b.Waves[wave], i)
	b.rows.put(i, b.Entries)
	return i
}

// Size returns the size of the entry in a request, in bytes.
func (e *Entry) Size() int { return wire.EntrySize(e.Key, e.Bytes) }

// Requests splits a wave into requests within Bigtable's limits.
func (b *Batch) Requests(wave []int) [][]int {
	var out [][]int
	begin, count, bytes := 0, 0, 0
	for i, n := range wave {
		e := &b.Entries[n]
		if i > begin && (count+e.Count > MaxMutations || bytes+e.Size() > MaxRequest) {
			out = append(out, wave[begin:i])
			begin, count, bytes = i, 0, 0
		}
		count += e.Count
		bytes += e.Size()
	}
	if begin < len(wave) {
		out = append(out, wave[begin:])
	}
	return out
}

// Runs calls f with the ranges of an entry's mutations, merging adjacent ones.
func (b *Batch) Runs(e *Entry, f func(begin, end int)) {
	begin, end := -1, -1
	for p := e.First; p >= 0; p = b.Pieces[p].Next {
		if b.Pieces[p].Begin != end {
			if begin >= 0 {
				f(begin, end)
			}
			begin = b.Pieces[p].Begin
		}
		end = b.Pieces[p].End
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
func (t *rowTable) find(key []byte, entries []Entry) int {
	if t.used == 0 {
		return -1
	}
	return int(t.slots[t.slot(key, entries)]) - 1
}

// put makes entry i the newest of its row.
func (t *rowTable) put(i int, entries []Entry) {
	if 2*t.used >= len(t.slots) {
		t.grow(entries)
	}
	slot := t.slot(entries[i].Key, entries)
	if t.slots[slot] == 0 {
		t.used++
	}
	t.slots[slot] = int32(i + 1)
}

// slot returns the slot of a key, or the empty slot for it.
func (t *rowTable) slot(key []byte, entries []Entry) int {
	mask := len(t.slots) - 1
	slot := int(maphash.Bytes(rowSeed, key)) & mask
	for {
		n := t.slots[slot]
		if n == 0 || bytes.Equal(entries[n-1].Key, key) {
			return slot
		}
		slot = (slot + 1) & mask
	}
}

func (t *rowTable) grow(entries []Entry) {
	old := t.slots
	t.slots = make([]int32, max(16, 2*len(old)))
	for _, n := range old {
		if n > 0 {
			t.slots[t.slot(entries[n-1].Key, entries)] = n
		}
	}
}

// Row is one row of an event.
type Row struct {
	Slot  int
	Entry int // -1 if it is not known
	Key   []byte
	Begin int // range of the mutations
	End   int
	Count int // number of mutations
}

// ByPlace groups the pieces by place. Those in one group belong to equal events, of
// which the first is sent for all.
func (b *Batch) ByPlace() (out [][]int) {
	found := map[place]int{}
	for n := range b.Pieces {
		i, known := found[b.place(n)]
		if !known {
			i = len(out)
			found[b.place(n)] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], n)
	}
	return out
}

// InPlace returns a piece with the given instant in the row of an entry; -1 if there is
// none. Rows whose events arrive in order of time need no index.
func (b *Batch) InPlace(entry int, at frame.Instant) int {
	if entry < 0 {
		return -1
	}
	e := &b.Entries[entry]
	if b.Single {
		return int(e.First)
	}
	h := &b.histories[e.history]
	if at.Compare(h.latest) > 0 {
		return -1
	}
	if !h.indexed {
		h.indexed = true
		if b.places == nil {
			b.places = map[place]int32{}
		}
		for i := entry; i >= 0; i = int(b.Entries[i].before) {
			for p := b.Entries[i].First; p >= 0; p = b.Pieces[p].Next {
				b.occupy(int(p))
			}
		}
	}
	if n, occupied := b.places[place{e.row, at}]; occupied {
		return int(n)
	}
	return -1
}

// occupy adds a piece to places, unless its place is taken.
func (b *Batch) occupy(n int) {
	at := b.place(n)
	if _, occupied := b.places[at]; !occupied {
		b.places[at] = int32(n)
	}
}

// After reports whether an instant is later than all others in the row of an entry.
func (b *Batch) After(entry int, at frame.Instant) bool {
	return !b.Single && at.Micros > b.histories[b.Entries[entry].history].latest.Micros
}

// place returns the place of a piece.
func (b *Batch) place(n int) place { return place{b.Pieces[n].Row, b.Instant(n)} }

// Instant returns the instant of a piece's event; zero if rows have one event.
func (b *Batch) Instant(n int) (at frame.Instant) {
	if !b.Single {
		at = b.Instants[n]
	}
	return at
}

// PiecesOf returns the number of pieces of the event that piece n belongs to.
func (b *Batch) PiecesOf(n int) int {
	event := b.Pieces[n].Event
	begin, end := n, n+1
	for begin > 0 && b.Pieces[begin-1].Event == event {
		begin--
	}
	for end < len(b.Pieces) && b.Pieces[end].Event == event {
		end++
	}
	return end - begin
}

// place identifies a piece by the first entry of its row and its instant.
type place struct {
	row int32
	at  frame.Instant
}
