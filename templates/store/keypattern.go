package store

import (
	"fmt"
	"strings"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// KeyPattern makes a regular expression for row keys, segment by segment.
type KeyPattern struct {
	delimiter string
	text      strings.Builder
	segments  int
	err       error
}

// NewKeyPattern returns a pattern for keys with a delimiter.
func NewKeyPattern(delimiter string) *KeyPattern { return &KeyPattern{delimiter: delimiter} }

// Any takes a segment of any value.
func (p *KeyPattern) Any() { p.add(`\C*`) }

// Known takes a segment of the value that write writes.
func (p *KeyPattern) Known(write func(w *codec.KeyWriter)) {
	w := codec.NewKeyWriter(nil, p.delimiter)
	write(&w)
	segment, err := w.Key()
	if p.err == nil {
		p.err = err
	}
	p.add(quoteKey(string(segment)))
}

// add appends a segment and the delimiter before it.
func (p *KeyPattern) add(pattern string) {
	if p.segments > 0 {
		p.text.WriteString(quoteKey(p.delimiter))
	}
	p.text.WriteString(pattern)
	p.segments++
}

// Pattern returns the regular expression, or the first error of a value.
func (p *KeyPattern) Pattern() (string, error) { return p.text.String(), p.err }

// matching adds to a filter that the key has the suffix of a span, for rows that
// are asked for by a range of time: among them are those of other series.
func matching(span codec.Span, filter bigtable.Filter) bigtable.Filter {
	if span.Suffix == "" {
		return filter
	}
	pattern := quoteKey(span.Prefix) + `\C*` + quoteKey(span.Delimiter+span.Suffix)
	if !span.Whole {
		pattern += `\C*`
	}
	return bigtable.ChainFilters(bigtable.RowKeyFilter(pattern), filter)
}

// quoteKey makes a regular expression of a part of a key, which may have any bytes.
func quoteKey(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
