package layout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/internal/keyset"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// periods resolves the layouts of a table. It returns the newest.
func (r *resolver) periods(s *schema.Table) *Table {
	var newest *Table
	var until time.Time
	for _, of := range s.Periods() {
		t := r.table(&of)
		t.Since, t.SincePos, t.Until = of.Since.V, of.Since.Pos, until
		if until = t.Since; newest == nil {
			newest = t
		} else {
			newest.Older = append(newest.Older, t)
		}
	}
	r.bundle(newest, s)
	r.views(newest, s)
	return newest
}

// checkPeriods rejects layouts of a table that could lose events.
func (r *resolver) checkPeriods() {
	for _, t := range r.layout.Tables {
		periods := t.Periods()
		if !r.checkSince(periods) || slices.ContainsFunc(periods, (*Table).lacksBucket) {
			t.Older = nil // no further checks are possible
			continue
		}
		aligned := true
		for i, older := range t.Older {
			if !r.aligned(periods[i], older) {
				aligned = false // keys could meet where a bucket has two layouts
				continue
			}
			r.checkTTLFields(periods[i], older)
			r.checkServes(t, i)
		}
		for i, older := range t.Older {
			for k := 0; aligned && k <= i; k++ {
				r.checkApart(periods[k], older)
			}
		}
	}
}

// Period describes the times of the events with a layout, such as "since 2027-01-11T00:00:00Z"; empty
// for all times.
func (t *Table) Period() string {
	switch {
	case !t.Since.IsZero() && !t.Until.IsZero():
		return "from " + t.Since.Format(time.RFC3339) + " until " + t.Until.Format(time.RFC3339)
	case !t.Since.IsZero():
		return "since " + t.Since.Format(time.RFC3339)
	case !t.Until.IsZero():
		return "before " + t.Until.Format(time.RFC3339)
	}
	return ""
}

// lacksBucket reports whether the width of the buckets is missing, which was reported.
func (t *Table) lacksBucket() bool { return t.Pattern.Bucketed() && t.Bucket.Widest() == 0 }

// checkSince rejects layouts without a since, and layouts out of order. It reports whether
// there are no errors.
func (r *resolver) checkSince(periods []*Table) bool {
	before := len(r.found)
	oldest := len(periods) - 1
	for i, t := range periods[:oldest] {
		switch next := periods[i+1].Since; {
		case !t.SincePos.IsValid():
			r.reject(t.Pos, "no-since", t.ID)
		case !next.IsZero() && !next.Before(t.Since):
			r.reject(periods[i+1].SincePos, "not-before", schema.FormatInstant(next), schema.FormatInstant(t.Since))
		}
	}
	if last := periods[oldest]; last.SincePos.IsValid() {
		r.reject(last.SincePos, "since-of-oldest", last.ID, diag.Code("before: ["+r.earlier(last)+"]"))
	}
	return len(r.found) == before
}

// earlier proposes a layout before one: with another bucket, or in another table.
func (r *resolver) earlier(t *Table) string {
	for _, w := range append([]time.Duration{24 * time.Hour}, t.Narrower()...) {
		older := t.WithBucket(r.layout, w)
		if t.Pattern.Bucketed() && !t.Endless() && w != t.Bucket.Widest() && w%r.layout.Precision == 0 && r.begins(older, t.Since) {
			return "{bucket: " + schema.FormatDuration(w) + "}"
		}
	}
	return "{table: " + t.ID + "_old}"
}

// aligned rejects a layout that begins within a bucket, because the bucket would have two
// layouts. It reports whether there are no errors.
func (r *resolver) aligned(newer, older *Table) bool {
	at := newer.Since
	if newer.Endless() || older.Endless() {
		r.refuse(newer.SincePos, "K22", "endless-since")
		return false
	}
	if r.begins(newer, at) && r.begins(older, at) {
		return true
	}
	var near []string
	for i, edge := range []func(t *Table, at time.Time) time.Time{r.nextStart, r.startOf} { // the later first: the earlier may be past
		for t, n := at, 0; n < maxAlignment; n++ {
			next := edge(newer, t)
			if other := edge(older, t); other.After(next) == (i == 0) {
				next = other
			}
			if next.Equal(t) {
				near = append(near, diag.Code("since: "+schema.FormatInstant(t)))
				break
			}
			t = next
		}
	}
	hint := "the layouts have no common bucket boundary: give their buckets a common origin"
	if len(near) > 0 {
		hint = "write " + strings.Join(near, " or ")
	}
	r.reject(newer.SincePos, "not-a-boundary", schema.FormatInstant(at), hint)
	return false
}

// maxAlignment is the maximum number of buckets to try in the search for a common boundary.
const maxAlignment = 10_000

// startOf returns the start of the bucket that contains a time or, with a row per event, the
// stored time.
func (r *resolver) startOf(t *Table, at time.Time) time.Time {
	if t.Pattern.Bucketed() {
		return t.Bucket.Start(at)
	}
	return codec.Truncate(at, r.layout.Precision)
}

// begins reports whether a time is the start of a bucket.
func (r *resolver) begins(t *Table, at time.Time) bool { return r.startOf(t, at).Equal(at) }

// nextStart returns the first start of a bucket that is not before a time.
func (r *resolver) nextStart(t *Table, at time.Time) time.Time {
	switch {
	case r.begins(t, at):
		return at
	case t.Pattern.Bucketed():
		return t.Bucket.End(at)
	}
	return codec.Ceil(at, r.layout.Precision)
}

// checkTTLFields rejects an earlier layout whose events specify their time to live
// differently from those of the next layout.
func (r *resolver) checkTTLFields(newer, older *Table) {
	if a, b := ttlField(newer), ttlField(older); a != b {
		r.reject(older.Pos, "other-expiry", b, a)
	}
	if older.HasSequence() && !newer.HasSequence() {
		r.reject(newer.KeyPos, "sequence-lost", schema.FormatInstant(older.Until), diag.Code(SegmentsText(append(newer.SegmentTexts(), "{sequence: true}"))))
	}
}

// ttlField describes how an event of a table specifies its time to live.
func ttlField(t *Table) string {
	switch {
	case t.HasClasses():
		return "a TTL class"
	case slices.ContainsFunc(t.Families, func(f Family) bool { return f.Life.Timestamp == codec.TimestampExpiry }):
		return "an expiry"
	case slices.ContainsFunc(t.Families, func(f Family) bool { return f.Life.Timestamp == codec.TimestampShifted }):
		return "an optional time to live"
	}
	return "no time to live"
}

// checkServes rejects an earlier layout that cannot answer the reads of the table.
func (r *resolver) checkServes(t *Table, i int) {
	older := t.Older[i]
	reads := Query{By: r.layout.AllSeries()}
	if why := reads.of(r.layout, older).unserved(r.layout); t == r.layout.Read && why != "" {
		r.reject(older.Pos, "unanswered-series", schema.FormatInstant(older.Until), why)
	}
	for k := range r.layout.Queries {
		q := &r.layout.Queries[k]
		if q.Table != t {
			continue
		}
		if why := q.of(r.layout, older).unserved(r.layout); why != "" {
			r.reject(older.Pos, "unanswered-query", schema.FormatInstant(older.Until), q.Name, why, q.Name)
		}
		*q = *q.resolve(r.layout, t)
	}
}

// checkApart rejects two layouts in the same table and family whose rows could have the same
// key, because one would read the other's data.
func (r *resolver) checkApart(newer, older *Table) {
	if newer.ID != older.ID || newer.Unknown || older.Unknown {
		return
	}
	shared := false
	for _, a := range newer.AllFamilies() {
		for _, b := range older.AllFamilies() {
			shared = shared || a.Name == b.Name
			if a.Name == b.Name && (a.Strategy != b.Strategy || a.GC.String() != b.GC.String() || a.Life.Default != b.Life.Default) {
				r.reject(b.GCPos, "other-ttl", b.Name, diag.Code("family: "+schema.Quoted(b.Name+"_old")))
			}
		}
	}
	if !shared {
		return
	}
	if newer.KeyFields != nil && !slices.Equal(newer.KeyFields, older.KeyFields) {
		r.reject(older.Pos, "older-key-schema", older.ID, "table: "+schema.Quoted(older.ID))
	}
	example, overlap := keyset.Overlap(r.layout.keySet(newer), r.layout.keySet(older))
	if !overlap {
		return
	}
	if example != "" {
		example = ", such as " + strconv.Quote(example)
	}
	r.reject(newer.SincePos, "same-keys", schema.FormatInstant(older.Until), example, r.apartHint(newer, older))
}

// apartHint proposes another key for the newer of two layouts.
func (r *resolver) apartHint(newer, older *Table) string {
	i := slices.Index(r.layout.Tables, newer)
	if i < 0 {
		return fmt.Sprintf("one of the two must have used a table other than %s, or another family", older.ID)
	}
	t := &r.schema.Tables[i]
	return strings.Join([]string{
		"begin the new key with a constant, and write the old key in before:", "tables:", "  " + schema.Quoted(t.Name.V) + ":",
		"    key: " + t.KeyText(append([]string{"{const: v2}"}, t.SegmentTexts()...)),
	}, "\n")
}

// keySet returns a superset of the row keys of a layout.
func (l *Layout) keySet(t *Table) keyset.Set {
	var parts []keyset.Set
	for i, g := range t.Segments {
		parts = append(parts, l.segmentSet(t, g), keyset.Text(t.DelimiterAfter(i)))
	}
	return keyset.Concat(parts...)
}

// segmentSet returns the possible contents of a key segment.
func (l *Layout) segmentSet(t *Table, g codec.Segment) keyset.Set {
	width := t.Width(&g)
	switch g.Kind {
	case codec.ConstSegment:
		return keyset.Text(g.Const)
	case codec.BucketSegment, codec.TimeSegment:
		return timeSet(t)
	case codec.MetricSegment:
		var names []keyset.Set
		for _, c := range t.AllColumns() {
			names = append(names, keyset.Text(c.Qualifier))
		}
		return keyset.Union(names...)
	case codec.SaltSegment, codec.SequenceSegment:
		if t.Delimiter != "" {
			return keyset.Repeat(keyset.Digits, width)
		}
		return keyset.Repeat(keyset.AnyByte, width)
	}
	return l.valueSet(t, g, width)
}

// valueSet returns the texts of a series value.
func (l *Layout) valueSet(t *Table, g codec.Segment, width int) keyset.Set {
	f := &l.Series[g.Series]
	own, samples := f.Type.Traits(), valueSamples(f, g.Form)
	switch {
	case g.Form.InBytes(g.Type):
		return keyset.Repeat(keyset.AnyByte, width)
	case slices.Contains(own.KeyTexts, "-1") && g.Form.Encoding.Alphabet() == "":
		return keyset.Concat(keyset.Optional(keyset.Text("-")), keyset.Repeat(keyset.Digits, width))
	case g.Form.Encoding == codec.KeyText && g.Form.Pad == 0 && (own.Words != nil || f.Enum != nil && len(f.Enum) <= maxEnumSet):
		var sets []keyset.Set
		for _, text := range samples {
			sets = append(sets, keyset.Text(text))
		}
		return keyset.Union(sets...)
	case samples != nil:
		return keyset.Repeat(keyset.Bytes(strings.Join(samples, "")), width)
	case len(t.Delimiter) == 1 && !g.Joined:
		return keyset.Repeat(keyset.AnyByte.Without(t.Delimiter[0]), width)
	}
	return keyset.Repeat(keyset.AnyByte, width)
}

// maxEnumSet is the maximum size of an enum whose names are distinguished.
const maxEnumSet = 100

// timeSet returns the texts of the times, or the labels of the buckets, of a layout's events.
func timeSet(t *Table) keyset.Set {
	from, to := t.Since, t.Until
	if to.IsZero() {
		to = scan.MaxTime
	}
	class := keyset.Digits
	var times codec.KeyTimes = t.Time
	format := t.Time
	if t.Pattern.Bucketed() {
		times, format, to = t.Bucket, t.Bucket.Label.Format, slices.MinFunc([]time.Time{to, t.Bucket.Max()}, time.Time.Compare)
	}
	if format.InBytes() {
		class = keyset.AnyByte
	}
	var parts []keyset.Set
	pieces, some := times.Within(from, to)
	if !some {
		return keyset.Union() // no event has such a time
	}
	for _, p := range pieces {
		parts = append(parts, pieceSet(p, class))
	}
	return keyset.Concat(parts...)
}

// pieceSet returns the texts of a piece of a pattern for times.
func pieceSet(p codec.KeyPiece, class keyset.Class) keyset.Set {
	if p.High == "" {
		return keyset.Text(p.Text)
	}
	var ranges []keyset.Set
	for n := len(p.Text); n <= len(p.High); n++ {
		first, last := "1"+strings.Repeat("0", n-1), strings.Repeat("9", n)
		if n == len(p.Text) {
			first = p.Text
		}
		if n == len(p.High) {
			last = p.High
		}
		ranges = append(ranges, keyset.Between(first, last, class))
	}
	return keyset.Union(ranges...)
}
