package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// eventPlace identifies the series, time and sequence number of an event: by the key of its row in the source, or that of its first
// column if each field has its own row; the seconds and nanoseconds of its time; and its sequence number.
type eventPlace struct {
	row string
	at  [3]int64
}

// placeOf returns the place of an event; false if no mapping stores it.
func (l *mapping) placeOf(e event) (eventPlace, bool) {
	p := l.periodOf(e)
	if p == nil {
		return eventPlace{}, false
	}
	key, err := p.firstKey(e)
	at := *p.Time(e)
	return eventPlace{string(key), [3]int64{at.Unix(), int64(at.Nanosecond()), int64(p.sequenceOf(e))}}, err == nil
}

// placeSet is a set of places.
type placeSet map[eventPlace]bool

// placesOf returns the places of events.
func (l *mapping) placesOf(events []event) placeSet {
	all := make(placeSet, len(events))
	for _, e := range events {
		if at, ok := l.placeOf(e); ok {
			all[at] = true
		}
	}
	return all
}

// among appends those of some events that are at places.
func (l *mapping) among(dst, events []event, wanted placeSet) []event {
	for _, e := range events {
		if at, ok := l.placeOf(e); ok && wanted[at] {
			dst = append(dst, e)
		}
	}
	return dst
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

// rowPlaces are the places of adjacent events in a row, as checkpoints and notes have them.
type rowPlaces struct {
	Row []byte     `json:"row"`
	At  [][3]int64 `json:"at"`
}

// errPlaces is the error for places that no event can have.
var errPlaces = errors.New("damaged: undecodable places of events")

// noted appends the places of events.
func (l *mapping) noted(dst []rowPlaces, events []event) []rowPlaces {
	for _, e := range events {
		place, ok := l.placeOf(e)
		if !ok {
			continue
		}
		if n := len(dst); n == 0 || string(dst[n-1].Row) != place.row {
			dst = append(dst, rowPlaces{Row: []byte(place.row)})
		}
		of := &dst[len(dst)-1]
		of.At = append(of.At, place.at)
	}
	return dst
}

// eventsAt returns events at places: they have only a series, a time and a sequence number.
func (l *mapping) eventsAt(places []rowPlaces) (events []event, err error) {
	for _, row := range places {
		for _, at := range row.At {
			e, ok := l.eventAt(eventPlace{string(row.Row), at})
			if !ok {
				return nil, errPlaces
			}
			events = append(events, e)
		}
	}
	return events, nil
}

// eventAt returns an event at a place; false if there is none.
func (l *mapping) eventAt(place eventPlace) (event, bool) {
	e, t := l.new(), time.Unix(place.at[0], place.at[1]).UTC()
	*l.Time(e) = t
	p := l.periodOf(e)
	if p == nil {
		return e, false
	}
	if _, err := p.parse(place.row, e); err != nil {
		return e, false
	}
	*p.Time(e) = t
	switch {
	case p.Sequence != nil:
		*p.Sequence(e) = uint32(place.at[2])
	case p.sequence != nil:
		*p.sequence(e) = uint32(place.at[2])
	}
	return e, true
}

// finder reads the events that a table has at the places of others. It is not safe for
// concurrent use.
type finder struct {
	*backfill
	table       *mapping
	scanners    map[string]*scanner // by the ID of the table
	undecodable placeSet            // of events that the table may have without being able to read them
}

// newFinder returns a finder for a table of the schema.
func (b *backfill) newFinder(l *mapping) *finder {
	f := &finder{backfill: b, table: l, scanners: map[string]*scanner{}, undecodable: placeSet{}}
	for _, p := range l.Periods() {
		f.scanners[p.Table.ID] = b.scanner(l, p.Table.ID)
	}
	return f
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

// find returns the events that the table has at the places of others, which wanted has.
func (f *finder) find(ctx context.Context, others []event, wanted placeSet) (found []event, err error) {
	clear(f.undecodable)
	keys, from, to := f.rowsOf(others)
	for _, table := range slices.Sorted(maps.Keys(keys)) {
		slices.Sort(keys[table])
		for list := range codec.KeyLists(slices.Values(slices.Compact(keys[table])), false, codec.MaxRowSet) {
			s := f.scanners[table]
			events := s.list()
			s.some(ctx, []codec.Rows{list}, from, to, events, func(row untypedRow, failed error) bool {
				if failed == nil {
					found = f.source.among(found, s.kept(events), wanted)
				} else {
					err = f.failed(failed, row.Key, others)
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

// failed notes the places of events in a row that cannot be decoded, or returns the error.
func (f *finder) failed(err error, key string, events []event) error {
	if !f.SkipUndecodable || !isDecodeError(err) {
		return err
	}
	for i := range events {
		keys, _, _ := f.rowsOf(events[i : i+1])
		for _, rows := range keys {
			if at, ok := f.source.placeOf(events[i]); ok && slices.Contains(rows, key) {
				f.undecodable[at] = true
			}
		}
	}
	return nil
}
