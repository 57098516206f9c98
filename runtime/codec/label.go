package codec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LabelKind is a way to name buckets.
type LabelKind int

const (
	TimeLabel    LabelKind = iota // the bucket's start in a time format
	NumberLabel                   // a sequential number, 1 for the bucket that starts at the origin
	ISOWeekLabel                  // the ISO 8601 week, such as 2021-W09
	endlessLabel                  // no label, of [EndlessBucket]
)

// Label describes how row keys name the buckets of a table.
type Label struct {
	Kind           LabelKind
	Prefix, Suffix string     // NumberLabel: text before and after the number
	Pad            int        // NumberLabel: digits, padded with zeros; 0 for no padding
	Format         TimeFormat // TimeLabel: newest first if it is reversed
}

const (
	maxPad  = 18 // digits that always fit an int64
	isoWeek = "iso_week"
	noLabel = "none"
)

// String returns the label as written in a schema.
func (l Label) String() string {
	switch {
	case l.Kind == endlessLabel:
		return noLabel
	case l.Kind == ISOWeekLabel:
		return isoWeek
	case l.Kind == NumberLabel && l.Pad > 0:
		return fmt.Sprintf("%s%%0%dd%s", l.Prefix, l.Pad, l.Suffix)
	case l.Kind == NumberLabel:
		return l.Prefix + "%d" + l.Suffix
	}
	return l.Format.String()
}

// width returns the length of every label in bytes, or 0 if it varies.
func (l *Label) width() int {
	switch {
	case l.Kind == ISOWeekLabel:
		return len("2021-W09")
	case l.Kind == TimeLabel:
		return l.Format.Width()
	case l.Pad > 0:
		return len(l.Prefix) + l.Pad + len(l.Suffix)
	}
	return 0
}

// appendNumber appends the label of bucket n, which must fit l.Pad digits.
func (l *Label) appendNumber(dst []byte, n int64) []byte {
	dst = append(dst, l.Prefix...)
	if l.Pad > 0 {
		dst = appendDigits(dst, n, l.Pad)
	} else {
		dst = strconv.AppendInt(dst, n, 10)
	}
	return append(dst, l.Suffix...)
}

// parseNumber returns the number in a label. Whoever calls it compares the label with that of the number.
func (l *Label) parseNumber(s string) (int64, bool) {
	return digits(strings.TrimSuffix(strings.TrimPrefix(s, l.Prefix), l.Suffix))
}

// appendISOWeek appends the week that starts on the given Monday.
func appendISOWeek(dst []byte, start time.Time) []byte {
	y, w := start.ISOWeek()
	dst = appendDigits(dst, int64(y), 4)
	dst = append(dst, "-W"...)
	return appendDigits(dst, int64(w), 2)
}

// parseISOWeek returns the Monday that starts the week.
func parseISOWeek(s string) (time.Time, bool) {
	if len(s) != len("2021-W09") || s[4:6] != "-W" {
		return time.Time{}, false
	}
	y, ok1 := digits(s[:4])
	w, ok2 := digits(s[6:])
	// 4 January is always in week 1.
	t := time.Date(int(y), 1, 4, 0, 0, 0, 0, time.UTC)
	sinceMonday := (int(t.Weekday()) + 6) % 7
	return t.AddDate(0, 0, 7*int(w-1)-sinceMonday), ok1 && ok2
}
