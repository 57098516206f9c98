package schema

import "github.com/btgen-dev/btgen/gen/diag"

// encodings are the ways a series value is written in a key.
var encodings = []string{"text", "decimal", "hex", "base64url", "raw", "binary"}

// keyBlock is a part of the table itself.
var keyBlock = block[Table]{
	what:    "a key",
	example: `write key: {delimiter: "#", segments: [location, bucket]}`,
	begin:   func(pos diag.Pos, t *Table) { t.Key = pos },
	keys: []key[Table]{
		put("delimiter", "what stands between the segments; without one the key is binary", filled("a delimiter"), func(t *Table) *Value[string] { return &t.Delimiter }),
		must(set("segments", "the parts of the key, in order", listOf("a list of key segments", "write segments: [location, bucket]", segmentForm), func(t *Table) *[]Segment { return &t.Segments })),
	},
}

// segmentForm is a key segment: a word, or one of several blocks.
var segmentForm = short(shape{kind: shapeText, what: "a series value, bucket, time or metric"}, readShortSegment, union[Segment]{
	what:      "a key segment",
	example:   "write location, bucket, time or {name: slot, encoding: hex}",
	both:      "make them two segments",
	elsewhere: map[string]string{"metric": "write metric", "label": "write bucket: {label: …} beside the key", "salt": "write {hash: [host], buckets: 16}"},
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
var reverseKey = put("reverse", "whether the newest or largest comes first", boolean, func(s *Segment) *Value[bool] { return &s.Reverse })

// The kinds of segments, each with its own key first.
var (
	nameSegment = block[Segment]{
		what:  "a key segment with a name",
		begin: beginSegment(SegmentName),
		keys: []key[Segment]{
			must(put("name", "the series value, or metric", segmentNameForm, func(s *Segment) *Value[string] { return &s.Name })),
			put("encoding", "how the value is written, one of "+oneOf(encodings), word("encoding", encodings, map[string]string{"base64": "base64url", "int": "decimal", "string": "text", "bytes": "raw"}), func(s *Segment) *Value[string] { return &s.Encoding }),
			put("pad", "how many characters the value is padded to", integer(1, 64), func(s *Segment) *Value[int] { return &s.Pad }),
			reverseKey,
			put("escape", "whether the delimiter is escaped in the value instead of refused", boolean, func(s *Segment) *Value[bool] { return &s.Escape }),
		},
	}
	bucketSegment = block[Segment]{
		what:  "a key segment with a bucket",
		begin: beginSegment(SegmentBucket),
		keys: []key[Segment]{
			must(put("bucket", "how the start of the bucket is written, as in unix_ms", filled("a time format"), func(s *Segment) *Value[string] { return &s.Format })),
			reverseKey,
		},
	}
	timeSegment = block[Segment]{
		what:  "a key segment with a time",
		begin: beginSegment(SegmentTime),
		keys: []key[Segment]{
			must(put("time", `how the time is written, as in unix_ms or "2006-01-02-1504"`, filled("a time format"), func(s *Segment) *Value[string] { return &s.Format })),
			reverseKey,
		},
	}
	constSegment = block[Segment]{
		what:  "a key segment with a const",
		begin: beginSegment(SegmentConst),
		keys: []key[Segment]{
			must(put("const", "fixed text", filled("fixed text"), func(s *Segment) *Value[string] { return &s.Const })),
		},
	}
	hashSegment = block[Segment]{
		what:  "a key segment with a hash",
		begin: beginSegment(SegmentHash),
		keys: []key[Segment]{
			must(set("hash", "the series values that the salt is made from", nameList("[metric, host]"), func(s *Segment) *[]Value[string] { return &s.Hash })),
			must(put("buckets", "how many salts there are", integer(2, 1000), func(s *Segment) *Value[int] { return &s.Buckets })),
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
var segmentNameForm = parsed("a name", "write {name: slot, encoding: hex}", func(s string) (string, error) {
	switch s {
	case "":
		return "", &problem{"a name cannot be empty", "write the name of a series value"}
	case "bucket", "time":
		return "", &problem{quote(s) + " is no series value", "write " + s + " or {" + s + ": unix_ms}"}
	}
	return s, nil
})

// sequenceKey says that an event carries a tie-breaker; there is no other way
// to have one.
var sequenceKey = key[Segment]{
	name: "sequence", doc: "true: a tie-breaker that the event carries", shape: boolean.shape,
	read: func(w *walker, n *node, _ *Segment) {
		if v, ok := boolean.read(w, n); ok && !v {
			w.errorf(n.pos, "a sequence cannot be false").Hint = "write {sequence: true}, or leave the segment out"
		}
	},
}
