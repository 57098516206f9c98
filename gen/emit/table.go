package emit

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/protofile"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// family renders a column family. The rule determines its lifetime, except for the
// meaning of cell timestamps.
func (s *schemaFile) family(t *layout.Table, f *layout.Family) *jen.Statement {
	return jen.Values(
		set("Name", jen.Id(s.names.IDs(t).Families[f.Name])),
		setIf(f.GC.Kind != codec.GCNone, "GC", s.lit(f.GC)),
		setIf(f.Life.Timestamp != codec.TimestampEvent, "Life", s.lit(codec.Lifetime{Timestamp: f.Life.Timestamp})),
		setIf(f.Class > 0, "Class", jen.Lit(f.Class)),
	)
}

// tableConsts declares the IDs of the tables and the names of their families.
func (s *schemaFile) tableConsts() jen.Code {
	var consts []jen.Code
	declared := map[string]bool{}
	add := func(name, value string) {
		if !declared[name] {
			declared[name] = true
			consts = append(consts, s.code("$1 = $2", name, jen.Lit(value)))
		}
	}
	for _, t := range s.layout.AllPeriods() {
		ids := s.names.IDs(t)
		add(ids.Table, t.ID)
		for _, f := range t.AllFamilies() {
			add(ids.Families[f.Name], f.Name)
		}
	}
	return s.code(`
		// The tables of $Name events and their families, for other programs; options may add a prefix to IDs.
		const (
			$1
		)`, consts)
}

// tableLit renders what setup needs to know about a table.
func (s *schemaFile) tableLit(t *layout.Table) *jen.Statement {
	options := multi
	options.Multi = len(t.Families) > 1
	families := jen.Custom(options, each(t.Families, func(_ int, f *layout.Family) jen.Code { return s.family(t, f) })...)
	splits := jen.List(each(t.Splits, func(_ int, split *string) jen.Code { return jen.Lit(*split) })...)
	protection := "bigtable.Unprotected"
	if t.Protected != nil && *t.Protected {
		protection = "bigtable.Protected"
	}
	facts := lock.Record(s.layout, t)
	return s.code("store.Table$1", lines(
		set("ID", jen.Id(s.names.IDs(t).Table)),
		set("Families", s.code("[]store.Family$1", families)),
		setIf(len(t.Splits) > 0, "Splits", s.code("[]string{$1}", splits)),
		setIf(t.KeyFields != nil, "KeySchema", s.keySchema(t)),
		setIf(t.Protected != nil, "DeletionProtection", s.code(protection)),
		setIf(t.Tier != 0, "Tier", s.tier(t.Tier)),
		s.bundle(t),
		setIf(t.Draft, "Draft", jen.True()),
		setIf(t.WriteOnly, "WriteOnly", jen.True()),
		setIf(facts != "", "Layout", rawString(facts)),
	))
}

// tier renders the age from which cells are in the infrequent access tier.
func (s *schemaFile) tier(t codec.Tier) *jen.Statement {
	if after, moves := t.After(); moves {
		return s.code("codec.Tier($1)", gocode.Duration(after))
	}
	return s.code("codec.SSDOnly")
}

// bundle renders the schema bundle of a table, if it has one.
func (s *schemaFile) bundle(t *layout.Table) jen.Code {
	switch {
	case t.Bundle.ID == "":
		return nil
	case t.Bundle.Drop:
		return set("Bundle", s.code("&store.SchemaBundle{ID: $1, Drop: true}", jen.Lit(t.Bundle.ID)))
	}
	descriptors := string(protofile.Of(s.layout, s.names).Descriptors())
	return set("Bundle", s.code("&store.SchemaBundle{ID: $1, Descriptors: []byte($2)}", jen.Lit(t.Bundle.ID), jen.Lit(descriptors)))
}

// rawString renders a text on one line, without escapes if possible.
func rawString(text string) *jen.Statement {
	if strconv.CanBackquote(text) {
		return jen.Op("`" + text + "`")
	}
	return jen.Lit(text)
}

// keySchema renders the row key schema of a table.
func (s *schemaFile) keySchema(t *layout.Table) *jen.Statement {
	if t.Delimiter == "" {
		return s.code("&store.KeySchema{Fields: $1}", s.lit(t.KeyFields))
	}
	return s.code("&store.KeySchema{Delimiter: $1, Fields: $2}", jen.Lit(t.Delimiter), s.lit(t.KeyFields))
}

// mappingVar declares everything that the store needs to know about a table.
func (s *schemaFile) mappingVar(t *layout.Table) jen.Code {
	n := s.names.Table(t)
	return s.code(`
		// $1 maps events to table $2.
		var $1 = store.NewMapping($3, store.Mapping$4)`, n.Mapping, t.ID+ofEvents(t), n.Columns, lines(s.mappingFields(t)...))
}

// ofEvents returns which events have a layout, for a table with several.
func ofEvents(t *layout.Table) string {
	if period := prose.Period(t); period != "" {
		return " for " + period
	}
	return ""
}

// mappingFields renders the fields of a mapping, except its columns and keys.
func (s *schemaFile) mappingFields(t *layout.Table) []jen.Code {
	consts := lines(each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code { return jen.Id(s.names.Field(f).Const) })...)
	fields := []jen.Code{
		set("Table", s.tableLit(t)),
		set("Pattern", s.codec(names.Exported(t.Pattern.String()))),
		set("Key", jen.Id(s.names.Table(t).KeyVar)),
		set("Precision", gocode.Duration(s.layout.Precision)),
		setIf(t.Pattern.OneValue(), "Fields", s.code("[]store.Field$1", consts)), // so that a new field adds a line
		setIf(t.CountsCells(), "MaxCells", gocode.Int(t.MaxCells)),
		setIf(t.Sequence, "SequenceInColumns", jen.True()), // else, the key says that there is one
		set("Check", jen.Id(s.names.Check)),
	}
	if t.Rollup != nil {
		fields = append(fields, set("Rollup", s.code("&$1", s.lit(*t.Rollup))))
	}
	fields = append(fields, setIf(!t.Since.IsZero(), "Since", gocode.Date(t.Since)))
	fields = append(fields, setIf(len(t.Older) > 0, "Older", s.mappingsOf(t.Older)))
	if s.layout.HasState(t) {
		fields = append(fields, set("State", jen.Id(s.names.Table(s.layout.State).Mapping)))
	}
	return fields
}
