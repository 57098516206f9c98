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
	switch {
	case c.old.Delimiter == c.new.Delimiter && slices.EqualFunc(old, new, sameSegment):
		c.kinds(old, new)
		c.keyEnums(old, new)
	case c.old.Delimiter == c.new.Delimiter && slices.EqualFunc(unsalted(old), unsalted(new), sameSegment):
		c.add(Change{Keys: true, place: atKey, way: way{restore: keyRestore(c.old), beside: true}}, "salt", saltText(old), saltText(new))
	case c.old.Delimiter == c.new.Delimiter && c.renamedSeries(old, new):
		c.keyEnums(old, new)
	default:
		change := Change{Keys: true, place: atKey, segment: c.segment(old, new), way: way{restore: keyRestore(c.old), beside: true}}
		if i := change.segment - 1; keyText(c.old) == keyText(c.new) && i >= 0 && i < len(old) {
			change.way = way{restore: fmt.Sprintf("%s: {type: %s}", old[i].Name, old[i].Type)}
			c.add(change, "segment", new[i].Name, old[i].Type, new[i].Type)
			return
		}
		c.add(change, "key", keyText(c.old), keyText(c.new))
	}
}

// kinds compares whether rows with other texts than those of constants are of other schemas.
func (c *comparer) kinds(old, new []lock.Segment) {
	for i, g := range new {
		if g.Tells == old[i].Tells {
			continue
		}
		effect := "reads report rows with another text as undecodable instead of skipping them"
		if g.Tells {
			effect = "reads skip rows with another text instead of reporting them as undecodable"
		}
		c.add(Change{place: atKey, segment: i + 1, Old: segmentText(c.old, old[i]), New: segmentText(c.new, g)}, "kind", g.Const, effect)
	}
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

// renamedSeries reports whether the keys differ only in the names of series values, and in types
// whose values have the same bytes. It adds changes only in this case.
func (c *comparer) renamedSeries(old, new []lock.Segment) bool {
	if c.old.KeyFact() != c.new.KeyFact() {
		return false
	}
	has := func(segments []lock.Segment, name string) bool {
		return slices.ContainsFunc(segments, func(g lock.Segment) bool { return g.Kind == codec.SeriesSegment && g.Name == name })
	}
	var changes comparer
	for i, a := range old {
		b := new[i]
		switch {
		case a.Name != b.Name && (has(new, a.Name) || has(old, b.Name)): // a different order
			return false
		case a.Name != b.Name:
			changes.add(Change{Item: b.Name, place: atKey}, "series-renamed", a.Name, b.Name)
		}
		switch {
		case a.Type == b.Type:
		case !widens(a.Type, b.Type):
			return false
		default:
			changes.add(Change{Item: b.Name, place: atKey}, "series-wider", b.Name, a.Type, b.Type)
		}
	}
	c.changes = append(c.changes, changes.changes...)
	return len(changes.changes) > 0
}

// widens reports whether every stored value of one type is also a value of the other, with the
// same bytes in cells and in text keys.
func widens(from, to schema.Type) bool {
	return slices.Contains(from.Traits().Widens, to)
}

// keyEnums compares the enums of keys.
func (c *comparer) keyEnums(old, new []lock.Segment) {
	for i := range old {
		if old[i].Kind == codec.SeriesSegment && old[i].Type == schema.Enum && new[i].Type == schema.Enum {
			c.enum(enumOf{new[i].Name, new[i].Name, old[i].Enum, new[i].Enum, old[i].Form.Encoding == codec.KeyText})
		}
	}
}

// bucket compares the buckets of bucket patterns.
func (c *comparer) bucket() {
	if !c.new.Pattern.Bucketed() || c.old.BucketFact() == c.new.BucketFact() {
		return
	}
	was, is := bucketText(c.old.Bucket), bucketText(c.new.Bucket)
	c.add(Change{Keys: true, place: atBucket, way: way{restore: "bucket: " + was, beside: true}}, "bucket", was, is)
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
		c.add(Change{Keys: true, place: atKey, way: way{restore: "{" + timeText(a) + "}", beside: true}}, "key-time", timeText(a), timeText(b))
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
	return "time: " + reversedText(f)
}

// reversedText returns a time format in the schema language, with reverse if it is reversed.
func reversedText(f codec.TimeFormat) string {
	forward := f
	forward.Reverse, forward.From = false, codec.Largest
	text := schema.Quoted(forward.String())
	if f.Reverse {
		text += ", reverse: " + f.From.String()
	}
	return text
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
	var out []string
	for _, g := range l.Segments {
		out = append(out, segmentText(l, g))
	}
	text := "[" + strings.Join(out, ", ") + "]"
	if l.Delimiter != "" {
		text += " with delimiter " + schema.Quoted(l.Delimiter)
	}
	return text
}

// keyRestore returns a row key in the schema language.
func keyRestore(l *lock.Layout) string {
	var out []string
	for _, g := range l.Segments {
		out = append(out, segmentText(l, g))
	}
	if l.Sequence {
		out = append(out, "{sequence: true}")
	}
	t := schema.Table{}
	if l.Delimiter != "" {
		t.Delimiter = set(l.Delimiter)
	}
	return "key: " + t.KeyText(out)
}

// segmentText returns a segment in the schema language.
func segmentText(l *lock.Layout, g lock.Segment) string {
	switch g.Kind {
	case codec.ConstSegment:
		kind := ""
		if g.Tells {
			kind = ", kind: true"
		}
		return "{const: " + schema.Quoted(g.Const) + kind + joinedText(g) + "}"
	case codec.BucketSegment:
		if l.Bucket.Label.Format.Reverse {
			return "{bucket: " + reversedText(l.Bucket.Label.Format) + joinedText(g) + "}"
		}
		return "bucket"
	case codec.TimeSegment:
		return "{" + timeText(l.TimeKey) + joinedText(g) + "}"
	case codec.MetricSegment:
		return "metric"
	case codec.SequenceSegment:
		return "{sequence: true}"
	case codec.SaltSegment:
		return fmt.Sprintf("{hash: [%s], buckets: %d}", strings.Join(g.Salted, ", "), g.Buckets)
	}
	return seriesText(g)
}

// joinedText returns the key joined in the schema language; empty if it is not set.
func joinedText(g lock.Segment) string {
	if g.Joined {
		return ", joined: true"
	}
	return ""
}

// seriesText returns the segment of a series value in the schema language.
func seriesText(g lock.Segment) string {
	text := g.Name
	if g.Form != (codec.KeyForm{}) || g.Joined {
		text = "{name: " + g.Name + ", encoding: " + g.Form.Encoding.String()
		if g.Form.Pad > 0 {
			text += fmt.Sprintf(", pad: %d", g.Form.Pad)
		}
		if g.Form.Reverse {
			text += ", reverse: true"
		}
		if g.Form.Escape {
			text += ", escape: true"
		}
		text += joinedText(g) + "}"
	}
	return text
}
