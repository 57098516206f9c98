package layout

import (
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
)

// MaterializedView is a continuous materialized view of a table, which Bigtable maintains:
// statistics of its events by series values and windows of time.
type MaterializedView struct {
	Pos    diag.Pos
	ID     string
	By     []int       // of Layout.Series
	Every  schema.Span // the width of windows; zero for all times
	Fields []int       // of Layout.Fields: numbers
}

// Widest returns the maximum width of the windows; 0 for all times.
func (v *MaterializedView) Widest() time.Duration {
	const day = 24 * time.Hour
	years, months := v.Every.Months/12, v.Every.Months%12
	return v.Every.Fixed + time.Duration(years)*366*day + time.Duration(months)*31*day
}

// Summable reports whether GoogleSQL has all numbers of a field, so that it can aggregate them.
func (f *Field) Summable() bool {
	own := f.Type.Traits()
	return own.Number != schema.NoNumber && !(own.Number == schema.Unsigned && own.Bits == 64)
}

// views resolves the materialized views of a table with all its layouts.
func (r *resolver) views(t *Table, s *schema.Table) {
	for i := range s.Views {
		from := &s.Views[i]
		v := MaterializedView{Pos: from.Name.Pos, ID: from.Name.V, Every: from.Every.V}
		for _, name := range from.By {
			k := fieldNamed(r.layout.Series, name.V)
			if k < 0 {
				r.reject(name.Pos, "no-such-series", name.V, r.seriesHint(name.V))
				continue
			}
			v.By = append(v.By, k)
		}
		if len(from.By) == 0 && !from.Every.IsSet() {
			r.reject(v.Pos, "no-groups", v.ID)
		}
		v.Fields = r.viewFields(from)
		t.Views = append(t.Views, v)
	}
}

// viewFields returns the fields with statistics: those that a view names, or all numbers.
func (r *resolver) viewFields(from *schema.MaterializedView) []int {
	var out []int
	for i := range r.layout.Fields {
		if len(from.Fields) == 0 && r.layout.Fields[i].Summable() {
			out = append(out, i)
		}
	}
	for _, name := range from.Fields {
		i := fieldNamed(r.layout.Fields, name.V)
		switch {
		case i < 0:
			r.reject(name.Pos, "no-such-field", name.V, FirstOf(NamesOf(r.layout.Fields, indexes(r.layout.Fields))))
		case !r.layout.Fields[i].Summable():
			r.reject(name.Pos, "no-statistics", name.V, r.layout.Fields[i].Type)
		default:
			out = append(out, i)
		}
	}
	return out
}
