package window

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/testlong"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	in, err := time.LoadLocation(name)
	must(t, err)
	return in
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
		{Every(6 * time.Hour).In(berlin), "2026-11-25T12:00:00+01:00"},
		{Every(6 * time.Hour).In(berlin).From(5 * time.Hour), "2026-11-25T11:00:00+01:00"},
		{Every(6 * time.Hour).From(5 * time.Hour), "2026-11-25T11:00:00Z"},
		{Every(100).In(berlin), "2026-11-25T14:44:59.1234567+01:00"},
		{Days(1, berlin).From(6 * time.Hour), "2026-11-25T06:00:00+01:00"},
		{Days(1, berlin).From(15 * time.Hour), "2026-11-24T15:00:00+01:00"},
		{Weeks(1, berlin).From(6 * day), "2026-11-22T00:00:00+01:00"},
		{Months(1, berlin).From(25 * day), "2026-10-26T00:00:00+01:00"},
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
			Every(time.Hour).In(in), Every(6 * time.Hour).In(in), Every(10 * time.Second).In(in), Every(45 * time.Minute).In(in).From(time.Duration(n)),
			Days(n, in).From(6 * time.Hour), Weeks(1, in).From(6 * day), Months(1, in).From(time.Duration(n%28) * day),
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
		if width.days == 1 && width.from == 0 {
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
			first := firstInstant(time.Date(0, time.Month(month+1), 1, 0, 0, 0, 0, time.UTC), in)
			y, m, d := first.In(in).Date()
			if before := first.Add(-1).In(in).Month(); int64(y)*12+int64(m)-1 != month || d != 1 || before == m {
				t.Fatalf("%s: month %d of %d begins at %v", name, month%12+1, month/12, first.In(in))
			}
		}
	}
}

// clockMinutes are the minutes of a year, and what clocks in a time zone show at each, in minutes since 1970.
type clockMinutes struct {
	begin time.Time
	shown []int64
}

func minutesOf(year int, in *time.Location) clockMinutes {
	m := clockMinutes{begin: time.Date(year-1, 12, 1, 0, 0, 0, 0, time.UTC)}
	for t := m.begin; t.Year() <= year; t = t.Add(time.Minute) {
		_, seconds := t.In(in).Zone()
		m.shown = append(m.shown, t.Unix()/60+int64(seconds/60))
	}
	return m
}

// windows returns when windows begin, without the first one, given the number of the window that begins last before clocks show
// a time: when clocks show a higher number than ever before, and each width in a window that is a multiple of it long.
func (m clockMinutes) windows(number func(shown int64) int64, width int) (starts []time.Time) {
	last, highest := 0, number(m.shown[0])
	for i, shown := range m.shown {
		n := number(shown)
		if n <= highest {
			continue
		}
		for last += width; width > 0 && (i-last)%width == 0 && last < i && len(starts) > 0; last += width {
			starts = append(starts, m.begin.Add(time.Duration(last)*time.Minute))
		}
		starts = append(starts, m.begin.Add(time.Duration(i)*time.Minute))
		last, highest = i, n
	}
	return starts
}

// floorDiv returns a/b, rounded down. b is positive.
func floorDiv(a, b int64) int64 { return (a - (a%b+b)%b) / b }

// TestClocks compares all windows of a year with those that clocks show minute by minute.
func TestClocks(t *testing.T) {
	for name, year := range testlong.SampleMap(map[string]int{
		"Europe/Berlin": 2026, "Asia/Kolkata": 2026, "Australia/Lord_Howe": 2026, "America/Sao_Paulo": 2018, "Pacific/Apia": 2011,
		"Africa/Casablanca": 2026, "America/St_Johns": 2006, "America/Havana": 2026, "Pacific/Kwajalein": 1993, "Africa/Cairo": 2014, "Asia/Kathmandu": 1986,
	}, 4) {
		in := zone(t, name)
		m := minutesOf(year, in)
		check := func(width Width, starts []time.Time) {
			if must(t, width.Check()); len(starts) < 10 {
				t.Fatalf("%v: %d windows", width, len(starts))
			}
			for i := 1; i < len(starts); i++ {
				want := span{starts[i-1].In(in), starts[i].In(in)}
				for _, at := range []time.Time{want.start, want.start.Add(want.end.Sub(want.start) / 2), want.end.Add(-1)} {
					if got := width.at(at, span{}); got != want {
						t.Fatalf("%v: the window of %v is %v, want %v", width, at.In(in), got, want)
					}
				}
			}
		}
		for _, n := range []int{15, 40, 60, 90, 120, 6 * 60, 24 * 60} {
			for _, from := range []int{0, n / 2} {
				number := func(shown int64) int64 { return floorDiv(shown-int64(from), int64(n)) }
				check(Every(time.Duration(n)*time.Minute).In(in).From(time.Duration(from)*time.Minute), m.windows(number, n))
			}
		}
		for _, from := range []time.Duration{0, 6 * time.Hour} {
			days := func(shown int64) int64 { return floorDiv(shown-int64(from/time.Minute), 24*60) }
			check(Days(1, in).From(from), m.windows(days, 0))
			check(Weeks(1, in).From(6*day+from), m.windows(func(shown int64) int64 { return floorDiv(days(shown)-6-4, 7) }, 0))
			months := func(shown int64) int64 {
				y, m, _ := time.Unix(days(shown)*24*60*60, 0).UTC().Date()
				return int64(y)*12 + int64(m)
			}
			check(Months(1, in).From(from), m.windows(months, 0))
		}
	}
}

func TestParse(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for text, want := range map[string]Width{
		"15m": Every(15 * time.Minute).In(berlin), "12h": Every(12 * time.Hour).In(berlin), "30s": Every(30 * time.Second).In(berlin),
		"100ms": Every(100 * time.Millisecond).In(berlin), "24h": Every(day).In(berlin), "7h": Every(7 * time.Hour), "48h": Every(2 * day),
		"1d": Days(1, berlin), "2w": Weeks(2, berlin), "3mo": Months(3, berlin), "1y": Years(1, berlin), "all": Whole(),
		"6h in UTC": Every(6 * time.Hour), "7h in UTC": Every(7 * time.Hour), "6h in Europe/Berlin": Every(6 * time.Hour).In(berlin),
		"1d from 6h": Days(1, berlin).From(6 * time.Hour), "1w in UTC from 144h": Weeks(1, time.UTC).From(6 * day),
		"6h in UTC from 1h30m": Every(6 * time.Hour).From(90 * time.Minute), "3µs from 1ns": Every(3000).In(berlin).From(1),
	} {
		w, err := Parse(text, berlin)
		if err != nil || w.String() != want.String() {
			t.Errorf("%s: %v, %v; want %v", text, w, err, want)
		}
		if again, err := Parse(w.String(), time.UTC); err != nil || again.String() != w.String() || !strings.HasPrefix(w.String(), strings.Fields(text)[0]) {
			t.Errorf("%s: %v, again %v, %v", text, w, again, err)
		}
	}
	for text, fault := range map[string]string{
		"7h in Europe/Berlin": "does not divide 24 hours", "48h in Europe/Berlin": "write such as 6h or 8h, or days", "7h from 1h": "does not divide",
		"1d in Mars": "no such time zone", "1d from 24h": "offset of 24h;", "1d from -1h": "offset", "1mo from 672h": "28 days", "6h from 6h": "offset",
		"1d from": "write a number", "1d from 6": "write a number", "all from 6h": "write a number", " in UTC": "write a number",
	} {
		if w, err := Parse(text, berlin); !errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v, %v; want %s", text, w, err, fault)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1h", "1", "1.5h", "1h30m", "9999999y", "9999999999999h", "1month"} {
		if w, err := Parse(text, time.UTC); err == nil {
			t.Errorf("%q: %v", text, w)
		}
	}
	if err := (Width{}).Check(); err == nil {
		t.Error("the zero width is valid")
	}
	for _, w := range []Width{Days(1, nil), Every(0).In(berlin), Every(-time.Hour).In(berlin), Whole().From(1), Every(-1).From(1)} {
		if err := w.Check(); err == nil {
			t.Errorf("%#v is valid", w)
		}
	}
}
