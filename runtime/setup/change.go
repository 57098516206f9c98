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

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Change is one thing that setup did or would do.
type Change struct {
	// Kind is what is added, changed or deleted: "table", "family", "rule", "value_type", "row_key_schema",
	// "deletion_protection", "tier" and "schema_bundle", or "layout" for a record in the history.
	Kind string
	// Sign is "+" for what is added, "~" for what is changed, and "-" for what is deleted. The families of a new
	// table are changes of their own.
	Sign   string
	Table  string // with its prefix
	Family string // empty if it is about the whole table; the first family of the schema for a layout
	Bundle string // the ID of a schema bundle
	Says   string // what is there, or what was and is, such as "max_age 30d → 7d"; may be empty
	// Hazards are the reasons for which the change must be allowed by name:
	// "shorter_age", "fewer_versions", "longer_age", "one_second", "default_expiration", "drop_rule",
	// "value_type", "row_key_schema", "drop_tier", "change_bundle", "drop_bundle",
	// "drop_protection", "older_layout", "other_layout",
	// "unexpired_layout", "unfinished_layout", "begun_layout", "later_events" or "micros".
	// A change without hazards is safe.
	Hazards []string
	// Reasons describe the effect on data and the cases in which Bigtable rejects the
	// change.
	Reasons []string
	Rules   []string // IDs of btgen's rules, such as "T09"
	// IgnoresWarnings reports whether the change ignores that Bigtable refuses it on replicated tables,
	// because Options.Allow contains a name such as "ignore_warnings:t/m".
	IgnoresWarnings bool
	Refused         bool // the change has a hazard and is not allowed

	never string  // what to do, since it cannot be allowed; empty if it can
	does  request // nil if it has none of its own
}

// request makes a change of an existing table, and reports whether it made it, or another attempt did.
type request func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error)

// parts are what kinds of changes are of a table or family, in words. The others are of these themselves.
var parts = map[string]string{
	"rule": "rule", "value_type": "value type", "row_key_schema": "row key schema", "deletion_protection": "deletion protection",
	"tier": "infrequent access tier", "schema_bundle": "schema bundle", "layout": "layout",
}

// Name returns the name of the change for Options.Allow, which consists of its hazards
// and its place, such as "shorter_age:t/m" or "shorter_age+fewer_versions:t/m".
func (c Change) Name() string {
	name := cmp.Or(strings.Join(c.Hazards, "+"), c.Kind) + ":" + c.Table
	if part := cmp.Or(c.Bundle, c.Family); part != "" {
		name += "/" + part
	}
	return name
}

// String describes the change on one line, such as "+ family m of table t: max_age 7d".
// If the change is refused, a second line says how to allow it.
func (c Change) String() string {
	switch {
	case !c.Refused:
		return c.line()
	case c.never != "":
		return c.line() + "\n  refused; it cannot be allowed: " + c.never
	}
	return c.line() + "\n  refused; to allow it: " + c.Name()
}

// place says what the change is about.
func (c *Change) place() string {
	what := parts[c.Kind]
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
	s := c.Sign + " " + c.place()
	switch {
	case c.Says == "":
	case c.Kind == "table":
		s += ", " + c.Says
	default:
		s += ": " + c.Says
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
	if c.does == nil {
		return
	}
	made, err := c.does(&r.admin, ctx, &c)
	switch _, differs := errors.AsType[*VerifyError](err); {
	case differs:
		r.fail(ctx, err, c)
	case err != nil && c.Kind == "family":
		r.fail(ctx, fmt.Errorf("creating %s: %w", c.place(), err), c)
	case err != nil:
		r.fail(ctx, fmt.Errorf("changing the %s: %w", c.place(), err), c)
	case made:
		r.done = append(r.done, c)
	}
}

// createFamily creates a family. One that another process has created is none of this setup.
func createFamily(f store.Family) request {
	return func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error) {
		lost, err := r.retry(ctx, c.Table, func(ctx context.Context) error {
			return r.admin.CreateColumnFamilyWithConfig(ctx, c.Table, c.Family, familyConfig(f))
		})
		if status.Code(err) == codes.AlreadyExists {
			return lost, nil
		}
		return err == nil, err
	}
}

// updateFamily changes the rule of a family. Before each attempt, it reads the rule again, because the change was safe or
// allowed only for the rule in the plan, and another setup may have changed it since the last one.
func updateFamily(f store.Family, have codec.GCRule) request {
	return func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error) {
		var options []bigtable.UpdateFamilyOption
		if c.IgnoresWarnings {
			options = append(options, bigtable.IgnoreWarnings())
		}
		_, err = r.retry(ctx, c.Table, func(ctx context.Context) error {
			live, err := readTable(ctx, *r, c.Table)
			if err != nil {
				return err
			}
			if !live.hasFamily(f.Name) || !live.families[f.Name].rule.Equal(have) && !live.families[f.Name].rule.Equal(f.GC) {
				return &VerifyError{[]Change{*c}}
			}
			err = r.admin.UpdateFamily(ctx, c.Table, c.Family, bigtable.Family{GCPolicy: policy(f.GC)}, options...)
			return because(err, "(if the table is replicated: "+replicated(c.Table, c.Family)+") [T10]",
				codes.FailedPrecondition, codes.InvalidArgument)
		})
		return err == nil, err
	}
}

// changeProtection changes the deletion protection of a table.
func changeProtection(to bigtable.DeletionProtection) request {
	return func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error) {
		err = r.protect(ctx, c.Table, to)
		return err == nil, err
	}
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
