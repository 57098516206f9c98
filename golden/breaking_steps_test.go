package golden

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// presence is what a field of an event says if it is absent.
type presence struct{ attribute, reads string }

// presences are all of them: the reading of a required field that is absent is an error.
var presences = []presence{{"", "error"}, {"optional: true", "absent"}, {"default: 5", "5"}, {"default: 7", "7"}}

// hides reports whether stored events that may lack a field, written with one presence, are read
// with another value, or not, with another one. An optional field that gets a default is one of
// the promises: the absent value is now the default.
func hides(was, is presence, blob string) bool {
	lack := was.attribute != "" || blob == "protobuf" // which omits the value 0 of a required field
	if !lack || was == is {
		return false
	}
	if was.attribute == "" { // an event with the value 0 has none
		return true
	}
	return was.reads != "absent" || is.reads == "error"
}

// routes are the ways from a field with the first presence (A) to one with the second (B), each
// a list of versions, in which C1 and C2 are two places.
var routes = map[string][]string{
	"at once":              {"x: {type: int64, C1, A}", "x: {type: int64, C1, B}"},
	"removed":              {"x: {type: int64, C1, A}", "", "x: {type: int64, C1, B}"},
	"removed twice":        {"x: {type: int64, C1, A}", "", "x: {type: int64, C1, A}", "", "x: {type: int64, C1, B}"},
	"removed and moved":    {"x: {type: int64, C1, A}", "", "x: {type: int64, C2, was: [{C1}], B}"},
	"removed and renamed":  {"x: {type: int64, C1, A}", "", "y: {type: int64, C2, was: [{C1}], B}"},
	"moved":                {"x: {type: int64, C1, A}", "x: {type: int64, C2, was: [{C1}], B}"},
	"moved and removed":    {"x: {type: int64, C1, A}", "x: {type: int64, C2, was: [{C1}], A}", "", "x: {type: int64, C2, was: [{C1}], B}"},
	"moved and back":       {"x: {type: int64, C1, A}", "x: {type: int64, C2, was: [{C1}], A}", "x: {type: int64, C1, was: [{C2}], B}"},
	"moved, removed, back": {"x: {type: int64, C1, A}", "x: {type: int64, C2, was: [{C1}], A}", "", "x: {type: int64, C1, was: [{C2}], B}"},
}

// TestBreakingSteps changes what an absent field is read as, at once and in several steps: if
// events that lack the field are read with another value at the end, some step has said so.
func TestBreakingSteps(t *testing.T) {
	tried := 0
	for _, blob := range []string{"", "json", "protobuf"} {
		for name, route := range testlong.SampleMap(routes, 4) {
			for _, was := range presences {
				for _, is := range presences {
					said, ok := stepsOf(t, blob, route, was, is)
					if !ok {
						continue
					}
					tried++
					if hides(was, is, blob) && !said {
						t.Errorf("%s: %q becomes %q, %s: stored events are read differently, and no step says so", blob, was.attribute, is.attribute, name)
					}
					back := blob == "" && slices.Contains(route, "") // with the value of an event that was replaced without it
					if was == is && was.attribute != "" && said != back {
						t.Errorf("%s: %q stays, %s: refused", blob, was.attribute, name)
					}
				}
			}
		}
	}
	if tried < testlong.Pick(60, 300) {
		t.Errorf("%d ways", tried)
	}
}

// stepsOf locks the versions of a route one after the other, accepting what a step refuses, and
// reports whether any was refused; false if one is no schema.
func stepsOf(t *testing.T, blob string, route []string, was, is presence) (refused, ok bool) {
	places := strings.NewReplacer("C1", "column: x", "C2", "column: z", ", A", attributeOf(was), ", B", attributeOf(is))
	pattern := "bucket_new_cells"
	switch blob {
	case "protobuf":
		pattern = "bucket_serialized"
		places = strings.NewReplacer("C1", "number: 2", "C2", "number: 3", ", A", attributeOf(was), ", B", attributeOf(is))
	case "json":
		pattern = "bucket_serialized\n    blob: {format: json}"
		places = strings.NewReplacer("x: {type: int64, C2", "z: {type: int64", "y: {type: int64, C2", "z: {type: int64", "type: int64, C1", "type: int64", "{C1}", "x", "{C2}", "z",
			", A", attributeOf(was), ", B", attributeOf(is))
	}
	known := &lock.Lock{}
	for i, field := range route {
		text := fmt.Sprintf(stepSchema, map[bool]string{true: ", number: 1"}[blob == "protobuf"], places.Replace(field), pattern)
		in := gen.Input{Name: "steps.yaml", Text: []byte(text)}
		r := gen.Resolve([]gen.Input{in})
		if r.Diagnostics.HasErrors() {
			return false, false
		}
		c := diff(known, in, r.Layouts[0])
		var accept []string
		for _, f := range c.Findings {
			if f.Rule.Class == evolve.Data {
				accept = append(accept, f.Name+"=a test")
			}
		}
		refused = refused || i > 0 && accept != nil
		accepted, err := c.Accept(accept)
		if err != nil {
			t.Fatal(err)
		}
		known = c.Next(accepted)
	}
	return refused, true
}

func attributeOf(p presence) string {
	if p.attribute == "" {
		return ""
	}
	return ", " + p.attribute
}

const stepSchema = `btgen: v1
package: weather
name: Balloon
series: {location: string}
time: {precision: 1m}
fields:
  pressure: {type: int64%s}
  %s
tables:
  readings:
    pattern: %s
    key: {delimiter: "#", segments: [location, bucket]}
    bucket: 1d
    family: m
    ttl: {max_age: 30d}
`

// TestBreakingKnown edits schemas in steps between which the lock must not forget what was stored:
// the last one takes a place up with another meaning, and is refused by name.
func TestBreakingKnown(t *testing.T) {
	const cells, json, proto = "bucket_new_cells", "bucket_serialized\n    blob: {format: json}", "bucket_serialized"
	type version struct{ level, field, pattern string }
	number := func(v version, level string) string {
		text := fmt.Sprintf(stepSchema, ", number: 1", v.field, v.pattern)
		return strings.NewReplacer("series: {location: string}", "series:\n  location: string\n  "+level+": {type: enum, of: "+v.level+"}", "[location, bucket]", "[location, {name: "+level+", encoding: decimal, pad: 3}, bucket]").Replace(text)
	}
	for name, tt := range map[string]struct {
		versions []version
		levels   []string // the name of the series value, by version
		want     string
	}{
		"an enum value of a renamed series value": {[]version{
			{"{info: 1, warning: 2}", "", cells}, {"{info: 1}", "", cells}, {"{info: 1}", "", cells}, {"{info: 1, critical: 2}", "", cells},
		}, []string{"level", "level", "severity", "severity"}, "E14:readings/severity"},
		"a column of a format that was another one in the meantime": {[]version{
			{"{info: 1}", "load: {type: float64, optional: true}", json}, {"{info: 1}", "", proto}, {"{info: 1}", "", json}, {"{info: 1}", "load: {type: int64, optional: true}", json},
		}, []string{"level", "level", "level", "level"}, "E14:readings/load"},
	} {
		known := &lock.Lock{}
		for i, v := range tt.versions {
			in := gen.Input{Name: "steps.yaml", Text: []byte(number(v, tt.levels[i]))}
			if v.field != "" {
				in.Text = []byte(strings.Replace(string(in.Text), "optional: true", "optional: true, number: 2", 1))
			}
			c := diff(known, in, layoutOf(t, in))
			var accept, names []string
			for _, f := range c.Findings {
				if f.Rule.Class == evolve.Data {
					accept, names = append(accept, f.Name+"=a test"), append(names, f.Name)
				}
			}
			if i == len(tt.versions)-1 && !slices.Contains(names, tt.want) {
				t.Errorf("%s: %q; want %s", name, names, tt.want)
			}
			accepted, err := c.Accept(accept)
			if err != nil {
				t.Fatal(err)
			}
			known = c.Next(accepted)
		}
	}
}
