package layout

import (
	"cmp"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Rollups returns the layouts with a rollup.
func (l *Layout) Rollups() []*Table {
	return slices.DeleteFunc(l.AllPeriods(), func(t *Table) bool { return t.Rollup == nil })
}

// Age returns the age at which the first data of events expire; 0 if none do by age.
func (t *Table) Age() (first time.Duration) {
	for _, f := range t.Families {
		for _, term := range f.Life.Retention {
			if term.MaxAge > 0 && (first == 0 || term.MaxAge < first) {
				first = term.MaxAge
			}
		}
	}
	return first
}

// AllFamilies returns the families of the table: those of events, and then that of the rollup, or of the sums of the pattern
// latest, if it has one.
func (t *Table) AllFamilies() []Family {
	if t.RollupFamily != nil {
		return append(slices.Clone(t.Families), *t.RollupFamily)
	}
	if sums := t.SumFamily(); sums != nil {
		return append(slices.Clone(t.Families), *sums)
	}
	return t.Families
}

// SumFamily returns the family with the sums of versions of a table with pattern latest; nil for others, and
// without a family of events.
func (t *Table) SumFamily() *Family {
	if !t.Pattern.NewestOnly() || len(t.Families) != 1 || t.Families[0].Name == "" {
		return nil
	}
	sums := t.Families[0]
	sums.Name, sums.Sums = codec.VersionsFamily(sums.Name), true
	return &sums
}

// FieldsOfRollup returns the names that runs of the rollup have for fields, and the fields.
func (l *Layout) FieldsOfRollup(t *Table) (names []string, fields []*Field) {
	for i := range l.Fields {
		f := &l.Fields[i]
		if name := l.FieldName(f); t.Rollup.Fields == nil || slices.Contains(t.Rollup.Fields, name) {
			names, fields = append(names, name), append(fields, f)
		}
	}
	return names, fields
}

// rollup resolves the rollup of a table.
func (r *resolver) rollup(t *Table, s *schema.Table) {
	of := &s.Rollup
	if !of.Pos.IsValid() || of.None || !r.summarizes(t, s) {
		return
	}
	t.Rollup, t.RollupPos = &codec.Rollup{
		Every: of.Every.V, After: of.After.V, Family: of.Family.V, Idle: of.Serves.IsSet() && !of.Serves.V,
	}, of.Pos
	r.rollupFamily(t, s)
	for _, name := range of.Fields {
		if fieldNamed(r.layout.Fields, name.V) < 0 {
			r.reject(name.Pos, "no-field", name.V)
		} else {
			t.Rollup.Fields = append(t.Rollup.Fields, name.V)
		}
	}
	if !divides(t.Rollup.Every, t.Bucket) {
		name := "uneven-windows"
		if b := t.Bucket; b.Months == 0 && of.Every.V > 0 && b.Every%of.Every.V == 0 {
			name = "shifted-windows"
		}
		r.reject(of.Every.Pos, name, schema.FormatDuration(of.Every.V), t.ID, dividing(t))
	}
}

// divides reports whether the windows of a rollup divide each bucket: windows are those of multiples of
// their width since 1970 or, if that is a whole number of weeks, since a Monday.
func divides(every time.Duration, b codec.Bucket) bool {
	switch {
	case every < time.Second || every%time.Second != 0 || b.Endless():
		return false
	case b.Months > 0:
		return 24*time.Hour%every == 0
	case b.Every == 0 || b.Every%every != 0:
		return b.Every == 0 // a separate error
	}
	start := b.Start(time.Unix(0, 0))
	return codec.Bucket{Every: every}.Start(start).Equal(start)
}

// dividing returns the widest usual width of windows that divides the buckets of a table.
func dividing(t *Table) string {
	for _, text := range []string{"1d", "1h", "30m", "20m", "15m", "10m", "5m", "1m"} {
		d, _ := schema.ParseDuration(text)
		if divides(d, t.Bucket) && d < t.Bucket.Widest() {
			return text
		}
	}
	return "1s"
}

// summarizes rejects tables that cannot have a rollup.
func (r *resolver) summarizes(t *Table, s *schema.Table) bool {
	pos := s.Rollup.Pos
	switch {
	case !t.Pattern.Bucketed() || t.Endless():
		r.reject(pos, "no-buckets", t.ID)
	case t.Metrics():
		r.reject(pos, "rollup-of-rows", t.ID, patternsWith(codec.Pattern.Versioned))
	case t.HasClasses() || slices.ContainsFunc(t.Families, func(f Family) bool { return !f.Life.EventTimed() }):
		r.reject(cmp.Or(t.Families[0].GCPos, pos), "rollup-of-expiries", t.ID, t.longEnough())
	case find(t.Families, (*Family).limitsVersions) != nil:
		r.reject(cmp.Or(t.Families[0].GCPos, pos), "rollup-of-versions", t.ID, t.longEnough())
	default:
		return true
	}
	return false
}

// longEnough proposes a time to live of events that a rollup can follow.
func (t *Table) longEnough() string {
	const day = 24 * time.Hour
	least := max(30*day, (t.Bucket.Widest() + new(codec.Rollup).Grace(t.Bucket)*4 + 4*day).Truncate(day))
	return diag.Code("ttl: {max_age: " + schema.FormatDuration(least) + "}")
}

// rollupFamily resolves the family of a rollup.
func (r *resolver) rollupFamily(t *Table, s *schema.Table) {
	of := &s.Rollup
	t.RollupFamily = &Family{Pos: of.Family.Pos, Name: of.Family.V, GCPos: of.Family.Pos, HasGC: true}
	if of.TTL != nil {
		t.RollupFamily.GCPos = of.TTL.Pos
	}
	if slices.ContainsFunc(t.Families, func(f Family) bool { return f.Name == of.Family.V }) {
		r.reject(of.Family.Pos, "family-of-events", of.Family.V, t.ID)
	}
	if of.TTL == nil {
		return
	}
	if of.TTL.Kind != schema.MaxAge && of.TTL.Kind != schema.KeepForever || of.TTL.From.V == "write" {
		r.reject(of.TTL.Pos, "rollup-by-versions")
		return
	}
	t.Rollup.GC = gcRule(of.TTL)
	t.RollupFamily.GC, t.RollupFamily.Life, t.RollupFamily.Strategy = t.Rollup.GC, codec.Lifetime{}.Under(t.Rollup.GC, 0), of.TTL.Kind
	age, own := t.Age(), t.Rollup.GC.MaxAge
	least := t.Rollup.Least(t.Bucket)
	switch {
	case age > 0 && age < least:
		r.reject(t.Families[0].GCPos, "brief-rollup", t.ID, schema.FormatDuration(least.Round(time.Minute)+time.Minute))
	case own > 0 && (age == 0 && t.Families[0].HasGC || own <= age):
		r.reject(of.TTL.Pos, "short-rollup", t.ID)
	}
}

// nameRollupFields gives the fields of rollups the names that reads have for them, which depend on all tables.
func (r *resolver) nameRollupFields() {
	for _, t := range r.layout.Rollups() {
		for i, name := range t.Rollup.Fields {
			t.Rollup.Fields[i] = r.layout.FieldName(&r.layout.Fields[fieldNamed(r.layout.Fields, name)])
		}
	}
}
