package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfig(t *testing.T) {
	got, list := ParseConfig("btgen.yaml", []byte("btgen: v1\nschemas: [schemas, more/balloon.yaml]\nout: internal/gen\nprices: {node_hour: 0.65}\n"))
	if len(list) > 0 {
		t.Fatal(list)
	}
	want := &Config{Schemas: []string{"schemas", "more/balloon.yaml"}, Out: "internal/gen", Prices: []Price{{Name: val("node_hour"), Amount: val(0.65)}}}
	if diff := cmp.Diff(want, got, noPositions); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "btgen.yaml: the file is empty",
		"out: gen\n":                     `btgen.yaml:1:1: btgen.yaml needs the key "btgen"`,
		"btgen: v1\nouts: gen\n":         `btgen.yaml:2:1: unknown key "outs" in btgen.yaml`,
		"btgen: v1\nschemas: x\n":        `btgen.yaml:2:10: expected a list of paths, found "x"`,
		"btgen: v1\nout: \"\"\n":         "btgen.yaml:2:6: a path cannot be empty",
		"btgen: v1\nprices: {node: 1}\n": `btgen.yaml:2:10: unknown price "node"`,
		"btgen: v1\nout: gen\nout:":      `btgen.yaml:3:1: duplicate key "out"`,
	} {
		c, list := ParseConfig("btgen.yaml", []byte(text))
		if c == nil || len(list) != 1 || list[0].Error() != want {
			t.Errorf("%q: got %v, want %s", text, list, want)
		}
	}
}
