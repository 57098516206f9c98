// Package window summarizes events by windows of time: counts, extremes, sums, first and last
// values. It knows neither tables nor Bigtable: package store folds the events that it reads.
//
// Folding is canonical: the events of a series are folded in order of time, however they are
// stored, in whatever direction and pieces they arrive. Equal events of a series therefore give windows
// that are equal bit by bit, with equal Options.Cells. Windows of groups depend on the order of their series only
// in the last bits of sums of floating-point numbers.
package window

import (
	"errors"
	"time"
)

// Window is what windows of all schemas have in common. Generated windows embed it.
type Window struct {
	Start, End time.Time // Start <= time < End, in the time zone of the width
	Events     int64     // number of events
	Filled     bool      // no event is in the window; see [Fill]
	// Undecodable is the number of events that the window lacks, because they cannot be decoded.
	Undecodable int64
	// Inexact says that the window may differ from the events that were written: they have expired, and the rollup of
	// the table does not have all changes to them, or a field, or windows so narrow. A filled window is inexact if one
	// that it is filled from is, and so is one whose increase counts from a value in one, or across one.
	Inexact bool
}

// Fill says which windows without events are yielded, and what they contain. Such windows have
// Filled set, and their counts and sums are 0.
type Fill int

const (
	// FillNone yields only windows with events.
	FillNone Fill = iota
	// FillNull yields windows without events, without values.
	FillNull
	// FillPrevious gives each field the values of the last window before them in which it has some:
	// First and Last are its last value. Those before the first one have none.
	FillPrevious
	// FillLinear gives numbers the values on a straight line between the windows with events before
	// and after them, by the starts of windows. First and Last are on the line from the last value
	// before to the first value after. Integers are rounded to the nearest one, half away from zero. A
	// number that is missing in one of the two windows has none. Other fields have the values of
	// FillPrevious. Windows before the first one with events and after the last one have no values.
	FillLinear
)

// fills are the names of [Fill].
var fills = []string{"none", "null", "previous", "linear"}

// ErrFill is the error of [ParseFill], and for a [Fill] that is none of the constants.
var ErrFill = errors.New("not a way to fill windows: write none, null, previous or linear")

// ParseFill parses none, null, previous or linear.
func ParseFill(text string) (Fill, error) {
	for i, name := range fills {
		if text == name {
			return Fill(i), nil
		}
	}
	return FillNone, ErrFill
}

// String returns the name that [ParseFill] parses.
func (f Fill) String() string {
	if f < 0 || int(f) >= len(fills) {
		return "unknown"
	}
	return fills[f]
}
