package store

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// rowOf returns the key of the row with a column of a sample.
func rowOf(l *mappingOf[sample], e *sample, column int) ([]byte, error) {
	return l.untyped().rowKey(event{e}, l.Columns[column].Name)
}

// offsetBlobs returns days with one column per sample and a sequence number.
func offsetBlobs() *mappingOf[sample] {
	l := blobs(days())
	l.Table.ID, l.Pattern = "offsets", codec.BucketOffsets
	l.Sequence = func(e *sample) *uint32 { return &e.Sequence }
	return l
}

// blobs changes a mapping to store samples as one value.
func blobs(l *mappingOf[sample]) *mappingOf[sample] {
	l.Table.ID += "_blobs"
	l.Columns = []Column{{Name: "blob", Whole: true}}
	l.Missing = Required[sample]
	l.Put = func(e *sample, c *eventCells) {
		c.Row(rowOf(l, e, 0))
		blob := binary.BigEndian.AppendUint64(nil, e.Value)
		if e.Note != nil {
			blob = append(append(blob, '.'), e.Note...)
		}
		c.Set(0, blob)
	}
	l.Set = func(e *sample, _ int, blob []byte) error {
		if len(blob) < 8 {
			return errors.New("too short")
		}
		e.Value = binary.BigEndian.Uint64(blob)
		if len(blob) > 8 {
			e.Note = slices.Clone(blob[9:])
		}
		return nil
	}
	return l
}

// classed adds a class to the samples of a mapping, with one family per class.
func classed(l *mappingOf[sample]) *mappingOf[sample] {
	l.Table.ID += "_classed"
	l.Table.Families = []Family{aged("z", 100*24*time.Hour), aged("y", 200*24*time.Hour)}
	for i := range l.Table.Families {
		l.Table.Families[i].Class = i + 1
	}
	l.TTLFields = func(e *sample) TTLFields { return TTLFields{Class: &e.Class} }
	return l
}

// expires adds an expiry to the samples of a mapping, and their write time.
func expires(l *mappingOf[sample]) *mappingOf[sample] {
	l.Table.ID += "_expires"
	family := aged("f.1", time.Second)
	family.Life = codec.Lifetime{Timestamp: codec.TimestampExpiry}
	l.Table.Families = []Family{family}
	l.TTLFields = func(e *sample) TTLFields { return TTLFields{ExpiresAt: &e.ExpiresAt, WrittenAt: &e.WrittenAt} }
	if l.Pattern == codec.BucketOffsets {
		return l // the mapping has no column for it
	}
	written, put, set := len(l.Columns), l.Put, l.Set
	l.Columns = append(slices.Clone(l.Columns), Column{Name: "written", WrittenAt: true})
	l.Put = func(e *sample, c *eventCells) {
		put(e, c)
		c.Set(written, codec.Binary.Timestamp.Append(nil, e.WrittenAt))
	}
	l.Set = func(e *sample, column int, datum []byte) (err error) {
		if column == written {
			e.WrittenAt, err = codec.Binary.Timestamp.Decode(datum)
			return err
		}
		return set(e, column, datum)
	}
	return l
}

// shifted adds an optional expiry to the samples of a mapping, in a second family if there are several columns.
func shifted(l *mappingOf[sample]) *mappingOf[sample] {
	l.Table.ID += "_shifted"
	family := aged("f.1", 100*24*time.Hour)
	family.Life = codec.Lifetime{Timestamp: codec.TimestampShifted, Default: 100 * 24 * time.Hour}
	l.Table.Families = []Family{aged("e", 300*24*time.Hour), family}
	l.Columns = slices.Clone(l.Columns)
	l.Columns[0].Family = 1
	l.TTLFields = func(e *sample) TTLFields { return TTLFields{TTL: &e.TTL, ExpiresAt: &e.ExpiresAt} }
	return l
}

// strategies are mappings of every kind with every way in which events specify their time to live.
func strategies() []*mappingOf[sample] {
	aging := func(l *mappingOf[sample]) *mappingOf[sample] {
		l.Table.ID += "_aging"
		l.Table.Families = []Family{oldAndMany("f.1", 30)}
		return l
	}
	return []*mappingOf[sample]{
		days(), singles(), metrics(), offsetBlobs(), blobs(days()), blobs(singles()),
		aging(days()), aging(metrics()), aging(offsetBlobs()), aging(singles()), unsorted(days()), unsorted(metrics()),
		classed(days()), classed(singles()), classed(metrics()), classed(offsetBlobs()), classed(blobs(days())),
		expires(offsetBlobs()), expires(singles()), expires(blobs(singles())), shifted(singles()), shifted(offsetBlobs()),
	}
}
