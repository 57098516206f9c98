package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Plan is what [Setup] did or would do.
type Plan struct {
	// Changes are in the order of the tables: first the table itself, then its
	// new families, then the rules of those it has, then its row key schema and its
	// deletion protection.
	Changes []Change
	Strays  []Stray // by table and name
}

// Empty reports whether there is nothing to do.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// Refused returns the changes that are not allowed.
func (p Plan) Refused() []Change {
	var refused []Change
	for _, c := range p.Changes {
		if c.Refused {
			refused = append(refused, c)
		}
	}
	return refused
}

// String returns a line for each change, two for one that is refused, and one
// for each stray; empty if there are none.
func (p Plan) String() string {
	var b strings.Builder
	for _, c := range p.Changes {
		b.WriteString(c.String() + "\n")
	}
	for _, s := range p.Strays {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// of returns the changes of a table.
func (p Plan) of(table string) []Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return c.Table != table })
}

// changed returns those of the tables that the plan changes.
func (p Plan) changed(tables []Table) []Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t Table) bool { return len(p.of(t.ID)) == 0 })
}

// Stray is a live table, or a part of one, that the schemas do not know. Set-up
// leaves it alone.
type Stray struct {
	Table      string // with its prefix
	Family     string // empty for a table
	KeySchema  bool   // it is the row key schema of the table
	Protection bool   // it is the deletion protection of the table
}

// String names the stray and says that it is left alone.
func (s Stray) String() string {
	what := where(s.Table, s.Family)
	switch {
	case s.KeySchema:
		what = "row key schema of " + what
	case s.Protection:
		what = "deletion protection of " + what
	}
	return "? " + what + ": not in the schemas, left alone"
}

// where names a family of a table, or a table.
func where(table, family string) string {
	if family == "" {
		return "table " + table
	}
	return "family " + family + " of table " + table
}

// ChangeKind says what a change changes.
type ChangeKind int

const (
	AddTable        ChangeKind = iota // makes a table; its families are changes of their own
	AddFamily                         // makes a family
	ChangeRule                        // gives a family another garbage collection rule
	ChangeValueType                   // would make a family one of plain cells, which Bigtable cannot
	AddKeySchema                      // gives a row key schema to a table that has none
	ChangeKeySchema                   // would give a table another row key schema, which Bigtable cannot
	Protect                           // protects a table from deletion
	Unprotect                         // takes the deletion protection of a table off
)

// Change is one thing that set-up did or would do.
type Change struct {
	Kind   ChangeKind
	Table  string       // with its prefix
	Family string       // empty for AddTable
	Have   codec.GCRule // ChangeRule
	Want   codec.GCRule // AddFamily, ChangeRule
	// ValueType is the one that the family has, for ChangeValueType.
	ValueType string
	// KeySchema is what GoogleSQL is to read, for AddKeySchema and ChangeKeySchema.
	KeySchema *KeySchema
	// Splits is the number of keys that the table is split at, for AddTable.
	Splits int
	// Hazards are why the change must be allowed: "shorter_age",
	// "fewer_versions", "one_second", "default_expiration", "drop_rule",
	// "value_type", "row_key_schema" or "drop_protection". Without any it is safe.
	Hazards []string
	// Reasons say what the change does to data, and where Bigtable refuses it.
	Reasons []string
	Rules   []string // the rules of btgen that it touches, such as "T09"
	Refused bool     // it has a hazard and is not allowed
}

// Name names the change for Options.Allow: what it does and where, for instance
// "shorter_age:t/m", or "shorter_age+fewer_versions:t/m" if it does both.
func (c Change) Name() string {
	what := strings.Join(c.Hazards, "+")
	switch {
	case c.Kind == AddTable:
		return "table:" + c.Table
	case c.Kind == AddKeySchema, c.Kind == ChangeKeySchema:
		return "row_key_schema:" + c.Table
	case c.Kind == Protect:
		return "deletion_protection:" + c.Table
	case c.Kind == Unprotect:
		return what + ":" + c.Table
	case c.Kind == AddFamily:
		what = "family"
	case what == "":
		what = "rule"
	}
	return what + ":" + c.Table + "/" + c.Family
}

// String describes the change in a line, such as "+ family m of table t:
// max_age 7d", and says in a second one, if it is refused, how to allow it.
func (c Change) String() string {
	switch {
	case !c.Refused:
		return c.line()
	case c.Kind == ChangeValueType:
		return c.line() + "\n  refused; it cannot be allowed: give the family another name in the schema"
	case c.Kind == ChangeKeySchema:
		return c.line() + "\n  refused; it cannot be allowed: remove the one that it has first (gcloud beta bigtable tables update)"
	}
	return c.line() + "\n  refused; to allow it: " + c.Name()
}

// impossible reports whether the change is none that could be allowed.
func (c Change) impossible() bool { return c.Kind == ChangeValueType || c.Kind == ChangeKeySchema }

// line describes the change.
func (c Change) line() string {
	var s string
	switch c.Kind {
	case AddTable:
		s = "+ " + where(c.Table, "")
		if c.Splits > 0 {
			s += fmt.Sprintf(", split at %d %s", c.Splits, plural(c.Splits, "key"))
		}
	case AddFamily:
		s = "+ " + where(c.Table, c.Family) + ": " + showRule(c.Want)
	case ChangeRule:
		s = "~ rule of " + where(c.Table, c.Family) + ": " + showRuleChange(c.Have.Normalize(), c.Want.Normalize())
	case ChangeValueType:
		s = "~ value type of " + where(c.Table, c.Family) + ": " + c.ValueType + " → none"
	case AddKeySchema:
		s = "+ row key schema of " + where(c.Table, "") + ": " + c.KeySchema.String()
	case ChangeKeySchema:
		s = "~ row key schema of " + where(c.Table, "") + ": → " + c.KeySchema.String()
	case Protect:
		s = "+ deletion protection of " + where(c.Table, "")
	case Unprotect:
		s = "~ deletion protection of " + where(c.Table, "") + ": on → off"
	}
	if len(c.Reasons) > 0 {
		s += " (" + strings.Join(c.Reasons, "; ") + ")"
	}
	if len(c.Rules) > 0 {
		s += " [" + strings.Join(c.Rules, ", ") + "]"
	}
	return s
}

// plural returns the noun for a number of things.
func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// showRuleChange says which rule becomes which, as schemas write them.
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

// showRule returns a rule as schemas write it.
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
	parts := make([]string, len(rules))
	for i, r := range rules {
		parts[i] = showRule(r)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// showAge returns an age as schemas write it, in days and the units below: "1d12h".
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

// ageDay is what ages are counted in.
const ageDay = 24 * time.Hour

// RefusedError says that set-up changed nothing, since these changes are refused
// unless they are allowed by name; see [Change.Name] and Options.Allow.
type RefusedError struct{ Changes []Change }

// Error lists the changes, why each is refused, and the name that allows it.
func (e *RefusedError) Error() string {
	s := "nothing was changed: what follows is refused unless it is allowed by name (Options.Allow, or --allow of btgen-live)"
	for _, c := range e.Changes {
		s += "\n" + c.String()
	}
	return s
}

// VerifyError says that tables, once read back, were not as set-up had left them.
type VerifyError struct{ Changes []Change }

// Error lists what there is still to do, and what to do about that.
func (e *VerifyError) Error() string {
	s := "read back after the set-up, this is not as it was left: see who else changes it, or whether the server keeps what it is sent, and run the set-up again"
	for _, c := range e.Changes {
		s += "\n" + c.line()
	}
	return s
}

// TableError says why a table cannot be made.
type TableError struct {
	Table  string // with its prefix
	Rule   string // the rule of btgen that it breaks, such as "L07"; may be empty
	Reason string
}

// Error names the table and the reason.
func (e *TableError) Error() string {
	s := "table " + e.Table + ": " + e.Reason
	if e.Rule != "" {
		s += " [" + e.Rule + "]"
	}
	return s
}
