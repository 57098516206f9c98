package wire

import (
	"bytes"
	"cmp"
	"errors"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// state is where in a row the stream stands.
type state int

const (
	newRow state = iota
	rowInProgress
	cellInProgress
)

// maxRow is how many bytes a row may take on the wire: more than Bigtable has
// in one, and what the client takes as one message.
const maxRow = 256 << 20

// errTooLarge says that a row is larger than any can be.
var errTooLarge = errors.New("a row of more than 256 MiB")

// decoder decodes the responses of one stream. It follows the client's own reader of
// chunks step by step, but for one thing: the protocol lets a row go on in the
// next response, and so does the decoder.
type decoder struct {
	option   grpc.CallOption // has a stream decoded by it
	sink     *Sink
	reversed bool
	single   bool // each row has a placeholder of its own: the client counts them

	state     state
	row       *Row
	size      int // of the row on the wire
	key       []byte
	family    Text
	qualifier Text
	micros    int64
	value     Text   // of the cell that is in progress
	last      []byte // the key of the row before

	batch []*Row // the rows since the last placeholder
	keys  []byte // theirs, one after the other
	ends  []int  // of the keys

	placeholders []*bigtablepb.ReadRowsResponse_CellChunk // to be used again, as all that follows
	response     []*bigtablepb.ReadRowsResponse_CellChunk // what the client gets
}

// decoders holds decoders of streams that are over, for their memory.
var decoders = sync.Pool{New: func() any {
	d := new(decoder)
	d.option = grpc.ForceCodecV2(codec{d})
	return d
}}

// release gives the memory of the decoder back.
func (d *decoder) release() {
	d.drop()
	clear(d.batch)
	*d = decoder{
		option: d.option, key: d.key[:0], last: d.last[:0], batch: d.batch[:0], keys: d.keys[:0], ends: d.ends[:0],
		placeholders: d.placeholders, response: d.response[:0],
	}
	decoders.Put(d)
}

// decode decodes a response, and sets what the client gets of it. Where it is no
// response, what was understood of it has no placeholder, and is never looked for.
func (d *decoder) decode(message []byte, response *bigtablepb.ReadRowsResponse) error {
	d.response = d.response[:0]
	rest, err := d.chunks(message)
	if err == nil {
		proto.Reset(response)
		if len(rest) > 0 {
			err = proto.Unmarshal(rest, response)
		}
	}
	if err != nil {
		return cmp.Or(proto.Unmarshal(message, response), err) // in the words of the client
	}
	d.flush()
	response.Chunks = d.response
	return nil
}

// chunks takes the chunks of a response in, and returns its other fields. After a
// chunk that breaks the protocol the others are still looked at: what is no
// response at all is refused before any of its rows.
func (d *decoder) chunks(message []byte) (rest []byte, err error) {
	var f field
	var c chunk
	broken := false
	for message = message[d.plain(message):]; len(message) > 0; message = message[d.plain(message):] {
		n := f.next(message)
		switch {
		case n < 0:
			return nil, errWire
		case !f.is(fieldChunks, protowire.BytesType):
			rest = append(rest, message[:n]...)
		default:
			if err := c.parse(f.content); err != nil {
				return nil, err
			}
			if d.size += len(f.content); d.size > maxRow {
				return nil, errTooLarge
			}
			if !broken && !d.allowed(&c) {
				broken = true
				d.refuse(f.content)
			}
			if !broken {
				d.take(&c)
			}
		}
		message = message[n:]
	}
	return rest, nil
}

// plain takes in the chunks at the beginning of a message that are no more than a
// timestamp and a value of the column before, as nearly all are in a row of many
// cells. It returns how long they are.
func (d *decoder) plain(message []byte) (n int) {
	if d.state != rowInProgress {
		return 0
	}
	cells, memory := d.row.cells, d.row.memory
	for len(message)-n >= minPlain && d.size+n <= maxRow-maxShort {
		field := message[n:]
		if field[0] != tagChunks || field[1] > maxShort || field[2] != tagTimestamp {
			break
		}
		micros, length := shortVarint(field[3:])
		value, end := 3+length+2, 2+int(field[1]) // of the value, after its tag and its length
		if length == 0 || value > end || end > len(field) || field[value-2] != tagValue || int(field[value-1]) != end-value {
			break
		}
		begin := len(memory)
		memory = append(memory, field[value:end]...)
		cells = append(cells, Cell{Micros: int64(micros), Value: Text{uint32(begin), uint32(len(memory))}})
		n += end
	}
	d.row.cells, d.row.memory = cells, memory
	d.size += n
	return n
}

// allowed reports whether the protocol allows the chunk where the stream stands.
func (d *decoder) allowed(c *chunk) bool {
	if d.state == newRow {
		return !c.reset && len(c.rowKey) > 0 && c.family.given && c.qualifier.given && d.follows(c.rowKey)
	}
	if c.reset && (c.addressed() || len(c.value) > 0 || c.valueSize != 0 || c.labelled) {
		return false
	}
	if c.commit && c.valueSize > 0 {
		return false
	}
	if d.state == cellInProgress {
		return c.reset || !c.addressed()
	}
	same := len(c.rowKey) == 0 || bytes.Equal(c.rowKey, d.key)
	return same && (c.qualifier.given || !c.family.given)
}

// follows reports whether a row may come after the one before.
func (d *decoder) follows(key []byte) bool {
	if len(d.last) == 0 {
		return true
	}
	if d.reversed {
		return bytes.Compare(key, d.last) < 0
	}
	return bytes.Compare(key, d.last) > 0
}

// take takes a chunk in.
func (d *decoder) take(c *chunk) {
	switch {
	case c.reset:
		d.drop()
		return
	case d.state == newRow:
		d.start(c)
	case d.state == rowInProgress:
		d.address(c)
	}
	piece := d.row.keep(c.value)
	if d.state != cellInProgress {
		d.value = piece
	}
	d.value.End = piece.End // the pieces of a value follow one another
	if c.valueSize > 0 {
		d.state = cellInProgress
		return
	}
	d.row.cells = append(d.row.cells, Cell{Micros: d.micros, Value: d.value})
	d.state = rowInProgress
	if c.commit {
		d.commit()
	}
}

// start begins a row.
func (d *decoder) start(c *chunk) {
	d.row = rows.Get().(*Row)
	d.key = append(d.key[:0], c.rowKey...)
	d.family = d.row.keep(c.family.value)
	d.qualifier = d.row.keep(c.qualifier.value)
	d.micros = c.micros
	d.row.begin(d.family, d.qualifier)
}

// address begins a cell of a row that is in progress: of the column before, as far
// as the chunk does not say otherwise.
func (d *decoder) address(c *chunk) {
	d.micros = c.micros
	same := true
	if c.family.given && !bytes.Equal(c.family.value, d.row.Bytes(d.family)) {
		d.family, same = d.row.keep(c.family.value), false
	}
	if c.qualifier.given && !bytes.Equal(c.qualifier.value, d.row.Bytes(d.qualifier)) {
		d.qualifier, same = d.row.keep(c.qualifier.value), false
	}
	if !same {
		d.row.begin(d.family, d.qualifier)
	}
}

// commit ends a row.
func (d *decoder) commit() {
	d.row.finish()
	d.last = append(d.last[:0], d.key...)
	d.batch = append(d.batch, d.row)
	d.keys = append(d.keys, d.key...)
	d.ends = append(d.ends, len(d.keys))
	d.row = nil
	d.drop()
	if d.single {
		d.flush()
	}
}

// flush hands the rows over, and one placeholder for all of them to the client: it
// has the key of the last one, after which the client resumes.
func (d *decoder) flush() {
	if len(d.batch) == 0 {
		return
	}
	keys, begin := string(d.keys), 0 // one string for all
	for i, row := range d.batch {
		row.key = keys[begin:d.ends[i]]
		begin = d.ends[i]
	}
	p := d.placeholder()
	p.RowKey = append(p.RowKey[:0], d.last...)
	p.TimestampMicros = d.sink.put(d.batch)
	clear(d.batch)
	d.batch, d.keys, d.ends = d.batch[:0], d.keys[:0], d.ends[:0]
}

// drop forgets the row that is in progress.
func (d *decoder) drop() {
	if d.row != nil {
		d.row.Release()
	}
	d.row, d.size, d.state = nil, 0, newRow
}

// placeholder adds a chunk that is a row of one cell to what the client gets.
func (d *decoder) placeholder() *bigtablepb.ReadRowsResponse_CellChunk {
	n := len(d.response)
	if n == len(d.placeholders) {
		d.placeholders = append(d.placeholders, &bigtablepb.ReadRowsResponse_CellChunk{
			FamilyName: noFamily, Qualifier: noQualifier, RowStatus: committed,
		})
	}
	d.response = append(d.response, d.placeholders[n])
	return d.placeholders[n]
}

// The parts of all placeholders.
var (
	noFamily    = wrapperspb.String(placeholderFamily)
	noQualifier = wrapperspb.Bytes(nil)
	committed   = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
)

// refuse has the client itself say what is wrong with a chunk: it brings the client
// to where the stream stands, and hands it the chunk.
func (d *decoder) refuse(message []byte) {
	d.flush()
	d.stand()
	c := new(bigtablepb.ReadRowsResponse_CellChunk)
	if err := proto.Unmarshal(message, c); err == nil { // it was parsed before
		d.response = append(d.response, c)
	}
	d.drop()
}

// unfinished has the client say that the stream ended within a row.
func (d *decoder) unfinished(response *bigtablepb.ReadRowsResponse) {
	d.response = d.response[:0]
	d.stand()
	d.drop()
	response.Chunks = d.response
}

// stand adds a chunk that brings the client into the state of the decoder.
func (d *decoder) stand() {
	if d.state == newRow {
		return
	}
	c := &bigtablepb.ReadRowsResponse_CellChunk{
		RowKey:          bytes.Clone(d.key),
		FamilyName:      noFamily,
		Qualifier:       noQualifier,
		TimestampMicros: -1, // of no row
	}
	if d.state == cellInProgress {
		c.ValueSize = 1
	}
	d.response = append(d.response, c)
}
