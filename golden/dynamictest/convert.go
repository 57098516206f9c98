package dynamictest

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// structs converts between events of package dynamic and those of generated code, whose
// parts are in the order of the schema.
type structs struct{ layout *layout.Layout }

// event sets a generated event.
func (s structs) event(to reflect.Value, e *dynamic.Event) {
	s.series(to.Field(0), e.Series)
	set := s.parts(to)
	set(true, e.Time)
	set(s.layout.Sequence, e.Sequence)
	set(len(s.layout.Classes) > 0, e.Class)
	set(s.layout.MayExpire(), e.TTL)
	set(s.layout.MayExpire() || s.layout.MustExpire(), e.ExpiresAt)
	set(s.layout.KeepsWrittenAt(), e.WrittenAt)
	for i := range s.layout.Fields {
		if v := e.Values[i]; v != nil {
			set(true, toGo(&s.layout.Fields[i], v))
		} else {
			set(true, nil)
		}
	}
}

// parts returns a function that sets one part of an event after the other: those that the
// events of the schema have.
func (s structs) parts(of reflect.Value) func(has bool, v any) {
	n := 0
	return func(has bool, v any) {
		if !has {
			return
		}
		n++
		if to := of.Field(n); v != nil {
			assign(to, v)
		}
	}
}

// assign sets a value, or what points to it.
func assign(to reflect.Value, v any) {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	to.Set(reflect.ValueOf(v).Convert(to.Type()))
}

// series sets a generated series.
func (s structs) series(to reflect.Value, values []any) {
	for i, v := range values {
		assign(to.Field(i), toGo(&s.layout.Series[i], v))
	}
}

// dynamic converts a generated event.
func (s structs) dynamic(from reflect.Value) dynamic.Event {
	var e dynamic.Event
	for i := range s.layout.Series {
		e.Series = append(e.Series, fromGo(&s.layout.Series[i], from.Field(0).Field(i)))
	}
	n := 0
	get := func(has bool, to any) {
		if !has {
			return
		}
		n++
		of := reflect.ValueOf(to).Elem()
		of.Set(from.Field(n).Convert(of.Type()))
	}
	get(true, &e.Time)
	get(s.layout.Sequence, &e.Sequence)
	get(len(s.layout.Classes) > 0, &e.Class)
	get(s.layout.MayExpire(), &e.TTL)
	get(s.layout.MayExpire() || s.layout.MustExpire(), &e.ExpiresAt)
	get(s.layout.KeepsWrittenAt(), &e.WrittenAt)
	for i := range s.layout.Fields {
		n++
		e.Values = append(e.Values, fromGo(&s.layout.Fields[i], from.Field(n)))
	}
	return e
}

// toGo converts a value to one that can be converted to the type in generated code.
func toGo(f *layout.Field, v any) any {
	switch f.Type {
	case schema.UUID:
		id, err := codec.ParseUUID(v.(string))
		if err != nil {
			panic(err) // a mistake in a test
		}
		return id
	case schema.Enum:
		n, _ := f.Enum.Number(v.(string))
		return n
	case schema.JSON:
		return json.RawMessage(v.(string))
	}
	return v
}

// fromGo is the inverse of toGo, for a value or a pointer to one.
func fromGo(f *layout.Field, v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice && v.IsNil() && f.Optional {
		return nil
	}
	switch f.Type {
	case schema.UUID:
		return v.Interface().(codec.UUID).String()
	case schema.Enum:
		name, _ := f.Enum.Name(v.Int())
		return name
	case schema.String:
		return v.String()
	case schema.JSON:
		return string(v.Bytes())
	case schema.Bytes:
		return append([]byte{}, v.Bytes()...)
	case schema.Bool:
		return v.Bool()
	case schema.Int32, schema.Int64:
		return v.Int()
	case schema.Uint32, schema.Uint64:
		return v.Uint()
	case schema.Float32, schema.Float64:
		return v.Float()
	case schema.Timestamp:
		return v.Interface().(time.Time)
	}
	return time.Duration(v.Int())
}
