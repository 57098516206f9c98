package wire

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// state is the position of the stream within a row.
type state int

const (
	newRow state = iota
	rowInProgress
	cellInProgress
)

// maxRow is the maximum size of a row on the wire, in bytes: more than Bigtable allows
// for a row, and the maximum size of a message that the client accepts.
const maxRow = 256 << 20

// maxHeld is the maximum size in memory of a response and the row in progress, in bytes: what
// a row of 256 MiB takes whose columns have names and cells of a byte each.
const maxHeld = 1 << 30

// maxCopied is the maximum size in bytes of what is decoded by the protobuf library, which
// takes up to a hundred times as much memory.
const maxCopied = 64 << 10

// TooLargeError reports a row or a response that exceeds a limit of the decoder. Bigtable sends none.
type TooLargeError struct{ Reason string }

func (e *TooLargeError) Error() string { return e.Reason }

var (
	errTooLarge = &TooLargeError{"a row exceeds 256 MiB"}
	errHeld     = &TooLargeError{"a response takes more than 1 GiB of memory"}
	errBroken   = errors.New("a large response violates the protocol")
)

// decoder decodes the responses of one stream. It follows the client's chunk reader step by step, with one
// difference: a row may continue in the next response, as the protocol allows.
type decoder struct {
	option   grpc.CallOption // makes a stream use this decoder
	sink     *Sink
	reversed bool
	single   bool // one placeholder per row, because the client counts them
	used     bool // the codec decoded the current message
	most     int  // maxHeld, or less in tests; 0 for maxHeld

	rows   *Rows  // rows since the last placeholder, then the row in progress
	keys   []byte // concatenated keys of rows
	before mark   // end of rows when the response arrived; invalid if the rows were moved since

	state     state
	begun     mark // start of the row in progress
	mixed     bool // the row has cells of several families
	size      int  // size of the row on the wire
	key       []byte
	family    Text
	qualifier Text
	micros    int64
	pieces    []byte // value of the cell in progress
	broken    bool   // a chunk of the response violates the protocol
	dropped   bool   // the decoder dropped a partial row since the response arrived
	last      []byte // key of the previous row

	placeholders []*bigtablepb.ReadRowsResponse_CellChunk // reused, like response
	response     []*bigtablepb.ReadRowsResponse_CellChunk // the client's chunks
}

// decoders is a pool of decoders of finished streams.
var decoders = sync.Pool{New: func() any {
	d := new(decoder)
	d.option = grpc.ForceCodecV2(codec{d})
	return d
}}

// release returns the memory of the decoder to the pools.
func (d *decoder) release() {
	if d.rows != nil {
		d.rows.release()
	}
	for _, kept := range []*[]byte{&d.pieces, &d.key, &d.last, &d.keys} {
		if cap(*kept) > maxKept {
			*kept = nil
		}
	}
	if len(d.placeholders) > maxPlaceholders {
		d.placeholders, d.response = nil, nil
	}
	*d = decoder{
		option: d.option, key: d.key[:0], last: d.last[:0], keys: d.keys[:0], pieces: d.pieces[:0],
		placeholders: d.placeholders, response: d.response[:0],
	}
	decoders.Put(d)
}

// maxPlaceholders is the maximum number of placeholders that a pooled decoder keeps.
const maxPlaceholders = 10_000

// maxMemory is the maximum size of the responses that contain one row, in bytes. They may contain more than the row.
const maxMemory = 4 * maxRow

// decode decodes a response and sets response to what the client gets. If data is not a
// valid response, the rows decoded so far have no placeholder and are ignored.
func (d *decoder) decode(data mem.BufferSlice, response *bigtablepb.ReadRowsResponse) error {
	d.response = d.response[:0]
	at, err := d.load(data)
	if err != nil {
		return err
	}
	message := d.rows.memory[at:]
	rest, err := d.chunks(at)
	if err == nil {
		proto.Reset(response)
		if len(rest) > 0 {
			err = proto.Unmarshal(rest, response)
		}
	}
	if tooLarge, ok := errors.AsType[*TooLargeError](err); ok {
		d.sink.refuse(tooLarge)
		return err
	}
	if err != nil && len(message) <= maxCopied {
		return cmp.Or(proto.Unmarshal(message, response), err) // return the client's own error
	}
	if err != nil {
		return err
	}
	d.flush()
	d.tidy(at)
	response.Chunks = d.response
	return nil
}

// load appends a response to the memory of the rows and returns its offset. There is no
// other copy: columns and cells refer to this memory.
func (d *decoder) load(data mem.BufferSlice) (at int, err error) {
	if d.rows == nil {
		d.rows = pool.Get().(*Rows)
	}
	r, n := d.rows, data.Len()
	if at = len(r.memory); n > maxMemory-at {
		d.sink.refuse(errTooLarge)
		return 0, errTooLarge
	}
	r.memory = slices.Grow(r.memory, n)[:at+n]
	data.CopyTo(r.memory[at:])
	d.before, d.dropped = r.mark(), false
	return at, nil
}

// tidy releases the memory of the response at the given offset that the row in progress does not need.
func (d *decoder) tidy(at int) {
	switch r := d.rows; {
	case r == nil:
	case d.state == newRow:
		r.memory = r.memory[:0]
	case d.dropped:
		d.carry()
		r.release()
	case r.mark() == d.before: // the response contains only a piece of a value
		r.memory = r.memory[:at]
	}
}

// chunks decodes the chunks of the response at the given offset and returns its other fields. After a chunk that
// violates the protocol it still validates the others, because an invalid response must yield no rows.
func (d *decoder) chunks(at int) (rest []byte, err error) {
	var f field
	var c chunk
	d.broken = false
	message := d.rows.memory // fixed, although memory may grow
	for at = d.fast(message, at, &c); at < len(message); at = d.fast(message, at, &c) {
		n := f.next(message[at:])
		if n < 0 {
			return nil, errWire
		}
		if at += n; !f.is(fieldChunks, protowire.BytesType) {
			if rest = append(rest, message[at-n:at]...); len(rest) > maxCopied {
				return nil, errHeld
			}
			continue
		}
		if err := c.parse(message[:at], at-len(f.content)); err != nil {
			return nil, err
		}
		if d.size += len(f.content); d.size > maxRow {
			return nil, errTooLarge
		}
		if d.held() > cmp.Or(d.most, maxHeld) {
			return nil, errHeld
		}
		if !d.broken && !d.allowed(&c) {
			if len(f.content) > maxCopied {
				return nil, errBroken
			}
			d.broken = true
			d.refuse(f.content)
		}
		if !d.broken {
			d.take(&c)
		}
	}
	return rest, nil
}

// held returns the size in memory of the rows, in bytes, with what the client needs for each placeholder.
func (d *decoder) held() int {
	r := d.rows
	if r == nil {
		return 0
	}
	each := 16
	if d.single {
		each += 512
	}
	return len(r.memory) + 16*len(r.cells) + 24*len(r.columns) + each*len(r.rows) + len(d.keys) + len(d.pieces)
}

// fast decodes the chunks from the given offset on that most responses consist of. c is the chunk before them,
// if there is one. It returns the offset after them.
func (d *decoder) fast(message []byte, at int, c *chunk) int {
	if d.state == newRow {
		return d.whole(message, at, c)
	}
	return d.plain(message, at)
}

// whole decodes the chunks from the given offset on that each are a row of one cell, in the column of the chunk
// before them. It returns the offset after them.
func (d *decoder) whole(message []byte, at int, c *chunk) int {
	if d.broken || c.address.Len() == 0 {
		return at
	}
	r, begin := d.rows, at
	address := message[c.address.Begin:c.address.End]
	last := d.last
	for room := (cmp.Or(d.most, maxHeld) - d.held()) / maxWhole; room > 0; room-- {
		w, end := wholeRow(message, at, address)
		if end == 0 || !d.ordered(last, message[w.key.Begin:w.key.End]) {
			break
		}
		last = message[w.key.Begin:w.key.End]
		d.keys = append(d.keys, last...)
		n := uint32(len(r.cells))
		r.cells = append(r.cells, Cell{w.micros, w.value})
		r.columns = append(r.columns, Column{c.family.value, c.qualifier.value, n, n + 1})
		r.end(len(d.keys), w.size)
		at = end
	}
	if at > begin {
		d.last = append(d.last[:0], last...)
	}
	return at
}

// plain decodes the chunks from the given offset on that contain just a cell of the row
// in progress in the current family, as most do. It returns the offset after them.
func (d *decoder) plain(message []byte, at int) int {
	if d.state != rowInProgress {
		return at
	}
	r := d.rows
	columns, cells, begin := r.columns, r.cells, at
	family, qualifier := d.family, d.qualifier
	left := (cmp.Or(d.most, maxHeld) - d.held()) / 40                                   // columns with a cell
	last := min(len(message)-minPlain, at+maxRow-maxShort-d.size, at+(left-1)*minPlain) // the last offset at which such a chunk may begin
	for at <= last {
		end, time := at+2+int(message[at+1]), at+2
		if message[time] == tagQualifier {
			time += 2 + int(message[at+3])
			if time+minTime > len(message) || !wrapped(message[at+4:time]) {
				break
			}
		}
		if message[at] != tagChunks || message[at+1] > maxShort || message[time] != tagTimestamp {
			break
		}
		micros, n := shortVarint(message[time+1:])
		value := time + 1 + n
		if value != end { // not empty
			value += 2 // skip the tag and the length
			if value > end || end > len(message) || message[value-2] != tagValue || int(message[value-1]) != end-value {
				break
			}
		}
		if n == 0 {
			break
		}
		if time > at+2 && !sameName(message[at+6:time], message[qualifier.Begin:qualifier.End]) {
			qualifier = Text{uint32(at + 6), uint32(time)}
			columns[len(columns)-1].end = uint32(len(cells))
			columns = append(columns, Column{Family: family, Qualifier: qualifier, begin: uint32(len(cells))})
		}
		cells = append(cells, Cell{Micros: int64(micros), Value: Text{uint32(value), uint32(end)}})
		at = end
	}
	columns[len(columns)-1].end = uint32(len(cells))
	r.columns, r.cells, d.qualifier = columns, cells, qualifier
	d.size += at - begin
	return at
}

// allowed reports whether the protocol allows the chunk in the current state.
func (d *decoder) allowed(c *chunk) bool {
	if d.state == newRow {
		return !c.reset && c.rowKey.Len() > 0 && c.family.given && c.qualifier.given && d.follows(d.rows.bytes(c.rowKey))
	}
	if c.reset && (c.addressed() || c.value.Len() > 0 || c.valueSize != 0 || c.labelled) {
		return false
	}
	if c.commit && c.valueSize > 0 {
		return false
	}
	if d.state == cellInProgress {
		return c.reset || !c.addressed()
	}
	same := c.rowKey.Len() == 0 || bytes.Equal(d.rows.bytes(c.rowKey), d.key)
	return same && (c.qualifier.given || !c.family.given)
}

// follows reports whether a row with this key may follow the previous one.
func (d *decoder) follows(key []byte) bool { return d.ordered(d.last, key) }

// ordered reports whether a row with this key may follow one with the other, which is empty before the first.
func (d *decoder) ordered(before, key []byte) bool {
	if len(before) == 0 {
		return true
	}
	if d.reversed {
		return bytes.Compare(key, before) < 0
	}
	return bytes.Compare(key, before) > 0
}

// take processes a valid chunk.
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
	value := c.value
	if d.state == cellInProgress || c.valueSize > 0 {
		d.pieces = append(d.pieces, d.rows.bytes(c.value)...)
		if c.valueSize > 0 {
			d.state = cellInProgress
			return
		}
		value = d.rows.keep(d.pieces)
		d.pieces = d.pieces[:0]
	}
	d.rows.add(d.micros, value)
	d.state = rowInProgress
	if c.commit {
		d.commit()
	}
}

// start starts a row.
func (d *decoder) start(c *chunk) {
	d.begun, d.mixed = d.rows.mark(), false
	d.key = append(d.key[:0], d.rows.bytes(c.rowKey)...)
	d.family, d.qualifier, d.micros = c.family.value, c.qualifier.value, c.micros
	d.rows.begin(d.family, d.qualifier)
}

// address starts a cell of the row in progress. Family and qualifier default to those of the previous cell.
func (d *decoder) address(c *chunk) {
	d.micros = c.micros
	same := true
	if c.family.given && !d.equal(c.family.value, d.family) {
		d.family, same, d.mixed = c.family.value, false, true
	}
	if c.qualifier.given && !d.equal(c.qualifier.value, d.qualifier) {
		d.qualifier, same = c.qualifier.value, false
	}
	if !same {
		d.rows.begin(d.family, d.qualifier)
	}
}

func (d *decoder) equal(a, b Text) bool { return bytes.Equal(d.rows.bytes(a), d.rows.bytes(b)) }

// commit completes a row.
func (d *decoder) commit() {
	if d.mixed {
		d.rows.sort(d.begun.columns)
	}
	d.keys = append(d.keys, d.key...)
	d.rows.end(len(d.keys), d.size)
	d.last, d.key = d.key, d.last
	d.size, d.state = 0, newRow
}

// flush passes the completed rows to the sink and their placeholders to the client. If one placeholder stands for all
// rows, it has the key of the last one, after which the client would resume. A row in progress stays.
func (d *decoder) flush() {
	rows := d.rows
	if rows == nil || len(rows.rows) == 0 {
		return
	}
	if d.rows = nil; d.state != newRow {
		d.rows = rows
		d.carry()
	}
	rows.apart = d.single
	rows.text, d.keys = d.keys, rows.text[:0]
	n := len(rows.rows)
	if !d.single {
		d.place(Some{rows, 0, n})
		return
	}
	for i := range n {
		d.place(Some{rows, i, i + 1})
	}
}

// place passes rows to the sink and adds their placeholder.
func (d *decoder) place(rows Some) {
	p := d.placeholder()
	p.RowKey = append(p.RowKey[:0], rows.At(rows.Len()-1).KeyBytes()...)
	p.TimestampMicros = d.sink.put(rows)
}

// carry moves the row in progress to a new Rows.
func (d *decoder) carry() {
	d.rows = d.rows.cut(d.begun)
	d.begun, d.before, d.dropped = mark{}, mark{-1, -1}, false
	column := &d.rows.columns[len(d.rows.columns)-1]
	d.family, d.qualifier = column.Family, column.Qualifier
}

// drop discards the row in progress.
func (d *decoder) drop() {
	if d.state != newRow {
		d.rows.forget(d.begun)
		d.dropped = true
	}
	d.pieces = d.pieces[:0]
	d.size, d.state = 0, newRow
}

// placeholder adds a row of one cell to the response for the client.
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

// Parts that all placeholders share.
var (
	noFamily    = wrapperspb.String(placeholderFamily)
	noQualifier = wrapperspb.Bytes(nil)
	committed   = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
)

// refuse makes the client report what is wrong with a chunk: it puts the client in the
// same state and passes the chunk on.
func (d *decoder) refuse(message []byte) {
	d.flush()
	d.stand()
	c := new(bigtablepb.ReadRowsResponse_CellChunk)
	if err := proto.Unmarshal(message, c); err == nil { // always: it was parsed before
		d.response = append(d.response, c)
	}
	d.drop()
}

// unfinished makes the client report that the stream ended within a row.
func (d *decoder) unfinished(response *bigtablepb.ReadRowsResponse) {
	d.response = d.response[:0]
	d.stand()
	d.drop()
	response.Chunks = d.response
}

// stand adds a chunk that puts the client in the state of the decoder.
func (d *decoder) stand() {
	if d.state == newRow {
		return
	}
	c := &bigtablepb.ReadRowsResponse_CellChunk{
		RowKey:          bytes.Clone(d.key),
		FamilyName:      noFamily,
		Qualifier:       noQualifier,
		TimestampMicros: -1, // belongs to no row
	}
	if d.state == cellInProgress {
		c.ValueSize = 1
	}
	d.response = append(d.response, c)
}
