package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// words are the words of a fact. A function with the parameter words describes them once for both
// directions: each step appends the words of a value, or sets the value from them.
type words struct {
	reading bool
	list    []string // written so far, or left to read
	err     error    // the first one; reading goes on after it
}

// wordsOf returns the words of a value.
func wordsOf(code func(w *words)) []string {
	var w words
	code(&w)
	return w.list
}

// done returns the error of a fact that was read.
func (w *words) done() error {
	if w.err == nil && len(w.list) > 0 {
		return fmt.Errorf("%q is unknown", w.list[0])
	}
	return w.err
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// next reads a word.
func (w *words) next() string {
	if len(w.list) == 0 {
		w.fail("a word is missing")
		return ""
	}
	word := w.list[0]
	w.list = w.list[1:]
	return word
}

// flag is a word that is there if a value is set.
func (w *words) flag(name string, set *bool) {
	switch {
	case !w.reading && *set:
		w.list = append(w.list, name)
	case w.reading && len(w.list) > 0 && w.list[0] == name:
		w.list, *set = w.list[1:], true
	}
}

// text is how a value is a word.
type text[T any] struct {
	what  string // for errors, such as "a duration"
	show  func(T) string
	parse func(string) (T, error)
}

// put is the word of a value.
func put[T any](w *words, v *T, t text[T]) {
	if !w.reading {
		w.list = append(w.list, t.show(*v))
		return
	}
	t.set(w, v, w.next())
}

// option is a word NAME=VALUE that is there if a value is set.
func option[T any](w *words, name string, set bool, v *T, t text[T]) {
	if !w.reading {
		if set {
			w.list = append(w.list, name+"="+t.show(*v))
		}
		return
	}
	if len(w.list) == 0 {
		return
	}
	if value, ok := strings.CutPrefix(w.list[0], name+"="); ok {
		w.list = w.list[1:]
		t.set(w, v, value)
	}
}

// rest are all remaining words.
func rest[T any](w *words, list *[]T, t text[T]) {
	if !w.reading {
		for _, v := range *list {
			put(w, &v, t)
		}
		return
	}
	for len(w.list) > 0 && w.err == nil {
		var v T
		put(w, &v, t)
		*list = append(*list, v)
	}
}

// set reads a value from a word.
func (t text[T]) set(w *words, v *T, word string) {
	value, err := t.parse(word)
	if err != nil {
		w.fail("%q is not %s", word, t.what)
		return
	}
	*v = value
}

// The forms of words.
var (
	asWord     = text[string]{"a word", func(s string) string { return s }, func(s string) (string, error) { return s, nil }}
	asQuoted   = text[string]{"a quoted string", quote, strconv.Unquote}
	asInt      = text[int]{"a number", strconv.Itoa, strconv.Atoi}
	asNumber   = text[int64]{"a number", func(n int64) string { return strconv.FormatInt(n, 10) }, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }}
	asDuration = text[time.Duration]{"a duration", schema.FormatDuration, schema.ParseDuration}
	asInstant  = text[time.Time]{"a time", func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }, parseInstant}
	asWidth    = text[schema.Span]{"a width", schema.Span.String, parseWidth}
	asLabel    = text[codec.Label]{"a label", codec.Label.String, layout.ParseLabel}
	asTime     = text[codec.TimeFormat]{"a time format", codec.TimeFormat.String, layout.ParseTime}
	asMinuend  = text[codec.Minuend]{"a minuend", codec.Minuend.String, known(layout.ParseMinuend)}
	asEncoding = listed[codec.KeyEncoding]("an encoding", codec.KeyEncodings())
	asRule     = text[codec.GCRule]{"a rule", ruleText, parseRule}
	asType     = text[schema.Type]{"a type", schema.Type.String, known(schema.ParseType)}
	asPattern  = text[codec.Pattern]{"a pattern", codec.Pattern.String, known(codec.ParsePattern)}
	asKind     = listed[codec.SegmentKind]("a kind of segments", segmentKinds)
	asStamp    = listed[codec.TimestampSource]("a meaning of timestamps", stamps)
)

// segmentKinds are the names of the kinds of segments.
var segmentKinds = []string{
	codec.SeriesSegment: "series", codec.MetricSegment: "metric", codec.ConstSegment: "const", codec.BucketSegment: "bucket",
	codec.TimeSegment: "time", codec.SaltSegment: "salt", codec.SequenceSegment: "sequence",
}

// stamps are the names of timestamp sources.
var stamps = []string{codec.TimestampEvent: "event", codec.TimestampWrite: "write", codec.TimestampExpiry: "expiry", codec.TimestampShifted: "shifted"}

// listed returns the form of a number with a name.
func listed[T ~int](what string, names []string) text[T] {
	parse := func(word string) (T, error) {
		if i := slices.Index(names, word); i >= 0 {
			return T(i), nil
		}
		return 0, errUnknown
	}
	return text[T]{what, func(v T) string { return names[v] }, parse}
}

// known returns a parser that returns an error for the zero value.
func known[T comparable](parse func(string) T) func(string) (T, error) {
	return func(word string) (T, error) {
		v := parse(word)
		if v == *new(T) {
			return v, errUnknown
		}
		return v, nil
	}
}

// errUnknown is the error for a word that is no value; put says which.
var errUnknown = fmt.Errorf("unknown word")

// quote returns a string as a word without spaces outside of quotes.
func quote(s string) string { return strconv.QuoteToASCII(s) }

func itoa(n int) string { return strconv.Itoa(n) }

func parseInstant(word string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, word)
	return at.UTC(), err
}

// parseWidth parses the width of buckets.
func parseWidth(word string) (schema.Span, error) {
	endless := schema.Span{Months: codec.EndlessBucket.Months}
	if word == endless.String() {
		return endless, nil
	}
	for unit, months := range map[string]int{"y": 12, "mo": 1} {
		if n, ok := strings.CutSuffix(word, unit); ok {
			count, err := strconv.Atoi(n)
			return schema.Span{Months: months * count}, err
		}
	}
	fixed, err := schema.ParseDuration(word)
	return schema.Span{Fixed: fixed}, err
}

// ruleNames are the names of garbage collection rules.
var ruleNames = []string{
	codec.GCNone: "forever", codec.GCMaxAge: "max_age", codec.GCMaxVersions: "max_versions", codec.GCUnion: "any_of", codec.GCIntersection: "all_of",
}

// ruleText returns a garbage collection rule as one word.
func ruleText(r codec.GCRule) string {
	name := ruleNames[r.Kind]
	switch r.Kind {
	case codec.GCNone:
		return name
	case codec.GCMaxAge:
		return name + "=" + schema.FormatDuration(r.MaxAge)
	case codec.GCMaxVersions:
		return name + "=" + itoa(r.MaxVersions)
	}
	parts := make([]string, len(r.Rules))
	for i, rule := range r.Rules {
		parts[i] = ruleText(rule)
	}
	return name + "(" + strings.Join(parts, ",") + ")"
}

// parseRule parses the output of ruleText.
func parseRule(word string) (r codec.GCRule, err error) {
	name, value, single := strings.Cut(word, "=")
	inner := ""
	if i := strings.IndexByte(word, '('); i >= 0 && strings.HasSuffix(word, ")") {
		name, inner, single = word[:i], word[i+1:len(word)-1], false
	}
	r.Kind = codec.GCKind(slices.Index(ruleNames, name))
	switch {
	case word == ruleNames[codec.GCNone]:
	case r.Kind == codec.GCMaxAge && single:
		r.MaxAge, err = schema.ParseDuration(value)
	case r.Kind == codec.GCMaxVersions && single:
		r.MaxVersions, err = strconv.Atoi(value)
	case r.Kind >= codec.GCUnion && !single:
		for _, part := range arguments(inner) {
			rule, failed := parseRule(part)
			r.Rules, err = append(r.Rules, rule), cmp.Or(err, failed)
		}
	default:
		err = errUnknown
	}
	return r, err
}

// arguments splits a list at commas outside of parentheses.
func arguments(text string) []string {
	var out []string
	depth, begin := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			out, begin = append(out, text[begin:i]), i+1
		}
	}
	return append(out, text[begin:])
}

// code is the words of an accepted change.
func (a *Acceptance) code(w *words) {
	put(w, &a.Change, asQuoted)
	put(w, &a.Reason, asQuoted)
}

// code is the words of a segment.
func (g *Segment) code(w *words) {
	put(w, &g.Kind, asKind)
	switch g.Kind {
	case codec.ConstSegment:
		put(w, &g.Const, asQuoted)
		w.flag("kind", &g.Tells)
	case codec.SaltSegment:
		put(w, &g.Buckets, asInt)
		rest(w, &g.Salted, asQuoted)
	case codec.SeriesSegment:
		put(w, &g.Name, asQuoted)
		put(w, &g.Type, asType)
		put(w, &g.Form.Encoding, asEncoding)
		option(w, "pad", g.Form.Pad > 0, &g.Form.Pad, asInt)
		w.flag("reverse", &g.Form.Reverse)
		w.flag("escape", &g.Form.Escape)
	}
	w.flag("joined", &g.Joined)
}

// bucketCode is the words of a bucket.
func bucketCode(b *codec.Bucket, w *words) {
	width, label := schema.Span{Fixed: b.Every, Months: b.Months}, b.Label
	label.Format = forward(label.Format)
	if put(w, &width, asWidth); width.Endless() {
		if w.reading {
			*b = codec.EndlessBucket
		}
		return
	}
	put(w, &label, asQuotedOf(asLabel))
	option(w, "origin", !b.Origin.IsZero(), &b.Origin, asInstant)
	format := b.Label.Format
	reversed(w, &format, label.Format)
	if w.reading {
		b.Every, b.Months, b.Label = width.Fixed, width.Months, label
		b.Label.Format = format
	}
}

// timeCode is the words of a time format.
func timeCode(f *codec.TimeFormat, w *words) {
	plain := forward(*f)
	put(w, &plain, asQuotedOf(asTime))
	reversed(w, f, plain)
}

// reversed is whether a time format is reversed, and from which number.
func reversed(w *words, f *codec.TimeFormat, plain codec.TimeFormat) {
	from, largest := f.From, f.Reverse && f.From == codec.Largest
	option(w, "reverse", from != codec.Largest, &from, asMinuend)
	w.flag("reverse", &largest)
	if !w.reading {
		return
	}
	*f = plain
	if largest || from != codec.Largest {
		out, err := layout.Reversed(plain, from)
		if err != nil {
			w.fail("%v", err)
		}
		*f = out
	}
}

// forward returns a time format that is not reversed.
func forward(f codec.TimeFormat) codec.TimeFormat {
	f.Reverse, f.From = false, codec.Largest
	return f
}

// asQuotedOf returns the form of a value in quotes.
func asQuotedOf[T any](t text[T]) text[T] {
	return text[T]{t.what, func(v T) string { return quote(t.show(v)) }, func(word string) (T, error) {
		s, err := strconv.Unquote(word)
		if err != nil {
			return *new(T), err
		}
		return t.parse(s)
	}}
}

// code is the words of a family.
func (f *Family) code(w *words) {
	put(w, &f.Name, asWord)
	put(w, &f.GC, asRule)
	put(w, &f.Timestamp, asStamp)
	option(w, "default", f.Default > 0, &f.Default, asDuration)
	w.flag("class", &f.Class)
}

// code is the words of a rollup.
func (r *Rollup) code(w *words) {
	put(w, &r.Family, asWord)
	put(w, &r.Every, asDuration)
	put(w, &r.GC, asRule)
	w.flag("idle", &r.Idle)
	w.flag("retired", &r.Retired)
}

// code is the words of a field in runs.
func (s *Summary) code(w *words) {
	put(w, &s.Name, asQuoted)
	put(w, &s.Type, asType)
	for i := range s.Sketches {
		w.flag(schema.AllSketches[i].Key, &s.Sketches[i])
	}
	w.flag("retired", &s.Retired)
}

// code is the words of a column.
func (c *Column) code(w *words) {
	put(w, &c.Key, asQuoted)
	if w.flag("written_at", &c.Written); !c.Written {
		put(w, &c.Type, asType)
	}
	option(w, "field", c.Field != "", &c.Field, asQuoted)
	option(w, "family", c.Family != "", &c.Family, asWord)
	for v := codec.TextValues; v <= codec.LittleEndianValues; v++ {
		is := c.Values == v
		if w.flag(v.String(), &is); is {
			c.Values = v
		}
	}
	w.flag("optional", &c.Optional)
	option(w, "default", c.Default != nil, &c.Default, asDefault)
	option(w, "was", c.Was != "", &c.Was, asQuoted)
	w.flag("retired", &c.Retired)
}

// asDefault is the form of a default, if there is one.
var asDefault = text[*string]{asQuoted.what, func(s *string) string { return quote(*s) }, func(word string) (*string, error) {
	s, err := strconv.Unquote(word)
	return &s, err
}}
