package format

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Units are the units of times that are numbers, by name.
var Units = map[string]time.Duration{
	"h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond,
}

// unitName returns the name of a unit.
func unitName(unit time.Duration) string {
	for name, u := range Units {
		if u == unit {
			return name
		}
	}
	return unit.String()
}

// timeForms are the forms of times with an offset that other systems write, besides RFC 3339.
// Fractions of seconds are accepted in all of them.
var timeForms = []string{
	"2006-01-02 15:04:05-07",        // PostgreSQL, for whole hours
	"2006-01-02 15:04:05Z07:00",     // PostgreSQL
	"2006-01-02 15:04:05-0700",      // cqlsh of Cassandra
	"2006-01-02 15:04:05 UTC",       // BigQuery
	"2006-01-02 15:04:05 Z07:00",    // SQL Server
	"2006-01-02 15:04:05 -0700",     // Ruby, Rails
	"2006-01-02 15:04:05 -0700 UTC", // Go
}

// localForms are those of times without an offset. Digits alone are a date, or a time, between the years 1900 and 2099, unless
// numbers have a unit.
var localForms = []string{"2006-01-02 15:04:05", "2006-01-02", "20060102", "200601021504", "20060102150405"}

// timeParser parses the times of other systems.
type timeParser struct {
	unit time.Duration  // of numbers; 0 if numbers are no times
	zone *time.Location // of times without an offset; nil if they are no times
	ids  bool           // whether a timeuuid is a time
	form int            // index of the form of the last time
}

// parse parses a time. It returns an error that wraps [ErrValue], or nil and no error if the
// text has none of the forms.
func (p *timeParser) parse(text []byte) (any, error) {
	if p.unit > 0 && isDecimal(text) {
		t, ok := epoch(text, p.unit)
		if !ok {
			return nil, &valueError{fmt.Sprintf("\"%s\" is not a time between the years 0 and 9999, in %s since 1970", shown(text), unitName(p.unit)), ""}
		}
		return t, nil
	}
	if p.ids {
		if t, ok := idTime(text); ok {
			return t, nil
		}
	}
	if len(text) > 64 || len(text) < len("20060102") {
		return nil, nil
	}
	if len(text) > len(time.DateOnly) && text[len(time.DateOnly)] == 'T' {
		text = bytes.Clone(text)
		text[len(time.DateOnly)] = ' '
	}
	for i := range timeForms {
		form := (p.form + i) % len(timeForms)
		if t, err := time.Parse(timeForms[form], string(text)); err == nil {
			p.form = form
			return t.UTC(), nil
		}
	}
	return p.local(string(text))
}

// local parses a time without an offset.
func (p *timeParser) local(text string) (any, error) {
	for _, form := range localForms {
		wall, err := time.Parse(form, text)
		number := isDecimal([]byte(text))
		switch {
		case err != nil || number && (wall.Year() < 1900 || wall.Year() > 2099):
			continue
		case p.zone != nil:
			return InZone(wall, p.zone)
		}
		want := "an offset, as in 2021-03-05T12:00:00Z, or --zone, such as --zone UTC"
		if number {
			want += ", or --time-unit if it is a number"
		}
		return nil, &valueError{fmt.Sprintf("%q has no time zone", text), want}
	}
	return nil, nil
}

// InZone returns the instant at which clocks in a zone show what a time in UTC shows. Times that
// clocks skip or show twice are errors.
func InZone(wall time.Time, zone *time.Location) (any, error) {
	var found []time.Time
	for _, near := range []time.Duration{-26 * time.Hour, 26 * time.Hour} {
		_, offset := wall.Add(near).In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second)
		_, there := t.In(zone).Zone()
		if there == offset && (len(found) == 0 || !found[0].Equal(t)) {
			found = append(found, t)
		}
	}
	switch text := wall.Format(time.DateTime); len(found) {
	case 0:
		return nil, &valueError{fmt.Sprintf("clocks in %s skip %s", zone, text), "times in UTC, or with an offset"}
	case 1:
		return found[0], nil
	default:
		return nil, &valueError{fmt.Sprintf("clocks in %s show %s twice", zone, text), "times in UTC, or with an offset"}
	}
}

// ParseTime parses a time as readers do. It returns false for a text that is none.
func ParseTime(text []byte, unit time.Duration, zone *time.Location) (time.Time, bool) {
	if t, err := codec.TextTimestamp(text); err == nil {
		return t, true
	}
	v, err := (&timeParser{unit: unit, zone: zone}).parse(text)
	t, ok := v.(time.Time)
	return t, ok && err == nil
}

// isDecimal reports whether a text is a decimal number, which may have a sign, a fraction and an
// exponent.
func isDecimal(text []byte) bool {
	i, digits := 0, 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	for ; i < len(text) && isDigit(text[i]); i++ {
		digits++
	}
	if i < len(text) && text[i] == '.' {
		for i++; i < len(text) && isDigit(text[i]); i++ {
			digits++
		}
	}
	if digits == 0 {
		return false
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '-' || text[i] == '+') {
			i++
		}
		begin := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		if i == begin {
			return false
		}
	}
	return i == len(text)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isInteger reports whether a text is an integer, which may have a sign.
func isInteger(text []byte) bool {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	for _, c := range text {
		if !isDigit(c) {
			return false
		}
	}
	return len(text) > 0
}

// Seconds since 1970 at the ends of the years that timestamps have.
const (
	minSeconds = -62167219200 // 0000-01-01
	maxSeconds = 253402300799 // 9999-12-31T23:59:59
)

// epoch returns the time that is a decimal number of units after 1970. It drops digits beyond the
// nanosecond, like [codec.TextTimestamp]. It returns false for other years than 0 to 9999.
func epoch(text []byte, unit time.Duration) (time.Time, bool) {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return Since1970(n, unit)
	}
	if t, ok := fraction(text, unit); ok {
		return t, true
	}
	const longest, largest = 64, 30 // bytes, and exponents: others are no times, but take long
	mantissa, exponent, _ := bytes.Cut(bytes.ToLower(text), []byte("e"))
	if e, err := strconv.Atoi(string(exponent)); len(mantissa) > longest || len(exponent) > 0 && (err != nil || e > largest || e < -largest) {
		return time.Time{}, false
	}
	n, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return time.Time{}, false
	}
	n.Mul(n, new(big.Rat).SetInt64(int64(unit)))
	nanos := new(big.Int).Div(n.Num(), n.Denom()) // rounds down
	seconds, rest := new(big.Int).DivMod(nanos, big.NewInt(int64(time.Second)), new(big.Int))
	if !seconds.IsInt64() || seconds.Int64() < minSeconds || seconds.Int64() > maxSeconds {
		return time.Time{}, false
	}
	return time.Unix(seconds.Int64(), rest.Int64()).UTC(), true
}

// fraction is epoch for the usual numbers with a point. It returns false for others.
func fraction(text []byte, unit time.Duration) (time.Time, bool) {
	const most = 9 // digits after the point, so that their product with a second does not overflow
	whole, digits, _ := bytes.Cut(text, []byte("."))
	n, err := strconv.ParseUint(string(whole), 10, 63)
	if err != nil || unit > time.Second || len(digits) > most || len(digits) > 0 && !isDigit(digits[0]) {
		return time.Time{}, false
	}
	scale, part := int64(1), int64(0)
	for _, c := range digits {
		if !isDigit(c) {
			return time.Time{}, false
		}
		part, scale = 10*part+int64(c-'0'), 10*scale
	}
	t, ok := Since1970(int64(n), unit)
	return t.Add(time.Duration(part * int64(unit) / scale)), ok
}

// Since1970 returns the time that is a number of units after 1970. It returns false for other years than 0
// to 9999.
func Since1970(n int64, unit time.Duration) (time.Time, bool) {
	seconds, rest := n, int64(0)
	if unit < time.Second {
		per := int64(time.Second / unit)
		if seconds, rest = n/per, n%per; rest < 0 {
			seconds, rest = seconds-1, rest+per
		}
	} else if per := int64(unit / time.Second); n < minSeconds || n > maxSeconds {
		return time.Time{}, false
	} else {
		seconds = n * per
	}
	if seconds < minSeconds || seconds > maxSeconds {
		return time.Time{}, false
	}
	return time.Unix(seconds, rest*int64(unit)).UTC(), true
}
