package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
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
		row := []string{"a", texts[i], "x"}
		if !inTime {
			row = []string{"a", at.Format(time.RFC3339), texts[i]}
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
			for _, f := range timeTexts() {
				for _, inTime := range []bool{true, false} {
					if format == "cql" && (zone != "" || inTime && f.name != time.DateOnly) {
						continue // a definition needs no zone, and has times of one form
					}
					if err := loadTimes(t, f, format, zone, inTime); err != nil {
						t.Errorf("%s: %s in the time %v, zone %q: %v", format, f.name, inTime, zone, err)
					}
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
	file := filepath.Join(t.TempDir(), s.file)
	if err := os.WriteFile(file, []byte(s.text), 0o666); err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	for run(append([]string{"infer", file}, s.flags...), &stdout, &stderr) != 0 {
		advice := advised.FindStringSubmatch(stderr.String())
		switch {
		case f.write && inTime && regexp.MustCompile("write (times|hours) as|choose another column").MatchString(stderr.String()):
			return nil
		case advice == nil || slices.Contains(s.flags, advice[1]):
			return fmt.Errorf("infer %q: %s", s.flags, stderr.String())
		}
		s.flags = append(s.flags, advice[1:]...)
		stderr.Reset()
	}
	if f.write && inTime {
		return fmt.Errorf("is taken for times:\n%s", stdout.String())
	}
	reader, args, err := inferredReader(stdout.Bytes(), s)
	if err != nil {
		return fmt.Errorf("%q: %w\n%s", args, err, stdout.String())
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
			return fmt.Errorf("%q: %w\n%s", args, err, stdout.String())
		case inTime && !e.Time.Equal(want) || !inTime && !hasTime(&e, texts[i], want):
			return fmt.Errorf("%q: %s is %v, want %v\n%s", args, texts[i], e, want, stdout.String())
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
