package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
)

// documents are JSON in forms that encoding/json does not produce.
var documents = []string{
	"[1, 2]", ` {"a" : 1} `, "\t[ ]\r\n", "{ }", "null", " true", "1e400", "-0", "0.50", `"<&>"`, `"\u003c\/\ud83d\ude00"`, "\"\u2028\x7f\"",
	`{"a":1,"a":2}`, `[{"b":[{"]":"}"}]},"\\\"",":",","]`, strings.Repeat("[", 50) + strings.Repeat("]", 50), `{"doc":{"doc":[1, 2]}, "text" : "x"}`,
}

// object returns an event as JSON with a member of each type. The JSON member has
// others before and after it.
func object(dst []byte, text string, raw []byte, number int64, unsigned uint64, float float64, at time.Time, took time.Duration, id UUID, document string) []byte {
	begin := len(dst)
	dst = AppendJSONString(dst, "text", text)
	dst = AppendJSONBytes(dst, "raw", raw)
	dst = AppendJSONBool(dst, "flag", number > 0)
	dst = AppendJSONInt(dst, "small", int32(number))
	dst = AppendJSONInt(dst, "number", number)
	dst = AppendJSONJSON(dst, "doc", json.RawMessage(document))
	dst = AppendJSONUint(dst, "mask", uint32(unsigned))
	dst = AppendJSONUint(dst, "unsigned", unsigned)
	dst = AppendJSONFloat32(dst, "load", float32(math.Mod(float, math.MaxFloat32)))
	dst = AppendJSONFloat64(dst, "float", float)
	dst = AppendJSONTimestamp(dst, "at", at)
	dst = AppendJSONDuration(dst, "took", took)
	dst = AppendJSONUUID(dst, "id", id)
	dst = AppendJSONEnum(dst, "kind", Enum{{0, "zero"}, {7, "seven"}}, 7)
	return EndJSON(dst, begin)
}

// TestJSONOfEvents compares appended members with what encoding/json decodes. The JSON
// member must be unchanged byte for byte.
func TestJSONOfEvents(t *testing.T) {
	type parsed struct {
		Text     string
		Raw      []byte
		Flag     bool
		Small    int32
		Number   int64
		Doc      json.RawMessage
		Mask     uint32
		Unsigned uint64
		Load     float32
		Float    float64
		At       time.Time
		Took     JSONDuration
		ID       UUID
		Kind     string
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\"\\\n\r\t\b\f\x00\x1f\x7f", "<&>\u2028\u2029", "é😀\ufffd", `\u0041`})).Draw(t, "text")
		raw := rapid.SliceOf(rapid.Byte()).Draw(t, "raw")
		number, unsigned := rapid.Int64().Draw(t, "number"), rapid.Uint64().Draw(t, "unsigned")
		float := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.Copysign(0, -1), 1e-7, 1e21, math.MaxFloat64})).Draw(t, "float")
		at := time.Unix(0, rapid.Int64().Draw(t, "at")).UTC()
		took := time.Duration(rapid.Int64().Draw(t, "took"))
		id := UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		document := rapid.SampledFrom(documents).Draw(t, "document")

		dst := object([]byte("before"), text, raw, number, unsigned, float, at, took, id, document)
		blob, found := bytes.CutPrefix(dst, []byte("before"))
		if !found {
			t.Fatalf("%q", dst)
		}
		var got parsed
		must(t, ParseJSON(blob, &got), blob)
		want := parsed{text, raw, number > 0, int32(number), number, json.RawMessage(document), uint32(unsigned), unsigned, float32(math.Mod(float, math.MaxFloat32)), float, at, JSONDuration(took), id, "seven"}
		if got.Doc = MemberJSON(blob, "doc", got.Doc); string(got.Doc) != document {
			t.Fatalf("%q is read as %q", document, got.Doc)
		}
		if math.Signbit(got.Float) != math.Signbit(float) {
			t.Fatalf("%v is read as %v", float, got.Float)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })); diff != "" {
			t.Fatalf("%s\n%s", blob, diff)
		}
	})
}

// TestMemberJSON finds members in objects that other programs wrote.
func TestMemberJSON(t *testing.T) {
	for _, c := range []struct{ blob, want string }{
		{`{}`, "none"},
		{` { "doc" : [1, 2] } `, ` [1, 2] `},
		{`{"doc":1,"doc": 2}`, ` 2`},
		{`{"other":{"doc":1},"text":"\"doc\":3","doc":{"doc":4}}`, `{"doc":4}`},
		{`{"list":["doc", {"doc":1}],"doc":"\\"}`, `"\\"`},
		{`{"\u0064oc":1}`, "none"},
		{`{"DOC":1}`, "none"},
		{`{"docs":1, "doc":null}`, `null`},
		{`{"":1,"doc":"}"}`, `"}"`},
		{"{\"doc\"\n:\n{\"a\": \"b\"}\n,\"a\":1}", "\n{\"a\": \"b\"}\n"},
	} {
		if !json.Valid([]byte(c.blob)) {
			t.Fatal(c.blob)
		}
		if got := MemberJSON([]byte(c.blob), "doc", json.RawMessage("none")); string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.blob, got, c.want)
		}
		if got := MemberJSON([]byte(c.blob), "doc", nil); got != nil {
			t.Errorf("%s: %q without a member", c.blob, got)
		}
	}
}

// ParseJSON rejects values that are not objects and strings that are not UTF-8. Members
// of type JSON may contain invalid UTF-8 that was stored earlier.
func TestParseJSONRefuses(t *testing.T) {
	var v struct {
		Text *string         `json:"text"`
		Doc  json.RawMessage `json:"doc"`
	}
	for _, blob := range []string{"", "null", " null ", "[]", "1", `"x"`, "{", `{"text":1}`, "{\"text\":\"a\xffb\"}", "{\"doc\":\"\xff\"}", `{"text":"a"}{}`} {
		assert.Is(t, ErrValue, ParseJSON([]byte(blob), &v), blob)
	}
	blob := []byte("{\"doc\": [\"\xff\"],\"text\":\"a\"}")
	if err := ParseJSON(blob, &v); err != nil || string(MemberJSON(blob, "doc", v.Doc)) != " [\"\xff\"]" {
		t.Errorf("%v, %q", err, v.Doc)
	}
}

// FuzzMembers compares the members of an object with those that encoding/json finds.
func FuzzMembers(f *testing.F) {
	for i, d := range documents {
		f.Add([]byte(fmt.Sprintf(`{"a": %s,"b%d":%s }`, d, i, d)))
	}
	f.Fuzz(func(t *testing.T, blob []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(blob, &want) != nil || want == nil {
			return
		}
		got := map[string]json.RawMessage{}
		for name, value := range members(blob) {
			var text string
			must(t, json.Unmarshal(name, &text), name, blob)
			got[text] = json.RawMessage(bytes.Trim(value, jsonSpace))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", blob, diff)
		}
	})
}

// JSON must be UTF-8, because protobuf stores it as a string.
func TestCheckerJSON(t *testing.T) {
	for _, bad := range []string{"", " ", "{", "[1,]", "\"\xff\"", "{\"\xc3\x28\":1}", "nul", "1 2"} {
		var c Checker
		if c.JSON("doc", []byte(bad)); !errors.Is(c.Err(), ErrJSON) {
			t.Errorf("%q: %v", bad, c.Err())
		}
	}
	for _, good := range documents {
		var c Checker
		if c.JSON("doc", []byte(good)); c.Err() != nil {
			t.Errorf("%q: %v", good, c.Err())
		}
	}
}
