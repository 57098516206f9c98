package setup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Plan describes what [Setup] did or would do.
type Plan struct {
	// Changes are in the order of the tables: first the table itself or its layout, then its new
	// families, the rules of existing families, its row key schema, its infrequent access tier,
	// its schema bundle and its deletion protection.
	Changes   []Change
	Unmanaged []Unmanaged // sorted by table and name
	// Recorded are the newest layouts in the history of the tables, in their order.
	Recorded []RecordedLayout
}

// Empty reports whether the plan contains no changes.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// Refused returns the changes that are refused.
func (p Plan) Refused() []Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return !c.Refused })
}

// String returns one line per change, two for a refused one, and one per unmanaged part.
func (p Plan) String() string {
	lines := append(texts(p.Changes), texts(p.Unmanaged)...)
	return strings.Join(append(lines, ""), "\n")
}

// texts returns the texts of values.
func texts[T fmt.Stringer](all []T) []string {
	var out []string
	for _, v := range all {
		out = append(out, v.String())
	}
	return out
}

// of returns the changes of a table.
func (p Plan) of(table string) []Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return c.Table != table })
}

// changed returns the tables that the plan changes.
func (p Plan) changed(tables []store.Table) []store.Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t store.Table) bool { return len(p.of(t.ID)) == 0 })
}

// where describes a table or one of its families.
func where(table, family string) string {
	if family == "" {
		return "table " + table
	}
	return "family " + family + " of table " + table
}

// showRuleChange describes the change of a rule in the notation of schemas.
func showRuleChange(have, want codec.GCRule) string {
	to := showRule(want)
	if have.Kind == want.Kind {
		switch have.Kind {
		case codec.GCMaxAge, codec.GCMaxVersions:
			_, to, _ = strings.Cut(to, " ") // "max_age 30d → 7d"
		}
	}
	return showRule(have) + " → " + to
}

// showRule returns a rule in the notation of schemas.
func showRule(r codec.GCRule) string {
	switch r.Kind {
	case codec.GCMaxAge:
		return "max_age " + showAge(r.MaxAge)
	case codec.GCMaxVersions:
		return fmt.Sprintf("max_versions %d", r.MaxVersions)
	case codec.GCUnion:
		return "any_of" + showRules(r.Rules)
	case codec.GCIntersection:
		return "all_of" + showRules(r.Rules)
	}
	return "keep forever"
}

// showRules returns rules in parentheses.
func showRules(rules []codec.GCRule) string {
	var parts []string
	for _, r := range rules {
		parts = append(parts, showRule(r))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// showAge returns an age in the notation of schemas, in days and smaller units:
// "1d12h".
func showAge(d time.Duration) string {
	var b strings.Builder
	for _, u := range []struct {
		name string
		size time.Duration
	}{
		{"d", ageDay}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
		{"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
	} {
		if n := d / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.size
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// ageDay is the largest unit of ages.
const ageDay = 24 * time.Hour

// RefusedError reports that setup changed nothing because these changes must be allowed
// by name; see [Change.Name] and Options.Allow.
type RefusedError struct{ Changes []Change }

// Error lists the changes, their reasons, and the names that allow them.
func (e *RefusedError) Error() string {
	const s = "nothing was changed: these changes are refused unless allowed by name (setup.Options.Allow, or --allow of btgen-live)\n"
	return s + strings.Join(texts(e.Changes), "\n")
}

// VerifyError reports tables that differed from what setup wrote when it read them back.
type VerifyError struct{ Changes []Change }

// Error lists the remaining changes and says what to do.
func (e *VerifyError) Error() string {
	s := "after setup, the tables differ from what it sent: check for concurrent changes, and whether the server stores everything that it is sent; then run setup again"
	for _, c := range e.Changes {
		s += "\n" + c.line()
	}
	return s
}

// TableError reports why a table cannot be created.
type TableError struct {
	Table  string // with its prefix
	Rule   string // ID of btgen's rule, such as "L07"; may be empty
	Reason string
}

func (e *TableError) Error() string {
	s := "table " + e.Table + ": " + e.Reason
	if e.Rule != "" {
		s += " [" + e.Rule + "]"
	}
	return s
}
