// Package keyset decides whether two sets of row keys overlap. A set is described segment
// by segment. Two sets overlap if they have a key in common.
package keyset

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// Set is a set of byte strings: a regular expression in which a byte is the character with its number.
type Set string

// nothing is the set without strings.
const nothing Set = `[^\x00-\x{10ffff}]`

// Class is a set of bytes: all those in any of the inclusive ranges.
type Class [][2]byte

// Common classes.
var (
	AnyByte = Class{{0, 255}}
	Digits  = Class{{'0', '9'}}
)

// Bytes returns the bytes of a string.
func Bytes(s string) Class {
	var out Class
	for i := range len(s) {
		out = append(out, [2]byte{s[i], s[i]})
	}
	return out
}

// Without returns the bytes of the class other than b.
func (c Class) Without(b byte) Class {
	return append(c.within(0, int(b)-1), c.within(int(b)+1, 255)...)
}

// within returns the bytes of the class from least to most.
func (c Class) within(least, most int) Class {
	var out Class
	for _, r := range c {
		if from, to := max(int(r[0]), least), min(int(r[1]), most); from <= to {
			out = append(out, [2]byte{byte(from), byte(to)})
		}
	}
	return out
}

// set is the set of the strings of one byte of the class.
func (c Class) set() Set {
	if len(c) == 0 {
		return nothing
	}
	out := Set("[")
	for _, r := range c {
		out += Set(fmt.Sprintf(`\x%02x-\x%02x`, r[0], r[1]))
	}
	return out + "]"
}

// Text is the set of one string.
func Text(s string) Set {
	out := Set("")
	for i := range len(s) {
		out += Set(fmt.Sprintf(`\x%02x`, s[i]))
	}
	return out
}

// Repeat is the set of all strings of n bytes of a class or, if n is 0, of one or more.
func Repeat(c Class, n int) Set {
	if n == 0 {
		return c.set() + "+"
	}
	return Set(strings.Repeat(string(c.set()), n)) // {n} has a limit
}

// Optional is the union of the set and the empty string.
func Optional(s Set) Set { return Union(s, Text("")) }

// Between is the set of the strings from low to high, inclusive, which have the same
// length. At each position where low has a byte of the class, the strings have any byte of
// the class; elsewhere, they have the byte of low.
func Between(low, high string, c Class) Set { return between(low, high, true, true, c) }

// between is Between for the ends of strings: low bounds them only if from is set, and high if to is.
func between(low, high string, from, to bool, c Class) Set {
	if low == "" {
		return ""
	}
	own, least, most := c, 0, 255
	if b := int(low[0]); len(c.within(b, b)) == 0 {
		own = Bytes(low[:1])
	}
	if from && to && low[0] == high[0] {
		return Text(low[:1]) + between(low[1:], high[1:], true, true, c)
	}
	var sets []Set
	if from {
		least = int(low[0]) + 1
		sets = append(sets, Text(low[:1])+between(low[1:], high[1:], true, false, c))
	}
	if to {
		most = int(high[0]) - 1
		sets = append(sets, own.within(most+1, most+1).set()+between(low[1:], high[1:], false, true, c))
	}
	return Union(append(sets, own.within(least, most).set()+between(low[1:], high[1:], false, false, c))...)
}

// Concat is the set of the concatenations of one string from each set.
func Concat(sets ...Set) Set {
	out := Set("")
	for _, s := range sets {
		out += s
	}
	return out
}

// Union is the set of the strings that are in any of the sets.
func Union(sets ...Set) Set {
	if len(sets) == 0 {
		return nothing
	}
	out := "(?:" + sets[0]
	for _, s := range sets[1:] {
		out += "|" + s
	}
	return out + ")"
}

// compile returns the automaton of a set.
func compile(s Set) (*syntax.Prog, error) {
	re, err := syntax.Parse(string(s), syntax.Perl)
	if err != nil {
		return nil, err
	}
	return syntax.Compile(re.Simplify())
}

// maxPairs bounds the work of Overlap.
const maxPairs = 1 << 20

// pair is an instruction of each of two automata.
type pair struct{ a, b uint32 }

// reached is how a pair is reached: from another one, by a byte or by none.
type reached struct {
	from pair
	by   string
}

// Overlap reports whether any string is in both sets, and returns a shortest one. If the sets
// are too large to decide, it reports true, without an example.
func Overlap(a, b Set) (example string, ok bool) {
	pa, errA := compile(a)
	pb, errB := compile(b)
	if errA != nil || errB != nil {
		return "", true
	}
	seen, level := map[pair]reached{}, []pair{} // those that are reached by strings of one length
	var add func(p pair, how reached)
	add = func(p pair, how reached) {
		if _, known := seen[p]; known {
			return
		}
		seen[p], level = how, append(level, p)
		for _, to := range skips(&pa.Inst[p.a]) {
			add(pair{to, p.b}, reached{from: p})
		}
		for _, to := range skips(&pb.Inst[p.b]) {
			add(pair{p.a, to}, reached{from: p})
		}
	}
	start := pair{uint32(pa.Start), uint32(pb.Start)}
	for add(start, reached{}); len(level) > 0; {
		now := level
		level = nil
		for _, p := range now {
			x, y := &pa.Inst[p.a], &pb.Inst[p.b]
			if x.Op == syntax.InstMatch && y.Op == syntax.InstMatch {
				for ; p != start; p = seen[p].from {
					example = seen[p].by + example
				}
				return example, true
			}
			if c, ok := common(x, y); ok {
				add(pair{x.Out, y.Out}, reached{p, string([]byte{c})})
			}
		}
		if len(seen) > maxPairs {
			return "", true
		}
	}
	return "", false
}

// skips returns the instructions that follow one without a byte.
func skips(i *syntax.Inst) []uint32 {
	switch i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return []uint32{i.Out, i.Arg}
	case syntax.InstCapture, syntax.InstNop:
		return []uint32{i.Out}
	}
	return nil
}

// common returns a byte that both of two instructions match, a letter or a digit if there is one.
func common(a, b *syntax.Inst) (byte, bool) {
	if len(a.Rune) == 0 || len(b.Rune) == 0 {
		return 0, false
	}
	for _, c := range "a1A-_!" {
		if a.MatchRune(c) && b.MatchRune(c) {
			return byte(c), true
		}
	}
	for c := a.Rune[0]; c <= a.Rune[len(a.Rune)-1]; c++ {
		if a.MatchRune(c) && b.MatchRune(c) {
			return byte(c), true
		}
	}
	return 0, false
}
