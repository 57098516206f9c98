package codec

import (
	"fmt"
	"strings"
	"time"
)

// KeyPattern builds a pattern for row keys, segment by segment.
type KeyPattern struct {
	delimiter string
	segments  []KeyPieces
	joined    map[int]bool // segments after which the next one begins directly
	time      int          // index of the segment with the time; -1 if keys do not contain it
	anyWidth  bool         // set by AnyWidth
	err       error
	others    []*KeyPattern // alternatives
}

// NewKeyPattern returns an empty pattern for keys with the given delimiter.
func NewKeyPattern(delimiter string) *KeyPattern { return &KeyPattern{delimiter: delimiter, time: -1} }

// Join makes the next segment end without the delimiter, as [KeyWriter.Join] does.
func (p *KeyPattern) Join() {
	if p.joined == nil {
		p.joined = map[int]bool{}
	}
	p.joined[len(p.segments)] = true
}

// Any adds a segment with any value.
func (p *KeyPattern) Any() { p.segment(KeyPiece{Any: true}) }

// Bytes adds a segment with any n bytes.
func (p *KeyPattern) Bytes(n int) { p.segment(KeyPiece{Any: true, Width: n}) }

// Terminated adds a segment of a binary key with any value of variable width.
func (p *KeyPattern) Terminated() { p.segment(KeyPiece{Any: true}, KeyPiece{Text: "\x00\x01"}) } // see KeyWriter

// Time adds the segment with the time or bucket; [KeyPattern.At] fills it in.
func (p *KeyPattern) Time() {
	p.time = len(p.segments)
	p.segment()
}

// AnyWidth makes the pattern also match keys whose time has another width than those of the
// table, so that readers report these rows instead of skipping them.
func (p *KeyPattern) AnyWidth() { p.anyWidth = true }

// Known adds a segment with the value that write writes.
func (p *KeyPattern) Known(write func(w *KeyWriter)) {
	w := NewKeyWriter(nil, p.delimiter)
	write(&w)
	segment, err := w.Key()
	if p.err == nil {
		p.err = err
	}
	p.segment(KeyPiece{Text: string(segment)})
}

// segment adds a segment that consists of the given pieces.
func (p *KeyPattern) segment(pieces ...KeyPiece) { p.segments = append(p.segments, pieces) }

// Pattern returns p, or the first error of a function passed to [KeyPattern.Known].
func (p *KeyPattern) Pattern() (*KeyPattern, error) { return p, p.err }

// At returns the pattern for keys with the given times.
func (p *KeyPattern) At(times KeyPiece) KeyPieces {
	var out KeyPieces
	for i, pieces := range p.segments {
		if i > 0 && !p.joined[i-1] {
			out = out.and(KeyPiece{Text: p.delimiter})
		}
		if i == p.time {
			pieces = KeyPieces{times.widened(p.anyWidth)}
		}
		out = out.and(pieces...)
	}
	return out
}

// AnyPattern returns a pattern for the keys that match any of at least one pattern.
func AnyPattern(patterns []*KeyPattern) *KeyPattern {
	any := *patterns[0]
	any.others = patterns[1:]
	return &any
}

// All returns the patterns of p for keys with the given times: one, or several if p is the
// result of [AnyPattern].
func (p *KeyPattern) All(times KeyPiece) []KeyPieces {
	out := []KeyPieces{p.At(times)}
	for _, other := range p.others {
		out = append(out, other.At(times))
	}
	return out
}

// KeyPieces is a pattern for row keys, as a sequence of pieces.
type KeyPieces []KeyPiece

// KeyPiece matches a part of a key: a fixed string, any bytes, the strings of a range,
// or decimal numbers of at least a minimum.
type KeyPiece struct {
	Text  string // the string; if High is set, the first string of a range of equal length
	High  string
	Any   bool
	Width int  // if Any is set, the number of bytes; 0 for any number
	From  bool // Text is the smallest of a range of unpadded decimal numbers
	Other bool // strings of other lengths than Text match, too
}

// known reports whether the piece matches exactly one string.
func (p KeyPiece) known() bool { return !p.Any && p.High == "" && !p.From && !p.Other }

// widened returns the piece or, if it should, one that also matches strings of other lengths.
func (p KeyPiece) widened(widen bool) KeyPiece {
	switch {
	case !widen:
		return p
	case p.Any, p.From:
		return KeyPiece{Any: true}
	}
	p.Other = true
	return p
}

// and appends pieces to p and merges adjacent fixed strings.
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

// Pattern returns a pattern for the keys with the prefix and suffix of s and the given
// times. A row range of these times also contains rows of other series.
func (s Span) Pattern(times KeyPiece) KeyPieces {
	if s.Rest > 0 && s.Suffix == "" {
		return KeyPieces{}.and(KeyPiece{Text: s.Prefix}, KeyPiece{Any: true, Width: s.Rest})
	}
	out := KeyPieces{}.and(KeyPiece{Text: s.Prefix}, times, KeyPiece{Text: s.Delimiter + s.Suffix})
	switch after := s.Rest - times.Width - len(s.Delimiter+s.Suffix); {
	case s.Whole:
	case s.Rest == 0:
		out = out.and(KeyPiece{Any: true})
	case after > 0:
		out = out.and(KeyPiece{Any: true, Width: after})
	}
	return out
}

// KeyTimes formats times in keys. [Bucket] and [TimeFormat] implement it.
type KeyTimes interface {
	// Width returns the length of every formatted time in bytes; 0 if it varies.
	Width() int
	// Ends returns the bytewise first and last of the formatted times in [from, to);
	// false if there are none.
	Ends(from, to time.Time) (low, high string, ok bool)
}

// AnyTime returns a piece that matches all times. It matches exactly the bytes of a
// time if they have a fixed number, because a suffix alone is ambiguous: "ba" ends with
// "a", too.
func AnyTime(times KeyTimes) KeyPiece { return KeyPiece{Any: true, Width: times.Width()} }

// TimesIn returns a piece that matches the times in [from, to); false if there are
// none.
func TimesIn(times KeyTimes, from, to time.Time) (KeyPiece, bool) {
	low, high, ok := times.Ends(from, to)
	if low == high {
		high = "" // a single string
	}
	return KeyPiece{Text: low, High: high}, ok
}

// Regexp returns the pattern in the syntax of Bigtable's row key filter, RE2 on bytes.
func (p KeyPieces) Regexp() string {
	var b strings.Builder
	for _, piece := range p {
		b.WriteString(piece.regexp())
	}
	return b.String()
}

func (p KeyPiece) regexp() string {
	switch {
	case p.Other:
		n := len(p.Text)
		p.Other = false
		return fmt.Sprintf(`(?:%s|\C{0,%d}|\C{%d,})`, p.regexp(), max(0, n-1), n+1)
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

// between returns a pattern for the strings from low to high, which have equal length.
func between(low, high string) string {
	switch {
	case lowest(low) && highest(high):
		return anyBytes(len(low))
	case low[0] == high[0]:
		return QuoteRegexp(low[:1]) + between(low[1:], high[1:])
	}
	// The first byte equals that of low, or that of high, or lies between them.
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

// lowest and highest report whether s is the first or last string of its length.
func lowest(s string) bool { return s == strings.Repeat("\x00", len(s)) }

func highest(s string) bool { return s == strings.Repeat("\xff", len(s)) }

// anyBytes returns a pattern for any n bytes.
func anyBytes(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(`\C{%d}`, n)
}

// QuoteRegexp returns a regular expression that matches exactly s, which may contain
// any bytes.
func QuoteRegexp(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '#', c == '/', c == ':':
			b.WriteByte(c) // not escaped, because the size of filters is limited
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
