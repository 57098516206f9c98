package codec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// GCKind is the kind of a garbage collection rule in Bigtable.
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
	MaxAge      time.Duration // GCMaxAge; Bigtable requires at least 1 ms
	MaxVersions int           // GCMaxVersions; at least 1
	Rules       []GCRule      // GCUnion, GCIntersection
}

// String returns the rule in the syntax of Bigtable's Go client and cbt, such as
// "(age() > 30d || versions() > 3)", or "never" if it collects nothing.
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

// showAge formats an age in days, hours or minutes, as the client does, whichever is the largest unit that
// divides it, or else as [time.Duration] does, where the client prints microseconds without a unit.
func showAge(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// Normalize returns an equivalent rule in canonical form: nested rules of the same kind are flattened, sorted and
// deduplicated; a rule with one child is replaced by the child, and a rule with none by [GCNone].
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
			return GCRule{} // one of them collects nothing, so neither does the intersection
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

// Equal reports whether r and s are equal after [GCRule.Normalize].
func (r GCRule) Equal(s GCRule) bool { return r.Normalize().compare(s.Normalize()) == 0 }

func (r GCRule) compare(s GCRule) int {
	return cmp.Or(
		cmp.Compare(r.Kind, s.Kind),
		cmp.Compare(r.MaxAge, s.MaxAge),
		cmp.Compare(r.MaxVersions, s.MaxVersions),
		slices.CompareFunc(r.Rules, s.Rules, GCRule.compare),
	)
}

// HasAge reports whether the rule contains a maximum age.
func (r GCRule) HasAge() bool {
	return r.Kind == GCMaxAge || slices.ContainsFunc(r.Rules, GCRule.HasAge)
}
