package window

import "time"

// StartOfDay returns the first instant of the date that a time shows, in a time zone: where windows
// of [Days] begin. Midnight may not exist there, or come twice. For a date that the time zone skips,
// it is the first instant of the next one.
func StartOfDay(date time.Time, in *time.Location) time.Time {
	year, month, day := date.Date()
	return firstInstant(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), in)
}
