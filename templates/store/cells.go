package store

import (
	"strconv"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// The limits that Bigtable puts on one request, and what is kept to here.
const (
	// maxMutations is Bigtable's limit for a request, and for one entry in it.
	maxMutations = 100_000
	// maxRequest is the size from which on a new request is begun, in bytes.
	// A gRPC server takes 4 MiB unless it is told otherwise.
	maxRequest = 3 << 20
	// maxQualifier and maxValue are Bigtable's limits for a cell, in bytes.
	maxQualifier = 16 << 10
	maxValue     = 100 << 20
	// cellOverhead is what a mutation takes on the wire beyond its names and
	// its value, in bytes, rounded up.
	cellOverhead = 32
)

// Cells takes the cells of one event from generated code. The first error is
// kept; after it, nothing more is taken.
type Cells struct {
	table   *Table
	kind    Kind
	columns []Column
	offset  codec.Offset // BucketOffsets

	event    time.Time
	sequence uint32
	class    int     // of the event; 0 if events have none
	micros   []int64 // the timestamp of the event's cells in each family; -1 where they would be past their time
	rows     []stagedRow
	ops      []op
	isSet    []bool // which columns of the last row are set
	values   int    // cells that are part of the event
	expired  bool   // a cell was left out, since it would be past its time
	err      error
}

// stagedRow is one row that the event goes to.
type stagedRow struct {
	key []byte
	end int // of its ops
}

// opKind is what an op does.
type opKind int

const (
	setCell      opKind = iota
	deleteCell          // the one with the timestamp
	deleteColumn        // all cells of the row in the column
	deleteFamily        // all cells of the row in the family
)

// op is one mutation of a row.
type op struct {
	kind              opKind
	family, qualifier string
	micros            int64
	value             []byte
}

// newCells returns cells for the events of a layout.
func newCells[E any](l *Layout[E]) *Cells {
	return &Cells{
		table: &l.Table, kind: l.Kind, columns: l.Columns, offset: l.offset(),
		micros: make([]int64, len(l.Table.Families)), isSet: make([]bool, len(l.Columns)),
	}
}

// begin makes c ready for an event that is written now. late says that the event
// is older than the table keeps its events; err, that it cannot be written at all.
func (c *Cells) begin(now, event time.Time, choice Choice) (late, err error) {
	clear(c.ops)
	c.rows, c.ops, c.values, c.expired, c.err = c.rows[:0], c.ops[:0], 0, false, nil
	c.event, c.class = event, 0
	if c.table.hasClasses() {
		return c.beginClass(now, choice)
	}
	var expiresAt time.Time
	var ttl time.Duration
	if choice.ExpiresAt != nil {
		expiresAt = *choice.ExpiresAt
	}
	if choice.TTL != nil {
		ttl = *choice.TTL
	}
	alive := false
	for i := range c.table.Families {
		life := &c.table.Families[i].Life
		us, err := life.Micros(now, event, expiresAt, ttl)
		switch {
		case err == nil:
			alive = true
		case life.EventTimed():
			// Another family may keep its part of the event longer.
			us, late = -1, err
		default:
			return nil, err
		}
		c.micros[i] = us
	}
	if alive {
		late = nil
	}
	return late, nil
}

// beginClass is begin for an event with a class.
func (c *Cells) beginClass(now time.Time, choice Choice) (late, err error) {
	c.class = *choice.Class
	if c.class < 1 || c.class > len(c.table.Families) {
		return nil, &codec.FieldError{Field: "class", Value: strconv.Itoa(c.class), Err: codec.ErrClass}
	}
	for i := range c.micros {
		c.micros[i] = codec.Micros(c.event)
	}
	_, late = c.table.Families[c.class-1].Life.Micros(now, c.event, time.Time{}, 0)
	return late, nil
}

// familyOf returns the index of the family that the event's cell of a column is in.
func (c *Cells) familyOf(column int) int {
	if c.class > 0 {
		return c.class - 1
	}
	return c.columns[column].Family
}

// Row begins the row with the key; err is the error that making it gave.
func (c *Cells) Row(key []byte, err error) {
	c.finishRow()
	if err != nil && c.err == nil {
		c.err = err
	}
	c.rows = append(c.rows, stagedRow{key: key, end: len(c.ops)})
	clear(c.isSet)
	for i := range c.table.Families {
		if c.replaces(i) {
			c.add(op{kind: deleteFamily, family: c.table.Families[i].Name})
		}
	}
}

// replaces reports whether the row's cells in a family are deleted before they
// are set: they may have any timestamp, or be in the family of another class.
// What expires later would otherwise come before what expires sooner.
func (c *Cells) replaces(family int) bool {
	return c.kind == SingleRows && (c.class > 0 || !c.table.Families[family].Life.EventTimed())
}

// Set puts the datum of a column into the row: as its value or, for
// BucketColumns, as its qualifier. For BucketOffsets the qualifier is the time.
// The datum must not be changed afterwards.
func (c *Cells) Set(column int, datum []byte) {
	family := c.familyOf(column)
	if c.columns[column].WrittenAt && !c.hasData(family) {
		return // nothing of the event is in the family
	}
	c.isSet[column] = true
	if c.micros[family] < 0 {
		c.expired = true
		return
	}
	o := op{family: c.table.Families[family].Name, qualifier: c.columns[column].Name, micros: c.micros[family], value: datum}
	switch c.kind {
	case BucketColumns:
		o.qualifier, o.value = string(datum), nil
	case BucketOffsets:
		o.qualifier = string(c.offset.Append(nil, c.event, c.sequence))
		c.replaceColumn(family, o.qualifier)
	}
	if c.err == nil && (len(o.qualifier) > maxQualifier || len(o.value) > maxValue) {
		c.err = &codec.FieldError{Field: limited(o.qualifier), Err: codec.ErrTooLarge}
	}
	if !c.columns[column].WrittenAt {
		c.values++
	}
	c.add(o)
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
func (c *Cells) replaceColumn(family int, qualifier string) {
	for i := range c.table.Families {
		f := &c.table.Families[i]
		if i != family || !f.Life.EventTimed() {
			c.add(op{kind: deleteColumn, family: f.Name, qualifier: qualifier})
		}
	}
}

// finishRow deletes what the event does not have and an older one of its time
// may have: the columns that are not set, and all of them in the families of
// other classes.
func (c *Cells) finishRow() {
	if len(c.rows) == 0 || c.kind == BucketColumns || c.kind == BucketOffsets {
		return
	}
	for i, column := range c.columns {
		family := c.familyOf(i)
		if c.replaces(family) {
			continue
		}
		if !c.isSet[i] && c.micros[family] >= 0 {
			c.add(op{kind: deleteCell, family: c.table.Families[family].Name, qualifier: column.Name, micros: c.micros[family]})
		}
		c.deleteOthers(column.Name)
	}
}

// deleteOthers deletes the cell of a column in the families of other classes.
func (c *Cells) deleteOthers(qualifier string) {
	for i := range c.table.Families {
		if f := &c.table.Families[i]; f.Class != c.class {
			c.add(op{kind: deleteCell, family: f.Name, qualifier: qualifier, micros: c.micros[i]})
		}
	}
}

// Fail refuses the event.
func (c *Cells) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// add appends an op to the last row.
func (c *Cells) add(o op) {
	c.ops = append(c.ops, o)
	c.rows[len(c.rows)-1].end = len(c.ops)
}

// limited cuts a long qualifier for an error message.
func limited(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// check ends the event and returns why it cannot be written, if it cannot.
func (c *Cells) check() error {
	c.finishRow()
	switch {
	case c.err != nil:
		return c.err
	case c.values > 0:
		return nil
	case c.expired:
		return &codec.FieldError{Field: "time", Value: c.event.String(), Err: codec.ErrExpired}
	}
	return codec.ErrNoValue
}

// size returns the bytes that o takes on the wire, rounded up.
func (o *op) size() int {
	return len(o.family) + len(o.qualifier) + len(o.value) + cellOverhead
}

// apply appends o to a mutation.
func (o *op) apply(m *bigtable.Mutation) {
	ts := bigtable.Timestamp(o.micros)
	switch o.kind {
	case deleteFamily:
		m.DeleteCellsInFamily(o.family)
	case deleteColumn:
		m.DeleteCellsInColumn(o.family, o.qualifier)
	case deleteCell:
		m.DeleteTimestampRange(o.family, o.qualifier, ts, ts+1000)
	default:
		m.Set(o.family, o.qualifier, ts, o.value)
	}
}

// entry is the mutation of one row.
type entry struct {
	key      string
	mutation *bigtable.Mutation
	ops      int
	bytes    int
	events   []int // indices of the events that it holds
}

// batch gathers events into one mutation a row. A row whose mutation is full
// goes on in the next wave: waves are sent one after the other, since the
// entries of one request are applied in any order and a later event may
// replace an earlier one.
type batch struct {
	waves [][]*entry
	last  map[string]place
}

// place is where the newest entry of a row is.
type place struct {
	wave  int
	entry *entry
}

// newBatch returns an empty batch.
func newBatch() *batch { return &batch{last: map[string]place{}} }

// add takes the cells of an event.
func (b *batch) add(event int, c *Cells) {
	begin := 0
	for _, row := range c.rows {
		ops := c.ops[begin:row.end]
		begin = row.end
		if len(ops) == 0 {
			continue
		}
		size := 0
		for i := range ops {
			size += ops[i].size()
		}
		e := b.entry(row.key, len(ops), size)
		for i := range ops {
			ops[i].apply(e.mutation)
		}
		e.ops += len(ops)
		e.bytes += size
		if n := len(e.events); n == 0 || e.events[n-1] != event {
			e.events = append(e.events, event)
		}
	}
}

// entry returns the entry of a row that has room for so many ops and bytes.
func (b *batch) entry(key []byte, ops, bytes int) *entry {
	p, found := b.last[string(key)]
	if found && p.entry.ops+ops <= maxMutations && p.entry.bytes+bytes <= maxRequest {
		return p.entry
	}
	if found {
		p.wave++
	}
	if p.wave == len(b.waves) {
		b.waves = append(b.waves, nil)
	}
	p.entry = &entry{key: string(key), mutation: bigtable.NewMutation(), bytes: len(key)}
	b.waves[p.wave] = append(b.waves[p.wave], p.entry)
	b.last[p.entry.key] = p
	return p.entry
}

// requests cuts a wave into requests under Bigtable's limits.
func requests(wave []*entry) [][]*entry {
	var out [][]*entry
	begin, ops, bytes := 0, 0, 0
	for i, e := range wave {
		if i > begin && (ops+e.ops > maxMutations || bytes+e.bytes > maxRequest) {
			out = append(out, wave[begin:i])
			begin, ops, bytes = i, 0, 0
		}
		ops += e.ops
		bytes += e.bytes
	}
	if begin < len(wave) {
		out = append(out, wave[begin:])
	}
	return out
}
