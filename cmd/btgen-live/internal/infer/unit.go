package infer

import (
	"errors"
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/words"
)

// ErrTimes is the error of times that readers take for others, or refuse, without a flag.
var ErrTimes = errors.New("the file does not say which times they are")

// unitFlag is a unit, and the value of its flag.
type unitFlag struct {
	flag string
	unit time.Duration
}

// units are the usual units of times that are numbers.
var units = [...]unitFlag{{"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond}}

// epoch is the first time that rows can have.
var epoch = time.Unix(0, 0)

// timeTexts is what is known of the texts of times.
type timeTexts struct {
	n         int
	numbers   int             // that are numbers of units
	number    string          // the first of them
	hours     int             // numbers that also are hours in digits, such as 2024013112
	fits      [len(units)]int // numbers that are plausible times in a unit
	local     string          // the first without an offset that needs a zone; empty if there is none
	unread    int             // that are no times
	unreadOne string          // the first of them
	texts     []string        // some of them
	early     int             // before 1970
	earlyOne  string          // the first of them
	unlikely  int             // numbers that are no plausible times in the unit of the reader
}

// add examines the text of a time, which is at if it is one for a reader with a unit and a zone.
func (t *timeTexts) add(text []byte, at time.Time, read bool, layout string) {
	if read && at.Before(epoch) {
		if t.early++; t.earlyOne == "" {
			t.earlyOne = string(text)
		}
	}
	if t.n++; layout != "" || !isNumberOfUnits(text) {
		_, local := wallTime(text, layout)
		switch {
		case read:
		case local && t.local == "":
			t.local = string(text)
		case !local:
			t.addUnread(text)
		}
		return
	}
	if t.numbers++; t.number == "" {
		t.number = string(text)
	}
	if _, err := time.Parse("2006010215", string(text)); err == nil {
		t.hours++
	}
	for i, u := range units {
		if at, ok := format.ParseTime(text, format.ReaderOptions{Unit: u.unit}); ok && plausible(at) {
			t.fits[i]++
		}
	}
	if !read || !plausible(at) {
		t.unlikely++
	}
}

// addUnread counts a text that is no time.
func (t *timeTexts) addUnread(text []byte) {
	if len(t.texts) < maxDistinct {
		t.texts = append(t.texts, string(text))
	}
	if t.unread++; t.unreadOne == "" {
		t.unreadOne = string(text)
	}
}

// isNumberOfUnits reports whether a text is a time only if a unit is known.
func isNumberOfUnits(text []byte) bool {
	_, is := wallTime(text, "")
	_, number := format.ParseTime(text, format.ReaderOptions{Unit: time.Nanosecond})
	return !is && number
}

// unit returns the unit in which all numbers are plausible times, as its flag; empty if there is none.
func (t *timeTexts) unit() string {
	for i, n := range t.fits {
		if n == t.numbers {
			return units[i].flag
		}
	}
	return ""
}

// check returns an error for times that readers with options take for others, or refuse, if a flag is missing.
func (t *timeTexts) check(o format.ReaderOptions, unit time.Duration) error {
	number := show([]byte(t.number))
	switch likely := t.unit(); {
	case t.unread == t.n && t.n > 0:
		return fmt.Errorf("%w: none of %s is a time, such as %s: choose another column; %s", ErrTimes, words.Count(float64(t.n), "text", "texts"), show([]byte(t.unreadOne)), layoutHint(t.texts))
	case t.early == t.n && t.n > 0:
		return fmt.Errorf("%w: all are before 1970, such as %s, and no row can have them", ErrTimes, show([]byte(t.earlyOne)))
	case t.local != "" && o.Zone == nil:
		return fmt.Errorf("%w: %s has no time zone: add --zone, such as --zone UTC", ErrTimes, show([]byte(t.local)))
	case t.numbers == 0 || o.Unit != 0:
		return nil
	case unit == 0 && t.hours == t.numbers:
		return fmt.Errorf("%w: %s may be an hour in digits, or a number of seconds: write hours as 2024-01-31 12:00:00, or add --time-unit s", ErrTimes, number)
	case unit == 0 && likely == "":
		return fmt.Errorf("%w: %s is no time between 1995 and 2099 in s, ms, us or ns: write times as 2024-01-31T12:00:00Z, or add --time-unit with the right unit", ErrTimes, number)
	case unit == 0:
		return fmt.Errorf("%w: %s is a number of an unknown unit: add --time-unit %s", ErrTimes, number, likely)
	case t.unlikely == t.numbers && likely != "":
		at, _ := format.ParseTime([]byte(t.number), format.ReaderOptions{Unit: unit})
		return fmt.Errorf("%w: %s is %s in the unit of the format: add --time-unit %s, or that unit if it is right", ErrTimes, number, shownTime(at), likely)
	}
	return nil
}

// shownTime returns a time for a message; that of a number that is none is zero.
func shownTime(at time.Time) string {
	if at.IsZero() {
		return "no time"
	}
	return at.UTC().Format(time.RFC3339)
}

// questions asks about times that [timeTexts.check] accepts.
func (t *timeTexts) questions() (asks []string) {
	if t.unlikely > 0 {
		asks = append(asks, fmt.Sprintf("%d of %s that are numbers, such as %s, are before 1995, after 2099 or no times. Is --time-unit right?",
			t.unlikely, words.Count(float64(t.numbers), "time", "times"), show([]byte(t.number))))
	}
	if t.early > 0 {
		asks = append(asks, fmt.Sprintf("%s before 1970, such as %s. No row can have them, and write refuses their lines. Can they be left out?",
			words.Count(float64(t.early), "time is", "times are"), show([]byte(t.earlyOne))))
	}
	if t.unread > 0 {
		asks = append(asks, fmt.Sprintf("%s cannot be read, such as %s, and write reports their lines. What are they?",
			words.Count(float64(t.unread), "time", "times"), show([]byte(t.unreadOne))))
	}
	return asks
}
