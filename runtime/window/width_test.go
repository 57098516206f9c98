package window

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	in, err := time.LoadLocation(name)
	must(t, err)
	return in
}

// TestDays checks days whose length is not 24 hours, against their known lengths.
func TestDays(t *testing.T) {
	for _, c := range []struct {
		zone, date string
		hours      float64
	}{
		{"UTC", "2026-03-29", 24},
		{"Europe/Berlin", "2026-03-29", 23},
		{"Europe/Berlin", "2026-10-25", 25},
		{"America/New_York", "2026-11-01", 25},
		{"Australia/Lord_Howe", "2026-04-05", 24.5},
		{"Australia/Lord_Howe", "2026-10-04", 23.5},
		{"Pacific/Apia", "2011-12-29", 24},      // the 30th does not exist
		{"America/Sao_Paulo", "2018-11-04", 23}, // no midnight
		{"America/Sao_Paulo", "2018-02-17", 25}, // 23:00 comes twice
		{"Africa/Cairo", "2014-09-25", 25},      // 23:00 comes twice
		{"Asia/Kathmandu", "1986-01-01", 23.75}, // from +05:30 to +05:45
	} {
		in := zone(t, c.zone)
		noon, err := time.ParseInLocation("2006-01-02 15:04", c.date+" 12:00", in)
		must(t, err)
		s := Days(1, in).at(noon, span{})
		if got := s.end.Sub(s.start).Hours(); got != c.hours {
			t.Errorf("%s in %s has %v hours, from %v to %v; want %v", c.date, c.zone, got, s.start, s.end, c.hours)
		}
		if got := s.start.In(in).Format("2006-01-02"); got != c.date {
			t.Errorf("%s in %s begins on %s", c.date, c.zone, got)
		}
	}
}

// TestAligned checks the starts of windows that people know.
func TestAligned(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	at := time.Date(2026, 11, 25, 13, 44, 59, 123456789, time.UTC) // a Wednesday
	for _, c := range []struct {
		width Width
		start string
	}{
		{Every(time.Hour), "2026-11-25T13:00:00Z"},
		{Every(15 * time.Minute), "2026-11-25T13:30:00Z"},
		{Every(7 * 24 * time.Hour), "2026-11-23T00:00:00Z"},
		{Every(250 * time.Millisecond), "2026-11-25T13:44:59Z"},
		{Every(100), "2026-11-25T13:44:59.1234567Z"},
		{Days(1, time.UTC), "2026-11-25T00:00:00Z"},
		{Days(1, berlin), "2026-11-25T00:00:00+01:00"},
		{Weeks(1, berlin), "2026-11-23T00:00:00+01:00"},
		{Months(1, berlin), "2026-11-01T00:00:00+01:00"},
		{Months(3, berlin), "2026-10-01T00:00:00+02:00"},
		{Years(1, berlin), "2026-01-01T00:00:00+01:00"},
		{Years(10, berlin), "2020-01-01T00:00:00+01:00"},
	} {
		start := c.width.at(at, span{}).start
		if got := start.In(c.width.Location()).Format(time.RFC3339Nano); got != c.start {
			t.Errorf("%v: the window of %v begins at %s, want %s", c.width, at, got, c.start)
		}
	}
}

var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "Asia/Kathmandu", "Africa/Monrovia",
	"Africa/Cairo", "America/St_Johns", "Asia/Gaza", "Pacific/Kiritimati", "Pacific/Kwajalein",
}

// TestWidths checks, for random times, that windows have no gaps, do not overlap and do not depend
// on the time within them, and that local windows begin at the first instant of their date.
func TestWidths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		in, err := time.LoadLocation(name)
		must(t, err)
		n := rapid.IntRange(1, 40).Draw(t, "n")
		width := rapid.SampledFrom([]Width{
			Every(time.Duration(n) * time.Second), Every(time.Duration(n) * time.Hour), Every(time.Duration(n)), Every(time.Duration(n) * 1234567),
			Days(n, in), Weeks(n, in), Months(n, in), Years(n, in), Days(1, in), Months(1, in),
		}).Draw(t, "width")
		at := time.Unix(rapid.Int64Range(-2_000_000_000, 20_000_000_000).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
		s := width.at(at, span{})
		if !s.holds(at) {
			t.Fatalf("%v: %v is not in its window %v", width, at, s)
		}
		if first := width.at(s.start, span{}); first != s {
			t.Fatalf("%v: the start of %v is in %v", width, s, first)
		}
		if last := width.at(s.end.Add(-1), span{}); last != s {
			t.Fatalf("%v: the end of %v is in %v", width, s, last)
		}
		if next := width.at(s.end, span{}); !next.start.Equal(s.end) {
			t.Fatalf("%v: %v follows %v", width, next, s)
		}
		if width.days == 1 {
			date := func(t time.Time) string { return t.In(in).Format("2006-01-02") }
			if date(s.start) == date(s.start.Add(-1)) {
				t.Fatalf("%v: %v begins in the middle of a date", width, s)
			}
		}
	})
}

// TestYears checks the first instants of all months until 2400, for most of which package time computes
// when clocks change.
func TestYears(t *testing.T) {
	for _, name := range zones {
		in := zone(t, name)
		for month := int64(2011 * 12); month < 2400*12; month++ {
			first := startOfMonth(month, in)
			y, m, d := first.In(in).Date()
			if before := first.Add(-1).In(in).Month(); int64(y)*12+int64(m)-1 != month || d != 1 || before == m {
				t.Fatalf("%s: month %d of %d begins at %v", name, month%12+1, month/12, first.In(in))
			}
		}
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"15m", "1d", "2w", "3mo", "1y", "12h", "30s", "all"} {
		w, err := Parse(text, time.UTC)
		if err != nil || w.Check() != nil || !strings.HasPrefix(w.String(), text) {
			t.Errorf("%s: %v, %v: %v", text, err, w.Check(), w)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1h", "1", "1.5h", "1h30m", "9999999y", "1month"} {
		if w, err := Parse(text, time.UTC); err == nil {
			t.Errorf("%q: %v", text, w)
		}
	}
	if err := (Width{}).Check(); err == nil {
		t.Error("the zero width is valid")
	}
	if err := Days(1, nil).Check(); err == nil {
		t.Error("a day without a zone is valid")
	}
}
