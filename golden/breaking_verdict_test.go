package golden

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// renames are the fields that edits rename, for reads by the new names.
var renames = map[string]map[string]string{
	"field_renamed_optional": {"note": "remark"}, "proto_optional_renamed": {"note": "remark"},
	"field_renamed_text": {"note": "remark"}, "json_field_renamed_wider": {"count": "total"},
	"was_renamed_optional": {"note": "remark"}, "was_to_required": {"note": "remark"},
	"was_skipped": {"remark": "comment"}, "was_renamed": {"temperature": "temp"}, "was_renamed_rows": {"temperature": "temp"}, "was_renamed_metric": {"temperature": "temp"},
	"was_in_two_tables": {"sent": "packets"}, "was_without_column": {"sent": "packets"}, "was_without_number": {"sent": "packets"},
	"was_renamed_json": {"temperature": "temp"}, "was_periods": {"temperature": "temp"}, "was_misspelled": {"temperature": "temp"},
}

// rare are the edits that harm only events that the traffic of this test does not have. The
// events of TestBreakingProof show their verdicts.
var rare = map[string]string{
	"age_from_event":           "events that were written late",
	"age_from_forever":         "events that are older than the new age",
	"age_shorter":              "events that are older than the new age",
	"versions_fewer":           "events that are older than the age, in a row with many",
	"field_removed_only_value": "events without a level",
	"key_escape":               "values with the bytes that are escaped",
	"key_type_narrower":        "numbers of more than 32 bits",
	"rollup_events_shorter":    "events that are older than the new age",
	"was_int_to_float":         "integers beyond 2^53, which are errors",
	"proto_field_added":        "a 0 that nobody has written is like an absent one for the test helper",
}

// TestBreakingVerdicts tries each edit on events of the old schema: after one of class DATA, the
// new schema reads different events in at least one of many cases, and after one of class SAFE,
// or one that moves a field and names its older column, the same in all. TestBreakingProof does it with generated code.
func TestBreakingVerdicts(t *testing.T) {
	lab := dynamictest.NewLab(t)
	for _, e := range testlong.Sample(edits(t), 4) {
		_, c := e.compare(t)
		verdict, moved := evolve.Safe, false
		for _, f := range c.Findings {
			verdict = min(verdict, f.Rule.Class)
			moved = moved || f.Diagnostic.Rule == "E39"
		}
		if moved && verdict == evolve.Rollout { // stored events are read as before
			verdict = evolve.Safe
		}
		if len(e.versions) > 2 || len(e.beside) > 0 || unproven[e.name] != "" || rare[e.name] != "" || verdict != evolve.Data && verdict != evolve.Safe {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			old, new := layoutOf(t, e.versions[0]), layoutOf(t, e.versions[1])
			traffic, ok := dynamictest.NewTraffic(old)
			if !ok {
				t.Fatal("no events")
			}
			edges := traffic.Edges()
			edit := dynamictest.Edit{Old: dynamic.New(old), New: dynamic.New(new), Renamed: renames[e.name], Now: traffic.Now}
			events := rapid.Custom(func(rt *rapid.T) []dynamic.Event { return traffic.Events(rt, 8) })
			harmful, cases := false, 20
			if verdict == evolve.Safe {
				cases = testlong.Pick(2, cases)
			}
			for seed := 0; seed < cases && !harmful; seed++ {
				got, err := lab.Compare(t.Context(), edit, events.Example(seed), dynamictest.Range{From: edges[0], To: edges[len(edges)-1]})
				if err != nil {
					t.Fatal(err)
				}
				harmful = !got.Safe()
				if harmful && verdict == evolve.Safe {
					t.Errorf("verdict SAFE, but %+v", got)
				}
			}
			if !harmful && verdict == evolve.Data {
				t.Error("verdict DATA, but all events are read as before")
			}
		})
	}
}
