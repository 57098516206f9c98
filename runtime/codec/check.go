package codec

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Checker checks the values of one event before any of it is encoded. The zero
// Checker is ready for use; the first error sticks.
type Checker struct {
	err *FieldError
}

// Time checks the time of an event: the zero [time.Time], times before 1970 and
// after the year 9999 give [ErrTimeRange].
func (c *Checker) Time(field string, t time.Time) {
	if c.err == nil && (t.Before(epoch) || !t.Before(year10k)) {
		c.fail(field, showTime(t), ErrTimeRange)
	}
}

// String checks that v is valid UTF-8, else [ErrUTF8].
func (c *Checker) String(field, v string) {
	if c.err == nil && !utf8.ValidString(v) {
		c.fail(field, quote(v), ErrUTF8)
	}
}

// OptionalString is String for a value that may be absent.
func (c *Checker) OptionalString(field string, v *string) {
	if v != nil {
		c.String(field, *v)
	}
}

// OptionalTimestamp is Timestamp for a value that may be absent.
func (c *Checker) OptionalTimestamp(field string, v *time.Time) {
	if v != nil {
		c.Timestamp(field, *v)
	}
}

// JSON checks that v is valid JSON, in UTF-8, else [ErrJSON].
func (c *Checker) JSON(field string, v []byte) {
	if c.err == nil && (!json.Valid(v) || !utf8.Valid(v)) {
		c.fail(field, quote(string(v)), ErrJSON)
	}
}

// Enum checks that v is a value of e, else [ErrEnum].
func (c *Checker) Enum(field string, e Enum, v int64) {
	if c.err != nil {
		return
	}
	if _, ok := e.Name(v); !ok {
		c.fail(field, strconv.FormatInt(v, 10), ErrEnum)
	}
}

// Timestamp checks that v can be held in nanoseconds since 1970: from 1677-09-21
// to 2262-04-11, which leaves out the zero [time.Time]. Else [ErrTimeRange].
func (c *Checker) Timestamp(field string, v time.Time) {
	if c.err == nil && (v.Before(minNanos) || v.After(maxNanos)) {
		c.fail(field, showTime(v), ErrTimeRange)
	}
}

// NotNaN checks that v is a number or an infinity, else [ErrNaN].
func (c *Checker) NotNaN(field string, v float64) {
	if c.err == nil && math.IsNaN(v) {
		c.fail(field, "NaN", ErrNaN)
	}
}

// Finite checks that v is a number, else [ErrNaN].
func (c *Checker) Finite(field string, v float64) {
	if c.err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		c.fail(field, strconv.FormatFloat(v, 'g', -1, 64), ErrNaN)
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
	c.err = &FieldError{Field: field, Value: value, Err: err}
}
