package googlesql

import (
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/protofile"
	"github.com/btgen-dev/btgen/gen/schema"
)

// eventFields adds the fields of serialized events as columns.
func (v *view) eventFields(event sqlValue) {
	event = v.message(event)
	for i := range v.schema.Fields {
		f := &v.schema.Fields[i]
		if v.table.Blob == layout.JSONText {
			v.add(f.Name, event.member(f))
			continue
		}
		value := event.protoField(f, f.Name)
		if older := f.Older(layout.Protobuf); len(older) > 0 {
			value = value.with("%s", strings.TrimSpace("zero or NULL in older events, which have it in column "+names.OlderProto(f, &older[0])+". "+value.about))
		}
		v.add(f.Name, value)
		for _, older := range f.Older(layout.Protobuf) {
			name := names.OlderProto(f, &older)
			value := event.protoField(&older, name)
			v.add(name, value.with("%s", strings.TrimSpace("column "+f.Name+" of older events. "+value.about)))
		}
	}
}

// message returns a serialized event as its message, or as text in JSON.
func (v *view) message(event sqlValue) sqlValue {
	event.about = ""
	if v.table.Blob == layout.Protobuf {
		event.expr = "CAST(" + event.expr + " AS " + backquoted(v.bundle) + "." + backquoted(strings.ReplaceAll(protofile.NameOf(v.schema), ".", "`.`")) + ")"
	}
	return event
}

// fieldValue returns the value of a field, from its column or from the serialized event.
func (v *view) fieldValue(field int) sqlValue {
	f := &v.schema.Fields[field]
	for i := range v.table.Columns {
		switch c := &v.table.Columns[i]; {
		case c.Field == field:
			return v.column(c)
		case c.Field == layout.WholeEvent && v.table.Blob == layout.JSONText:
			return v.message(v.column(c)).member(f)
		case c.Field == layout.WholeEvent && len(f.Older(layout.Protobuf)) > 0:
			return sqlValue{about: "older events have it with another number in protobuf."} // GoogleSQL reads zero there
		case c.Field == layout.WholeEvent:
			return v.message(v.column(c)).protoField(f, f.Name)
		}
	}
	return sqlValue{}
}

// protoField returns a field of a protobuf message. GoogleSQL returns zero for one that is absent.
func (v sqlValue) protoField(f *layout.Field, name string) sqlValue {
	value := valueTypes[f.Type].message(sqlValue{expr: v.expr + "." + backquoted(name)}, f)
	switch message := f.Type.Traits().ProtoFile != ""; {
	case !message && (f.Optional || f.Default != nil):
		value.expr = "CASE WHEN " + v.expr + "." + backquoted("has_"+name) + " THEN " + value.expr + " END"
	case message && !f.Explicit(): // absent if it is zero
		value.expr = "CASE WHEN " + v.expr + " IS NOT NULL THEN COALESCE(" + value.expr + ", 0) END"
	}
	return value
}

// member returns a member of an object in JSON, or what older events have in its place.
func (v sqlValue) member(f *layout.Field) sqlValue {
	out := v.path(f)
	exprs := []string{out.expr}
	for _, older := range f.Older(layout.JSONText) {
		exprs = append(exprs, v.path(&older).cast(out.typ).expr)
	}
	if len(exprs) > 1 {
		out.expr = "COALESCE(" + strings.Join(exprs, ", ") + ")"
	}
	return out
}

// path returns the member with the name of a field.
func (v sqlValue) path(f *layout.Field) sqlValue {
	function := "JSON_VALUE"
	if f.Type == schema.JSON {
		function = "JSON_QUERY"
	}
	text := sqlValue{expr: function + "(" + v.expr + ", " + stringLiteral("$."+f.Name) + ")", typ: "STRING"}
	if f.Type == schema.Bytes {
		return text.with("base64.")
	}
	return valueTypes[f.Type].text(text)
}
