package codec

import (
	"fmt"
	"testing"
)

// Each pattern has the name that schemas give it, and says what its rows and cells are. What names no pattern is none,
// and prints as a number.
func TestPatterns(t *testing.T) {
	wanted := []struct {
		pattern                                                 Pattern
		name                                                    string
		bucketed, eventTimed, versioned, serialized, isOneValue bool
	}{
		{BucketNewColumns, "bucket_new_columns", true, true, false, false, false},
		{BucketNewCells, "bucket_new_cells", true, true, true, false, false},
		{BucketSerialized, "bucket_serialized", true, true, true, true, true},
		{BucketOffsets, "bucket_offsets", true, false, false, false, true},
		{SingleSerialized, "single_serialized", false, false, false, true, true},
		{SingleUnserialized, "single_unserialized", false, false, false, false, false},
		{Latest, "latest", true, true, true, false, false},
	}
	all := Patterns()
	if len(all) != len(wanted) {
		t.Fatalf("patterns %v, want %d", all, len(wanted))
	}
	for i, want := range wanted {
		p := all[i]
		if p != want.pattern || p.String() != want.name || ParsePattern(want.name) != p {
			t.Errorf("pattern %d is %v, and %q is %v; want %q", i, p, want.name, ParsePattern(want.name), want.name)
		}
		got := fmt.Sprint(p.Bucketed(), p.EventTimed(), p.Versioned(), p.Serialized(), p.OneValue())
		if want := fmt.Sprint(want.bucketed, want.eventTimed, want.versioned, want.serialized, want.isOneValue); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
	for _, name := range []string{"", "bucket", "Pattern(0)", "bucket_new_columns "} {
		if p := ParsePattern(name); p != 0 {
			t.Errorf("%q is %s", name, p)
		}
	}
	if got := fmt.Sprint(Pattern(-1), Pattern(0), Pattern(8)); got != "Pattern(-1) Pattern(0) Pattern(8)" {
		t.Errorf("got %s", got)
	}
}

// The facts about each pattern agree: a seventh pattern has to state them all. The time of an
// event is in exactly one of three places, and the patterns differ.
func TestPatternTraits(t *testing.T) {
	seen := map[PatternTraits]Pattern{}
	for _, p := range Patterns() {
		traits := p.Traits()
		if traits.Name == "" {
			t.Errorf("%d has no name", p)
		}
		places := 0
		for _, here := range []bool{traits.EventTimed, traits.Row == EventRow, traits.Naming == NamedByTime} {
			if here {
				places++
			}
		}
		switch {
		case places != 1:
			t.Errorf("%s: the time of an event is in %d places", p, places)
		case traits.Naming == NamedByTime && traits.Cell == FieldCell:
			t.Errorf("%s: the fields of an event have the same column", p)
		case traits.Naming == NamedByValue && (traits.Row != FieldRow || traits.Cell != FieldCell):
			t.Errorf("%s: a column name does not tell which field it is", p)
		}
		traits.Name = ""
		if other := seen[traits]; other != 0 {
			t.Errorf("%s and %s have the same facts", p, other)
		}
		seen[traits] = p
	}
}
