package store

import (
	"context"
	"fmt"
	runtimemetrics "runtime/metrics"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// storedSeries is a server with the rows of one series, which it sends to each read. It accepts
// all mutations, and counts them.
type storedSeries struct {
	bigtablepb.UnimplementedBigtableServer
	mapping     *mappingOf[sample]
	rows, cells int // rows, and cells of each row
	mu          sync.Mutex
	mutations   int
}

// ReadRows sends all rows, or the first cell of each if that is all that is asked for.
func (s *storedSeries) ReadRows(request *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	const perMessage = 500
	cells := s.cells
	if chain := request.GetFilter().GetChain().GetFilters(); len(chain) > 0 && chain[0].GetCellsPerRowLimitFilter() == 1 {
		cells = 1
	}
	var response bigtablepb.ReadRowsResponse
	for row := range s.rows {
		for cell := range cells {
			c := &bigtablepb.ReadRowsResponse_CellChunk{TimestampMicros: s.at(row, cell).UnixMicro()}
			if cell == 0 {
				c.RowKey = s.key(row)
				c.FamilyName = wrapperspb.String(s.mapping.Table.Families[0].Name)
				c.Qualifier = wrapperspb.Bytes([]byte(s.mapping.Columns[0].Name))
			}
			if cell == cells-1 {
				c.RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
			}
			response.Chunks = append(response.Chunks, c)
			if len(response.Chunks) == perMessage || row == s.rows-1 && cell == cells-1 {
				if err := stream.Send(&response); err != nil {
					return err
				}
				response.Chunks = nil
			}
		}
	}
	return nil
}

// at returns the time of the event in a cell, in descending order within a row.
func (s *storedSeries) at(row, cell int) time.Time {
	if s.mapping.Pattern.Bucketed() {
		return day0.AddDate(0, 0, row).Add(time.Duration(s.cells-cell) * time.Second)
	}
	return day0.Add(time.Duration(row) * time.Millisecond)
}

// key returns the key of a row.
func (s *storedSeries) key(row int) []byte {
	w := codec.NewKeyWriter(nil, "#")
	w.String("series", codec.KeyForm{}, "a")
	if s.mapping.Pattern.Bucketed() {
		w.Bucket(&s.mapping.Key.Bucket, s.at(row, 0))
	} else {
		w.Time(s.mapping.Key.Time, s.at(row, 0))
	}
	key, err := w.Key()
	if err != nil {
		panic(err)
	}
	return key
}

// MutateRows accepts all mutations.
func (s *storedSeries) MutateRows(request *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	response := &bigtablepb.MutateRowsResponse{}
	s.mu.Lock()
	for i, e := range request.GetEntries() {
		s.mutations += len(e.GetMutations())
		response.Entries = append(response.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: &status.Status{}})
	}
	s.mu.Unlock()
	return stream.Send(response)
}

// deleteByHand deletes the rows of a prefix with the official client.
func deleteByHand(ctx context.Context, table bigtable.TableAPI, prefix string) (n int, err error) {
	var keys []string
	var mutations []*bigtable.Mutation
	send := func() error {
		errs, err := table.ApplyBulk(ctx, keys, mutations)
		for _, e := range errs {
			if err == nil {
				err = e
			}
		}
		n += len(keys)
		keys, mutations = nil, nil
		return err
	}
	failed := table.ReadRows(ctx, bigtable.PrefixRange(prefix), func(row bigtable.Row) bool {
		m := bigtable.NewMutation()
		m.DeleteRow()
		keys, mutations = append(keys, row.Key()), append(mutations, m)
		if len(keys) == 20_000 {
			err = send()
		}
		return err == nil
	}, bigtable.RowFilter(bigtable.ChainFilters(bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())))
	if failed == nil && err == nil && len(keys) > 0 {
		err = send()
	}
	if err == nil {
		err = failed
	}
	return n, err
}

// BenchmarkDeleteSeries deletes a series from a server that accepts everything. The CPU time
// includes that of the server, which is in the same process. The peak of the heap must not
// depend on the number of events. The code by hand does not count events.
func BenchmarkDeleteSeries(b *testing.B) {
	for _, bb := range []struct {
		name    string
		mapping *mappingOf[sample]
		cells   int
	}{{"row per day", days(), 10_000}, {"row per event", singles(), 1}} {
		for _, events := range []int{1_000_000, 10_000_000} {
			s := &storedSeries{mapping: bb.mapping, rows: events / bb.cells, cells: bb.cells}
			run := func(name string, del func(b *testing.B, client *bigtable.Client)) {
				b.Run(fmt.Sprintf("%s/%s/events=%d", name, bb.name, events), func(b *testing.B) {
					client := opened(b)(storetest.Connect(b.Context(), startServer(b, s)))
					b.ReportAllocs()
					peak, spent := samplePeak(b), cputime.Spent()
					for b.Loop() {
						s.mutations = 0
						del(b, client)
						if s.mutations != s.rows {
							b.Fatalf("%d mutations for %d rows", s.mutations, s.rows)
						}
					}
					b.ReportMetric(float64(events)*float64(b.N)/(cputime.Spent()-spent).Seconds(), "events/CPU-s")
					b.ReportMetric(float64(peak())/1e6, "peak-MB")
				})
			}
			run("btgen", func(b *testing.B, client *bigtable.Client) {
				got, err := newWriterOf(client, []*mappingOf[sample]{bb.mapping}).DeleteAll(b.Context(), seriesOf(sample{Series: "a"}))
				if err != nil || got.Events() != events {
					b.Fatal(got, err)
				}
			})
			run("by hand", func(b *testing.B, client *bigtable.Client) {
				if n, err := deleteByHand(b.Context(), client.OpenTable(bb.mapping.Table.ID), "a#"); err != nil || n != s.rows {
					b.Fatal(n, err)
				}
			})
		}
	}
}

// samplePeak samples the live heap. The function that it returns ends this and returns the
// highest size in bytes.
func samplePeak(b *testing.B) func() uint64 {
	ctx, cancel := context.WithCancel(b.Context())
	result := make(chan uint64)
	go func() {
		var peak uint64
		sampled := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for ctx.Err() == nil {
			runtimemetrics.Read(sampled)
			peak = max(peak, sampled[0].Value.Uint64())
			time.Sleep(5 * time.Millisecond)
		}
		result <- peak
	}()
	return func() uint64 { cancel(); return <-result }
}
