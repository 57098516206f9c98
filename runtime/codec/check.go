package codec

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Checker validates the values of one event before any of them is encoded. The zero
// Checker is ready to use. It keeps the first error.
type Checker struct {
	err *FieldError
}

// Time rejects the zero [time.Time] and times before 1970 or after the year 9999 with [ErrTimeRange].
func (c *Checker) Time(field string, t time.Time) {
	if t.Before(epoch) || !t.Before(year10k) {
		c.fail(field, showTime(t), ErrTimeRange)
	}
}

// String rejects a string that is not valid UTF-8 with [ErrUTF8].
func (c *Checker) String(field, v string) {
	if !utf8.ValidString(v) {
		c.fail(field, quote(v), ErrUTF8)
	}
}

// OptionalString is like [Checker.String] and accepts nil.
func (c *Checker) OptionalString(field string, v *string) {
	if v != nil {
		c.String(field, *v)
	}
}

// OptionalTimestamp is like [Checker.Timestamp] and accepts nil.
func (c *Checker) OptionalTimestamp(field string, v *time.Time) {
	if v != nil {
		c.Timestamp(field, *v)
	}
}

// JSON rejects a value that is not valid JSON in UTF-8 with [ErrJSON].
func (c *Checker) JSON(field string, v []byte) {
	if !json.Valid(v) || !utf8.Valid(v) {
		c.fail(field, quote(string(v)), ErrJSON)
	}
}

// Enum rejects a number that is not a value of e with [ErrEnum].
func (c *Checker) Enum(field string, e Enum, v int64) {
	if _, ok := e.Name(v); !ok {
		value, err := notInEnum(v)
		c.fail(field, value, err)
	}
}

// errUnset is the error for an enum that was never set.
var errUnset = fmt.Errorf("not set: 0 is %w", ErrEnum)

// notInEnum returns the error for a number that is not a value of its enum, with the number if the field was set.
func notInEnum(v int64) (value string, err error) {
	if v == 0 {
		return "", errUnset
	}
	return strconv.FormatInt(v, 10), ErrEnum
}

// Timestamp rejects a time that int64 nanoseconds since the Unix epoch cannot represent with [ErrTimeRange]. Valid
// times are 1677-09-21 to 2262-04-11; the zero [time.Time] is not among them.
func (c *Checker) Timestamp(field string, v time.Time) {
	if v.Before(minNanos) || v.After(maxNanos) {
		c.fail(field, showTime(v), ErrTimeRange)
	}
}

// NotNaN rejects NaN with [ErrNaN]. It accepts infinities.
func (c *Checker) NotNaN(field string, v float64) {
	if math.IsNaN(v) {
		c.fail(field, "NaN", ErrNaN)
	}
}

// errNotFinite is the error for a number that one of the tables of a schema cannot store, because of its format.
var errNotFinite = fmt.Errorf("%w, which tables with format: json cannot store; format: protobuf can", ErrNaN)

// Finite rejects NaN and infinities with [ErrNaN], and says which formats have them.
func (c *Checker) Finite(field string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		c.fail(field, strconv.FormatFloat(v, 'g', -1, 64), errNotFinite)
	}
}

// Err returns the first error, a [*FieldError], or nil.
func (c *Checker) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

func (c *Checker) fail(field, value string, err error) {
	if c.err == nil {
		c.err = &FieldError{Field: field, Value: value, Err: err}
	}
}
