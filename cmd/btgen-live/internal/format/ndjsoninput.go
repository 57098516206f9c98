package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

var ndjsonFormat = Format{
	Name: "ndjson", Title: "JSON objects", Extensions: []string{".ndjson", ".jsonl", ".json"},
	NewReader: NewNDJSONReader, NewWriter: encoded(NewNDJSON),
}

// NewNDJSONReader returns a reader of JSON objects, each of which begins on a line. null is the same as no
// member, except for json values. Numbers and booleans may also be strings. Errors are those of
// ReaderOptions.Names.
func NewNDJSONReader(in io.Reader, l *layout.Layout, o ReaderOptions) (Reader, error) {
	p, err := NewBuilder(l, o)
	return &ndjsonReader{lines: newLines(in), Builder: p}, err
}

// ndjsonReader implements [NewNDJSONReader].
type ndjsonReader struct {
	lines
	frame jsonFrame
	*Builder
}

// jsonFrame is the frame of JSON values.
type jsonFrame struct {
	depth           int // of objects and arrays
	quoted, escaped bool
}

func (f *jsonFrame) end(text []byte, seen int) int {
	for i := seen; i < len(text); i++ {
		switch c := text[i]; {
		case f.escaped:
			f.escaped = false
		case c == '"':
			f.quoted = !f.quoted
		case f.quoted:
			f.escaped = c == '\\'
		case c == '{' || c == '[':
			f.depth++
		case c == '}' || c == ']':
			f.depth--
		case c == '\n' && f.depth <= 0:
			*f = jsonFrame{}
			return i
		}
	}
	return -1
}

// Next implements [Reader].
func (r *ndjsonReader) Next() (dynamic.Event, int, error) {
	for {
		line, number, err := r.record(&r.frame)
		if err != nil {
			return dynamic.Event{}, number, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, o := r.Start(), object{line: line}
		name, err := r.object(&o, &e)
		if err != nil {
			return e, number, broken(errorAt(line, number, o.at, name, err), line)
		}
		if name := r.Complete(&e); name != "" {
			return e, number, lacks(number, name)
		}
		return e, number, nil
	}
}

// object parses an object. With an error, it returns the name of the member, and o.at is the
// position of the problem.
func (r *ndjsonReader) object(o *object, e *dynamic.Event) (name string, err error) {
	if o.skip('[') {
		o.at--
		return "", syntax("want a JSON object, and not an array: jq -c '.[]' prints its elements")
	}
	if !o.skip('{') {
		return "", syntax("want a JSON object, or another --format")
	}
	for first := true; !o.skip('}'); first = false {
		if !first && !o.skip(',') {
			return "", syntax("want a comma or }")
		}
		if name, err = r.member(o, e); err != nil {
			return name, err
		}
	}
	if o.space(); o.at < len(o.line) {
		return "", syntax("want a line break after the object")
	}
	return "", nil
}

// member parses a member of an object.
func (r *ndjsonReader) member(o *object, e *dynamic.Event) (name string, err error) {
	begin := o.space()
	key, err := o.string()
	if err != nil {
		return "", err
	}
	i, err := r.Find(key)
	if err != nil {
		o.at = begin
		return "", err
	}
	if !o.skip(':') {
		return "", syntax("want a colon")
	}
	if i >= 0 {
		name = r.columns[i].Name
	}
	begin = o.space()
	text, quoted, err := o.value()
	if err != nil || i < 0 {
		return name, err
	}
	if err := r.set(e, i, text, quoted, o.line[begin:o.at]); err != nil {
		o.at = begin
		return name, err
	}
	return name, nil
}

// set sets a value. raw is what the line contains, and text the same without quotes.
func (r *ndjsonReader) set(e *dynamic.Event, i int, text []byte, quoted bool, raw []byte) error {
	c := &r.columns[i]
	switch {
	case c.Type == schema.JSON:
		text = raw
	case quoted:
	case string(raw) == "null":
		r.seen[i] = false
		return nil
	case c.Type != schema.Bool && !numeric(c.Type) && !(c.Type == schema.Timestamp && r.times.unit > 0):
		return wantString(c.Type, raw)
	}
	v, err := r.Parse(i, text, TextKind)
	if err == nil {
		c.set(e, v)
	}
	return err
}

// wantString returns the error of a number or boolean where a string is expected.
func wantString(t schema.Type, raw []byte) error {
	want := "a string"
	if form := forms[t]; form != "" && t != schema.String {
		want += " with " + form
	}
	if t == schema.Timestamp && isDecimal(raw) {
		want += ", or --time-unit"
	}
	return fmt.Errorf("%w: want %s", ErrValue, want)
}

// object is a line that is being parsed. If a function returns an error, at is the position
// of the problem.
type object struct {
	line []byte
	at   int
}

// space skips white space, and returns the position after it.
func (o *object) space() int {
	for o.at < len(o.line) && (o.line[o.at] == ' ' || o.line[o.at] == '\t' || o.line[o.at] == '\r' || o.line[o.at] == '\n') {
		o.at++
	}
	return o.at
}

// skip skips white space and a character. It returns false if there is another one.
func (o *object) skip(c byte) bool {
	if o.space(); o.at < len(o.line) && o.line[o.at] == c {
		o.at++
		return true
	}
	return false
}

// value parses a value. text is that of a string, or else the value itself.
func (o *object) value() (text []byte, quoted bool, err error) {
	begin := o.at
	if begin == len(o.line) {
		return nil, false, syntax("want a value")
	}
	switch o.line[begin] {
	case '"':
		text, err := o.string()
		return text, true, err
	case '{', '[':
		if err := o.nested(); err != nil {
			return nil, false, err
		}
	default:
		for o.at < len(o.line) && !bytes.ContainsRune([]byte(",}] \t\r\n"), rune(o.line[o.at])) {
			o.at++
		}
	}
	text = o.line[begin:o.at]
	if !json.Valid(text) {
		o.at = begin
		return nil, false, syntax("want a JSON value")
	}
	return text, false, nil
}

// nested skips an object or an array.
func (o *object) nested() error {
	begin := o.at
	for depth := 0; o.at < len(o.line); {
		switch o.line[o.at] {
		case '"':
			if _, err := o.string(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if o.at++; depth == 0 {
			return nil
		}
	}
	o.at = begin
	return syntax("the object or array has no end")
}

// string parses a string.
func (o *object) string() ([]byte, error) {
	if o.at == len(o.line) || o.line[o.at] != '"' {
		return nil, syntax("want a string")
	}
	begin := o.at
	for i := begin + 1; i < len(o.line); i++ {
		switch c := o.line[i]; {
		case c == '"':
			o.at = i + 1
			text := o.line[begin+1 : i]
			if !utf8.Valid(text) {
				o.at = begin
				return nil, codec.ErrUTF8
			}
			return text, nil
		case c == '\\':
			return o.escaped(begin)
		case c < ' ':
			o.at = i
			return nil, syntax("a control character in a string must be escaped")
		}
	}
	return nil, syntax("the string has no end")
}

// escaped parses a string with escapes.
func (o *object) escaped(begin int) ([]byte, error) {
	end := begin + 1
	for ; end < len(o.line) && o.line[end] != '"'; end++ {
		if o.line[end] == '\\' {
			end++
		}
	}
	if end >= len(o.line) {
		return nil, syntax("the string has no end")
	}
	raw := o.line[begin : end+1]
	var text string
	switch {
	case !utf8.Valid(raw):
		return nil, codec.ErrUTF8
	case json.Unmarshal(raw, &text) != nil:
		return nil, syntax("want a JSON string")
	case halfPair(raw):
		return nil, fmt.Errorf("%w: the string has half of a surrogate pair", codec.ErrUTF8)
	}
	o.at = end + 1
	return []byte(text), nil
}

// Escapes of backslashes and of surrogate pairs, and of surrogates.
var (
	escapedPairs = regexp.MustCompile(`\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..`)
	surrogate    = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
)

// halfPair reports whether a valid string has an escape that is half of a surrogate pair,
// which would be replaced.
func halfPair(raw []byte) bool {
	return surrogate.Match(raw) && surrogate.Match(escapedPairs.ReplaceAll(raw, nil))
}
