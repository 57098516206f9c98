package codec

import (
	"fmt"
	"strings"
	"time"
)

// KeyPattern makes a pattern for row keys, segment by segment.
type KeyPattern struct {
	delimiter string
	segments  []KeyPieces
	time      int // which of them is the time
	err       error
}

// NewKeyPattern returns a pattern for keys with a delimiter.
func NewKeyPattern(delimiter string) *KeyPattern { return &KeyPattern{delimiter: delimiter} }

// Any takes a segment of any value.
func (p *KeyPattern) Any() { p.segment(KeyPiece{Any: true}) }

// Bytes takes a segment of any value of n bytes.
func (p *KeyPattern) Bytes(n int) { p.segment(KeyPiece{Any: true, Width: n}) }

// Terminated takes a segment of any value of no fixed width in a binary key.
func (p *KeyPattern) Terminated() { p.segment(KeyPiece{Any: true}, KeyPiece{Text: "\x00\x01"}) } // see KeyWriter

// Time takes the segment with the time or the bucket, which the reader knows.
func (p *KeyPattern) Time() {
	p.time = len(p.segments)
	p.segment()
}

// Known takes a segment of the value that write writes.
func (p *KeyPattern) Known(write func(w *KeyWriter)) {
	w := NewKeyWriter(nil, p.delimiter)
	write(&w)
	segment, err := w.Key()
	if p.err == nil {
		p.err = err
	}
	p.segment(KeyPiece{Text: string(segment)})
}

// segment takes a segment of these pieces.
func (p *KeyPattern) segment(pieces ...KeyPiece) { p.segments = append(p.segments, pieces) }

// Pattern returns the pattern, or the first error of a value.
func (p *KeyPattern) Pattern() (*KeyPattern, error) { return p, p.err }

// At returns the pieces of keys with these times.
func (p *KeyPattern) At(times KeyPiece) KeyPieces {
	var out KeyPieces
	for i, pieces := range p.segments {
		if i > 0 {
			out = out.and(KeyPiece{Text: p.delimiter})
		}
		if i == p.time {
			pieces = KeyPieces{times}
		}
		out = out.and(pieces...)
	}
	return out
}

// KeyPieces is a pattern for row keys: the pieces that they have, one after the other.
type KeyPieces []KeyPiece

// KeyPiece is what a part of a key may be: a text, any bytes, a text in a range, or a
// number from one on.
type KeyPiece struct {
	Text  string // or, if there is a High, the first of the texts of the same length up to it
	High  string
	Any   bool
	Width int  // of any bytes, how many; 0 for any number
	From  bool // Text is the lowest of numbers in decimal without padding
}

// known reports whether there is just one text.
func (p KeyPiece) known() bool { return !p.Any && p.High == "" && !p.From }

// and adds pieces. Texts that follow one another are one.
func (p KeyPieces) and(more ...KeyPiece) KeyPieces {
	for _, piece := range more {
		last := len(p) - 1
		switch {
		case piece == KeyPiece{}:
		case last >= 0 && p[last].known() && piece.known():
			p[last].Text += piece.Text
		default:
			p = append(p, piece)
		}
	}
	return p
}

// Pattern is a pattern for the keys that have the suffix of the span and these times,
// among those of a range of times, which has rows of other series too.
func (s Span) Pattern(times KeyPiece) KeyPieces {
	out := KeyPieces{}.and(KeyPiece{Text: s.Prefix}, times, KeyPiece{Text: s.Delimiter + s.Suffix})
	if !s.Whole {
		out = out.and(KeyPiece{Any: true})
	}
	return out
}

// KeyTimes is how times stand in keys: a [Bucket] or a [TimeFormat].
type KeyTimes interface {
	// Width is the length of every text; 0 if it varies.
	Width() int
	// Ends returns the texts of a range that sort first and last; false if there are none.
	Ends(from, to time.Time) (low, high string, ok bool)
}

// AnyTime is the piece for all times: as many bytes as a time always has, for "ba"
// ends as "a" does.
func AnyTime(times KeyTimes) KeyPiece { return KeyPiece{Any: true, Width: times.Width()} }

// TimesIn is the piece for the times of a range; false if there are none.
func TimesIn(times KeyTimes, from, to time.Time) (KeyPiece, bool) {
	low, high, ok := times.Ends(from, to)
	if low == high {
		high = "" // just one
	}
	return KeyPiece{Text: low, High: high}, ok
}

// Regexp returns the regular expression that Bigtable takes for the keys.
func (p KeyPieces) Regexp() string {
	var b strings.Builder
	for _, piece := range p {
		b.WriteString(piece.regexp())
	}
	return b.String()
}

// regexp is the regular expression for a piece.
func (p KeyPiece) regexp() string {
	switch {
	case p.Any && p.Width == 0:
		return `\C*`
	case p.Any:
		return anyBytes(p.Width)
	case p.High != "":
		return between(p.Text, p.High)
	case p.From:
		digits := len(p.Text)
		return fmt.Sprintf("(?:%s|[1-9][0-9]{%d,})", between(p.Text, strings.Repeat("9", digits)), digits)
	}
	return QuoteRegexp(p.Text)
}

// between is a pattern for the texts from low to high, all of the same length.
func between(low, high string) string {
	switch {
	case lowest(low) && highest(high):
		return anyBytes(len(low))
	case low[0] == high[0]:
		return QuoteRegexp(low[:1]) + between(low[1:], high[1:])
	}
	// The first byte is the one of low, the one of high, or any between them.
	var branches []string
	first, last := low[0], high[0]
	rest := len(low) - 1
	if !lowest(low[1:]) {
		branches = append(branches, QuoteRegexp(low[:1])+between(low[1:], strings.Repeat("\xff", rest)))
		first++
	}
	if !highest(high[1:]) {
		branches = append(branches, QuoteRegexp(high[:1])+between(strings.Repeat("\x00", rest), high[1:]))
		last--
	}
	if first <= last {
		branches = append(branches, fmt.Sprintf(`[\x%02x-\x%02x]`, first, last)+anyBytes(rest))
	}
	return "(?:" + strings.Join(branches, "|") + ")"
}

// lowest and highest report whether no text of the same length sorts before s, or
// after it.
func lowest(s string) bool { return s == strings.Repeat("\x00", len(s)) }

func highest(s string) bool { return s == strings.Repeat("\xff", len(s)) }

// anyBytes is a pattern for so many bytes.
func anyBytes(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(`\C{%d}`, n)
}

// QuoteRegexp makes a regular expression of a part of a key or of the name of a column,
// which may have any bytes.
func QuoteRegexp(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '#', c == '/', c == ':':
			b.WriteByte(c) // filters have a limit of size
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
