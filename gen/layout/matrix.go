package layout

import (
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// MaxAgeFromWrite is the strategy of ages that count from the write, as written in schemas.
const MaxAgeFromWrite = schema.MaxAge + ", from: write"

// Strategies lists the strategies in the order of the documentation.
func Strategies() []schema.Strategy {
	return []schema.Strategy{
		schema.MaxAge, MaxAgeFromWrite, schema.MaxVersions, schema.AnyOf, schema.AllOf,
		schema.OneSecond, schema.DefaultExpiration, schema.Classes, schema.KeepForever,
	}
}

// Verdict says whether a strategy works with a pattern.
type Verdict struct {
	Rule    string // ID of the rule that rejects it; empty if it works
	Always  bool   // the rule rejects every such table, not only those that would lose data
	Reason  string // why
	Instead string // what to use instead
}

// eventTimed is why a strategy that needs its own cell timestamps does not work with a
// pattern whose cell timestamps are event times.
const eventTimed = "its cell timestamps are event times"

// Fits returns whether a strategy works with a pattern.
func Fits(p codec.Pattern, s schema.Strategy) Verdict {
	switch s {
	case schema.Classes:
		if p.NewestOnly() {
			return Verdict{"K25", true, "its row has only the newest event, which may expire before an older one of another class",
				"give all events of the schema the same max_age, or leave the table out"}
		}
	case MaxAgeFromWrite:
		if p.EventTimed() {
			return Verdict{"T07", true, eventTimed + ", so ages count from the event",
				"count the age from the event, as in `ttl: {max_age: 30d}`, or use a pattern with a row per event"}
		}
	case schema.OneSecond, schema.DefaultExpiration:
		rule := map[schema.Strategy]string{schema.OneSecond: "T04", schema.DefaultExpiration: "T05"}[s]
		switch {
		case p.NewestOnly():
			return Verdict{rule, true, eventTimed + ", which expiries would replace",
				"give all events of the schema the same max_age, as in `ttl: {max_age: 30d}`, or leave the table out"}
		case p.EventTimed():
			return Verdict{rule, true, eventTimed + ", which expiries would replace",
				"use `pattern: " + patternsWith(FreeTimestamps) + "`, which has the time in the qualifier, or `ttl: {classes: {short: 1h, long: 3d}}`, or a pattern with a row per event"}
		}
	case schema.MaxVersions, schema.AnyOf, schema.AllOf:
		switch {
		case p.NewestOnly(): // older events are in other tables
		case p.Appends():
			return Verdict{"T03", s == schema.MaxVersions, "the value is the column, so an event deletes an older one with the same value",
				"use `ttl: {max_age: 30d}`"}
		case p.Versioned():
			return Verdict{"T02", false, "events are versions of one column, and older ones are deleted",
				"use `ttl: {max_age: 30d}`, or all_of with a max_age, or a narrower bucket"}
		}
	}
	return Verdict{}
}
