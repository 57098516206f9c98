package world

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	protobuf "google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
)

// maxRequest is the size above which Bigtable rejects requests.
const maxRequest = 512 << 10

// traffic sees the reads of clients.
type traffic struct {
	mu       sync.Mutex
	requests int
	cells    int   // that were received
	wrong    error // of the first request that must not be sent, or that failed although the server was to answer it
}

// take returns the numbers of requests and cells since the last call, and what was wrong so far.
func (t *traffic) take() (requests, cells int, wrong error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	requests, cells, wrong = t.requests, t.cells, t.wrong
	t.requests, t.cells, t.wrong = 0, 0, nil
	return requests, cells, wrong
}

// stream is the last interceptor of a client. Codecs that a reader installs see the messages after it.
func (t *traffic) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	counted := countedCodec{encoding.GetCodecV2(proto.Name), t}
	for _, o := range opts {
		if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
			counted.CodecV2 = forced.CodecV2
		}
	}
	s, err := streamer(ctx, desc, cc, method, append(slices.Clip(opts), grpc.ForceCodecV2(counted))...)
	return &countedStream{s, t, ctx}, err
}

// countedCodec counts the cells of messages on the wire.
type countedCodec struct {
	encoding.CodecV2
	traffic *traffic
}

// Unmarshal counts the cells of a response.
func (c countedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(*bigtablepb.ReadRowsResponse); ok {
		r := new(bigtablepb.ReadRowsResponse)
		if err := protobuf.Unmarshal(data.Materialize(), r); err != nil {
			return err
		}
		c.traffic.mu.Lock()
		row := 0
		for _, chunk := range r.Chunks {
			switch {
			case chunk.GetResetRow():
				row = 0
			case chunk.ValueSize == 0: // otherwise, more of the value follows
				row++
			}
			if chunk.GetCommitRow() {
				c.traffic.cells, row = c.traffic.cells+row, 0
			}
		}
		c.traffic.cells += row
		c.traffic.mu.Unlock()
	}
	return c.CodecV2.Unmarshal(data, v)
}

// countedStream is a stream whose requests are checked.
type countedStream struct {
	grpc.ClientStream
	traffic *traffic
	ctx     context.Context // of the reader; that of the stream also ends when the stream fails
}

// SendMsg checks a request.
func (s *countedStream) SendMsg(m any) error {
	if r, ok := m.(*bigtablepb.ReadRowsRequest); ok {
		s.failed(safeRows(r))
		s.traffic.mu.Lock()
		s.traffic.requests++
		s.traffic.mu.Unlock()
	}
	return s.ClientStream.SendMsg(m)
}

// RecvMsg records the error of a failed stream. One that the reader or a fault cancels fails, too, and is not
// repeated.
func (s *countedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if _, rows := m.(*bigtablepb.ReadRowsResponse); rows && err != io.EOF && s.ctx.Err() == nil {
		s.failed(err)
	}
	return err
}

// failed records an error.
func (s *countedStream) failed(err error) {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	s.traffic.wrong = cmp.Or(s.traffic.wrong, err)
}

// safeRows returns an error unless a request is for ranges that include their start and exclude their end, or for
// a list of several keys in ascending order. The client may divert other requests for a single row to its session
// protocol, past the wire decoder, and loses rows of key lists that are read in reverse.
func safeRows(r *bigtablepb.ReadRowsRequest) error {
	rows := r.GetRows()
	keys, ranges := len(rows.GetRowKeys()), len(rows.GetRowRanges())
	safe := keys == 0 && ranges > 0 || keys > 1 && ranges == 0 && !r.GetReversed()
	for _, r := range rows.GetRowRanges() {
		safe = safe && len(r.GetStartKeyOpen()) == 0 && len(r.GetEndKeyClosed()) == 0
	}
	switch size := protobuf.Size(r); {
	case !safe:
		return fmt.Errorf("a request for %v", rows)
	case size > maxRequest:
		return fmt.Errorf("a request of %d bytes", size)
	}
	return nil
}

// fetched returns an error if the read before has sent more requests, or fetched more cells, than those that it
// needs.
func (p *play) fetched(s selection, from, to time.Time, o store.ReadOptions, fields map[int]bool) error {
	if p.struck || o.Limit > 0 || fields != nil || o.TimeOrder && len(s.series) != 1 {
		return nil
	}
	requests, cells, err := p.traffic.take()
	most, known := p.needed(s, from, to)
	switch {
	case err != nil || !known:
		return err
	case cells > most:
		return fmt.Errorf("%d cells were fetched, and %d are enough", cells, most)
	case len(s.series) == 1 && requests > enough(s.table, to.Sub(from)):
		return fmt.Errorf("%d requests were sent, and %d are enough", requests, enough(s.table, to.Sub(from)))
	}
	return nil
}

// enough returns the number of requests for a range of times of one series: one for each layout, and each value in
// row keys. More are needed
// at the ends of the range if these divide buckets of offsets, and for long lists of row keys.
func enough(t *layout.Table, span time.Duration) (requests int) {
	for _, o := range t.Periods() {
		if requests++; o.Metrics() { // each has rows of its own
			requests += len(o.Columns) - 1
		}
		switch {
		case o.HasSequence() && !o.Pattern.Bucketed(), o.Bucket.Widest() > 0 && span/o.Bucket.Widest() > 1000:
			return 1000
		case o.Pattern == codec.BucketOffsets:
			requests += 2
		}
	}
	return requests
}

// needed returns the greatest number of cells that a read of all fields of a selection may fetch: those of its
// events, and the rest of a bucket where it tells which of them are kept. It is not known where labels do not
// sort.
func (p *play) needed(s selection, from, to time.Time) (cells int, known bool) {
	for _, o := range s.table.Periods() {
		if o.Pattern.Bucketed() && !o.Bucket.Sorted() {
			return 0, false
		}
	}
	for v := range p.truth.aliveCells(s.table, p.now) {
		if first, end := limits(v.period, from, to); s.matches(&v.event) && !v.event.Time.Before(first) && v.event.Time.Before(end) {
			cells++
		}
	}
	return cells, true
}

// limits returns the range of times whose cells a read may fetch: whole buckets if newer events decide whether
// older ones are kept, and whole milliseconds if timestamps tell the times.
func limits(t *layout.Table, from, to time.Time) (time.Time, time.Time) {
	switch {
	case !t.EventTimed():
		return from, to
	case !ranked(t):
		return from.Truncate(time.Millisecond), to.Add(time.Millisecond - 1).Truncate(time.Millisecond)
	case t.Endless() || t.Bucket.Widest() == 0:
		return time.Time{}, scan.MaxTime
	}
	return t.Bucket.Start(from), t.Bucket.End(to)
}

// ranked reports whether newer events decide whether older ones are kept.
func ranked(t *layout.Table) bool {
	var counts func(r codec.GCRule) bool
	counts = func(r codec.GCRule) bool { return r.MaxVersions > 0 || slices.ContainsFunc(r.Rules, counts) }
	return slices.ContainsFunc(t.Families, func(f layout.Family) bool { return counts(f.GC) })
}
