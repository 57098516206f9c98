package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// ttlField is a field of the event about its time to live.
type ttlField struct {
	kind    layout.TTLField
	name    string
	typ     *jen.Statement
	comment string
}

// ttlFields lists these fields.
func (s *schemaFile) ttlFields() []ttlField {
	var out []ttlField
	for _, kind := range s.layout.TTLFields() {
		f := ttlField{kind: kind, name: s.names.TTLField(kind), typ: jen.Qual("time", "Time")}
		switch kind {
		case layout.ClassField:
			f.typ, f.comment = jen.Id(s.names.Class), "how long the event lives; the writer rejects the zero class"
		case layout.TTLDurationField:
			f.typ, f.comment = jen.Qual("time", "Duration"), "time to live, counted from the write; 0 means that ExpiresAt applies; always 0 when read"
		case layout.ExpiresAtField:
			f.comment = "when the event expires" + expiresAtNote(s.layout)
		case layout.WrittenAtField:
			f.comment = "write time, set by the writer"
		}
		out = append(out, f)
	}
	return out
}

// expiresAtNote describes the meaning of a zero ExpiresAt.
func expiresAtNote(l *layout.Layout) string {
	switch {
	case !l.MayExpire():
		return "; the writer rejects the zero time"
	case l.MustExpire():
		return ", if TTL is 0; one of them is required"
	}
	return ", if TTL is 0; the zero time means " + prose.Defaults(l) + " after the write"
}

// declareTTLFields declares these fields in the event.
func (s *schemaFile) declareTTLFields(g *jen.Group) {
	for _, f := range s.ttlFields() {
		g.Id(f.name).Add(f.typ).Comment("// " + f.comment)
	}
}

// classType declares the TTL classes:
//
//	type UsageClass int
//	const ( UsageClassShort UsageClass = 1 + iota; … )
func (s *schemaFile) classType() jen.Code {
	name := s.names.Class
	return gocode.Doc(fmt.Sprintf("%s determines how long an event lives. The zero %[1]s is invalid, and the writer rejects it.", name)).Line().
		Type().Id(name).Int().Line().Line().
		Add(gocode.Doc(fmt.Sprintf("The values of %s, and how long their events live.", name))).Line().
		Const().Defs(each(s.layout.Classes, func(i int, class *string) jen.Code {
		return jen.Id(s.names.ClassValue(*class)).Id(name).Op("=").Lit(i + 1).Comment("// " + prose.ClassAges(s.layout, i+1))
	})...)
}

// classNames declares the names of the classes.
func (s *schemaFile) classNames() jen.Code {
	var classes codec.Enum
	for i, class := range s.layout.Classes {
		classes = append(classes, codec.EnumName{Number: int64(i + 1), Name: class})
	}
	return gocode.Doc(fmt.Sprintf("%s contains the names of the values of %s in the schema.", s.names.ClassNames, s.names.Class)).Line().
		Var().Id(s.names.ClassNames).Op("=").Add(s.enumLiteral(multi, classes))
}
