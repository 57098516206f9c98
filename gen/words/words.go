// Package words formats counts, rates and sizes, and escapes untrusted text.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits of numbers in decimal notation: from tooSmall, inclusive, to tooLong, exclusive.
const (
	tooLong  = 1e15
	tooSmall = 1e-3
)

// Number formats a nonnegative number with thousands separators: 12,345. Below 100 it has
// up to two decimals, below 0.1 two significant digits. Very large and very small numbers
// are in scientific notation.
func Number(x float64) string {
	rounded := math.Round(x*100) / 100
	switch {
	case x >= tooLong || x > 0 && x < tooSmall:
		return scientific(x)
	case x > 0 && x < 0.1:
		return strconv.FormatFloat(x, 'g', 2, 64)
	case x < 100 && rounded != math.Trunc(rounded):
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	digits := strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// scientific formats a number in scientific notation: 1.2e24.
func scientific(x float64) string {
	digits, power, _ := strings.Cut(strconv.FormatFloat(x, 'e', 1, 64), "e")
	n, _ := strconv.Atoi(power) // always a number
	return digits + "e" + strconv.Itoa(n)
}

// List joins names as a sentence does: "a", "a and b", "a, b and c". last is the word before the
// last one.
func List(names []string, last string) string {
	n := len(names) - 1
	if n <= 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
}

// WithArticle returns a noun of this project, such as a type or a pattern, with its indefinite article. All that begin with u,
// such as uint64, are spoken like "you".
func WithArticle(noun string) string {
	if noun != "" && strings.Contains("aeio", noun[:1]) {
		return "an " + noun
	}
	return "a " + noun
}

// Plural returns one if n is 1, else many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count formats a number of things: "1 row", "5 rows".
func Count(x float64, one, many string) string {
	if number := Number(x); number != "1" {
		return number + " " + many
	}
	return "1 " + one
}

// Rate formats a positive rate of events, such as "one event a minute".
func Rate(perSecond float64) string {
	for _, u := range []struct {
		name    string
		seconds float64
	}{{"a second", 1}, {"a minute", 60}, {"an hour", 3600}, {"a day", 86400}} {
		n := perSecond * u.seconds
		switch {
		case math.Abs(n-1) < 1e-9:
			return "one event " + u.name
		case n > 1:
			return Number(n) + " events " + u.name
		}
	}
	return fmt.Sprintf("one event in %s days", Number(1/(perSecond*86400)))
}

// units are the units of sizes, largest first.
var units = []struct {
	name  string
	bytes float64
}{{"EB", 1e18}, {"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}

// beyondUnits is the first size that has too many digits in the largest unit.
const beyondUnits = 1e21

// Size formats a number of bytes in decimal units, such as "92.2 kB".
func Size(bytes float64) string {
	if bytes >= beyondUnits {
		return scientific(bytes) + " bytes"
	}
	for _, u := range units {
		if bytes >= u.bytes {
			return threeDigits(bytes/u.bytes) + " " + u.name
		}
	}
	return Number(bytes) + " bytes"
}

// Sizes formats a range of sizes in the unit of the upper bound, "92.2–276 kB", unless the lower
// one is far smaller: "155 B–93.7 MB".
func Sizes(lower, upper float64) string {
	unit, in := "B", 1.0
	for _, u := range units {
		if upper >= u.bytes && upper < beyondUnits {
			unit, in = u.name, u.bytes
			break
		}
	}
	write := func(bytes float64) string {
		switch {
		case in > 1:
			return threeDigits(bytes / in)
		case bytes > 0 && bytes < 1:
			return "<1"
		}
		return Number(math.Round(bytes))
	}
	if in > 1 && lower > 0 && lower < in/20 {
		return Size(lower) + "–" + Size(upper)
	}
	low, high := write(lower), write(upper)
	if low == high {
		return high + " " + unit
	}
	return low + "–" + high + " " + unit
}

// threeDigits formats a number from 1 to 999 with three significant digits.
func threeDigits(x float64) string {
	decimals := 0
	switch {
	case x < 10:
		decimals = 2
	case x < 100:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}
