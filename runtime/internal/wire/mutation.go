package wire

import (
	"bytes"

	"cloud.google.com/go/bigtable"
	"google.golang.org/protobuf/encoding/protowire"
)

// Mutations are encoded as fields of the entry that contains them, so that
// concatenating the bytes of mutations merges those of one row.

// Field numbers of the messages.
const (
	fieldEntries      = 2 // in MutateRowsRequest
	fieldRowMutations = 3 // in MutateRowRequest

	fieldEntryKey  = 1
	fieldMutations = 2

	fieldSetCell          = 1
	fieldDeleteFromColumn = 2
	fieldDeleteFromFamily = 3
	fieldAddToCell        = 5

	// SetCell, DeleteFromColumn and DeleteFromFamily share these.
	fieldMutationFamily    = 1
	fieldMutationQualifier = 2
	fieldMutationMicros    = 3 // in SetCell
	fieldMutationRange     = 3 // in DeleteFromColumn
	fieldMutationValue     = 4

	fieldRangeStart = 1
	fieldRangeEnd   = 2

	// In AddToCell, whose second to fourth fields are messages with one of these.
	fieldAddTime  = 3
	fieldAddInput = 4
	fieldInt      = 6
	fieldRaw      = 8
	fieldRawTime  = 9
)

// AppendFamily appends the address of a family, which consists of all its columns.
func AppendFamily(dst []byte, family string) []byte {
	dst = protowire.AppendTag(dst, fieldMutationFamily, protowire.BytesType)
	return protowire.AppendString(dst, family)
}

// AppendQualifier turns the address of a family into that of one of its columns.
func AppendQualifier(dst, qualifier []byte) []byte {
	if len(qualifier) == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, fieldMutationQualifier, protowire.BytesType)
	return protowire.AppendBytes(dst, qualifier)
}

// AppendSetCell appends a mutation that sets the cell with the given column address and timestamp in microseconds.
func AppendSetCell(dst, address []byte, micros int64, value []byte) []byte {
	size := len(address)
	if micros != 0 {
		size += 1 + protowire.SizeVarint(uint64(micros))
	}
	if len(value) > 0 {
		size += 1 + protowire.SizeBytes(len(value))
	}
	dst = appendMutation(dst, fieldSetCell, size)
	dst = appendTime(append(dst, address...), micros)
	if len(value) > 0 {
		dst = protowire.AppendTag(dst, fieldMutationValue, protowire.BytesType)
		dst = protowire.AppendBytes(dst, value)
	}
	return dst
}

// appendTime appends the timestamp field of a SetCell.
func appendTime(dst []byte, micros int64) []byte {
	if micros == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, fieldMutationMicros, protowire.VarintType)
	return protowire.AppendVarint(dst, uint64(micros))
}

// The offsets of the lengths in a SetCell mutation of less than 128 bytes, where each length is one byte, and of the address,
// and the tags of its fields.
const (
	mutationLength = 1
	cellLength     = 3
	shortHead      = 4

	tagSetCell           = fieldSetCell<<3 | byte(protowire.BytesType)
	tagMutationQualifier = fieldMutationQualifier<<3 | byte(protowire.BytesType)
	tagMutationMicros    = fieldMutationMicros<<3 | byte(protowire.VarintType)
	tagMutationValue     = fieldMutationValue<<3 | byte(protowire.BytesType)
)

// Setter is the encoded head of the mutations that set cells of one column, up to the
// timestamp. It saves a writer of many cells from encoding it each time.
type Setter struct{ head []byte }

// NewSetter returns a setter for the column with the given address.
func NewSetter(address []byte) Setter {
	head := protowire.AppendTag(nil, fieldMutations, protowire.BytesType)
	head = protowire.AppendTag(append(head, 0), fieldSetCell, protowire.BytesType)
	return Setter{append(append(head, 0), address...)}
}

// Address returns the address of the column. The caller must not modify it.
func (s *Setter) Address() []byte { return s.head[shortHead:] }

// Begin begins a mutation like [AppendSetCell], but faster. The caller appends the
// value to the result and calls [EndCell].
func (s *Setter) Begin(dst []byte, t *Timestamp) []byte {
	return append(append(dst, s.head...), t.wire...)
}

// Timestamp is a cell timestamp and its encoding, with what precedes the bytes of a value. It has none before Set.
type Timestamp struct {
	Micros int64
	wire   []byte
}

// Set sets the timestamp, in microseconds.
func (t *Timestamp) Set(micros int64) {
	if t.Micros != micros || t.wire == nil {
		t.Micros, t.wire = micros, append(appendTime(t.wire[:0], micros), tagMutationValue, 0)
	}
}

// EndCell completes the mutation at b[begin:] whose value starts at b[value:]. It returns false, and leaves b
// unchanged, if the value is empty or the mutation is too long; then use [AppendSetCell].
func EndCell(b []byte, begin, value int) bool {
	if len(b)-begin > 127 || len(b) == value {
		return false
	}
	b[begin+mutationLength] = byte(len(b) - begin - mutationLength - 1)
	b[begin+cellLength] = byte(len(b) - begin - cellLength - 1)
	b[value-1] = byte(len(b) - value)
	return true
}

// AppendDeleteCells appends a mutation that deletes the cells of a column with
// timestamps in [from, to), in microseconds. to must not be 0.
func AppendDeleteCells(dst, address []byte, from, to int64) []byte {
	var buf [2 * (1 + 10)]byte
	within := buf[:0]
	if from != 0 {
		within = protowire.AppendTag(within, fieldRangeStart, protowire.VarintType)
		within = protowire.AppendVarint(within, uint64(from))
	}
	within = protowire.AppendTag(within, fieldRangeEnd, protowire.VarintType)
	within = protowire.AppendVarint(within, uint64(to))
	dst = appendMutation(dst, fieldDeleteFromColumn, len(address)+1+protowire.SizeBytes(len(within)))
	dst = append(dst, address...)
	dst = protowire.AppendTag(dst, fieldMutationRange, protowire.BytesType)
	return protowire.AppendBytes(dst, within)
}

// AppendDeleteColumn appends a mutation that deletes all cells of a column.
func AppendDeleteColumn(dst, address []byte) []byte {
	return append(appendMutation(dst, fieldDeleteFromColumn, len(address)), address...)
}

// AppendDeleteFamily appends a mutation that deletes all cells of a family.
func AppendDeleteFamily(dst, address []byte) []byte {
	return append(appendMutation(dst, fieldDeleteFromFamily, len(address)), address...)
}

// AppendAddToCell appends a mutation that adds a number to the cell of a column of a family of sums.
func AppendAddToCell(dst []byte, family, column string, micros, number int64) []byte {
	add := AppendFamily(nil, family)
	add = protowire.AppendTag(add, fieldMutationQualifier, protowire.BytesType)
	add = protowire.AppendBytes(add, protowire.AppendString(protowire.AppendTag(nil, fieldRaw, protowire.BytesType), column))
	add = protowire.AppendTag(add, fieldAddTime, protowire.BytesType)
	add = protowire.AppendBytes(add, protowire.AppendVarint(protowire.AppendTag(nil, fieldRawTime, protowire.VarintType), uint64(micros)))
	add = protowire.AppendTag(add, fieldAddInput, protowire.BytesType)
	add = protowire.AppendBytes(add, protowire.AppendVarint(protowire.AppendTag(nil, fieldInt, protowire.VarintType), uint64(number)))
	return append(appendMutation(dst, fieldAddToCell, len(add)), add...)
}

// EachCell calls f for each cell that encoded mutations set.
func EachCell(mutations []byte, f func(qualifier []byte, micros int64, value []byte)) {
	var outer, kind, part field
	for len(mutations) > 0 {
		n := outer.next(mutations)
		if n < 0 || kind.next(outer.content) < 0 {
			return // not encoded by this package
		}
		mutations = mutations[n:]
		if kind.number != fieldSetCell {
			continue
		}
		var qualifier, value []byte
		var micros int64
		for fields := kind.content; len(fields) > 0; {
			if n = part.next(fields); n < 0 {
				return
			}
			fields = fields[n:]
			switch part.number {
			case fieldMutationQualifier:
				qualifier = part.content
			case fieldMutationMicros:
				micros = int64(part.varint)
			case fieldMutationValue:
				value = part.content
			}
		}
		f(qualifier, micros, value)
	}
}

// appendMutation appends the head of a mutation whose fields take size bytes.
func appendMutation(dst []byte, kind protowire.Number, size int) []byte {
	dst = protowire.AppendTag(dst, fieldMutations, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(1+protowire.SizeBytes(size)))
	dst = protowire.AppendTag(dst, kind, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(size))
}

// Converter converts encoded mutations to those of the client. It remembers columns, so that it need not parse their addresses again,
// and shares memory among values. It is not safe for concurrent use.
type Converter struct {
	columns []column       // in the order in which mutations first had them
	known   map[string]int // indexes of columns, by address
	next    int            // index of the column that is likely to follow: that after the last one
	values  []byte         // memory for values, which is never written twice
}

// column is the address of a column, or of a family, and its names.
type column struct{ address, family, qualifier string }

// Limits of what a converter keeps: of the number of columns, because their names may be data, and of the size of memory that
// values share.
const (
	maxColumns   = 256
	sharedValues = 4 << 10
)

// AddTo adds encoded mutations to a mutation of the client. It does not retain them.
func (c *Converter) AddTo(m *bigtable.Mutation, mutations []byte) {
	var outer, kind field
	for mutations = c.short(m, mutations); len(mutations) > 0; mutations = c.short(m, mutations) {
		n := outer.next(mutations)
		if n < 0 || kind.next(outer.content) < 0 {
			return // not encoded by this package
		}
		if kind.number == fieldAddToCell {
			addSum(m, kind.content)
		} else {
			c.add(m, kind.number, kind.content)
		}
		mutations = mutations[n:]
	}
}

// short is the fast path of AddTo for the cells at the beginning that a [Setter] has encoded, in the columns that are likely to
// follow. It returns the other mutations.
func (c *Converter) short(m *bigtable.Mutation, mutations []byte) []byte {
	for len(mutations) >= shortHead && mutations[0] == fieldMutations<<3|byte(protowire.BytesType) && mutations[shortHead-2] == tagSetCell {
		end, of := 2+int(mutations[mutationLength]), c.likely()
		if of == nil || end < shortHead || end > maxShort || end > len(mutations) || !of.begins(mutations[shortHead:end]) {
			break
		}
		time := shortHead + len(of.address)
		if end-time < minTime+2 || mutations[time] != tagMutationMicros {
			break
		}
		micros, n := shortVarint(mutations[time+1:])
		value := time + 1 + n + 2
		if n == 0 || value > end || mutations[value-2] != tagMutationValue || int(mutations[value-1]) != end-value {
			break
		}
		m.Set(of.family, of.qualifier, bigtable.Timestamp(micros), c.keep(mutations[value:end]))
		c.next++
		mutations = mutations[end:]
	}
	return mutations
}

// likely returns the column that is likely to follow; nil if none is.
func (c *Converter) likely() *column {
	if c.next >= len(c.columns) {
		c.next = 0
	}
	if c.next == len(c.columns) {
		return nil
	}
	return &c.columns[c.next]
}

// add adds a mutation of the given kind, with the given fields after its address.
func (c *Converter) add(m *bigtable.Mutation, kind protowire.Number, fields []byte) {
	of := c.column(fields)
	var micros int64
	var value, within []byte
	var f field
	for fields = fields[len(of.address):]; len(fields) > 0; {
		n := f.next(fields)
		if n < 0 {
			return
		}
		fields = fields[n:]
		switch {
		case f.is(fieldMutationMicros, protowire.VarintType):
			micros = int64(f.varint)
		case f.is(fieldMutationRange, protowire.BytesType):
			within = f.content
		case f.is(fieldMutationValue, protowire.BytesType):
			value = c.keep(f.content)
		}
	}
	switch {
	case kind == fieldSetCell:
		m.Set(of.family, of.qualifier, bigtable.Timestamp(micros), value)
	case kind == fieldDeleteFromFamily:
		m.DeleteCellsInFamily(of.family)
	case within == nil:
		m.DeleteCellsInColumn(of.family, of.qualifier)
	default:
		from, to := timeRange(within)
		m.DeleteTimestampRange(of.family, of.qualifier, from, to)
	}
}

// column returns the column with whose address the fields of a mutation begin.
func (c *Converter) column(fields []byte) column {
	if of := c.likely(); of == nil || !of.begins(fields) {
		var family, qualifier field
		n := max(0, family.next(fields))
		size := n + max(0, qualifier.next(fields[n:]))
		if !qualifier.is(fieldMutationQualifier, protowire.BytesType) {
			size, qualifier.content = n, nil
		}
		i, known := c.known[string(fields[:size])]
		if !known {
			address := string(fields[:size])
			of := column{address, address[n-len(family.content) : n], address[size-len(qualifier.content):]}
			if len(c.columns) == maxColumns {
				return of
			}
			if i = len(c.columns); c.known == nil {
				c.known = map[string]int{}
			}
			c.columns, c.known[address] = append(c.columns, of), i
		}
		c.next = i
	}
	c.next++
	return c.columns[c.next-1]
}

// begins reports whether the fields of a mutation begin with the address of the column.
func (c *column) begins(fields []byte) bool {
	n := len(c.address)
	return len(fields) >= n && string(fields[:n]) == c.address && (len(fields) == n || fields[n] != tagMutationQualifier)
}

// keep returns a copy of a value; nil if it is empty.
func (c *Converter) keep(value []byte) []byte {
	if len(value) == 0 {
		return nil
	}
	if len(value) > sharedValues/4 {
		return bytes.Clone(value)
	}
	if len(value) > cap(c.values)-len(c.values) {
		c.values = make([]byte, 0, sharedValues)
	}
	begin := len(c.values)
	c.values = append(c.values, value...)
	return c.values[begin:len(c.values):len(c.values)]
}

// addSum adds an AddToCell to the mutation of the client.
func addSum(m *bigtable.Mutation, fields []byte) {
	var family, column string
	var micros, number int64
	var f, in field
	for len(fields) > 0 {
		n := f.next(fields)
		if n < 0 || f.number != fieldMutationFamily && in.next(f.content) < 0 {
			return
		}
		fields = fields[n:]
		switch f.number {
		case fieldMutationFamily:
			family = string(f.content)
		case fieldMutationQualifier:
			column = string(in.content)
		case fieldAddTime:
			micros = int64(in.varint)
		case fieldAddInput:
			number = int64(in.varint)
		}
	}
	m.AddIntToCell(family, column, bigtable.Timestamp(micros), number)
}

// timeRange decodes a range of timestamps.
func timeRange(message []byte) (from, to bigtable.Timestamp) {
	var f field
	for len(message) > 0 {
		n := f.next(message)
		if n < 0 {
			break
		}
		switch f.number {
		case fieldRangeStart:
			from = bigtable.Timestamp(f.varint)
		case fieldRangeEnd:
			to = bigtable.Timestamp(f.varint)
		}
		message = message[n:]
	}
	return from, to
}
