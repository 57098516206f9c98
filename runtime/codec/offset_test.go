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

	"github.com/btgen-dev/btgen/golden/testlong"
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
			{Every: time.Minute}, {Every: 256 * time.Second}, {Every: time.Hour}, {Every: day}, {Every: 7 * day}, {Months: 1}, {Months: 12},
			{Every: time.Hour, Origin: date("2021-03-05T00:30:00Z")}, {Every: day, Origin: date("2021-03-05T00:00:17Z")}, {Every: day, Origin: date("2021-03-05T06:30:00Z")},
		}).Filter(func(b codec.Bucket) bool { return b.Every%o.Precision == 0 }).Draw(t, "bucket") // schemas require this
		return o
	})
}

// instant draws an instant of a bucket, or one up to more before or after it, and often the last one.
func instant(t *rapid.T, start, end time.Time, more time.Duration, name string) time.Time {
	width := int64(end.Sub(start))
	any := rapid.Int64Range(-int64(more), width-1+int64(more))
	return start.Add(time.Duration(rapid.OneOf(rapid.Just(width-1), any).Draw(t, name)))
}

func TestOffsets(t *testing.T) {
	testlong.Checks(t, 100)
	check(t, "offsets decode, and sort as time does", func(t *rapid.T) {
		o := offsets().Draw(t, "offset")
		start := o.Bucket.Start(near().Draw(t, "in"))
		draw := func(name string) (time.Time, uint32) {
			at := instant(t, start, o.Bucket.End(start), 0, name)
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
		end := o.Bucket.End(start)
		from, to := instant(t, start, end, time.Minute, "from"), instant(t, start, end, time.Minute, "to")
		at := laterOf(codec.Truncate(instant(t, start, end, 0, "at"), o.Precision), codec.Ceil(start, o.Precision))
		if !from.Before(end) || !to.After(start) || !from.Before(to) {
			return // the bucket is not part of the read
		}
		begin, until, all := o.Range(start, from, to)
		q := string(o.Append(nil, at, rapid.Uint32().Draw(t, "sequence")))
		in := begin <= q && (until == "" || q < until)
		if want := !at.Before(from) && at.Before(to); in != want || all && !in {
			t.Fatalf("%x of %v in [%x, %x): %v, want %v", q, at, begin, until, in, want)
		}
	})
	check(t, "any qualifier decodes to itself, in its bucket, or gives an error", func(t *rapid.T) {
		o := offsets().Draw(t, "offset")
		start := o.Bucket.Start(near().Draw(t, "in"))
		q := string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "qualifier"))
		if rapid.Bool().Draw(t, "near") { // the bytes can represent more than the steps of a bucket
			near := o.Append(nil, codec.Truncate(instant(t, start, o.Bucket.End(start), 0, "at"), o.Precision), 1)
			near[o.Width()-1] += byte(rapid.IntRange(0, 1).Draw(t, "step"))
			q = string(near)
		}
		in := o.In(start)
		us, sequence, ok := in.Parse([]byte(q))
		if !ok {
			if err := in.Refuse([]byte(q)); !errors.Is(err, codec.ErrTimeRange) {
				t.Fatal(err)
			}
			return
		}
		at := codec.FromMicros(us)
		if again := o.Append(nil, at, sequence); !slices.Equal(again, []byte(q)) || at.Before(start) || !at.Before(o.Bucket.End(start)) {
			t.Fatalf("%x is %v, which is %x", q, at, again)
		}
	})
}
