package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// member is what every event has besides its series and its fields: its time, and what concerns its time to live.
type member struct {
	name    string // in Go
	typ     *jen.Statement
	comment string
	codec   string // the suffix of the codec's functions
	json    string // the name in JSON; empty if it is always zero when read
}

// members lists these members.
func (s *schemaFile) members() []member {
	instant := s.code("time.Time")
	out := []member{{"Time", instant, "truncated to " + schema.FormatDuration(s.layout.Precision) + " by the writer; UTC when read", "Timestamp", "time"}}
	if s.layout.Sequence {
		out = append(out, member{"Sequence", jen.Uint32(), "distinguishes events with the same time", "Uint32", "sequence"})
	}
	for _, kind := range s.layout.TTLFields() {
		m := member{name: s.names.TTLField(kind), typ: instant, codec: "Timestamp"}
		switch kind {
		case layout.ClassField:
			m.typ, m.codec, m.json = s.code("$Class"), "Int64", "class"
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

// isClass reports whether a member is the TTL class, whose type has named values.
func (m *member) isClass() bool { return m.name == "Class" }

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
