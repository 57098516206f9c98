package format

import (
	"strings"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// NewCSV returns an encoder of comma-separated values (RFC 4180) with a header and with line
// feeds. Only values that need quotes have them, among them empty strings.
func NewCSV(columns []Column) Encoder { return csv(columns) }

// csv implements [NewCSV].
type csv []Column

func (c csv) End(dst []byte) []byte { return dst }

func (c csv) Begin(dst []byte) []byte {
	for i := range c {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCell(dst, c[i].Name)
	}
	return append(dst, '\n')
}

func (c csv) Append(dst []byte, e *dynamic.Event) []byte {
	for i := range c {
		if i > 0 {
			dst = append(dst, ',')
		}
		if c[i].part == timePart { // without boxing it
			dst = codec.Text.Timestamp.Append(dst, e.Time)
			continue
		}
		switch v := c[i].Value(e).(type) {
		case nil:
		case string:
			dst = appendCell(dst, v)
		case []byte:
			if len(v) == 0 {
				dst = append(dst, '"', '"')
			}
			dst = appendText(dst, c[i].Type, v)
		default:
			dst = appendText(dst, c[i].Type, v)
		}
	}
	return append(dst, '\n')
}

// appendCell appends a string, with quotes if it needs them.
func appendCell(dst []byte, text string) []byte {
	if text != "" && !strings.ContainsAny(text, ",\"\r\n") && text[0] != ' ' && text[len(text)-1] != ' ' {
		return append(dst, text...)
	}
	dst = append(append(dst, '"'), strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}
