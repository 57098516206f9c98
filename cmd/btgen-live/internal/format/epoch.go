package format

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
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

// timeForms are the layouts of times besides RFC 3339, with T as a space and slashes as hyphens: those with the year
// first, and RFC 1123. Fractions of seconds are accepted in all of them, and digits may lack zeros. Digits alone are a
// date, or a time, between the years 1900 and 2099, unless numbers have a unit. Other forms need ReaderOptions.Layout: a
// text such as 1/2/2026 is ambiguous.
var timeForms = newTimeForms()

func newTimeForms() (forms []string) {
	offsets := []string{
		"-07",        // PostgreSQL, for whole hours
		"Z07:00",     // PostgreSQL
		"-0700",      // cqlsh of Cassandra
		" UTC",       // BigQuery
		" Z07:00",    // SQL Server
		" -0700",     // Ruby, Rails
		" -0700 UTC", // Go
		"",
	}
	for _, layout := range []string{"2006-1-2 15:04:05", "2006-1-2 15:04", "20060102 150405", "20060102 1504"} {
		for _, offset := range offsets {
			forms = append(forms, layout+offset)
		}
	}
	forms = append(forms, "2006-1-2", "20060102", "200601021504", "20060102150405")
	for _, offset := range []string{"GMT", "UTC", "-0700"} {
		forms = append(forms, "Mon, 2 Jan 2006 15:04:05 "+offset)
	}
	return forms
}

// hasOffset reports whether times in a layout are instants, and not only what clocks show.
func hasOffset(layout string) bool {
	named := strings.HasSuffix(layout, "UTC") || strings.HasSuffix(layout, "GMT")
	return named || strings.Contains(layout, "-07") || strings.Contains(layout, "Z07")
}

// TimeForms says which times are read, for errors.
const TimeForms = "times are read as 2026-03-01T12:00:00Z, 2026-03-01 12:00 and 2026/03/01 with --zone, RFC 1123, or numbers with --time-unit"

// CheckLayout returns an error for a layout of package time that does not tell times.
func CheckLayout(layout string) error {
	at := time.Date(2021, 11, 1, 17, 34, 0, 0, time.UTC)
	again, err := time.Parse(layout, at.Format(layout))
	clock := strings.ContainsAny(strings.NewReplacer("2006", "", "01", "", "02", "", "04", "", "05", "", "-07:00", "", "-0700", "", "-07", "").Replace(layout), "35")
	if err != nil || again.Year() != at.Year() || again.Month() != at.Month() || clock && again.Hour() != at.Hour() || strings.Contains(layout, "MST") {
		return fmt.Errorf("%w: the layout %q: want how the input writes January 2, 2006, 15:04:05, such as '1/2/2006 15:04' or '2.1.2006 3:04 PM', without names of time zones", ErrValue, layout)
	}
	return nil
}

// normal returns a text as timeForms have it.
func normal(text []byte) string {
	text = bytes.Clone(text)
	if i := bytes.IndexByte(text, 'T'); i > len("2006-1-") && i+1 < len(text) && isDigit(text[i+1]) && isDigit(text[i-1]) {
		text[i] = ' '
	}
	if text[len("2006")] == '/' {
		text = bytes.Replace(text, []byte("/"), []byte("-"), 2)
	}
	return string(text)
}

// timeParser parses times.
type timeParser struct {
	unit   time.Duration  // of numbers; 0 if numbers are no times
	zone   *time.Location // of times without an offset; nil if they are no times
	layout string         // of all times that are texts; empty for timeForms
	ids    bool           // whether a timeuuid is a time
	form   int            // index of the form of the last time
}

// parse parses a time. It returns an error that wraps [ErrValue], or nil and no error if the
// text has none of the forms.
func (p *timeParser) parse(text []byte) (any, error) {
	text = bytes.TrimSpace(text)
	if p.layout != "" {
		wall, err := time.Parse(p.layout, string(text))
		if err != nil {
			return nil, &valueError{fmt.Sprintf("\"%s\" is not a time in the layout %q", shown(text), p.layout), "another --time-layout"}
		}
		return p.instant(wall, string(text), p.layout)
	}
	if t, err := codec.Text.Timestamp.Decode(text); err == nil && FinerTime(text) {
		return nil, tooFine(text)
	} else if err == nil {
		return t, nil
	}
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
	const shortest, longest = len("2006-1-2"), 64
	if len(text) > longest || len(text) < shortest {
		return nil, nil
	}
	like := normal(text)
	for i := range timeForms {
		form := (p.form + i) % len(timeForms)
		t, err := time.Parse(timeForms[form], like)
		if err != nil || isDecimal(text) && (t.Year() < 1900 || t.Year() > 2099) {
			continue
		}
		p.form = form
		return p.instant(t, string(text), timeForms[form])
	}
	return nil, nil
}

// instant returns the instant of a time that was parsed in a layout.
func (p *timeParser) instant(t time.Time, text, layout string) (any, error) {
	switch {
	case FinerTime([]byte(text)):
		return nil, tooFine([]byte(text))
	case hasOffset(layout):
		return t.UTC(), nil
	case p.zone != nil:
		return InZone(t, p.zone)
	}
	want := "an offset, as in 2021-03-05T12:00:00Z, or --zone, such as --zone UTC"
	if isDecimal([]byte(text)) {
		want += ", or --time-unit if it is a number"
	}
	return nil, &valueError{fmt.Sprintf("%q has no time zone", text), want}
}

// tooFine returns the error of a time or a duration that is no whole number of nanoseconds.
func tooFine(text []byte) error {
	return &valueError{fmt.Sprintf("\"%s\" has digits beyond the nanosecond", shown(text)), "a whole number of nanoseconds, since events have no more"}
}

// nanoDigits is the number of digits after the point of a second in nanoseconds.
const nanoDigits = 9

// finer matches a fraction with digits beyond the nanosecond.
var finer = regexp.MustCompile(`[.,][0-9]{9}[0-9]*[1-9]`)

// FinerTime reports whether a time has digits beyond the nanosecond, which package time drops.
func FinerTime(text []byte) bool {
	i := bytes.IndexAny(text, ".,")
	return i >= 0 && len(text)-i > nanoDigits && finer.Match(text[i:])
}

// durationPart matches a number without zeros at its end, and the unit.
var durationPart = regexp.MustCompile(`([0-9]*\.?[0-9]+?)0*([^0-9.]+)`)

// FinerDuration reports whether a duration has digits beyond the nanosecond, which package time drops.
func FinerDuration(text []byte) bool {
	const most = 40 // digits
	for _, part := range durationPart.FindAllSubmatch(text, -1) {
		unit, err := time.ParseDuration("1" + string(part[2]))
		n, ok := new(big.Rat).SetString("0" + string(part[1]))
		if err != nil || !ok || len(part[1]) > most || !n.Mul(n, big.NewRat(int64(unit), 1)).IsInt() {
			return true
		}
	}
	return false
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

// ParseTime parses a time as readers with the unit, zone and layout of options do. It returns false for a text that is none.
func ParseTime(text []byte, o ReaderOptions) (time.Time, bool) {
	v, err := (&timeParser{unit: o.Unit, zone: o.Zone, layout: o.Layout}).parse(text)
	t, ok := v.(time.Time)
	return t, ok && err == nil
}

// isDecimal reports whether a text is a decimal number, which may have a sign, a fraction and an
// exponent.
func isDecimal(text []byte) bool {
	if len(bytes.Trim(text, "0123456789+-.eE")) > 0 {
		return false
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isInteger reports whether a text is an integer, which may have a sign.
func isInteger(text []byte) bool {
	if len(text) > 1 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	return len(text) > 0 && len(bytes.Trim(text, "0123456789")) == 0
}

// Seconds since 1970 at the ends of the years that timestamps have.
const (
	minSeconds = -62167219200 // 0000-01-01
	maxSeconds = 253402300799 // 9999-12-31T23:59:59
)

// epoch returns the time that is a decimal number of units after 1970. It drops digits beyond the nanosecond, which floating-point
// numbers of programs have. It returns false for other years than 0 to 9999.
func epoch(text []byte, unit time.Duration) (time.Time, bool) {
	if whole, digits, point := bytes.Cut(text, []byte(".")); len(digits) <= nanoDigits && (!point || unit <= time.Second) {
		n, err := strconv.ParseInt(string(whole)+string(digits), 10, 64)
		if scale := time.Duration(math.Pow10(len(digits))); err == nil && unit%scale == 0 {
			return Since1970(n, unit/scale)
		}
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
