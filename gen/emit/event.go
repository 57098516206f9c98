package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// check declares the function that rejects events that no table can store.
func (s *schemaFile) check() jen.Code {
	checks := func(_ int, f *layout.Field) jen.Code { return s.checkField(f) }
	return s.code(`
		// $Check rejects an event that no table can store.
		func $Check(event any) error {
			e := event.(*$Event)
			var c codec.Checker
			c.Time("time", e.Time)
			$1
			$2
			return c.Err()
		}`, each(s.layout.Series, checks), each(s.layout.Fields, checks))
}

// checkField renders the check of one value; nil if all values of its type are valid.
func (s *schemaFile) checkField(f *layout.Field) *jen.Statement {
	check, value := suffix(f.Type), s.value(f)
	switch f.Type {
	case schema.String, schema.Timestamp:
		if f.Optional {
			return s.code("c.$1($2, $3)", "Optional"+check, jen.Lit(f.Name), s.member(f))
		}
	case schema.JSON:
	case schema.Enum:
		return s.ifSet(f, s.code("c.Enum($1, $2, $3)", jen.Lit(f.Name), s.names.Field(f).EnumNames, s.encodable(f)))
	case schema.Float32, schema.Float64:
		if f.Type == schema.Float32 {
			value = s.code("float64($1)", value)
		}
		switch s.layout.Floats() {
		case layout.FiniteFloats:
			check = "Finite"
		case layout.NoNaNs:
			check = "NotNaN"
		default:
			return nil
		}
	default:
		return nil
	}
	return s.ifSet(f, s.code("c.$1($2, $3)", check, jen.Lit(f.Name), value))
}

// appendProto declares the function that serializes an event.
func (s *schemaFile) appendProto() jen.Code {
	return s.code(`
		// $AppendProto appends the fields of an event in protobuf wire format; $File.proto describes it.
		func $AppendProto(dst []byte, e *$Event) []byte {
			$1
			return dst
		}`, each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		return s.ifSet(f, s.appendValue(suffix(f.Type), f.Number, f.Explicit(), s.value(f)))
	}))
}

// appendValue renders the statement that appends a value in protobuf wire format.
func (s *schemaFile) appendValue(suffix string, number int, explicit bool, value *jen.Statement) *jen.Statement {
	presence := "Implicit"
	if explicit {
		presence = "Explicit"
	}
	switch appended(suffix) {
	case "Int", "Uint", "Enum":
		suffix = "Integer"
	case "JSON":
		suffix = "Bytes"
	}
	return s.code("dst = codec.$1(dst, $2, codec.$3, $4)", "AppendProto"+suffix, number, presence, value)
}

// parseProto declares the function that parses a serialized event. Protobuf omits the zero value of a field. If that is not a
// valid value of the type, nothing was stored.
func (s *schemaFile) parseProto() jen.Code {
	var defaults, cases, missing []jen.Code
	for i := range s.layout.Fields {
		f := &s.layout.Fields[i]
		if f.Default != nil {
			defaults = append(defaults, s.setDefault(f))
		}
		cases = append(cases, s.code("case $1:\n$2", f.Number, s.takeProto(f)))
		newer := []int{f.Number}
		for _, older := range f.Older(layout.Protobuf) {
			cases = append(cases, s.code("case $1:\n$2", older.Number, s.takeOlderProto(f, &older, newer)))
			newer = append(newer, older.Number)
		}
		if f.Required() && f.HasNoZero() {
			missing = append(missing, s.code("if $1 {\nreturn codec.MissingField($2)\n}", s.isNone(f), jen.Lit(f.Name)))
		}
	}
	end := s.code("return r.Err()")
	if missing != nil {
		end = s.code(`
			if err := r.Err(); err != nil {
				return err
			}
			$1
			return nil`, missing)
	}
	return s.code(`
		// $ParseProto parses such a message, skipping unknown fields.
		func $ParseProto(e *$Event, blob []byte) error {
			$1
			r := codec.NewProtoReader(blob)
			for r.Next() {
				switch r.Number() {
				$2
				}
			}
			$3
		}`, defaults, cases, end)
}

// isNone renders the condition that the field of e has a zero value that is invalid or
// was not written.
func (s *schemaFile) isNone(f *layout.Field) *jen.Statement {
	switch f.Type {
	case schema.Timestamp:
		return s.code("$1.IsZero()", s.member(f))
	case schema.Enum:
		none := s.code("$1 == 0", s.member(f))
		if _, has := f.Enum.Name(0); has { // like every value of an enum, it is written
			none.Add(s.code("&& !codec.HasProto(blob, $1)", f.Number))
			for _, older := range f.Older(layout.Protobuf) {
				none.Add(s.code("&& !codec.HasProto(blob, $1)", older.Number))
			}
		}
		return none
	}
	return s.code("$1 == nil", s.member(f))
}

// takeProto sets one field from the reader.
func (s *schemaFile) takeProto(f *layout.Field) *jen.Statement {
	if f.Type == schema.Enum {
		return s.setProto(f, s.code("$1(r.Enum($2))", s.names.Field(f).Enum, s.names.Field(f).EnumNames))
	}
	return s.setProto(f, s.protoValue(f))
}

// protoValue renders the value of the reader's current field; the name of one of an older
// enum.
func (s *schemaFile) protoValue(f *layout.Field) *jen.Statement {
	switch f.Type {
	case schema.String:
		return s.code("r.Text()")
	case schema.Enum:
		return s.code("r.EnumName($1)", s.enumLiteral(oneRow, f.Enum))
	}
	return s.code("r.$1()", suffix(f.Type))
}

// setProto sets a field to a value from the reader.
func (s *schemaFile) setProto(f *layout.Field, value *jen.Statement) *jen.Statement {
	switch {
	case isPointer(f):
		value = s.code("codec.Pointer($1)", value)
	case f.Optional: // an empty value differs from an absent one
		value = s.code("append($1{}, $2...)", s.goType(f), value)
	}
	return s.code("$1 = $2", s.member(f), value)
}

// setDefault renders the assignment of a field's default.
func (s *schemaFile) setDefault(f *layout.Field) *jen.Statement {
	return s.code("$1 = $2", s.member(f), s.literal(f, f.Default))
}

// jsonGoType renders the Go type whose JSON form is that of the value.
func (s *schemaFile) jsonGoType(f *layout.Field) *jen.Statement {
	if f.Type == schema.Duration {
		return s.code("codec.JSONDuration")
	}
	return s.goType(f)
}

// appendJSON declares the type for an event in JSON, whose fields are pointers, so that an absent value differs from zero, and
// the function that serializes an event as JSON.
func (s *schemaFile) appendJSON() jen.Code {
	members := each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		t := s.code("*$1", s.jsonGoType(f))
		if f.Type == schema.JSON {
			t = s.goType(f) // null is a valid value
		}
		return s.code("$1 $2", s.names.Field(f).Name, t.Tag(map[string]string{"json": f.Name + ",omitempty"}))
	})
	return s.code(`
		// $JSON contains the fields of an event in JSON.
		type $JSON struct {
			$1
		}

		// $AppendJSON appends the fields of an event as JSON.
		func $AppendJSON(dst []byte, e *$Event) []byte {
			begin := len(dst)
			$2
			return codec.EndJSON(dst, begin)
		}`, members, each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		args := []jen.Code{jen.Id("dst"), jen.Lit(f.Name)}
		if f.Type == schema.Enum {
			args = append(args, jen.Id(s.names.Field(f).EnumNames))
		}
		return s.ifSet(f, s.code("dst = codec.$1($2)", "AppendJSON"+appended(suffix(f.Type)), jen.List(append(args, s.encodable(f))...)))
	}))
}

// parseJSON declares the function that parses an event in JSON.
func (s *schemaFile) parseJSON() jen.Code {
	var fields []jen.Code
	for i := range s.layout.Fields {
		f := &s.layout.Fields[i]
		for _, older := range f.Older(layout.JSONText) {
			fields = append(fields, s.fromOlderJSON(f, &older))
		}
		fields = append(fields, s.fromJSON(f))
	}
	return s.code(`
		// $ParseJSON parses such an object, skipping unknown fields.
		func $ParseJSON(e *$Event, blob []byte) error {
			var v $JSON
			if err := codec.ParseJSON(blob, &v); err != nil {
				return err
			}
			$1
			return nil
		}`, fields)
}

// fromJSON sets one field from its JSON form.
func (s *schemaFile) fromJSON(f *layout.Field) jen.Code {
	v := s.code("v.$1", s.names.Field(f).Name)
	value, optional := s.code("*$1", v), v // of what is present, and of what may be absent
	switch f.Type {
	case schema.JSON:
		value = s.code("codec.MemberJSON(blob, $1, $2)", jen.Lit(f.Name), v)
		optional = value
	case schema.Duration:
		value, optional = s.code("time.Duration(*$1)", v), s.code("(*time.Duration)($1)", v)
	case schema.Timestamp:
		value, optional = s.code("$1.UTC()", v), s.code("codec.JSONTime($1)", v)
	}
	set := s.code("$1 = $2", s.member(f), value)
	switch {
	case isPointer(f) || f.Optional && f.Type == schema.JSON:
		return s.code("$1 = $2", s.member(f), optional)
	case f.Optional:
		return s.code("if $1 != nil {\n$2\n}", v, set)
	case f.Default != nil:
		return s.code("if $1 != nil {\n$2\n} else {\n$3\n}", v, set, s.setDefault(f))
	}
	return s.code("if $1 == nil {\nreturn codec.MissingField($2)\n}\n$3", v, jen.Lit(f.Name), set)
}
