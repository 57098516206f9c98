package wire

import (
	"context"
	"errors"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// Outbox holds the entries of one MutateRows request in wire form, and what the
// server says of each. The client is handed a single placeholder in their stead:
// the interceptor puts the entries that are still to be sent in its place, and
// tells the client no more of the answers than whether it should try again. So
// the client does retries, deadlines, headers, metrics and tracing, and its cost
// is that of one entry.
//
// What is tried again is what the client itself would: after an attempt that came
// to its end, the entries whose errors pass; after one that broke off, all that
// it had sent.
type Outbox struct {
	entries *[]byte // fields of the request, one after another
	ends    []int   // of each entry in it
	buffer  mem.Buffer

	pending []int // what is to be sent, by number; all entries if it is nil
	results []result
	answers []answer // of the response that is being decoded
	err     error    // of the call
	// attempts is how often the entries were encoded, to be sent: by the client, or by
	// an interceptor that tries again by itself.
	attempts int
	memory   *outboxMemory
}

// outboxMemory is slices of an outbox that is not needed any more.
type outboxMemory struct {
	ends    []int
	results []result
	answers []answer
}

var outboxMemories = sync.Pool{New: func() any { return new(outboxMemory) }}

// result is what the server has said of an entry.
type result struct {
	seen   bool  // in the attempt that is under way
	stored bool  // for good, whatever becomes of it if it is sent again
	unsure bool  // an attempt before may have stored it, and did not say so
	err    error // the last one
}

// EntrySize returns the bytes that an entry takes in a request, whose mutations
// take so many.
func EntrySize(key []byte, mutations int) int {
	return 1 + protowire.SizeBytes(entrySize(key, mutations))
}

// entrySize is what an entry takes without its tag and its length.
func entrySize(key []byte, mutations int) int {
	return 1 + protowire.SizeBytes(len(key)) + mutations
}

// NewOutbox returns an outbox for so many entries that take so many bytes. Its
// memory is used again after [Outbox.Release].
func NewOutbox(entries, bytes int) *Outbox {
	m := outboxMemories.Get().(*outboxMemory)
	return &Outbox{
		entries: requests.Get(bytes), ends: slices.Grow(m.ends[:0], entries),
		results: slices.Grow(m.results[:0], entries)[:entries], answers: slices.Grow(m.answers[:0], entries), memory: m,
	}
}

// requestPool is a pool as gRPC has it, but for the zeros that its own fill memory
// with: it gives slices without a length.
type requestPool struct{ pool sync.Pool }

var requests requestPool

// Get returns an empty slice with room for so many bytes.
func (p *requestPool) Get(size int) *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok && cap(*b) >= size {
		*b = (*b)[:0]
		return b
	}
	b := make([]byte, 0, max(size, 64<<10))
	return &b
}

// Put takes a slice that nothing refers to any more.
func (p *requestPool) Put(b *[]byte) { p.pool.Put(b) }

// Entry adds an entry. Its mutations, which take so many bytes, are to follow.
func (o *Outbox) Entry(key []byte, mutations int) {
	b := protowire.AppendTag(*o.entries, fieldEntries, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(entrySize(key, mutations)))
	b = protowire.AppendTag(b, fieldEntryKey, protowire.BytesType)
	*o.entries = protowire.AppendBytes(b, key)
	o.ends = append(o.ends, len(*o.entries)+mutations)
}

// Add adds mutations to the last entry.
func (o *Outbox) Add(mutations []byte) { *o.entries = append(*o.entries, mutations...) }

// placeholder is what the client gets in place of all entries. No family can have
// this name: a request that were sent as it is would be refused, and change nothing.
var placeholder = func() []*bigtable.Mutation {
	m := bigtable.NewMutation()
	m.Set(placeholderFamily, "", 0, nil)
	return []*bigtable.Mutation{m}
}()

var placeholderKey = []string{"wire placeholder"}

type outboxKey struct{}

// Send writes the entries, by the client's own call. It must be known of the table
// that its calls are [Intercepted]. It reports whether the entries were sent, or may
// have been: if not, no outcome of theirs is known, and they may be sent otherwise.
func (o *Outbox) Send(ctx context.Context, table bigtable.TableAPI) (sent bool) {
	o.buffer = mem.NewBuffer(o.entries, &requests)
	errs, err := table.ApplyBulk(context.WithValue(ctx, outboxKey{}, o), placeholderKey, placeholder)
	if err == nil && len(errs) > 0 {
		err = errs[0]
	}
	o.err = err
	return o.attempts > 0
}

// errUnanswered says that the client reports success of entries that were not sent.
var errUnanswered = errors.New("the entry has no answer")

// UnsureError is the error of an entry that may be stored all the same: it was sent
// more than once, and what came of that is not known each time.
type UnsureError struct{ Err error }

// Error says what became of the entry in the end.
func (e *UnsureError) Error() string { return e.Err.Error() }

// Unwrap returns what became of the entry in the end.
func (e *UnsureError) Unwrap() error { return e.Err }

// Err returns why an entry is not known to be stored; nil if it is. What the server
// has said of it counts, also if the call was then given up. It is an *UnsureError
// if an attempt that did not say so may have stored the entry.
func (o *Outbox) Err(entry int) error {
	r := &o.results[entry]
	switch {
	case r.stored:
		return nil
	case r.unsure, r.err != nil && o.err != nil && !r.seen:
		return &UnsureError{o.last(r)}
	}
	return o.last(r)
}

// last returns the last error of an entry that is not stored.
func (o *Outbox) last(r *result) error {
	switch {
	case r.err != nil && (o.err == nil || !Passes(r.err)):
		return r.err
	case o.err != nil:
		return o.err
	}
	return errUnanswered
}

// Release gives the memory back, that of the entries as soon as gRPC is done with it
// too. Nothing may be asked of the outbox afterwards.
func (o *Outbox) Release() {
	o.buffer.Free()
	clear(o.results)
	clear(o.answers[:cap(o.answers)])
	*o.memory = outboxMemory{ends: o.ends, results: o.results, answers: o.answers}
	outboxMemories.Put(o.memory)
	o.ends, o.results, o.answers, o.memory = nil, nil, nil, nil
}

// Passes reports whether the client would try an entry with the error again.
func Passes(err error) bool {
	c := status.Code(err)
	return c == codes.DeadlineExceeded || c == codes.Unavailable || c == codes.Aborted
}

// begin begins an attempt. What is sent again was not answered the last time, or with
// an error that does not say that it is not stored.
func (o *Outbox) begin() {
	for i := range o.sent() {
		r := &o.results[o.number(i)]
		r.unsure = r.unsure || o.attempts > 0 && (!r.seen || Passes(r.err))
		r.seen = false
	}
	o.attempts++
}

// number returns the number of the i-th entry of a request.
func (o *Outbox) number(i int) int {
	if o.pending == nil {
		return i
	}
	return o.pending[i]
}

// sent returns how many entries a request has.
func (o *Outbox) sent() int {
	if o.pending == nil {
		return len(o.ends)
	}
	return len(o.pending)
}

// take takes in what the server says of entries.
func (o *Outbox) take() {
	for i := range o.answers {
		a := &o.answers[i]
		if a.index < 0 || a.index >= int64(o.sent()) {
			continue
		}
		r := &o.results[o.number(int(a.index))]
		r.seen = true
		switch {
		case !a.given:
			r.err = status.Error(codes.Internal, "bigtable: missing status in response entry")
		case a.code == int32(codes.OK):
			r.stored, r.err = true, nil
		default:
			r.err = status.Error(codes.Code(a.code), string(a.message))
		}
	}
}

// end ends an attempt that came to its end, and returns what the client is told of
// its placeholder: an error if there are entries that it should try again.
func (o *Outbox) end() *status.Status {
	again := []int{}
	for i := range o.sent() {
		n := o.number(i)
		r := &o.results[n]
		if !r.seen {
			r.err = status.Error(codes.Internal, "bigtable: missing entry result in MutateRows response")
		}
		if Passes(r.err) {
			again = append(again, n)
		}
	}
	o.pending = again
	if len(again) == 0 {
		return status.New(codes.OK, "")
	}
	return status.Convert(o.results[again[0]].err)
}

// unsent returns the entries that are to be sent, as a reference of its own.
func (o *Outbox) unsent() mem.Buffer {
	if o.pending == nil {
		o.buffer.Ref()
		return o.buffer
	}
	var b []byte
	for _, n := range o.pending {
		begin := 0
		if n > 0 {
			begin = o.ends[n-1]
		}
		b = append(b, (*o.entries)[begin:o.ends[n]]...)
	}
	return mem.SliceBuffer(b)
}

// probe says whether the interceptor has seen a call.
type probe struct{ seen bool }

type probeKey struct{}

// Intercepted reports whether calls of a table go through the interceptor: whether its
// codec is used too, [Outbox.Send] says. It makes a call that sends nothing: the
// interceptor ends it, and where there is none, gRPC refuses its header before it looks
// for a connection. False may be no more than the state of the connections just now.
func Intercepted(ctx context.Context, table bigtable.TableAPI) bool {
	var p probe
	ctx, cancel := context.WithCancel(context.WithValue(ctx, probeKey{}, &p))
	cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "not a header", "")
	_, _ = table.ApplyBulk(ctx, placeholderKey, placeholder) // it fails in any case
	return p.seen
}
