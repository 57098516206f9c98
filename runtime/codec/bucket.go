package codec

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// week is the bucket width whose default origin is a Monday.
const week = 7 * 24 * time.Hour

// EndlessBucket is the bucket from 1970 to the year 10000, which contains all events of a series: row
// keys do not contain the time.
var EndlessBucket = Bucket{Months: (10_000 - 1970) * 12, Label: Label{Kind: endlessLabel}}

// monday is the first Monday after 1970-01-01, a Thursday, in Unix seconds.
const monday = 4 * 24 * 60 * 60

// Bucket divides time, in UTC, into intervals of a fixed width or of whole months. Each interval is one row of a
// series. Exactly one of Every and Months is set. All methods require a valid Bucket.
type Bucket struct {
	Every  time.Duration // fixed width: whole seconds, at least a minute
	Months int           // calendar width, in months
	// Origin is the start of bucket 1 and aligns all buckets. The zero Origin means
	// 1970-01-01, or Monday 1970-01-05 if the width is a whole number of weeks.
	Origin time.Time
	Label  Label
}

// Endless reports whether the bucket is [EndlessBucket].
func (b Bucket) Endless() bool { return b.Label.Kind == endlessLabel }

// Start returns the start of the bucket that holds t.
func (b Bucket) Start(t time.Time) time.Time { return b.start(b.index(t)) }

// End returns the start of the bucket after the one that holds t.
func (b Bucket) End(t time.Time) time.Time { return b.start(b.index(t) + 1) }

// Widest returns an upper bound of the width of a bucket: it counts 31 days for a month
// and 366 for a year. It is the longest [time.Duration] if the bucket is endless.
func (b Bucket) Widest() time.Duration {
	const days = 24 * time.Hour
	switch {
	case b.Months == 0:
		return b.Every
	case b.Endless():
		return math.MaxInt64
	case b.Months%12 == 0:
		return time.Duration(b.Months/12) * 366 * days
	}
	return time.Duration(b.Months) * 31 * days
}

// index returns the number of buckets from the origin to t; it is negative before the
// origin. It computes in seconds because nanoseconds would overflow.
func (b *Bucket) index(t time.Time) int64 {
	if b.Months > 0 {
		return floorDiv(months(t)-months(b.origin()), int64(b.Months))
	}
	return floorDiv(t.Unix()-b.origin().Unix(), int64(b.Every/time.Second))
}

// start returns the start of the bucket with the given index.
func (b *Bucket) start(index int64) time.Time {
	if b.Months > 0 {
		m := months(b.origin()) + index*int64(b.Months)
		y := floorDiv(m, 12)
		return time.Date(int(y), time.Month(m-12*y+1), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Unix(b.origin().Unix()+index*int64(b.Every/time.Second), 0).UTC()
}

func (b *Bucket) origin() time.Time {
	switch {
	case !b.Origin.IsZero():
		return b.Origin.UTC()
	case b.Every > 0 && b.Every%week == 0:
		return time.Unix(monday, 0).UTC()
	}
	return epoch
}

// months returns the number of months since the year 0.
func months(t time.Time) int64 {
	y, m, _ := t.UTC().Date()
	return int64(y)*12 + int64(m) - 1
}

// Sorted reports whether the labels sort bytewise in ascending or descending order of
// time, so that consecutive buckets form one row range. Unpadded numbers do not sort.
func (b Bucket) Sorted() bool { return b.Label.Kind != NumberLabel || b.Label.Pad > 0 }

// Descending reports whether the labels sort in descending order of time, newest first.
func (b Bucket) Descending() bool { return b.Label.Kind == TimeLabel && b.Label.Format.Reverse }

// Width returns the length of every label in bytes, or 0 if it varies, as it does for unpadded numbers.
func (b Bucket) Width() int { return b.Label.width() }

// Min returns the first instant that has a label: the start of the first bucket from
// 1970 on, or the origin if buckets are numbered.
func (b Bucket) Min() time.Time {
	if b.Label.Kind == NumberLabel {
		return b.origin()
	}
	start := b.Start(epoch)
	if start.Before(epoch) {
		return b.End(epoch)
	}
	return start
}

// Max returns the first instant after Min that has no label: after the largest padded
// number, after the last time that the label's format can represent, or the year 10000.
func (b Bucket) Max() time.Time {
	switch {
	case b.Label.Kind == TimeLabel:
		return Earlier(year10k, b.End(b.Label.Format.Max().Add(-1)))
	case b.Label.Kind == NumberLabel && b.lastNumber() <= b.index(year10k):
		return b.start(b.lastNumber())
	}
	return year10k
}

// lastNumber returns the largest number that a label can represent.
func (b *Bucket) lastNumber() int64 {
	if b.Label.Pad == 0 {
		return math.MaxInt64
	}
	return pow10(b.Label.Pad) - 1
}

// AppendLabel appends the label of the bucket that contains t. It returns
// [ErrTimeRange] for a time outside [b.Min(), b.Max()).
func (b *Bucket) AppendLabel(dst []byte, t time.Time) ([]byte, error) {
	if !t.Before(year10k) {
		return dst, ErrTimeRange
	}
	index := b.index(t)
	switch b.Label.Kind {
	case NumberLabel:
		if index < 0 || index >= b.lastNumber() {
			return dst, ErrTimeRange
		}
		return b.Label.appendNumber(dst, index+1), nil
	case ISOWeekLabel:
		start := b.start(index)
		if start.Before(epoch) {
			return dst, ErrTimeRange
		}
		return appendISOWeek(dst, start), nil
	case endlessLabel:
		if index != 0 {
			return dst, ErrTimeRange
		}
		return dst, nil
	}
	return b.Label.Format.Append(dst, b.start(index))
}

// Within returns a pattern for the labels of the buckets that overlap [from, to); false if there
// are none. After [Bucket.Max], numbers without padding have no limit.
func (b Bucket) Within(from, to time.Time) (KeyPieces, bool) {
	endless := to.After(b.Max())
	from, to = Later(from, b.Min()), Earlier(to, b.Max())
	switch {
	case !from.Before(to):
		return nil, false
	case b.Sorted():
		return stringsBetween(b.label(from), b.label(to.Add(-1))), true
	}
	number := KeyPiece{Text: strconv.FormatInt(b.index(from)+1, 10), Number: true}
	if !endless {
		number.High = strconv.FormatInt(b.index(to.Add(-1))+1, 10)
	}
	return make(KeyPieces, 0, 3).and(KeyPiece{Text: b.Label.Prefix}, number, KeyPiece{Text: b.Label.Suffix}), true
}

// label returns the label of the bucket that contains t, which must have one.
func (b *Bucket) label(t time.Time) string {
	text, _ := b.AppendLabel(nil, t)
	return string(text)
}

// ParseLabel parses a label that [Bucket.AppendLabel] wrote and returns the start of
// the bucket. It rejects everything else with an error that wraps [ErrTimeRange].
func (b *Bucket) ParseLabel(s string) (time.Time, error) {
	start, ok := b.parseLabel(s)
	switch {
	case !ok:
	case b.Label.Kind == TimeLabel: // which parses only what it writes, but also times within buckets
		ok = b.isStart(start)
	default:
		var buf [32]byte
		again, err := b.AppendLabel(buf[:0], start)
		ok = err == nil && string(again) == s
	}
	if !ok {
		return time.Time{}, fmt.Errorf("%w: %s is not %s", ErrTimeRange, quote(s), b.wantedLabel(s))
	}
	return start, nil
}

// isStart reports whether a time that a label represents is the start of a bucket.
func (b *Bucket) isStart(t time.Time) bool {
	return !t.Before(epoch) && t.Before(b.Label.Format.Max()) && t.Before(year10k) && b.Start(t).Equal(t)
}

// wantedLabel describes a valid label, given s, which is none. If s has the right form, it belongs to buckets of
// another width or origin, usually those before a change of the schema.
func (b *Bucket) wantedLabel(s string) string {
	if at, ok := b.parseLabel(s); ok && !at.Before(b.Min()) && at.Before(b.Max()) && !b.Start(at).Equal(at) {
		return fmt.Sprintf("the start of a bucket, such as %s or %s: the row was written with another bucket width or origin", b.label(at), b.label(b.End(at)))
	}
	return "a label of the form " + b.Label.String() + editedLabel
}

func (b *Bucket) parseLabel(s string) (time.Time, bool) {
	switch b.Label.Kind {
	case endlessLabel:
		return epoch, s == ""
	case NumberLabel:
		n, ok := b.Label.parseNumber(s)
		if !ok || n < 1 || n > b.index(year10k)+1 {
			return time.Time{}, false
		}
		return b.start(n - 1), true
	case ISOWeekLabel:
		return parseISOWeek(s)
	}
	return b.Label.Format.parse(s)
}
