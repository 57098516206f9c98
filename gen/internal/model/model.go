package model

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Event is an event, independent of its Go type.
type Event struct {
	Host      string
	Shard     int64
	Time      time.Time
	Sequence  uint32
	Values    []int64
	Has       []bool // which values the event has
	Class     int
	TTL       time.Duration
	ExpiresAt time.Time
	WrittenAt time.Time
}

// Refusal is a reason for which an event is not stored.
type Refusal string

// The reasons.
const (
	Stored   Refusal = ""
	Expired  Refusal = "expired"
	NoExpiry Refusal = "no expiry"
	NoClass  Refusal = "no class"
	NoValue  Refusal = "no value"
	// NoSequence is for an event with a sequence number at the time of a layout without.
	NoSequence Refusal = "no sequence"
)

// column identifies a cell without its timestamp.
type column struct {
	host     string
	shard    int64
	start    time.Time // start of the bucket, or time of the event
	sequence uint32
	field    int   // -1 for a whole event, writtenAt for the write time
	value    int64 // new columns: the value that is the qualifier
	class    int
}

const (
	whole     = -1
	writtenAt = -2 // and below: one per family
)

// cell is one cell.
type cell struct {
	micros int64
	event  Event // the whole event, of which the cell contains a value
}

// Table is the model of the layouts of a table. It never garbage-collects.
type Table struct {
	*period
	older []*period // newest first
}

// period is the model of a layout. Its events have since <= time < until; a zero time is
// no limit.
type period struct {
	schema       *Schema
	since, until time.Time
	cells        map[column][]cell // newest first
}

// NewTable returns an empty table.
func NewTable(s *Schema) *Table {
	var m Table
	for i, l := range s.layouts() {
		p := &period{schema: l, since: l.Since, cells: map[column][]cell{}}
		if i == 0 {
			m.period = p
			continue
		}
		p.until = s.layouts()[i-1].Since
		m.older = append(m.older, p)
	}
	return &m
}

// periods returns the layouts, oldest first.
func (m *Table) periods() []*period {
	out := append([]*period{m.period}, m.older...)
	slices.Reverse(out)
	return out
}

// at returns the layout of the events at a time.
func (m *Table) at(t time.Time) *period {
	all := m.periods()
	for i := range all {
		if all[i].until.IsZero() || t.Before(all[i].until) {
			return all[i]
		}
	}
	return m.period
}

// clip returns the part of a time range that has the layout.
func (m *period) clip(from, to time.Time) (time.Time, time.Time) {
	if from.Before(m.since) {
		from = m.since
	}
	if !m.until.IsZero() && m.until.Before(to) {
		to = m.until
	}
	return from, to
}

// Write stores an event at time now, or returns why it does not.
func (m *Table) Write(now time.Time, e Event) Refusal {
	e.Time = e.Time.Truncate(m.schema.Precision)
	p := m.at(e.Time)
	if e.Sequence != 0 && m.schema.Sequence && !p.schema.Sequence {
		return NoSequence
	}
	return p.write(now, e)
}

// Delete removes the events for which deleted is true.
func (m *Table) Delete(deleted func(e *Event) bool) {
	for _, p := range m.periods() {
		for c := range p.cells {
			p.cells[c] = slices.DeleteFunc(p.cells[c], func(stored cell) bool { return deleted(&stored.event) })
		}
	}
}

// Collect removes what garbage collection removes: the events of a row that exceed a number
// of versions do not return when newer ones are deleted.
func (m *Table) Collect(now time.Time) {
	for _, p := range m.periods() {
		for c, cells := range p.cells {
			var kept []cell
			for i, stored := range cells {
				if !p.ttl(c).collects(now.Sub(time.UnixMicro(stored.micros)), i+1) {
					kept = append(kept, stored)
				}
			}
			p.cells[c] = kept
		}
	}
}

// Read returns the events of a series in [from, to), sorted by time and sequence,
// whatever the order of row keys.
func (m *Table) Read(now time.Time, series Series, from, to time.Time) []Event {
	return m.ReadFields(now, series, from, to, nil)
}

// ReadFields is like Read but returns only some fields; nil for all. It also returns
// events without any of them.
func (m *Table) ReadFields(now time.Time, series Series, from, to time.Time, fields []int) []Event {
	var out []Event
	for _, p := range m.periods() {
		from, to := p.clip(from, to)
		out = append(out, p.readFields(now, series, from, to, fields)...)
	}
	return out
}

// floor and ceil convert a time to microseconds, rounded to whole milliseconds.
func floor(t time.Time) int64 { return t.UnixMilli() * 1000 }

func ceil(t time.Time) int64 { return floor(t.Add(time.Millisecond - 1)) }

// start returns the time that identifies the row of an event.
func (m *period) start(t time.Time) time.Time {
	if m.schema.eventTimed() {
		return m.schema.bucketStart(t)
	}
	return t // the event has its own row or column
}

// familyOf returns the family of a field.
func (m *period) familyOf(field int) *Family {
	switch {
	case field <= writtenAt:
		return &m.schema.Families[writtenAt-field]
	case field == whole:
		return &m.schema.Families[0]
	}
	return &m.schema.Families[m.schema.Fields[field].Family]
}

// ttl returns the time to live of a column.
func (m *period) ttl(c column) TTL {
	if c.class > 0 {
		return TTL{Kind: "max_age", Age: m.schema.Classes[c.class-1]}
	}
	return m.familyOf(c.field).TTL
}

// collects reports whether a garbage collection rule removes a cell of the given age
// and rank; the newest of a column has rank 1.
func (t TTL) collects(age time.Duration, rank int) bool {
	switch t.Kind {
	case "max_age", "default_expiration":
		return age > t.Age
	case "one_second":
		return age > time.Second
	case "max_versions":
		return rank > t.Versions
	case "any_of":
		return slices.ContainsFunc(t.Rules, func(r TTL) bool { return r.collects(age, rank) })
	case "all_of":
		return !slices.ContainsFunc(t.Rules, func(r TTL) bool { return !r.collects(age, rank) })
	}
	return false
}

// alive reports whether a reader may return a cell.
func (t TTL) alive(now time.Time, micros int64, rank int) bool {
	at := time.UnixMicro(micros)
	switch t.Kind {
	case "one_second":
		return at.After(now)
	case "default_expiration":
		return at.Add(t.Age).After(now)
	}
	return !t.collects(now.Sub(at), rank)
}

// fromWrite reports whether ages count from the write.
func (t TTL) fromWrite() bool {
	return t.FromWrite || slices.ContainsFunc(t.Rules, TTL.fromWrite)
}

// stamp returns the timestamp of an event's cells.
func (t TTL) stamp(now time.Time, e *Event) (int64, Refusal) {
	switch {
	case t.Kind == "one_second" || t.Kind == "default_expiration":
		end := e.ExpiresAt
		switch {
		case e.TTL < 0:
			return 0, Expired
		case e.TTL > 0:
			end = now.Add(e.TTL)
		case !end.IsZero():
		case t.Kind == "one_second":
			return 0, NoExpiry
		default:
			end = now.Add(t.Age)
		}
		micros := ceil(end) - t.Age.Microseconds()
		if !t.alive(now, micros, 1) {
			return 0, Expired
		}
		return micros, Stored
	case t.fromWrite():
		return floor(now), Stored
	}
	micros := floor(e.Time)
	if !t.alive(now, micros, 1) {
		return 0, Expired
	}
	return micros, Stored
}

// write stores an event at time now, or returns why it does not.
func (m *period) write(now time.Time, e Event) Refusal {
	e.WrittenAt = now
	if m.schema.Classes != nil && (e.Class < 1 || e.Class > len(m.schema.Classes)) {
		return NoClass
	}
	stamps := map[*Family]int64{}
	late := Stored
	for i := range m.schema.Families {
		f := &m.schema.Families[i]
		ttl := m.ttl(column{field: writtenAt - i, class: e.Class})
		micros, refusal := ttl.stamp(now, &e)
		switch {
		case refusal == Stored:
			stamps[f] = micros
		case refusal == Expired && ttl.Kind != "one_second" && ttl.Kind != "default_expiration":
			late = Expired // another family may still accept its part
		default:
			return refusal
		}
	}
	if len(stamps) == 0 {
		return late
	}
	fields := m.present(&e)
	if len(fields) == 0 {
		return NoValue
	}
	fields = slices.DeleteFunc(fields, func(field int) bool { _, ok := stamps[m.familyOf(field)]; return !ok })
	if len(fields) == 0 {
		return Expired
	}
	m.replace(&e, stamps)
	for i := range m.schema.Families {
		f := &m.schema.Families[i]
		hasData := slices.ContainsFunc(fields, func(field int) bool { return field > writtenAt && m.familyOf(field) == f })
		if f.WrittenAt && hasData {
			fields = append(fields, writtenAt-i)
		}
	}
	for _, field := range fields {
		m.put(field, stamps[m.familyOf(field)], e)
	}
	return Stored
}

// present returns the fields that an event has.
func (m *period) present(e *Event) []int {
	if m.schema.serialized() {
		return []int{whole}
	}
	var out []int
	for i, has := range e.Has {
		if has {
			out = append(out, i)
		}
	}
	return out
}

// replace removes the stored version of an event in all classes, from the families that are
// written: in others it has expired. New columns are never replaced; the same value of the
// same class is the same cell.
func (m *period) replace(e *Event, written map[*Family]int64) {
	for c, cells := range m.cells {
		same := c.host == e.Host && c.shard == e.Shard && c.start.Equal(m.start(e.Time)) && c.sequence == e.Sequence
		if m.schema.newColumns() {
			same = same && e.Has[c.field] && c.value == e.Values[c.field] && c.class == e.Class
		}
		if _, ok := written[m.familyOf(c.field)]; same && ok {
			m.cells[c] = slices.DeleteFunc(cells, func(old cell) bool { return old.event.Time.Equal(e.Time) })
		}
	}
}

// put adds a cell.
func (m *period) put(field int, micros int64, e Event) {
	c := column{host: e.Host, shard: e.Shard, start: m.start(e.Time), sequence: e.Sequence, field: field, class: e.Class}
	if m.schema.newColumns() {
		c.value = e.Values[field]
	}
	m.cells[c] = append(m.cells[c], cell{micros, e})
	slices.SortFunc(m.cells[c], func(a, b cell) int { return cmp.Compare(b.micros, a.micros) })
}

// instant collects the events of one time and class.
type instant struct {
	time     time.Time
	sequence uint32
	class    int
	cells    map[int][]cell // by field, in the order of the stored values
}

// Series identifies a series.
type Series struct {
	Host  string
	Shard int64
}

// readFields returns the events of one layout; see [Table.ReadFields].
func (m *period) readFields(now time.Time, series Series, from, to time.Time, fields []int) []Event {
	fields, asked := m.schema.fetches(fields), m.schema.asks(fields)
	byTime := map[string]*instant{}
	for c, stored := range m.living(now, series, from, to, asked) {
		e := stored.event
		id := fmt.Sprint(e.Time.UnixNano(), c.sequence, c.class)
		if byTime[id] == nil {
			byTime[id] = &instant{e.Time, c.sequence, c.class, map[int][]cell{}}
		}
		byTime[id].cells[c.field] = append(byTime[id].cells[c.field], stored)
	}
	var instants []*instant
	for _, in := range byTime {
		instants = append(instants, in)
	}
	slices.SortFunc(instants, func(a, b *instant) int {
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.sequence, b.sequence), a.class-b.class)
	})
	var out []Event
	for _, in := range instants {
		out = append(out, m.events(series, in, fields)...)
	}
	return out
}

// living yields the live cells of the events of a series in [from, to), of some fields
// only; nil for all.
func (m *period) living(now time.Time, series Series, from, to time.Time, fields []int) iter.Seq2[column, cell] {
	return func(yield func(column, cell) bool) {
		for c, cells := range m.cells {
			if c.host != series.Host || c.shard != series.Shard || !fetched(fields, c.field) {
				continue
			}
			for i, stored := range cells {
				at := stored.event.Time
				if !at.Before(from) && at.Before(to) && m.ttl(c).alive(now, stored.micros, i+1) && !yield(c, stored) {
					return
				}
			}
		}
	}
}

// fetches returns which of the requested fields are fetched; nil if an event is one
// value, unless no fields are requested.
func (s *Schema) fetches(fields []int) []int {
	if len(fields) > 0 && s.oneValue() {
		return nil
	}
	return fields
}

// oneValue reports whether an event is one cell.
func (s *Schema) oneValue() bool { return s.serialized() || s.Pattern == "bucket_offsets" }

// asks returns the fields whose cells a read of some fields requests; nil for all. If
// an event may lack all of them, cells of others show that it exists: those of the
// first required field, or of all.
func (s *Schema) asks(fields []int) []int {
	fields = s.fetches(fields)
	required := func(i int) bool { return s.Fields[i].Presence == Required }
	switch {
	case fields == nil || slices.ContainsFunc(fields, required):
		return fields
	case s.serialized():
		return []int{whole}
	case s.oneValue():
		return []int{0}
	}
	var all []int
	for i := range s.Fields {
		if required(i) {
			return append(slices.Clip(fields), i)
		}
		all = append(all, i)
	}
	return all
}

// fetched reports whether a field is among those to fetch; nil means all.
func fetched(fields []int, field int) bool { return fields == nil || slices.Contains(fields, field) }

// events returns the events of an instant: one, or several in new columns.
func (m *period) events(series Series, in *instant, fields []int) []Event {
	most := 0
	for field, cells := range in.cells {
		switch {
		case field <= writtenAt:
		case fetched(fields, field):
			most = max(most, len(cells))
		default:
			most = max(most, 1)
		}
		if field >= 0 {
			slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.event.Values[field], b.event.Values[field]) })
		}
	}
	var out []Event
	for n := range most {
		e := Event{Host: series.Host, Shard: series.Shard, Time: in.time, Sequence: in.sequence, Class: in.class, Values: make([]int64, len(m.schema.Fields)), Has: make([]bool, len(m.schema.Fields))}
		for i, f := range m.schema.Fields {
			switch {
			case !fetched(fields, i):
				e.Has[i] = f.Presence != Optional // zero value
			case f.Presence == Default:
				e.Values[i], e.Has[i] = defaultValue, true
			}
		}
		for field, cells := range in.cells {
			m.take(&e, field, cells[min(n, len(cells)-1)], fetched(fields, field))
		}
		out = append(out, e)
	}
	return out
}

// take adds a cell to an event, with or without its value.
func (m *period) take(e *Event, field int, c cell, value bool) {
	switch ttl := m.familyOf(field).TTL; ttl.Kind {
	case "one_second", "default_expiration":
		e.ExpiresAt = time.UnixMicro(c.micros).UTC().Add(ttl.Age)
	}
	switch {
	case field <= writtenAt:
		e.WrittenAt = c.event.WrittenAt
	case !value:
	case field == whole:
		copy(e.Values, c.event.Values)
		copy(e.Has, c.event.Has)
	default:
		e.Values[field], e.Has[field] = c.event.Values[field], true
	}
}
