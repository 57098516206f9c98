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
	used     bool // by the codec, for the message that is received

	rows *Rows  // since the last placeholder, and behind them the row that is in progress
	keys []byte // theirs, one after the other

	state     state
	begun     mark // of the row that is in progress
	mixed     bool // it has cells of several families
	size      int  // of the row on the wire
	key       []byte
	family    Text
	qualifier Text
	micros    int64
	value     Text   // of the cell that is in progress
	last      []byte // the key of the row before

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
	if d.rows != nil {
		d.rows.release()
	}
	*d = decoder{
		option: d.option, key: d.key[:0], last: d.last[:0], keys: d.keys[:0],
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

// plain takes in the chunks at the beginning of a message that are no more than a cell
// of the row in progress, of the family before, as nearly all are. It returns how long
// they are.
func (d *decoder) plain(message []byte) (n int) {
	if d.state != rowInProgress {
		return 0
	}
	r := d.rows
	columns, cells, memory := r.columns, r.cells, r.memory
	for len(message)-n >= minPlain && d.size+n <= maxRow-maxShort {
		field := message[n:]
		end, at := 2+int(field[1]), 2 // of the chunk, and of its timestamp
		if field[2] == tagQualifier {
			at = 4 + int(field[3])
			if at+minTime > len(field) || !wrapped(field[4:at]) {
				break
			}
		}
		if field[0] != tagChunks || field[1] > maxShort || field[at] != tagTimestamp {
			break
		}
		micros, length := shortVarint(field[at+1:])
		value := at + 1 + length + 2 // after its tag and its length
		if length == 0 || value > end || end > len(field) || field[value-2] != tagValue || int(field[value-1]) != end-value {
			break
		}
		if at > 2 && !bytes.Equal(field[6:at], memory[d.qualifier.Begin:d.qualifier.End]) {
			d.qualifier = Text{uint32(len(memory)), uint32(len(memory) + at - 6)}
			memory = append(memory, field[6:at]...)
			columns[len(columns)-1].end = uint32(len(cells))
			columns = append(columns, Column{Family: d.family, Qualifier: d.qualifier, begin: uint32(len(cells))})
		}
		begin := len(memory)
		memory = append(memory, field[value:end]...)
		cells = append(cells, Cell{Micros: int64(micros), Value: Text{uint32(begin), uint32(len(memory))}})
		n += end
	}
	columns[len(columns)-1].end = uint32(len(cells))
	r.columns, r.cells, r.memory = columns, cells, memory
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
	piece := d.rows.keep(c.value)
	if d.state != cellInProgress {
		d.value = piece
	}
	d.value.End = piece.End // the pieces of a value follow one another
	if c.valueSize > 0 {
		d.state = cellInProgress
		return
	}
	d.rows.add(d.micros, d.value)
	d.state = rowInProgress
	if c.commit {
		d.commit()
	}
}

// start begins a row.
func (d *decoder) start(c *chunk) {
	if d.rows == nil {
		d.rows = pool.Get().(*Rows)
	}
	d.begun, d.mixed = d.rows.mark(), false
	d.key = append(d.key[:0], c.rowKey...)
	d.family = d.rows.keep(c.family.value)
	d.qualifier = d.rows.keep(c.qualifier.value)
	d.micros = c.micros
	d.rows.begin(d.family, d.qualifier)
}

// address begins a cell of a row that is in progress: of the column before, as far
// as the chunk does not say otherwise.
func (d *decoder) address(c *chunk) {
	d.micros = c.micros
	same := true
	if c.family.given && !bytes.Equal(c.family.value, d.bytes(d.family)) {
		d.family, same, d.mixed = d.rows.keep(c.family.value), false, true
	}
	if c.qualifier.given && !bytes.Equal(c.qualifier.value, d.bytes(d.qualifier)) {
		d.qualifier, same = d.rows.keep(c.qualifier.value), false
	}
	if !same {
		d.rows.begin(d.family, d.qualifier)
	}
}

// bytes returns a text of the row.
func (d *decoder) bytes(t Text) []byte { return d.rows.memory[t.Begin:t.End] }

// commit ends a row.
func (d *decoder) commit() {
	if d.mixed {
		d.rows.sort(d.begun.columns)
	}
	d.keys = append(d.keys, d.key...)
	d.rows.end(len(d.keys))
	d.last, d.key = d.key, d.last
	d.size, d.state = 0, newRow
	if d.single || len(d.rows.memory) > maxRow {
		d.flush()
	}
}

// flush hands the rows over, and one placeholder for all of them to the client: it
// has the key of the last one, after which the client resumes. A row that is in
// progress stays.
func (d *decoder) flush() {
	if d.rows == nil || d.rows.Len() == 0 {
		return
	}
	rows := d.rows
	d.rows = nil
	if d.state != newRow {
		d.rows = rows.cut(d.begun)
		d.family, d.qualifier, d.value = d.family.back(d.begun), d.qualifier.back(d.begun), d.value.back(d.begun)
		d.begun = mark{}
	}
	rows.keys = string(d.keys)
	d.keys = d.keys[:0]
	p := d.placeholder()
	p.RowKey = append(p.RowKey[:0], d.last...)
	p.TimestampMicros = d.sink.put(rows)
}

// drop forgets the row that is in progress.
func (d *decoder) drop() {
	if d.state != newRow {
		d.rows.forget(d.begun)
	}
	d.size, d.state = 0, newRow
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
