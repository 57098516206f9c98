// Package codec turns events into the bytes that a Bigtable table stores and
// back: row keys, cell values in three encodings, buckets of time, and the
// arithmetic of garbage collection (GC) rules and the reads that mirror them.
//
// It knows the layout of a table and nothing of how to reach one: it imports no
// Bigtable client. Every time is UTC; every function is pure.
package codec

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// What a writer refuses and what a reader cannot make sense of. Errors of this
// package wrap these; test for them with [errors.Is].
var (
	ErrEmpty      = errors.New("empty key segment")                       // an empty key segment
	ErrDelimiter  = errors.New("key segment contains the delimiter")      // a key segment contains the delimiter, or would together with the one after it
	ErrKeyTooLong = errors.New("row key is longer than 4096 bytes")       // a row key over MaxKey bytes
	ErrKey        = errors.New("row key is not of the table's form")      // a row key that is not of the table's form
	ErrValue      = errors.New("stored value does not decode")            // a stored value that does not decode
	ErrMissing    = errors.New("stored event lacks a field")              // a stored event lacks a field that has no default and is not optional
	ErrNaN        = errors.New("NaN or infinite value")                   // NaN where order or identity matters, NaN or an infinity where the format has none
	ErrTimeRange  = errors.New("time is outside what the table can hold") // the zero time, one outside 1970 to 9999, or one that a format or bucket label cannot hold
	ErrUTF8       = errors.New("not valid UTF-8")                         // a string that is not UTF-8
	ErrEnum       = errors.New("not a value of the enum")                 // a number or name that the enum does not list
	ErrJSON       = errors.New("not valid JSON")                          // a JSON value that is not JSON
	ErrTooLarge   = errors.New("larger than Bigtable allows")             // a qualifier over 16 KiB or a value over 100 MiB
	ErrClass      = errors.New("not a TTL class of the schema")           // no class, or one that the schema does not list
	ErrNoExpiry   = errors.New("event does not say when it expires")      // where the table has no default
	ErrExpired    = errors.New("event is older than its TTL")             // an event that garbage collection would remove at once
	ErrNoValue    = errors.New("event has no value")                      // an event without any value
)

// FieldError says which field or key segment was refused, and why.
type FieldError struct {
	Field string // the field or key segment; "key" for the row key as a whole
	Value string // the value, shortened and quoted for display; may be empty
	Err   error  // wraps one of this package's errors
}

// Error returns the field, the value if there is one, and the reason.
func (e *FieldError) Error() string {
	if e.Value == "" {
		return e.Field + ": " + e.Err.Error()
	}
	return e.Field + " " + e.Value + ": " + e.Err.Error()
}

// Unwrap returns e.Err.
func (e *FieldError) Unwrap() error { return e.Err }

// maxShown is the number of bytes of a value that an error shows.
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
