package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ChangeKind is the kind of a change.
type ChangeKind int

const (
	AddTable        ChangeKind = iota // creates a table; its families are separate changes
	AddFamily                         // creates a family
	ChangeRule                        // changes the garbage collection rule of a family
	ChangeValueType                   // would change the value type of a family, which Bigtable does not support
	AddKeySchema                      // adds a row key schema to a table without one
	ChangeKeySchema                   // would change the row key schema of a table, which Bigtable does not support
	Protect                           // protects a table from deletion
	Unprotect                         // removes the deletion protection of a table
	AddTier                           // adds an infrequent access tier to a table without one
	ChangeTier                        // changes the age from which cells are in the infrequent access tier
	DropTier                          // removes the infrequent access tier of a table
	AddBundle                         // creates the schema bundle of a table
	ChangeBundle                      // changes the messages in the schema bundle of a table
	DropBundle                        // deletes a schema bundle of a table
	RecordLayout                      // records the layout of an existing table in the history
)

// kind is what the changes of a kind have in common.
type kind struct {
	name  string                 // in Options.Allow, of a change without hazards
	sign  string                 // what is added has +, what is changed ~, and what is deleted -
	what  string                 // what is changed of the table or family; empty for itself
	says  func(c *Change) string // after that, in the description; may be nil
	never string                 // what to do, since it cannot be allowed; empty if it can
	// does makes a change of an existing table, and reports whether it made it, or another attempt did; nil if there
	// is no request for it.
	does func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error)
}

// kinds has a row for each kind.
var kinds = [...]kind{
	AddTable: {name: "table", sign: "+", says: func(c *Change) string {
		switch c.Splits {
		case 0:
			return ""
		case 1:
			return ", split at 1 key"
		}
		return fmt.Sprintf(", split at %d keys", c.Splits)
	}},
	AddFamily: {name: "family", sign: "+", does: (*retryAdmin).createFamily, says: func(c *Change) string {
		if c.WantType != "" {
			return ": " + showRule(c.Want) + ", sums of integers"
		}
		return ": " + showRule(c.Want)
	}},
	ChangeRule: {name: "rule", sign: "~", what: "rule", does: (*retryAdmin).updateFamily, says: func(c *Change) string {
		return ": " + showRuleChange(c.Have.Normalize(), c.Want.Normalize())
	}},
	ChangeValueType: {sign: "~", what: "value type", never: "give the family another name in the schema", says: func(c *Change) string {
		return ": " + cmp.Or(c.ValueType, "none") + " → " + cmp.Or(c.WantType, "none")
	}},
	AddKeySchema: {
		name: "row_key_schema", sign: "+", what: "row key schema", does: (*retryAdmin).addKeySchema,
		says: func(c *Change) string { return ": " + c.KeySchema.String() },
	},
	ChangeKeySchema: {
		sign: "~", what: "row key schema", never: "first remove the existing one (gcloud beta bigtable tables update)",
		says: func(c *Change) string { return ": → " + c.KeySchema.String() },
	},
	Protect:    {name: "deletion_protection", sign: "+", what: "deletion protection", does: (*retryAdmin).changeProtection},
	Unprotect:  {sign: "~", what: "deletion protection", does: (*retryAdmin).changeProtection, says: func(*Change) string { return ": on → off" }},
	AddTier:    tierKind("+", func(c *Change) string { return ": " + showTier(c.WantTier) }),
	ChangeTier: tierKind("~", tierChange),
	DropTier:   tierKind("~", tierChange),
	AddBundle: bundleKind("+", func(c *Change) string {
		return ": " + strings.Join(filesOf(c.WantDescriptors).messages(), ", ")
	}),
	ChangeBundle: bundleKind("~", func(c *Change) string {
		return ": " + filesOf(c.WantDescriptors).changes(filesOf(c.HaveDescriptors)).String()
	}),
	DropBundle: bundleKind("-", nil),
	RecordLayout: {name: "layout", sign: "~", what: "layout", says: func(c *Change) string {
		if c.Facts == nil {
			return ""
		}
		return ": " + strings.Join(c.Facts, ", ")
	}},
}

func tierKind(sign string, says func(c *Change) string) kind {
	return kind{name: "tier", sign: sign, what: "infrequent access tier", says: says, does: (*retryAdmin).changeTier}
}

func tierChange(c *Change) string {
	return ": " + showTier(c.HaveTier) + " → " + showTier(c.WantTier)
}

func bundleKind(sign string, says func(c *Change) string) kind {
	return kind{name: "schema_bundle", sign: sign, what: "schema bundle", says: says, does: (*retryAdmin).changeBundle}
}

// Name returns the name of the change for Options.Allow, which consists of its hazards
// and its place, such as "shorter_age:t/m" or "shorter_age+fewer_versions:t/m".
func (c Change) Name() string {
	name := cmp.Or(strings.Join(c.Hazards, "+"), kinds[c.Kind].name) + ":" + c.Table
	if part := cmp.Or(c.Bundle, c.Family); part != "" {
		name += "/" + part
	}
	return name
}

// String describes the change on one line, such as "+ family m of table t: max_age 7d".
// If the change is refused, a second line says how to allow it.
func (c Change) String() string {
	switch never := kinds[c.Kind].never; {
	case !c.Refused:
		return c.line()
	case never != "":
		return c.line() + "\n  refused; it cannot be allowed: " + never
	}
	return c.line() + "\n  refused; to allow it: " + c.Name()
}

// place says what the change is about.
func (c *Change) place() string {
	what := kinds[c.Kind].what
	if c.Bundle != "" {
		what += " " + c.Bundle
	}
	if what == "" {
		return where(c.Table, c.Family)
	}
	return what + " of " + where(c.Table, c.Family)
}

// line describes the change.
func (c *Change) line() string {
	k := &kinds[c.Kind]
	s := k.sign + " " + c.place()
	if k.says != nil {
		s += k.says(c)
	}
	if len(c.Reasons) > 0 {
		s += " (" + strings.Join(c.Reasons, "; ") + ")"
	}
	if len(c.Rules) > 0 {
		s += " [" + strings.Join(c.Rules, ", ") + "]"
	}
	return s
}

// change makes one change of an existing table.
func (r *setupRun) change(ctx context.Context, c Change) {
	k := &kinds[c.Kind]
	if k.does == nil {
		return
	}
	made, err := k.does(&r.admin, ctx, &c)
	switch _, differs := errors.AsType[*VerifyError](err); {
	case differs:
		r.fail(ctx, err, c)
	case err != nil && k.what == "":
		r.fail(ctx, fmt.Errorf("creating %s: %w", c.place(), err), c)
	case err != nil:
		r.fail(ctx, fmt.Errorf("changing the %s: %w", c.place(), err), c)
	case made:
		r.done = append(r.done, c)
	}
}

// createFamily creates a family. One that another process has created is none of this setup.
func (r *retryAdmin) createFamily(ctx context.Context, c *Change) (made bool, err error) {
	lost, err := r.retry(ctx, c.Table, func(ctx context.Context) error {
		return r.admin.CreateColumnFamilyWithConfig(ctx, c.Table, c.Family, familyConfig(c.Want, c.WantType))
	})
	if status.Code(err) == codes.AlreadyExists {
		return lost, nil
	}
	return err == nil, err
}

// updateFamily changes the rule of a family. Before each attempt, it reads the rule again, because the change was safe or
// allowed only for the rule in the plan, and another setup may have changed it since the last one.
func (r *retryAdmin) updateFamily(ctx context.Context, c *Change) (made bool, err error) {
	var options []bigtable.UpdateFamilyOption
	if c.IgnoresWarnings {
		options = append(options, bigtable.IgnoreWarnings())
	}
	_, err = r.retry(ctx, c.Table, func(ctx context.Context) error {
		if err := r.unchanged(ctx, c); err != nil {
			return err
		}
		err := r.admin.UpdateFamily(ctx, c.Table, c.Family, familyConfig(c.Want, c.WantType), options...)
		return because(err, "(if the table is replicated: "+replicated(c.Table, c.Family)+") [T10]",
			codes.FailedPrecondition, codes.InvalidArgument)
	})
	return err == nil, err
}

// unchanged returns a *[VerifyError] if a rule is neither that of the plan nor the new one.
func (r *retryAdmin) unchanged(ctx context.Context, c *Change) error {
	live, err := readTable(ctx, *r, c.Table)
	if err != nil {
		return err
	}
	if live.hasFamily(c.Family) {
		if rule := live.families[c.Family].rule; rule.Equal(c.Have) || rule.Equal(c.Want) {
			return nil
		}
	}
	return &VerifyError{[]Change{*c}}
}

// addKeySchema adds a row key schema to a table without one.
func (r *retryAdmin) addKeySchema(ctx context.Context, c *Change) (made bool, err error) {
	return r.keepingProtection(ctx, c, func(ctx context.Context) error {
		return r.admin.UpdateTableWithRowKeySchema(ctx, c.Table, *structType(c.KeySchema))
	})
}

// changeProtection changes the deletion protection of a table.
func (r *retryAdmin) changeProtection(ctx context.Context, c *Change) (made bool, err error) {
	protection := bigtable.Protected
	if c.Kind == Unprotect {
		protection = bigtable.Unprotected
	}
	err = r.protect(ctx, c.Table, protection)
	return err == nil, err
}

// protect sets the deletion protection of a table.
func (r *retryAdmin) protect(ctx context.Context, table string, protection bigtable.DeletionProtection) error {
	_, err := r.retry(ctx, table, func(ctx context.Context) error {
		return r.admin.UpdateTableWithDeletionProtection(ctx, table, protection)
	})
	return err
}

// keepingProtection updates a table. Servers that interpret the request as an update of the
// whole table, such as the emulator, also remove the deletion protection; keepingProtection
// restores it.
func (r *retryAdmin) keepingProtection(ctx context.Context, c *Change, update func(ctx context.Context) error) (made bool, err error) {
	before, err := readTable(ctx, *r, c.Table)
	if err == nil {
		_, err = r.retry(ctx, c.Table, update)
	}
	if err != nil || before == nil || !before.protected {
		return err == nil, err
	}
	after, err := readTable(ctx, *r, c.Table)
	if err == nil && (after == nil || !after.protected) {
		err = r.protect(ctx, c.Table, bigtable.Protected)
	}
	return err == nil, err
}
