package codec

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
)

// compareReader gives a reader of texts what is written, and changes of it: it accepts, rejects and returns the
// same as parse, whatever it parsed before.
func compareReader(t *testing.T, name string, step time.Duration, write func([]byte, time.Time) ([]byte, error), parse func(string) (time.Time, error), read func([]byte) (time.Time, bool)) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	at, valid := time.Date(2024, 2, 28, 22, 0, 0, 0, time.UTC), 0
	for range 2000 {
		at = at.Add(time.Duration(random.Int64N(3 * int64(step))))
		s, err := write(nil, at)
		must(t, err)
		switch random.IntN(4) {
		case 0: // most likely no time or label, or that of a time within a bucket
			s[random.IntN(len(s))] = "0123456789-:x"[random.IntN(13)]
		case 1:
			s = s[:random.IntN(len(s))]
		}
		want, failed := parse(string(s))
		got, ok := read(s)
		if ok != (failed == nil) || ok && !got.Equal(want) || ok && got.Location() != time.UTC {
			t.Fatalf("%s: %q is %v, %v, want %v, %v", name, s, got, ok, want, failed)
		}
		if ok {
			valid++
		}
	}
	if valid < 500 || valid == 2000 {
		t.Errorf("%s: %d of 2000 are valid", name, valid)
	}
}

func TestReaders(t *testing.T) {
	for _, layout := range []string{
		"2006", "2006-01", "2006-01-02", "2006002", "20060102T15", "2006-01-02-1504", "2006-01-02T15:04:05", "2006-01-02T15:04:05.000",
		"2006002150405,000000000", "",
	} {
		f := TimeFormat{Layout: layout}
		if layout == "" {
			f.Kind = UnixMillis
		}
		r := NewTimeReader(f)
		compareReader(t, f.String(), time.Hour, f.Append, f.Parse, r.Parse)
	}
	for label, every := range map[Label]time.Duration{
		{Format: TimeFormat{Layout: "2006-01-02"}}: 24 * time.Hour, {Format: TimeFormat{Layout: "2006-01-02T15"}}: 3 * time.Hour,
		{Format: TimeFormat{Layout: "2006-01-02T1504"}}: 15 * time.Minute, {Format: TimeFormat{Kind: UnixSeconds}}: time.Hour,
		{Kind: NumberLabel, Prefix: "week"}: week, {Kind: NumberLabel, Pad: 6}: time.Hour, {Kind: ISOWeekLabel}: week,
	} {
		b := Bucket{Every: every, Label: label}
		r := NewLabelReader(b)
		compareReader(t, "label "+label.String(), every, b.AppendLabel, b.ParseLabel, r.Parse)
	}
}

var must = assert.Must
