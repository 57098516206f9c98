package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

var ndjsonFormat = Format{
	Name: "ndjson", Title: "JSON objects", Extensions: []string{".ndjson", ".jsonl", ".json"}, Objects: true,
	NewWriter: encoded(NewNDJSON), NewScanner: scanLines(escapedQuotes, (*line).object),
}

// whole adds lines to the record until all objects, arrays and strings that it begins have ended.
func (p *line) whole() {
	depth, quoted := 0, false
	for i := 0; ; i++ {
		for i >= len(p.text) {
			if depth <= 0 && !quoted || !p.more() {
				return
			}
		}
		switch c := p.text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// object parses an object. null is the same as no member, except for json values. Numbers and booleans may also be
// strings.
func (p *line) object() {
	p.whole()
	switch p.blanks(jsonSpace); {
	case len(bytes.TrimSpace(p.text)) == 0:
		p.err = errNoRecord
	case p.peek() == '[':
		p.fail(p.at, "want a JSON object, and not an array: jq -c '.[]' prints its elements")
	case p.peek() != '{':
		p.fail(p.at, "want a JSON object, or another --format")
	case !json.Valid(p.text):
		err := json.Unmarshal(p.text, new(any))
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			p.at = int(at.Offset) - 1
		}
		p.fail(p.at, err.Error())
	}
	p.skip('{')
	for p.blanks(jsonSpace); p.err == nil && !p.skip('}'); p.blanks(jsonSpace + ",") {
		v := Value{name: p.at}
		v.Name = p.jsonString(nil)
		p.blanks(jsonSpace + ":")
		if v.at = p.at; p.peek() != '"' {
			v.Kind = bareKind
		}
		if v.Text = p.jsonValue(v.Name); p.err == nil {
			v.end = p.at
			p.add(v)
		}
	}
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

// jsonValue skips the value of a member with a name, in a valid object. It returns the text of a string, or else the
// value itself.
func (p *line) jsonValue(name []byte) []byte {
	begin := p.at
	if p.peek() == '"' {
		return p.jsonString(name)
	}
	for depth := 0; p.err == nil; p.at++ {
		switch c := p.peek(); {
		case c == '"':
			p.jsonString(name)
			p.at--
		case c == '{' || c == '[':
			depth++
		case depth == 0 && strings.IndexByte(",}"+jsonSpace, c) >= 0:
			return p.text[begin:p.at]
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// jsonString skips a valid string, of a member with a name, and returns its text.
func (p *line) jsonString(name []byte) []byte {
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
		p.refuse(begin, string(name), codec.ErrUTF8)
	case escaped && halfPair(raw):
		p.refuse(begin, string(name), fmt.Errorf("%w: the string has half of a surrogate pair", codec.ErrUTF8))
	case escaped:
		var text string
		_ = json.Unmarshal(raw, &text) // it is valid
		return []byte(text)
	}
	return raw[1 : len(raw)-1]
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
