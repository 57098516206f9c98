package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/btgen-dev/btgen/golden/assert"
)

const fieldStatusDetails = 3

// TestAnswersOfAnyBytes decodes a response truncated at every position, and with every
// byte replaced by every other. The result must be an error if protobuf reports one,
// and equal otherwise.
func TestAnswersOfAnyBytes(t *testing.T) {
	response, err := proto.Marshal(&bigtablepb.MutateRowsResponse{Entries: []*bigtablepb.MutateRowsResponse_Entry{
		{Index: 1, Status: &status.Status{Code: 9, Message: "é"}},
		{Index: 300, Status: new(status.Status)},
		{},
	}})
	assert.Must(t, err)
	response = protowire.AppendTag(response, 2, protowire.BytesType) // an unknown field
	response = protowire.AppendBytes(response, nil)
	refused := 0
	for at := range response {
		for b := range 256 {
			if b == fieldStatusDetails<<3|int(protowire.BytesType) {
				continue // not decoded
			}
			changed := bytes.Clone(response)
			changed[at] = byte(b)
			refused += checkAnswers(t, changed)
		}
		refused += checkAnswers(t, response[:at])
	}
	if refused < len(response) {
		t.Errorf("%d were refused", refused)
	}
}

// checkAnswers compares the decoded response with that of the protobuf package. It
// returns 1 if the response is invalid.
func checkAnswers(t *testing.T, message []byte) int {
	t.Helper()
	var want bigtablepb.MutateRowsResponse
	wantErr := proto.Unmarshal(message, &want)
	got, rest, err := decodeAnswers(nil, message, 1000)
	if err == nil {
		err = proto.Unmarshal(rest, new(bigtablepb.MutateRowsResponse))
	}
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%x: %v, want %v", message, err, wantErr)
	}
	if err != nil {
		return 1
	}
	if len(got) != len(want.Entries) {
		t.Fatalf("%x: %d answers, want %d", message, len(got), len(want.Entries))
	}
	for i, e := range want.Entries {
		g := got[i]
		if g.index != e.Index || g.given != (e.Status != nil) || g.code != e.Status.GetCode() || string(g.message) != e.Status.GetMessage() {
			t.Fatalf("%x: %+v, want %v", message, g, e)
		}
	}
	return 0
}

// TestWithoutEntries checks that the request keeps all fields that the client sets
// except the entries, including fields of future versions.
func TestWithoutEntries(t *testing.T) {
	request := &bigtablepb.MutateRowsRequest{
		TableName: "t", AuthorizedViewName: "v", AppProfileId: "p",
		Entries: []*bigtablepb.MutateRowsRequest_Entry{{RowKey: []byte("placeholder")}},
	}
	request.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1))
	want := proto.Clone(request).(*bigtablepb.MutateRowsRequest)
	want.Entries = nil
	assert.Same(t, "", cmp.Diff(want, withoutEntries(request), protocmp.Transform()))
	assert.Same(t, 1, len(request.Entries), "the client's request was changed")
}

func TestShortVarint(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		v := random.Uint64() >> (i % 64)
		b := protowire.AppendVarint(nil, v)
		got, n := shortVarint(append(b, 0xff, 0, 0x80, 0x7f, 0xff, 1, 2, 3))
		switch {
		case len(b) > 8 && n != 0:
			t.Fatalf("%x is %d in %d bytes", b, got, n)
		case len(b) <= 8 && (got != v || n != len(b)):
			t.Fatalf("%x is %d in %d bytes, want %d", b, got, n, v)
		}
	}
}

func TestSameName(t *testing.T) {
	names := []string{"", "a", "b", "aa", "ab", "ba", "bb", "aaaaaaaaaaaaaaaaa", "aaaaaaaabaaaaaaaa"}
	for _, a := range names {
		for _, b := range names {
			if sameName([]byte(a), []byte(b)) != (a == b) {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
}
