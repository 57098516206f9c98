package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// advised matches the flag that an error of infer asks for.
var advised = regexp.MustCompile(`add (--zone|--time-unit)(?:, such as --zone)? (\w+)`)

// timeText is a form of times in files.
type timeText struct {
	name   string
	format func(time.Time) string
	parse  func(text string, zone *time.Location) (time.Time, error)
	write  bool // whether infer refuses times of the form, and says which to write
}

// inLayout returns a form with a layout of package time.
func inLayout(layout string, write bool) timeText {
	return timeText{layout, func(t time.Time) string { return t.Format(layout) }, func(text string, zone *time.Location) (time.Time, error) {
		return time.ParseInLocation(layout, text, zone)
	}, write}
}

// timeTexts are forms of times. Those that look like numbers are the class of faults: a number is a time in some unit, too.
func timeTexts() []timeText {
	out := []timeText{
		inLayout(time.RFC3339, false), inLayout("2006-01-02 15:04:05.000-0700", false), inLayout(time.DateTime, false), inLayout(time.DateOnly, false),
		inLayout("2006-01-02T15:04Z07:00", false), inLayout("2006-01-02 15:04", false), inLayout("2006/01/02 15:04:05", false), inLayout("2006/1/2", false),
		inLayout("2006-1-2", false), inLayout("20060102T150405Z0700", false), inLayout(" 2006-01-02 15:04:05 ", false), inLayout(time.RFC1123Z, false),
		inLayout("2006-01-02T15:04:05.000000", false), inLayout("20060102", false), inLayout("200601021504", false), inLayout("20060102150405", false),
		inLayout("2006010215", true), inLayout("200601", true), inLayout("060102", true), inLayout("2006002", true), inLayout("02/01/2006", true),
	}
	for name, unit := range map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": 1} {
		out = append(out, timeText{name, func(t time.Time) string { return fmt.Sprint(t.UnixNano() / int64(unit)) }, func(text string, _ *time.Location) (time.Time, error) {
			var n int64
			_, err := fmt.Sscan(text, &n)
			return time.Unix(0, n*int64(unit)), err
		}, false})
	}
	return out
}

// timesSample returns a sample with times of a form in the column of the time, or in another one.
func timesSample(f timeText, format string, inTime bool) (s namedSample, texts []string) {
	s = namedSample{file: "sample.csv", flags: []string{"--format", format, "--series", "host", "--time-column", "at"}}
	var b strings.Builder
	b.WriteString("host,at,day\n")
	for i := range sampleEvents {
		at := time.Date(2026, 3, 28+i, 2, 30, 0, 0, time.UTC) // clocks in Berlin skip the second one
		texts = append(texts, f.format(at))
		cell := texts[i]
		if strings.Contains(cell, ",") {
			cell = `"` + cell + `"`
		}
		row := []string{"a", cell, "x"}
		if !inTime {
			row = []string{"a", at.Format(time.RFC3339), cell}
		}
		b.WriteString(strings.Join(row, ",") + "\n")
	}
	s.text = b.String()
	if format == "cql" {
		s.file, s.load, s.flags = "sample.cql", s.text, nil
		s.text = "CREATE TABLE t (host text, at timestamp, day text, PRIMARY KEY (host, at));"
		if inTime {
			s.text = "CREATE TABLE t (host text, at date, day text, PRIMARY KEY (host, at));"
		}
	}
	return s, texts
}

// TestInferredTimes loads samples with times of all forms as infer says: with the flags that it asks for, and the command
// that it prints then.
func TestInferredTimes(t *testing.T) {
	for _, zone := range []string{"", "UTC", "Europe/Berlin"} {
		for _, format := range []string{"csv", "cassandra", "cql"} {
			for _, f := range testlong.Sample(timeTexts(), 6) {
				for _, inTime := range []bool{true, false} {
					if format == "cql" && (zone != "" || inTime && f.name != time.DateOnly) {
						continue // a definition needs no zone, and has times of one form
					}
					assert.Is(t, nil, loadTimes(t, f, format, zone, inTime), format, f.name, inTime, zone)
				}
			}
		}
	}
}

// loadTimes loads a sample as infer says.
func loadTimes(t *testing.T, f timeText, format, zone string, inTime bool) error {
	s, texts := timesSample(f, format, inTime)
	in, err := time.LoadLocation(zone)
	if err != nil {
		return err
	}
	if zone != "" {
		s.flags = append(s.flags, "--zone", zone)
	}
	stdout, stderr, code := inferSample(t, s)
	for ; code > 1; stdout, stderr, code = inferSample(t, s) {
		advice := advised.FindStringSubmatch(stderr)
		switch {
		case f.write && inTime && regexp.MustCompile("write (times|hours) as|choose another column").MatchString(stderr):
			return nil
		case advice == nil || slices.Contains(s.flags, advice[1]):
			return fmt.Errorf("infer %q: %s", s.flags, stderr)
		}
		s.flags = append(s.flags, advice[1:]...)
	}
	if f.write && inTime {
		return fmt.Errorf("is taken for times:\n%s", stdout)
	}
	reader, args, err := inferredReader([]byte(stdout), s)
	if err != nil {
		return fmt.Errorf("%q: %w\n%s", args, err, stdout)
	}
	for i := range texts {
		want, err := f.parse(texts[i], in)
		if err != nil && inTime {
			return err
		}
		e, _, err := reader.Next()
		switch skipped := i == 1 && zone == "Europe/Berlin"; {
		case err != nil && skipped && inTime:
		case err != nil:
			return fmt.Errorf("%q: %w\n%s", args, err, stdout)
		case inTime && !e.Time.Equal(want) || !inTime && !hasTime(&e, texts[i], want):
			return fmt.Errorf("%q: %s is %v, want %v\n%s", args, texts[i], e, want, stdout)
		}
	}
	return nil
}

// hasTime reports whether a value of an event is a text, or the time that it stands for.
func hasTime(e *dynamic.Event, text string, at time.Time) bool {
	return slices.ContainsFunc(e.Values, func(v any) bool {
		is, ok := v.(time.Time)
		return ok && is.Equal(at) || fmt.Sprint(v) == text
	})
}

// TestInferredLayouts loads samples with times in other forms than readers know, with the layout that infer names. It asks for
// one if days and months cannot be told apart.
func TestInferredLayouts(t *testing.T) {
	asked := regexp.MustCompile(`add --time-layout ('[^']*'|\S+)\n`)
	dates := []string{"1/2/2006", "2/1/2006", "01/02/2006", "02.01.2006", "2-1-2006", "1/2/06", "Jan 2 2006", "2 Jan 2006", "02-Jan-2006", "January 2, 2006"}
	clocks := []string{"", " 15:04", " 15:04:05", " 3:04 PM"}
	for i, date := range dates {
		for k, clock := range clocks {
			if !testlong.Enabled() && i%len(clocks) != k {
				continue
			}
			for _, day := range []int{2, 20} {
				layout := date + clock
				at := time.Date(2026, 3, day, 15, 4, 0, 0, time.UTC)
				s := namedSample{file: "sample.csv", text: "host,at,v\n", flags: []string{"--series", "host", "--zone", "UTC"}}
				for range 2 {
					s.text += fmt.Sprintf("a,\"%s\",1\n", at.Format(layout))
					at = at.AddDate(0, 0, 1)
				}
				_, stderr, code := inferSample(t, s)
				m := asked.FindStringSubmatch(stderr)
				if ambiguous := day < 12 && strings.ContainsAny(date[:2], "12") && !strings.Contains(date, "Jan") && !strings.Contains(date, "."); code == 0 || ambiguous != (m == nil) {
					t.Errorf("%s on day %d: %s", layout, day, stderr)
					continue
				} else if ambiguous {
					continue
				}
				s.flags = append(s.flags, "--time-layout", strings.Trim(m[1], "'"))
				stdout, stderr, code := inferSample(t, s)
				if code != 0 {
					t.Errorf("%q: %s", s.flags, stderr)
					continue
				}
				want, _ := time.Parse(layout, time.Date(2026, 3, day, 15, 4, 0, 0, time.UTC).Format(layout))
				if events, err := s.events(stdout); err != nil || !events[0].Time.Equal(want) {
					t.Errorf("%q: %v %v, want %s", s.flags, events, err, want)
				}
			}
		}
	}
}

// TestInferredParts loads samples whose time, or series, is not one column: the error or the question says what to add.
func TestInferredParts(t *testing.T) {
	for _, of := range []string{"csv", "cassandra"} {
		for _, c := range []struct {
			text, ask, series string
			flags             []string
		}{
			{"date,clock,host,v\n2026-03-01,12:00:30,a,1\n2026-03-01,12:00:31,a,2\n", "--time-column date+clock", "a", []string{"--zone", "UTC", "--series", "host", "--time-column", "date+clock"}},
			{"time,date,host,v\n12:00:30,2026-03-01,a,1\n12:00:31,2026-03-01,a,2\n", "--time-column date+time", "a", []string{"--zone", "UTC", "--series", "host", "--time-column", "date+time"}},
			{"day,ts,host,v\n2026-03-01,2026-03-01 12:00:30,a,1\n2026-03-01,2026-03-01 12:00:31,a,2\n", "Times also are in day", "a", []string{"--zone", "UTC", "--series", "host"}},
			{"time,v\n2026-03-01 12:00:30,1\n2026-03-01 12:00:31,2\n", "--series source=sample", "here", []string{"--zone", "UTC", "--series", "source=here"}},
		} {
			s := namedSample{file: "sample.csv", text: c.text, flags: []string{"--format", of, "--zone", "UTC"}}
			if strings.Contains(c.text, "host") {
				s.flags = append(s.flags, "--series", "host")
			}
			asked, failed, _ := inferSample(t, s)
			assert.Contains(t, c.ask, asked+failed, of, c.text)
			s.flags = append([]string{"--format", of}, c.flags...)
			stdout, stderr, _ := inferSample(t, s)
			events, err := s.events(stdout)
			if err != nil || len(events) != 2 {
				t.Errorf("%s: %v: %v %s", of, events, err, stderr)
			}
			for i, e := range events {
				if want := time.Date(2026, 3, 1, 12, 0, 30+i, 0, time.UTC); !e.Time.Equal(want) || e.Series[0] != c.series {
					t.Errorf("%s: %v, want %s of %s\n%s", of, e, want, c.series, stdout)
				}
			}
		}
	}
}
