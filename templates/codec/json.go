package codec

import (
	"encoding/json"
	"fmt"
	"time"
)

// JSONDuration is a duration that JSON shows in Go's form, such as "1h2m3s".
type JSONDuration time.Duration

// MarshalText returns the duration in Go's form.
func (d JSONDuration) MarshalText() ([]byte, error) {
	return AppendTextDuration(nil, time.Duration(d)), nil
}

// UnmarshalText sets d from Go's form.
func (d *JSONDuration) UnmarshalText(b []byte) error {
	v, err := TextDuration(b)
	*d = JSONDuration(v)
	return err
}

// JSONBytes returns the optional bytes of an event for JSON, which leaves out nil.
func JSONBytes(v []byte) *[]byte {
	if v == nil {
		return nil
	}
	return &v
}

// ParseJSON unmarshals a stored event; its errors wrap [ErrValue].
func ParseJSON(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", ErrValue, err)
	}
	return nil
}

// MissingField says which field a serialized event lacks.
func MissingField(name string) error { return &FieldError{Field: name, Err: ErrMissing} }
