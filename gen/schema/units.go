package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Units of durations that the standard library has no name for.
const (
	day  = 24 * time.Hour
	week = 7 * day
)

// durationUnits are the units of a duration, from large to small.
var durationUnits = []struct {
	name string
	size time.Duration
	also []string // common mistakes
}{
	{"w", week, []string{"wk", "wks", "week", "weeks"}},
	{"d", day, []string{"day", "days"}},
	{"h", time.Hour, []string{"hr", "hrs", "hour", "hours"}},
	{"m", time.Minute, []string{"min", "mins", "minute", "minutes"}},
	{"s", time.Second, []string{"sec", "secs", "second", "seconds"}},
	{"ms", time.Millisecond, []string{"msec", "millis", "millisecond", "milliseconds"}},
	{"us", time.Microsecond, []string{"µs", "μs", "usec", "micros", "microsecond", "microseconds"}},
	{"ns", time.Nanosecond, []string{"nsec", "nanos", "nanosecond", "nanoseconds"}},
}

// quantity is a number and its unit, as written.
type quantity struct{ number, unit string }

// Syntax of durations and sizes: strict, and with decimals, which can be corrected.
var (
	quantitySyntax = regexp.MustCompile(`^([0-9]+)(\pL*)`)
	looseQuantity  = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(\pL*)`)
)

// Regular expressions for the JSON Schema: durations, widths of buckets, and rates, without
// their limits.
var (
	durationSyntax = "^" + eachUnit("([0-9]+%s)?") + "$"
	spanSyntax     = "^(" + eachUnit("([0-9]+%s)?") + "|[0-9]+(mo|y)|" + noWidth + ")$"
	rateUnits      = "(" + strings.TrimSuffix(eachUnit("%s|"), "|") + ")"
	ratePattern    = "^[1-9][0-9]{0,11}/[0-9]*" + rateUnits + "([0-9]+" + rateUnits + ")*$"
)

const (
	notZero     = "[1-9]"
	noZeroWidth = notZero + "|" + noWidth
	rateNotZero = "/([a-z]|.*[1-9])"
)

// eachUnit returns the format with each of the units of a duration, in their order.
func eachUnit(format string) string {
	var b strings.Builder
	for _, u := range durationUnits {
		fmt.Fprintf(&b, format, u.name)
	}
	return b.String()
}

// maxQuantity is the length limit of durations and sizes, in bytes.
const maxQuantity = 64

// quantities splits "1d12h" into its numbers and units.
func quantities(s string, syntax *regexp.Regexp) ([]quantity, bool) {
	if s == "" || len(s) > maxQuantity {
		return nil, false
	}
	var all []quantity
	for s != "" {
		m := syntax.FindStringSubmatch(s)
		if m == nil {
			return nil, false
		}
		all = append(all, quantity{m[1], m[2]})
		s = s[len(m[0]):]
	}
	return all, true
}

// ParseDuration parses a duration of the language: whole numbers with the units w, d, h,
// m, s, ms, us and ns, in this order and each at most once, such as "30s", "52w" or
// "1d12h". Zero needs a unit too. The maximum is 292 years. Errors say what to write
// instead.
func ParseDuration(s string) (time.Duration, error) {
	all, ok := quantities(s, quantitySyntax)
	if !ok {
		return 0, notDuration(s)
	}
	var sum time.Duration
	last := -1
	for _, q := range all {
		i, err := durationUnit(s, q)
		if err != nil {
			return 0, err
		}
		if i <= last {
			return 0, newProblem("unit-order", quote(s), repairDuration(s))
		}
		last = i
		n, err := strconv.ParseInt(q.number, 10, 64)
		size := durationUnits[i].size
		if err != nil || n > int64((math.MaxInt64-sum)/size) {
			return 0, newProblem("long-duration", quote(s))
		}
		sum += time.Duration(n) * size
	}
	return sum, nil
}

// durationUnit returns the index of a unit in durationUnits.
func durationUnit(s string, q quantity) (int, error) {
	for i, u := range durationUnits {
		if u.name == q.unit {
			return i, nil
		}
	}
	switch q.unit {
	case "":
		if s != q.number {
			return 0, newProblem("missing-unit", quote(s), q.number)
		}
		return 0, newProblem("no-unit", quote(s), q.number)
	case "M":
		return 0, newProblem("unit-m", quote(s))
	case "mo":
		return 0, newProblem("months", cmp.Or(inDaysHint(s), "write days, such as `30d`"))
	case "y":
		return 0, newProblem("years", cmp.Or(inDaysHint(s), "write days, such as `365d`"))
	default:
		return 0, newProblem("unknown-unit", quote(s), quote(q.unit), repairDuration(s))
	}
}

// notDuration returns the error for a string without the syntax of a duration.
func notDuration(s string) error {
	message := quote(s) + " is not a duration"
	switch _, loose := quantities(s, looseQuantity); {
	case strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+"):
		message = quote(s) + " has a sign, but durations have none"
	case loose:
		message = quote(s) + " has a decimal point, but durations have none"
	}
	return newProblem("bad-duration", message, repairDuration(s))
}

// repairDuration returns the hint for an invalid duration: as corrected, or the syntax if
// that is not possible.
func repairDuration(s string) string {
	if hint := inDaysHint(s); hint != "" {
		return hint
	}
	if text, ok := corrected(s); ok {
		return "write " + diag.Code(text)
	}
	return "write a whole number and a unit, as in 30s, 5m, 12h, 7d, 1w or 1d12h"
}

// corrected returns an invalid duration with its spaces, signs, decimals and the names of
// units corrected, and whether that is possible.
func corrected(s string) (string, bool) {
	if name, _, ok := looseUnit(s); ok {
		return "1" + name, true
	}
	all, ok := quantities(withoutSpaces(isoDuration(strings.TrimLeft(s, "+-"))), looseQuantity)
	if !ok {
		return "", false
	}
	sum, text := new(big.Rat), ""
	for _, q := range all {
		name, size, ok := looseUnit(q.unit)
		n, isNumber := new(big.Rat).SetString(q.number)
		if !ok || !isNumber {
			return "", false
		}
		sum.Add(sum, n.Mul(n, new(big.Rat).SetInt64(int64(size))))
		text += q.number + name
	}
	if _, err := quantitiesInOrder(text); err == nil {
		return text, true
	}
	if !sum.IsInt() || !sum.Num().IsInt64() {
		return "", false
	}
	return FormatDuration(time.Duration(sum.Num().Int64())), true
}

// intended returns the duration that s is or probably means, and whether there is one.
func intended(s string) (string, bool) {
	if d, err := ParseDuration(s); err == nil {
		return s, d > 0
	}
	if days, ok := inDays(s); ok {
		return days, true
	}
	return corrected(s)
}

// quantitiesInOrder is ParseDuration for known units, without a hint in its error.
func quantitiesInOrder(s string) (time.Duration, error) {
	all, ok := quantities(s, quantitySyntax)
	last := -1
	for _, q := range all {
		i, err := durationUnit("", q)
		if err != nil || i <= last {
			ok = false
		}
		last = i
	}
	if !ok {
		return 0, &problem{"not in order", ""}
	}
	return ParseDuration(s)
}

// looseUnit returns the unit that has the name or is often called so.
func looseUnit(name string) (string, time.Duration, bool) {
	name = strings.ToLower(name)
	for _, u := range durationUnits {
		for _, n := range append([]string{u.name}, u.also...) {
			if n == name {
				return u.name, u.size, true
			}
		}
	}
	return "", 0, false
}

func withoutSpaces(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '_' || r == ',' {
			return -1
		}
		return r
	}, s[:min(len(s), 4*maxQuantity)])
}

// FormatDuration formats d in the syntax of [ParseDuration], with the largest units that
// fit, such as "1d12h" or "30d". It uses weeks only for whole weeks, as in "52w". d must
// not be negative.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, u := range durationUnits {
		if n := d / u.size; n > 0 && (u.size < week || d%week == 0) {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d -= n * u.size
		}
	}
	return b.String()
}

// String returns the width in the syntax of the language, such as "1w" or "3mo".
func (s Span) String() string {
	switch {
	case s.Endless():
		return noWidth
	case s.Months == 0:
		return FormatDuration(s.Fixed)
	case s.Months%12 == 0:
		return strconv.Itoa(s.Months/12) + "y"
	default:
		return strconv.Itoa(s.Months) + "mo"
	}
}

// noWidth is the width of a bucket that contains all events of a series.
const noWidth = "none"

// Endless reports whether a bucket contains all events of a series: keys do not contain the time.
func (s Span) Endless() bool { return s == Span{Months: codec.EndlessBucket.Months} }

// maxYears is the width of the widest calendar bucket, in years.
const maxYears = 290

// parseSpan parses the width of a bucket: a duration of at least a minute, or months or
// years that divide the calendar evenly, or none.
func parseSpan(s string) (Span, error) {
	if s == noWidth {
		return Span{Months: codec.EndlessBucket.Months}, nil
	}
	all, _ := quantities(s, quantitySyntax)
	for _, q := range all {
		if months := map[string]int{"mo": 1, "y": 12}[q.unit]; months > 0 {
			return parseCalendar(s, all, months)
		}
	}
	if err := otherSpan(s); err != nil {
		return Span{}, err
	}
	d, err := ParseDuration(s)
	if len(all) == 1 && all[0] == (quantity{number: s}) {
		number := cmp.Or(strings.TrimLeft(s, "0"), "1") // a bucket of 0m would be too narrow
		err = newProblem("span-without-unit", quote(s), number)
	}
	if err == nil && d < time.Minute {
		err = newProblem("narrow-bucket", s)
	}
	return Span{Fixed: d}, err
}

// parseCalendar parses a width in months or years; unit is the size of the unit in months.
func parseCalendar(s string, all []quantity, unit int) (Span, error) {
	if len(all) > 1 {
		return Span{}, newProblem("mixed-units", quote(s))
	}
	n, err := strconv.ParseInt(all[0].number, 10, 32)
	months := n * int64(unit)
	switch {
	case err != nil || months > maxYears*12:
		return Span{}, newProblem("long-span", quote(s), maxYears)
	case months == 0:
		return Span{}, newProblem("zero-bucket")
	case 12%months != 0 && months%12 != 0:
		return Span{}, newProblem("uneven-years", quote(s))
	}
	return Span{Months: int(months)}, nil
}

var rateSyntax = regexp.MustCompile(`^([1-9][0-9]{0,11})/(.+)$`)

// rateHint returns the hint for a rate with an invalid period.
func rateHint(number, period string) string {
	days := map[string]string{"1mo": "30d", "1y": "365d"}[period]
	if days == "" {
		return "write a number of events and a period, as in 1/m, 10/s or 100/1h"
	}
	return "write " + diag.Code(number+"/"+days)
}

// looseRate is the syntax of rates that can be corrected, such as "1 per second", "0.5/s"
// or "100 rps".
var looseRate = regexp.MustCompile(`(?i)^([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(?:(?:/|per|a|an|every)\s*(1?\pL+)|(rps|qps|hz|eps|tps))$`)

// correctedRate returns what an invalid rate probably means, or "" if that is unknown.
func correctedRate(s string) string {
	m := looseRate.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return ""
	}
	unit, _, ok := looseUnit(strings.TrimPrefix(m[2], "1"))
	if m[3] != "" {
		unit, ok = "s", true
	}
	number, valid := new(big.Rat).SetString(m[1])
	switch {
	case !ok, !valid, number.Sign() == 0:
		return ""
	case number.IsInt():
		return number.Num().String() + "/" + unit
	}
	return number.Num().String() + "/" + number.Denom().String() + unit
}

// parseRate parses a rate, such as "1/m", "10/s" or "100/1h", to events per second.
func parseRate(s string) (float64, error) {
	bad := newProblem("bad-rate", quote(s))
	m := rateSyntax.FindStringSubmatch(s)
	if m == nil {
		if better := correctedRate(s); better != "" {
			bad.hint = "write " + diag.Code(better)
		}
		return 0, bad
	}
	number, period := m[1], m[2]
	if period[0] < '0' || period[0] > '9' {
		name, _, ok := looseUnit(period)
		if ok && name != period {
			return 0, newProblem("rate-unit", quote(s), quote(period), diag.Code(number+"/"+name))
		}
		period = "1" + period
	}
	d, err := ParseDuration(period)
	if p, ok := errors.AsType[*problem](err); ok {
		return 0, newProblem("rate-duration", quote(s), p.message, rateHint(number, period))
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || d == 0 {
		return 0, bad
	}
	return float64(n) / d.Seconds(), nil
}
