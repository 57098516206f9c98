package evolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// key compares the segments of row keys.
func (c *comparer) key() {
	old, new := lock.Plain(c.old.Segments), lock.Plain(c.new.Segments)
	alike := c.old.Delimiter == c.new.Delimiter
	switch {
	case alike && c.sameRows(old, new):
	case alike && slices.EqualFunc(unsalted(old), unsalted(new), sameSegment):
		c.add(Change{place: atKey, way: way{restore: keyRestore(c.old), beside: true}}, "salt", saltText(old), saltText(new))
	default:
		change := Change{place: atKey, segment: c.segment(old, new), way: way{restore: keyRestore(c.old), beside: true}}
		if i := change.segment - 1; keyText(c.old) == keyText(c.new) && i >= 0 && i < len(old) {
			change.way = way{restore: fmt.Sprintf("%s: {type: %s}", old[i].Name, old[i].Type)}
			c.add(change, "segment", new[i].Name, old[i].Type, new[i].Type)
			return
		}
		c.add(change, "key", keyText(c.old), keyText(c.new))
	}
}

// sameRows reports whether keys have the same bytes. It adds the changes of what else differs: names of series
// values, types, values of enums, and whether rows with other texts than those of constants are of other schemas.
func (c *comparer) sameRows(old, new []lock.Segment) bool {
	if c.old.KeyFact() != c.new.KeyFact() {
		return false
	}
	has := func(segments []lock.Segment, name string) bool {
		return slices.ContainsFunc(segments, func(g lock.Segment) bool { return g.Kind == codec.SeriesSegment && g.Name == name })
	}
	var same comparer
	for i, a := range old {
		b := new[i]
		if a.Name != b.Name {
			if has(new, a.Name) || has(old, b.Name) { // a different order
				return false
			}
			same.add(Change{Item: b.Name, place: atKey}, "series-renamed", a.Name, b.Name)
		}
		switch {
		case a.Type == b.Type && a.Type == schema.Enum:
			same.enum(enumOf{b.Name, b.Name, a.Enum, b.Enum, a.Form.Encoding == codec.KeyText})
		case a.Type == b.Type:
		case !widens(a.Type, b.Type):
			return false
		default:
			same.add(Change{Item: b.Name, place: atKey}, "series-wider", b.Name, a.Type, b.Type)
		}
		if a.Tells == b.Tells {
			continue
		}
		effect := "reads report rows with another text as undecodable instead of skipping them"
		if b.Tells {
			effect = "reads skip rows with another text instead of reporting them as undecodable"
		}
		same.add(Change{place: atKey, segment: i + 1, Old: segmentText(c.old, a), New: segmentText(c.new, b)}, "kind", b.Const, effect)
	}
	c.changes = append(c.changes, same.changes...)
	return true
}

// segment returns the number of the first new segment that differs from the old one, counted
// from 1; 0 if the delimiter differs, or segments were only removed from the end.
func (c *comparer) segment(old, new []lock.Segment) int {
	if c.old.Delimiter != c.new.Delimiter {
		return 0
	}
	for i, g := range new {
		if i >= len(old) || !sameSegment(old[i], g) {
			return i + 1
		}
	}
	return 0
}

// sameSegment reports whether two segments write the same bytes for a value. Values of an
// enum are compared elsewhere.
func sameSegment(a, b lock.Segment) bool {
	return a.Kind == b.Kind && a.Name == b.Name && a.Type == b.Type && a.Form == b.Form && a.Const == b.Const && a.Joined == b.Joined &&
		a.Buckets == b.Buckets && slices.Equal(a.Salted, b.Salted)
}

// unsalted returns the segments that are not a salt.
func unsalted(segments []lock.Segment) []lock.Segment {
	return slices.DeleteFunc(slices.Clone(segments), func(g lock.Segment) bool { return g.Kind == codec.SaltSegment })
}

// saltText describes the salt of a key.
func saltText(segments []lock.Segment) string {
	for i, g := range segments {
		if g.Kind == codec.SaltSegment {
			return fmt.Sprintf("{hash: [%s], buckets: %d} at segment %d", strings.Join(g.Salted, ", "), g.Buckets, i+1)
		}
	}
	return "no salt"
}

// widens reports whether every stored value of one type is also a value of the other, with the
// same bytes in cells and in text keys.
func widens(from, to schema.Type) bool {
	return slices.Contains(from.Traits().Widens, to)
}

// bucket compares the buckets of bucket patterns.
func (c *comparer) bucket() {
	if !c.new.Pattern.Bucketed() || c.old.BucketFact() == c.new.BucketFact() {
		return
	}
	was, is := bucketText(c.old.Bucket), bucketText(c.new.Bucket)
	c.add(Change{place: atBucket, way: way{restore: "bucket: " + was, beside: true}}, "bucket", was, is)
}

// bucketText returns a bucket in the schema language.
func bucketText(b codec.Bucket) string {
	out := schema.Bucket{Every: set(schema.Span{Fixed: b.Every, Months: b.Months})}
	if b.Endless() || b.Label.Format.Reverse { // the key has it
		return out.String()
	}
	out.Label = set(b.Label.String())
	if !b.Origin.IsZero() {
		out.Origin = set(b.Origin)
	}
	return out.String()
}

// time compares the time in the keys of patterns with a row per event.
func (c *comparer) time() {
	if a, b := c.old.TimeKey, c.new.TimeKey; a != b && !c.new.Pattern.Bucketed() {
		c.add(Change{place: atKey, way: way{restore: "{" + timeText(a) + "}", beside: true}}, "key-time", timeText(a), timeText(b))
	}
	if c.old.Sequence != c.new.Sequence {
		c.add(Change{Item: "sequence", place: atKey, Old: offsetText(c.old.Sequence), New: offsetText(c.new.Sequence), way: way{beside: true}}, "tie-breaker")
	}
}

func offsetText(sequence bool) string {
	if sequence {
		return "qualifier: offset, tie-breaker"
	}
	return "qualifier: offset"
}

// timeText returns the time of a key in the schema language.
func timeText(f codec.TimeFormat) string {
	return strings.Trim(timed(schema.SegmentTime, f).String(), "{}")
}

// timed returns a segment of the schema language with a time format.
func timed(kind schema.SegmentKind, f codec.TimeFormat) schema.Segment {
	forward := f
	forward.Reverse, forward.From = false, codec.Largest
	out := schema.Segment{Kind: kind, Format: set(forward.String()), Reverse: given(f.Reverse)}
	if f.From != codec.Largest {
		out.From = set(f.From.String())
	}
	return out
}

// precision compares the precision of event times.
func (c *comparer) precision() {
	a, b := c.old.Precision, c.new.Precision
	was, is := schema.FormatDuration(a), schema.FormatDuration(b)
	switch {
	case a == b:
	case c.new.Pattern.Naming() == codec.NamedByTime:
		c.add(Change{place: atTable, Old: "offsets counted in " + was, New: "offsets counted in " + is, way: way{restore: "time: {precision: " + was + "}"}}, "offsets", was, is)
	case b > a:
		c.add(Change{place: atTable}, "coarser", was, is)
	default:
		c.add(Change{place: atTable}, "precision", was, is)
	}
}

// keyText describes a row key in messages.
func keyText(l *lock.Layout) string {
	text := "[" + strings.Join(segmentTexts(l), ", ") + "]"
	if l.Delimiter != "" {
		text += " with delimiter " + schema.Quoted(l.Delimiter)
	}
	return text
}

// keyRestore returns a row key in the schema language.
func keyRestore(l *lock.Layout) string {
	out, t := segmentTexts(l), schema.Table{}
	if l.Sequence {
		out = append(out, "{sequence: true}")
	}
	if l.Delimiter != "" {
		t.Delimiter = set(l.Delimiter)
	}
	return "key: " + t.KeyText(out)
}

// segmentTexts returns the segments of a row key in the schema language.
func segmentTexts(l *lock.Layout) (out []string) {
	for _, g := range l.Segments {
		out = append(out, segmentText(l, g))
	}
	return out
}

// segmentText returns a segment in the schema language.
func segmentText(l *lock.Layout, g lock.Segment) string {
	out := schema.Segment{}
	switch g.Kind {
	case codec.ConstSegment:
		out = schema.Segment{Kind: schema.SegmentConst, Const: set(g.Const), Tells: given(g.Tells)}
	case codec.BucketSegment:
		if out.Kind = schema.SegmentBucket; l.Bucket.Label.Format.Reverse {
			out = timed(schema.SegmentBucket, l.Bucket.Label.Format)
		}
	case codec.TimeSegment:
		out = timed(schema.SegmentTime, l.TimeKey)
	case codec.MetricSegment:
		return "metric"
	case codec.SequenceSegment:
		return "{sequence: true}"
	case codec.SaltSegment:
		out = schema.Segment{Kind: schema.SegmentHash, Buckets: set(g.Buckets)}
		for _, name := range g.Salted {
			out.Hash = append(out.Hash, set(name))
		}
	case codec.SeriesSegment:
		f := g.Form
		out = schema.Segment{Name: set(g.Name), Pad: given(f.Pad), Reverse: given(f.Reverse), Escape: given(f.Escape)}
		if f != (codec.KeyForm{}) || g.Joined {
			out.Encoding = set(f.Encoding.String())
		}
	}
	out.Joined = given(g.Joined)
	return out.String()
}

// given returns a value that is written in the schema language, if it is not zero.
func given[T comparable](v T) (out schema.Value[T]) {
	if v != out.V {
		out = set(v)
	}
	return out
}
