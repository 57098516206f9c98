package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// The values of flags, and of parameters of the API, that have a range. Each says what it wants, for errors.

// number is a whole number in decimal, of at least least, and at most most unless that is 0.
type number struct {
	*int
	least, most int
}

// Set parses a number. Base 10 is the only one: 010 is ten.
func (n number) Set(text string) error {
	parsed, err := strconv.Atoi(text)
	if err != nil || parsed < n.least || n.most > 0 && parsed > n.most {
		return errors.New("want " + n.Want())
	}
	*n.int = parsed
	return nil
}

// Want describes the numbers.
func (n number) Want() string {
	if n.most > 0 {
		return fmt.Sprintf("a whole number from %d to %d", n.least, n.most)
	}
	return fmt.Sprintf("a whole number of at least %d", n.least)
}

// String returns the number.
func (n number) String() string { return strconv.Itoa(*n.int) }

// Type returns the kind of value for help.
func (n number) Type() string { return "int" }

// rate is a number of things per second.
type rate struct{ *float64 }

// Set parses a number in decimal.
func (r rate) Set(text string) error {
	parsed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(parsed >= 0) || math.IsInf(parsed, 0) || strings.ContainsAny(text, "xX") { // or NaN
		return errors.New("want " + r.Want())
	}
	*r.float64 = parsed
	return nil
}

// Want describes the numbers.
func (r rate) Want() string { return "a number per second, or 0 for no limit" }

// String returns the number.
func (r rate) String() string { return strconv.FormatFloat(*r.float64, 'g', -1, 64) }

// Type returns the kind of value for help.
func (r rate) Type() string { return "float" }

// duration is a duration of at least least, see [parseDuration].
type duration struct {
	*time.Duration
	least time.Duration
}

// Set parses a duration.
func (d duration) Set(text string) error {
	parsed, err := parseDuration(text)
	if err != nil || parsed < d.least {
		return errors.New("want " + d.Want())
	}
	*d.Duration = parsed
	return nil
}

// Want describes the durations.
func (d duration) Want() string {
	if d.least > 0 {
		return "a duration of more than 0, such as 90s, 15m or 7d"
	}
	return "a duration such as 90s, 15m or 7d"
}

// String returns the duration; 0, which help leaves out, has no unit.
func (d duration) String() string {
	if *d.Duration == 0 {
		return "0"
	}
	return d.Duration.String()
}

// Type returns the kind of value for help.
func (d duration) Type() string { return "duration" }

// oneOf is one of some words.
type oneOf struct {
	*string
	words []string
}

// Set accepts a word.
func (o oneOf) Set(text string) error {
	for _, word := range o.words {
		if word == text {
			*o.string = text
			return nil
		}
	}
	return errors.New("want " + o.Want())
}

// Want lists the words.
func (o oneOf) Want() string { return words.List(o.words, "or") }

// String returns the word.
func (o oneOf) String() string { return *o.string }

// Type returns the kind of value for help.
func (o oneOf) Type() string { return "string" }

// parseDuration parses a duration of package time, or one with days or weeks.
func parseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && !format.FinerDuration([]byte(text)) {
		return d, nil
	}
	text, negative := strings.CutPrefix(text, "-")
	d, err := schema.ParseDuration(text)
	if negative {
		d = -d
	}
	return d, err
}
