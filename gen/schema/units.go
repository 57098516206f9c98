package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
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

// unit is a unit of durations or, with months, only of the widths of buckets.
type unit struct {
	name   string
	size   time.Duration
	months int64
	also   []string // common mistakes
}

// units are from large to small.
var units = []unit{
	{"y", 0, 12, []string{"yr", "yrs", "year", "years", "yearly", "annual", "annually"}},
	{"mo", 0, 1, []string{"mon", "mons", "mth", "month", "months", "monthly"}},
	{"w", week, 0, []string{"wk", "wks", "week", "weeks", "weekly"}},
	{"d", day, 0, []string{"day", "days", "daily"}},
	{"h", time.Hour, 0, []string{"hr", "hrs", "hour", "hours", "hourly"}},
	{"m", time.Minute, 0, []string{"min", "mins", "minute", "minutes"}},
	{"s", time.Second, 0, []string{"sec", "secs", "second", "seconds"}},
	{"ms", time.Millisecond, 0, []string{"msec", "millis", "millisecond", "milliseconds"}},
	{"us", time.Microsecond, 0, []string{"µs", "μs", "usec", "micros", "microsecond", "microseconds"}},
	{"ns", time.Nanosecond, 0, []string{"nsec", "nanos", "nanosecond", "nanoseconds"}},
}

// durationUnits are the units of durations.
var durationUnits = units[2:]

// unitOf returns the unit that has the name or is often called so; nil if there is none.
func unitOf(name string) *unit {
	name = strings.ToLower(name)
	i := slices.IndexFunc(units, func(u unit) bool { return u.name == name || slices.Contains(u.also, name) })
	if i < 0 {
		return nil
	}
	return &units[i]
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
	sum, wrong, at := total(all)
	switch wrong {
	case "":
		return sum, nil
	case "unknown-unit":
		return 0, notUnit(s, at)
	case "unit-order":
		return 0, newProblem(wrong, quote(s), repairDuration(s))
	}
	return 0, newProblem(wrong, quote(s))
}

// total returns the sum of quantities or, if they are no duration, the name of the error and where it is.
func total(all []quantity) (sum time.Duration, wrong string, at quantity) {
	last := -1
	for _, q := range all {
		i := slices.IndexFunc(durationUnits, func(u unit) bool { return u.name == q.unit })
		switch {
		case i < 0:
			return 0, "unknown-unit", q
		case i <= last:
			return 0, "unit-order", q
		}
		last = i
		n, err := strconv.ParseInt(q.number, 10, 64)
		size := durationUnits[i].size
		if err != nil || n > int64((math.MaxInt64-sum)/size) {
			return 0, "long-duration", q
		}
		sum += time.Duration(n) * size
	}
	return sum, "", quantity{}
}

// notUnit returns the error for a unit that durations do not have.
func notUnit(s string, q quantity) error {
	switch q.unit {
	case "":
		if s != q.number {
			return newProblem("missing-unit", quote(s), q.number)
		}
		return newProblem("no-unit", quote(s), q.number)
	case "M":
		return newProblem("unit-m", quote(s))
	case "mo", "y":
		hint := "write days, such as `365d`"
		if _, _, ok := meant(s); ok {
			hint = repairDuration(s)
		}
		return newProblem(map[string]string{"mo": "months", "y": "years"}[q.unit], hint)
	}
	return newProblem("unknown-unit", quote(s), quote(q.unit), repairDuration(s))
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
	switch text, days, ok := meant(s); {
	case days:
		return fmt.Sprintf("write days: %s is at least as long", diag.Code(text))
	case ok:
		return "write " + diag.Code(text)
	}
	return "write a whole number and a unit, as in 30s, 5m, 12h, 7d, 1w or 1d12h"
}

// meant returns the duration that a string probably means that is none. days says that days replace months and years: at
// least as many, so that nothing expires earlier than its author intended.
func meant(s string) (text string, days, ok bool) {
	all, ok := loose(s)
	months, rest := new(big.Rat), new(big.Rat)
	for _, q := range all {
		n, isNumber := new(big.Rat).SetString(q.number)
		if !isNumber {
			return "", false, false
		}
		u := unitOf(q.unit)
		days = days || u.months > 0
		months.Add(months, new(big.Rat).Mul(n, new(big.Rat).SetInt64(u.months)))
		rest.Add(rest, n.Mul(n, new(big.Rat).SetInt64(int64(u.size))))
		text += q.number + q.unit
	}
	if _, wrong, _ := total(all); !ok || wrong == "" {
		return text, false, ok
	}
	tooLong := !rest.Num().IsInt64() || months.Cmp(big.NewRat(maxYears*12, 1)) > 0
	if tooLong || !months.IsInt() || !rest.IsInt() || days && months.Sign() == 0 {
		return "", false, false
	}
	ns := time.Duration(rest.Num().Int64())
	if !days {
		return FormatDuration(ns), false, true
	}
	text = fmt.Sprintf("%dd", mostDays(months.Num().Int64())+int64(ns/day))
	if ns %= day; ns > 0 {
		text += FormatDuration(ns)
	}
	_, err := ParseDuration(text)
	return text, err == nil, err == nil
}

// mostDays returns the number of days of the longest period with this many months.
func mostDays(months int64) int64 {
	years := months / 12
	return 365*years + (years+3)/4 + 31*(months%12)
}

// loose splits a string that is nearly a duration or the width of a bucket, without its spaces and signs, and with the names
// of its units corrected. A unit alone is one of it.
func loose(s string) ([]quantity, bool) {
	s = withoutSpaces(isoDuration(strings.TrimLeft(s, "+-")))
	if u := unitOf(s); u != nil {
		return []quantity{{"1", u.name}}, true
	}
	all, ok := quantities(s, looseQuantity)
	for i := range all {
		u := unitOf(all[i].unit)
		if u == nil {
			return nil, false
		}
		all[i].unit = u.name
	}
	return all, ok
}

// isoSyntax is the syntax of durations in ISO 8601, without decimals.
var isoSyntax = regexp.MustCompile(`(?i)^P((?:\d+[YMWD])*)(?:T((?:\d+[HMS])+))?$`)

// isoDuration returns a duration in ISO 8601, such as P1Y6M or PT12H, in the syntax of the
// language, but possibly with months and years. It returns other strings unchanged.
func isoDuration(s string) string {
	m := isoSyntax.FindStringSubmatch(s)
	if m == nil || m[1]+m[2] == "" {
		return s
	}
	return strings.ReplaceAll(strings.ToLower(m[1]), "m", "mo") + strings.ToLower(m[2])
}

// intended returns the duration that s is or probably means, and whether there is one.
func intended(s string) (string, bool) {
	if d, err := ParseDuration(s); err == nil {
		return s, d > 0
	}
	text, _, ok := meant(s)
	return text, ok
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
		if u := unitOf(q.unit); u != nil && u.name == q.unit && u.months > 0 {
			return parseCalendar(s, all, u.months)
		}
	}
	if width := meantWidth(s); width != "" {
		return Span{}, newProblem("not-a-width", quote(s), diag.Code(width))
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

// meantWidth returns the width that a word, or a number with a misspelled unit of months or years, probably means; "" for
// any other string.
func meantWidth(s string) string {
	if strings.HasPrefix(strings.ToLower(s), "quarter") {
		return "3mo"
	}
	all, ok := loose(s)
	if !ok || len(all) != 1 || strings.Contains(all[0].number, ".") ||
		unitOf(all[0].unit).months == 0 && strings.ContainsAny(s, "0123456789") {
		return ""
	}
	return all[0].number + all[0].unit
}

// parseCalendar parses a width in months or years; unit is the size of the unit in months.
func parseCalendar(s string, all []quantity, unit int64) (Span, error) {
	if len(all) > 1 {
		return Span{}, newProblem("mixed-units", quote(s))
	}
	n, err := strconv.ParseInt(all[0].number, 10, 32)
	months := n * unit
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
	unit := unitOf(cmp.Or(strings.TrimPrefix(m[2], "1"), "s"))
	number, valid := new(big.Rat).SetString(m[1])
	switch {
	case unit == nil, unit.months > 0, !valid, number.Sign() == 0:
		return ""
	case number.IsInt():
		return number.Num().String() + "/" + unit.name
	}
	return number.Num().String() + "/" + number.Denom().String() + unit.name
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
		if u := unitOf(period); u != nil && u.months == 0 && u.name != period {
			return 0, newProblem("rate-unit", quote(s), quote(period), diag.Code(number+"/"+u.name))
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
