package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// encodings are the encodings of series values in keys.
var encodings = codec.KeyEncodings()

// maxPad is the largest pad, in characters: that of raw bytes that fill a row key. Package
// layout checks the limits of the other encodings.
const maxPad = 4096

// keyBlock is the key of a table; its values are stored in the Table.
var keyBlock = block[Table]{
	what:    "a key",
	begin:   func(pos diag.Pos, t *Table) { t.Key = pos },
	instead: keyOf,
	keys: []key[Table]{
		put("delimiter", filled("a delimiter"), func(t *Table) *Value[string] { return &t.Delimiter }),
		must(set("segments", listOf("a list of key segments", "write `segments: [location, bucket]`", segmentForm), func(t *Table) *[]Segment { return &t.Segments })),
	},
}

// segmentForm is the form of a key segment: a word, or one of several blocks.
var segmentForm = either(scalar, wordSegment, union[Segment]{
	what:     "a key segment",
	both:     func(*node) string { return "write two segments" },
	begin:    func(pos diag.Pos, kind int, s *Segment) { s.Pos, s.Kind = pos, SegmentKind(kind) },
	kind:     func(s Segment) int { return int(s.Kind) },
	variants: []block[Segment]{nameSegment, bucketSegment, timeSegment, constSegment, hashSegment, sequenceSegment},
}.form(), func(s Segment) bool {
	switch s.Kind {
	case SegmentName:
		return len(nameSegment.entries(&s)) == 1
	case SegmentBucket, SegmentTime:
		return !s.Format.IsSet()
	}
	return false
})

// segmentWords are the segments that are single words, if they are no names.
var segmentWords = map[SegmentKind]string{SegmentBucket: "bucket", SegmentTime: "time"}

// wordSegment is the form of a segment that is a single word.
var wordSegment = as(filled("a key segment"), func(text string, pos diag.Pos) Segment {
	for kind, word := range segmentWords {
		if word == text {
			return Segment{Pos: pos, Kind: kind}
		}
	}
	return Segment{Pos: pos, Kind: SegmentName, Name: Value[string]{text, pos}}
}, func(s Segment) string { return cmp.Or(segmentWords[s.Kind], s.Name.V) }).like(func(s *shape) {
	s.what, s.example = "a series value, bucket, time or metric", ""
})

// reverseKey is the key reverse of series values.
var reverseKey = put("reverse", boolean, func(s *Segment) *Value[bool] { return &s.Reverse })

// joinedKey is the key of segments that the next one may follow directly.
var joinedKey = put("joined", boolean, func(s *Segment) *Value[bool] { return &s.Joined })

// minuends are the numbers from which a reversed time can be subtracted.
var minuends = wordsOf([]codec.Minuend{codec.MaxInt32, codec.MaxUint32, codec.MaxInt64, codec.MaxUint64})

// reverseTimeKey is the key reverse of the bucket and the time: a boolean, or the number from
// which the time is subtracted.
var reverseTimeKey = func() key[Segment] {
	minuend := word("value of reverse", minuends)
	k := put("reverse", boolean, func(s *Segment) *Value[bool] { return &s.Reverse })
	return key[Segment]{
		name:  "reverse",
		shape: shape{kind: shapeEither, what: boolean.shape.what, either: []shape{boolean.shape, minuend.shape}},
		read: func(w *walker, n *node, s *Segment) {
			if n.kind != scalar || slices.Contains([]string{"true", "false", "yes", "no", "y", "n", "on", "off", "1", "0"}, strings.ToLower(n.text)) {
				k.read(w, n, s)
			} else if from, ok := located(minuend).read(w, n); ok {
				s.From, s.Reverse = from, Value[bool]{V: true, Pos: n.pos}
			}
		},
		has:  k.has,
		text: func(s *Segment) string { return cmp.Or(s.From.V, k.text(s)) },
	}
}()

// The kinds of segments. The first key of each identifies it.
var (
	nameSegment = block[Segment]{
		what: "a key segment with a name",
		keys: []key[Segment]{
			must(put("name", segmentNameForm, func(s *Segment) *Value[string] { return &s.Name })),
			put("encoding", word("encoding", encodings), func(s *Segment) *Value[string] { return &s.Encoding }),
			put("pad", integer(1, maxPad), func(s *Segment) *Value[int] { return &s.Pad }),
			reverseKey,
			put("escape", boolean, func(s *Segment) *Value[bool] { return &s.Escape }),
			joinedKey,
		},
	}
	bucketSegment = block[Segment]{
		what: "a key segment with a bucket",
		keys: []key[Segment]{
			must(put("bucket", filled("a time format"), func(s *Segment) *Value[string] { return &s.Format })),
			reverseTimeKey,
			joinedKey,
		},
	}
	timeSegment = block[Segment]{
		what: "a key segment with a time",
		keys: []key[Segment]{
			must(put("time", filled("a time format"), func(s *Segment) *Value[string] { return &s.Format })),
			reverseTimeKey,
			joinedKey,
		},
	}
	constSegment = block[Segment]{
		what: "a key segment with a const",
		keys: []key[Segment]{
			must(put("const", filled("a constant"), func(s *Segment) *Value[string] { return &s.Const })),
			put("kind", boolean, func(s *Segment) *Value[bool] { return &s.Tells }),
			joinedKey,
		},
	}
	hashSegment = block[Segment]{
		what: "a key segment with a hash",
		keys: []key[Segment]{
			must(set("hash", nameList("[metric, host]"), func(s *Segment) *[]Value[string] { return &s.Hash })),
			must(put("buckets", integer(2, 1000), func(s *Segment) *Value[int] { return &s.Buckets })),
		},
	}
	sequenceSegment = block[Segment]{
		what: "a key segment with a sequence",
		keys: []key[Segment]{sequenceKey},
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
}).like(func(s *shape) { not := oneOfWords("bucket", "time"); s.json = jsonSchema{MinLength: 1, Not: &not} })

// sequenceKey adds a tie-breaker to events; its only value is true.
var sequenceKey = constant[Segment]("sequence", boolean.like(func(s *shape) {
	s.what, s.json = "true", jsonSchema{Const: true}
}).unless(func(w *walker, n *node) bool {
	wrong := n.plain && n.text == "false"
	if wrong {
		w.reject(n.pos, "sequence-false")
	}
	return wrong
}), true)
