package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// maxMessage is the largest message of the server and of its clients, in bytes.
	maxMessage = 256 << 20
	// maxResponse is the size at which a response gets no further rows, in bytes.
	maxResponse = 256 << 10
)

// row is a row of the server. Its cells are generated on request, in the order in
// which Bigtable sends them, and in one family.
type row struct {
	key, family string
	cells       func() []cell
}

// cell is a cell of a row.
type cell struct {
	qualifier string
	micros    int64
	value     []byte
}

// server answers reads from generated tables. It computes a response once, and
// replays it for the same request. It discards writes.
type server struct {
	bigtablepb.UnimplementedBigtableServer
	tables  map[string][]row // in the order of their keys
	mu      sync.Mutex
	answers map[string][][]byte // responses by request, as they are on the wire
}

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
	responses, err := s.answer(request)
	for _, response := range responses {
		if err := stream.SendMsg(response); err != nil {
			return err
		}
	}
	return err
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

// answer returns the responses to a request.
func (s *server) answer(request *bigtablepb.ReadRowsRequest) ([][]byte, error) {
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	responses, known := s.answers[string(key)]
	if !known {
		if responses, err = s.read(request); err == nil {
			s.answers[string(key)] = responses
		}
	}
	return responses, err
}

// read computes the responses to a request.
func (s *server) read(request *bigtablepb.ReadRowsRequest) ([][]byte, error) {
	var out [][]byte
	var response bigtablepb.ReadRowsResponse
	size, rows := 0, int64(0)
	flush := func() error {
		message, err := proto.Marshal(&response)
		out = append(out, message)
		response.Chunks, size = nil, 0
		return err
	}
	for _, row := range s.rows(request) {
		cells, err := pass(request.Filter, row, row.cells())
		if err != nil {
			return nil, err
		}
		if len(cells) == 0 {
			continue
		}
		chunks := chunksOf(row, cells)
		for _, c := range chunks {
			size += proto.Size(c)
		}
		response.Chunks = append(response.Chunks, chunks...)
		if size > maxResponse {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		if rows++; rows == request.RowsLimit {
			break
		}
	}
	if len(response.Chunks) == 0 {
		return out, nil
	}
	return out, flush()
}

// rows returns the rows of a request, in its order.
func (s *server) rows(request *bigtablepb.ReadRowsRequest) []row {
	table := s.tables[request.TableName[strings.LastIndexByte(request.TableName, '/')+1:]]
	var out []row
	for _, row := range table {
		if wanted(request.Rows, row.key) {
			out = append(out, row)
		}
	}
	if request.Reversed {
		slices.Reverse(out)
	}
	return out
}

// wanted reports whether a request includes a row.
func wanted(set *bigtablepb.RowSet, key string) bool {
	if slices.ContainsFunc(set.GetRowKeys(), func(k []byte) bool { return string(k) == key }) {
		return true
	}
	return slices.ContainsFunc(set.GetRowRanges(), func(r *bigtablepb.RowRange) bool {
		switch end := r.EndKey.(type) {
		case *bigtablepb.RowRange_EndKeyOpen:
			if key >= string(end.EndKeyOpen) {
				return false
			}
		case *bigtablepb.RowRange_EndKeyClosed:
			if key > string(end.EndKeyClosed) {
				return false
			}
		}
		return key > string(r.GetStartKeyOpen()) && key >= string(r.GetStartKeyClosed())
	})
}

// chunksOf returns a row in the form that Bigtable sends, with names only when they change.
func chunksOf(r row, cells []cell) []*bigtablepb.ReadRowsResponse_CellChunk {
	chunks := make([]*bigtablepb.ReadRowsResponse_CellChunk, len(cells))
	for i, c := range cells {
		chunks[i] = &bigtablepb.ReadRowsResponse_CellChunk{TimestampMicros: c.micros, Value: c.value}
		if i == 0 || c.qualifier != cells[i-1].qualifier {
			chunks[i].Qualifier = wrapperspb.Bytes([]byte(c.qualifier))
		}
	}
	chunks[0].RowKey = []byte(r.key)
	chunks[0].FamilyName = wrapperspb.String(r.family)
	chunks[len(chunks)-1].RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
	return chunks
}

// pass returns the cells of a row that pass a filter.
func pass(filter *bigtablepb.RowFilter, of row, cells []cell) ([]cell, error) {
	switch f := filter.GetFilter().(type) {
	case nil:
		return cells, nil
	case *bigtablepb.RowFilter_Chain_:
		for _, inner := range f.Chain.Filters {
			var err error
			if cells, err = pass(inner, of, cells); err != nil {
				return nil, err
			}
		}
		return cells, nil
	case *bigtablepb.RowFilter_RowKeyRegexFilter:
		// Keys are ASCII here; Go's regular expressions have no syntax for any byte.
		pattern := strings.NewReplacer(`\C`, `[\x00-\x7f]`, `\xff`, `\x7f`).Replace(string(f.RowKeyRegexFilter))
		if ok, err := regexp.MatchString("^(?:"+pattern+")$", of.key); !ok || err != nil {
			return nil, err
		}
		return cells, nil
	case *bigtablepb.RowFilter_FamilyNameRegexFilter:
		return keep(cells, func(cell) bool { return f.FamilyNameRegexFilter == of.family }), nil
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		from, to := f.TimestampRangeFilter.StartTimestampMicros, f.TimestampRangeFilter.EndTimestampMicros
		return keep(cells, func(c cell) bool { return c.micros >= from && (to == 0 || c.micros < to) }), nil
	case *bigtablepb.RowFilter_ColumnRangeFilter:
		begin, end := string(f.ColumnRangeFilter.GetStartQualifierClosed()), string(f.ColumnRangeFilter.GetEndQualifierOpen())
		return keep(cells, func(c cell) bool { return c.qualifier >= begin && (end == "" || c.qualifier < end) }), nil
	case *bigtablepb.RowFilter_CellsPerColumnLimitFilter:
		return newest(cells, int(f.CellsPerColumnLimitFilter)), nil
	case *bigtablepb.RowFilter_CellsPerRowLimitFilter:
		return cells[:min(len(cells), int(f.CellsPerRowLimitFilter))], nil
	case *bigtablepb.RowFilter_StripValueTransformer:
		cells = slices.Clone(cells)
		for i := range cells {
			cells[i].value = nil
		}
		return cells, nil
	}
	return nil, status.Errorf(codes.Unimplemented, "filter %v", filter)
}

// keep returns the cells for which ok returns true.
func keep(cells []cell, ok func(cell) bool) []cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return !ok(c) })
}

// newest returns the first cells of each column, which are the newest.
func newest(cells []cell, limit int) []cell {
	var out []cell
	rank := 0
	for i, c := range cells {
		if rank++; i == 0 || c.qualifier != cells[i-1].qualifier {
			rank = 1
		}
		if rank <= limit {
			out = append(out, c)
		}
	}
	return out
}
