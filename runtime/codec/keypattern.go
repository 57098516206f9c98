package codec

import (
	"fmt"
	"strings"
	"time"
)

// KeyPattern is a pattern for row keys at given times.
type KeyPattern struct {
	Before, After KeyPieces // around the time, with delimiters
	Timed         bool      // keys contain the time or the bucket
	// AnyWidth makes the pattern also match keys whose time has another width than those of the
	// table, so that readers report these rows instead of skipping them.
	AnyWidth bool
	others   []*KeyPattern // alternatives
}

// At returns the pattern for keys with the given times.
func (p *KeyPattern) At(times ...KeyPiece) KeyPieces {
	out := append(make(KeyPieces, 0, len(p.Before)+1+len(p.After)), p.Before...)
	switch {
	case !p.Timed:
	case !p.AnyWidth:
		out = out.and(times...)
	case len(times) != 1 || times[0].Any || times[0].Number:
		out = out.and(KeyPiece{Any: true})
	default:
		other := times[0]
		other.Other = true
		out = out.and(other)
	}
	return out.and(p.After...)
}

// AnyPattern returns a pattern for the keys that match any of at least one pattern.
func AnyPattern(patterns []*KeyPattern) *KeyPattern {
	any := *patterns[0]
	any.others = patterns[1:]
	return &any
}

// All returns the patterns of p for keys with the given times: one, or several if p is the result of [AnyPattern].
func (p *KeyPattern) All(times ...KeyPiece) []KeyPieces {
	out := []KeyPieces{p.At(times...)}
	for _, other := range p.others {
		out = append(out, other.At(times...))
	}
	return out
}

// KeyPieces is a pattern for row keys, as a sequence of pieces.
type KeyPieces []KeyPiece

// KeyPiece matches a part of a key: a fixed string, any bytes, the strings of a range,
// or the unpadded decimal numbers of a range.
type KeyPiece struct {
	Text   string // the string; if High is set, the first string of a range of equal length
	High   string
	Any    bool
	Width  int  // if Any is set, the number of bytes; 0 for any number
	Number bool // Text and High are the least and the greatest number, of any length; an empty High is no limit
	Other  bool // strings of other lengths than Text match, too
}

// known reports whether the piece matches exactly one string.
func (p KeyPiece) known() bool { return !p.Any && p.High == "" && !p.Number && !p.Other }

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
	// Within returns a pattern for the formatted times in [from, to); false if there are none.
	Within(from, to time.Time) (KeyPieces, bool)
}

// AnyTime returns a piece that matches all times. It matches exactly the bytes of a time if they have a fixed number,
// because a suffix alone is ambiguous: "ba" ends with "a", too.
func AnyTime(times KeyTimes) KeyPiece { return KeyPiece{Any: true, Width: times.Width()} }

// stringsBetween returns a pattern for the strings of two, which have equal length, and of those between them.
func stringsBetween(a, b string) KeyPieces {
	if a == b {
		return KeyPieces{{Text: a}}
	}
	return KeyPieces{{Text: min(a, b), High: max(a, b)}}
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
		return anyByte.all(p.Width)
	case p.Number:
		return numbers(p.Text, p.High)
	case p.High != "":
		return anyByte.between(p.Text, p.High)
	}
	return QuoteRegexp(p.Text)
}

// numbers returns a pattern for the unpadded decimal numbers from low to high, or from low on if high is empty.
func numbers(low, high string) string {
	var branches []string
	if high == "" {
		branches = append(branches, fmt.Sprintf("[1-9][0-9]{%d,}", len(low)))
		high = digit.last(len(low))
	}
	for n := len(low); n < len(high); n++ {
		branches = append(branches, digit.between(low, digit.last(n)))
		low = "1" + digit.first(n)
	}
	branches = append(branches, digit.between(low, high))
	return "(?:" + strings.Join(branches, "|") + ")"
}

// alphabet is what the bytes of a range of strings of equal length can be.
type alphabet struct {
	low, high byte
	any       string // pattern for one of them
}

var (
	anyByte = alphabet{0x00, 0xff, `\C`}
	digit   = alphabet{'0', '9', "[0-9]"}
)

// first and last return the first and the last string of n bytes.
func (a alphabet) first(n int) string { return strings.Repeat(string([]byte{a.low}), n) }

func (a alphabet) last(n int) string { return strings.Repeat(string([]byte{a.high}), n) }

// all returns a pattern for any n bytes of the alphabet.
func (a alphabet) all(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s{%d}", a.any, n)
}

// between returns a pattern for the strings from low to high, which have equal length.
func (a alphabet) between(low, high string) string {
	rest := len(low) - 1
	switch {
	case low == a.first(len(low)) && high == a.last(len(high)):
		return a.all(len(low))
	case low[0] == high[0]:
		return QuoteRegexp(low[:1]) + a.between(low[1:], high[1:])
	}
	// The first byte equals that of low, or that of high, or lies between them.
	var branches []string
	first, last := low[0], high[0]
	if low[1:] != a.first(rest) {
		branches = append(branches, QuoteRegexp(low[:1])+a.between(low[1:], a.last(rest)))
		first++
	}
	if high[1:] != a.last(rest) {
		branches = append(branches, QuoteRegexp(high[:1])+a.between(a.first(rest), high[1:]))
		last--
	}
	if first <= last {
		branches = append(branches, fmt.Sprintf(`[\x%02x-\x%02x]`, first, last)+a.all(rest))
	}
	return "(?:" + strings.Join(branches, "|") + ")"
}

// QuoteRegexp returns a regular expression that matches exactly s, which may contain any bytes.
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
