package main

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/golden/inmemory"
)

const (
	// maxMessage is the largest message of the server and of its clients, in bytes.
	maxMessage = 256 << 20
	// maxResponse is the size at which a response gets no further rows, in bytes.
	maxResponse = 256 << 10
)

// row is a row of the server. Its cells are generated on request, in the order in
// which Bigtable sends them and, but for the sums of versions, in one family.
type row struct {
	key, family string
	cells       func() []cell
}

// table is a table of the server, with its rows in the order of their keys.
type table interface {
	Len() int
	Row(i int) row
}

// rows is a table whose rows are in memory.
type rows []row

func (r rows) Len() int      { return len(r) }
func (r rows) Row(i int) row { return r[i] }

// stored returns the cells of the row, with their family.
func (r row) stored() []inmemory.Cell {
	cells := r.cells()
	out := make([]inmemory.Cell, len(cells))
	for i, c := range cells {
		out[i] = inmemory.Cell{Family: cmp.Or(c.family, r.family), Qualifier: c.qualifier, Micros: c.micros, Value: c.value}
	}
	return out
}

// inMemory returns tables whose rows are in memory.
func inMemory(all map[string]rows) map[string]table {
	out := map[string]table{}
	for name, rows := range all {
		out[name] = rows
	}
	return out
}

// cell is a cell of a row.
type cell struct {
	qualifier string
	micros    int64
	value     []byte
	family    string // if it is not that of the row
}

// server answers reads from generated tables. It computes the responses of a request that it
// receives again once, and replays them. It discards writes.
type server struct {
	bigtablepb.UnimplementedBigtableServer
	tables  map[string]table
	mu      sync.Mutex
	answers map[string][][]byte // responses by request, as they are on the wire; nil after the first one
	kept    int64               // their size in bytes
	cells   atomic.Int64        // in the responses that it has computed
	filters inmemory.Filters

	places, scannedRows, scannedBytes atomic.Int64 // for these responses; see scanned
}

// scanned is what a server reads for responses, whether or not it passes their filters.
type scanned struct {
	places int64 // runs of adjacent rows
	rows   int64
	bytes  int64 // of keys once per row, and of names, timestamps and values of all cells
}

// maxKept is the size after which the server forgets responses, in bytes.
const maxKept int64 = 3 << 30

// rawCodec sends bytes unchanged.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (s *server) PingAndWarm(context.Context, *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	return new(bigtablepb.PingAndWarmResponse), nil
}

func (s *server) ReadRows(request *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	send := func(response []byte) error { return stream.SendMsg(response) }
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	responses, again := s.known(string(key))
	if again && responses == nil {
		if responses, err = s.responses(request); err != nil {
			return err
		}
		s.keep(string(key), responses)
	}
	if !again {
		return s.read(request, send)
	}
	for _, response := range responses {
		if err := send(response); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) MutateRow(context.Context, *bigtablepb.MutateRowRequest) (*bigtablepb.MutateRowResponse, error) {
	return new(bigtablepb.MutateRowResponse), nil
}

func (s *server) MutateRows(request *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	response, ok := new(bigtablepb.MutateRowsResponse), status.New(codes.OK, "").Proto()
	for i := range request.Entries {
		response.Entries = append(response.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: ok})
	}
	return stream.Send(response)
}

// known returns the responses to a request, if they are known, and whether it was received before.
func (s *server) known(request string) (responses [][]byte, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if responses, again = s.answers[request]; !again {
		s.answers[request] = nil
	}
	return responses, again
}

// keep keeps the responses to a request.
func (s *server) keep(request string, responses [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, response := range responses {
		s.kept += int64(len(response))
	}
	if s.kept > maxKept {
		clear(s.answers)
		s.kept = 0
	}
	s.answers[request] = responses
}

// responses computes the responses to a request.
func (s *server) responses(request *bigtablepb.ReadRowsRequest) (all [][]byte, err error) {
	err = s.read(request, func(response []byte) error {
		all = append(all, response)
		return nil
	})
	return all, err
}

// read computes the responses to a request, and sends each.
func (s *server) read(request *bigtablepb.ReadRowsRequest, send func(response []byte) error) error {
	var response []byte
	n := int64(0)
	for row := range s.rows(request) {
		cells := row.stored()
		s.scan(row.key, cells)
		cells, err := s.filters.Pass(request.Filter, row.key, cells)
		if err != nil {
			return err
		}
		if len(cells) == 0 {
			continue
		}
		s.cells.Add(int64(len(cells)))
		if response = inmemory.AppendRow(response, row.key, cells); len(response) > maxResponse {
			if err := send(response); err != nil {
				return err
			}
			response = nil
		}
		if n++; n == request.RowsLimit {
			break
		}
	}
	if response == nil {
		return nil
	}
	return send(response)
}

// scan counts a row in the ranges of a request.
func (s *server) scan(key string, cells []inmemory.Cell) {
	var a inmemory.Amount
	a.Add(key, cells)
	s.scannedRows.Add(1)
	s.scannedBytes.Add(int64(a.Bytes))
}

// scannedBy returns what the requests of a function add to what the server has scanned. There are no others.
func (s *server) scannedBy(read func()) scanned {
	before := scanned{s.places.Load(), s.scannedRows.Load(), s.scannedBytes.Load()}
	read()
	return scanned{s.places.Load() - before.places, s.scannedRows.Load() - before.rows, s.scannedBytes.Load() - before.bytes}
}

// rows yields the rows of a request, in its order.
func (s *server) rows(request *bigtablepb.ReadRowsRequest) iter.Seq[row] {
	return func(yield func(row) bool) {
		table, ok := s.tables[request.TableName[strings.LastIndexByte(request.TableName, '/')+1:]]
		if !ok {
			return
		}
		parts := wanted(table, request.Rows)
		s.places.Add(int64(len(parts)))
		if request.Reversed {
			slices.Reverse(parts)
		}
		for _, p := range parts {
			for i := range p.end - p.begin {
				if i += p.begin; request.Reversed {
					i = p.begin + p.end - 1 - i
				}
				if !yield(table.Row(i)) {
					return
				}
			}
		}
	}
}

// part is a part of the rows of a table.
type part struct{ begin, end int }

// wanted returns the parts of a table that a request includes, in order.
func wanted(of table, set *bigtablepb.RowSet) []part {
	first := func(in func(key string) bool) int { // the first row from which on all are in a range
		return sort.Search(of.Len(), func(i int) bool { return in(of.Row(i).key) })
	}
	var all []part
	for _, key := range set.GetRowKeys() {
		all = append(all, part{first(func(k string) bool { return k >= string(key) }), first(func(k string) bool { return k > string(key) })})
	}
	for _, r := range set.GetRowRanges() {
		p := part{0, of.Len()}
		switch start := r.StartKey.(type) {
		case *bigtablepb.RowRange_StartKeyClosed:
			p.begin = first(func(k string) bool { return k >= string(start.StartKeyClosed) })
		case *bigtablepb.RowRange_StartKeyOpen:
			p.begin = first(func(k string) bool { return k > string(start.StartKeyOpen) })
		}
		switch end := r.EndKey.(type) {
		case *bigtablepb.RowRange_EndKeyOpen:
			p.end = first(func(k string) bool { return k >= string(end.EndKeyOpen) })
		case *bigtablepb.RowRange_EndKeyClosed:
			p.end = first(func(k string) bool { return k > string(end.EndKeyClosed) })
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.begin, b.begin) })
	var out []part
	next := 0 // after the rows so far
	for _, p := range all {
		if p.begin = max(p.begin, next); p.begin < p.end {
			out, next = append(out, p), p.end
		}
	}
	return out
}
