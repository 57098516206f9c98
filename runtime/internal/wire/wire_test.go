package wire_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

type chunk = bigtablepb.ReadRowsResponse_CellChunk

var (
	commit = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
	reset  = &bigtablepb.ReadRowsResponse_CellChunk_ResetRow{ResetRow: true}
)

// response encodes a response.
func response(t testing.TB, chunks ...*chunk) []byte {
	t.Helper()
	message, err := proto.Marshal(&bigtablepb.ReadRowsResponse{Chunks: chunks})
	must(t, err)
	return message
}

// each returns one response per chunk.
func each(t testing.TB, chunks ...*chunk) [][]byte {
	t.Helper()
	out := make([][]byte, len(chunks))
	for i, c := range chunks {
		out[i] = response(t, c)
	}
	return out
}

// all plays messages.
func all(messages ...[]byte) play {
	return func(_ int, _ *bigtablepb.ReadRowsRequest, send func([]byte)) error {
		for _, m := range messages {
			send(m)
		}
		return nil
	}
}

// first returns the first chunk of a row.
func first(key, family, qualifier string, micros int64, value string) *chunk {
	return &chunk{
		RowKey: []byte(key), FamilyName: wrapperspb.String(family), Qualifier: wrapperspb.Bytes([]byte(qualifier)),
		TimestampMicros: micros, Value: []byte(value),
	}
}

// sampleRow returns a row with everything: several cells in a column, two families,
// values in pieces, empty values, labels and a reset.
func sampleRow(key string) []*chunk {
	return []*chunk{
		first(key, "gone", "q", 1000, "forgotten"),
		{TimestampMicros: 500, Value: []byte("in "), ValueSize: 9},
		{RowStatus: reset},
		first(key, "f", "a", 3000, "1"),
		{TimestampMicros: 2000, Value: []byte("2"), Labels: []string{"label"}},
		{Qualifier: wrapperspb.Bytes([]byte("b")), TimestampMicros: 2000, Value: []byte("in "), ValueSize: 9},
		{Value: []byte("three "), ValueSize: 9},
		{Value: []byte("pieces")},
		{Qualifier: wrapperspb.Bytes([]byte("d")), TimestampMicros: 5000, Value: []byte("of a column")},
		{Qualifier: wrapperspb.Bytes([]byte("d")), TimestampMicros: 4000, Value: []byte("named again")},
		{Qualifier: wrapperspb.Bytes([]byte("e")), TimestampMicros: 4000, Value: []byte("of the next")},
		{Qualifier: wrapperspb.Bytes(nil), TimestampMicros: 1000},
		{RowKey: []byte(key), FamilyName: wrapperspb.String("e"), Qualifier: wrapperspb.Bytes([]byte("b")), Value: []byte("no time")},
		{FamilyName: wrapperspb.String("f"), Qualifier: wrapperspb.Bytes([]byte("c")), TimestampMicros: 1000, Value: []byte("of f again"), RowStatus: commit},
	}
}

// same fails unless two results are equal: rows, and the code and message of the error.
func same(t testing.TB, want, got result) {
	t.Helper()
	if diff := cmp.Diff(want.rows, got.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if status.Code(want.err) != status.Code(got.err) || errorText(want.err) != errorText(got.err) {
		t.Errorf("%v, want %v", got.err, want.err)
	}
}

// errorText returns the message of an error. protobuf randomly uses one or two spaces
// in it.
func errorText(err error) string {
	return strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(err), "\u00a0", " "), "  ", " ")
}

// broken plays rows one chunk at a time. The first attempt breaks off after the given
// number of chunks; each attempt begins where the request says.
func broken(t testing.TB, after int, keys ...string) play {
	return func(attempt int, request *bigtablepb.ReadRowsRequest, send func([]byte)) error {
		sent := 0
		for _, key := range keys {
			if ranges := request.GetRows().GetRowRanges(); len(ranges) > 0 && key <= string(ranges[0].GetStartKeyOpen()) {
				continue
			}
			for _, message := range each(t, sampleRow(key)...) {
				if attempt == 0 && sent == after {
					return status.Error(codes.Unavailable, "broken off")
				}
				send(message)
				sent++
			}
		}
		return nil
	}
}

func TestBrokenStreams(t *testing.T) {
	keys := []string{"a", "b", "c"}
	var chunks []*chunk
	for _, key := range keys {
		chunks = append(chunks, sampleRow(key)...)
	}
	want := ordinaryPath.read(t, all(response(t, chunks...)))
	for after := range chunks {
		t.Run(fmt.Sprint("after chunk ", after), func(t *testing.T) {
			t.Parallel()
			same(t, want, wirePath.read(t, broken(t, after, keys...)))
		})
	}
}

func TestStreamEndsWithinRow(t *testing.T) {
	row := sampleRow("a")
	ordinary, decoded := cannedClient(t), cannedClient(t, wire.DialOption())
	for n := 1; n < len(row); n++ {
		messages := [][]byte{response(t, sampleRow("0")...), response(t, row[:n]...)}
		want := readCanned(ordinary, messages...)
		same(t, want, readCanned(decoded, messages...))
		if wantErr := n != 3; (want.err != nil) != wantErr {
			t.Errorf("%d chunks: %v", n, want.err)
		}
	}
}

func TestErrorsAreTheSame(t *testing.T) {
	ordinary, decoded := cannedClient(t), cannedClient(t, wire.DialOption())
	good := response(t, sampleRow("a")...)
	bare := func(c *chunk) []*chunk { return []*chunk{first("b", "f", "q", 1, "v"), c} }
	cell := func(c *chunk) []*chunk {
		start := first("b", "f", "q", 1, "v")
		start.ValueSize = 9
		return []*chunk{start, c}
	}
	for name, chunks := range map[string][]*chunk{
		"reset between rows":      {{RowStatus: reset}},
		"another key in a row":    bare(&chunk{RowKey: []byte("c"), RowStatus: commit}),
		"family alone":            bare(&chunk{FamilyName: wrapperspb.String("f"), RowStatus: commit}),
		"reset with a value":      bare(&chunk{Value: []byte("v"), RowStatus: reset}),
		"reset with a size":       bare(&chunk{ValueSize: -1, RowStatus: reset}),
		"reset with a label":      bare(&chunk{Labels: []string{""}, RowStatus: reset}),
		"reset with a time":       bare(&chunk{TimestampMicros: 1, RowStatus: reset}),
		"commit within a cell":    bare(&chunk{ValueSize: 4, RowStatus: commit}),
		"a key within a cell":     cell(&chunk{RowKey: []byte("b"), RowStatus: commit}),
		"a time within a cell":    cell(&chunk{TimestampMicros: 1, RowStatus: commit}),
		"commit within a value":   cell(&chunk{ValueSize: 4, RowStatus: commit}),
		"reset with key in cell":  cell(&chunk{RowKey: []byte("b"), RowStatus: reset}),
		"a negative size is none": {{RowKey: []byte("b"), FamilyName: wrapperspb.String("f"), Qualifier: wrapperspb.Bytes(nil), ValueSize: -1, RowStatus: commit}},
	} {
		t.Run(name, func(t *testing.T) {
			messages := [][]byte{good, response(t, append(chunks, sampleRow("x")...)...)}
			same(t, readCanned(ordinary, messages...), readCanned(decoded, messages...))
		})
	}
	for name, garbage := range map[string][]byte{
		"garbage":         []byte("garbage"),
		"cut":             good[:len(good)-3],
		"not UTF-8":       []byte("\x0a\x07\x0a\x01a\x12\x02\xff\xff"),
		"after a row":     append(response(t, sampleRow("b")...), 0xff),
		"after an error":  append(response(t, &chunk{RowStatus: reset}), 0xff),
		"bad stats":       append(response(t, sampleRow("b")...), 0x1a, 1, 0xff),
		"an unknown part": append(response(t, sampleRow("b")...), 0xfa, 1, 2, 'h', 'i'),
		"a wrong type":    append(response(t, sampleRow("b")...), 0x08, 1),
	} {
		t.Run(name, func(t *testing.T) {
			same(t, readCanned(ordinary, good, garbage), readCanned(decoded, good, garbage))
		})
	}
}

// TestAnyCut reads a response truncated at every position.
func TestAnyCut(t *testing.T) {
	ordinary, decoded := cannedClient(t), cannedClient(t, wire.DialOption())
	chunks := []*chunk{first("a", "f", "q", 1<<50, "v")}
	for i := range 8 {
		c := &chunk{TimestampMicros: 1<<50 - int64(i), Value: []byte("12345678"[:i])}
		if i%3 == 0 {
			c.Qualifier = wrapperspb.Bytes(fmt.Append(nil, "column", i))
		}
		chunks = append(chunks, c)
	}
	message := response(t, chunks...)
	for n := range message {
		same(t, readCanned(ordinary, message[:n:n]), readCanned(decoded, message[:n:n]))
	}
}

func TestOrderAndLimit(t *testing.T) {
	down := all(response(t, append(sampleRow("b"), sampleRow("a")...)...))
	up := all(response(t, append(sampleRow("a"), sampleRow("b")...)...))
	for _, messages := range []play{up, down} {
		for _, opts := range [][]bigtable.ReadOption{nil, {bigtable.ReverseScan()}, {bigtable.LimitRows(1)}, {bigtable.LimitRows(3)}} {
			same(t, ordinaryPath.read(t, messages, opts...), wirePath.read(t, messages, opts...))
		}
	}
}

// TestAcceptance plays the acceptance cases that Bigtable publishes for clients.
func TestAcceptance(t *testing.T) {
	for name, c := range acceptanceCases(t) {
		t.Run(name, func(t *testing.T) {
			messages := all(response(t, c.chunks...))
			want := ordinaryPath.read(t, messages)
			if (want.err != nil) != c.fails {
				t.Errorf("the client: %v", want.err)
			}
			same(t, want, wirePath.read(t, messages))
			if split := wirePath.read(t, all(each(t, c.chunks...)...)); (split.err != nil) != c.fails || !cmp.Equal(split.rows, want.rows) {
				t.Errorf("a response each chunk: %v, want %v", split, want)
			}
		})
	}
}

// acceptanceCase is a list of chunks and whether they violate the protocol.
type acceptanceCase struct {
	chunks []*chunk
	fails  bool
}

// acceptanceCases reads the cases from the client's module.
func acceptanceCases(t *testing.T) map[string]acceptanceCase {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "cloud.google.com/go/bigtable").Output()
	must(t, err)
	content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "read-rows-acceptance-test.json"))
	must(t, err)
	var file struct {
		Tests []struct {
			Name    string
			Chunks  []string
			Results []struct{ Error bool }
		}
	}
	must(t, json.Unmarshal(content, &file))
	cases := map[string]acceptanceCase{}
	for _, test := range file.Tests {
		var c acceptanceCase
		for _, text := range test.Chunks {
			message := new(chunk)
			must(t, prototext.Unmarshal([]byte(text), message))
			c.chunks = append(c.chunks, message)
		}
		for _, result := range test.Results {
			c.fails = c.fails || result.Error
		}
		cases[test.Name] = c
	}
	if len(cases) < 40 {
		t.Errorf("%d cases", len(cases))
	}
	return cases
}

// A row that does not end is an error once it is too large.
func TestTooLargeRow(t *testing.T) {
	testlong.Skip(t, "it receives 256 MiB")
	client := cannedClient(t, wire.DialOption())
	piece := strings.Repeat("x", 1<<20)
	for name, next := range map[string][]*chunk{
		"a value in pieces": {{Value: []byte(piece), ValueSize: 1 << 30}},
		"large cells":       {{TimestampMicros: 1, Value: []byte(piece)}},
		"small cells":       slices.Repeat([]*chunk{{TimestampMicros: 1 << 50, Value: []byte(piece[:100])}}, len(piece)/100),
	} {
		start := first("a", "f", "q", 1, piece)
		start.ValueSize = next[0].ValueSize
		messages := slices.Repeat([][]byte{response(t, next...)}, 300)
		got := readCanned(client, slices.Insert(messages, 0, response(t, start))...)
		if got.rows != nil || got.err == nil || !strings.Contains(got.err.Error(), "a row exceeds 256 MiB") {
			t.Errorf("%s: %d rows, %v", name, len(got.rows), got.err)
		}
	}
}
