package layout

import (
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Strategy is a way to give data a time to live.
type Strategy string

// The strategies, as the language has them.
const (
	MaxAge            Strategy = "max_age"
	MaxAgeFromWrite   Strategy = "max_age, from: write"
	MaxVersions       Strategy = "max_versions"
	AnyOf             Strategy = "any_of"
	AllOf             Strategy = "all_of"
	OneSecond         Strategy = "one_second"
	DefaultExpiration Strategy = "default_expiration"
	Classes           Strategy = "classes"
	KeepForever       Strategy = "keep"
)

// Strategies lists the strategies in the order of the documentation.
func Strategies() []Strategy {
	return []Strategy{MaxAge, MaxAgeFromWrite, MaxVersions, AnyOf, AllOf, OneSecond, DefaultExpiration, Classes, KeepForever}
}

// strategies is what the language's kinds of ttl are called here.
var strategies = map[schema.TTLKind]Strategy{
	schema.MaxAge: MaxAge, schema.MaxVersions: MaxVersions, schema.AnyOf: AnyOf, schema.AllOf: AllOf,
	schema.OneSecond: OneSecond, schema.DefaultExpiration: DefaultExpiration,
	schema.Classes: Classes, schema.KeepForever: KeepForever,
}

// Verdict says whether a strategy fits a pattern.
type Verdict struct {
	Rule    string // the id of the rule that refuses it; empty where it fits
	Always  bool   // whether the rule refuses every such table, and not just where it would lose data
	Reason  string // why
	Instead string // what to use
}

// eventTimed is why a strategy that needs the timestamps for itself does not fit
// a pattern whose timestamps are the times of events.
const eventTimed = "the timestamps of its cells are the times of events"

// Fits says whether a strategy fits a pattern.
func Fits(p codec.Pattern, s Strategy) Verdict {
	switch s {
	case MaxAgeFromWrite:
		if p.EventTimed() {
			return Verdict{"T07", true, eventTimed + ", from which ages run",
				"let the age run from the event, as in `ttl: {max_age: 30d}`, or use a pattern with a row per event"}
		}
	case OneSecond, DefaultExpiration:
		rule := map[Strategy]string{OneSecond: "T04", DefaultExpiration: "T05"}[s]
		if p.EventTimed() {
			return Verdict{rule, true, eventTimed + ": as expiries they would lose those times",
				"use `pattern: bucket_offsets`, which has the time in the qualifier, or `ttl: {classes: {short: 1h, long: 3d}}`, or a pattern with a row per event"}
		}
	case MaxVersions, AnyOf, AllOf:
		switch p {
		case codec.BucketNewColumns:
			return Verdict{"T03", s == MaxVersions, "the value is the column, so that an event deletes the older one of the same value",
				"use `ttl: {max_age: 30d}`"}
		case codec.BucketNewCells, codec.BucketSerialized:
			return Verdict{"T02", false, "they are versions of one column, and older ones are deleted",
				"use `ttl: {max_age: 30d}`, or all_of with a max_age, or a narrower bucket"}
		}
	}
	return Verdict{}
}
