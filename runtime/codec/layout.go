package codec

import (
	"strings"
	"time"
)

// element is a component of a time layout, ordered from coarse to fine.
type element int

const (
	noElement element = iota
	year
	month
	day
	yearDay
	hour
	minute
	second
	fraction
	literal
)

// nextElement returns the first element of the layout and its length. last is the
// element before it. Everything else is a literal of one byte.
func nextElement(layout string, last element) (element, int) {
	switch layout[0] {
	case '2':
		if strings.HasPrefix(layout, "2006") {
			return year, 4
		}
	case '1':
		if strings.HasPrefix(layout, "15") {
			return hour, 2
		}
	case '0':
		switch {
		case strings.HasPrefix(layout, "01"):
			return month, 2
		case strings.HasPrefix(layout, "02"):
			return day, 2
		case strings.HasPrefix(layout, "04"):
			return minute, 2
		case strings.HasPrefix(layout, "05"):
			return second, 2
		case strings.HasPrefix(layout, "002"):
			return yearDay, 3
		}
	case '.', ',':
		rest := strings.TrimLeft(layout[1:], "0")
		n := len(layout) - len(rest)
		if last == second && 1 < n && n <= 1+9 {
			return fraction, n
		}
	}
	return literal, 1
}

// finest returns the last element of the layout, and the number of digits if it is a fraction.
func (f TimeFormat) finest() (last element, digits int) {
	for rest := f.Layout; rest != ""; {
		e, n := nextElement(rest, last)
		if e != literal {
			last, digits = e, n-1
		}
		rest = rest[n:]
	}
	return last, digits
}

// appendLayout is equivalent to [time.Time.AppendFormat] for layouts that sort, and takes half the time.
func appendLayout(dst []byte, layout string, t time.Time) []byte {
	y, m, d := t.Date()
	hh, mm, ss := t.Clock()
	values := [literal]int{year: y, month: int(m), day: d, hour: hh, minute: mm, second: ss}
	for last := noElement; layout != ""; {
		e, n := nextElement(layout, last)
		switch e {
		case yearDay:
			dst = appendDigits(dst, int64(t.YearDay()), n)
		case fraction:
			dst = append(dst, layout[0])
			dst = appendDigits(dst, int64(t.Nanosecond())/pow10(10-n), n-1)
		case literal:
			dst = append(dst, layout[0])
			e = last
		default:
			dst = appendDigits(dst, int64(values[e]), n)
		}
		layout, last = layout[n:], e
	}
	return dst
}

// parseLayout is the inverse of appendLayout.
func parseLayout(layout, s string) (time.Time, bool) {
	var v [literal]int64
	if len(s) != len(layout) {
		return time.Time{}, false
	}
	for at, last := 0, noElement; at < len(layout); {
		e, n := nextElement(layout[at:], last)
		from := at
		at += n
		if e == literal || e == fraction { // a fraction begins with a point
			if s[from] != layout[from] {
				return time.Time{}, false
			}
			from++
		}
		if e == literal {
			continue
		}
		number, ok := digits(s[from:at])
		switch {
		case !ok || number == 0 && (e == month || e == day || e == yearDay):
			return time.Time{}, false
		case e == fraction:
			number *= pow10(10 - n)
		}
		v[e], last = number, e
	}
	return dateOf(v)
}

// dateOf returns the time with the given elements; a layout lacks those that are zero. It is false if there is none.
func dateOf(v [literal]int64) (time.Time, bool) {
	t := time.Date(int(v[year]), time.Month(max(1, v[month])), int(max(1, v[day])+max(1, v[yearDay])-1),
		int(v[hour]), int(v[minute]), int(v[second]), int(v[fraction]), time.UTC)
	_, m, d := t.Date()
	switch {
	case v[hour] > 23 || v[minute] > 59 || v[second] > 59, v[month] > 0 && v[month] != int64(m), v[day] > 0 && v[day] != int64(d):
		return t, false
	}
	return t, v[yearDay] == 0 || int64(t.YearDay()) == v[yearDay]
}

// appendDigits appends n in decimal, padded with zeros to width digits, which n must fit.
func appendDigits[T int64 | uint64](dst []byte, n T, width int) []byte {
	if width == 2 {
		return append(dst, byte('0'+n/10), byte('0'+n%10))
	}
	start := len(dst)
	dst = append(dst, "00000000000000000000"[:width]...)
	for i := len(dst) - 1; i >= start; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

// digits parses s, which must consist of at most 19 decimal digits and fit an int64. The empty string yields 0.
func digits[T string | []byte](s T) (int64, bool) {
	var n int64
	if len(s) > 19 {
		return 0, false
	}
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return n, n >= 0
}

// pow10 returns 10 to the power n, for n from 0 to 18.
func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}
