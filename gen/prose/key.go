package prose

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Describe describes a segment of the key.
func Describe(l *layout.Layout, t *layout.Table, g codec.Segment) string {
	if g.Kind == codec.SeriesSegment {
		return l.Series[g.Series].Name + ": " + Means(l, t, g)
	}
	return Means(l, t, g)
}

// Means is like [Describe] without the name of the series value.
func Means(l *layout.Layout, t *layout.Table, g codec.Segment) string {
	switch g.Kind {
	case codec.SeriesSegment:
		return fmt.Sprintf("%s, %s", l.Series[g.Series].Type, DescribeForm(g.Form))
	case codec.SaltSegment:
		return describeSalt(l, g)
	case codec.SequenceSegment:
		return "the sequence: distinguishes events with the same time"
	case codec.MetricSegment:
		return "the column name of a field"
	case codec.ConstSegment:
		if g.Tells {
			return "a constant; rows with another text there are those of other schemas"
		}
		return "a constant"
	case codec.BucketSegment:
		return "the bucket: " + describeBucket(t.Bucket)
	default:
		return "the time: " + t.Time.String()
	}
}

// describeBucket describes the width and the label of a bucket.
func describeBucket(b codec.Bucket) string {
	text := fmt.Sprintf("%s wide, labeled %s", schema.Span{Fixed: b.Every, Months: b.Months}, b.Label)
	if b.Label.Kind == codec.NumberLabel {
		text += " from " + b.Origin.Format("2006-01-02")
	}
	return text
}

// describeSalt describes a salt.
func describeSalt(l *layout.Layout, g codec.Segment) string {
	var names []string
	for _, i := range g.Salted {
		names = append(names, l.Series[i].Name)
	}
	return fmt.Sprintf("the salt: a hash of %s in %d buckets", strings.Join(names, " and "), g.Buckets)
}

// DescribeForm describes the encoding of a value in a key.
func DescribeForm(f codec.KeyForm) string {
	text := "as " + f.Encoding.String()
	if f.Pad > 0 {
		text += fmt.Sprintf(", padded to %d", f.Pad)
	}
	if f.Escape {
		text += ", escaped"
	}
	if f.Reverse {
		text += ", in descending order"
	}
	return text
}

// Holds describes what a row of the table and its cells contain.
func Holds(l *layout.Layout, t *layout.Table) string {
	if sums := t.SumFamily(); sums != nil {
		return "A row contains the newest event of a series. Each field is a column, and the timestamps of cells are the time of the event. " +
			"Family " + sums.Name + " has sums which tell that the event was written with other values, too."
	}
	if t.Endless() {
		return strings.Replace(holds(l, t), "the events in a bucket", "all events of a series", 1)
	}
	return holds(l, t)
}

// holds is Holds for rows of buckets and of single events.
func holds(l *layout.Layout, t *layout.Table) string {
	switch p := t.Pattern; {
	case p.Naming() == codec.NamedByTime:
		return holdsOffsets(l, t)
	case p.Bucketed():
		return holdsCells(t)
	case p.Serialized():
		return "A row contains one event, as a cell with all fields."
	}
	return "A row contains one event, with a column per field."
}

// holdsCells is Holds for buckets in which the timestamps of cells are the times of events.
func holdsCells(t *layout.Table) string {
	holds := "A row contains the events in a bucket."
	if t.Metrics() {
		holds = "A row contains one field of the events in a bucket."
	}
	switch p := t.Pattern; {
	case p.Naming() == codec.NamedByValue:
		holds += " Each value is the name of a column with an empty cell"
	case p.Serialized():
		holds += " Each event is a cell with all fields"
	default:
		holds += " Each field is a column with a cell per event"
	}
	holds += ", whose timestamp is the time of the event."
	if t.RowsPerEvent() > 1 {
		holds += " An event is several rows, so it cannot be written with WriteOptions.IfAbsent."
	}
	return holds
}

// holdsOffsets is Holds for columns that are named after times.
func holdsOffsets(l *layout.Layout, t *layout.Table) string {
	holds := "the value"
	if t.Serialized() {
		holds = "all fields"
	}
	width := t.Offset(l).Width()
	bytes := fmt.Sprintf("%d bytes", width)
	if width == 1 {
		bytes = "1 byte"
	}
	return fmt.Sprintf("A row contains the events in a bucket. Each event is a column with %s. Its name is the time since the start of the bucket, in steps of %s, big-endian in %s.",
		holds, schema.FormatDuration(l.Precision), bytes)
}
