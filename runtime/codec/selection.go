package codec

import (
	"fmt"
	"slices"
)

// Query defines which events a read or a deletion selects: those of all series with given values that
// meet conditions.
type Query struct {
	Name string // passed to hooks
	// Given lists the series values that the query specifies.
	Given Given
	// Conditions are the fields by whose values the query selects events.
	Conditions []Condition
	// Table is the ID of the table in which a deletion with conditions finds the events; empty for
	// the first one. The other tables need not store the fields of the conditions separately.
	Table string
}

// Condition is a field by whose values a query selects events.
type Condition struct {
	Field string // the name of its column
	Equal bool   // the field has a given value; else, it is in a given range
}

// Given lists the series values that a query specifies.
type Given struct {
	Series []int     // their numbers
	Last   GivenPart // what the query specifies of the last one
}

// GivenPart is what a query specifies of the last of the given series values.
type GivenPart int

const (
	GivenValue  GivenPart = iota // the value
	GivenPrefix                  // a prefix of it
	GivenRange                   // a range of values; see [Between]
)

// whole returns the series values that are given as a whole.
func (g Given) whole() []int {
	if g.Last == GivenValue || len(g.Series) == 0 {
		return g.Series
	}
	return g.Series[:len(g.Series)-1]
}

// Path describes which rows a query reads, by segments of the key.
type Path struct {
	// Before is the number of known segments before the time: all of them if Timed is set, else
	// those before the first unknown one.
	Before int
	// After is the number of known segments right after the time.
	After int
	// Timed is set if the time follows the known segments, so that a time range is a row range. If
	// not, the server scans all times of these rows.
	Timed bool
	// Whole is set if nothing follows the known segments after the time: the rows belong to one series.
	Whole bool
	// Salts is the number of salts, each with its own range, if the query does not specify all
	// values that a salt before the time hashes; else 1.
	Salts int
	// Filtered are the specified series values that are in none of these segments: rows with other
	// values must be filtered out.
	Filtered []int
	// Partial is set if the segment after those before the time is the one of which the query gives a prefix or a range.
	Partial bool
}

// Path returns which rows contain the events with given series values. If a query gives a part of a
// value, and Path.Partial is not set, the key cannot answer it.
func (k *Key) Path(g Given) Path {
	p, given := Path{Salts: 1}, g.whole()
	for ; p.Before < k.before(); p.Before++ {
		s := &k.Segments[p.Before]
		if s.Kind == SaltSegment && !s.known(given) {
			p.Salts = s.Buckets
		} else if !s.known(given) {
			break
		}
	}
	begin := k.after()
	switch all := p.Before == k.before(); {
	case g.Last != GivenValue:
		last := g.Series[len(given)]
		if all || !k.hasSeries(p.Before, p.Before+1, last) {
			return p
		}
		p.Partial = true
	case !all:
		p = k.unsalted(p)
	default:
		p.Timed = true
		for begin+p.After < len(k.Segments) && k.Segments[begin+p.After].known(given) {
			p.After++
		}
		if p.Whole = begin+p.After == len(k.Segments); !p.Whole {
			p = k.trimmed(p)
		}
	}
	for _, series := range given {
		if !k.hasSeries(0, p.Before, series) && !k.hasSeries(begin, begin+p.After, series) {
			p.Filtered = append(p.Filtered, series)
		}
	}
	return p
}

// unsalted drops the salt of a path if nothing after it restricts the rows: all salts are then one range.
func (k *Key) unsalted(p Path) Path {
	salt := k.index(SaltSegment)
	if p.Salts > 1 && !slices.ContainsFunc(k.Segments[salt:p.Before], func(s Segment) bool { return s.Kind == SeriesSegment }) {
		p.Before, p.Salts = salt, 1
	}
	return p
}

// trimmed drops the end of the known segments after the time if it does not restrict the rows:
// constants, and a salt of values before it.
func (k *Key) trimmed(p Path) Path {
	begin := k.after()
	for ; p.After > 0; p.After-- {
		end := begin + p.After - 1
		s := &k.Segments[end]
		says := slices.ContainsFunc(s.Salted, func(i int) bool {
			return !k.hasSeries(0, p.Before, i) && !k.hasSeries(begin, end, i)
		})
		if s.Kind != ConstSegment && (s.Kind != SaltSegment || says) {
			break
		}
	}
	return p
}

// known reports whether a reader can write a segment if it knows some series values. It can always
// write the metric by iterating over the fields.
func (s *Segment) known(given []int) bool {
	switch s.Kind {
	case SeriesSegment:
		return slices.Contains(given, s.Series)
	case SaltSegment:
		return !slices.ContainsFunc(s.Salted, func(i int) bool { return !slices.Contains(given, i) })
	case SequenceSegment:
		return false
	}
	return true
}

// hasSeries reports whether the segments [begin, end) contain a series value.
func (k *Key) hasSeries(begin, end, series int) bool {
	return slices.ContainsFunc(k.Segments[begin:end], func(s Segment) bool { return s.Kind == SeriesSegment && s.Series == series })
}

// Selection is the rows of the events with given series values.
type Selection struct {
	Path
	key   *Key
	given Given
}

// Select returns the rows of the events with given series values, as Path describes them.
func (k *Key) Select(g Given) *Selection { return &Selection{k.Path(g), k, g} }

// Every returns the rows of one series: all series values are given.
func (k *Key) Every() Given {
	var g Given
	for i := range k.Segments {
		if s := &k.Segments[i]; s.Kind == SeriesSegment {
			g.Series = append(g.Series, s.Series)
		}
	}
	slices.Sort(g.Series)
	return g
}

// MultiSeries reports whether the rows can be those of several series.
func (s *Selection) MultiSeries() bool { return len(s.given.whole()) < len(s.key.Every().Series) }

// Contiguous reports whether the rows are those of all times, and those of each series are adjacent.
func (s *Selection) Contiguous() bool {
	after := s.key.Segments[s.key.after():]
	return !s.Timed && !s.joined() && !slices.ContainsFunc(after, func(g Segment) bool { return g.Kind == SeriesSegment })
}

// joined reports whether a segment before the time ends without a delimiter: keys of another
// series may then be among those of a series.
func (s *Selection) joined() bool { return s.key.joinsVariable(s.key.before()) }

// Filters reports whether row keys must be filtered, because the row ranges contain other rows or
// because the keys select the time. timed says whether, instead, the timestamps of cells do.
func (s *Selection) Filters(timed bool) bool {
	return len(s.Filtered) > 0 || !s.Timed && !timed || s.AmongKinds() || !s.Timed && s.key.joinsVariable(s.Before)
}

// Refused returns why the rows of a prefix or a range of a value are not adjacent, so that the key cannot
// select them; empty if they are, or if whole values are given.
func (s *Selection) Refused() string {
	if s.given.Last == GivenValue || len(s.given.Series) == 0 {
		return ""
	}
	k := s.key
	i := k.SegmentOf(s.given.Series[len(s.given.Series)-1])
	if i < 0 {
		return "the value is not in its row keys"
	}
	switch g := &k.Segments[i]; {
	case !s.Partial && s.Before < k.before():
		return fmt.Sprintf("another value precedes %s in its row keys", g.Name)
	case !s.Partial:
		return fmt.Sprintf("%s follows the time in its row keys", g.Name)
	case g.Joined && k.Width(g) == 0:
		return fmt.Sprintf("%s has no fixed width and no delimiter after it in its row keys, which do not sort by it", g.Name)
	case s.given.Last == GivenPrefix && (g.Type != StringSegment || g.Form.Encoding != KeyText):
		return fmt.Sprintf("a prefix of %s is not a prefix in its row keys: it is no string stored as text", g.Name)
	case s.given.Last == GivenRange && (!k.Sorts(g) || g.Form.Reverse):
		return fmt.Sprintf("its row keys do not sort by %s", g.Name)
	}
	return ""
}

// AmongKinds reports whether the row ranges also contain rows of other kinds, which are those of other schemas.
func (s *Selection) AmongKinds() bool {
	read := s.Before
	if s.Timed {
		read = s.key.before() + 1 + s.After // at most all, if keys do not contain the time
	}
	rest := s.key.Segments[min(read, len(s.key.Segments)):]
	return slices.ContainsFunc(rest, func(g Segment) bool { return g.Tells })
}

// AnyWidth reports whether a read of the rows also receives those whose time has another width
// than those of the table, to report them: among rows of several kinds, other programs may have
// written them. After a joined segment of variable width, they would be rows of another series.
func (s *Selection) AnyWidth() bool { return s.AmongKinds() && !s.joined() }

// Joins reports whether the rows of the metrics of an event are at the same place in their spans, so
// that they can be read together. They are not if the metric follows a value that is not given: the rows
// of several series, or all times, lie between them.
func (s *Selection) Joins() bool {
	metric := s.key.index(MetricSegment)
	return metric < 0 || s.Salts == 1 && (metric < s.Before || !s.MultiSeries())
}

// ends reports whether the segments that are given before the time are a whole key, or would be
// one with a whole value of the range.
func (s *Selection) ends() bool {
	n := s.Before
	if s.Partial {
		n++
	}
	return s.key.Endless() && n == len(s.key.Segments) && s.given.Last != GivenPrefix
}

// Spans returns the spans of the rows: one per salt that is read, or one per metric, or one. v has
// the given series values.
func (s *Selection) Spans(v *KeyValues, metrics []string) ([]Span, error) {
	n, with := s.Salts, *v
	if n == 1 && metrics != nil {
		n = len(metrics)
	}
	out := make([]Span, n)
	for i := range out {
		salt := ownSalt
		switch {
		case s.Salts > 1:
			salt = i
		case metrics != nil:
			with.Metric = &metrics[i]
		}
		var err error
		if out[i], err = s.span(&with, salt); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// span returns the span with a salt, or with that of its values.
func (s *Selection) span(v *KeyValues, salt int) (Span, error) {
	k := s.key
	span := Span{Delimiter: k.TimeDelimiter(), Whole: s.Whole, MaxBytes: MaxRowSet, Exact: s.Timed && k.Endless()}
	if s.Timed {
		span.Rest = k.Rest()
	}
	prefix, err := s.prefix(v, salt)
	if err != nil {
		return Span{}, err
	}
	span.Prefix = string(prefix)
	if s.After > 0 {
		w := k.writer(nil)
		w.write(k.after(), k.after()+s.After, v, salt)
		suffix, err := w.finish(s.Whole)
		if err != nil {
			return Span{}, err
		}
		span.Suffix = string(suffix)
	}
	return span, nil
}

// prefix returns what the keys have in common before the time.
func (s *Selection) prefix(v *KeyValues, salt int) ([]byte, error) {
	k := s.key
	w := k.writer(nil)
	w.write(0, s.Before, v, salt)
	if s.Partial {
		part := &k.Segments[s.Before]
		text, ok := v.series(part.Series).(*string)
		switch prefix := ok && s.given.Last == GivenPrefix; {
		case !prefix:
			w.write(s.Before, s.Before+1, v, salt)
		case *text != "":
			w.segment(part, false, v, 0)
			w.open()
		}
	}
	return w.finish(s.ends())
}

// Pattern returns the pattern of the row keys with the given series values.
func (s *Selection) Pattern(v *KeyValues) (*KeyPattern, error) {
	k := s.key
	p := &KeyPattern{AnyWidth: s.AnyWidth()}
	to := &p.Before
	for i := range k.Segments {
		switch g := &k.Segments[i]; {
		case g.Kind == BucketSegment, g.Kind == TimeSegment:
			p.Timed, to = true, &p.After
		case g.Kind == ConstSegment, g.Kind == SeriesSegment && slices.Contains(s.given.whole(), g.Series):
			text, err := k.AppendPart(nil, i, i+1, v)
			if err != nil {
				return nil, err
			}
			*to = to.and(KeyPiece{Text: string(text)})
		default:
			*to = to.and(KeyPiece{Any: true, Width: k.Width(g)})
			if k.Width(g) == 0 && k.Delimiter == "" && !g.Joined {
				*to = to.and(KeyPiece{Text: terminator})
			}
		}
		*to = to.and(KeyPiece{Text: k.DelimiterAfter(i)})
	}
	return p, nil
}

// Match reports whether a row of the spans has the given series values. Those of both are pointers,
// as in [KeyValues].
func (s *Selection) Match(row, given *KeyValues) bool {
	return !slices.ContainsFunc(s.Filtered, func(i int) bool { return !SameSeriesValue(row.series(i), given.series(i)) })
}
