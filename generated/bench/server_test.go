package main

import (
	"path"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
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
	// maxKept is the size after which the server forgets responses, in bytes.
	maxKept = 3 << 30
)

// row is a row of the server. Its cells are generated on request, in the order in which Bigtable sends them.
type row struct {
	key   string
	cells func() []inmemory.Cell
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

// server answers reads from generated tables. It computes the responses of a request that it
// receives again once, and replays them. It discards writes.
type server struct {
	tables  map[string]table
	filters inmemory.Filters

	mu      sync.Mutex
	answers map[string][][]byte // responses by request, both as they are on the wire; nil after the first one
	kept    int                 // their size in bytes
	scanned scanned             // for the responses that it has computed
}

// scanned is what a server reads for responses.
type scanned struct {
	places          int // runs of adjacent rows
	inmemory.Amount     // of these rows, whether or not they pass filters
	passed          int // cells
}

// newServer returns a server with tables.
func newServer(tables map[string]table) *server {
	return &server{tables: tables, answers: map[string][][]byte{}}
}

// answer answers a request, as [inmemory.Replay] needs it.
func (s *server) answer(method string, request []byte) (next func() ([]byte, error), err error) {
	switch method {
	case "ReadRows":
		return s.readRows(request)
	case "PingAndWarm", "MutateRow":
		return inmemory.Responses([]byte{}), nil
	case "MutateRows":
		r, response := new(bigtablepb.MutateRowsRequest), new(bigtablepb.MutateRowsResponse)
		if err := proto.Unmarshal(request, r); err != nil {
			return nil, err
		}
		ok := status.New(codes.OK, "").Proto()
		for i := range r.Entries {
			response.Entries = append(response.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: ok})
		}
		raw, err := proto.Marshal(response)
		return inmemory.Responses(raw), err
	}
	return nil, status.Error(codes.Unimplemented, method)
}

// readRows answers a read.
func (s *server) readRows(request []byte) (next func() ([]byte, error), err error) {
	s.mu.Lock()
	responses, again := s.answers[string(request)]
	if !again {
		s.answers[string(request)] = nil
	}
	s.mu.Unlock()
	if responses != nil {
		return inmemory.Responses(responses...), nil
	}
	r := new(bigtablepb.ReadRowsRequest)
	if err := proto.Unmarshal(request, r); err != nil {
		return nil, err
	}
	if next = s.compute(r); !again {
		return next, nil
	}
	size := 0
	for {
		response, err := next()
		if err != nil {
			return nil, err
		}
		if response == nil {
			break
		}
		responses, size = append(responses, response), size+len(response)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept += size; int64(s.kept) > maxKept {
		clear(s.answers)
		s.kept = size
	}
	s.answers[string(request)] = responses
	return inmemory.Responses(responses...), nil
}

// compute returns a function that computes the responses to a read, one by one.
func (s *server) compute(r *bigtablepb.ReadRowsRequest) (next func() ([]byte, error)) {
	var table table = rows(nil)
	if t, ok := s.tables[path.Base(r.TableName)]; ok {
		table = t
	}
	n, adjacent := 0, false
	return func() (response []byte, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for ; n < table.Len() && len(response) <= maxResponse; n++ {
			i := n
			if r.Reversed {
				i = table.Len() - 1 - n
			}
			row := table.Row(i)
			if !inmemory.Selects(r.Rows, row.key) {
				adjacent = false
				continue
			}
			if !adjacent {
				s.scanned.places, adjacent = s.scanned.places+1, true
			}
			cells := row.cells()
			s.scanned.Add(row.key, cells)
			if cells, err = s.filters.Pass(r.Filter, row.key, cells); err != nil {
				return nil, err
			}
			s.scanned.passed += len(cells)
			if response = inmemory.AppendRow(response, row.key, cells); len(cells) > 0 && r.RowsLimit > 0 {
				if r.RowsLimit--; r.RowsLimit == 0 {
					n = table.Len()
				}
			}
		}
		return response, nil
	}
}

// scannedBy returns what the requests of a function add to what the server has scanned. There are no others.
func (s *server) scannedBy(read func()) scanned {
	s.scanned = scanned{}
	read()
	return s.scanned
}

// serve answers a request of a connection.
func (s *server) serve(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	next, err := s.answer(path.Base(method), request)
	if err != nil {
		return err
	}
	for {
		response, err := next()
		if response == nil || err != nil {
			return err
		}
		if err := stream.SendMsg(response); err != nil {
			return err
		}
	}
}

// rawCodec sends bytes unchanged, and drops what is not received as bytes.
type rawCodec struct{ encoding.CodecV2 }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if to, ok := v.(*[]byte); ok {
		*to = data.Materialize()
	}
	return nil
}
