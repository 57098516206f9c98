package schema

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/internal/frame"
)

// noPositions ignores positions.
var noPositions = cmpopts.IgnoreTypes(diag.Pos{})

// val returns a value without a position.
func val[V any](v V) Value[V] { return Value[V]{V: v} }

// parse parses a framed schema, which must not have errors.
func parse(t *testing.T, text string) *Schema {
	t.Helper()
	s, list := Parse("x.yaml", []byte(frame.Schema(text)))
	if len(list) > 0 {
		t.Fatalf("%v\n%s", list, text)
	}
	return s
}

func TestDefaultPrecision(t *testing.T) {
	for _, text := range []string{"", "time: {}\n"} {
		if got := parse(t, text).Time.Precision; got.V != time.Millisecond || got.IsSet() {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestFields(t *testing.T) {
	type F = Field
	for _, test := range []struct {
		text string
		want Field
	}{
		{"string", F{Type: val(String)}},
		{"{type: int64, doc: ' a b ', unit: 5}", F{Type: val(Int64), Options: Options{Doc: "a b", Unit: "5"}}},
		{"{type: int64, doc: yes, unit: true}", F{Type: val(Int64), Options: Options{Doc: "yes", Unit: "true"}}},
		{"{type: int64, optional: true}", F{Type: val(Int64), Options: Options{Optional: true}}},
		{"{type: int64, optional: false, default: 1}", F{Type: val(Int64), Options: Options{Default: int64(1)}}},
		{"{type: int64, column: p, family: stats, values: text, number: 536870911}", F{Type: val(Int64), Column: val("p"), Family: val("stats"), Values: val("text"), Number: val(536870911)}},
		{"{default: x y, type: string}", F{Type: val(String), Options: Options{Default: "x y"}}},
		{"{type: string, default: 1.50}", F{Type: val(String), Options: Options{Default: "1.50"}}},
		{"{type: string, default: true}", F{Type: val(String), Options: Options{Default: "true"}}},
		{`{type: string, default: ""}`, F{Type: val(String), Options: Options{Default: ""}}},
		{`{type: string, default: "null"}`, F{Type: val(String), Options: Options{Default: "null"}}},
		{"{type: bytes, default: AAEC/w==}", F{Type: val(Bytes), Options: Options{Default: []byte{0, 1, 2, 255}}}},
		{"{type: bool, default: false}", F{Type: val(Bool), Options: Options{Default: false}}},
		{"{type: int32, default: -2147483648}", F{Type: val(Int32), Options: Options{Default: int64(-2147483648)}}},
		{"{type: int64, default: -9223372036854775808}", F{Type: val(Int64), Options: Options{Default: int64(-9223372036854775808)}}},
		{"{type: int64, default: 1_000_000}", F{Type: val(Int64), Options: Options{Default: int64(1000000)}}},
		{"{type: uint32, default: 4294967295}", F{Type: val(Uint32), Options: Options{Default: uint64(4294967295)}}},
		{"{type: uint64, default: 18446744073709551615}", F{Type: val(Uint64), Options: Options{Default: uint64(18446744073709551615)}}},
		{"{type: float32, default: .5}", F{Type: val(Float32), Options: Options{Default: 0.5}}},
		{"{type: float64, default: 1e3}", F{Type: val(Float64), Options: Options{Default: 1000.0}}},
		{"{type: float64, default: -7}", F{Type: val(Float64), Options: Options{Default: -7.0}}},
		{"{type: timestamp, default: 2021-03-05T13:00:00+01:00}", F{Type: val(Timestamp), Options: Options{Default: time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)}}},
		{"{type: duration, default: 1h30m}", F{Type: val(Duration), Options: Options{Default: 90 * time.Minute}}},
		{"{type: duration, default: 0s}", F{Type: val(Duration), Options: Options{Default: time.Duration(0)}}},
		{"{type: uuid, default: 123E4567-e89b-12d3-a456-426614174000}", F{Type: val(UUID), Options: Options{Default: "123e4567-e89b-12d3-a456-426614174000"}}},
		{`{type: json, default: '{"a": [1, null]}'}`, F{Type: val(JSON), Options: Options{Default: `{"a": [1, null]}`}}},
		{"{type: json, default: 5}", F{Type: val(JSON), Options: Options{Default: "5"}}},
		{"{type: enum, of: [drizzle, heavy-rain], default: drizzle}", F{Type: val(Enum), Options: Options{Default: "drizzle"}, Of: []EnumValue{{val("drizzle"), val(1)}, {val("heavy-rain"), val(2)}}}},
		{"{type: enum, of: {rain: 2147483647, drizzle: 3}}", F{Type: val(Enum), Of: []EnumValue{{val("rain"), val(2147483647)}, {val("drizzle"), val(3)}}}},
	} {
		t.Run(test.text, func(t *testing.T) {
			test.want.Name = val("f")
			got := parse(t, "fields:\n  f: "+test.text+"\n").Fields
			if diff := cmp.Diff([]Field{test.want}, got, noPositions); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// oneTable is a table that tests extend with more keys.
const oneTable = "tables:\n  t:\n    pattern: single_serialized\n    key: {segments: [location]}\n"

func TestDelimiters(t *testing.T) {
	for text, want := range map[string]string{`"#"`: "#", "'#'": "#", "1": "1", "0x1F": "0x1F", "/": "/", "true": "true", `"\x00"`: "\x00", "'~'": "~"} {
		got := parse(t, "tables:\n  t:\n    pattern: single_serialized\n    key:\n      delimiter: "+text+"\n      segments: [location]\n").Tables[0].Delimiter.V
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestQueriesAndExpect(t *testing.T) {
	s := parse(t, "queries:\n  ByLocation: {by: [location], scan: allowed, doc: all of a region}\n  Export: {by: [], scan: at night}\n  ExportToo: {scan: at night, allow: {K18: because}}\n"+
		"expect:\n  series: 5_800\n  rate: 90/1m30s\n  value_bytes: {location: 8, pressure: 5}\n  reads: {Latest: 10/s, ByLocation: {rate: 60/m, range: 1h}}\n  skew: 0.9\n  arrival: daily\n")
	queries := []Query{
		{Name: val("ByLocation"), By: []Value[string]{val("location")}, Scan: val("allowed"), Doc: "all of a region"},
		{Name: val("Export"), Scan: val("at night")}, {Name: val("ExportToo"), Scan: val("at night"), Allow: []Allow{{Rule: val("K18"), Reason: "because"}}},
	}
	expect := Expect{
		Series: 5800, Rate: 1, Widths: map[string]int64{"location": 8, "pressure": 5},
		Reads: []ExpectedRead{{Method: val("Latest"), Rate: 10}, {val("ByLocation"), 1, time.Hour}},
		Skew:  0.9, Arrival: Daily,
	}
	if diff := cmp.Diff([]any{queries, expect}, []any{s.Queries, s.Expect}, noPositions); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestFileForms parses the same schema with different line ends and encodings.
func TestFileForms(t *testing.T) {
	want := parse(t, "")
	text := frame.Schema("")
	for name, form := range map[string]string{
		"byte order mark":  "\uFEFF" + text,
		"CRLF":             strings.ReplaceAll(text, "\n", "\r\n"),
		"no final newline": strings.TrimSuffix(text, "\n"),
		"document end":     text + "...\n# the end\n",
	} {
		got, list := Parse("x.yaml", []byte(form))
		if len(list) > 0 {
			t.Errorf("%s: %v", name, list)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	if _, list := Parse("x.yaml", []byte("---\n"+text)); len(list) > 0 {
		t.Error(list)
	}
}

func TestTooManyErrors(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString("key" + strconv.Itoa(i) + ": 1\n")
	}
	_, list := Parse("x.yaml", []byte(b.String()))
	if len(list) != maxErrors+1 || list[maxErrors].Message != "too many errors" {
		t.Errorf("%d errors, the last is %v", len(list), list[len(list)-1])
	}
	if got, want := list[maxErrors].Pos.Line, 100; got != want {
		t.Errorf("the last is in line %d, want %d", got, want)
	}
	list.Sort()
	if list[maxErrors].Message != "too many errors" {
		t.Errorf("sorting moves the last to %v", list)
	}
}

func TestFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("# 8 bytes\n", 1<<17): "x.yaml: the file is larger than 1 MiB",
		"btgen: v1\ndoc: a\xff\n":            "x.yaml:2:7: the file is not UTF-8",
		"btgen: v1\rname: X\n":               "x.yaml:1:10: the character U+000D is a line break in YAML, but not in editors",
		"\xff\xfeb\x00":                      "x.yaml:1:1: the file is not UTF-8",
	} {
		_, list := Parse("x.yaml", []byte(text))
		if len(list) != 1 || list[0].Error() != want {
			t.Errorf("got %v, want %s", list, want)
		}
	}
}

// TestPartial checks that a schema with errors contains its valid parts.
func TestPartial(t *testing.T) {
	s, list := Parse("x.yaml", []byte(frame.Schema("fields: {a: int46, b: int64}\n")))
	if len(list) != 1 {
		t.Fatal(list)
	}
	if len(s.Fields) != 2 || s.Fields[0].Type.V != Invalid || s.Fields[1].Type.V != Int64 || len(s.Tables) != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestTooMany rejects files whose tables and queries would take minutes to compare. The class of faults: work
// that grows faster than the file.
func TestTooMany(t *testing.T) {
	build := func(tables, queries int) string {
		var b strings.Builder
		b.WriteString("tables:\n")
		for i := range tables {
			fmt.Fprintf(&b, "  t%d: {pattern: bucket_new_cells, key: {delimiter: \"#\", segments: [sensor, bucket]}, bucket: 1d, family: m, ttl: {keep: forever}}\n", i)
		}
		if queries > 0 {
			b.WriteString("queries:\n")
		}
		for i := range queries {
			fmt.Fprintf(&b, "  Q%d: {by: [sensor]}\n", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		tables, queries int
		want            string
	}{
		{1000, 20, ""},
		{1001, 0, "the schema has 1001 tables and earlier layouts: an instance of Bigtable has at most 1000 tables"},
		{1000, 21, "21 queries are too many for 1000 tables and earlier layouts: at most 20 can be compared with all of them"},
		{1, 20_000, ""},
	} {
		_, list := Parse("x.yaml", []byte("btgen: v1\npackage: x\nname: X\nseries: {sensor: string}\nfields: {v: int64}\n"+build(c.tables, c.queries)))
		got := ""
		if len(list) > 0 {
			got = list[0].Message
		}
		if got != c.want {
			t.Errorf("%d tables, %d queries: got %q, want %q", c.tables, c.queries, got, c.want)
		}
	}
}

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
