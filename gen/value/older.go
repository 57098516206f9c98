package value

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// OlderCoding returns how values of a field are decoded that are stored in the cells of
// older events, as the field was before.
func OlderCoding(f, before *layout.Field, as codec.Values) codec.Coding[any] {
	return codec.Converted(Coding(before, as), func(v any) (any, error) { return Convert(f, before, v) })
}

// Convert converts a value of a field as it was before, to one that it has now.
func Convert(f, before *layout.Field, v any) (any, error) {
	switch v := v.(type) {
	case bool:
		if f.Type != schema.Bool {
			return integer(f.Type, v)
		}
	case int64:
		return integerTo(f.Type, v)
	case uint64:
		if f.Type == schema.Int64 {
			return int64(v), nil // of 32 bits
		}
		return integerTo(f.Type, v)
	case string:
		if f.Type == schema.Bytes && before.Type == schema.String {
			return present([]byte(v)), nil
		}
	}
	return v, nil
}

// integerTo converts an integer.
func integerTo[T int64 | uint64](to schema.Type, v T) (any, error) {
	switch to {
	case schema.Float64:
		return boxed(codec.ExactFloat64(v))
	case schema.String:
		return boxed(codec.IntegerToString(v))
	}
	return v, nil
}

// integer converts a bool.
func integer(to schema.Type, v bool) (any, error) {
	if to == schema.Uint32 || to == schema.Uint64 {
		return boxed(codec.BoolToInteger[uint64](v))
	}
	return boxed(codec.BoolToInteger[int64](v))
}

func boxed[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// olderField is a field as older serialized events have it.
type olderField struct {
	layout.Field
	kind kind
}

// olderFields returns where older events have a field, newest first.
func olderFields(f *layout.Field, format layout.Format) []olderField {
	var out []olderField
	for _, before := range f.Older(format) {
		out = append(out, olderField{before, of(&before)})
	}
	return out
}

// fromOlderProto sets the value of a field that a message has under an older number, unless
// it has a newer one.
func (b *Blob) fromOlderProto(i int, r *codec.ProtoReader, blob []byte, value *any) error {
	f := &b.fields[i]
	newer := []int{f.Number}
	for k := range b.older[i] {
		before := &b.older[i][k]
		if before.Number == r.Number() {
			for _, number := range newer {
				if codec.HasProto(blob, number) {
					return nil
				}
			}
			v, err := Convert(f, &before.Field, before.kind.fromProto(r, &before.Field))
			if err != nil {
				return &codec.FieldError{Field: f.Name, Err: err}
			}
			*value = v
			return nil
		}
		newer = append(newer, before.Number)
	}
	return nil
}

// olderMember returns the value of a field that a JSON object has under an older name; nil if
// it has none.
func (b *Blob) olderMember(i int, blob []byte) (any, error) {
	f := &b.fields[i]
	for k := range b.older[i] {
		before := &b.older[i][k]
		text := codec.OlderJSON(blob, before.Name, nil)
		if text == nil {
			continue
		}
		if f.Type == schema.JSON {
			return string(text), nil
		}
		member := reflect.New(reflect.PointerTo(before.kind.member))
		if err := json.Unmarshal(text, member.Interface()); err != nil {
			return nil, &codec.FieldError{Field: before.Name, Err: fmt.Errorf("%w: %w", codec.ErrValue, err)}
		}
		if member.Elem().IsNil() {
			continue
		}
		v, err := before.kind.fromMember(&before.Field, member.Elem().Elem().Interface())
		if err == nil {
			v, err = Convert(f, &before.Field, v)
		}
		if err != nil {
			return nil, &codec.FieldError{Field: before.Name, Err: err}
		}
		return v, nil
	}
	return nil, nil
}
