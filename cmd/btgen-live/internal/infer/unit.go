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

// units are the usual units of times that are numbers.
var units = []string{"s", "ms", "us", "ns"}

// fits reports whether a number is a plausible time in a unit.
func fits(number []byte, unit string) bool {
	at, ok := format.ParseTime(number, format.ReaderOptions{Unit: format.Units[unit]})
	return ok && plausible(at)
}

// timeTexts are the texts of the times of records, and those of them with problems.
type timeTexts struct {
	all      data
	numbers  data // that are times only if a unit is known
	unlikely data // numbers that are no plausible times
	local    data // times only if a zone is known
	unread   data // other texts than times
	early    data // times before 1970, which rows cannot have
	options  format.ReaderOptions
	given    time.Duration // the unit of the flag; 0 without it
}

// timeTexts returns the texts of times.
func (s *recordSample) timeTexts() timeTexts {
	t := timeTexts{all: s.times, options: s.readerOptions(), given: s.Options.Unit}
	add := func(to *data, b []byte, is bool) {
		if is {
			*to = append(*to, b)
		}
	}
	for _, b := range s.times {
		at, read := format.ParseTime(b, t.options)
		_, wall := wallTime(b, t.options.Layout)
		_, number := format.ParseTime(b, format.ReaderOptions{Unit: time.Nanosecond})
		number = number && !wall && t.options.Layout == ""
		add(&t.numbers, b, number)
		add(&t.unlikely, b, number && (!read || !plausible(at)))
		add(&t.local, b, !number && !read && wall)
		add(&t.unread, b, !number && !read && !wall)
		add(&t.early, b, read && at.Unix() < 0)
	}
	return t
}

// check returns an error for times that readers take for others, or refuse, if a flag is missing.
func (t *timeTexts) check() error {
	if len(t.all) == 0 {
		return nil
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrTimes}, args...)...)
	}
	isHour := func(b []byte) bool { _, err := time.Parse("2006010215", string(b)); return err == nil }
	first, likely, none := show(t.all[0]), "", t.options.Unit == 0
	if i := slices.IndexFunc(units, func(unit string) bool {
		return t.numbers.all(func(b []byte) bool { return fits(b, unit) })
	}); i >= 0 {
		likely = units[i]
	}
	switch {
	case len(t.unread) == len(t.all):
		return fail("none of %s is a time, such as %s: choose another column; %s", words.Count(float64(len(t.all)), "text", "texts"), first, layoutHint(t.all))
	case len(t.early) == len(t.all):
		return fail("all are before 1970, such as %s, and no row can have them", first)
	case t.options.Zone == nil && t.local != nil:
		return fail("%s has no time zone: add --zone, such as --zone UTC", show(t.local[0]))
	case t.numbers == nil || t.given != 0:
		return nil
	}
	switch first = show(t.numbers[0]); {
	case none && t.numbers.all(isHour):
		return fail("%s may be an hour in digits, or a number of seconds: write hours as 2024-01-31 12:00:00, or add --time-unit s", first)
	case none && likely == "":
		return fail("%s is no time between 1995 and 2099 in s, ms, us or ns: write times as 2024-01-31T12:00:00Z, or add --time-unit with the right unit", first)
	case none:
		return fail("%s is a number of an unknown unit: add --time-unit %s", first, likely)
	case likely != "" && len(t.unlikely) == len(t.numbers):
		is := "no time"
		if at, _ := format.ParseTime(t.numbers[0], t.options); !at.IsZero() {
			is = at.UTC().Format(time.RFC3339)
		}
		return fail("%s is %s in the unit of the format: add --time-unit %s, or that unit if it is right", first, is, likely)
	}
	return nil
}

// questions asks about times that [timeTexts.check] accepts.
func (t *timeTexts) questions() (asks []string) {
	ask := func(of data, one, many, format string) {
		if of != nil {
			asks = append(asks, fmt.Sprintf(format, words.Count(float64(len(of)), "time "+one, "times "+many), show(of[0])))
		}
	}
	ask(t.unlikely, "is a number", "are numbers", "%s before 1995, after 2099 or of no time, such as %s. Is --time-unit right?")
	ask(t.early, "is", "are", "%s before 1970, such as %s. No row can have them, and write refuses their lines. Can they be left out?")
	ask(t.unread, "cannot", "cannot", "%s be read, such as %s, and write reports their lines. What are they?")
	return asks
}
