package emit

import (
	"fmt"
	"slices"
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
	fields := []field{{"Name", jen.Id(s.names.IDs(t).Families[f.Name])}}
	fields = with(fields, f.GC.Kind != codec.GCNone, "GC", s.lit(f.GC))
	fields = with(fields, f.Life.Timestamp != codec.TimestampEvent, "Life", s.lit(codec.Lifetime{Timestamp: f.Life.Timestamp}))
	fields = with(fields, f.Class > 0, "Class", jen.Lit(f.Class))
	return inline(fields...)
}

// tableConsts declares the IDs of the tables and the names of their families:
//
//	const ( BalloonCellsTableID = "balloon_cells"; BalloonCellsFamilyM = "m"; … )
func (s *schemaFile) tableConsts() jen.Code {
	return gocode.Doc(fmt.Sprintf("The tables of %s events and their families, for other programs; options may add a prefix to IDs.", s.layout.Name)).Line().
		Const().DefsFunc(func(g *jen.Group) {
		declared := map[string]bool{}
		add := func(name, value string) {
			if !declared[name] {
				declared[name] = true
				g.Id(name).Op("=").Lit(value)
			}
		}
		for _, t := range s.layout.AllPeriods() {
			ids := s.names.IDs(t)
			add(ids.Table, t.ID)
			for _, f := range t.AllFamilies() {
				add(ids.Families[f.Name], f.Name)
			}
		}
	})
}

// tableLit renders what setup needs to know about a table.
func (s *schemaFile) tableLit(t *layout.Table) *jen.Statement {
	options := multi
	options.Multi = len(t.Families) > 1
	families := jen.Index().Add(s.store("Family")).Custom(options, each(t.Families, func(_ int, f *layout.Family) jen.Code {
		return s.family(t, f)
	})...)
	fields := []field{{"ID", jen.Id(s.names.IDs(t).Table)}, {"Families", families}}
	splits := each(t.Splits, func(_ int, split *string) jen.Code { return jen.Lit(*split) })
	fields = with(fields, len(t.Splits) > 0, "Splits", jen.Index().String().Values(splits...))
	fields = with(fields, t.KeyFields != nil, "KeySchema", s.keySchema(t))
	if t.Protected != nil {
		name := map[bool]string{true: "Protected", false: "Unprotected"}[*t.Protected]
		fields = append(fields, field{"DeletionProtection", jen.Qual(bigtablePath, name)})
	}
	fields = with(fields, t.Tier != 0, "Tier", s.tier(t.Tier))
	if t.Bundle.ID != "" {
		fields = append(fields, field{"Bundle", s.bundle(t)})
	}
	fields = with(fields, t.Draft, "Draft", jen.True())
	fields = with(fields, t.WriteOnly, "WriteOnly", jen.True())
	facts := lock.Record(s.layout, t)
	fields = with(fields, facts != "", "Layout", rawString(facts))
	return s.store("Table").Add(lines(fields...))
}

// tier renders the age from which cells are in the infrequent access tier.
func (s *schemaFile) tier(t codec.Tier) *jen.Statement {
	if after, moves := t.After(); moves {
		return s.codec("Tier").Call(gocode.Duration(after))
	}
	return s.codec("SSDOnly")
}

// bundle renders the schema bundle of a table.
func (s *schemaFile) bundle(t *layout.Table) *jen.Statement {
	fields := []field{{"ID", jen.Lit(t.Bundle.ID)}}
	if t.Bundle.Drop {
		fields = append(fields, field{"Drop", jen.True()})
	} else {
		fields = append(fields, field{"Descriptors", jen.Index().Byte().Call(jen.Lit(string(protofile.Of(s.layout, s.names).Descriptors())))})
	}
	return jen.Op("&").Add(s.store("SchemaBundle")).Add(inline(fields...))
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
	fields := []field{{"Fields", s.lit(t.KeyFields)}}
	if t.Delimiter != "" {
		fields = slices.Insert(fields, 0, field{"Delimiter", jen.Lit(t.Delimiter)})
	}
	return jen.Op("&").Add(s.store("KeySchema")).Add(inline(fields...))
}

// mappingVar declares everything that the store needs to know about a table:
//
//	var balloonCellsMapping = store.NewMapping(balloonCellsColumns, store.Mapping{…})
func (s *schemaFile) mappingVar(t *layout.Table) jen.Code {
	return gocode.Doc(fmt.Sprintf("%s maps events to table %s%s.", s.names.Table(t).Mapping, t.ID, ofEvents(t))).Line().
		Var().Id(s.names.Table(t).Mapping).Op("=").Add(s.store("NewMapping")).Call(
		jen.Id(s.names.Table(t).Columns),
		s.store("Mapping").Add(lines(s.mappingFields(t)...)),
	)
}

// ofEvents returns which events have a layout, for a table with several.
func ofEvents(t *layout.Table) string {
	if period := prose.Period(t); period != "" {
		return " for " + period
	}
	return ""
}

// mappingFields renders the fields of a mapping, except its columns and keys.
func (s *schemaFile) mappingFields(t *layout.Table) []field {
	fields := []field{{"Table", s.tableLit(t)}, {"Pattern", s.codec(names.Exported(t.Pattern.String()))}}
	fields = append(fields, field{"Key", jen.Id(s.names.Table(t).KeyVar)}, field{"Precision", gocode.Duration(s.layout.Precision)})
	fields = with(fields, t.Pattern.OneValue(), "Fields", s.fieldNames())
	fields = with(fields, t.CountsCells(), "MaxCells", gocode.Int(t.MaxCells))
	fields = with(fields, t.Sequence, "SequenceInColumns", jen.True()) // else, the key says that there is one
	fields = append(fields, field{"Check", jen.Id(s.names.Check)})
	if t.Rollup != nil {
		fields = append(fields, field{"Rollup", jen.Op("&").Add(s.lit(*t.Rollup))})
	}
	fields = with(fields, !t.Since.IsZero(), "Since", gocode.Date(t.Since))
	fields = with(fields, len(t.Older) > 0, "Older", s.mappingsOf(t.Older))
	if s.layout.HasState(t) {
		fields = append(fields, field{"State", jen.Id(s.names.Table(s.layout.State).Mapping)})
	}
	return fields
}

// fieldNames renders the constants of all fields, one a line, so that a new field adds a line.
func (s *schemaFile) fieldNames() *jen.Statement {
	return jen.Index().Add(s.store("Field")).Custom(multi, each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		return jen.Id(s.names.Field(f).Const)
	})...)
}

// parser returns the name of the function that parses serialized events; empty if the
// table has none.
func (s *schemaFile) parser(t *layout.Table) string {
	return map[layout.Format]string{layout.Protobuf: s.names.ParseProto, layout.JSONText: s.names.ParseJSON}[t.Blob]
}

// setDefault renders the assignment of a field's default.
func (s *schemaFile) setDefault(f *layout.Field) *jen.Statement {
	return jen.Id("e").Dot(s.names.Field(f).Name).Op("=").Add(s.defaultValue(f))
}
