package infer

import (
	"errors"
	"fmt"
	"slices"
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
var units = []unitFlag{{"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond}}

// fits reports whether a number is a plausible time in the unit.
func (u unitFlag) fits(number []byte) bool {
	at, ok := format.ParseTime(number, format.ReaderOptions{Unit: u.unit})
	return ok && plausible(at)
}

// epoch is the first time that rows can have.
var epoch = time.Unix(0, 0)

// timeTexts are the texts of the times of records.
type timeTexts struct {
	numbers data                 // of units
	others  data                 // times as readers write them, and texts that are none
	options format.ReaderOptions // of readers, with the unit of the format
	given   time.Duration        // the unit of the flag; 0 without it
}

// timeTexts returns the texts of times.
func (s *recordSample) timeTexts() timeTexts {
	t := timeTexts{options: s.readerOptions(), given: s.Options.Unit}
	for _, b := range s.times {
		if s.Options.Layout == "" && isNumberOfUnits(b) {
			t.numbers = append(t.numbers, b)
		} else {
			t.others = append(t.others, b)
		}
	}
	return t
}

// isNumberOfUnits reports whether a text is a time only if a unit is known.
func isNumberOfUnits(text []byte) bool {
	_, is := wallTime(text, "")
	_, number := format.ParseTime(text, format.ReaderOptions{Unit: time.Nanosecond})
	return !is && number
}

// isRead reports whether a text is a time for readers.
func (t *timeTexts) isRead(b []byte) bool {
	_, ok := format.ParseTime(b, t.options)
	return ok
}

// isLocal reports whether a text is a time only if a zone is known.
func (t *timeTexts) isLocal(b []byte) bool {
	_, wall := wallTime(b, t.options.Layout)
	return wall && !t.isRead(b)
}

// isUnread reports whether a text is no time.
func (t *timeTexts) isUnread(b []byte) bool { return !t.isRead(b) && !t.isLocal(b) }

// isEarly reports whether a time is before 1970.
func (t *timeTexts) isEarly(b []byte) bool {
	at, ok := format.ParseTime(b, t.options)
	return ok && at.Before(epoch)
}

// isUnlikely reports whether a number is no plausible time.
func (t *timeTexts) isUnlikely(b []byte) bool {
	at, ok := format.ParseTime(b, t.options)
	return !ok || !plausible(at)
}

// isHour reports whether a number also is an hour in digits, such as 2024013112.
func isHour(b []byte) bool {
	_, err := time.Parse("2006010215", string(b))
	return err == nil
}

// unit returns the unit in which all numbers are plausible times, as its flag; empty if there is none.
func (t *timeTexts) unit() string {
	for _, u := range units {
		if t.numbers.all(u.fits) {
			return u.flag
		}
	}
	return ""
}

// check returns an error for times that readers take for others, or refuse, if a flag is missing.
func (t *timeTexts) check() error {
	switch {
	case len(t.numbers) == 0 && t.others.all(t.isUnread):
		return fmt.Errorf("%w: none of %s is a time, such as %s: choose another column; %s", ErrTimes,
			words.Count(float64(len(t.others)), "text", "texts"), show(t.others[0]), layoutHint(t.others))
	case len(t.numbers)+len(t.others) > 0 && t.numbers.count(t.isEarly) == len(t.numbers) && t.others.count(t.isEarly) == len(t.others):
		return fmt.Errorf("%w: all are before 1970, such as %s, and no row can have them", ErrTimes, show(slices.Concat(t.numbers, t.others)[0]))
	case t.options.Zone == nil && t.others.first(t.isLocal) != nil:
		return fmt.Errorf("%w: %s has no time zone: add --zone, such as --zone UTC", ErrTimes, show(t.others.first(t.isLocal)))
	case len(t.numbers) == 0 || t.given != 0:
		return nil
	}
	number, likely := show(t.numbers[0]), t.unit()
	switch none := t.options.Unit == 0; {
	case none && t.numbers.all(isHour):
		return fmt.Errorf("%w: %s may be an hour in digits, or a number of seconds: write hours as 2024-01-31 12:00:00, or add --time-unit s", ErrTimes, number)
	case none && likely == "":
		return fmt.Errorf("%w: %s is no time between 1995 and 2099 in s, ms, us or ns: write times as 2024-01-31T12:00:00Z, or add --time-unit with the right unit", ErrTimes, number)
	case none:
		return fmt.Errorf("%w: %s is a number of an unknown unit: add --time-unit %s", ErrTimes, number, likely)
	case likely != "" && t.numbers.all(t.isUnlikely):
		at, _ := format.ParseTime(t.numbers[0], t.options)
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
	if n := t.numbers.count(t.isUnlikely); n > 0 {
		asks = append(asks, fmt.Sprintf("%d of %s that are numbers, such as %s, are before 1995, after 2099 or no times. Is --time-unit right?",
			n, words.Count(float64(len(t.numbers)), "time", "times"), show(t.numbers[0])))
	}
	if early := slices.Concat(t.numbers, t.others); early.first(t.isEarly) != nil {
		asks = append(asks, fmt.Sprintf("%s before 1970, such as %s. No row can have them, and write refuses their lines. Can they be left out?",
			words.Count(float64(early.count(t.isEarly)), "time is", "times are"), show(early.first(t.isEarly))))
	}
	if n := t.others.count(t.isUnread); n > 0 {
		asks = append(asks, fmt.Sprintf("%s cannot be read, such as %s, and write reports their lines. What are they?",
			words.Count(float64(n), "time", "times"), show(t.others.first(t.isUnread))))
	}
	return asks
}
