// Package codec converts events to and from the bytes that a Bigtable table stores: row keys, cell values in three
// encodings, and time buckets. It also computes which cells a garbage collection (GC) rule keeps, so that reads can
// skip expired cells before Bigtable removes them.
//
// It does not access tables, and does not import the Bigtable client. All times are in UTC, and all functions are
// pure. A [Key] builds and parses row keys; [Span] and [Bucket] compute the row ranges of a
// time range; [Text] and [Binary] encode cells; [ProtoReader] and [ParseJSON] decode serialized events.
package codec

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// Errors for values that a writer rejects or a reader cannot decode. The errors of this
// package wrap them; test for them with [errors.Is].
var (
	ErrEmpty      = errors.New("empty key segment")                                  // a key segment is empty
	ErrDelimiter  = errors.New("key segment contains the delimiter")                 // a key segment contains the delimiter, or forms one together with the delimiter that follows
	ErrKeyTooLong = errors.New("row key is longer than 4096 bytes")                  // a row key has more than MaxKey bytes
	ErrKey        = errors.New("row key does not have the form of the table's keys") // a row key does not have the form of the table's keys
	ErrValue      = errors.New("stored value cannot be decoded")                     // a stored value cannot be decoded
	ErrInexact    = errors.New("the field's type has no such value")                 // the type that a field has now cannot represent a stored value exactly
	ErrMissing    = errors.New("stored event lacks a field")                         // a stored event lacks a field that is required and has no default
	ErrNaN        = errors.New("NaN or infinite value")                              // NaN where values are ordered or compared, or NaN or an infinity where the format has neither
	ErrTimeRange  = errors.New("time is out of the table's range")                   // the zero time, a time outside 1970 to 9999, or one that a format or bucket label cannot represent
	ErrUTF8       = errors.New("not valid UTF-8")                                    // a string is not valid UTF-8
	ErrEnum       = errors.New("not a value of the enum")                            // a number or name is not a value of the enum
	ErrJSON       = errors.New("not valid JSON")                                     // a JSON value is not valid JSON
	ErrTooLarge   = errors.New("larger than Bigtable allows")                        // a qualifier exceeds 16 KiB or a value exceeds 100 MiB
	ErrClass      = errors.New("not a TTL class of the schema")                      // the TTL class is missing or not listed in the schema
	ErrNoExpiry   = errors.New("event has no expiry")                                // an event has no expiry, and the table has no default
	ErrExpired    = errors.New("event is older than its TTL")                        // garbage collection would remove the event at once
	ErrNoValue    = errors.New("event has no value")                                 // an event has no value at all
)

// Ends of errors for stored data that the schema cannot decode, which name the edit of the schema
// that probably made them undecodable.
const (
	editedKey    = ": the row may have been written with other segments or another delimiter"
	editedLabel  = ": the row may have been written with another bucket width or label"
	editedSalt   = ": the row may have been written with another salt or none"
	editedTime   = ": the row may have been written with another time format"
	editedOffset = ": the row may have been written with another precision, bucket width or pattern"
	editedEnum   = ": the enum may have had other values"
	editedType   = ": the field may have had another type"
)

// FieldError reports the field or key segment that was rejected, and why.
type FieldError struct {
	Field string // the field or key segment; "key" for the whole row key
	Value string // the value, shortened and quoted for display; may be empty
	Err   error  // the reason; wraps one of this package's errors
}

func (e *FieldError) Error() string {
	if e.Value == "" {
		return e.Field + ": " + e.Err.Error()
	}
	return e.Field + " " + e.Value + ": " + e.Err.Error()
}

func (e *FieldError) Unwrap() error { return e.Err }

// maxShown is the maximum number of bytes of a value in an error message.
const maxShown = 40

// quote shortens v and quotes it for display.
func quote(v string) string {
	if len(v) <= maxShown {
		return strconv.Quote(v)
	}
	end := maxShown
	for end > maxShown-utf8.UTFMax && !utf8.RuneStart(v[end]) {
		end--
	}
	return strconv.Quote(v[:end]) + "…"
}
