package prose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// ClassAges returns how long a class keeps events, for comments.
func ClassAges(l *layout.Layout, class int) string {
	var ages []string
	for _, t := range l.Tables {
		for _, f := range t.Families {
			if age := schema.FormatDuration(f.GC.MaxAge); f.Class == class && !slices.Contains(ages, age) {
				ages = append(ages, age)
			}
		}
	}
	return strings.Join(ages, " or ")
}

// Defaults returns how long events live that do not specify it, for comments.
func Defaults(l *layout.Layout) string {
	var ages []string
	l.AnyFamily(func(f *layout.Family) bool {
		if age := schema.FormatDuration(f.Life.Default); f.Life.Default > 0 && !slices.Contains(ages, age) {
			ages = append(ages, age)
		}
		return false
	})
	return strings.Join(ages, " or ")
}

// Timestamp describes the timestamps of the family's cells.
func Timestamp(f *layout.Family) string {
	switch f.Life.Timestamp {
	case codec.TimestampExpiry:
		return "the expiry of the event, rounded up to the millisecond"
	case codec.TimestampShifted:
		return fmt.Sprintf("the expiry of the event minus %s, rounded up to the millisecond", schema.FormatDuration(f.Life.Default))
	case codec.TimestampWrite:
		return "the time of writing by the writer's clock, rounded down to the millisecond"
	}
	return "the time of the event, rounded down to the millisecond"
}

// Collected describes the cells of the family that are garbage-collected.
func Collected(f *layout.Family) string {
	rule := f.GC.Normalize()
	if rule.Kind == codec.GCNone {
		return "nothing"
	}
	return "cells " + collected(rule)
}

// collected describes the cells that a rule collects.
func collected(r codec.GCRule) string {
	switch r.Kind {
	case codec.GCMaxAge:
		return "older than " + schema.FormatDuration(r.MaxAge)
	case codec.GCMaxVersions:
		return fmt.Sprintf("not among the newest %d of their column", r.MaxVersions)
	}
	join := ", or "
	if r.Kind == codec.GCIntersection {
		join = ", and "
	}
	var parts []string
	for _, rule := range r.Rules {
		part := collected(rule)
		if len(rule.Rules) > 0 {
			part = "(" + part + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, join)
}

// ReadFilter describes the cells of the family that reads request: those that have not
// expired.
func ReadFilter(f *layout.Family) string {
	switch f.Life.Timestamp {
	case codec.TimestampExpiry:
		return "timestamp > now"
	case codec.TimestampShifted:
		return fmt.Sprintf("timestamp > now − %s", schema.FormatDuration(f.Life.Default))
	}
	var terms []string
	for _, term := range f.Life.Retention {
		age := fmt.Sprintf("timestamp ≥ now − %s", schema.FormatDuration(term.MaxAge))
		newest := fmt.Sprintf("among the newest %d of their column", term.Versions)
		switch {
		case term.Versions == 0:
			terms = append(terms, age)
		case term.MaxAge == 0:
			terms = append(terms, newest)
		default:
			terms = append(terms, age+" and "+newest)
		}
	}
	if terms == nil {
		return "all cells"
	}
	return strings.Join(terms, ", or ")
}
