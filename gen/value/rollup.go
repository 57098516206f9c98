package value

import (
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Stored returns how rollups store the values of a field that is no number: as those of generated code.
func Stored(f *layout.Field) window.AnyForm {
	same := window.AnyForm{Zero: of(f).zero, To: func(v any) any { return v }, From: func(v any) (any, error) { return v, nil }}
	switch f.Type {
	case schema.UUID:
		return window.AnyForm{
			Zero: codec.UUID{},
			To: func(v any) any {
				id, err := codec.ParseUUID(v.(string))
				if err != nil {
					return nil
				}
				return id
			},
			From: func(v any) (any, error) { return v.(codec.UUID).String(), nil },
		}
	case schema.Enum:
		return window.AnyForm{
			Zero: int64(0),
			To: func(v any) any {
				n, ok := f.Enum.Number(v.(string))
				if !ok {
					return nil
				}
				return n
			},
			From: func(v any) (any, error) {
				name, ok := f.Enum.Name(v.(int64))
				if !ok {
					return nil, codec.ErrEnum
				}
				return name, nil
			},
		}
	case schema.JSON:
		return window.AnyForm{Zero: []byte(nil), To: func(v any) any { return []byte(v.(string)) }, From: func(v any) (any, error) { return string(v.([]byte)), nil }}
	}
	return same
}
