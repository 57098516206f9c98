package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// flagValue is the value of a flag, or of a parameter of the API, that has a range.
type flagValue[T any] struct {
	to         *T
	kind, want string // for help, and for errors
	parse      func(text string) (value T, ok bool)
}

// Set parses a value.
func (v flagValue[T]) Set(text string) error {
	value, ok := v.parse(text)
	if !ok {
		return errors.New("want " + v.want)
	}
	*v.to = value
	return nil
}

// Want describes the values.
func (v flagValue[T]) Want() string { return v.want }

// String returns the value; a duration of 0, which help leaves out, has no unit.
func (v flagValue[T]) String() string {
	if text := fmt.Sprint(*v.to); text != "0s" {
		return text
	}
	return "0"
}

// Type returns the kind of value for help.
func (v flagValue[T]) Type() string { return v.kind }

// number is a whole number in decimal, by default preset, of at least least, and at most most unless that is 0. 010 is ten.
func number(to *int, preset, least, most int) flagValue[int] {
	*to = preset
	want := fmt.Sprintf("a whole number of at least %d", least)
	if most > 0 {
		want = fmt.Sprintf("a whole number from %d to %d", least, most)
	}
	return flagValue[int]{to, "int", want, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= least && (most == 0 || n <= most)
	}}
}

// rate is a number of things per second, in decimal.
func rate(to *float64) flagValue[float64] {
	return flagValue[float64]{to, "float", "a number per second, or 0 for no limit", func(text string) (float64, bool) {
		r, err := strconv.ParseFloat(text, 64)
		return r, err == nil && r >= 0 && !math.IsInf(r, 0) && !strings.ContainsAny(text, "xX") // not NaN, either
	}}
}

// duration is a duration, by default preset, of at least least, see [parseDuration].
func duration(to *time.Duration, preset, least time.Duration) flagValue[time.Duration] {
	*to = preset
	want := "a duration such as 90s, 15m or 7d"
	if least > 0 {
		want = "a duration of more than 0, such as 90s, 15m or 7d"
	}
	return flagValue[time.Duration]{to, "duration", want, func(text string) (time.Duration, bool) {
		d, err := parseDuration(text)
		return d, err == nil && d >= least
	}}
}

// oneOf is one of some words, by default preset.
func oneOf(to *string, preset string, of []string) flagValue[string] {
	*to = preset
	return flagValue[string]{to, "string", words.List(of, "or"), func(text string) (string, bool) { return text, slices.Contains(of, text) }}
}

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
