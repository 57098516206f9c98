package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// encodings are the encodings of series values in keys.
var encodings = func() []string {
	var names []string
	for _, e := range codec.KeyEncodings() {
		names = append(names, e.String())
	}
	return names
}()

// maxPad is the largest pad, in characters: that of raw bytes that fill a row key. Package
// layout checks the limits of the other encodings.
const maxPad = 4096

// keyBlock is the key of a table; its values are stored in the Table.
var keyBlock = block[Table]{
	what:  "a key",
	begin: func(pos diag.Pos, t *Table) { t.Key = pos },
	keys: []key[Table]{
		put("delimiter", filled("a delimiter"), func(t *Table) *Value[string] { return &t.Delimiter }),
		must(set("segments", listOf("a list of key segments", "write `segments: [location, bucket]`", segmentForm), func(t *Table) *[]Segment { return &t.Segments })),
	},
}

// segmentForm is the form of a key segment: a word, or one of several blocks.
var segmentForm = short(shape{kind: shapeText, what: "a series value, bucket, time or metric", least: 1}, readShortSegment, union[Segment]{
	what:     "a key segment",
	both:     func(*node) string { return "write two segments" },
	variants: []block[Segment]{nameSegment, bucketSegment, timeSegment, constSegment, hashSegment, sequenceSegment},
}.form())

// readShortSegment reads a segment that is a single word.
func readShortSegment(w *walker, n *node) (Segment, bool) {
	switch n.text {
	case "bucket":
		return Segment{Pos: n.pos, Kind: SegmentBucket}, true
	case "time":
		return Segment{Pos: n.pos, Kind: SegmentTime}, true
	}
	name, ok := located(filled("a key segment")).read(w, n)
	return Segment{Pos: n.pos, Kind: SegmentName, Name: name}, ok
}

// beginSegment returns the begin function of a block for a kind of segment.
func beginSegment(kind SegmentKind) func(diag.Pos, *Segment) {
	return func(pos diag.Pos, s *Segment) { s.Pos, s.Kind = pos, kind }
}

// reverseKey is the key reverse of series values.
var reverseKey = put("reverse", boolean, func(s *Segment) *Value[bool] { return &s.Reverse })

// joinedKey is the key of segments that the next one may follow directly.
var joinedKey = put("joined", boolean, func(s *Segment) *Value[bool] { return &s.Joined })

// minuends are the numbers from which a reversed time can be subtracted.
var minuends = []string{codec.MaxInt32.String(), codec.MaxUint32.String(), codec.MaxInt64.String(), codec.MaxUint64.String()}

// reverseTimeKey is the key reverse of the bucket and the time: a boolean, or the number from
// which the time is subtracted.
var reverseTimeKey = func() key[Segment] {
	minuend := word("value of reverse", minuends, map[string]string{"long.max_value": "max_int64", "long_max": "max_int64", "int64": "max_int64", "integer.max_value": "max_int32", "int_max": "max_int32"})
	return key[Segment]{
		name:  "reverse",
		shape: shape{kind: shapeEither, what: boolean.shape.what, either: []shape{boolean.shape, minuend.shape}},
		read: func(w *walker, n *node, s *Segment) {
			if n.kind != scalar || slices.Contains([]string{"true", "false", "yes", "no", "y", "n", "on", "off", "1", "0"}, strings.ToLower(n.text)) {
				s.Reverse, _ = located(boolean).read(w, n)
				return
			}
			if from, ok := located(minuend).read(w, n); ok {
				s.From, s.Reverse = from, Value[bool]{V: true, Pos: n.pos}
			}
		},
	}
}()

// The kinds of segments. The first key of each identifies it.
var (
	nameSegment = block[Segment]{
		what:  "a key segment with a name",
		begin: beginSegment(SegmentName),
		keys: []key[Segment]{
			must(put("name", segmentNameForm, func(s *Segment) *Value[string] { return &s.Name })),
			put("encoding", word("encoding", encodings, map[string]string{"base64": "base64url", "base32": "base32hex", "int": "decimal", "string": "text", "bytes": "raw", "bigendian": "big_endian", "littleendian": "little_endian", "le": "little_endian", "be": "big_endian"}), func(s *Segment) *Value[string] { return &s.Encoding }).about("how the value is encoded, one of " + oneOf(encodings)),
			put("pad", integer(1, maxPad), func(s *Segment) *Value[int] { return &s.Pad }),
			reverseKey,
			put("escape", boolean, func(s *Segment) *Value[bool] { return &s.Escape }),
			joinedKey,
		},
	}
	bucketSegment = block[Segment]{
		what:  "a key segment with a bucket",
		begin: beginSegment(SegmentBucket),
		keys: []key[Segment]{
			must(put("bucket", filled("a time format"), func(s *Segment) *Value[string] { return &s.Format })),
			reverseTimeKey,
			joinedKey,
		},
	}
	timeSegment = block[Segment]{
		what:  "a key segment with a time",
		begin: beginSegment(SegmentTime),
		keys: []key[Segment]{
			must(put("time", filled("a time format"), func(s *Segment) *Value[string] { return &s.Format })),
			reverseTimeKey,
			joinedKey,
		},
	}
	constSegment = block[Segment]{
		what:  "a key segment with a const",
		begin: beginSegment(SegmentConst),
		keys: []key[Segment]{
			must(put("const", filled("a constant"), func(s *Segment) *Value[string] { return &s.Const })),
			put("kind", boolean, func(s *Segment) *Value[bool] { return &s.Tells }),
			joinedKey,
		},
	}
	hashSegment = block[Segment]{
		what:  "a key segment with a hash",
		begin: beginSegment(SegmentHash),
		keys: []key[Segment]{
			must(set("hash", nameList("[metric, host]"), func(s *Segment) *[]Value[string] { return &s.Hash })),
			must(put("buckets", integer(2, 1000), func(s *Segment) *Value[int] { return &s.Buckets })),
		},
	}
	sequenceSegment = block[Segment]{
		what:  "a key segment with a sequence",
		begin: beginSegment(SegmentSequence),
		keys:  []key[Segment]{must(sequenceKey)},
	}
)

// segmentNameForm is the form of the name of a series value, or metric. bucket and time
// have separate blocks.
var segmentNameForm = parsed("a name", "write `name: slot`", func(s string) (string, error) {
	switch s {
	case "":
		return "", newProblem("empty-name")
	case "bucket", "time":
		return "", newProblem("bad-segment-name", quote(s), s, s)
	}
	return s, nil
}).like(func(s *shape) { s.least, s.not = 1, []shape{{kind: shapeWord, words: []string{"bucket", "time"}}} })

// sequenceKey adds a tie-breaker to events; its only value is true.
var sequenceKey = key[Segment]{
	name:  "sequence",
	shape: shape{kind: shapeBool, what: "true", words: []string{"true"}},
	read: func(w *walker, n *node, _ *Segment) {
		if v, ok := boolean.read(w, n); ok && !v {
			w.reject(n.pos, "sequence-false")
		}
	},
}

// String returns the segment in the schema language.
func (s Segment) String() string {
	switch s.Kind {
	case SegmentBucket:
		return timed("bucket", s)
	case SegmentTime:
		return timed("time", s)
	case SegmentConst:
		kind := ""
		if s.Tells.V {
			kind = ", kind: true"
		}
		return fmt.Sprintf("{const: %q%s%s}", s.Const.V, kind, s.joinedText())
	case SegmentSequence:
		return "{sequence: true}"
	case SegmentHash:
		var names []string
		for _, name := range s.Hash {
			names = append(names, name.V)
		}
		return fmt.Sprintf("{hash: [%s], buckets: %d}", strings.Join(names, ", "), s.Buckets.V)
	}
	text := ""
	if s.Encoding.IsSet() {
		text += ", encoding: " + s.Encoding.V
	}
	if s.Pad.IsSet() {
		text += fmt.Sprintf(", pad: %d", s.Pad.V)
	}
	if s.Reverse.V {
		text += ", reverse: true"
	}
	if s.Escape.V {
		text += ", escape: true"
	}
	text += s.joinedText()
	if text == "" {
		return s.Name.V
	}
	return "{name: " + s.Name.V + text + "}"
}

// joinedText returns the key joined in the schema language; empty if it is not set.
func (s Segment) joinedText() string {
	if s.Joined.V {
		return ", joined: true"
	}
	return ""
}

// timed returns a bucket or time segment in the schema language.
func timed(word string, s Segment) string {
	if !s.Format.IsSet() {
		return word
	}
	reverse := ""
	switch {
	case s.From.IsSet():
		reverse = ", reverse: " + s.From.V
	case s.Reverse.V:
		reverse = ", reverse: true"
	}
	return fmt.Sprintf("{%s: %q%s%s}", word, s.Format.V, reverse, s.joinedText())
}
