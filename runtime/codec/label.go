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

// ParseLabel parses a label in a schema: a number with %d, or padded with %01d to %018d
// (week%d, week%04d); iso_week; or a format for [ParseTimeFormat].
func ParseLabel(s string) (Label, error) {
	if s == isoWeek {
		return Label{Kind: ISOWeekLabel}, nil
	}
	prefix, rest, found := strings.Cut(s, "%")
	if !found {
		f, err := ParseTimeFormat(s)
		if err != nil {
			return Label{}, fmt.Errorf("bucket label: %w, or iso_week, or a number such as week%%04d", err)
		}
		return Label{Kind: TimeLabel, Format: f}, nil
	}
	verb, suffix, found := strings.Cut(rest, "d")
	pad, ok := parsePad(verb)
	if !found || !ok || strings.Contains(suffix, "%") {
		return Label{}, fmt.Errorf("bucket label %q: want one number, %%d or %%01d to %%0%dd", s, maxPad)
	}
	return Label{Kind: NumberLabel, Prefix: prefix, Suffix: suffix, Pad: pad}, nil
}

// parsePad parses the verb between % and d: empty, or 0 and a width.
func parsePad(verb string) (int, bool) {
	if verb == "" {
		return 0, true
	}
	width, ok := strings.CutPrefix(verb, "0")
	n, valid := digits(width)
	return int(n), ok && valid && len(width) <= 2 && 1 <= n && n <= maxPad && width[0] != '0'
}

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
