package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
)

// calendarUnits are the units of bucket widths that durations lack, with their sizes in
// months.
var calendarUnits = []struct {
	name   string
	months int64
	also   []string // common mistakes
}{
	{"mo", 1, []string{"mon", "mons", "mth", "month", "months", "monthly"}},
	{"y", 12, []string{"yr", "yrs", "year", "years", "yearly", "annual", "annually"}},
}

// calendarUnit returns the unit of months or years that has the name or is often called
// so, and its size in months; 0 if there is none.
func calendarUnit(name string) (unit string, months int64) {
	name = strings.ToLower(name)
	for _, u := range calendarUnits {
		if u.name == name || slices.Contains(u.also, name) {
			return u.name, u.months
		}
	}
	return "", 0
}

// The limits of durations that are converted to days.
const (
	mostMonths = maxYears * 12
	mostRest   = 36500 * day // of what is not months or years
)

// inDays replaces the months and years of a duration by at least as many days, so that
// nothing expires earlier than its author intended. It returns false if there are none, or
// if s is nothing like a duration.
func inDays(s string) (string, bool) {
	all, ok := quantities(withoutSpaces(isoDuration(s)), quantitySyntax)
	if !ok {
		return "", false
	}
	months, rest := int64(0), time.Duration(0)
	for _, q := range all {
		n, err := strconv.ParseInt(q.number, 10, 32)
		_, size, known := looseUnit(q.unit)
		_, of := calendarUnit(q.unit)
		switch {
		case err != nil, n*of > mostMonths, !known && of == 0:
			return "", false
		case of > 0:
			months += n * of
		case n > int64((mostRest-rest)/size):
			return "", false
		default:
			rest += time.Duration(n) * size
		}
	}
	if months == 0 || months > mostMonths {
		return "", false
	}
	text := fmt.Sprintf("%dd", mostDays(months)+int64(rest/day))
	if rest %= day; rest > 0 {
		text += FormatDuration(rest)
	}
	return text, true
}

// mostDays returns the number of days of the longest period with this many months.
func mostDays(months int64) int64 {
	years := months / 12
	return 365*years + (years+3)/4 + 31*(months%12)
}

// inDaysHint returns the hint for a duration in months or years, or "" for others.
func inDaysHint(s string) string {
	days, ok := inDays(s)
	if !ok {
		return ""
	}
	return fmt.Sprintf("write days: %s is at least as long", diag.Code(days))
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

// otherSpan returns the error for a bucket width in words or with a misspelled unit of
// months or years, or nil for any other string.
func otherSpan(s string) error {
	width := map[string]string{"hourly": "1h", "daily": "1d", "weekly": "1w", "quarter": "3mo", "quarterly": "3mo"}[strings.ToLower(s)]
	text := withoutSpaces(isoDuration(s))
	if unit, _ := calendarUnit(text); unit != "" && width == "" {
		width = "1" + unit
	}
	if all, ok := quantities(text, quantitySyntax); ok && len(all) == 1 && width == "" {
		if unit, _ := calendarUnit(all[0].unit); unit != "" {
			width = all[0].number + unit
		}
	}
	if width == "" || width == s {
		return nil
	}
	return newProblem("not-a-width", quote(s), diag.Code(width))
}
