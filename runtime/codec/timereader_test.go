package codec

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A TimeReader accepts, rejects and returns the same as TimeFormat.Parse, whatever it
// parsed before.
func TestTimeReader(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, text := range []string{
		"2006", "2006-01", "2006-01-02", "2006002", "20060102T15", "2006-01-02-1504", "2006-01-02T15:04:05", "2006-01-02T15:04:05.000",
		"2006002150405,000000000", "unix_s", "unix_ms", "unix_ns", "binary",
	} {
		f, err := ParseTimeFormat(text)
		if err != nil {
			t.Fatal(err)
		}
		r, at := NewTimeReader(f), time.Date(2024, 2, 28, 22, 0, 0, 0, time.UTC)
		for range 2000 {
			at = at.Add(time.Duration(random.Int64N(int64(3 * time.Hour))))
			s, err := f.Append(nil, at)
			if err != nil {
				t.Fatal(err)
			}
			switch random.IntN(4) {
			case 0: // most likely not a time
				s[random.IntN(len(s))] = "0123456789-:x"[random.IntN(13)]
			case 1:
				s = s[:random.IntN(len(s))]
			}
			want, failed := f.Parse(string(s))
			got, ok := r.Parse(s)
			if ok != (failed == nil) || ok && !got.Equal(want) || ok && got.Location() != time.UTC {
				t.Fatalf("%s: %q is %v, %v, want %v, %v", text, s, got, ok, want, failed)
			}
		}
	}
}

// A LabelReader accepts, rejects and returns the same as Bucket.ParseLabel, whatever it
// parsed before.
func TestLabelReader(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for text, every := range map[string]time.Duration{
		"2006-01-02": 24 * time.Hour, "2006-01-02T15": 3 * time.Hour, "2006-01-02T1504": 15 * time.Minute, "unix_s": time.Hour,
		"week%d": week, "%06d": time.Hour, "iso_week": week,
	} {
		label, err := ParseLabel(text)
		if err != nil {
			t.Fatal(err)
		}
		b := Bucket{Every: every, Label: label}
		if err := b.Validate(); err != nil {
			t.Fatal(err)
		}
		r, at, valid := NewLabelReader(b), time.Date(2024, 2, 28, 22, 0, 0, 0, time.UTC), 0
		for range 2000 {
			at = at.Add(time.Duration(random.Int64N(3 * int64(every))))
			s, err := b.AppendLabel(nil, at)
			if err != nil {
				t.Fatal(err)
			}
			switch random.IntN(4) {
			case 0: // most likely no label, or that of a time within a bucket
				s[random.IntN(len(s))] = "0123456789-:x"[random.IntN(13)]
			case 1:
				s = s[:random.IntN(len(s))]
			}
			want, failed := b.ParseLabel(string(s))
			got, ok := r.Parse(s)
			if ok != (failed == nil) || ok && !got.Equal(want) || ok && got.Location() != time.UTC {
				t.Fatalf("%s: %q is %v, %v, want %v, %v", text, s, got, ok, want, failed)
			}
			if ok {
				valid++
			}
		}
		if valid < 500 || valid == 2000 {
			t.Errorf("%s: %d of 2000 are labels", text, valid)
		}
	}
}
