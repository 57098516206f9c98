package golden

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/golden/assert"
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

// unproven are the edits whose verdict no read of drawn events can show, and why.
var unproven = map[string]string{
	"age_from_event":              "events must be written late",
	"age_from_forever":            "events must be older than the new age",
	"age_shorter":                 "events must be older than the new age",
	"class_field_restored":        "events must be written again with another class in between; TestHistories of package evolve shows it",
	"field_removed_only_value":    "events must have no level; TestLosses of package evolve shows it",
	"field_renamed_back":          writtenAgain,
	"field_restored":              writtenAgain,
	"key_escape":                  "values must have the bytes that are escaped",
	"key_type_narrower":           "numbers must have more than 32 bits",
	"layout_moved":                "events must be between two fixed times; TestHistories of package evolve shows it",
	"layout_removed":              "events must be before a fixed time; TestHistories of package evolve shows it",
	"proto_field_added":           "a 0 that nobody has written is like an absent one for the test helper",
	"rollup_events_shorter":       "events must be older than the new age",
	"serves":                      "the events of series are read, and not those of queries; serves_order shows it",
	"serves_longer":               "events must have expired in the table",
	"serves_named":                "events were written before the table was locked",
	"serves_new_query":            "events were written before the table was locked",
	"serves_shorter":              "events must have expired in the table",
	"state_longer":                "events must have expired in the table",
	"state_to_cells":              "the newest events are found in the other table",
	"strategy_default_expiration": "with equal ages, stored events expire as before; setup refuses the edit anyway",
	"table_draft_again":           "the edit changes nothing; it allows later ones",
	"table_removed":               "the code of the new schema does not know the table",
	"versions_fewer":              "events must be older than the age, in a row with many",
	"was_int_to_float":            "integers must be beyond 2^53, which are errors",
	"was_of_two_removed_fields":   writtenAgain,
	"was_older_taken_again":       writtenAgain,
	"was_restored_renamed":        writtenAgain,
}

const writtenAgain = "events must be written again while the field was removed or renamed; TestLosses of package evolve shows it"

// inRollups are edits after which windows are read otherwise, and no events: TestHistories of package evolve shows it.
var inRollups = strings.Fields(`
	rollup_added rollup_events_longer rollup_family rollup_field_listed_no_more rollup_field_renamed rollup_field_returns rollup_field_type
	rollup_longer rollup_quantiles_removed rollup_read_moves rollup_removed rollup_returns rollup_serves rollup_serves_no_more rollup_shorter rollup_wider
`)

// TestBreakingVerdicts tries each edit on events of the old schema: after one of class DATA, the
// new schema reads different events in at least one of many cases, and after one of class SAFE,
// or one that moves a field and names its older column, the same in all.
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
		if len(e.versions) > 2 || len(e.beside) > 0 || unproven[e.name] != "" || slices.Contains(inRollups, e.name) || verdict != evolve.Data && verdict != evolve.Safe {
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
				assert.Must(t, err)
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
