package gen

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/internal/model"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestStates adds a table with pattern latest to random schemas, with and without earlier layouts. All
// reads of the newest events must find what they find without it, among writes, deletions with requests
// that fail, garbage collection and the passing of time. BTGEN_MODEL_SEED selects other schemas.
func TestStates(t *testing.T) {
	seed := numberOf(t, "BTGEN_MODEL_SEED", 1)
	schemas := slices.Concat(model.Matrix(seed), model.Histories(seed))
	for i := range 12 {
		schemas = append(schemas, model.Random(100*seed+i))
	}
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	rapidChecks(t, testlong.Pick("2", "8"))
	patterns := map[string]int{}
	for i := range schemas {
		s := &schemas[i]
		s.Name = fmt.Sprintf("s%03d", i)
		if !withState(s, i) {
			continue
		}
		if patterns[s.Pattern]++; patterns[s.Pattern] > 1 && !testlong.Enabled() {
			continue
		}
		t.Run(s.Name+"_"+s.Pattern, func(t *testing.T) {
			search := *s
			search.State = nil
			path := [...]string{"Connect", "ConnectPlain"}[i%2]
			driver, without := newDynamicModel(t, b, s, path), newDynamicModel(t, b, &search, path)
			rapid.Check(t, func(c *rapid.T) { model.CheckStates(c, t.Context(), s, driver, without) })
		})
	}
	if len(patterns) < 4 {
		t.Errorf("only the patterns %v can have such a table", patterns)
	}
}

// withState gives a schema a table with pattern latest, if any can be beside its table.
func withState(s *model.Schema, seed int) bool {
	ages := []time.Duration{time.Hour, time.Minute, 10 * time.Second, time.Second}
	var some []model.TTL
	for i := range ages {
		age := model.TTL{Kind: "max_age", Age: ages[(i+seed)%len(ages)]}
		some = append(some, age, model.TTL{Kind: "any_of", Rules: []model.TTL{age, {Kind: "max_versions", Versions: 1}}})
	}
	if len(s.Families) == 1 && s.Classes == nil {
		some = append(some, s.Families[0].TTL)
	}
	for k := range some {
		s.State = &some[(k+seed)%len(some)]
		if result := Resolve([]Input{{Name: "s.yaml", Text: []byte(s.YAML())}}); !result.Diagnostics.HasErrors() {
			return true
		}
	}
	s.State = nil
	return false
}
