package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/sample"
)

// choiceField is a field of the event that is about its time to live.
type choiceField struct {
	name    string
	typ     *jen.Statement
	comment string
}

// choiceFieldsOf lists the fields that say how long an event lives, which are
// part of it, so that no writer can forget them.
func (s *schemaFile) choiceFieldsOf() []choiceField {
	l := s.layout
	var out []choiceField
	if len(l.Classes) > 0 {
		out = append(out, choiceField{"Class", jen.Id(s.names.class()), "how long the event lives; the zero class is refused"})
	}
	if l.MayExpire() {
		out = append(out, choiceField{"TTL", jen.Qual("time", "Duration"), "how long the event lives from its writing; 0 leaves it to ExpiresAt; always 0 when read"})
	}
	switch {
	case l.MayExpire() && l.MustExpire():
		out = append(out, choiceField{"ExpiresAt", jen.Qual("time", "Time"), "when the event expires, where TTL is 0; one of them must say it"})
	case l.MayExpire():
		out = append(out, choiceField{"ExpiresAt", jen.Qual("time", "Time"), "when the event expires, where TTL is 0; the zero time is " + sample.Defaults(l) + " from its writing"})
	case l.MustExpire():
		out = append(out, choiceField{"ExpiresAt", jen.Qual("time", "Time"), "when the event expires; the zero time is refused"})
	}
	if l.KeepsWrittenAt() {
		out = append(out, choiceField{"WrittenAt", jen.Qual("time", "Time"), "set by the writer, to its clock"})
	}
	return out
}

// choiceFields declares them in the event.
func (s *schemaFile) choiceFields(g *jen.Group) {
	for _, f := range s.choiceFieldsOf() {
		g.Id(f.name).Add(f.typ).Comment("// " + f.comment)
	}
}

// classType declares the TTL classes:
//
//	type UsageClass int
//	const ( UsageClassShort UsageClass = 1 + iota; … )
func (s *schemaFile) classType() jen.Code {
	if len(s.layout.Classes) == 0 {
		return nil
	}
	name := s.names.class()
	return doc(fmt.Sprintf("%s decides how long an event lives. The zero %[1]s is none, and refused by the writer.", name)).Line().
		Type().Id(name).Int().Line().Line().
		Add(doc(fmt.Sprintf("The values of %s, and how long their events live.", name))).Line().
		Const().DefsFunc(func(g *jen.Group) {
		for i, class := range s.layout.Classes {
			g.Id(s.names.classValue(class)).Id(name).Op("=").Lit(i + 1).Comment("// " + sample.ClassAges(s.layout, i+1))
		}
	})
}

// classNames declares the names of the classes.
func (s *schemaFile) classNames() jen.Code {
	if len(s.layout.Classes) == 0 {
		return nil
	}
	return doc(fmt.Sprintf("%s is what the values of %s are called in the schema.", s.names.classNames(), s.names.class())).Line().
		Var().Id(s.names.classNames()).Op("=").Add(s.codec("Enum")).CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, func(g *jen.Group) {
		for i, class := range s.layout.Classes {
			g.Add(inline(field{"Number", jen.Lit(i + 1)}, field{"Name", jen.Lit(class)}))
		}
	})
}

// classString declares the String method of the classes.
func (s *schemaFile) classString() jen.Code {
	if len(s.layout.Classes) == 0 {
		return nil
	}
	return doc("String returns the name of the class, or its number if it has none.").Line().
		Func().Params(jen.Id("c").Id(s.names.class())).Id("String").Params().String().Block(
		jen.Return(s.codec("EnumString").Call(jen.Id(s.names.classNames()), jen.Int64().Call(jen.Id("c")))),
	)
}
