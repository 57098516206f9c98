package infer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// widths are the usual widths of buckets, in ascending order.
var widths = []codec.Bucket{
	{Every: time.Minute}, {Every: 5 * time.Minute}, {Every: 10 * time.Minute}, {Every: 15 * time.Minute}, {Every: 30 * time.Minute},
	{Every: time.Hour}, {Every: 2 * time.Hour}, {Every: 3 * time.Hour}, {Every: 4 * time.Hour}, {Every: 6 * time.Hour}, {Every: 12 * time.Hour},
	{Every: day}, {Every: 7 * day}, {Months: 1}, {Months: 3}, {Months: 12},
}

// span returns the width of a bucket in the schema language.
func span(b codec.Bucket) string {
	return schema.Span{Fixed: b.Every, Months: b.Months}.String()
}

// bounds returns the times of the oldest and the newest cell of a row.
func (r *row) bounds() (oldest, newest int64) {
	oldest, newest = math.MaxInt64, math.MinInt64
	for i := range r.cells {
		oldest, newest = min(oldest, r.cells[i].at), max(newest, r.cells[i].at)
	}
	return oldest, newest
}

// bucketOf returns the widest usual bucket that begins at the times in the keys and contains the
// rows, as inside reports; or else one as wide as the times are apart. It is false if there is
// none. The doubt is a question about the width.
func (k *key) bucketOf(inside func(b codec.Bucket, start time.Time, r *row) bool) (b codec.Bucket, doubt string, ok bool) {
	f := k.time
	if f.bucket != nil {
		return *f.bucket, f.doubt, true
	}
	fits := func(b codec.Bucket) bool {
		for r, at := range f.at {
			if !b.Start(at).Equal(at) || !inside(b, at, &k.rows[r]) {
				return false
			}
		}
		return true
	}
	gap := k.gap()
	var fitting []codec.Bucket
	for _, b := range widths {
		wider := gap > 0 && (b.Every > gap || time.Duration(b.Months)*28*day > gap)
		if f.names(b) && !wider && fits(b) {
			fitting = append(fitting, b)
		}
	}
	last, distinct := len(fitting)-1, k.parts[k.at].distinct
	switch b = (codec.Bucket{Every: gap}); {
	case last == 0 || last > 0 && distinct > 2:
		return fitting[last], "", true
	case last > 0:
		return fitting[0], fmt.Sprintf("Is it wider? The sample has %d different buckets.", distinct), true
	case gap < time.Minute || gap%time.Minute != 0 || f.months > 0 || gap%f.unit != 0:
		return b, "", false
	case !fits(b):
		b.Origin = slices.MinFunc(f.at, time.Time.Compare)
		return b, "", b.Origin.Equal(b.Origin.Truncate(time.Minute)) && fits(b) // others are times of events, or minus another number
	}
	return b, "", true
}

// names reports whether the form of the times can name the buckets, and none that is shorter
// can.
func (f *timeForm) names(b codec.Bucket) bool {
	switch {
	case f.months > 0:
		return b.Months > 0 && b.Months%f.months == 0 && (f.months == 12 || b.Months < 12)
	case b.Months > 0:
		return f.unit < time.Hour || f.unit == day
	}
	return b.Every%f.unit == 0 && (!f.label() || f.unit >= day || b.Every < day)
}

// gap returns the shortest time between two rows that differ in their time alone; 0 if there
// are none.
func (k *key) gap() (least time.Duration) {
	last := map[string]time.Time{}
	for r, at := range k.time.at {
		id := k.id(r, -1)
		if before, ok := last[id]; ok {
			if d := at.Sub(before).Abs(); d > 0 && (least == 0 || d < least) {
				least = d
			}
		}
		last[id] = at
	}
	return least
}

// cellsInside reports whether the timestamps of a row are in its bucket.
func cellsInside(b codec.Bucket, start time.Time, r *row) bool {
	oldest, newest := r.bounds()
	return oldest >= start.UnixMicro() && newest < b.End(start).UnixMicro()
}

// countedBuckets returns the form of the buckets that numbers count: those with the narrowest usual width for
// which some origin puts all cells into their buckets, and the roundest such origin.
func countedBuckets(rows []row, numbers []int64) *timeForm {
	for _, b := range widths {
		if b.Months > 0 {
			break
		}
		after, until := int64(math.MinInt64), int64(math.MaxInt64) // the origin, in microseconds
		every := b.Every.Microseconds()
		for r, n := range numbers {
			oldest, newest := rows[r].bounds()
			if !plausible(codec.FromMicros(oldest)) || !plausible(codec.FromMicros(newest)) || n > math.MaxInt64/2/every {
				return nil
			}
			after, until = max(after, newest-n*every), min(until, oldest-(n-1)*every)
		}
		var ok bool
		if b.Origin, ok = roundest(after, until); !ok {
			continue
		}
		f := &timeForm{unit: b.Every, bucket: &b}
		distinct := map[int64]bool{}
		for _, n := range numbers {
			distinct[n] = true
			f.at = append(f.at, codec.FromMicros(b.Origin.UnixMicro()+(n-1)*every))
		}
		if len(distinct) < 2 || (until-after)*10 > every*9 && len(distinct) < 4 {
			f.doubt = fmt.Sprintf("Is this the width, and the start of bucket 1? The sample has %d different buckets.", len(distinct))
		}
		if of := restarts(b.Every, after, until, slices.Max(numbers)); of != "" {
			f.doubt = strings.TrimSpace(fmt.Sprintf("Do the numbers begin again each %s? Labels must not [K24]. %s", of, f.doubt))
		}
		return f
	}
	return nil
}

// restarts returns the period in which numbers of buckets may begin again, as those of days in a
// month do; empty if there is none. Bucket 1 begins after one time and not after another, in
// microseconds. The period may begin at bucket 0, in the middle of a bucket, on a Sunday, and in local time.
func restarts(every time.Duration, after, until, most int64) string {
	for _, p := range []struct {
		name string
		codec.Bucket
	}{{"year", codec.Bucket{Months: 12}}, {"quarter", codec.Bucket{Months: 3}}, {"month", codec.Bucket{Months: 1}},
		{"week", codec.Bucket{Every: 7 * day}}, {"day", codec.Bucket{Every: day}}, {"hour", codec.Bucket{Every: time.Hour}}} {
		start, slack := p.Start(codec.FromMicros(until).Add(every+zones)), every+zones
		if p.Every == 7*day {
			slack += day
		}
		if p.Widest() >= 2*every && most <= int64(p.Widest()/every)+2 && !start.Before(codec.FromMicros(after).Add(-slack)) {
			return p.name
		}
	}
	return ""
}

// roundest returns the roundest instant after one time and not after another, in microseconds:
// a Monday if there is one, else a midnight or a full hour; false if there is none.
func roundest(after, until int64) (time.Time, bool) {
	for _, every := range []time.Duration{7 * day, day, time.Hour, time.Minute} {
		at := codec.Bucket{Every: every}.Start(codec.FromMicros(max(0, until)))
		if until >= 0 && at.UnixMicro() > after && at.Unix() >= 0 {
			return at, true
		}
	}
	return time.Time{}, false
}
