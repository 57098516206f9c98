package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfig(t *testing.T) {
	got, list := ParseConfig("btgen.yaml", []byte("btgen: v1\nschemas: [schemas, more/balloon.yaml]\nout: internal/gen\nprices: {node_hour: 0.65}\n"+
		"terraform: true\nlogical_views: true\nbigquery: {dataset: example.com:my-project.d, instance: projects/my-project/instances/i, app_profile: p}\n"))
	if len(list) > 0 {
		t.Fatal(list)
	}
	want := &Config{
		Schemas: []string{"schemas", "more/balloon.yaml"}, Out: "internal/gen", Prices: []Price{{Name: val("node_hour"), Amount: val(0.65)}},
		Terraform: val(true), LogicalViews: val(true), BigQuery: &BigQuery{Dataset: "example.com:my-project.d", Instance: "projects/my-project/instances/i", AppProfile: "p"},
	}
	if diff := cmp.Diff(want, got, noPositions); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "btgen.yaml: the file is empty",
		"out: gen\n":                          `btgen.yaml:1:1: btgen.yaml needs the key "btgen"`,
		"btgen: v1\nouts: gen\n":              `btgen.yaml:2:1: unknown key "outs" in btgen.yaml`,
		"btgen: v1\nschemas: x\n":             `btgen.yaml:2:10: expected a list of paths, found "x"`,
		"btgen: v1\nout: \"\"\n":              "btgen.yaml:2:6: a path cannot be empty",
		"btgen: v1\nprices: {node: 1}\n":      `btgen.yaml:2:10: unknown price "node"`,
		"btgen: v1\nbigquery: {dataset: d}\n": `btgen.yaml:2:11: bigquery needs the key "instance"`,
		"btgen: v1\nbigquery: {dataset: a.b.c, instance: projects/my-project/instances/i}\n":       `btgen.yaml:2:21: "a.b.c" is not a dataset: one is letters, digits and _, optionally after a project and a dot`,
		"btgen: v1\nbigquery: {dataset: d, instance: i}\n":                                         `btgen.yaml:2:34: "i" is not an instance: one is of the form projects/PROJECT/instances/INSTANCE`,
		"btgen: v1\nbigquery: {dataset: d, instance: projects/my-project/instances/i, table: t}\n": `btgen.yaml:2:67: unknown key "table" in bigquery`,
		"btgen: v1\nout: gen\nout:": `btgen.yaml:3:1: duplicate key "out"`,
	} {
		c, list := ParseConfig("btgen.yaml", []byte(text))
		if c == nil || len(list) != 1 || list[0].Error() != want {
			t.Errorf("%q: got %v, want %s", text, list, want)
		}
	}
}
