package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestDates checks that dates are the first instants of days, also where midnight does not exist.
func TestDates(t *testing.T) {
	got, want := map[string]string{}, map[string]string{
		"America/Havana 2026-03-08":     "2026-03-08T01:00:00-04:00",
		"Pacific/Apia 2011-12-30":       "2011-12-31T00:00:00+14:00",
		"Asia/Beirut 2021-03-28":        "2021-03-28T01:00:00+03:00",
		"America/Sao_Paulo 2017-10-15":  "2017-10-15T01:00:00-02:00",
		"America/Havana 2025-11-02":     "2025-11-02T00:00:00-04:00", // midnight comes twice
		"Europe/Berlin 2026-03-29":      "2026-03-29T00:00:00+01:00",
		"UTC 2026-03-08":                "2026-03-08T00:00:00Z",
		"UTC 2026-03-08T12:00:00+02:00": "2026-03-08T12:00:00+02:00",
	}
	for in := range want {
		name, text, _ := strings.Cut(in, " ")
		zone, err := time.LoadLocation(name)
		must(t, err)
		at, err := parseTime("--from", text, time.Now(), zone)
		must(t, err)
		got[in] = at.Format(time.RFC3339)
	}
	assert.Same(t, want, got)
}

// TestTimesBeforeNow checks that durations before now have the units of the language and of Go.
func TestTimesBeforeNow(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	for text, ago := range map[string]time.Duration{
		"-36h": 36 * time.Hour, "-1.5h": 90 * time.Minute, "-6d": 144 * time.Hour, "-1w": 168 * time.Hour, "-1d12h": 36 * time.Hour, "0": 0,
	} {
		if at, err := parseTime("--from", text, now, time.UTC); err != nil || !at.Equal(now.Add(-ago)) {
			t.Errorf("%s: %v, %v", text, at, err)
		}
	}
	for _, text := range []string{"6d", "36h", "-6", "--6d", "-"} {
		if at, err := parseTime("--from", text, now, time.UTC); err == nil {
			t.Errorf("%s: %v", text, at)
		}
	}
}

// TestParameters checks that all flags of the usage, and all parameters of the API, are known.
func TestParameters(t *testing.T) {
	flag := regexp.MustCompile(`(?m)^--([a-z-]+)`)
	for _, c := range newRoot().Commands() {
		for _, name := range flag.FindAllStringSubmatch(expanded(section("{"+c.Name()+" flags}\n")), -1) {
			if c.Flags().Lookup(name[1]) == nil {
				t.Errorf("%s has no flag --%s", c.Name(), name[1])
			}
		}
	}
	for _, e := range endpoints {
		all := newRequest(e.name, nil).parameters()
		for p := range strings.FieldsSeq(e.parameters) {
			if name, _, _ := strings.Cut(p, "="); all[name] == nil {
				t.Errorf("%s has no parameter %s", e.name, name)
			}
		}
	}
}

// TestDurationFlags sets each flag with a duration of each command to one of weeks and days, and to one of Go.
func TestDurationFlags(t *testing.T) {
	n := 0
	for _, c := range newRoot().Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "duration" {
				return
			}
			n++
			if err := f.Value.Set("-7d"); err == nil {
				t.Errorf("%s --%s -7d: %s", c.Name(), f.Name, f.Value)
			}
			for text, want := range map[string]string{"1w2d": "216h0m0s", "1.5h": "1h30m0s"} {
				if err := f.Value.Set(text); err != nil || f.Value.String() != want {
					t.Errorf("%s --%s %s: %s, %v", c.Name(), f.Name, text, f.Value, err)
				}
			}
		})
	}
	if n < 10 {
		t.Errorf("%d flags", n)
	}
}

// TestReachable checks the addresses of servers that listen at all.
func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8086": "127.0.0.1:8086",
		"0.0.0.0:8086":   "127.0.0.1:8086",
		"[::]:8086":      "127.0.0.1:8086",
		"[::1]:8086":     "[::1]:8086",
		"10.0.0.7:1":     "10.0.0.7:1",
	} {
		assert.Same(t, want, reachable(addr), addr)
	}
}
