package schema

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// PatternText is what the documentation says about a pattern.
type PatternText struct {
	About    string // continues a sentence after the name
	Guidance string // says when to use it
}

// patternTexts are about the patterns.
var patternTexts = [...]PatternText{
	codec.BucketNewColumns: {
		"has one row per field, and columns named after the values",
		"Buckets are faster to write and read than a row per event, and compress better. New columns save space, because a value is stored only as the name of its column. Use them if you don't need to measure changes over time.",
	},
	codec.BucketNewCells: {
		"stores each event as one timestamped cell per field",
		"Buckets are faster to write and read than a row per event, and compress better. Use new cells to measure changes over time and to read individual fields. Without garbage collection, rows only grow.",
	},
	codec.BucketSerialized: {
		"stores each event as one timestamped cell with all fields",
		"Serialized events in the row of a bucket are the cheapest to store and the fastest to read, as long as the row stays small. Reads cannot fetch individual fields.",
	},
	codec.BucketOffsets: {
		"stores each event as a column named after the time within the bucket",
		"Buckets are faster to write and read than a row per event, and compress better. Because the column name contains the time, the cell timestamp is free for any time to live, and events can be less than a millisecond apart. Reads cannot fetch individual fields.",
	},
	codec.SingleSerialized: {
		"stores all fields in one cell",
		"A row per event is simple, and a single value is the cheapest and fastest way to store it. Use it for varied queries, and for events so large that a bucket would exceed 100 MB. Reads cannot fetch individual fields.",
	},
	codec.SingleUnserialized: {
		"has one column per field",
		"A row per event with a column per field is the simplest pattern. It is slower than buckets and compresses less, and writes can concentrate at one end of the table even if the time comes last. Use it for an unbounded number of events that are always read whole.",
	},
	codec.Latest: {
		"has one row per series with its newest event, one column per field",
		"The state of now beside tables that have all events: where is every vehicle, what does every meter show. A late event never replaces a newer one, and reads of the newest events take one row per series instead of a search.",
	},
}

// TextOf returns what the documentation says about a valid pattern.
func TextOf(p codec.Pattern) PatternText { return patternTexts[p] }

// patternNames returns the names of the patterns.
func patternNames() []string {
	var names []string
	for _, p := range codec.Patterns() {
		names = append(names, p.String())
	}
	return names
}

// aboutPatterns describes the patterns in three sentences.
func aboutPatterns() string {
	var bucketed, single, newest []string
	for _, p := range codec.Patterns() {
		about := p.String() + " " + TextOf(p).About
		if p.NewestOnly() {
			newest = append(newest, about)
		} else if p.Bucketed() {
			bucketed = append(bucketed, about)
		} else {
			single = append(single, about)
		}
	}
	return fmt.Sprintf("Patterns with one row per bucket: %s. Patterns with one row per event: %s. Beside tables with all events: %s.",
		strings.Join(bucketed, "; "), strings.Join(single, "; "), strings.Join(newest, "; "))
}
