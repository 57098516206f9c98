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

// NotNil makes the bytes that every event has differ from those of an optional
// field that is absent: JSON has null for nil.
func NotNil(v []byte) []byte {
	if v == nil {
		return []byte{}
	}
	return v
}

// JSONTime returns the time in UTC, or nil: RFC 3339, which is how JSON writes a
// time, has no room for the seconds of a zone's offset.
func JSONTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
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
