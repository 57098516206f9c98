package value

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Blob encodes and decodes events that are stored as one value with all fields.
type Blob struct {
	fields []layout.Field
	kinds  []kind
	older  [][]olderField // per field
	json   reflect.Type   // what JSON is parsed into; nil for protobuf
}

// NewBlob returns the Blob of events with the given fields in a format.
func NewBlob(fields []layout.Field, format layout.Format) *Blob {
	b := &Blob{fields: fields}
	var members []reflect.StructField
	for i := range fields {
		b.kinds = append(b.kinds, of(&fields[i]))
		b.older = append(b.older, olderFields(&fields[i], format))
		member := reflect.PointerTo(b.kinds[i].member)
		if fields[i].Type == schema.JSON { // null is a valid value
			member = b.kinds[i].member
		}
		members = append(members, reflect.StructField{
			Name: fmt.Sprint("F", i), Type: member, Tag: reflect.StructTag(fmt.Sprintf("json:%q", fields[i].Name)),
		})
	}
	if format == layout.JSONText {
		b.json = reflect.StructOf(members)
	}
	return b
}

// Append appends an event with these values, one per field, to dst.
func (b *Blob) Append(dst []byte, values []any) []byte {
	begin := len(dst)
	for i, v := range values {
		f := &b.fields[i]
		switch {
		case v == nil:
		case b.json != nil:
			dst = b.kinds[i].json(dst, f, v)
		default:
			dst = b.kinds[i].proto(dst, f, codec.Presence(f.Explicit()), v)
		}
	}
	if b.json != nil {
		return codec.EndJSON(dst, begin)
	}
	return dst
}

// Parse sets the values of a stored event, one per field. It skips unknown fields.
// After an error, some values may be set.
func (b *Blob) Parse(values []any, blob []byte) error {
	if b.json != nil {
		return b.parseJSON(values, blob)
	}
	return b.parseProto(values, blob)
}

// parseProto parses a protobuf message.
func (b *Blob) parseProto(values []any, blob []byte) error {
	for i := range b.fields {
		values[i] = b.absent(i)
	}
	r := codec.NewProtoReader(blob)
	for r.Next() {
		for i := range b.fields {
			if b.fields[i].Number == r.Number() {
				values[i] = b.kinds[i].fromProto(&r, &b.fields[i])
				break
			}
			if err := b.fromOlderProto(i, &r, blob, &values[i]); err != nil {
				return err
			}
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	for i := range b.fields {
		if at, ok := values[i].(time.Time); b.fields[i].Required() && (values[i] == nil || ok && at.IsZero()) {
			return codec.MissingField(b.fields[i].Name)
		}
	}
	return nil
}

// absent returns the value of a field that a message lacks: nil if it is not known.
func (b *Blob) absent(i int) any {
	f := &b.fields[i]
	switch {
	case f.Optional:
		return nil
	case f.Default != nil:
		return f.Default
	case f.HasNoZero():
		return nil
	}
	return Zero(&b.fields[i])
}

// parseJSON parses a JSON object.
func (b *Blob) parseJSON(values []any, blob []byte) error {
	members := reflect.New(b.json)
	if err := codec.ParseJSON(blob, members.Interface()); err != nil {
		return err
	}
	for i := range b.fields {
		f, member := &b.fields[i], members.Elem().Field(i)
		v, err := b.member(i, blob, member)
		if v == nil && err == nil {
			v, err = b.olderMember(i, blob)
		}
		switch {
		case err != nil:
			return err
		case v != nil || f.Optional:
			values[i] = v
		case f.Default != nil:
			values[i] = f.Default
		default:
			return codec.MissingField(f.Name)
		}
	}
	return nil
}

// member returns the value of a member of a JSON object, or nil if it lacks the member.
func (b *Blob) member(i int, blob []byte, member reflect.Value) (any, error) {
	if member.IsNil() {
		return nil, nil
	}
	if text, ok := member.Interface().(json.RawMessage); ok {
		return b.kinds[i].fromMember(&b.fields[i], codec.MemberJSON(blob, b.fields[i].Name, text))
	}
	return b.kinds[i].fromMember(&b.fields[i], member.Elem().Interface())
}
