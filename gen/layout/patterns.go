package layout

import (
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// PatternWith returns the first pattern for all events with a property, for hints; 0 if none has it.
func PatternWith(has func(codec.Pattern) bool) codec.Pattern {
	for _, p := range codec.Patterns() {
		if !p.NewestOnly() && has(p) {
			return p
		}
	}
	return 0
}

// patternsWith lists the patterns for all events with a property, as in "single_serialized or bucket_serialized".
func patternsWith(has func(codec.Pattern) bool) string {
	var names []string
	for _, p := range codec.Patterns() {
		if !p.NewestOnly() && has(p) {
			names = append(names, p.String())
		}
	}
	return strings.Join(names, " or ")
}

// FreeTimestamps reports whether the rows of a pattern have several events, none of whose times is
// only in a timestamp.
func FreeTimestamps(p codec.Pattern) bool { return p.Bucketed() && !p.EventTimed() }

// BucketOfColumns reports whether the rows of a pattern have several events, each with a column per field.
func BucketOfColumns(p codec.Pattern) bool { return p.Bucketed() && p.FieldColumns() }

// eventOfColumns reports whether the rows of a pattern are events with a column per field.
func eventOfColumns(p codec.Pattern) bool { return !p.Bucketed() && p.FieldColumns() }

// SerializedOf returns the pattern that stores each event as one value with all fields, in rows and with
// times as in p; 0 if there is none.
func SerializedOf(p codec.Pattern) codec.Pattern {
	want := p.Traits()
	return PatternWith(func(p codec.Pattern) bool {
		t := p.Traits()
		return p.Serialized() && t.Row == want.Row && t.Naming == want.Naming && t.EventTimed == want.EventTimed
	})
}
