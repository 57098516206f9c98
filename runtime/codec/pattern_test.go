package codec

import (
	"fmt"
	"testing"
)

// Each pattern has the name that schemas give it, and says what its rows and cells are.
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
}

// What names no pattern is none, and prints as a number.
func TestUnknownPattern(t *testing.T) {
	for _, name := range []string{"", "bucket", "Pattern(0)", "bucket_new_columns "} {
		if p := ParsePattern(name); p != 0 {
			t.Errorf("%q is %s", name, p)
		}
	}
	if got := fmt.Sprint(Pattern(-1), Pattern(0), Pattern(7)); got != "Pattern(-1) Pattern(0) Pattern(7)" {
		t.Errorf("got %s", got)
	}
}
