package store

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// maxQualifier and maxValue are Bigtable's limits for a cell, in bytes.
const (
	maxQualifier = 16 << 10
	maxValue     = 100 << 20
)

// Cells takes the cells of events from generated code, one event after another,
// and keeps their mutations in wire form. The first error of an event is kept;
// after it, nothing more of it is taken.
type Cells struct {
	table    *Table
	pattern  codec.Pattern
	named    bool // columns have the name of their datum or their time
	columns  []Column
	plain    []bool        // whether the cells of a column are set as they are encoded
	offset   codec.Offset  // BucketOffsets
	families [][]byte      // the addresses of the families
	setters  []wire.Setter // all columns in the first family, the second and so on

	now      time.Time // when the events are written
	event    time.Time
	sequence uint32
	class    int              // of the event; 0 if events have none
	times    []wire.Timestamp // of the event's cells in each family; -1 where they would be past their time
	oldest   []int64          // in each family, from which timestamp on the time of an event is the timestamp
	rows     []stagedRow
	isSet    []bool // which columns of the last row are set
	set      int    // how many
	values   int    // cells that are part of the event
	expired  bool   // a cell was left out, since it would be past its time
	late     error  // the event is older than the table keeps its events
	err      error  // why no table may have the event

	mutations []byte // of all events that were taken, and then of this one
	taken     int    // how much of it is of events that were taken
	keys      []byte // of the rows of this event
	known     []int  // the entries of the rows of the last event, by their numbers; -1 for none
	again     bool   // the event is of the series and the bucket of the last one
	slot      int    // the number of the row that is begun next; -1 if it has none

	begun   int    // where the cell begins that Cell has begun; -1 if there is none
	value   int    // where its value begins
	buffer  []byte // what Buffer lends
	lent    bool
	address []byte // of a column that is named by its datum or its time
}

// stagedRow is one row that the event goes to.
type stagedRow struct {
	slot  int
	entry int // -1 if it is to be looked for
	key   []byte
	begin int // of its mutations
	end   int
	count int // of its mutations
}

// newCells returns cells for the events of a layout.
func newCells[E any](l *Layout[E]) *Cells {
	c := &Cells{
		table: &l.Table, pattern: l.Pattern, named: l.Pattern == codec.BucketNewColumns || l.Pattern == codec.BucketOffsets, columns: l.Columns, offset: l.offset(),
		times: make([]wire.Timestamp, len(l.Table.Families)), isSet: make([]bool, len(l.Columns)), known: make([]int, len(l.Columns)),
		oldest: make([]int64, len(l.Table.Families)), buffer: make([]byte, 0, 256),
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

// reset forgets all events.
func (c *Cells) reset() {
	c.mutations, c.taken = c.mutations[:0], 0
	c.forget()
}

// at sets when the events that follow are written.
func (c *Cells) at(now time.Time) {
	c.now = now
	for i := range c.oldest {
		c.oldest[i] = math.MaxInt64
		if life := &c.table.Families[i].Life; life.EventTimed() {
			c.oldest[i] = life.Horizon(now)
		}
	}
}

// forget makes the next event begin rows that are looked for by their keys.
func (c *Cells) forget() {
	for i := range c.known {
		c.known[i] = -1
	}
}

// begin makes c ready for an event. Where it is too old for the table its cells are
// left out, but its values are still checked.
func (c *Cells) begin(event time.Time, choice Choice) {
	c.mutations, c.keys, c.rows = c.mutations[:c.taken], c.keys[:0], c.rows[:0]
	c.values, c.expired, c.late, c.err = 0, false, nil, nil
	c.event, c.class, c.slot, c.begun = event, 0, -1, -1
	if c.table.hasClasses() {
		c.beginClass(choice)
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
		us, err := choice.micros(life, c.now, event)
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

// refuse leaves all cells of the event out.
func (c *Cells) refuse(err error) {
	for i := range c.times {
		c.times[i].Set(-1)
	}
	if errors.Is(err, codec.ErrExpired) {
		c.late = err
	} else {
		c.Fail(err)
	}
}

// micros returns the timestamp of the cells of an event in a family.
func (c *Choice) micros(life *codec.Lifetime, now, event time.Time) (int64, error) {
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
func (c *Cells) beginClass(choice Choice) {
	class := *choice.Class
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

// familyOf returns the index of the family that the event's cell of a column is in.
func (c *Cells) familyOf(column int) int {
	if c.class > 0 {
		return c.class - 1
	}
	return c.columns[column].Family
}

// Buffer returns an empty slice for the next key to be appended to.
func (c *Cells) Buffer() []byte {
	c.lent = true
	return c.buffer[:0]
}

// Cell returns a slice for the datum of a column to be appended to, which is then
// given to Set.
func (c *Cells) Cell(column int) []byte {
	if !c.plain[column] {
		return c.Buffer()
	}
	family := c.familyOf(column)
	if c.times[family].Micros < 0 {
		return c.Buffer()
	}
	c.begun = len(c.mutations)
	c.mutations = c.setter(family, column).Begin(c.mutations, &c.times[family])
	c.value = len(c.mutations)
	return c.mutations
}

// takeBack keeps what was lent, if it has grown.
func (c *Cells) takeBack(b []byte) {
	if c.lent && cap(b) > cap(c.buffer) {
		c.buffer = b
	}
	c.lent = false
}

// SameRow begins the n-th row of the event if it is also the n-th row of the event
// before, and reports whether it is: then there is no need for its key. n is less
// than the number of columns.
func (c *Cells) SameRow(n int) bool {
	c.slot = n
	if !c.again || c.known[n] < 0 {
		return false
	}
	c.begins(nil, c.known[n])
	return true
}

// Row begins the row with the key; err is the error that making it gave.
func (c *Cells) Row(key []byte, err error) {
	c.takeBack(key)
	if err != nil && c.err == nil {
		c.err = err
	}
	begin := len(c.keys)
	c.keys = append(c.keys, key...)
	c.begins(c.keys[begin:], -1)
}

// begins begins a row, which may be known as an entry.
func (c *Cells) begins(key []byte, entry int) {
	c.finishRow()
	at := len(c.mutations)
	c.rows = append(c.rows, stagedRow{slot: c.slot, entry: entry, key: key, begin: at, end: at})
	c.slot, c.set = -1, 0
	clear(c.isSet)
	for i := range c.table.Families {
		if c.replaces(i) {
			c.mutations = wire.AppendDeleteFamily(c.mutations, c.families[i])
			c.counted()
		}
	}
}

// counted adds the last mutation to the last row.
func (c *Cells) counted() {
	row := &c.rows[len(c.rows)-1]
	row.end = len(c.mutations)
	row.count++
}

// replaces reports whether the row's cells in a family are deleted before they
// are set: they may have any timestamp, or be in the family of another class.
// What expires later would otherwise come before what expires sooner.
func (c *Cells) replaces(family int) bool {
	return !c.pattern.Bucketed() && (c.class > 0 || !c.table.Families[family].Life.EventTimed())
}

// setter returns what sets the cells of a column in a family.
func (c *Cells) setter(family, column int) *wire.Setter {
	return &c.setters[family*len(c.columns)+column]
}

// addressOf returns the address of a column that is named by its datum or its time.
func (c *Cells) addressOf(family int, qualifier []byte) []byte {
	c.address = wire.AppendQualifier(append(c.address[:0], c.families[family]...), qualifier)
	return c.address
}

// Set puts the datum of a column into the row: as its value or, for new
// columns, as its qualifier. For BucketOffsets the qualifier is the time.
// The datum is what was appended to Cell, or any other, and nothing is kept of
// its memory.
func (c *Cells) Set(column int, datum []byte) {
	if c.begun >= 0 {
		c.setBegun(column, datum)
		return
	}
	family := c.familyOf(column)
	c.takeBack(datum)
	if c.columns[column].WrittenAt && !c.hasData(family) {
		return // nothing of the event is in the family
	}
	c.isSet[column] = true
	c.set++
	if c.pattern == codec.BucketNewColumns && len(datum) > maxQualifier || len(datum) > maxValue {
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
	var address []byte
	switch c.pattern {
	case codec.BucketNewColumns:
		address, datum = c.addressOf(family, datum), nil
	case codec.BucketOffsets:
		var buf [16]byte
		qualifier := c.offset.Append(buf[:0], c.event, c.sequence)
		c.replaceColumn(family, qualifier)
		address = c.addressOf(family, qualifier)
	default:
		address = c.setter(family, column).Address()
	}
	c.mutations = wire.AppendSetCell(c.mutations, address, c.times[family].Micros, datum)
	c.counted()
}

// setBegun is Set of a datum that was appended to Cell.
func (c *Cells) setBegun(column int, datum []byte) {
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
		c.mutations = wire.AppendSetCell(c.mutations, c.setter(family, column).Address(), c.times[family].Micros, value)
	}
	c.counted()
}

// tooLarge refuses the event for a datum.
func (c *Cells) tooLarge(column int, datum []byte) {
	name := c.columns[column].Name
	switch c.pattern {
	case codec.BucketNewColumns:
		name = string(datum)
	case codec.BucketOffsets:
		name = string(c.offset.Append(nil, c.event, c.sequence))
	}
	c.Fail(&codec.FieldError{Field: limited(name), Err: codec.ErrTooLarge})
}

// hasData reports whether the row has data of the event in a family.
func (c *Cells) hasData(family int) bool {
	for i, set := range c.isSet {
		if set && c.familyOf(i) == family {
			return true
		}
	}
	return false
}

// replaceColumn deletes what is stored of an event that has a column of its own:
// it may have any timestamp, or be in the family of another class.
func (c *Cells) replaceColumn(family int, qualifier []byte) {
	for i := range c.table.Families {
		f := &c.table.Families[i]
		if i != family || !f.Life.EventTimed() {
			c.mutations = wire.AppendDeleteColumn(c.mutations, c.addressOf(i, qualifier))
			c.counted()
		}
	}
}

// finishRow deletes what the event does not have and an older one of its time
// may have: the columns that are not set, and all of them in the families of
// other classes.
func (c *Cells) finishRow() {
	if len(c.rows) == 0 || c.named || c.class == 0 && c.set == len(c.columns) {
		return
	}
	for i := range c.columns {
		family := c.familyOf(i)
		if c.replaces(family) {
			continue
		}
		if !c.isSet[i] && c.times[family].Micros >= 0 {
			c.deleteCell(family, i)
		}
		c.deleteOthers(i)
	}
}

// deleteOthers deletes the cell of a column in the families of other classes.
func (c *Cells) deleteOthers(column int) {
	for i := range c.table.Families {
		if c.table.Families[i].Class != c.class {
			c.deleteCell(i, column)
		}
	}
}

// deleteCell deletes the event's cell of a column in a family.
func (c *Cells) deleteCell(family, column int) {
	from := c.times[family].Micros
	c.mutations = wire.AppendDeleteCells(c.mutations, c.setter(family, column).Address(), from, from+1000)
	c.counted()
}

// Fail refuses the event.
func (c *Cells) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// limited cuts a long qualifier for an error message.
func limited(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// check ends the event and returns why it cannot be written, if it cannot: with
// [codec.ErrExpired] to this table, and else to no table.
func (c *Cells) check() error {
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
