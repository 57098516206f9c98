package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
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
	last  Record
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
		text, number, err := r.record(&r.frame)
		if err != nil {
			return dynamic.Event{}, number, err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		r.last.reset(text, number)
		e, p := r.Start(), line{Record: &r.last}
		if name, err := r.object(&p, &e); err != nil {
			return e, number, broken(errorAt(text, number, p.at, name, err), text)
		}
		if name := r.Complete(&e); name != "" {
			return e, number, lacks(number, name)
		}
		return e, number, nil
	}
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// object parses an object. With an error, it returns the name of the member, and p.at is the position of the problem.
func (r *ndjsonReader) object(p *line, e *dynamic.Event) (name string, err error) {
	switch p.blanks(jsonSpace); p.peek() {
	case '{':
	case '[':
		return "", syntax("want a JSON object, and not an array: jq -c '.[]' prints its elements")
	default:
		return "", syntax("want a JSON object, or another --format")
	}
	if !json.Valid(p.text) {
		err := json.Unmarshal(p.text, new(any))
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			p.at = int(at.Offset) - 1
		}
		return "", syntax(err.Error())
	}
	p.at++
	for p.blanks(jsonSpace); !p.skip('}'); p.blanks(jsonSpace + ",") {
		if name, err = r.member(p, e); err != nil {
			return name, err
		}
	}
	return "", nil
}

// member parses a member of a valid object.
func (r *ndjsonReader) member(p *line, e *dynamic.Event) (name string, err error) {
	begin := p.at
	key, err := p.jsonString()
	i := -1
	if err == nil {
		i, err = r.Find(key)
	}
	if err != nil {
		p.at = begin
		return "", err
	}
	if i >= 0 {
		name = r.columns[i].Name
	}
	p.blanks(jsonSpace + ":")
	begin = p.at
	text, quoted, err := p.jsonValue()
	if err == nil && i >= 0 {
		err = r.set(e, i, text, quoted, p.text[begin:p.at])
	}
	if err != nil {
		p.at = begin
	}
	return name, err
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

// jsonValue skips a value of a valid object. text is that of a string, or else the value itself.
func (p *line) jsonValue() (text []byte, quoted bool, err error) {
	begin := p.at
	if p.peek() == '"' {
		text, err = p.jsonString()
		return text, true, err
	}
	for depth := 0; err == nil; p.at++ {
		switch c := p.peek(); {
		case c == '"':
			_, err = p.jsonString()
			p.at--
		case c == '{' || c == '[':
			depth++
		case depth == 0 && strings.IndexByte(",}"+jsonSpace, c) >= 0:
			return p.text[begin:p.at], false, nil
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil, false, err
}

// jsonString skips a valid string, and returns its text.
func (p *line) jsonString() ([]byte, error) {
	begin, escaped := p.at, false
	for p.at++; p.peek() != '"'; p.at++ {
		if p.peek() == '\\' {
			escaped = true
			p.at++
		}
	}
	p.at++
	raw := p.text[begin:p.at]
	switch {
	case !utf8.Valid(raw):
		return nil, codec.ErrUTF8
	case !escaped:
		return raw[1 : len(raw)-1], nil
	case halfPair(raw):
		return nil, fmt.Errorf("%w: the string has half of a surrogate pair", codec.ErrUTF8)
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return []byte(text), err
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
