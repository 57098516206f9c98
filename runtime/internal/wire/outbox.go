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

// Outbox contains the encoded entries of one MutateRows request and what the server reports for each. The client gets
// a single placeholder instead of the entries. The interceptor replaces it by the entries that are still to be sent,
// and reports to the client only whether it should retry. The client thus still does retries, deadlines, headers,
// metrics and tracing, at the cost of one entry.
//
// The outbox retries the same entries as the client would: after a complete response those with transient errors, and
// after a broken stream all that the attempt sent. It is not safe for concurrent use.
//
// # One attempt
//
// Send calls the client, which opens a stream for each attempt. The interceptor gives the stream the codec of the
// outbox (mutateRows), removes the placeholder from the request (SendMsg), and the codec appends the entries that are
// to be sent (Marshal). The codec takes the answers of the server out of each response, so that the client sees empty
// ones (Unmarshal). At the end of the stream, the client gets one answer more, for its placeholder (RecvMsg): success
// or, if any entry should be retried, a transient error, for which the client makes the next attempt.
//
// # What is known about an entry
//
// A wrong answer to "is it stored?" loses data or stores it twice, so each entry has a result:
//
//   - stored is final. The server has said so, and a later failure of the call changes nothing.
//   - seen is whether the current attempt has an answer for the entry. An attempt without one may
//     have stored it, and so may one whose answer is a transient error.
//   - unsure remembers such an attempt once another one begins. If the last attempt fails, too, the
//     error is an [UnsureError], even if its answer is definite: it says nothing about the others.
//
// Attempts are therefore counted where the entries are encoded: an interceptor that repeats a call by itself encodes
// them again. gRPC can repeat a call without that, so its retries are disabled for these streams.
//
// # What must not happen
//
//   - The placeholder is sent: it names a family that cannot exist, so Bigtable rejects it.
//   - The entries are not sent, but the client reports success, because another interceptor forces
//     its codec: then nothing was encoded, the server got a request without entries, and the
//     stream fails. Send returns false, and the caller sends ordinary mutations.
//   - The memory of the entries is reused while gRPC still sends it: a call may end before its
//     request is written. The buffer counts its users, and the last one returns it to the pool.
//   - A server sends answers without end: their number in a response is limited by that of the
//     entries.
type Outbox struct {
	entries *[]byte // fields of the request, concatenated
	ends    []int   // end of each entry
	buffer  mem.Buffer

	pending []int // indexes of the entries to send; nil for all
	results []result
	answers []answer // of the current response
	err     error    // of the call
	// attempts counts how often the entries were encoded for sending, by the client or
	// by an interceptor that retries by itself.
	attempts int
	memory   *outboxMemory
}

// outboxMemory contains the slices of a released outbox.
type outboxMemory struct {
	ends    []int
	results []result
	answers []answer
}

var outboxMemories = sync.Pool{New: func() any { return new(outboxMemory) }}

// result is what is known about an entry.
type result struct {
	seen   bool  // in the current attempt
	stored bool  // final, even if the entry is sent again
	unsure bool  // an earlier attempt without an answer may have stored the entry
	err    error // the last error
}

// EntrySize returns the size in bytes of an entry in a request. mutations is the size of its mutations.
func EntrySize(key []byte, mutations int) int {
	return 1 + protowire.SizeBytes(entrySize(key, mutations))
}

// entrySize returns the size of an entry without its tag and length.
func entrySize(key []byte, mutations int) int {
	return 1 + protowire.SizeBytes(len(key)) + mutations
}

// NewOutbox returns an outbox with capacity for the given number and size of entries.
// [Outbox.Release] makes its memory available for reuse.
func NewOutbox(entries, bytes int) *Outbox {
	m := outboxMemories.Get().(*outboxMemory)
	return &Outbox{
		entries: requests.Get(bytes), ends: slices.Grow(m.ends[:0], entries),
		results: slices.Grow(m.results[:0], entries)[:entries], answers: slices.Grow(m.answers[:0], entries), memory: m,
	}
}

// requestPool is a [mem.BufferPool] that, unlike those of gRPC, does not clear its buffers. They have length 0.
type requestPool struct{ pool sync.Pool }

var requests requestPool

// Get returns an empty slice with at least the given capacity.
func (p *requestPool) Get(size int) *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok && cap(*b) >= size {
		*b = (*b)[:0]
		return b
	}
	b := make([]byte, 0, max(size, 64<<10))
	return &b
}

// Put returns a slice to the pool. Nothing may refer to it any more.
func (p *requestPool) Put(b *[]byte) { p.pool.Put(b) }

// Entry adds an entry. The caller then adds its mutations, which must take the given number of bytes.
func (o *Outbox) Entry(key []byte, mutations int) {
	b := protowire.AppendTag(*o.entries, fieldEntries, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(entrySize(key, mutations)))
	b = protowire.AppendTag(b, fieldEntryKey, protowire.BytesType)
	*o.entries = protowire.AppendBytes(b, key)
	o.ends = append(o.ends, len(*o.entries)+mutations)
}

// Add adds mutations to the last entry.
func (o *Outbox) Add(mutations []byte) { *o.entries = append(*o.entries, mutations...) }

// placeholder is what the client gets instead of the entries. Its family name is invalid, so if it were ever sent,
// Bigtable would reject the request without changing anything.
var placeholder = func() []*bigtable.Mutation {
	m := bigtable.NewMutation()
	m.Set(placeholderFamily, "", 0, nil)
	return []*bigtable.Mutation{m}
}()

var placeholderKey = []string{"wire placeholder"}

type outboxKey struct{}

// Send writes the entries with a call of the client. The calls of the table must be
// [Intercepted]. It reports whether the entries were sent or may have been. If not, the
// outbox knows nothing about them, and the caller may send them in another way.
func (o *Outbox) Send(ctx context.Context, table bigtable.TableAPI) (sent bool) {
	o.buffer = mem.NewBuffer(o.entries, &requests)
	errs, err := table.ApplyBulk(context.WithValue(ctx, outboxKey{}, o), placeholderKey, placeholder)
	if err == nil && len(errs) > 0 {
		err = errs[0]
	}
	o.err = err
	return o.attempts > 0
}

// errUnanswered is the error for an entry for which the client reports success although it was not sent.
var errUnanswered = errors.New("the entry has no answer")

// UnsureError is the error of an entry that may be stored nevertheless: it was sent
// more than once, and the outcome of at least one attempt is unknown.
type UnsureError struct{ Err error }

// Error returns the message of the last error.
func (e *UnsureError) Error() string { return e.Err.Error() }

// Unwrap returns the last error.
func (e *UnsureError) Unwrap() error { return e.Err }

// Err returns nil if the given entry is known to be stored, else the reason. An answer of the server counts even if
// the call failed later. Err returns an *UnsureError if an attempt with an unknown outcome may have stored the entry.
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

// last returns the last error of an entry that is not known to be stored.
func (o *Outbox) last(r *result) error {
	switch {
	case r.err != nil && (o.err == nil || !Passes(r.err)):
		return r.err
	case o.err != nil:
		return o.err
	}
	return errUnanswered
}

// Release makes the memory of the outbox available for reuse, that of the entries as
// soon as gRPC is done with it, too. The caller must not use the outbox afterward.
func (o *Outbox) Release() {
	o.buffer.Free()
	clear(o.results)
	clear(o.answers[:cap(o.answers)])
	*o.memory = outboxMemory{ends: o.ends, results: o.results, answers: o.answers}
	outboxMemories.Put(o.memory)
	o.ends, o.results, o.answers, o.memory = nil, nil, nil, nil
}

// Passes reports whether err is transient, so that the client would retry the entry.
func Passes(err error) bool {
	c := status.Code(err)
	return c == codes.DeadlineExceeded || c == codes.Unavailable || c == codes.Aborted
}

// begin begins an attempt. An entry that is sent again may already be stored, unless
// the previous attempt returned an error that excludes it.
func (o *Outbox) begin() {
	for i := range o.sent() {
		r := &o.results[o.number(i)]
		r.unsure = r.unsure || o.attempts > 0 && (!r.seen || Passes(r.err))
		r.seen = false
	}
	o.attempts++
}

// number returns the index of the i-th entry of the current request.
func (o *Outbox) number(i int) int {
	if o.pending == nil {
		return i
	}
	return o.pending[i]
}

// sent returns the number of entries in the current request.
func (o *Outbox) sent() int {
	if o.pending == nil {
		return len(o.ends)
	}
	return len(o.pending)
}

// take records the server's answers.
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

// end completes an attempt that got a full response. It returns the status of the
// placeholder: an error if the client should retry.
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

// unsent returns a new reference to the entries that are to be sent.
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

// probe records whether the interceptor saw a call.
type probe struct{ seen bool }

type probeKey struct{}

// Intercepted reports whether calls of the table go through the interceptor. [Outbox.Send] reports whether they also
// use its codec. Intercepted makes a call that sends nothing: the interceptor ends it, and without the interceptor,
// gRPC rejects its header before it needs a connection. A result of false may be due to the current state of the
// connections.
func Intercepted(ctx context.Context, table bigtable.TableAPI) bool {
	var p probe
	ctx, cancel := context.WithCancel(context.WithValue(ctx, probeKey{}, &p))
	cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "not a header", "")
	_, _ = table.ApplyBulk(ctx, placeholderKey, placeholder) // always fails
	return p.seen
}
