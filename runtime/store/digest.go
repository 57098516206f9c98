package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/request"
)

// Digest counts events and has the sum of the hashes of their contents, modulo 2^128.
// The digest of several sets of events is the sum of their digests, in any order. The zero
// Digest is that of no events.
type Digest struct {
	Events    int64
	High, Low uint64
}

// Add adds the digest of other events.
func (d *Digest) Add(o Digest) {
	var carry uint64
	d.Events += o.Events
	d.Low, carry = bits.Add64(d.Low, o.Low, 0)
	d.High, _ = bits.Add64(d.High, o.High, carry)
}

// String returns the sum in hexadecimal and the number of events.
func (d Digest) String() string {
	return fmt.Sprintf("%016x%016x of %s", d.High, d.Low, quantity(int(d.Events), "event"))
}

// digester computes digests of events as one table would store them. Events that were read
// from different tables have equal digests if the table would store them equally, apart
// from their write times. It is not safe for concurrent use.
type digester struct {
	stage *stage
	text  []byte
}

// newDigester returns a digester for a table. at is the time at which it decides which events have expired.
func newDigester(l *mapping, at time.Time) *digester {
	w := new(Writer)
	for _, p := range l.Periods() {
		w.tables = append(w.tables, writerTable{mapping: p, id: p.Table.ID})
	}
	d := &digester{stage: newStage(w)}
	d.move(at)
	return d
}

// of returns the digest of an event, or why the table cannot store it: codec.ErrExpired if
// it has expired at the time of the digester.
func (d *digester) of(e event) (Digest, error) {
	text, err := d.contents(e)
	if err != nil {
		return Digest{}, err
	}
	return digestOf(text), nil
}

// digestOf returns the digest of an event with the given contents.
func digestOf(text []byte) Digest {
	sum := sha256.Sum256(text)
	return Digest{1, binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}

// contents returns the rows and the mutations of an event. They are valid until the next
// call.
func (d *digester) contents(e event) ([]byte, error) {
	var failed error
	d.text = d.text[:0]
	for i := range d.stage.tables {
		d.stage.layOut(i, e)
		switch t := &d.stage.tables[i]; {
		case t.err == request.ErrForeign: // another mapping stores the event
		case t.err != nil:
			failed = t.err
		default:
			d.text = t.cells.appendRows(d.text)
		}
	}
	return d.text, failed
}

// appendRows appends the keys and mutations of the current event, each preceded by its
// length.
func (c *eventCells) appendRows(dst []byte) []byte {
	for _, row := range c.rows {
		if row.Count == 0 {
			continue
		}
		dst = append(binary.AppendUvarint(dst, uint64(len(row.Key))), row.Key...)
		dst = append(binary.AppendUvarint(dst, uint64(row.End-row.Begin)), c.mutations[row.Begin:row.End]...)
	}
	return dst
}
