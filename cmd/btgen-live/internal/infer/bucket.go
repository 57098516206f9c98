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
	{Every: 24 * time.Hour}, {Every: 7 * 24 * time.Hour}, {Months: 1}, {Months: 3}, {Months: 12},
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
	times := map[time.Time]bool{}
	for _, v := range k.parts[k.at].values {
		at, _ := k.time.parse(v)
		times[at] = true
	}
	gap := k.gap()
	var fitting []codec.Bucket
	for _, b := range widths {
		if k.labels(b) && !wider(b, gap) && k.begins(b) && k.contains(b, inside) {
			fitting = append(fitting, b)
		}
	}
	last := len(fitting) - 1
	switch {
	case last < 0:
		b, ok = k.regular(gap, inside)
		return b, "", ok
	case len(times) < 3 && last > 0:
		return fitting[0], fmt.Sprintf("Is it wider? The sample has %d different buckets.", len(times)), true
	}
	return fitting[last], "", true
}

// labels reports whether the form of the times can name the buckets, and none that is shorter
// can.
func (k *key) labels(b codec.Bucket) bool {
	f := k.time
	switch {
	case f.months > 0:
		return b.Months > 0 && b.Months%f.months == 0 && (f.months == 12 || b.Months < 12)
	case b.Months > 0:
		return f.unit < time.Hour || f.unit == 24*time.Hour
	case b.Every%f.unit != 0:
		return false
	}
	return !f.label() || f.unit >= 24*time.Hour || b.Every < 24*time.Hour
}

// wider reports whether a bucket is wider than the time between two buckets; 0 if it is unknown.
func wider(b codec.Bucket, gap time.Duration) bool {
	if b.Months > 0 {
		return gap > 0 && gap < time.Duration(b.Months)*28*24*time.Hour
	}
	return gap > 0 && b.Every > gap
}

// regular returns the bucket whose width is the time between two buckets, from the first one on.
func (k *key) regular(gap time.Duration, inside func(b codec.Bucket, start time.Time, r *row) bool) (codec.Bucket, bool) {
	b := codec.Bucket{Every: gap}
	if gap < time.Minute || gap%time.Minute != 0 || k.time.months > 0 || gap%k.time.unit != 0 {
		return b, false
	}
	if !k.begins(b) {
		b.Origin, _ = k.time.parse(slices.MinFunc(k.parts[k.at].values, func(x, y string) int {
			s, _ := k.time.parse(x)
			t, _ := k.time.parse(y)
			return s.Compare(t)
		}))
		if !b.Origin.Equal(b.Origin.Truncate(time.Minute)) {
			return b, false // a time that is subtracted from another number, or that of an event
		}
	}
	return b, k.begins(b) && k.contains(b, inside)
}

// gap returns the shortest time between two rows that differ in their time alone; 0 if there
// are none.
func (k *key) gap() time.Duration {
	last := map[string]time.Time{}
	least := time.Duration(0)
	for r, v := range k.parts[k.at].values {
		id := k.id(r, -1)
		at, _ := k.time.parse(v)
		if before, ok := last[id]; ok {
			if d := at.Sub(before).Abs(); d > 0 && (least == 0 || d < least) {
				least = d
			}
		}
		last[id] = at
	}
	return least
}

// begins reports whether all times in keys are starts of buckets.
func (k *key) begins(b codec.Bucket) bool {
	return all(k.parts[k.at].values, func(v string) bool {
		at, _ := k.time.parse(v)
		return b.Start(at).Equal(at)
	})
}

// contains reports whether all rows are inside of their bucket.
func (k *key) contains(b codec.Bucket, inside func(codec.Bucket, time.Time, *row) bool) bool {
	for r := range k.rows {
		at, _ := k.time.parse(k.parts[k.at].values[r])
		if !inside(b, at, &k.rows[r]) {
			return false
		}
	}
	return true
}

// cellsInside reports whether the timestamps of a row are in its bucket.
func cellsInside(b codec.Bucket, start time.Time, r *row) bool {
	oldest, newest := r.bounds()
	return oldest >= start.UnixMicro() && newest < b.End(start).UnixMicro()
}

// numberedBuckets are the buckets of a label that counts them.
type numberedBuckets struct {
	bucket codec.Bucket // with its origin
	doubt  string
}

// countedBuckets returns the buckets that numbers count: with the narrowest usual width for
// which some origin puts all cells into their buckets, and the roundest such origin.
func countedBuckets(rows []row, n *number) *numberedBuckets {
	distinct := map[int64]bool{}
	for _, number := range n.numbers {
		distinct[number] = true
	}
	for _, b := range widths {
		if b.Months > 0 {
			break
		}
		after, until := int64(math.MinInt64), int64(math.MaxInt64) // the origin, in microseconds
		every := b.Every.Microseconds()
		for r := range rows {
			oldest, newest := rows[r].bounds()
			if !plausible(codec.FromMicros(oldest)) || !plausible(codec.FromMicros(newest)) || n.numbers[r] > math.MaxInt64/2/every {
				return nil
			}
			after, until = max(after, newest-n.numbers[r]*every), min(until, oldest-(n.numbers[r]-1)*every)
		}
		origin, ok := roundest(after, until)
		if !ok {
			continue
		}
		b.Origin = origin
		out := &numberedBuckets{bucket: b}
		if len(distinct) < 2 || (until-after)*10 > every*9 && len(distinct) < 4 {
			out.doubt = fmt.Sprintf("Is this the width, and the start of bucket 1? The sample has %d different buckets.", len(distinct))
		}
		if of := restarts(b.Every, after, until, slices.Max(n.numbers)); of != "" {
			out.doubt = strings.TrimSpace(fmt.Sprintf("Do the numbers begin again each %s? Labels must not [K24]. %s", of, out.doubt))
		}
		return out
	}
	return nil
}

// periods are those whose parts calendars count from their start.
var periods = []struct {
	name  string
	span  time.Duration // the longest
	start func(t time.Time) time.Time
}{
	{"year", 366 * 24 * time.Hour, func(t time.Time) time.Time { return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC) }},
	{"quarter", 92 * 24 * time.Hour, func(t time.Time) time.Time {
		return time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
	}},
	{"month", 31 * 24 * time.Hour, func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }},
	{"week", 7 * 24 * time.Hour, codec.Bucket{Every: 7 * 24 * time.Hour}.Start},
	{"day", 24 * time.Hour, codec.Bucket{Every: 24 * time.Hour}.Start},
	{"hour", time.Hour, codec.Bucket{Every: time.Hour}.Start},
}

// restarts returns the period in which numbers of buckets may begin again, as those of days in a
// month do; empty if there is none. Bucket 1 begins after one time and not after another, in
// microseconds. The period may begin at bucket 0, in the middle of a bucket, and in local time.
func restarts(every time.Duration, after, until, most int64) string {
	slack := every + zones
	for _, p := range periods {
		if p.span < 2*every || most > int64(p.span/every)+2 {
			continue
		}
		last := codec.FromMicros(until).Add(slack)
		if p.name == "week" {
			slack += 24 * time.Hour // they begin on Sundays, too
		}
		if !p.start(last).Before(codec.FromMicros(after).Add(-slack)) {
			return p.name
		}
	}
	return ""
}

// roundest returns the roundest instant after one time and not after another, in microseconds:
// a Monday if there is one, else a midnight or a full hour; false if there is none.
func roundest(after, until int64) (time.Time, bool) {
	if after >= until || until < 0 {
		return time.Time{}, false
	}
	for _, every := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute} {
		at := codec.Bucket{Every: every}.Start(codec.FromMicros(until))
		if at.UnixMicro() > after && at.Unix() >= 0 {
			return at, true
		}
	}
	return time.Time{}, false
}
