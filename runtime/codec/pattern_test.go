package codec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each pattern has the name that schemas give it, and says what its rows and cells are. What names no pattern is none,
// and prints as a number.
func TestPatterns(t *testing.T) {
	traits := map[string]func(Pattern) bool{
		"bucketed": Pattern.Bucketed, "row per field": Pattern.RowPerField, "event timed": Pattern.EventTimed,
		"newest only": Pattern.NewestOnly, "versioned": Pattern.Versioned, "field columns": Pattern.FieldColumns,
		"serialized": Pattern.Serialized, "one value": Pattern.OneValue, "appends": Pattern.Appends,
	}
	wanted := map[Pattern]string{
		BucketNewColumns:   "bucket_new_columns: appends, bucketed, event timed, row per field",
		BucketNewCells:     "bucket_new_cells: bucketed, event timed, field columns, versioned",
		BucketSerialized:   "bucket_serialized: bucketed, event timed, one value, serialized, versioned",
		BucketOffsets:      "bucket_offsets: bucketed, one value",
		SingleSerialized:   "single_serialized: one value, serialized",
		SingleUnserialized: "single_unserialized: field columns",
		Latest:             "latest: bucketed, event timed, field columns, newest only, versioned",
	}
	if all := Patterns(); len(all) != len(wanted) {
		t.Errorf("patterns %v, want %d", all, len(wanted))
	}
	for p, want := range wanted {
		var is []string
		for name, has := range traits {
			if has(p) {
				is = append(is, name)
			}
		}
		slices.Sort(is)
		if got := fmt.Sprint(p, ": ", strings.Join(is, ", ")); got != want || ParsePattern(p.String()) != p {
			t.Errorf("%s, want %s; parsed as %v", got, want, ParsePattern(p.String()))
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
