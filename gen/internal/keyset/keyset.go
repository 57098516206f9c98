// Package keyset decides whether two sets of row keys overlap. A set is described segment
// by segment. Two sets overlap if they have a key in common.
package keyset

import "slices"

// Set is a set of byte strings. The zero Set is not valid.
type Set struct {
	// build adds the states that accept the set after state from, and returns the state
	// that follows it.
	build func(m *machine, from int) (to int)
}

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
	for _, b := range slices.Compact(slices.Sorted(slices.Values([]byte(s)))) {
		if last := len(out) - 1; last >= 0 && out[last][1]+1 == b {
			out[last][1] = b
			continue
		}
		out = append(out, [2]byte{b, b})
	}
	return out
}

// Without returns the bytes of the class other than b.
func (c Class) Without(b byte) Class {
	var out Class
	for _, r := range c {
		if b < r[0] || b > r[1] {
			out = append(out, r)
			continue
		}
		if b < r[1] { // first, because it has the letters for examples
			out = append(out, [2]byte{b + 1, r[1]})
		}
		if r[0] < b {
			out = append(out, [2]byte{r[0], b - 1})
		}
	}
	return out
}

// Text is the set of one string.
func Text(s string) Set {
	return Set{func(m *machine, at int) int {
		for i := range len(s) {
			at = m.step(at, Class{{s[i], s[i]}})
		}
		return at
	}}
}

// Repeat is the set of all strings of n bytes of a class or, if n is 0, of one or more.
func Repeat(c Class, n int) Set {
	return Set{func(m *machine, at int) int {
		for range max(1, n) {
			at = m.step(at, c)
		}
		if n == 0 {
			m.connect(at, c, at)
		}
		return at
	}}
}

// Optional is the union of the set and the empty string.
func Optional(s Set) Set { return Union(s, Text("")) }

// Between is the set of the strings from low to high, inclusive, which have the same
// length. At each position where low has a byte of the class, the strings have any byte of
// the class; elsewhere, they have the byte of low.
func Between(low, high string, c Class) Set {
	return Set{func(m *machine, at int) int {
		// The states after prefixes that equal those of low, of high, of both, and of neither.
		const onLow, onHigh, onBoth, free = 0, 1, 2, 3
		now := [4]int{-1, -1, at, -1}
		for i := range len(low) {
			next := [4]int{m.state(), m.state(), m.state(), m.state()}
			for mode, from := range now {
				if from < 0 {
					continue
				}
				lo, hi := byte(0), byte(255)
				if mode == onLow || mode == onBoth {
					lo = low[i]
				}
				if mode == onHigh || mode == onBoth {
					hi = high[i]
				}
				for _, b := range allowed(c, low[i], lo, hi) {
					to := free
					isLow, isHigh := mode != onHigh && mode != free && b == low[i], mode != onLow && mode != free && b == high[i]
					switch {
					case mode == onBoth && isLow && isHigh:
						to = onBoth
					case isLow:
						to = onLow
					case isHigh:
						to = onHigh
					}
					m.connect(from, Class{{b, b}}, next[to])
				}
			}
			now = next
		}
		end := m.state()
		for _, state := range now {
			if state >= 0 {
				m.skip(state, end)
			}
		}
		return end
	}}
}

// allowed lists the bytes from lo to hi that are allowed where low has b.
func allowed(c Class, b, lo, hi byte) []byte {
	if !c.has(b) {
		if lo <= b && b <= hi {
			return []byte{b}
		}
		return nil
	}
	var out []byte
	for n := int(lo); n <= int(hi); n++ {
		if c.has(byte(n)) {
			out = append(out, byte(n))
		}
	}
	return out
}

// has reports whether b is in the class.
func (c Class) has(b byte) bool {
	return slices.ContainsFunc(c, func(r [2]byte) bool { return r[0] <= b && b <= r[1] })
}

// Concat is the set of the concatenations of one string from each set.
func Concat(sets ...Set) Set {
	return Set{func(m *machine, at int) int {
		for _, s := range sets {
			at = s.build(m, at)
		}
		return at
	}}
}

// Union is the set of the strings that are in any of the sets.
func Union(sets ...Set) Set {
	return Set{func(m *machine, at int) int {
		end := m.state()
		for _, s := range sets {
			from := m.state()
			m.skip(at, from)
			m.skip(s.build(m, from), end)
		}
		return end
	}}
}

// machine is a nondeterministic automaton.
type machine struct {
	edges [][]edge
	skips [][]int // transitions without a byte
}

// edge is a transition on a byte from lo to hi.
type edge struct {
	lo, hi byte
	to     int
}

// compile returns the automaton of a set, which starts in state 0, and its last state.
func compile(s Set) (m *machine, last int) {
	m = &machine{}
	return m, s.build(m, m.state())
}

// state adds a state.
func (m *machine) state() int {
	m.edges, m.skips = append(m.edges, nil), append(m.skips, nil)
	return len(m.edges) - 1
}

// step adds a state that is reached by a byte of the class.
func (m *machine) step(from int, c Class) int {
	to := m.state()
	m.connect(from, c, to)
	return to
}

// connect adds transitions from one state to another on the bytes of the class.
func (m *machine) connect(from int, c Class, to int) {
	for _, r := range c {
		m.edges[from] = append(m.edges[from], edge{r[0], r[1], to})
	}
}

// skip adds a transition from one state to another on the empty string.
func (m *machine) skip(from, to int) { m.skips[from] = append(m.skips[from], to) }

// maxPairs bounds the work of Overlap.
const maxPairs = 1 << 20

// pair is a state of each of two automata.
type pair struct{ a, b int }

// reached records how a pair was reached.
type reached struct {
	from pair
	by   byte
	byte bool // it took a byte
}

// Overlap reports whether any string is in both sets, and returns a shortest one. If the sets
// are too large to decide, it reports true, without an example.
func Overlap(a, b Set) (example string, ok bool) {
	ma, lastA := compile(a)
	mb, lastB := compile(b)
	start, goal := pair{0, 0}, pair{lastA, lastB}
	seen := map[pair]reached{start: {}}
	level := []pair{start} // reached by strings of one length
	for len(level) > 0 {
		for i := 0; i < len(level); i++ { // grows by pairs that are reached without a byte
			p := level[i]
			if p == goal {
				return spell(seen, start, goal), true
			}
			visit := func(q pair) {
				if _, known := seen[q]; !known {
					seen[q] = reached{from: p}
					level = append(level, q)
				}
			}
			for _, to := range ma.skips[p.a] {
				visit(pair{to, p.b})
			}
			for _, to := range mb.skips[p.b] {
				visit(pair{p.a, to})
			}
		}
		if len(seen) > maxPairs {
			return "", true
		}
		level = advance(ma, mb, level, seen)
	}
	return "", false
}

// advance returns the pairs that one more byte leads to.
func advance(ma, mb *machine, level []pair, seen map[pair]reached) []pair {
	var next []pair
	for _, p := range level {
		for _, ea := range ma.edges[p.a] {
			for _, eb := range mb.edges[p.b] {
				lo, hi := max(ea.lo, eb.lo), min(ea.hi, eb.hi)
				q := pair{ea.to, eb.to}
				if _, known := seen[q]; lo > hi || known {
					continue
				}
				seen[q] = reached{from: p, by: readable(lo, hi), byte: true}
				next = append(next, q)
			}
		}
	}
	return next
}

// readable returns a byte from lo to hi, a letter or a digit if there is one.
func readable(lo, hi byte) byte {
	for _, b := range []byte("a1A-_") {
		if lo <= b && b <= hi {
			return b
		}
	}
	if lo < '!' && hi >= '!' {
		return '!'
	}
	return lo
}

// spell returns the string by which goal was reached.
func spell(seen map[pair]reached, start, goal pair) string {
	var out []byte
	for p := goal; p != start; {
		r := seen[p]
		if r.byte {
			out = append(out, r.by)
		}
		p = r.from
	}
	slices.Reverse(out)
	return string(out)
}
