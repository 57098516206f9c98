package format

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Encoder writes events as lines of text.
type Encoder interface {
	// Begin appends what precedes the first event.
	Begin(dst []byte) []byte
	// Append appends an event. It may keep some of the first events until it knows how wide
	// they are.
	Append(dst []byte, e *dynamic.Event) []byte
	// End appends what follows the last event, and the events that Append kept.
	End(dst []byte) []byte
}

// NewNDJSON returns an encoder of JSON objects, one per line. Line breaks between the tokens
// of json values become spaces.
func NewNDJSON(columns []Column) Encoder {
	n := &ndjson{columns: columns}
	for i := range columns {
		n.names = append(n.names, append(appendQuoted([]byte{','}, columns[i].Name), ':'))
	}
	return n
}

// NewJSON returns an encoder of the elements of a JSON array, for browsers: each has all columns, with null for
// values that an event lacks, and integers that numbers of JavaScript cannot represent are strings.
func NewJSON(columns []Column) Encoder {
	n := NewNDJSON(columns).(*ndjson)
	n.browser = true
	return n
}

// NewTextJSON returns an encoder as [NewJSON] does, whose values are all strings, as arguments of the command line have them.
func NewTextJSON(columns []Column) Encoder {
	n := NewJSON(columns).(*ndjson)
	n.texts = true
	return n
}

// ndjson implements [NewNDJSON], [NewJSON] and [NewTextJSON].
type ndjson struct {
	columns []Column
	names   [][]byte // ,"name":
	browser bool
	texts   bool
	later   bool // an element precedes the next one
}

// maxSafe is the largest integer up to which numbers of JavaScript represent all integers.
const maxSafe = 1<<53 - 1

// unsafe reports whether JavaScript would round a number.
func unsafe(v any) bool {
	switch v := v.(type) {
	case int64:
		return v > maxSafe || v < -maxSafe
	case uint64:
		return v > maxSafe
	case *big.Int:
		return true
	}
	return false
}

func (n *ndjson) Begin(dst []byte) []byte { return dst }

func (n *ndjson) End(dst []byte) []byte { return dst }

func (n *ndjson) Append(dst []byte, e *dynamic.Event) []byte {
	if n.browser && n.later {
		dst = append(dst, ",\n"...)
	}
	n.later = true
	begin := len(dst)
	for i := range n.columns {
		c := &n.columns[i]
		if c.part == timePart { // without boxing it
			dst = appendTimeJSON(append(dst, n.names[i]...), e.Time)
		} else if v := c.Value(e); v != nil {
			dst = n.appendValue(append(dst, n.names[i]...), c.Type, v)
		} else if n.browser {
			dst = append(append(dst, n.names[i]...), "null"...)
		}
	}
	dst[begin] = '{' // instead of a comma; every event has a time
	if dst = append(dst, '}'); n.browser {
		return dst
	}
	return append(dst, '\n')
}

// appendValue appends a value of a type.
func (n *ndjson) appendValue(dst []byte, t schema.Type, v any) []byte {
	if n.texts {
		return appendQuoted(dst, string(appendText(nil, t, v)))
	}
	if n.browser && unsafe(v) {
		return append(appendText(append(dst, '"'), t, v), '"')
	}
	return appendJSON(dst, t, v)
}

// appendJSON appends a value of a type as JSON.
func appendJSON(dst []byte, t schema.Type, v any) []byte {
	switch v := v.(type) {
	case string:
		if t == schema.JSON {
			return appendLine(dst, v)
		}
		return appendQuoted(dst, v)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return appendFloat(dst, t, v)
		}
	case int64, uint64, bool:
		return appendText(dst, t, v)
	case *big.Int:
		if t != schema.Duration {
			return appendText(dst, t, v)
		}
	}
	return append(appendText(append(dst, '"'), t, v), '"')
}

func appendTimeJSON(dst []byte, t time.Time) []byte {
	return append(codec.Text.Timestamp.Append(append(dst, '"'), t), '"')
}

// appendLine appends JSON on one line. Strings in JSON contain no line breaks.
func appendLine(dst []byte, text string) []byte {
	begin := len(dst)
	dst = append(dst, text...)
	for line := dst[begin:]; ; {
		i := bytes.IndexAny(line, "\r\n")
		if i < 0 {
			return dst
		}
		line[i] = ' '
		line = line[i+1:]
	}
}

// appendQuoted appends a JSON string, in which hidden characters are escaped; see [words.Hidden].
// Bytes that are not UTF-8, which only row keys of other
// programs contain, become the replacement character.
func appendQuoted(dst []byte, text string) []byte {
	begin := len(dst)
	dst = append(append(append(dst, '"'), jsonEscapes.Replace(strings.ToValidUTF8(text, "\ufffd"))...), '"')
	if !bytes.ContainsFunc(dst[begin:], func(r rune) bool { return r >= utf8.RuneSelf }) {
		return dst
	}
	return append(dst[:begin], words.EscapeJSON(dst[begin:])...)
}

// jsonEscapes escapes the ASCII characters that JSON strings do not contain, and DEL.
var jsonEscapes = func() *strings.Replacer {
	pairs := []string{`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\x7f", `\u007f`}
	for c := range ' ' {
		pairs = append(pairs, string(c), fmt.Sprintf(`\u%04x`, c))
	}
	return strings.NewReplacer(pairs...)
}()
