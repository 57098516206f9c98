package schema

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// encodings are the ways a series value is written in a key.
var encodings = []string{"text", "decimal", "hex", "base64url", "raw", "binary"}

// maxPad is the largest pad: the size of a row key, which raw bytes may have. How
// far a number can be padded depends on its encoding.
const maxPad = 4096

// keyBlock is a part of the table itself.
var keyBlock = block[Table]{
	what:    "a key",
	example: "write `key: {delimiter: \"#\", segments: [location, bucket]}`",
	begin:   func(pos diag.Pos, t *Table) { t.Key = pos },
	keys: []key[Table]{
		put("delimiter", "what stands between the segments; without one the key is binary", filled("a delimiter"), func(t *Table) *Value[string] { return &t.Delimiter }).
			also(`One character or more, in quotes. For instance "#". The writer refuses values that contain it, unless their segment says escape: true.`),
		must(set("segments", "the parts of the key, in order", listOf("a list of key segments", "write `segments: [location, bucket]`", segmentForm), func(t *Table) *[]Segment { return &t.Segments }).
			also("For instance [location, balloon_id, bucket]. All series values, and the bucket or the time, which must not come first.")),
	},
	elsewhere: map[string]string{"row_key_schema": "write `row_key_schema: true` beside the key"},
}

// segmentForm is a key segment: a word, or one of several blocks.
var segmentForm = short(shape{kind: shapeText, what: "a series value, bucket, time or metric", least: 1}, readShortSegment, union[Segment]{
	what:      "a key segment",
	example:   "write location, bucket, time or {name: slot, encoding: hex}",
	both:      func(*node) string { return "make them two segments" },
	elsewhere: map[string]string{"metric": "write metric alone, without braces", "label": "write bucket: {label: …} beside the key", "salt": "write `{hash: [host], buckets: 16}`"},
	variants:  []block[Segment]{nameSegment, bucketSegment, timeSegment, constSegment, hashSegment, sequenceSegment},
}.form())

// readShortSegment reads a segment that is one word.
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

// beginSegment returns what a block of a kind of segment begins with.
func beginSegment(kind SegmentKind) func(diag.Pos, *Segment) {
	return func(pos diag.Pos, s *Segment) { s.Pos, s.Kind = pos, kind }
}

// reverseKey is a key of all segments that have an order worth turning round.
var reverseKey = put("reverse", "whether the newest or largest comes first", boolean, func(s *Segment) *Value[bool] { return &s.Reverse }).
	also("The default is false. Not for time layouts.")

// The kinds of segments, each with its own key first.
var (
	nameSegment = block[Segment]{
		what:  "a key segment with a name",
		begin: beginSegment(SegmentName),
		keys: []key[Segment]{
			must(put("name", "the series value, or metric", segmentNameForm, func(s *Segment) *Value[string] { return &s.Name }).
				also("For a form that is not the default of the type. For instance {name: slot, encoding: hex, pad: 16}.")),
			put("encoding", "how the value is written, one of "+oneOf(encodings), word("encoding", encodings, map[string]string{"base64": "base64url", "int": "decimal", "string": "text", "bytes": "raw"}), func(s *Segment) *Value[string] { return &s.Encoding }).
				also("The default is text for strings, decimal for numbers, hex for bytes."),
			put("pad", "how many characters the value is padded to", integer(1, maxPad), func(s *Segment) *Value[int] { return &s.Pad }).
				also("Numbers with a pad sort, and can be reversed; bytes that are raw have just so many."),
			reverseKey,
			put("escape", "whether the delimiter is escaped in the value instead of refused", boolean, func(s *Segment) *Value[bool] { return &s.Escape }).
				also("The default is false. For text, and for raw bytes."),
		},
	}
	bucketSegment = block[Segment]{
		what:  "a key segment with a bucket",
		begin: beginSegment(SegmentBucket),
		keys: []key[Segment]{
			must(put("bucket", "how the start of the bucket is written, as in unix_ms", filled("a time format"), func(s *Segment) *Value[string] { return &s.Format }).
				also(`unix_s, unix_ms, unix_us, unix_ns, binary, or a Go time layout that sorts, such as "2006-01-02". By its label: write bucket alone.`)),
			reverseKey,
		},
	}
	timeSegment = block[Segment]{
		what:  "a key segment with a time",
		begin: beginSegment(SegmentTime),
		keys: []key[Segment]{
			must(put("time", `how the time is written, as in unix_ms or "2006-01-02-1504"`, filled("a time format"), func(s *Segment) *Value[string] { return &s.Format }).
				also("unix_s, unix_ms, unix_us, unix_ns, binary, or a Go time layout that sorts.")),
			reverseKey,
		},
	}
	constSegment = block[Segment]{
		what:  "a key segment with a const",
		begin: beginSegment(SegmentConst),
		keys: []key[Segment]{
			must(put("const", "fixed text", filled("fixed text"), func(s *Segment) *Value[string] { return &s.Const }).
				also("For instance {const: phone}.")),
		},
	}
	hashSegment = block[Segment]{
		what:  "a key segment with a hash",
		begin: beginSegment(SegmentHash),
		keys: []key[Segment]{
			must(set("hash", "the series values that the salt is made from", nameList("[metric, host]"), func(s *Segment) *[]Value[string] { return &s.Hash }).
				also("For instance {hash: [metric, host], buckets: 16}. It spreads series over the tablets.")),
			must(put("buckets", "how many salts there are", integer(2, 1000), func(s *Segment) *Value[int] { return &s.Buckets }).
				also("A query that does not give the hashed values reads once for each.")),
		},
	}
	sequenceSegment = block[Segment]{
		what:  "a key segment with a sequence",
		begin: beginSegment(SegmentSequence),
		keys:  []key[Segment]{must(sequenceKey)},
	}
)

// segmentNameForm is a series value, or metric: bucket and time have blocks of
// their own.
var segmentNameForm = parsed("a name", "write `name: slot`", func(s string) (string, error) {
	switch s {
	case "":
		return "", &problem{"a name cannot be empty", "write the name of a series value"}
	case "bucket", "time":
		return "", &problem{quote(s) + " is no series value", "it is a segment by itself: " + s + ", or as in {" + s + ": unix_ms}"}
	}
	return s, nil
}).like(func(s *shape) { s.least, s.not = 1, []shape{{kind: shapeWord, words: []string{"bucket", "time"}}} })

// sequenceKey says that an event carries a tie-breaker; there is no other way
// to have one.
var sequenceKey = key[Segment]{
	name: "sequence", doc: "true: a tie-breaker that the event carries",
	more:  "For events of one time. It stands after the time, and is Sequence uint32 in Go.",
	shape: shape{kind: shapeBool, what: "true", words: []string{"true"}},
	read: func(w *walker, n *node, _ *Segment) {
		if v, ok := boolean.read(w, n); ok && !v {
			w.errorf(n.pos, "a sequence cannot be false").Hint = "write `sequence: true`, or leave the segment out"
		}
	},
}

// String writes the segment as the language has it.
func (s Segment) String() string {
	switch s.Kind {
	case SegmentBucket:
		return timed("bucket", s)
	case SegmentTime:
		return timed("time", s)
	case SegmentConst:
		return fmt.Sprintf("{const: %q}", s.Const.V)
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
	if text == "" {
		return s.Name.V
	}
	return "{name: " + s.Name.V + text + "}"
}

// timed writes a segment with a time or a bucket.
func timed(word string, s Segment) string {
	switch {
	case !s.Format.IsSet():
		return word
	case s.Reverse.V:
		return fmt.Sprintf("{%s: %q, reverse: true}", word, s.Format.V)
	}
	return fmt.Sprintf("{%s: %q}", word, s.Format.V)
}
