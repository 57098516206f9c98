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
	what:    "a key",
	example: "write `key: {delimiter: \"#\", segments: [location, bucket]}`",
	begin:   func(pos diag.Pos, t *Table) { t.Key = pos },
	keys: []key[Table]{
		put("delimiter", "the separator between segments; without one, the key is binary", filled("a delimiter"), func(t *Table) *Value[string] { return &t.Delimiter }).
			also(`One or more characters, in quotes, such as "#". The writer refuses values that contain it, unless their segment has escape: true.`),
		must(set("segments", "the segments of the key, in order", listOf("a list of key segments", "write `segments: [location, bucket]`", segmentForm), func(t *Table) *[]Segment { return &t.Segments }).
			also("For example, [location, balloon_id, bucket]. They must include all series values, and the bucket or the time, which must not come first.")),
	},
	elsewhere: map[string]string{
		"row_key_schema": "write `row_key_schema: true` next to the key",
		"separator":      "write `delimiter`", "sep": "write `delimiter`",
		"parts": "write `segments`", "columns": "write `segments`", "fields": "write `segments`",
	},
}

// segmentForm is the form of a key segment: a word, or one of several blocks.
var segmentForm = short(shape{kind: shapeText, what: "a series value, bucket, time or metric", least: 1}, readShortSegment, union[Segment]{
	what:    "a key segment",
	example: "write location, bucket, time or {name: slot, encoding: hex}",
	both:    func(*node) string { return "write two segments" },
	elsewhere: map[string]string{"metric": "write metric alone, without braces", "label": "write bucket: {label: …} next to the key", "salt": "write `{hash: [host], buckets: 16}`",
		"md5": otherSalt, "sha1": otherSalt, "sha256": otherSalt, "murmur3": otherSalt, "murmur": otherSalt, "crc32": otherSalt, "fnv": otherSalt, "farm_fingerprint": otherSalt, "modulo": otherSalt},
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
var reverseKey = put("reverse", "whether the newest or largest sorts first", boolean, func(s *Segment) *Value[bool] { return &s.Reverse }).
	also("The default is false.")

// joinedKey is the key of segments that the next one may follow directly.
var joinedKey = put("joined", "whether the next segment follows directly, without the delimiter", boolean, func(s *Segment) *Value[bool] { return &s.Joined }).
	also("The default is false. For keys that other programs write. After a value of variable width, all segments must have a fixed width.")

// minuends are the numbers from which a reversed time can be subtracted.
var minuends = []string{codec.MaxInt32.String(), codec.MaxUint32.String(), codec.MaxInt64.String(), codec.MaxUint64.String()}

// reverseTimeKey is the key reverse of the bucket and the time: a boolean, or the number from
// which the time is subtracted.
var reverseTimeKey = func() key[Segment] {
	minuend := word("value of reverse", minuends, map[string]string{"long.max_value": "max_int64", "long_max": "max_int64", "int64": "max_int64", "integer.max_value": "max_int32", "int_max": "max_int32"})
	return key[Segment]{
		name: "reverse", doc: "whether the newest sorts first: true, or the number minus the time",
		more:  "The default is false. max_int64 is Long.MAX_VALUE minus the time; also max_int32, max_uint32 and max_uint64. Time layouts cannot be reversed.",
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

// zoned are hints for times that are not in UTC.
var zoned = map[string]string{"timezone": localTime, "time_zone": localTime, "tz": localTime, "zone": localTime, "local": localTime, "offset": localTime}

// The kinds of segments. The first key of each identifies it.
var (
	nameSegment = block[Segment]{
		what:  "a key segment with a name",
		begin: beginSegment(SegmentName),
		keys: []key[Segment]{
			must(put("name", "the series value, or metric", segmentNameForm, func(s *Segment) *Value[string] { return &s.Name }).
				also("With options for its encoding. For example, {name: slot, encoding: hex, pad: 16}.")),
			put("encoding", "how the value is encoded, one of "+oneOf(encodings), word("encoding", encodings, map[string]string{"base64": "base64url", "base32": "base32hex", "int": "decimal", "string": "text", "bytes": "raw", "bigendian": "big_endian", "littleendian": "little_endian", "le": "little_endian", "be": "big_endian"}), func(s *Segment) *Value[string] { return &s.Encoding }).
				also("The default is text for strings, decimal for numbers, hex for bytes."),
			put("pad", "the number of characters that the value is padded to", integer(1, maxPad), func(s *Segment) *Value[int] { return &s.Pad }).
				also("Padded numbers sort in numeric order and can be reversed. Raw bytes, and strings as text, must have exactly this length."),
			reverseKey,
			put("escape", "whether the writer escapes the delimiter in values instead of refusing them", boolean, func(s *Segment) *Value[bool] { return &s.Escape }).
				also("The default is false. For text and raw bytes."),
			joinedKey,
		},
	}
	bucketSegment = block[Segment]{
		what:  "a key segment with a bucket",
		begin: beginSegment(SegmentBucket),
		keys: []key[Segment]{
			must(put("bucket", "the format of the start of the bucket, as in unix_ms", filled("a time format"), func(s *Segment) *Value[string] { return &s.Format }).
				also(`unix_s, unix_ms, unix_us, unix_ns, binary, binary_s, binary_ms, binary_ns, binary4_s, or a Go time layout that sorts, such as "2006-01-02". For the label of the bucket, write bucket alone.`)),
			reverseTimeKey,
			joinedKey,
		},
		elsewhere: zoned,
	}
	timeSegment = block[Segment]{
		what:  "a key segment with a time",
		begin: beginSegment(SegmentTime),
		keys: []key[Segment]{
			must(put("time", `the format of the time, as in unix_ms or "2006-01-02-1504"`, filled("a time format"), func(s *Segment) *Value[string] { return &s.Format }).
				also("unix_s, unix_ms, unix_us, unix_ns, binary, binary_s, binary_ms, binary_ns, binary4_s, or a Go time layout that sorts.")),
			reverseTimeKey,
			joinedKey,
		},
		elsewhere: zoned,
	}
	constSegment = block[Segment]{
		what:  "a key segment with a const",
		begin: beginSegment(SegmentConst),
		keys: []key[Segment]{
			must(put("const", "a constant string", filled("a constant"), func(s *Segment) *Value[string] { return &s.Const }).
				also("For example, {const: phone}.")),
			put("kind", "whether rows with another text there are those of other schemas", boolean, func(s *Segment) *Value[bool] { return &s.Tells }).
				also("The default is false: such a row cannot be decoded. With true, several schemas can store different kinds of records in one table and family."),
			joinedKey,
		},
	}
	hashSegment = block[Segment]{
		what:  "a key segment with a hash",
		begin: beginSegment(SegmentHash),
		keys: []key[Segment]{
			must(set("hash", "the series values that the salt is computed from", nameList("[metric, host]"), func(s *Segment) *[]Value[string] { return &s.Hash }).
				also("For example, {hash: [metric, host], buckets: 16}. A salt spreads series across tablets.")),
			must(put("buckets", "the number of salt buckets", integer(2, 1000), func(s *Segment) *Value[int] { return &s.Buckets }).
				also("A query that does not give all hashed values reads each of them.")),
		},
		elsewhere: map[string]string{"function": otherSalt, "algorithm": otherSalt, "hash_function": otherSalt, "method": otherSalt, "seed": otherSalt, "mod": otherSalt, "modulo": otherSalt},
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
		return "", &problem{"a name cannot be empty", "write the name of a series value"}
	case "bucket", "time":
		return "", &problem{quote(s) + " is not a series value", "write the segment as " + s + ", or as {" + s + ": unix_ms}"}
	}
	return s, nil
}).like(func(s *shape) { s.least, s.not = 1, []shape{{kind: shapeWord, words: []string{"bucket", "time"}}} })

// sequenceKey adds a tie-breaker to events; its only value is true.
var sequenceKey = key[Segment]{
	name: "sequence", doc: "true: a tie-breaker that is part of the event",
	more:  "It distinguishes events with equal times, and must follow the time. It is Sequence uint32 in Go.",
	shape: shape{kind: shapeBool, what: "true", words: []string{"true"}},
	read: func(w *walker, n *node, _ *Segment) {
		if v, ok := boolean.read(w, n); ok && !v {
			w.errorf(n.pos, "sequence cannot be false").Hint = "write `sequence: true`, or remove the segment"
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
