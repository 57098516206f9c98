package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
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

// server answers reads from generated tables. It computes the responses of a request that it
// receives again once, and replays them. It discards writes.
type server struct {
	bigtablepb.UnimplementedBigtableServer
	tables  map[string][]row // in the order of their keys
	mu      sync.Mutex
	answers map[string][][]byte // responses by request, as they are on the wire; nil after the first one
	cells   atomic.Int64        // in the responses that it has computed
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
	send := func(response []byte) error { return stream.SendMsg(response) }
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	responses, again := s.known(string(key))
	if again && responses == nil {
		if err := s.read(request, func(response []byte) error {
			responses = append(responses, response)
			return nil
		}); err != nil {
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
	s.answers[request] = responses
}

// read computes the responses to a request, and sends each.
func (s *server) read(request *bigtablepb.ReadRowsRequest, send func(response []byte) error) error {
	var response []byte
	n := int64(0)
	for _, row := range s.rows(request) {
		cells, err := pass(request.Filter, row, row.cells())
		if err != nil {
			return err
		}
		if len(cells) == 0 {
			continue
		}
		s.cells.Add(int64(len(cells)))
		if response = appendChunks(response, row, cells); len(response) > maxResponse {
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

// Field numbers of google.bigtable.v2.ReadRowsResponse, its chunks, and of wrapped values.
const (
	chunksField    = 1
	keyField       = 1
	familyField    = 2
	qualifierField = 3
	timestampField = 4
	valueField     = 6
	commitField    = 9
	wrappedField   = 1
)

// appendChunks appends a row to a response in the form that Bigtable sends, with names only when
// they change.
func appendChunks(response []byte, r row, cells []cell) []byte {
	var chunk, wrapped []byte
	wrap := func(field protowire.Number, name string) {
		wrapped = protowire.AppendString(protowire.AppendTag(wrapped[:0], wrappedField, protowire.BytesType), name)
		chunk = protowire.AppendBytes(protowire.AppendTag(chunk, field, protowire.BytesType), wrapped)
	}
	for i, c := range cells {
		if chunk = chunk[:0]; i == 0 {
			chunk = protowire.AppendString(protowire.AppendTag(chunk, keyField, protowire.BytesType), r.key)
			wrap(familyField, r.family)
		}
		if i == 0 || c.qualifier != cells[i-1].qualifier {
			wrap(qualifierField, c.qualifier)
		}
		chunk = protowire.AppendVarint(protowire.AppendTag(chunk, timestampField, protowire.VarintType), uint64(c.micros))
		if len(c.value) > 0 {
			chunk = protowire.AppendBytes(protowire.AppendTag(chunk, valueField, protowire.BytesType), c.value)
		}
		if i == len(cells)-1 {
			chunk = protowire.AppendVarint(protowire.AppendTag(chunk, commitField, protowire.VarintType), 1)
		}
		response = protowire.AppendBytes(protowire.AppendTag(response, chunksField, protowire.BytesType), chunk)
	}
	return response
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
		if ok, err := matches("^(?:"+pattern+")$", of.key); !ok || err != nil {
			return nil, err
		}
		return cells, nil
	case *bigtablepb.RowFilter_Condition_:
		met, err := pass(f.Condition.PredicateFilter, of, cells)
		switch {
		case err != nil:
			return nil, err
		case len(met) > 0 && f.Condition.TrueFilter != nil:
			return pass(f.Condition.TrueFilter, of, cells)
		case len(met) == 0 && f.Condition.FalseFilter != nil:
			return pass(f.Condition.FalseFilter, of, cells)
		}
		return nil, nil
	case *bigtablepb.RowFilter_ValueRangeFilter:
		return keep(cells, func(c cell) bool { return within(f.ValueRangeFilter, string(c.value)) }), nil
	case *bigtablepb.RowFilter_FamilyNameRegexFilter:
		return keep(cells, func(cell) bool { return f.FamilyNameRegexFilter == of.family }), nil
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		from, to := f.TimestampRangeFilter.StartTimestampMicros, f.TimestampRangeFilter.EndTimestampMicros
		return keep(cells, func(c cell) bool { return c.micros >= from && (to == 0 || c.micros < to) }), nil
	case *bigtablepb.RowFilter_ColumnQualifierRegexFilter:
		names := strings.Split(string(f.ColumnQualifierRegexFilter), "|")
		return keep(cells, func(c cell) bool { return slices.Contains(names, c.qualifier) }), nil
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

// patterns are compiled regular expressions.
var patterns sync.Map

// matches reports whether text matches a regular expression, which it compiles once.
func matches(pattern, text string) (bool, error) {
	known, ok := patterns.Load(pattern)
	if !ok {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return false, err
		}
		known, _ = patterns.LoadOrStore(pattern, compiled)
	}
	return known.(*regexp.Regexp).MatchString(text), nil
}

// within reports whether a range contains a value.
func within(r *bigtablepb.ValueRange, value string) bool {
	switch end := r.EndValue.(type) {
	case *bigtablepb.ValueRange_EndValueOpen:
		if value >= string(end.EndValueOpen) {
			return false
		}
	case *bigtablepb.ValueRange_EndValueClosed:
		if value > string(end.EndValueClosed) {
			return false
		}
	}
	if start, open := r.StartValue.(*bigtablepb.ValueRange_StartValueOpen); open {
		return value > string(start.StartValueOpen)
	}
	return value >= string(r.GetStartValueClosed())
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
