package infer

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// notSorting are forms of times that the schema language refuses in keys, by rule K24.
var notSorting = []struct {
	syntax *regexp.Regexp
	name   string
}{
	{regexp.MustCompile(`^[0-3]?[0-9][-./ ][01]?[0-9][-./ ](19|20)[0-9]{2}`), "a date with the day or the month before the year"},
	{regexp.MustCompile(`^(19|20)[0-9]{2}[-./]([0-9]|1[0-2])[-./][0-9]{1,2}($|[T ])`), "a date without padding"},
	{regexp.MustCompile(`^(19|20)[0-9]{2}-[01][0-9]-[0-3][0-9][T ].*[0-9](Z|UTC|[-+][0-9]{2}:?[0-9]{2})$`), "a time with a time zone"},
	{regexp.MustCompile(`(?i)^([a-z]{3}[, ]+)?[0-9]{0,2}[-. /]?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-. /]?[0-9]{2,4}`), "a date with the name of a month"},
	{regexp.MustCompile(`(?i)^(19|20)[0-9]{2}[-. /]?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`), "a date with the name of a month"},
	{regexp.MustCompile(`^(19|20)[0-9]{2}[-/.]?[01][0-9][-/.]?[0-3][0-9] [0-2][0-9]`), "a time with a space"},
	{regexp.MustCompile(`^(19|20)[0-9]{2}-?Q[1-4]$`), "a quarter"},
}

// crockford are the digits of ULIDs.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ulid returns the time of a ULID.
func ulid(s string) (time.Time, bool) {
	if len(s) != 26 || s[0] > '7' {
		return time.Time{}, false
	}
	ms := int64(0)
	for i, c := range strings.ToUpper(s) {
		d := strings.IndexRune(crockford, c)
		if d < 0 {
			return time.Time{}, false
		}
		if i < 10 {
			ms = ms<<5 | int64(d)
		}
	}
	t := time.UnixMilli(ms)
	return t, plausible(t)
}

// uuidTime returns the time of a UUID of version 7 or 1.
func uuidTime(s string) (time.Time, bool) {
	u, err := codec.ParseUUID(s)
	if len(s) == 16 {
		copy(u[:], s)
		err = nil
	}
	if err != nil {
		return time.Time{}, false
	}
	switch u[6] >> 4 {
	case 7:
		t := time.UnixMilli(int64(binary.BigEndian.Uint64(append([]byte{0, 0}, u[:6]...))))
		return t, plausible(t)
	case 1:
		const gregorian = 122192928000000000 // from 1582 to 1970, in 100 ns
		n := int64(binary.BigEndian.Uint16(u[6:])&0xfff)<<48 | int64(binary.BigEndian.Uint16(u[4:]))<<32 | int64(binary.BigEndian.Uint32(u[:]))
		t := time.Unix(0, 0).Add(time.Duration((n-gregorian)/10) * time.Microsecond)
		return t, plausible(t)
	}
	return time.Time{}, false
}

// hexTime returns the time of hexadecimal seconds or milliseconds since 1970.
func hexTime(s string) (time.Time, bool) {
	n, err := strconv.ParseInt(s, 16, 64)
	if err != nil || strings.Trim(s, "0123456789") == "" {
		return time.Time{}, false
	}
	for _, t := range []time.Time{time.Unix(n, 0), time.UnixMilli(n)} {
		if plausible(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// littleTime returns the time of a little-endian number of 4 or 8 bytes.
func littleTime(s string) (time.Time, bool) {
	n := int64(0)
	switch len(s) {
	case 4:
		n = int64(binary.LittleEndian.Uint32([]byte(s)))
	case 8:
		n = int64(binary.LittleEndian.Uint64([]byte(s)))
	}
	for _, t := range []time.Time{time.Unix(n, 0), time.UnixMilli(n), time.UnixMicro(n), time.Unix(0, n)} {
		if n > 0 && n < 1<<62 && plausible(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// dateIn returns a function that parses dates; reversed ones are subtracted from nines.
func dateIn(layout string, reversed bool) func(s string) (time.Time, bool) {
	return func(s string) (time.Time, bool) {
		if !isDigits(s) || len(s) != len(layout) {
			return time.Time{}, false
		}
		if reversed {
			b := []byte(s)
			for i := range b {
				b[i] = '0' + '9' - b[i]
			}
			s = string(b)
		}
		t, err := time.Parse(layout, s)
		return t, err == nil && plausible(t)
	}
}

// base36Time returns the time of milliseconds since 1970 in base 36.
func base36Time(s string) (time.Time, bool) {
	n, err := strconv.ParseInt(s, 36, 64)
	t := time.UnixMilli(n)
	return t, err == nil && len(s) == 8 && plausible(t)
}

// hiddenTime asks about a part of the keys that is not the time of the schema, but is one that
// the language does not have, or contains one; empty if it does not look like one.
func (k *key) hiddenTime(p *part) string {
	if q := k.refusedTime(p); q != "" {
		return q
	}
	for _, f := range timeForms(p.values) {
		if l := lagOf(k.rows, p.values, f); f.binary() == isBytes(p.values) && l.n > 0 && l.class() == 0 && l.agree*10 >= l.n*9 {
			return fmt.Sprintf("Is it a time, such as %s? Is it derived from the time of the event, or local?", schemaTime(f))
		}
	}
	if q := k.calendar(p); q != "" {
		return q
	}
	if q := k.within(p); q != "" {
		return q
	}
	return k.rising(p)
}

// maxPairs is the number of rows whose parts are compared in pairs.
const maxPairs = 300

// rising asks about a part of the keys whose order is that of the timestamps of cells, or the
// opposite: a time in a form that this package does not know, or a number that is derived from
// one. It is empty if the order is another one.
func (k *key) rising(p *part) string {
	if p.distinct < 10 {
		return ""
	}
	type value struct {
		at     int64
		number string // digits without leading zeros, by length and value; or bytes
		base64 string // with characters in the order of the alphabet of base64
	}
	step := max(1, len(p.values)/maxPairs)
	digits := all(p.values, isDigits)
	var found []value
	for r := 0; r < len(p.values); r += step {
		at, _ := k.rows[r].bounds()
		if !plausible(codec.FromMicros(at)) {
			return ""
		}
		v := value{at: at, number: p.values[r], base64: base64Order.Replace(p.values[r])}
		if digits {
			v.number = strings.TrimLeft(v.number, "0")
			v.number = string(rune(len(v.number))) + v.number
		}
		found = append(found, v)
	}
	var numbers, letters trend
	for i := range found {
		for j := range i {
			numbers.add(cmp.Compare(found[i].at, found[j].at), cmp.Compare(found[i].number, found[j].number))
			letters.add(cmp.Compare(found[i].at, found[j].at), cmp.Compare(found[i].base64, found[j].base64))
		}
	}
	if !numbers.certain() && !letters.certain() {
		return ""
	}
	return "Its values are in the order of the timestamps of cells, or in the opposite order. Is it a time, or does it contain one, in a form that keys cannot have [K24]?"
}

// base64Order replaces the characters of base64 with others that sort as the numbers do for which
// they stand.
var base64Order = func() *strings.Replacer {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	pairs := []string{"+", "~", "-", "~", "/", "\x7f", "_", "\x7f", "=", " "}
	for i, c := range alphabet {
		pairs = append(pairs, string(c), string(rune('!'+i)))
	}
	return strings.NewReplacer(pairs...)
}()

// trend counts pairs of values that are in the order of other values, or in the opposite order.
type trend struct{ same, opposite int }

// add adds a pair. Values that are equal say nothing.
func (t *trend) add(a, b int) {
	switch a * b {
	case 1:
		t.same++
	case -1:
		t.opposite++
	}
}

// certain reports whether all but a few pairs are in the same order.
func (t *trend) certain() bool {
	n := t.same + t.opposite
	return n > 0 && max(t.same, t.opposite)*100 >= n*98
}

// calendarFields are the parts of times that calendars count.
var calendarFields = []struct {
	name string
	of   func(t time.Time) int
}{
	{"the month", func(t time.Time) int { return int(t.Month()) }},
	{"the week of the year", func(t time.Time) int { _, w := t.ISOWeek(); return w }},
	{"the day of the year", time.Time.YearDay},
	{"the day of the month", time.Time.Day},
	{"the day of the week", func(t time.Time) int { return int(t.Weekday()) }},
	{"the hour of the day", time.Time.Hour},
	{"the minute of the hour", time.Time.Minute},
}

// calendar asks about a part of the keys that counts months, days or hours of the timestamps of
// cells, in some time zone; empty if it does not. It would be different series otherwise.
func (k *key) calendar(p *part) string {
	if p.binary || p.distinct < 2 || !all(p.values, func(v string) bool { return isDigits(v) && len(v) <= 3 }) {
		return ""
	}
	for _, f := range calendarFields {
		for zone := -12 * time.Hour; zone < zones; zone += time.Hour {
			differs := func(r int) bool {
				n, _ := strconv.Atoi(p.values[r])
				return slices.ContainsFunc(k.rows[r].cells, func(c cell) bool { return f.of(codec.FromMicros(c.at).UTC().Add(zone)) != n })
			}
			r := 0
			for r < len(k.rows) && !differs(r) {
				r++
			}
			if r == len(k.rows) {
				return fmt.Sprintf("Is it %s of timestamps of cells? Then it is part of a time, not of a series, and must be in one segment with the rest of it [K24].", f.name)
			}
		}
	}
	return ""
}

// refusedTime asks about a part of the keys in a form of times that the language refuses.
func (k *key) refusedTime(p *part) string {
	ask := func(what string) string {
		return fmt.Sprintf("Is it a time? %s is %s, which is not a time that keys can have [K24].", show(p.values[0]), what)
	}
	for _, form := range notSorting {
		if mostly(p.values, form.syntax.MatchString) {
			return ask(form.name)
		}
	}
	for _, form := range []struct {
		name  string
		parse func(string) (time.Time, bool)
	}{{"a ULID, which contains a time,", ulid}, {"a UUID that contains a time", uuidTime}, {"a hexadecimal time", hexTime}, {"a little-endian time", littleTime},
		{"a date without the century", dateIn("060102", false)}, {"a time without the century", dateIn("0601021504", false)},
		{"a time without the century", dateIn("060102150405", false)}, {"a date with the month before the year", dateIn("01022006", false)},
		{"a date with the day before the year", dateIn("02012006", false)}, {"a reversed date", dateIn("20060102", true)}, {"a reversed time", dateIn("2006010215", true)},
		{"a reversed time", dateIn("200601021504", true)}, {"a reversed time", dateIn("20060102150405", true)}, {"a time in base 36", base36Time}} {
		f := &timeForm{unit: time.Second, parse: form.parse}
		l := lagOf(k.rows, p.values, f)
		if f.fits(p.values) && l.n > 0 && l.class() <= 1 && differ(p.values) {
			return ask(form.name)
		}
	}
	return ""
}

// schemaTime names a form of a time.
func schemaTime(f *timeForm) string {
	if f.reverse != "" {
		return f.format + ", reversed"
	}
	return f.format
}

// within asks about times inside of the values of a part.
func (k *key) within(p *part) string {
	for _, size := range []int{14, 8, 10, 13, 16, 19, 12, 7, 6, 4} {
		for _, tail := range []bool{true, false} {
			for skip := 0; skip < 24; skip++ {
				values := make([]string, 0, len(p.values))
				for _, v := range p.values {
					begin := skip
					if tail {
						begin = len(v) - size - skip
					}
					if begin < 0 || begin+size > len(v) || len(v) == size {
						break
					}
					values = append(values, v[begin:begin+size])
				}
				if len(values) < len(p.values) {
					break
				}
				if len(values) < 3 || size < 6 && !isBytes(values) {
					continue
				}
				forms := timeForms(values)
				if size == 4 || size == 8 {
					forms = append(forms, &timeForm{format: "binary, little-endian", unit: time.Second, parse: littleTime})
				}
				for _, f := range forms {
					if !f.fits(values) {
						continue
					}
					l := lagOf(k.rows, values, f)
					if f.binary() == isBytes(values) && l.n > 0 && l.class() == 0 && l.agree == l.n && (differ(values) || strings.ContainsAny(values[0], "-/:.")) {
						return fmt.Sprintf("It contains %s, which looks like a time (%s). Is it one that keys can have? If not, see [K24].", show(values[0]), schemaTime(f))
					}
				}
			}
		}
	}
	return ""
}

// differ reports whether there are several values.
func differ(values []string) bool {
	for _, v := range values {
		if v != values[0] {
			return true
		}
	}
	return false
}
