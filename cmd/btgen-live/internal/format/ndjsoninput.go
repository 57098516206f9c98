package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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
	d := json.NewDecoder(bytes.NewReader(p.text))
	_, _ = d.Token() // it is valid
	for p.err == nil && !p.Record.more && d.More() {
		p.member(d)
	}
}

// member adds the next member of a valid object.
func (p *line) member(d *json.Decoder) {
	var raw json.RawMessage
	v := Value{name: int(d.InputOffset())}
	_, _ = d.Token()
	v.name += bytes.IndexByte(p.text[v.name:], '"')
	v.Name = p.jsonText(v.name, int(d.InputOffset()), nil)
	_ = d.Decode(&raw)
	v.end = int(d.InputOffset())
	if v.at = v.end - len(raw); raw[0] != '"' {
		v.Kind = bareKind
	}
	if v.Text = p.jsonText(v.at, v.end, v.Name); p.err == nil {
		p.add(v)
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

// jsonText returns a valid value between two offsets, of a member with a name: the text of a string, or else the value itself.
func (p *line) jsonText(at, end int, name []byte) []byte {
	raw := p.text[at:end]
	switch {
	case !utf8.Valid(raw):
		p.refuse(at, string(name), codec.ErrUTF8)
	case halfPair(raw):
		p.refuse(at, string(name), fmt.Errorf("%w: the string has half of a surrogate pair", codec.ErrUTF8))
	case raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0:
		return raw[1 : len(raw)-1]
	case raw[0] == '"':
		var text string
		_ = json.Unmarshal(raw, &text)
		return []byte(text)
	}
	return raw
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
