package layout

import (
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// families resolves the column families of a table and how long they keep events.
func (r *resolver) families(t *Table, s *schema.Table) {
	switch {
	case len(s.Families) > 0:
		r.several(t, s)
	case s.TTL != nil && s.TTL.Kind == schema.Classes:
		r.classes(t, s)
	default:
		f := Family{Pos: s.Family.Pos, Name: s.Family.V, GCPos: s.Name.Pos}
		if !s.Family.IsSet() {
			r.reject(s.Name.Pos, "no-family", t.ID)
		}
		r.lifetime(t, &f, s.TTL)
		t.Families = []Family{f}
	}
}

// several resolves the families of a table that lists them.
func (r *resolver) several(t *Table, s *schema.Table) {
	if s.Family.IsSet() {
		r.reject(s.Family.Pos, "family-and-families", t.ID)
	}
	if s.TTL != nil {
		r.reject(s.TTL.Pos, "ttl-and-families")
	}
	if t.Pattern.OneValue() && len(s.Families) > 1 {
		r.reject(s.Families[1].Name.Pos, "families-of-blob", t.Pattern)
	}
	for i := range s.Families {
		f := Family{Pos: s.Families[i].Name.Pos, Name: s.Families[i].Name.V, GCPos: s.Families[i].Name.Pos}
		ttl := s.Families[i].TTL
		if ttl != nil && ttl.Kind == schema.Classes {
			r.reject(ttl.Pos, "families-of-classes")
			ttl = &schema.TTL{Pos: ttl.Pos, Kind: schema.KeepForever}
		}
		r.lifetime(t, &f, ttl)
		t.Families = append(t.Families, f)
	}
}

// classes creates a family for each TTL class. Its name is that of the class, after the
// table's family if there is one. Classes have numbers in the order of their names, whatever their order in the
// schema.
func (r *resolver) classes(t *Table, s *schema.Table) {
	known := make([]string, len(s.TTL.Classes))
	for i, c := range s.TTL.Classes {
		known[i] = c.Name.V
	}
	slices.Sort(known)
	if r.layout.Classes == nil {
		r.layout.Classes = known
	}
	for _, c := range s.TTL.Classes {
		f := Family{Pos: c.Name.Pos, Name: c.Name.V, GCPos: c.Age.Pos}
		if s.Family.IsSet() {
			f.Name = s.Family.V + "_" + c.Name.V
		}
		f.Class = 1 + slices.Index(r.layout.Classes, c.Name.V)
		r.lifetime(t, &f, &schema.TTL{Pos: c.Age.Pos, Kind: schema.MaxAge, Age: c.Age})
		f.Strategy = schema.Classes
		t.Families = append(t.Families, f)
	}
	slices.SortStableFunc(t.Families, func(a, b Family) int { return a.Class - b.Class })
	if len(known) != len(r.layout.Classes) || slices.ContainsFunc(t.Families, func(f Family) bool { return f.Class == 0 }) {
		r.reject(s.TTL.Pos, "other-classes", t.ID, strings.Join(r.layout.Classes, ", "))
	}
}

// lifetime resolves a time to live: the garbage collection rule, the meaning of cell
// timestamps, and which cells are live.
func (r *resolver) lifetime(t *Table, f *Family, ttl *schema.TTL) {
	if ttl == nil {
		return
	}
	f.HasGC, f.GCPos = true, ttl.Pos
	f.Strategy = ttl.Kind
	switch ttl.Kind {
	case schema.OneSecond:
		f.GC = codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Second}
		f.Life.Timestamp = codec.TimestampExpiry
	case schema.DefaultExpiration:
		if ttl.Age.V > MaxDefault {
			r.reject(ttl.Age.Pos, "long-default", schema.FormatDuration(ttl.Age.V))
		}
		f.GC = codec.GCRule{Kind: codec.GCMaxAge, MaxAge: ttl.Age.V}
		f.Life = codec.Lifetime{Timestamp: codec.TimestampShifted}.Under(f.GC, 0)
	default:
		f.GC = gcRule(ttl)
		if r.fromWrite(ttl) {
			f.Life.Timestamp = codec.TimestampWrite
		}
		f.Life = f.Life.Under(f.GC, t.MaxCells)
		if f.Life.Timestamp == codec.TimestampWrite && ttl.Kind == schema.MaxAge {
			f.Strategy = MaxAgeFromWrite
		}
	}
	f.WrittenAt = ttl.WrittenAt
}

// MaxDefault is the longest default expiration: the timestamp of an event that expires
// soon is that long before.
const MaxDefault = 50 * 365 * 24 * time.Hour

// gcRule returns the rule of a time to live that Bigtable supports directly.
func gcRule(ttl *schema.TTL) codec.GCRule {
	switch ttl.Kind {
	case schema.MaxAge:
		return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: ttl.Age.V}
	case schema.MaxVersions:
		return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: ttl.Versions.V}
	case schema.AnyOf, schema.AllOf:
		rule := codec.GCRule{Kind: codec.GCUnion}
		if ttl.Kind == schema.AllOf {
			rule.Kind = codec.GCIntersection
		}
		for i := range ttl.Rules {
			rule.Rules = append(rule.Rules, gcRule(&ttl.Rules[i]))
		}
		return rule
	}
	return codec.GCRule{}
}

// fromWrite reports whether the ages of a time to live count from the write. A cell has
// one timestamp, so all must count from the same time.
func (r *resolver) fromWrite(ttl *schema.TTL) bool {
	write, event := false, (*schema.TTL)(nil)
	var visit func(t *schema.TTL)
	visit = func(t *schema.TTL) {
		if t.From.V == "write" {
			write = true
		} else if t.Kind == schema.MaxAge && event == nil {
			event = t
		}
		for i := range t.Rules {
			visit(&t.Rules[i])
		}
	}
	visit(ttl)
	if write && event != nil {
		r.reject(event.Pos, "mixed-times")
	}
	return write
}

// writtenAt adds the columns of the write time.
func (r *resolver) writtenAt(t *Table, s *schema.Table) {
	for i, f := range t.Families {
		if !f.WrittenAt.IsSet() {
			continue
		}
		if t.Pattern.Naming() == codec.NamedByTime {
			r.reject(f.WrittenAt.Pos, "written-at-times", t.Pattern)
			continue
		}
		c := Column{Pos: f.WrittenAt.Pos, Qualifier: f.WrittenAt.V, Field: WrittenAt, Family: i, Values: valuesOf(s.Values, schema.JSON)}
		for _, other := range t.Columns {
			if other.Qualifier == c.Qualifier && other.Family == i {
				r.reject(c.Pos, "written-at-data", c.Qualifier)
			}
		}
		t.Columns = append(t.Columns, c)
	}
}

// familyOf returns the family of a field's column.
func (r *resolver) familyOf(t *Table, s *schema.Table, f *schema.Field) int {
	if len(s.Families) == 0 {
		return 0
	}
	var names []string
	for _, g := range t.Families {
		names = append(names, g.Name)
	}
	i := slices.Index(names, f.Family.V)
	if len(names) == 1 && !f.Family.IsSet() {
		return 0
	}
	r.homeless = r.homeless || i < 0
	switch {
	case !f.Family.IsSet():
		own := *f
		own.Family = schema.Value[string]{V: names[0], Pos: f.Name.Pos}
		r.reject(f.Name.Pos, "field-without-family", t.ID, f.Name.V, strings.Join(names, ", "), diag.Code(f.Name.V+": "+own.String()))
	case i < 0:
		r.reject(f.Family.Pos, "unknown-family", t.ID, f.Family.V, strings.Join(names, ", "))
	}
	return max(i, 0)
}

// checkFamilies checks that each family has a field, that all tables have the families
// that fields name, and that no event loses a required part.
func (r *resolver) checkFamilies() {
	for _, f := range r.schema.Fields {
		has := func(t *Table) bool {
			return slices.ContainsFunc(t.Families, func(g Family) bool { return g.Name == f.Family.V && g.Class == 0 })
		}
		if f.Family.IsSet() && !r.homeless && !slices.ContainsFunc(r.layout.Tables, has) {
			r.reject(f.Family.Pos, "unused-family", f.Family.V)
		}
	}
	for _, t := range r.layout.AllPeriods() {
		if r.homeless || t.HasClasses() {
			continue
		}
		for i, f := range t.Families {
			if !slices.ContainsFunc(t.AllColumns(), func(c Column) bool { return c.Family == i && c.Field != WrittenAt }) {
				r.reject(f.Pos, "empty-family", f.Name, t.ID, f.Name)
			}
		}
		if !slices.ContainsFunc(t.Families, func(f Family) bool { return !f.HasGC }) {
			r.checkOutlives(t)
		}
	}
	r.checkDefaults()
}

// checkDefaults rejects different defaults: an event is read from one family, and
// writing it again to all of them would keep that default.
func (r *resolver) checkDefaults() {
	var first *Family
	r.layout.AnyFamily(func(f *Family) bool {
		switch {
		case f.Life.Timestamp != codec.TimestampShifted:
		case first == nil:
			first = f
		case f.Life.Default != first.Life.Default:
			r.reject(f.GCPos, "other-default", schema.FormatDuration(f.Life.Default), schema.FormatDuration(first.Life.Default), first.GCPos.Line)
		}
		return false
	})
}

// tellsAll reports whether an event that is read from a table contains everything that
// its writer specified about its time to live.
func (l *Layout) tellsAll(t *Table) bool {
	class, expiry := len(l.Classes) == 0, !l.MustExpire() && !l.MayExpire()
	for _, f := range t.Families {
		class = class || f.Class > 0
		expiry = expiry || f.Life.Timestamp == codec.TimestampExpiry || f.Life.Timestamp == codec.TimestampShifted
	}
	return class && expiry
}

// specifies returns what writers specify about the time to live of events, and how to refer to it.
func (l *Layout) specifies() (what, stores string) {
	switch expires := l.MustExpire() || l.MayExpire(); {
	case expires && len(l.Classes) > 0:
		return "its class and its expiry", "both"
	case expires:
		return "its expiry", "it"
	}
	return "its class", "it"
}

// serving lists the tables that reads and queries may use: those with all events.
func (l *Layout) serving() []*Table {
	return slices.DeleteFunc(slices.Clone(l.Tables), func(t *Table) bool { return t.WriteOnly || t.Pattern.NewestOnly() })
}

// telling returns the tables for which tellsAll holds.
func (l *Layout) telling() []*Table {
	return slices.DeleteFunc(l.serving(), func(t *Table) bool { return !l.tellsAll(t) })
}

// Outlives reports whether events live at least as long in t as in other.
func (t *Table) Outlives(other *Table) bool {
	for _, o := range other.Families {
		longer := func(f Family) bool { return f.Class == o.Class && f.Life.Outlives(o.Life) }
		if !slices.ContainsFunc(t.Families, longer) {
			return false
		}
	}
	return true
}

// readable returns the table for reads of a single series: among those that tell all of
// an event, the one that keeps events longest, then the one with the fewest ranges.
func (r *resolver) readable() *Table {
	tables := r.layout.telling()
	switch {
	case len(r.layout.serving()) == 0 && slices.ContainsFunc(r.layout.Tables, func(t *Table) bool { return t.Pattern.NewestOnly() }):
		tables = r.layout.Tables // see states
	case len(r.layout.serving()) == 0:
		r.reject(r.layout.Tables[0].WriteOnlyPos, "nothing-served")
		tables = r.layout.Tables
	case len(tables) == 0:
		what, stores := r.layout.specifies()
		r.reject(r.layout.NamePos, "other-strategy", what, stores)
		tables = r.layout.Tables
	}
	tables = longest(tables)
	reads := Query{By: r.layout.AllSeries()}
	if best := reads.best(r.layout, tables); best != nil {
		return best.Table
	}
	return tables[0] // the key has errors
}

// longest returns those tables that no other one outlives.
func longest(tables []*Table) []*Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t *Table) bool {
		return slices.ContainsFunc(tables, func(o *Table) bool { return o.Outlives(t) && !t.Outlives(o) })
	})
}

// checkOutlives rejects a required field that can expire before another field of the
// event.
func (r *resolver) checkOutlives(t *Table) {
	for _, c := range t.Columns {
		if c.Field < 0 {
			continue
		}
		f := &r.layout.Fields[c.Field]
		if f.Optional || f.Default != nil {
			continue
		}
		for i, other := range t.Families {
			if own := t.Families[c.Family]; i != c.Family && !own.Life.Outlives(other.Life) {
				optional := r.schema.Fields[c.Field]
				optional.Optional = true
				r.reject(f.Pos, "expires-in-part", f.Name, t.ID, own.Name, other.Name, diag.Code(f.Name+": "+optional.String()))
				break
			}
		}
	}
}

// HasClasses reports whether the events of a table have TTL classes.
func (t *Table) HasClasses() bool {
	return slices.ContainsFunc(t.Families, func(f Family) bool { return f.Class > 0 })
}

// AnyFamily reports whether is holds for any family of any table.
func (l *Layout) AnyFamily(is func(f *Family) bool) bool {
	for _, t := range l.AllPeriods() {
		for i := range t.Families {
			if is(&t.Families[i]) {
				return true
			}
		}
	}
	return false
}

// MustExpire reports whether an event must specify its expiry.
func (l *Layout) MustExpire() bool {
	return l.AnyFamily(func(f *Family) bool { return f.Life.Timestamp == codec.TimestampExpiry })
}

// MayExpire reports whether an event may specify its time to live.
func (l *Layout) MayExpire() bool {
	return l.AnyFamily(func(f *Family) bool { return f.Life.Timestamp == codec.TimestampShifted })
}

// KeepsWrittenAt reports whether the write time of events is stored.
func (l *Layout) KeepsWrittenAt() bool {
	return l.AnyFamily(func(f *Family) bool { return f.WrittenAt.IsSet() })
}

// ReadTables returns the tables that reads and queries use, possibly with duplicates.
func (l *Layout) ReadTables() []*Table {
	tables := []*Table{l.Read}
	for i := range l.Queries {
		tables = append(tables, l.Queries[i].Table)
	}
	return tables
}

// KeepsWrittenAt reports whether the table stores the write time of events.
func (t *Table) KeepsWrittenAt() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Field == WrittenAt })
}

// Default returns how long an event lives that does not specify it; 0 if all events do.
func (l *Layout) Default() time.Duration {
	var out time.Duration
	l.AnyFamily(func(f *Family) bool {
		out = max(out, f.Life.Default)
		return false
	})
	return out
}

// TTLField is a field of the event that is about its time to live.
type TTLField int

// The fields about the time to live, in the order of the event.
const (
	ClassField       TTLField = iota // the TTL class
	TTLDurationField                 // how long the event lives from its writing
	ExpiresAtField                   // when the event expires
	WrittenAtField                   // the true write time
)

// TTLFields returns the fields of an event that say how long it lives. They are part of the
// event, so that no writer can forget them.
func (l *Layout) TTLFields() []TTLField {
	var out []TTLField
	for _, f := range []struct {
		field TTLField
		is    bool
	}{
		{ClassField, len(l.Classes) > 0},
		{TTLDurationField, l.MayExpire()},
		{ExpiresAtField, l.MayExpire() || l.MustExpire()},
		{WrittenAtField, l.KeepsWrittenAt()},
	} {
		if f.is {
			out = append(out, f.field)
		}
	}
	return out
}

// ClassPos returns where the schema declares the i-th class: in its first table.
func (l *Layout) ClassPos(i int) diag.Pos {
	for _, f := range l.Tables[0].Families {
		if f.Class == i+1 {
			return f.Pos
		}
	}
	return l.NamePos
}
