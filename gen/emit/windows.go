package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// statistics returns the names of the statistics of a field in package window, and of their columns, and that of the
// function that folds its values, without the suffix Part.
func statistics(f *layout.Field) (typ, columns, part string) {
	switch {
	case !f.Type.Measures():
		return "Values", "ValuesColumns", "Values"
	case f.Type.Traits().Number == schema.Floating:
		return "Float64", "NumberColumns", "Float"
	}
	return "Int", "NumberColumns", "Int"
}

// statisticsOf declares the statistics of a field: of a type in package window and, if the field has sketches, in a
// struct with what a template says of each.
func (s *schemaFile) statisticsOf(f *layout.Field, typ, template string) jen.Code {
	name, sketches := s.names.Field(f).Name, f.Sketches.All()
	if sketches == nil {
		return s.code("$1 window.$2[$3]", name, typ, s.goType(f))
	}
	members := each(sketches, func(_ int, x **schema.Sketch) jen.Code { return s.code(template, (*x).Go) })
	return s.code("$1 struct {\nwindow.$2[$3]\n$4\n}", name, typ, s.goType(f), members)
}

// windowType declares the statistics of the events in a window of time, and their columnar form.
func (s *schemaFile) windowType() jen.Code {
	return s.code(`
		// $Window summarizes the events of a series in a window of time.
		type $Window struct {
			window.Window
			$Series
			$1
		}

		// $WindowColumns holds windows in slices of equal length; see store.AppendWindows.
		type $WindowColumns struct {
			window.WindowColumns[$Series]
			$2
		}

		// Reset empties the slices and keeps their memory.
		func (c *$WindowColumns) Reset() { window.Reset(c) }

		// Append adds a window.
		func (c *$WindowColumns) Append(w *$Window) {
			c.WindowColumns.Append(&w.Window, w.$Series)
			$3
		}`, each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		typ, _, _ := statistics(f)
		return s.statisticsOf(f, typ, "window.$1")
	}), each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		_, columns, _ := statistics(f)
		return s.statisticsOf(f, columns, "$1 []window.$1")
	}), each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		name := s.names.Field(f).Name
		return s.code("c.$1.Append(&w.$1)\n$2", name, each(f.Sketches.All(), func(_ int, x **schema.Sketch) jen.Code {
			return s.code("c.$1.$2 = append(c.$1.$2, w.$1.$2)", name, (*x).Go)
		}))
	}))
}

// seriesConsts declares the series values by which windows are grouped.
func (s *schemaFile) seriesConsts() jen.Code {
	if len(s.layout.Series) == 0 {
		return jen.Null()
	}
	return s.code(`
		// The values of $Series, for store.WindowOptions.
		const (
			$1
		)`, each(s.layout.Series, func(_ int, f *layout.Field) jen.Code {
		return s.code("$1 store.SeriesValue = $2", s.names.Field(f).Const, jen.Lit(f.Name))
	}))
}

// windowsVar declares how events are folded into windows.
func (s *schemaFile) windowsVar() jen.Code {
	return s.code(`
		// $Windows says how the slices of $Columns are summarized, by their indexes.
		var $Windows = window.NewSpec[$Series, $Window](
			$1
		)`, each(s.layout.Fields, func(i int, f *layout.Field) jen.Code {
		_, _, part := statistics(f)
		switch {
		case f.Optional && isSlice(f):
			part = "OptionalBytes"
		case f.Optional:
			part = "Optional" + part
		}
		fold := s.code("window.$1[$2]($3, $4)", part+"Part", s.goType(f), jen.Lit(s.layout.FieldName(f)), s.fieldIndex(i))
		for _, x := range f.Sketches.All() {
			fold = s.code("window.With[window.$1]($2)", x.Go, fold)
		}
		return s.code("$1,", fold)
	}))
}
