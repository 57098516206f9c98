package store

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// eventPlace identifies the series, time and sequence number of an event. It is a hash of
// its row key in the source, which all workers of a process compute alike.
type eventPlace [2]uint64

var placeSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// placer computes places. It is not safe for concurrent use.
type placer struct {
	source *mapping
	text   []byte
}

// of returns the place of an event; false if the source cannot store it.
func (p *placer) of(e event) (eventPlace, bool) {
	l, key := p.source.homeOf(e)
	if key == nil {
		return eventPlace{}, false
	}
	return p.at(string(key), *l.Time(e), l.sequenceOf(e)), true
}

// at returns the place of an event with a row key, time and sequence number.
func (p *placer) at(key string, t time.Time, sequence uint32) (out eventPlace) {
	p.text = appendPlace(p.text[:0], "", key, t, sequence)
	for i, seed := range placeSeeds {
		out[i] = maphash.Bytes(seed, p.text)
	}
	return out
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

// finder reads the events that a table has at the places of others. It is not safe for
// concurrent use.
type finder struct {
	table       *mapping
	scanners    map[string]*scanner // by the ID of the table
	places      *placer
	undecodable map[eventPlace]bool // the places that the table may have without being able to read them
	skip        bool                // rows that cannot be decoded are no errors
}

// newFinder returns a finder for a table of the schema.
func (b *backfill) newFinder(l *mapping) (*finder, error) {
	f := &finder{
		table: l, scanners: map[string]*scanner{}, places: &placer{source: b.source}, undecodable: map[eventPlace]bool{}, skip: b.SkipUndecodable,
	}
	for _, p := range l.Periods() {
		s, err := b.scanner(l, p.Table.ID)
		if err != nil {
			return nil, err
		}
		f.scanners[p.Table.ID] = s
	}
	return f, nil
}

// rowsOf returns the keys of the rows in which a table has events at the places of others, by
// table, and the range of their times.
func (f *finder) rowsOf(events []event) (keys map[string][]string, from, to time.Time) {
	keys = map[string][]string{}
	for i := range events {
		e := events[i]
		at := *f.table.Time(e)
		if i == 0 || at.Before(from) {
			from = at
		}
		if i == 0 || !at.Before(to) {
			to = at.Add(time.Nanosecond)
		}
		for _, p := range f.table.Periods() {
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

// find returns the events of the table at places, which wanted has, too.
func (f *finder) find(ctx context.Context, places []event, wanted map[eventPlace]int) (found []event, err error) {
	keys, from, to := f.rowsOf(places)
	for _, table := range slices.Sorted(maps.Keys(keys)) {
		slices.Sort(keys[table])
		for list := range codec.KeyLists(slices.Values(slices.Compact(keys[table])), false, codec.MaxRowSet) {
			s := f.scanners[table]
			events := s.list()
			s.some(ctx, []codec.Rows{list}, from, to, events, func(row untypedRow, failed error) bool {
				if failed == nil {
					found = f.wanted(found, s.kept(events), wanted)
				} else {
					err = f.failed(failed, row.Key, places)
				}
				return err == nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// wanted appends the events that are at wanted places.
func (f *finder) wanted(dst, events []event, wanted map[eventPlace]int) []event {
	for i := range events {
		if at, ok := f.places.of(events[i]); ok {
			if _, is := wanted[at]; is {
				dst = append(dst, events[i])
			}
		}
	}
	return dst
}

// failed marks the places of a row that cannot be decoded, or returns the error.
func (f *finder) failed(err error, key string, events []event) error {
	if !f.skip || !isDecodeError(err) {
		return err
	}
	f.markUndecodable(key, events)
	return nil
}

// markUndecodable marks the places of events in a row.
func (f *finder) markUndecodable(key string, events []event) {
	for i := range events {
		e := events[i : i+1]
		keys, _, _ := f.rowsOf(e)
		for _, rows := range keys {
			if slices.Contains(rows, key) {
				if at, ok := f.places.of(e[0]); ok {
					f.undecodable[at] = true
				}
			}
		}
	}
}
