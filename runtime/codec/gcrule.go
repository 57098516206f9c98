package codec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// GCKind is one of Bigtable's garbage collection rules.
type GCKind int

const (
	GCNone         GCKind = iota // collects nothing
	GCMaxAge                     // collects cells older than MaxAge
	GCMaxVersions                // collects all but the newest MaxVersions cells of a column
	GCUnion                      // collects what any of Rules collects
	GCIntersection               // collects what all of Rules collect
)

// GCRule is the garbage collection rule of a column family.
type GCRule struct {
	Kind        GCKind
	MaxAge      time.Duration // GCMaxAge; Bigtable wants at least 1 ms
	MaxVersions int           // GCMaxVersions; at least 1
	Rules       []GCRule      // GCUnion, GCIntersection
}

// String returns the rule as Bigtable's Go client and cbt print it, such as
// "(age() > 30d || versions() > 3)"; "never" if it collects nothing.
func (r GCRule) String() string {
	switch r.Kind {
	case GCMaxAge:
		return "age() > " + showAge(r.MaxAge)
	case GCMaxVersions:
		return fmt.Sprintf("versions() > %d", r.MaxVersions)
	case GCUnion:
		return r.join(" || ")
	case GCIntersection:
		return r.join(" && ")
	}
	return "never"
}

func (r GCRule) join(operator string) string {
	parts := make([]string, len(r.Rules))
	for i, rule := range r.Rules {
		parts[i] = rule.String()
	}
	return "(" + strings.Join(parts, operator) + ")"
}

// showAge prints an age as the client does: in the largest of days, hours and
// minutes that divides it, else in microseconds without a unit.
func showAge(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%d", d/time.Microsecond)
}

// Normalize returns a rule that collects the same, in a form that can be
// compared: nested rules of one kind are flattened, sorted and without
// duplicates, a rule of one is that one, and a rule of none is [GCNone].
func (r GCRule) Normalize() GCRule {
	switch r.Kind {
	case GCMaxAge:
		return GCRule{Kind: GCMaxAge, MaxAge: r.MaxAge}
	case GCMaxVersions:
		return GCRule{Kind: GCMaxVersions, MaxVersions: r.MaxVersions}
	case GCUnion, GCIntersection:
		return r.normalizeRules()
	}
	return GCRule{}
}

func (r GCRule) normalizeRules() GCRule {
	var rules []GCRule
	for _, rule := range r.Rules {
		switch rule = rule.Normalize(); {
		case rule.Kind == r.Kind:
			rules = append(rules, rule.Rules...)
		case rule.Kind != GCNone:
			rules = append(rules, rule)
		case r.Kind == GCIntersection:
			return GCRule{} // what nothing collects, all do not collect
		}
	}
	slices.SortFunc(rules, GCRule.compare)
	rules = slices.CompactFunc(rules, func(a, b GCRule) bool { return a.compare(b) == 0 })
	switch len(rules) {
	case 0:
		return GCRule{}
	case 1:
		return rules[0]
	}
	return GCRule{Kind: r.Kind, Rules: rules}
}

// Equal reports whether r and s are the same rule once normalised.
func (r GCRule) Equal(s GCRule) bool { return r.Normalize().compare(s.Normalize()) == 0 }

func (r GCRule) compare(s GCRule) int {
	return cmp.Or(
		cmp.Compare(r.Kind, s.Kind),
		cmp.Compare(r.MaxAge, s.MaxAge),
		cmp.Compare(r.MaxVersions, s.MaxVersions),
		slices.CompareFunc(r.Rules, s.Rules, GCRule.compare),
	)
}

// WireSize returns the size of the rule as a google.bigtable.admin.v2.GcRule
// message, in bytes; Bigtable allows 500.
func (r GCRule) WireSize() int { return len(r.appendProto(nil)) }

// The fields of GcRule, of which one is set, and of its message types
// Intersection and Union.
const (
	gcMaxNumVersions = 1
	gcMaxAge         = 2
	gcIntersection   = 3
	gcUnion          = 4
	gcRules          = 1
)

func (r GCRule) appendProto(dst []byte) []byte {
	switch r.Kind {
	case GCMaxAge:
		return AppendProtoDuration(dst, gcMaxAge, Explicit, r.MaxAge)
	case GCMaxVersions:
		return AppendProtoInt32(dst, gcMaxNumVersions, Explicit, int32(min(r.MaxVersions, math.MaxInt32)))
	case GCUnion, GCIntersection:
		var rules []byte
		for _, rule := range r.Rules {
			rules = AppendProtoBytes(rules, gcRules, Explicit, rule.appendProto(nil))
		}
		number := gcUnion
		if r.Kind == GCIntersection {
			number = gcIntersection
		}
		return AppendProtoBytes(dst, number, Explicit, rules)
	}
	return dst
}
