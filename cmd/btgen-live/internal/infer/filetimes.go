package infer

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/words"
)

// wallTime parses a time without an offset as one in UTC, and others.
func wallTime(text []byte, layout string) (time.Time, bool) {
	return format.ParseTime(text, format.ReaderOptions{Zone: time.UTC, Layout: layout})
}

// isWall reports whether a text is a time for readers with a zone.
func (s *recordSample) isWall(text []byte) bool {
	_, ok := wallTime(text, s.Options.Layout)
	return ok
}

// isTime reports whether a text is a time for readers of the file.
func (s *recordSample) isTime(text []byte) bool {
	_, ok := format.ParseTime(text, s.readerOptions())
	return ok
}

// isDate reports whether a text is a time at midnight.
func (s *recordSample) isDate(text []byte) bool {
	at, ok := wallTime(text, s.Options.Layout)
	return ok && at.Truncate(day).Equal(at)
}

// isLikelyTime reports whether a text is a time for readers with some unit and zone.
func (s *recordSample) isLikelyTime(text []byte) bool {
	return s.isWall(text) || s.Options.Layout == "" && unitOf(data{text}) != ""
}

// isClock matches the times of a day.
var isClock = regexp.MustCompile(`^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?$`).Match

// unitOf returns the first usual unit in which numbers are plausible times; empty if there is none.
func unitOf(numbers data) string {
	for _, unit := range []string{"s", "ms", "us", "ns"} {
		if numbers.all(func(b []byte) bool {
			at, ok := format.ParseTime(b, format.ReaderOptions{Unit: format.Units[unit]})
			return ok && plausible(at)
		}) {
			return unit
		}
	}
	return ""
}

// checkTimes asks about the times of records. Errors are about times for which readers need a flag.
func (s *recordSample) checkTimes() error {
	times, o := s.values(format.TimePart), s.readerOptions()
	if len(times) == 0 {
		return nil
	}
	isNumber := func(b []byte) bool {
		_, ok := format.ParseTime(b, format.ReaderOptions{Unit: time.Nanosecond})
		return ok && o.Layout == "" && !s.isWall(b)
	}
	numbers := times.where(isNumber)
	unlikely := numbers.where(func(b []byte) bool { at, ok := format.ParseTime(b, o); return !ok || !plausible(at) })
	early := times.where(func(b []byte) bool { at, ok := format.ParseTime(b, o); return ok && at.Unix() < 0 })
	unread := times.where(func(b []byte) bool { return !isNumber(b) && !s.isTime(b) && !s.isWall(b) })
	local := times.first(func(b []byte) bool { return !isNumber(b) && !s.isTime(b) && s.isWall(b) })
	isHour := func(b []byte) bool { _, err := time.Parse("2006010215", string(b)); return err == nil }
	fail := func(format string, args ...any) error {
		return fmt.Errorf("the file does not say which times they are: "+format, args...)
	}
	switch likely, first := unitOf(numbers), show(slices.Concat(numbers, times)[0]); {
	case len(unread) == len(times):
		return fail("none of %s is a time, such as %s: choose another column; %s", words.Count(float64(len(times)), "text", "texts"), first, layoutHint(times))
	case len(early) == len(times):
		return fail("all are before 1970, such as %s, and no row can have them", show(times[0]))
	case o.Zone == nil && local != nil:
		return fail("%s has no time zone: add --zone, such as --zone UTC", show(local))
	case len(numbers) == 0 || s.Options.Unit != 0: // nothing is missing
	case o.Unit == 0 && numbers.all(isHour):
		return fail("%s may be an hour in digits, or a number of seconds: write hours as 2024-01-31 12:00:00, or add --time-unit s", first)
	case o.Unit == 0 && likely == "":
		return fail("%s is no time between 1995 and 2099 in s, ms, us or ns: write times as 2024-01-31T12:00:00Z, or add --time-unit with the right unit", first)
	case o.Unit == 0:
		return fail("%s is a number of an unknown unit: add --time-unit %s", first, likely)
	case likely != "" && len(unlikely) == len(numbers):
		is := "no time"
		if at, ok := format.ParseTime(numbers[0], o); ok {
			is = at.UTC().Format(time.RFC3339)
		}
		return fail("%s is %s in the unit of the format: add --time-unit %s, or that unit if it is right", first, is, likely)
	}
	ask := func(of data, one, many, format string) {
		if len(of) > 0 {
			s.ask(true, format, words.Count(float64(len(of)), "time "+one, "times "+many), show(of[0]))
		}
	}
	ask(unlikely, "is a number", "are numbers", "%s before 1995, after 2099 or of no time, such as %s. Is --time-unit right?")
	ask(early, "is", "are", "%s before 1970, such as %s. No row can have them, and write refuses their lines. Can they be left out?")
	ask(unread, "cannot", "cannot", "%s be read, such as %s, and write reports their lines. What are they?")
	return nil
}

// Layouts of package time that readers need --time-layout for: those of a date, and of what follows it.
var (
	dateLayouts = append(strings.Split("1/2/2006,2/1/2006,1-2-2006,2-1-2006,2.1.2006,1/2/06,2/1/06,2.1.06,Jan 2 2006,2 Jan 2006,2-Jan-2006,2-Jan-06,"+
		"January 2 2006,2 January 2006,2006-01,2006.1.2,2006-002", ","), "Jan 2, 2006", "January 2, 2006", "Mon, 02 Jan 2006", "2006-01-02")
	timeLayouts = []string{"", " 15:04", " 15:04:05", " 3:04 PM", " 3:04:05 PM", " 15:04:05 -0700"}
)

// layoutsOf returns the layouts that all texts have.
func layoutsOf(texts data) (layouts []string) {
	for _, date := range dateLayouts {
		for _, clock := range timeLayouts {
			layout := date + clock
			if texts.all(func(b []byte) bool { _, err := time.Parse(layout, string(bytes.TrimSpace(b))); return err == nil }) {
				layouts = append(layouts, layout)
			}
		}
	}
	return layouts
}

// layoutHint says how texts that are no times are read: with the layout that all have, if there is only one.
func layoutHint(texts data) string {
	layouts := layoutsOf(texts)
	for i := range layouts {
		layouts[i] = words.Shell(layouts[i])
	}
	switch len(layouts) {
	case 0:
		return format.TimeForms + "; for other forms, add --time-layout with how the file writes January 2, 2006, 15:04:05, as in --time-layout '1/2/2006 15:04'"
	case 1:
		return "add --time-layout " + layouts[0]
	}
	return fmt.Sprintf("%s is ambiguous: add --time-layout with %s", show(texts[0]), words.List(layouts, "or"))
}
