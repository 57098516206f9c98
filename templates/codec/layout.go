package codec

import (
	"strings"
	"time"
)

// element is a part of a layout, from coarse to fine.
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

// follows reports whether e may come after last in a layout that sorts.
func (e element) follows(last element) bool {
	switch e {
	case yearDay:
		return last == year
	case hour:
		return last == day || last == yearDay
	}
	return last == e-1
}

// nextElement returns the first element of the layout and its length, given the
// last element before it. Everything else is a literal of one byte.
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

// finest returns the last element of the layout, and the digits of a fraction.
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

// appendLayout does what [time.Time.AppendFormat] does, for layouts that sort
// and in half the time.
func appendLayout(dst []byte, layout string, t time.Time) []byte {
	y, m, d := t.Date()
	hh, mm, ss := t.Clock()
	for last := noElement; layout != ""; {
		e, n := nextElement(layout, last)
		switch e {
		case year:
			dst = appendDigits(dst, int64(y), 4)
		case month:
			dst = appendDigits(dst, int64(m), 2)
		case day:
			dst = appendDigits(dst, int64(d), 2)
		case yearDay:
			dst = appendDigits(dst, int64(t.YearDay()), 3)
		case hour:
			dst = appendDigits(dst, int64(hh), 2)
		case minute:
			dst = appendDigits(dst, int64(mm), 2)
		case second:
			dst = appendDigits(dst, int64(ss), 2)
		case fraction:
			dst = append(dst, layout[0])
			dst = appendDigits(dst, int64(t.Nanosecond())/pow10(10-n), n-1)
		case literal:
			dst = append(dst, layout[0])
			e = last
		}
		layout, last = layout[n:], e
	}
	return dst
}

// parseLayout is the inverse of appendLayout. What it lets pass, such as other
// literals or a 13th month, shows when the time is formatted again.
func parseLayout(layout, s string) (time.Time, bool) {
	v := [literal]int64{month: 1, day: 1, yearDay: 1}
	rest := s
	for l, last := layout, noElement; l != ""; {
		e, n := nextElement(l, last)
		if len(rest) < n {
			return time.Time{}, false
		}
		ok := true
		switch e {
		case literal:
			e = last
		case fraction:
			v[e], ok = digits(rest[1:n])
			v[e] *= pow10(10 - n)
		default:
			v[e], ok = digits(rest[:n])
		}
		if !ok {
			return time.Time{}, false
		}
		l, rest, last = l[n:], rest[n:], e
	}
	t := time.Date(int(v[year]), time.Month(v[month]), int(v[day]+v[yearDay]-1),
		int(v[hour]), int(v[minute]), int(v[second]), int(v[fraction]), time.UTC)
	var buf [40]byte
	return t, string(appendLayout(buf[:0], layout, t)) == s
}

// appendDigits appends n in decimal, padded with zeros to width digits; n has
// no more than that.
func appendDigits(dst []byte, n int64, width int) []byte {
	start := len(dst)
	dst = append(dst, "0000000000000000000"[:width]...)
	for i := len(dst) - 1; i >= start; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

// digits parses up to 19 decimal digits, all of s; false if there is anything
// else or the number does not fit. No digits are 0.
func digits(s string) (int64, bool) {
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
