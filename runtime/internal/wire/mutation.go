package wire

import (
	"bytes"

	"cloud.google.com/go/bigtable"
	"google.golang.org/protobuf/encoding/protowire"
)

// Mutations have a wire form of their own here: each is a field of the entry that
// it is for, so that those of one row are put together by putting their bytes
// together.

// The numbers of the fields of the messages.
const (
	fieldEntries = 2 // of MutateRowsRequest

	fieldEntryKey  = 1
	fieldMutations = 2

	fieldSetCell          = 1
	fieldDeleteFromColumn = 2
	fieldDeleteFromFamily = 3

	// Those of the three are numbered alike.
	fieldMutationFamily    = 1
	fieldMutationQualifier = 2
	fieldMutationMicros    = 3 // SetCell
	fieldMutationRange     = 3 // DeleteFromColumn
	fieldMutationValue     = 4

	fieldRangeStart = 1
	fieldRangeEnd   = 2
)

// AppendFamily appends the address of all columns of a family.
func AppendFamily(dst []byte, family string) []byte {
	dst = protowire.AppendTag(dst, fieldMutationFamily, protowire.BytesType)
	return protowire.AppendString(dst, family)
}

// AppendQualifier makes of the address of a family that of one of its columns.
func AppendQualifier(dst, qualifier []byte) []byte {
	if len(qualifier) == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, fieldMutationQualifier, protowire.BytesType)
	return protowire.AppendBytes(dst, qualifier)
}

// AppendSetCell appends a mutation that sets the cell of a column that has the
// timestamp.
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

// appendTime appends a timestamp as it stands in mutations that set a cell.
func appendTime(dst []byte, micros int64) []byte {
	if micros == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, fieldMutationMicros, protowire.VarintType)
	return protowire.AppendVarint(dst, uint64(micros))
}

// Where the lengths are in a mutation that sets a cell and takes less than 128
// bytes: each is one byte.
const (
	mutationLength = 1
	cellLength     = 3
	shortHead      = 4
)

// Setter is what the mutations that set the cells of a column begin with, up to and
// with the timestamp. It saves a writer of many cells from making it each time.
type Setter struct {
	head    []byte
	address int // where it ends in the head
	micros  int64
}

// NewSetter returns the setter of the column with the address.
func NewSetter(address []byte) Setter {
	head := protowire.AppendTag(nil, fieldMutations, protowire.BytesType)
	head = protowire.AppendTag(append(head, 0), fieldSetCell, protowire.BytesType)
	s := Setter{head: append(append(head, 0), address...), address: shortHead + len(address)}
	s.stamp(new(Timestamp))
	return s
}

// Address returns the address of the column.
func (s *Setter) Address() []byte { return s.head[shortHead:s.address] }

// stamp puts a timestamp, and the beginning of the value, behind the address.
func (s *Setter) stamp(t *Timestamp) {
	s.micros = t.Micros
	s.head = append(append(s.head[:s.address], t.wire...), fieldMutationValue<<3|byte(protowire.BytesType), 0)
}

// Begin begins a mutation as [AppendSetCell] does, at less cost: the value is to be
// appended to what it returns, and then [EndCell] called.
func (s *Setter) Begin(dst []byte, t *Timestamp) []byte {
	if s.micros != t.Micros {
		s.stamp(t)
	}
	return append(dst, s.head...)
}

// Timestamp is the timestamp of cells, also in wire form.
type Timestamp struct {
	Micros int64
	wire   []byte
}

// Set sets the timestamp.
func (t *Timestamp) Set(micros int64) {
	if t.Micros != micros {
		t.Micros, t.wire = micros, appendTime(t.wire[:0], micros)
	}
}

// EndCell ends the mutation that begins in b at one place, and has its value from
// another one on. It reports whether it could be done: if not, the mutation has
// another form, which is AppendSetCell's.
func EndCell(b []byte, begin, value int) bool {
	if len(b)-begin > 127 || len(b) == value {
		return false
	}
	b[begin+mutationLength] = byte(len(b) - begin - mutationLength - 1)
	b[begin+cellLength] = byte(len(b) - begin - cellLength - 1)
	b[value-1] = byte(len(b) - value)
	return true
}

// AppendDeleteCells appends a mutation that deletes the cells of a column that
// have a timestamp in [from, to); to is not 0.
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

// appendMutation appends what stands before the fields of a mutation of a kind,
// which take so many bytes.
func appendMutation(dst []byte, kind protowire.Number, size int) []byte {
	dst = protowire.AppendTag(dst, fieldMutations, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(1+protowire.SizeBytes(size)))
	dst = protowire.AppendTag(dst, kind, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(size))
}

// Names keeps the names of families and columns, so that there is one string for all
// cells of a column. A nil Names keeps none.
type Names map[string]string

// maxNames is how many names are kept: where columns are named by data, no more.
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

// AddTo adds mutations in wire form to one of the client. It keeps nothing of their
// memory.
func AddTo(m *bigtable.Mutation, names Names, mutations []byte) {
	slab := bytes.Clone(mutations) // all values are parts of it
	var outer, kind field
	for len(slab) > 0 {
		n := outer.next(slab)
		if n < 0 || kind.next(outer.content) < 0 {
			return // none of ours
		}
		addMutation(m, names, kind.number, kind.content)
		slab = slab[n:]
	}
}

// addMutation adds a mutation of a kind to those of the client.
func addMutation(m *bigtable.Mutation, names Names, kind protowire.Number, fields []byte) {
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

// timeRange takes a range of timestamps apart.
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
