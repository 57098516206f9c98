package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// member is a part of an event: a series value, a field, or what every event has.
type member struct {
	name    string // in Go
	typ     *jen.Statement
	comment string
	codec   string         // the suffix of the codec's functions
	json    string         // the name in JSON; empty if it is always zero when read
	field   *layout.Field  // nil for what every event has
	named   *jen.Statement // the type of a number with names: an enum, or the TTL class
}

// members lists what every event has besides its series and its fields: its time, and what concerns its time to live.
func (s *schemaFile) members() []member {
	instant := s.code("time.Time")
	out := []member{{
		name: "Time", typ: instant, codec: "Timestamp", json: "time",
		comment: "truncated to " + schema.FormatDuration(s.layout.Precision) + " by the writer; UTC when read",
	}}
	if s.layout.Sequence {
		out = append(out, member{
			name: "Sequence", typ: jen.Uint32(), codec: "Uint32", json: "sequence",
			comment: "distinguishes events with the same time",
		})
	}
	for _, kind := range s.layout.TTLFields() {
		m := member{name: s.names.TTLField(kind), typ: instant, codec: "Timestamp"}
		switch kind {
		case layout.ClassField:
			m.named, m.codec, m.json = s.code("$Class"), "Int64", "class"
			m.typ = m.named
			m.comment = "how long the event lives; the writer rejects the zero class"
		case layout.TTLDurationField:
			m.typ, m.codec = s.code("time.Duration"), "Duration"
			m.comment = "time to live, counted from the write; 0 means that ExpiresAt applies; always 0 when read"
		case layout.ExpiresAtField:
			m.comment, m.json = "when the event expires"+expiresAtNote(s.layout), "expires_at"
		case layout.WrittenAtField:
			m.comment, m.json = "write time, set by the writer", "written_at"
		}
		out = append(out, m)
	}
	return out
}

// membersOf lists series values, or fields.
func (s *schemaFile) membersOf(fields []layout.Field) []member {
	out := make([]member, len(fields))
	for i := range fields {
		f := &fields[i]
		out[i] = member{name: s.names.Field(f).Name, typ: s.fieldType(f), codec: suffix(f.Type), json: f.Name, field: f}
		out[i].comment = fieldComment(f)
		if f.Type == schema.Enum {
			out[i].codec, out[i].named = "Int64", s.goType(f)
		}
	}
	return out
}

// declared declares members.
func (s *schemaFile) declared(members []member) []jen.Code {
	return each(members, func(_ int, m *member) jen.Code {
		if m.comment == "" {
			return s.code("$1 $2", m.name, m.typ)
		}
		return s.code("$1 $2 // $3", m.name, m.typ, m.comment)
	})
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

// classType declares the TTL classes, and their names.
func (s *schemaFile) classType() jen.Code {
	var names codec.Enum
	for i, class := range s.layout.Classes {
		names = append(names, codec.EnumName{Number: int64(i + 1), Name: class})
	}
	values := each(s.layout.Classes, func(i int, class *string) jen.Code {
		return s.code("$1 $Class = $2 // $3", s.names.ClassValue(*class), i+1, prose.ClassAges(s.layout, i+1))
	})
	return s.code(`
		// $Class determines how long an event lives. The zero $Class is invalid, and the writer rejects it.
		type $Class int

		// The values of $Class, and how long their events live.
		const (
			$1
		)

		// $ClassNames contains the names of the values of $Class in the schema.
		var $ClassNames = $2`, values, s.enumLiteral(multi, names))
}
