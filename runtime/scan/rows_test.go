package scan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Several spans are one request if their prefixes distinguish their keys.
func TestGather(t *testing.T) {
	ofSpans := [][]codec.Rows{{{Start: "a#1", End: "a#5", Reverse: true}}, {{Keys: []string{"b#1", "b#7"}}}}
	want := []codec.Rows{{Start: "a#1", End: "a#5"}, {Start: "b#1", End: "b#1\x00"}, {Start: "b#7", End: "b#7\x00"}}
	all, ok := gather(ofSpans)
	if diff := cmp.Diff(want, all); diff != "" || !ok || !apart([]codec.Span{{Prefix: "b#"}, {Prefix: "a#"}}) {
		t.Error(ok, diff)
	}
	for name, spans := range map[string][]codec.Span{
		"a prefix of the other": {{Prefix: "b#"}, {Prefix: "b#b#"}}, "the same": {{Prefix: "b#"}, {Prefix: "b#"}},
		"a suffix": {{Prefix: "a#"}, {Prefix: "b#", Suffix: "x"}},
	} {
		if apart(spans) {
			t.Error(name)
		}
	}
	if _, ok := gather([][]codec.Rows{{{Start: strings.Repeat("x", codec.MaxRowSet)}}}); ok {
		t.Error("too large for a request")
	}
	third := codec.Rows{Start: strings.Repeat("x", codec.MaxRowSet/3-100)}
	for batch := range Batches(slices.Values([]codec.Rows{third, third, third, third})) {
		if len(batch) != 3 && len(batch) != 1 {
			t.Errorf("%d ranges of a third of a request each", len(batch))
		}
	}
}
