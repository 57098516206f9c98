package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// breaking is a server that forwards reads to another one and returns the results row
// by row or chunk by chunk. The stream of one request per read breaks off.
type breaking struct {
	warmServer
	to    bigtablepb.BigtableClient
	whole bool // do not split rows, because the client does not support that
	mu    sync.Mutex
	reads map[string]*brokenRead // by name, from the header
	// sends is called before the server sends the given chunk of a request; may be nil.
	sends func(request, chunks int)
}

// brokenRead records the requests of a read.
type brokenRead struct {
	request, after int   // the request that breaks off, and after how many chunks, at the latest at its end
	chunks         []int // number sent per request
}

const readHeader = "test-read"

// named returns a context that identifies a read, and its record.
func (b *breaking) named(ctx context.Context, request, after int) (context.Context, *brokenRead) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name, read := fmt.Sprint(len(b.reads)), &brokenRead{request: request, after: after}
	b.reads[name] = read
	return metadata.AppendToOutgoingContext(ctx, readHeader, name), read
}

// requests returns the number of chunks of each request of a read.
func (b *breaking) requests(read *brokenRead) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(read.chunks)
}

// errBroken is an error after which the client resumes.
var errBroken = status.Error(codes.Unavailable, "broken off")

func (b *breaking) ReadRows(request *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	if err := emptyRange(request.GetRows()); err != nil {
		return err
	}
	header, _ := metadata.FromIncomingContext(stream.Context())
	b.mu.Lock()
	read := b.reads[header.Get(readHeader)[0]]
	n := len(read.chunks)
	read.chunks = append(read.chunks, 0)
	b.mu.Unlock()
	from, err := b.to.ReadRows(metadata.NewOutgoingContext(stream.Context(), header), request)
	if err != nil {
		return err
	}
	sent := 0
	breaks := func() bool { return n == read.request && sent == read.after }
	err = b.pass(from, func(chunks []*bigtablepb.ReadRowsResponse_CellChunk) error {
		for len(chunks) > 0 && !breaks() {
			if b.sends != nil {
				b.sends(n, sent)
			}
			some := len(chunks)
			if !b.whole {
				some = 1
			}
			if err := stream.Send(&bigtablepb.ReadRowsResponse{Chunks: chunks[:some]}); err != nil {
				return err
			}
			chunks, sent = chunks[some:], sent+1
		}
		if breaks() {
			return errBroken
		}
		return nil
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if read.chunks[n] = sent; err == nil && n == read.request {
		return errBroken // nothing is left to read
	}
	return err
}

// pass forwards the chunks of each row.
func (b *breaking) pass(from bigtablepb.Bigtable_ReadRowsClient, row func([]*bigtablepb.ReadRowsResponse_CellChunk) error) error {
	var chunks []*bigtablepb.ReadRowsResponse_CellChunk
	var names bigtablepb.ReadRowsResponse_CellChunk // of the previous cell
	for {
		response, err := from.Recv()
		if errors.Is(err, io.EOF) {
			return row(nil)
		}
		if err != nil {
			return err
		}
		for _, c := range response.Chunks {
			brief(c, &names)
			chunks = append(chunks, c)
			if c.GetCommitRow() {
				if err := row(chunks); err != nil {
					return err
				}
				chunks = nil
			}
		}
	}
}

// emptyRange rejects a request with an empty range, like Bigtable and unlike the
// in-memory server.
func emptyRange(rows *bigtablepb.RowSet) error {
	for i, r := range rows.GetRowRanges() {
		start, end := string(r.GetStartKeyClosed()), string(r.GetEndKeyOpen())
		if open := r.GetStartKeyOpen(); open != nil {
			start = string(open) + "\x00"
		}
		if closed := r.GetEndKeyClosed(); closed != nil {
			end = string(closed) + "\x00"
		}
		if end != "" && start >= end {
			return status.Errorf(codes.InvalidArgument, "Error in field 'row_ranges' : Error in element #%d : start_key must be less than end_key", i)
		}
	}
	return nil
}

// brief omits what a chunk has in common with the previous one, like Bigtable and
// unlike the in-memory server.
func brief(c, names *bigtablepb.ReadRowsResponse_CellChunk) {
	if len(c.RowKey) > 0 && string(c.RowKey) != string(names.RowKey) {
		names.RowKey, names.FamilyName, names.Qualifier = c.RowKey, c.FamilyName, c.Qualifier
		return
	}
	c.RowKey = nil
	family, qualifier := c.FamilyName, c.Qualifier
	switch {
	case family.GetValue() != names.FamilyName.GetValue():
	case string(qualifier.GetValue()) != string(names.Qualifier.GetValue()):
		c.FamilyName = nil
	default:
		c.FamilyName, c.Qualifier = nil, nil
	}
	names.FamilyName, names.Qualifier = wrapperspb.String(family.GetValue()), wrapperspb.Bytes(qualifier.GetValue())
}

// unsorted changes the labels to days that do not sort, starting with day 8.
func unsorted(l *mappingOf[sample]) *mappingOf[sample] {
	l.Table.ID += "_numbered"
	l.Key.Bucket.Label = codec.Label{Kind: codec.NumberLabel, Prefix: "day"}
	l.Key.Bucket.Origin = day0.AddDate(0, 0, -7)
	key := func(e *sample, column int) []byte {
		text, _ := l.Key.Append(nil, &codec.KeyValues{Series: []any{&e.Series}, Metric: &l.Columns[column].Name, At: &e.Time})
		return text
	}
	l.Put = func(e *sample, c *eventCells) {
		c.Row(key(e, 0), nil)
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
		if l.Pattern == codec.BucketNewColumns {
			c.Row(key(e, 1), nil)
		}
		c.Set(1, e.Note)
	}
	l.Set = func(e *sample, column int, datum []byte) (err error) {
		if column == 0 {
			e.Value, err = codec.Binary.Uint64.Decode(datum)
			return err
		}
		e.Note = slices.Clone(datum)
		return nil
	}
	return l
}

// brokenReader is a way to read.
type brokenReader = func(ctx context.Context, r *readerOf[sample]) ([]string, error)

// brokenReads are ways to read everything or only the middle day.
func brokenReads(l *mappingOf[sample]) map[string]brokenReader {
	begin, end, from, to := at(0), at(4*86400), at(86400), at(2*86400)
	type read = func(ctx context.Context, r *readerOf[sample], o ReadOptions) iter.Seq2[sample, error]
	reads := map[string]brokenReader{}
	add := func(name string, of read, o ReadOptions) {
		reads[name] = func(ctx context.Context, r *readerOf[sample]) (out []string, err error) {
			for o := o; ; { // reads are concurrent
				if o.Page != nil {
					o.Page = &Page{Size: o.Page.Size, Token: o.Page.Next}
				}
				for e, err := range of(ctx, r, o) {
					if err != nil {
						return out, err
					}
					out = append(out, rowText(e))
				}
				if o.Page == nil || o.Page.Next == "" {
					return out, nil
				}
			}
		}
	}
	query := func(q *testQuery[sample], s Selection, from, to time.Time) read {
		return func(ctx context.Context, r *readerOf[sample], o ReadOptions) iter.Seq2[sample, error] {
			q := q
			if q == nil {
				q = wholeOf(r)
			}
			return readOf(ctx, r, q, s, from, to, o)
		}
	}
	one, two := seriesOf(sample{Series: "s0"}), manySeriesOf(named("s1", "s0", "s1"))
	several := func(ctx context.Context, r *readerOf[sample], o ReadOptions) iter.Seq2[sample, error] {
		return r.Read(ctx, two, begin, end, o)
	}
	columns := func(name string, from, to time.Time, o ReadOptions) {
		reads[name] = func(ctx context.Context, r *readerOf[sample]) ([]string, error) {
			var c sampleColumns
			err := readColumns(ctx, r, intoColumns(l.untyped()), &c, one, from, to, o)
			return c.text(), err
		}
	}
	columns("columns", begin, end, ReadOptions{})
	columns("columns of a day", from, to, ReadOptions{NewestFirst: true})
	add("limit", query(nil, one, begin, end), ReadOptions{Limit: 3})
	add("first", query(nil, one, from, to), ReadOptions{Limit: 1})
	add("last", query(nil, one, from, to), ReadOptions{Limit: 1, NewestFirst: true})
	add("latest only", query(nil, one, begin, end), ReadOptions{LatestOnly: true})
	reads["latest"] = func(ctx context.Context, r *readerOf[sample]) ([]string, error) {
		e, err := r.Latest(ctx, sample{Series: "s0"})
		return []string{rowText(e)}, err
	}
	add("latest of several", func(ctx context.Context, r *readerOf[sample], _ ReadOptions) iter.Seq2[sample, error] {
		return r.LatestMany(ctx, named("s1", "s0"))
	}, ReadOptions{})
	for order, o := range map[string]ReadOptions{"": {}, ", newest first": {NewestFirst: true}} {
		paged := o
		paged.Page = &Page{Size: 5}
		add("all"+order, query(nil, one, begin, end), o)
		add("a day"+order, query(nil, one, from, to), o)
		add("several"+order, several, o)
		add("pages"+order, query(nil, one, begin, end), paged)
		if l.Pattern == codec.BucketNewColumns {
			if testlong.Enabled() { // many short requests
				add("pages of several"+order, several, paged)
			}
			continue
		}
		add("pages of several"+order, several, paged)
		add("prefix"+order, query(all("s"), one, begin, end), o)
		add("pages of a prefix"+order, query(all("s"), one, begin, end), paged)
		ranged := all("")
		ranged.Spans = func(e *sample) ([]codec.Span, error) { return []codec.Span{{Prefix: e.Series, Delimiter: "#"}}, nil }
		add("range"+order, query(ranged, Selection{Low: []any{&sample{Series: "s0"}}, High: []any{&sample{Series: "s2"}}}, begin, end), o)
		if l.Pattern == codec.SingleUnserialized {
			where := all("s")
			where.Conditions = []codec.Condition{{Field: "v.1"}}
			add("where"+order, query(where.Where(sample{Value: 1}, sample{Value: 6}), one, begin, end), o)
			o.Limit = 2
			add("where, limit"+order, query(where.Where(sample{Value: 3}, sample{Value: 6}), one, begin, end), o)
		}
	}
	if l.Pattern != codec.BucketNewColumns {
		reads["list"] = func(ctx context.Context, r *readerOf[sample]) (out []string, err error) {
			for s, err := range seriesReadOf(ctx, r, all("s"), seriesOf(sample{}), begin, end) {
				if err != nil {
					return out, err
				}
				out = append(out, s)
			}
			return out, nil
		}
		add("series", query(of("s0", "s1"), one, begin, end), ReadOptions{})
		add("latest of series", query(all("s"), one, begin, end), ReadOptions{LatestOnly: true})
	}
	return reads
}

// Reads return the same whether or not a stream breaks off: before its first row, after
// any row, within a row or at the end; forward and in reverse, on both paths.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	limit := make(chan struct{}, 64) // the client waits briefly before it resumes
	for n, l := range testlong.Sample([]*mappingOf[sample]{metrics(), singles(), days(), unsorted(days()), unsorted(metrics())}, 3) {
		adjusted(l, func(m *mapping) {
			m.bound = func(e event, _ int) ([]byte, codec.Order, error) {
				return codec.Binary.Uint64.Append(nil, e.pointer.(*sample).Value), codec.BytesOrder, nil
			}
		})
		bt := newBigtable(t, l)
		const now = 86400 * 4
		must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(now)).WriteAll(t.Context(), gatheredSamples(4, "s0", "s1")))
		_, b := breaksOff(t, bt)
		for i, path := range []string{"wire", "ordinary"} {
			if i != n%2 && !testlong.Enabled() {
				continue // other tables have it
			}
			b := &breaking{to: b.to, whole: i == 1, reads: map[string]*brokenRead{}}
			client := opened(t)(paths[path](t.Context(), startServer(t, b)))
			r := newReaderOf(client, l, clockAt(now))
			r.reader.gathered = []int{maxGathered, 1}[i] // spans are read with one request, or the rest of them one by one
			breakOff(t, b, fmt.Sprintf("%s, path %d", l.Table.ID, i), r, brokenReads(l), limit)
		}
	}
}

// breakOff compares the results of reads with and without broken streams, as many
// concurrently as limit allows.
func breakOff(t *testing.T, b *breaking, what string, r *readerOf[sample], reads map[string]brokenReader, limit chan struct{}) {
	t.Helper()
	var wg sync.WaitGroup
	for name, read := range reads {
		ctx, whole := b.named(t.Context(), -1, 0)
		want, err := read(ctx, r)
		if err != nil || len(want) == 0 {
			t.Fatal(what, name, want, err)
		}
		for request, chunks := range b.requests(whole) {
			for _, after := range breaks(name, chunks) {
				limit <- struct{}{}
				wg.Go(func() {
					defer func() { <-limit }()
					ctx, broken := b.named(t.Context(), request, after)
					got, err := read(ctx, r)
					reached := len(b.requests(broken)) > request || strings.Contains(name, "limit") || strings.HasPrefix(name, "pages") // which may not need the last requests
					if diff := cmp.Diff(want, got); diff != "" || err != nil || !reached {
						t.Errorf("%s, %s: request %d, broken off after %d of %d: %v (-want +got)\n%s", what, name, request, after, chunks, err, diff)
					}
				})
			}
		}
	}
	wg.Wait()
}

// breaks returns the numbers of chunks after which a stream of a read breaks off. Pages have many
// streams.
func breaks(read string, chunks int) (out []int) {
	for n := range chunks + 1 {
		if n < 2 || n == chunks || testlong.Enabled() && !strings.HasPrefix(read, "pages") {
			out = append(out, n)
		}
	}
	return out
}
