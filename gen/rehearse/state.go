package rehearse

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// state is one event, and what has happened to it.
type state struct {
	schema  string
	class   string // of its TTL
	absent  string // IDs of the fields that it lacks, each between two of sep
	label   string // the value of its enums
	period  int    // index of the start
	age     ages
	deleted bool
	again   bool // written again
	cells   []cell

	from *state // how it came about
	did  string
}

// cell is a stored cell: the numbers of its place, of its value, and of how it was written.
type cell struct{ key, value, stamp int32 }

// sep separates IDs, which do not have it.
const sep = "\x00"

// next returns a copy of a state, to which something happens.
func (e *state) next(did string) *state {
	out := *e
	out.from, out.did = e, did
	return &out
}

// lacks reports whether an event lacks a field.
func (e *state) lacks(field string) bool { return strings.Contains(e.absent, sep+field+sep) }

// get returns the value of a cell.
func (s *stage) get(e *state, at place) (string, bool) {
	for _, c := range e.cells {
		if s.places.all[c.key] == at {
			return s.values.all[c.value], true
		}
	}
	return "", false
}

// put sets a cell. The cells of a state are shared with others, and never changed.
func (s *stage) put(e *state, at place, value string, by codec.Lifetime) {
	c := cell{s.places.number(at), s.values.number(value), s.stamp(by)}
	i, found := slices.BinarySearchFunc(e.cells, c.key, func(c cell, key int32) int { return cmp.Compare(c.key, key) })
	if found && e.cells[i] == c {
		return
	}
	cells := make([]cell, 0, len(e.cells)+1)
	cells = append(append(cells, e.cells[:i]...), c)
	if found {
		i++
	}
	e.cells = append(cells, e.cells[i:]...)
}

// drop deletes cells.
func (e *state) drop(is func(c cell) bool) {
	if slices.ContainsFunc(e.cells, is) {
		e.cells = slices.DeleteFunc(slices.Clone(e.cells), is)
	}
}

// key returns all that matters of a state.
func (e *state) key() string {
	b := make([]byte, 0, 64+8*len(e.cells))
	for _, text := range []string{e.schema, e.class, e.absent, e.label} {
		b = append(append(b, text...), '\n')
	}
	flags := byte(0)
	if e.deleted {
		flags = 1
	}
	if e.again {
		flags |= 2
	}
	b = binary.LittleEndian.AppendUint32(append(b, flags), uint32(e.period))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.age))
	for _, c := range e.cells {
		b = binary.LittleEndian.AppendUint32(b, uint32(c.key))
		b = binary.LittleEndian.AppendUint32(b, uint32(c.value))
		b = binary.LittleEndian.AppendUint32(b, uint32(c.stamp))
	}
	return string(b)
}

// story tells how a state came about.
func (e *state) story() []string {
	var out []string
	for ; e != nil; e = e.from {
		out = append(out, e.did)
	}
	slices.Reverse(out)
	return out
}
