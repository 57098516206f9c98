package store

import (
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
	rows []stagedRow
	ops  []op
	err  error
}

// stagedRow is one row that the event goes to.
type stagedRow struct {
	key []byte
	end int // of its ops
}

// op is one mutation of a row.
type op struct {
	family, qualifier string
	micros            int64
	value             []byte
	remove            bool
}

// Row begins the row with the key; err is the error that making it gave.
func (c *Cells) Row(key []byte, err error) {
	if err != nil && c.err == nil {
		c.err = err
	}
	c.rows = append(c.rows, stagedRow{key: key, end: len(c.ops)})
}

// Set puts a cell into the row. micros is its timestamp in microseconds, a
// multiple of 1000. The value must not be changed afterwards.
func (c *Cells) Set(family, qualifier string, micros int64, value []byte) {
	if c.err == nil && (len(qualifier) > maxQualifier || len(value) > maxValue) {
		c.err = &codec.FieldError{Field: limited(qualifier), Err: codec.ErrTooLarge}
	}
	c.add(op{family: family, qualifier: qualifier, micros: micros, value: value})
}

// Delete takes the cell with the timestamp out of the row.
func (c *Cells) Delete(family, qualifier string, micros int64) {
	c.add(op{family: family, qualifier: qualifier, micros: micros, remove: true})
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

// reset makes c ready for the next event.
func (c *Cells) reset() {
	clear(c.ops)
	c.rows, c.ops, c.err = c.rows[:0], c.ops[:0], nil
}

// check returns why the event cannot be written, if it cannot.
func (c *Cells) check() error {
	if c.err != nil {
		return c.err
	}
	for _, o := range c.ops {
		if !o.remove {
			return nil
		}
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
	if o.remove {
		m.DeleteTimestampRange(o.family, o.qualifier, ts, ts+1000)
		return
	}
	m.Set(o.family, o.qualifier, ts, o.value)
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
