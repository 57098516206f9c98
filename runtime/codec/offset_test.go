package codec_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
)

func TestOffsetAsDocumented(t *testing.T) {
	hour := codec.Bucket{Every: time.Hour, Label: codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02T15"}}}
	at := date("2021-03-05T12:00:01.000002Z")
	for _, tt := range []struct {
		offset codec.Offset
		want   string
	}{
		{codec.Offset{Bucket: hour, Precision: time.Minute}, "00"},
		{codec.Offset{Bucket: hour, Precision: time.Second}, "0001"},
		{codec.Offset{Bucket: hour, Precision: time.Millisecond}, "0003e8"},
		{codec.Offset{Bucket: hour, Precision: time.Microsecond}, "000f4242"},
		{codec.Offset{Bucket: hour, Precision: time.Second, Sequence: true}, "000100000007"},
		{codec.Offset{Bucket: codec.Bucket{Months: 12}, Precision: time.Microsecond}, "04fd66fb9242"}, // since 1 January
	} {
		if got := fmt.Sprintf("%x", tt.offset.Append(nil, at, 7)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.offset.Precision, got, tt.want)
		}
	}
}

// offsets draws offsets.
func offsets() *rapid.Generator[codec.Offset] {
	return rapid.Custom(func(t *rapid.T) codec.Offset {
		o := codec.Offset{
			Precision: rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour}).Draw(t, "precision"),
			Sequence:  rapid.Bool().Draw(t, "sequence"),
		}
		o.Bucket = rapid.SampledFrom([]codec.Bucket{
			{Every: time.Minute}, {Every: time.Hour}, {Every: day}, {Every: 7 * day}, {Months: 1}, {Months: 12},
			{Every: time.Hour, Origin: date("2021-03-05T00:30:00Z")}, {Every: day, Origin: date("2021-03-05T00:00:17Z")}, {Every: day, Origin: date("2021-03-05T06:30:00Z")},
		}).Filter(func(b codec.Bucket) bool { return b.Every%o.Precision == 0 }).Draw(t, "bucket") // schemas require this
		return o
	})
}

func TestOffsets(t *testing.T) {
	check(t, "offsets decode, and sort as time does", func(t *rapid.T) {
		o := offsets().Draw(t, "offset")
		start := o.Bucket.Start(near().Draw(t, "in"))
		width := o.Bucket.End(start).Sub(start)
		draw := func(name string) (time.Time, uint32) {
			at := start.Add(time.Duration(rapid.Int64Range(0, int64(width)-1).Draw(t, name)))
			return laterOf(codec.Truncate(at, o.Precision), codec.Ceil(start, o.Precision)), rapid.Uint32().Draw(t, name+" sequence")
		}
		a, m := draw("a")
		b, n := draw("b")
		if !o.Sequence {
			m, n = 0, 0
		}
		x, y := string(o.Append(nil, a, m)), string(o.Append(nil, b, n))
		in := o.In(start)
		us, sequence, ok := in.Parse([]byte(x))
		at := codec.FromMicros(us)
		if !ok || !at.Equal(a) || sequence != m {
			t.Fatalf("%x is %v and %d, %v; want %v and %d", x, at, sequence, ok, a, m)
		}
		if strings.Compare(x, y) != cmp.Or(a.Compare(b), cmp.Compare(m, n)) {
			t.Fatalf("%x of %v and %x of %v", x, a, y, b)
		}
	})
	check(t, "a range holds the qualifiers of its events", func(t *rapid.T) {
		o := offsets().Draw(t, "offset")
		start := o.Bucket.Start(near().Draw(t, "in"))
		width := int64(o.Bucket.End(start).Sub(start))
		draw := func(name string, more int64) time.Time {
			return start.Add(time.Duration(rapid.Int64Range(-more, width-1+more).Draw(t, name)))
		}
		from, to := draw("from", int64(time.Minute)), draw("to", int64(time.Minute))
		at := laterOf(codec.Truncate(draw("at", 0), o.Precision), codec.Ceil(start, o.Precision))
		if from.After(o.Bucket.End(start).Add(-1)) || !to.After(start) || !from.Before(to) {
			return // the bucket is not part of the read
		}
		begin, end, all := o.Range(start, from, to)
		q := string(o.Append(nil, at, rapid.Uint32().Draw(t, "sequence")))
		in := begin <= q && (end == "" || q < end)
		if want := !at.Before(from) && at.Before(to); in != want || all && !in {
			t.Fatalf("%x of %v in [%x, %x): %v, want %v", q, at, begin, end, in, want)
		}
	})
	check(t, "any qualifier decodes to itself or gives an error", func(t *rapid.T) {
		o := offsets().Draw(t, "offset")
		start := o.Bucket.Start(near().Draw(t, "in"))
		q := string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "qualifier"))
		in := o.In(start)
		us, sequence, ok := in.Parse([]byte(q))
		if !ok {
			if err := in.Refuse([]byte(q)); !errors.Is(err, codec.ErrTimeRange) {
				t.Fatal(err)
			}
			return
		}
		at := codec.FromMicros(us)
		if again := o.Append(nil, at, sequence); !slices.Equal(again, []byte(q)) {
			t.Fatalf("%x is %v, which is %x", q, at, again)
		}
	})
}

// If the last step of a bucket uses all bits of its bytes, the end of the bucket must
// not wrap around to the beginning.
func TestOffsetRangeOfFullBytes(t *testing.T) {
	o := codec.Offset{Bucket: codec.Bucket{Every: 256 * time.Second, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.UnixSeconds}}}, Precision: time.Second}
	start := time.Unix(256*1000, 0).UTC()
	if begin, end, all := o.Range(start, start.Add(10*time.Second), start.Add(255*time.Second+1)); begin != "\x0a" || end != "" || all {
		t.Errorf("%q to %q, %v", begin, end, all)
	}
	if begin, _, _ := o.Range(start, start.Add(255*time.Second+1), start.Add(300*time.Second)); begin <= "\xff\xff\xff\xff\xff" {
		t.Errorf("begins with %q, and the last event is before that", begin)
	}
}

// Every step of the bucket is a valid qualifier. The first step after it, which the
// bytes could represent, belongs to the next bucket.
func TestOffsetsEndWithTheBucket(t *testing.T) {
	for name, o := range map[string]codec.Offset{
		"an hour of seconds":    {Bucket: codec.Bucket{Every: time.Hour}, Precision: time.Second},
		"a month of minutes":    {Bucket: codec.Bucket{Months: 1}, Precision: time.Minute},
		"an hour with sequence": {Bucket: codec.Bucket{Every: time.Hour}, Precision: time.Second, Sequence: true},
	} {
		start := date("2021-02-01") // 28 days, although the bytes could represent 31
		end := o.Bucket.End(start)
		last := codec.Truncate(end.Add(-1), o.Precision)
		in := o.In(start)
		us, _, ok := in.Parse(o.Append(nil, last, 1))
		if !ok || us != last.UnixMicro() {
			t.Errorf("%s: the last step is %d, %v; want %d", name, us, ok, last.UnixMicro())
		}
		next := o.Append(nil, last, 1)
		next[o.Width()-1]++ // does not overflow: the last byte is never 0xff
		if us, _, ok := in.Parse(next); ok || !errors.Is(in.Refuse(next), codec.ErrTimeRange) {
			t.Errorf("%s: the step after the last is %d, %v", name, us, in.Refuse(next))
		}
	}
}
