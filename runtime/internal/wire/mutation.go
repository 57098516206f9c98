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

// The offsets of the lengths in a SetCell mutation of less than 128 bytes, where each length is one byte.
const (
	mutationLength = 1
	cellLength     = 3
	shortHead      = 4
)

// Setter is the encoded head of the mutations that set cells of one column, up to the
// timestamp. It saves a writer of many cells from encoding it each time.
type Setter struct {
	head    []byte
	address int // its end in head
	micros  int64
}

// NewSetter returns a setter for the column with the given address.
func NewSetter(address []byte) Setter {
	head := protowire.AppendTag(nil, fieldMutations, protowire.BytesType)
	head = protowire.AppendTag(append(head, 0), fieldSetCell, protowire.BytesType)
	s := Setter{head: append(append(head, 0), address...), address: shortHead + len(address)}
	s.stamp(new(Timestamp))
	return s
}

// Address returns the address of the column. The caller must not modify it.
func (s *Setter) Address() []byte { return s.head[shortHead:s.address] }

// stamp writes a timestamp and the tag of the value after the address.
func (s *Setter) stamp(t *Timestamp) {
	s.micros = t.Micros
	s.head = append(append(s.head[:s.address], t.wire...), fieldMutationValue<<3|byte(protowire.BytesType), 0)
}

// Begin begins a mutation like [AppendSetCell], but faster. The caller appends the
// value to the result and calls [EndCell].
func (s *Setter) Begin(dst []byte, t *Timestamp) []byte {
	if s.micros != t.Micros {
		s.stamp(t)
	}
	return append(dst, s.head...)
}

// Timestamp is a cell timestamp and its encoding.
type Timestamp struct {
	Micros int64
	wire   []byte
}

// Set sets the timestamp, in microseconds.
func (t *Timestamp) Set(micros int64) {
	if t.Micros != micros {
		t.Micros, t.wire = micros, appendTime(t.wire[:0], micros)
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

// Names interns the names of families and columns. A nil Names does not.
type Names map[string]string

// maxNames limits the interned names, because column names may be data.
const maxNames = 256

// of returns a name as a string.
func (n Names) of(name []byte) string {
	if known, ok := n[string(name)]; ok {
		return known
	}
	out := string(name)
	if n != nil && len(n) < maxNames {
		n[out] = out
	}
	return out
}

// AddTo adds encoded mutations to a mutation of the client. It does not retain mutations.
func AddTo(m *bigtable.Mutation, names Names, mutations []byte) {
	slab := bytes.Clone(mutations) // all values are parts of this copy
	var outer, kind field
	for len(slab) > 0 {
		n := outer.next(slab)
		if n < 0 || kind.next(outer.content) < 0 {
			return // not encoded by this package
		}
		addMutation(m, names, kind.number, kind.content)
		slab = slab[n:]
	}
}

// addMutation adds a mutation of the given kind to that of the client.
func addMutation(m *bigtable.Mutation, names Names, kind protowire.Number, fields []byte) {
	if kind == fieldAddToCell {
		addSum(m, names, fields)
		return
	}
	var family, qualifier string
	var micros int64
	var value, within []byte
	var f field
	for len(fields) > 0 {
		n := f.next(fields)
		if n < 0 {
			return
		}
		fields = fields[n:]
		switch {
		case f.is(fieldMutationFamily, protowire.BytesType):
			family = names.of(f.content)
		case f.is(fieldMutationQualifier, protowire.BytesType):
			qualifier = names.of(f.content)
		case f.is(fieldMutationMicros, protowire.VarintType):
			micros = int64(f.varint)
		case f.is(fieldMutationRange, protowire.BytesType):
			within = f.content
		case f.is(fieldMutationValue, protowire.BytesType):
			value = f.content
		}
	}
	switch {
	case kind == fieldSetCell:
		m.Set(family, qualifier, bigtable.Timestamp(micros), value)
	case kind == fieldDeleteFromFamily:
		m.DeleteCellsInFamily(family)
	case within == nil:
		m.DeleteCellsInColumn(family, qualifier)
	default:
		from, to := timeRange(within)
		m.DeleteTimestampRange(family, qualifier, from, to)
	}
}

// addSum adds an AddToCell to the mutation of the client.
func addSum(m *bigtable.Mutation, names Names, fields []byte) {
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
			family = names.of(f.content)
		case fieldMutationQualifier:
			column = names.of(in.content)
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
