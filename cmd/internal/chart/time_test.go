package chart

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestTicks checks ticks at local times, among them where clocks change.
func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		zone, from, to string
		n              int
		want           string
	}{
		{"UTC", "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z", 5, "Jan (2021) Apr Jul Oct Jan (2022)"},
		{"UTC", "1921-01-01T00:00:00Z", "2021-01-01T00:00:00Z", 6, "1940 1960 1980 2000 2020"},
		{"UTC", "2021-02-27T00:00:00Z", "2021-03-02T00:00:00Z", 5, "Feb 27 (2021) Feb 28 Mar 1 Mar 2"},
		{"UTC", "2021-03-01T00:00:00Z", "2021-04-01T00:00:00Z", 6, "Mar 1 (2021) Mar 8 Mar 15 Mar 22 Mar 29"}, // Mondays
		{"Asia/Kolkata", "2021-03-05T00:00:00Z", "2021-03-05T06:00:00Z", 4, "06:00 (2021-03-05) 08:00 10:00"},
		// Clocks go forward over 02:00, and back over 01:00.
		{"America/Los_Angeles", "2021-03-14T08:00:00Z", "2021-03-14T12:00:00Z", 6, "00:00 (2021-03-14) 01:00 03:00 04:00 05:00"},
		{"America/Los_Angeles", "2021-11-07T07:00:00Z", "2021-11-07T11:00:00Z", 6, "00:00 (2021-11-07) 01:00 02:00 03:00"},
		{"America/Los_Angeles", "2021-03-13T08:00:00Z", "2021-03-16T07:00:00Z", 4, "Mar 13 (2021) Mar 14 Mar 15 Mar 16"},
		// Midnight does not exist, half an hour is missing, and so is a day.
		{"America/Sao_Paulo", "2018-11-03T03:00:00Z", "2018-11-05T03:00:00Z", 3, "Nov 3 (2018) Nov 4 Nov 5"},
		{"Australia/Lord_Howe", "2021-10-02T14:00:00Z", "2021-10-02T17:00:00Z", 5, "01:00 (2021-10-03) 02:30 03:00 04:00"},
		{"Pacific/Apia", "2011-12-29T10:00:00Z", "2012-01-01T10:00:00Z", 5, "Dec 29 (2011) Dec 31 Jan 1 (2012) Jan 2"},
		{"UTC", "2021-03-05T12:00:00Z", "2021-03-05T12:00:00.000001Z", 6, "00.0000000 (2021-03-05 12:00) 00.0000002 00.0000004 00.0000006 00.0000008 00.0000010"},
		{"UTC", "2021-03-05T12:00:59.9Z", "2021-03-05T12:01:00.2Z", 4, "59.9 (2021-03-05 12:00) 00.0 (2021-03-05 12:01) 00.1 00.2"},
		{"UTC", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z", 4, "5000"},
	} {
		s := timeScale{zone: zone(t, tt.zone)}
		s.from, _ = time.Parse(time.RFC3339Nano, tt.from)
		s.to, _ = time.Parse(time.RFC3339Nano, tt.to)
		var got []string
		for _, tick := range s.ticks(tt.n) {
			got = append(got, tick.label)
			if tick.context != "" {
				got = append(got, "("+tick.context+")")
			}
		}
		assert.Same(t, tt.want, strings.Join(got, " "), tt.zone, tt.from, tt.to)
	}
}

// TestAnyTicks checks that ticks ascend, are in the range, and are not too many.
func TestAnyTicks(t *testing.T) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "America/Los_Angeles", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "Africa/Monrovia", "Asia/Kathmandu"} {
		zones = append(zones, zone(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		s := timeScale{zone: rapid.SampledFrom(zones).Draw(t, "zone")}
		s.from = time.Unix(rapid.Int64Range(-5e9, 5e9).Draw(t, "from"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		s.to = s.from.Add(time.Duration(rapid.Int64Range(1, 1<<rapid.IntRange(1, 62).Draw(t, "bits")).Draw(t, "span")))
		n := rapid.IntRange(1, 20).Draw(t, "n")
		ticks := s.ticks(n)
		if len(ticks) > n+2 { // a step may begin and end in the range, and a time zone may skip or repeat one
			t.Fatalf("%d ticks instead of %d", len(ticks), n)
		}
		last := s.from.Add(-1)
		for _, tick := range ticks {
			if !tick.at.After(last) || tick.at.After(s.to) {
				t.Fatalf("%v after %v, in %v to %v", tick.at, last, s.from, s.to)
			}
			last = tick.at
		}
	})
}
