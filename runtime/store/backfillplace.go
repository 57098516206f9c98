package store

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// eventPlace identifies the series, time and sequence number of an event by a hash.
type eventPlace [2]uint64

var placeSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// The sides of a comparison.
const inSource, inTarget = 0, 1

// comparison is what the source and the target have at places of events. It is not safe for concurrent use.
type comparison struct {
	source *mapping
	last   bool // of several events of the source at a place, only the last one counts
	text   []byte
	index  map[eventPlace]int // in all
	all    []atPlace          // each place once, in order of the events
}

// atPlace is what the tables have at a place.
type atPlace struct {
	of          event // the first of the events, perhaps with only a series, a time and a sequence number
	n           int   // its number
	has         [2][]event
	undecodable bool // a table may have more, which cannot be read
}

// places returns the places of events that the source can store.
func (c *copier) places(events []event) *comparison {
	at := &comparison{source: c.backfill.source, last: c.alike && !c.appends, index: make(map[eventPlace]int, len(events))}
	at.all = make([]atPlace, 0, len(events))
	memory := make([]event, 2*len(events)) // mostly, a table has one event at a place
	for n, e := range events {
		place, ok := at.place(e)
		if _, known := at.index[place]; ok && !known {
			at.index[place] = len(at.all)
			at.all = append(at.all, atPlace{of: e, n: n, has: [2][]event{memory[2*n : 2*n : 2*n+1], memory[2*n+1 : 2*n+1 : 2*n+2]}})
		}
	}
	return at
}

// place returns the place of an event; false if the source cannot store it.
func (p *comparison) place(e event) (out eventPlace, ok bool) {
	l, key := p.source.homeOf(e)
	if key == nil {
		return out, false
	}
	at := *l.Time(e)
	p.text = binary.BigEndian.AppendUint64(p.text[:0], uint64(at.Unix()))
	p.text = binary.BigEndian.AppendUint32(p.text, uint32(at.Nanosecond()))
	p.text = binary.BigEndian.AppendUint32(p.text, l.sequenceOf(e))
	p.text = append(p.text, key...)
	for i, seed := range placeSeeds {
		out[i] = maphash.Bytes(seed, p.text)
	}
	return out, true
}

// at returns what the tables have at the place of an event; nil if it is none of the places.
func (p *comparison) at(e event) *atPlace {
	place, ok := p.place(e)
	if i, is := p.index[place]; ok && is {
		return &p.all[i]
	}
	return nil
}

// add adds the events of a side that are at the places.
func (p *comparison) add(side int, events []event) {
	for _, e := range events {
		if at := p.at(e); at != nil {
			if p.last && side == inSource {
				at.has[side] = at.has[side][:0]
			}
			at.has[side] = append(at.has[side], e)
		}
	}
}

// homeOf returns the mapping that stores an event and the key of its row, or that of its
// first column if each field has its own row; nil if no mapping stores it.
func (l *mapping) homeOf(e event) (*mapping, []byte) {
	p := l.periodOf(e)
	if p == nil {
		return nil, nil
	}
	key, err := p.firstKey(e)
	if err != nil {
		return nil, nil
	}
	return p, key
}

// periodOf returns the mapping whose layout has the time of an event; nil if none has.
func (l *mapping) periodOf(e event) *mapping {
	for _, p := range l.Periods() {
		if p.covers(*p.Time(e)) {
			return p
		}
	}
	return nil
}

// appendPlace appends a place. previous is the key of the place before it, whose beginning
// is left out.
func appendPlace(dst []byte, previous, key string, t time.Time, sequence uint32) []byte {
	common := 0
	for common < len(previous) && common < len(key) && previous[common] == key[common] {
		common++
	}
	dst = binary.AppendUvarint(dst, uint64(common))
	dst = binary.AppendUvarint(dst, uint64(len(key)-common))
	dst = append(dst, key[common:]...)
	dst = binary.AppendVarint(dst, t.Unix())
	dst = binary.AppendUvarint(dst, uint64(t.Nanosecond()))
	return binary.AppendUvarint(dst, uint64(sequence))
}

// errPlaces is the error for places that cannot be decoded.
var errPlaces = errors.New("damaged: undecodable places of events")

// encodePlaces returns the places of events, for a checkpoint.
func (b *backfill) encodePlaces(dst []byte, events []event) []byte {
	previous := ""
	for i := range events {
		e := events[i]
		l, key := b.source.homeOf(e)
		if key == nil {
			continue
		}
		dst = appendPlace(dst, previous, string(key), *l.Time(e), l.sequenceOf(e))
		previous = string(key)
	}
	return dst
}

// decodePlaces returns events at places: they have only a series, a time and a sequence number.
func (b *backfill) decodePlaces(text []byte) (events []event, err error) {
	number := func() (n uint64) {
		n, size := binary.Uvarint(text)
		if size <= 0 {
			err = errPlaces
			return 0
		}
		text = text[size:]
		return n
	}
	key := ""
	for len(text) > 0 {
		common, rest := number(), number()
		if err != nil || common > uint64(len(key)) || rest > uint64(len(text)) {
			return nil, errPlaces
		}
		key = key[:common] + string(text[:rest])
		text = text[rest:]
		seconds, size := binary.Varint(text)
		if size <= 0 {
			return nil, errPlaces
		}
		text = text[size:]
		nanos, sequence := number(), number()
		if err != nil || nanos >= 1e9 || sequence > 1<<32-1 {
			return nil, errPlaces
		}
		e, ok := b.atPlace(key, time.Unix(seconds, int64(nanos)).UTC(), uint32(sequence))
		if !ok {
			return nil, errPlaces
		}
		events = append(events, e)
	}
	return events, nil
}

// atPlace returns an event with a row key of the source, a time and a sequence number; false if
// there is none.
func (b *backfill) atPlace(key string, t time.Time, sequence uint32) (event, bool) {
	e := b.source.new()
	*b.source.Time(e) = t
	p := b.source.periodOf(e)
	if p == nil {
		return e, false
	}
	if _, err := p.parse(key, e); err != nil {
		return e, false
	}
	*p.Time(e) = t
	switch {
	case p.Sequence != nil:
		*p.Sequence(e) = sequence
	case p.sequence != nil:
		*p.sequence(e) = sequence
	}
	return e, true
}

// rowsAt returns the keys of the rows in which a table has events at places, by table, and the range of their times.
func (l *mapping) rowsAt(places []atPlace) (keys map[string][]string, from, to time.Time) {
	keys = map[string][]string{}
	for i := range places {
		e := places[i].of
		at := *l.Time(e)
		if i == 0 || at.Before(from) {
			from = at
		}
		if i == 0 || !at.Before(to) {
			to = at.Add(time.Nanosecond)
		}
		for _, p := range l.Periods() {
			if !p.covers(at) {
				continue
			}
			for _, metric := range p.rowNames() {
				if key, err := p.rowKey(e, metric); err == nil {
					keys[p.Table.ID] = append(keys[p.Table.ID], string(key))
				}
			}
		}
	}
	return keys, from, to
}

// find adds what a table of the schema has at places to a side.
func (b *backfill) find(ctx context.Context, l *mapping, at *comparison, side int) error {
	keys, from, to := l.rowsAt(at.all)
	for _, table := range slices.Sorted(maps.Keys(keys)) {
		s, err := b.scanner(l, table)
		if err != nil {
			return err
		}
		slices.Sort(keys[table])
		for list := range codec.KeyLists(slices.Values(slices.Compact(keys[table])), false, codec.MaxRowSet) {
			if err := b.collect(at, side, l, s.each(ctx, []codec.Rows{list}, from, to)); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect adds what rows of a table have at places to a side.
func (b *backfill) collect(at *comparison, side int, l *mapping, rows iter.Seq2[untypedRow, error]) error {
	for row, err := range rows {
		if err == nil {
			at.add(side, row.Events)
		} else if err := b.skip(l, at, row.Key, err); err != nil {
			return err
		}
	}
	return nil
}

// skip marks the places in a row of a table that cannot be decoded, or returns the error.
func (b *backfill) skip(l *mapping, at *comparison, key string, err error) error {
	if !b.SkipUndecodable || !isDecodeError(err) {
		return err
	}
	for i := range at.all {
		keys, _, _ := l.rowsAt(at.all[i : i+1])
		for _, rows := range keys {
			if slices.Contains(rows, key) {
				at.all[i].undecodable = true
			}
		}
	}
	return nil
}
