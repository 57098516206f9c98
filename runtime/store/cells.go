package store

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// maxQualifier and maxValue are Bigtable's limits for a cell, in bytes.
const (
	maxQualifier = 16 << 10
	maxValue     = 100 << 20
)

// eventCells collects the cells of events, one event after another, as mutations in wire
// form. It keeps the first error of an event and ignores the rest of the event.
type eventCells struct {
	table    *Table
	pattern  codec.Pattern
	form     rowForm
	named    bool // columns are named after their datum or time
	longest  int  // the maximum length of a datum
	columns  []Column
	plain    []bool        // per column: cells are set with the encoded datum as their value
	offset   codec.Offset  // if columns are named after times
	families [][]byte      // addresses of the families
	setters  []wire.Setter // all columns in the first family, then in the second and so on

	now      time.Time // time of the write
	event    time.Time
	sequence uint32
	class    int              // class of the event; 0 if events have none
	times    []wire.Timestamp // cell timestamps of the event per family; -1 if the cells have expired
	oldest   []int64          // per family, the lowest event time that is used as timestamp
	rows     []batch.Row
	isSet    []bool // per column of the last row
	set      int    // number of columns that are set
	values   int    // number of cells that are part of the event
	merge    bool   // see WriteOptions.Merge
	partial  bool   // the event keeps what is stored of fields that it lacks
	expired  bool   // a cell was left out because it has expired
	late     error  // the event is older than the table keeps its events
	err      error  // why no table may store the event

	mutations []byte // of all accepted events, then of the current one
	taken     int    // length of those of accepted events
	keys      []byte // row keys of the current event
	content   keyContent
	known     []int // entries of the previous event's rows, by row number; -1 for none
	again     bool  // the event has the series and bucket of the previous one
	slot      int   // number of the next row; -1 if it has none

	begun   int    // start of the cell that Cell began; -1 if there is none
	value   int    // start of its value
	buffer  []byte // the slice that Buffer returns
	address []byte // address of a column that is named after its datum or time
}

// newCells returns cells for the events of a mapping.
func newCells(l *mapping) *eventCells {
	c := &eventCells{
		table: &l.Table, pattern: l.Pattern, form: l.form(), named: l.Pattern.Naming() != codec.NamedByField, longest: maxValue, columns: l.Columns, offset: l.offset(),
		times: make([]wire.Timestamp, len(l.Table.Families)), isSet: make([]bool, len(l.Columns)), known: make([]int, len(l.Columns)),
		oldest: make([]int64, len(l.Table.Families)), buffer: make([]byte, 0, 256),
	}
	if l.Pattern.Naming() == codec.NamedByValue {
		c.longest = maxQualifier
	}
	for _, column := range l.Columns {
		c.plain = append(c.plain, !c.named && !column.WrittenAt)
	}
	for i := range l.Table.Families {
		family := wire.AppendFamily(nil, l.Table.Families[i].Name)
		c.families = append(c.families, family)
		for _, column := range l.Columns {
			c.setters = append(c.setters, wire.NewSetter(wire.AppendQualifier(slices.Clip(family), []byte(column.Name))))
		}
	}
	c.forget()
	return c
}

// reset removes all events.
func (c *eventCells) reset() {
	c.mutations, c.taken, c.merge = c.mutations[:0], 0, false
	c.forget()
}

// at sets the write time of the following events.
func (c *eventCells) at(now time.Time) {
	c.now = now
	for i := range c.oldest {
		c.oldest[i] = math.MaxInt64
		if life := &c.table.Families[i].Life; life.EventTimed() {
			c.oldest[i] = life.Horizon(now)
		}
	}
}

// forget makes it look up the rows of the next event by key.
func (c *eventCells) forget() {
	for i := range c.known {
		c.known[i] = -1
	}
}

// begin prepares c for an event. If the event is too old for the table, its cells are
// left out, but its values are still checked.
func (c *eventCells) begin(event time.Time, fields TTLFields) {
	c.mutations, c.keys, c.rows = c.mutations[:c.taken], c.keys[:0], c.rows[:0]
	c.values, c.partial, c.expired, c.late, c.err = 0, false, false, nil, nil
	c.event, c.class, c.slot, c.begun = event, 0, -1, -1
	if c.table.hasClasses() {
		c.beginClass(fields)
		return
	}
	alive := false
	var late error
	at := codec.Micros(event)
	for i := range c.times {
		if c.oldest[i] <= at {
			c.times[i].Set(at)
			alive = true
			continue
		}
		life := &c.table.Families[i].Life
		us, err := fields.micros(life, c.now, event)
		switch {
		case err == nil:
			alive = true
		case life.EventTimed():
			// Another family may keep its part of the event longer.
			us, late = -1, err
		default:
			c.refuse(err)
			return
		}
		c.times[i].Set(us)
	}
	if !alive {
		c.late = late
	}
}

// refuse leaves out all cells of the event.
func (c *eventCells) refuse(err error) {
	for i := range c.times {
		c.times[i].Set(-1)
	}
	if errors.Is(err, codec.ErrExpired) {
		c.late = err
	} else {
		c.Fail(err)
	}
}

// micros returns the cell timestamp of an event in a family.
func (c *TTLFields) micros(life *codec.Lifetime, now, event time.Time) (int64, error) {
	var expiresAt time.Time
	var ttl time.Duration
	if c.ExpiresAt != nil {
		expiresAt = *c.ExpiresAt
	}
	if c.TTL != nil {
		ttl = *c.TTL
	}
	return life.Micros(now, event, expiresAt, ttl)
}

// beginClass is begin for an event with a class.
func (c *eventCells) beginClass(fields TTLFields) {
	class := *fields.Class
	if class < 1 || class > len(c.table.Families) {
		c.refuse(&codec.FieldError{Field: "class", Value: strconv.Itoa(class), Err: codec.ErrClass})
		return
	}
	c.class = class
	for i := range c.times {
		c.times[i].Set(codec.Micros(c.event))
	}
	if _, err := c.table.Families[class-1].Life.Micros(c.now, c.event, time.Time{}, 0); err != nil {
		c.refuse(err)
	}
}

// familyOf returns the index of the family with the event's cell of a column.
func (c *eventCells) familyOf(column int) int {
	if c.class > 0 {
		return c.class - 1
	}
	return c.columns[column].Family
}

// Buffer returns an empty slice to which the caller appends the next row key.
func (c *eventCells) Buffer() []byte { return c.buffer[:0] }

// Cell returns a slice to which the caller appends the datum of a column. The caller
// then passes the result to Set.
func (c *eventCells) Cell(column int) []byte {
	family := c.familyOf(column)
	if !c.plain[column] || c.times[family].Micros < 0 {
		return c.Buffer()
	}
	c.begun = len(c.mutations)
	c.mutations = c.setter(family, column).Begin(c.mutations, &c.times[family])
	c.value = len(c.mutations)
	return c.mutations
}

// grown keeps the slice of Buffer if it has grown.
func (c *eventCells) grown(b []byte) {
	if cap(b) > cap(c.buffer) {
		c.buffer = b
	}
}

// SameRow reports whether the n-th row of the event is also the n-th row of the
// previous event. If so, it begins the row, and the caller need not compute its key. n
// must be less than the number of columns.
func (c *eventCells) SameRow(n int) bool {
	c.slot = n
	if !c.again || c.known[n] < 0 {
		return false
	}
	c.begins(nil, c.known[n])
	return true
}

// Row begins the row with the given key. err is the error of computing the key.
func (c *eventCells) Row(key []byte, err error) {
	c.grown(key)
	if err != nil && c.err == nil {
		c.err = err
	}
	begin := len(c.keys)
	c.keys = append(c.keys, key...)
	c.begins(c.keys[begin:], -1)
}

// begins begins a row, whose entry may be known.
func (c *eventCells) begins(key []byte, entry int) {
	c.finishRow()
	at := len(c.mutations)
	c.rows = append(c.rows, batch.Row{Slot: c.slot, Entry: entry, Key: key, Begin: at, End: at})
	c.slot, c.set = -1, 0
	clear(c.isSet)
	for i := range c.families {
		if c.replaces(i) {
			c.mutations = wire.AppendDeleteFamily(c.mutations, c.families[i])
			c.counted()
		}
	}
}

// counted adds the last mutation to the last row.
func (c *eventCells) counted() {
	row := &c.rows[len(c.rows)-1]
	row.End = len(c.mutations)
	row.Count++
}

// replaces reports whether a write first deletes the row's cells in a family. It must
// if they may have any timestamp or be in the family of another class, because a cell
// that expires later would otherwise hide one that expires sooner.
func (c *eventCells) replaces(family int) bool {
	return !c.pattern.Bucketed() && (c.class > 0 || !c.table.Families[family].Life.EventTimed())
}

func (c *eventCells) setter(family, column int) *wire.Setter {
	return &c.setters[family*len(c.columns)+column]
}

// addressOf returns the address of a column that is named after its datum or time.
func (c *eventCells) addressOf(family int, qualifier []byte) []byte {
	c.address = wire.AppendQualifier(append(c.address[:0], c.families[family]...), qualifier)
	return c.address
}

// Set adds the datum of a column, which was appended to what Cell has returned, to the row: as the value of a cell or as
// the name of a column, as the pattern requires.
func (c *eventCells) Set(column int, datum []byte) {
	if c.begun >= 0 {
		c.setBegun(column, datum)
		return
	}
	family := c.familyOf(column)
	c.grown(datum)
	if c.columns[column].WrittenAt && !c.hasData(family) {
		return // the family has no other data of the event
	}
	c.isSet[column] = true
	c.set++
	if len(datum) > c.longest {
		c.tooLarge(column, datum)
		return
	}
	if c.times[family].Micros < 0 {
		c.expired = true
		return
	}
	if !c.columns[column].WrittenAt {
		c.values++
	}
	c.form.set(c, family, column, datum)
}

// setCell sets the cell of the current event in a column of a family.
func (c *eventCells) setCell(address []byte, family int, value []byte) {
	c.mutations = wire.AppendSetCell(c.mutations, address, c.times[family].Micros, value)
	c.counted()
}

// setBegun implements Set for a datum that was appended to Cell.
func (c *eventCells) setBegun(column int, datum []byte) {
	begin := c.begun
	c.begun, c.mutations = -1, datum
	c.isSet[column] = true
	c.set++
	c.values++
	if !wire.EndCell(datum, begin, c.value) {
		value := append(c.buffer[:0], datum[c.value:]...)
		c.buffer, c.mutations = value, datum[:begin]
		if len(value) > maxValue {
			c.tooLarge(column, value)
			return
		}
		family := c.familyOf(column)
		c.setCell(c.setter(family, column).Address(), family, value)
		return
	}
	c.counted()
}

// tooLarge refuses the event because of a datum.
func (c *eventCells) tooLarge(column int, datum []byte) {
	c.Fail(&codec.FieldError{Field: limited(c.form.qualifier(c, column, datum)), Err: codec.ErrTooLarge})
}

// hasData reports whether the row has data of the event in a family.
func (c *eventCells) hasData(family int) bool {
	for i, set := range c.isSet {
		if set && c.familyOf(i) == family {
			return true
		}
	}
	return false
}

// replaceColumn deletes what is stored of an event in its own column, which may have
// any timestamp or be in the family of another class.
func (c *eventCells) replaceColumn(family int, qualifier []byte) {
	for i := range c.table.Families {
		f := &c.table.Families[i]
		if i != family || !f.Life.EventTimed() {
			c.mutations = wire.AppendDeleteColumn(c.mutations, c.addressOf(i, qualifier))
			c.counted()
		}
	}
}

// finishRow deletes what the event does not have but an earlier event of the same time
// may have stored: the columns that are not set, and all columns in the families of
// other classes.
func (c *eventCells) finishRow() {
	if len(c.rows) == 0 || c.named || c.class == 0 && c.set == len(c.columns) {
		return
	}
	for i := range c.columns {
		family := c.familyOf(i)
		if c.replaces(family) {
			continue
		}
		switch {
		case c.isSet[i] || c.times[family].Micros < 0:
		case c.keeps(i):
			c.partial = true
		default:
			c.deleteCell(family, i)
		}
		c.deleteOthers(i)
	}
}

// keeps reports whether an event that lacks a column keeps what is stored in it: it merges, and has no newer value of the field.
func (c *eventCells) keeps(column int) bool {
	for i := range c.columns {
		if c.isSet[i] && slices.Contains(c.columns[i].older, column) {
			return false
		}
	}
	return c.merge
}

// deleteOthers deletes the cell of a column in the families of other classes.
func (c *eventCells) deleteOthers(column int) {
	for i := range c.table.Families {
		if c.table.Families[i].Class != c.class {
			c.deleteCell(i, column)
		}
	}
}

// deleteCell deletes the event's cell of a column in a family.
func (c *eventCells) deleteCell(family, column int) {
	from := c.times[family].Micros
	c.mutations = wire.AppendDeleteCells(c.mutations, c.setter(family, column).Address(), from, from+1000)
	c.counted()
}

// Fail refuses the event with the given error.
func (c *eventCells) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// limited truncates a long qualifier for an error message.
func limited(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// check completes the event and returns why it cannot be written, if so. For
// [codec.ErrExpired] this table cannot store it; for any other error no table can.
func (c *eventCells) check() error {
	c.finishRow()
	switch {
	case c.err != nil:
		return c.err
	case c.late != nil:
		return c.late
	case c.values > 0:
		return nil
	case c.expired:
		return &codec.FieldError{Field: "time", Value: c.event.String(), Err: codec.ErrExpired}
	}
	return codec.ErrNoValue
}
