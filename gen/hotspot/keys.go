package hotspot

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"time"
)

// textList is texts in one piece of memory. The zero value is an empty list.
type textList struct {
	text  []byte
	begin int32 // of the first text
	ends  []int32
}

// grow makes room for n more texts of about as many bytes as one of them.
func (l *textList) grow(n int, one []byte) {
	l.text = slices.Grow(l.text, n*(len(one)+len(one)/16))
	l.ends = slices.Grow(l.ends, n)
}

// add adds a copy of a text.
func (l *textList) add(text []byte) {
	l.text = append(l.text, text...)
	l.ends = append(l.ends, int32(len(l.text)))
}

// at returns a text, which is valid until the list is emptied.
func (l *textList) at(i int) []byte {
	begin := l.begin
	if i > 0 {
		begin = l.ends[i-1]
	}
	return l.text[begin:l.ends[i]]
}

// addAll adds the texts of another list.
func (l *textList) addAll(o *textList) {
	for i := range o.ends {
		l.add(o.at(i))
	}
}

// part returns some successive texts, in the memory of the list.
func (l *textList) part(first, end int) textList {
	begin := l.begin
	if first > 0 {
		begin = l.ends[first-1]
	}
	return textList{l.text, begin, l.ends[first:end]}
}

// cut removes all texts but the first n. It keeps the memory.
func (l *textList) cut(n int) {
	l.ends = l.ends[:n]
	if n == 0 {
		l.text = l.text[:0]
		return
	}
	l.text = l.text[:l.ends[n-1]]
}

// keyList is row keys. It stores what differs between the keys of a writer: memory is mostly for
// keys, of which there are many per writer.
type keyList struct {
	writers []int32
	varied  textList // the runs of each key that are not fixed
}

// len returns the number of keys.
func (k *keyList) len() int { return len(k.writers) }

// part returns some successive keys, in the memory of the list.
func (k *keyList) part(first, end int) keyList {
	runs := len(k.varied.ends) / max(1, len(k.writers))
	return keyList{k.writers[first:end], k.varied.part(first*runs, end*runs)}
}

// empty removes all keys, but keeps the memory.
func (k *keyList) empty() {
	k.writers = k.writers[:0]
	k.varied.cut(0)
}

// addAll adds the keys of another list.
func (k *keyList) addAll(o *keyList) {
	k.writers = append(k.writers, o.writers...)
	k.varied.addAll(&o.varied)
}

// add adds the row key of a writer's event, and reports whether there is one.
func (s *simulation) add(keys *keyList, writer int, at time.Time) bool {
	if s.writers[writer].rejected {
		return false
	}
	s.event = at
	s.vary(writer, at)
	before := len(keys.varied.ends)
	for _, r := range s.runs {
		if r.fixed {
			continue
		}
		part, ok := s.write(r)
		if !ok {
			keys.varied.cut(before)
			return false
		}
		keys.varied.add(part)
	}
	keys.writers = append(keys.writers, int32(writer))
	return true
}

// at returns a row key in the memory of buf.
func (s *simulation) at(keys *keyList, i int, buf []byte) []byte {
	fixed, varied := int(keys.writers[i])*s.fixedRuns, i*(len(s.runs)-s.fixedRuns)
	key := buf[:0]
	for n, r := range s.runs {
		if n > 0 {
			key = append(key, s.t.DelimiterAfter(r.begin-1)...)
		}
		if r.fixed {
			key = append(key, s.fixed.at(fixed)...)
			fixed++
		} else {
			key = append(key, keys.varied.at(varied)...)
			varied++
		}
	}
	return key
}

// sortedKey is the place of a key in a list.
type sortedKey struct {
	begin uint64 // the first bytes after those that all keys have in common
	index int
}

// sort returns the order of keys, those with the given indexes or all if that is nil. Equal keys
// stay in their order. It is valid until the next call. Most keys differ within a few bytes of
// the first difference, so that most comparisons are of numbers.
func (s *simulation) sort(keys *keyList, of []int) []sortedKey {
	s.sorting = s.sorting[:0]
	if of == nil {
		s.sorting = slices.Grow(s.sorting, keys.len())
		for i := range keys.len() {
			s.sorting = append(s.sorting, sortedKey{index: i})
		}
	}
	for _, i := range of {
		s.sorting = append(s.sorting, sortedKey{index: i})
	}
	if len(s.sorting) == 0 {
		return nil
	}
	s.compareFrom(keys, s.sorting)
	slices.SortFunc(s.sorting, func(x, y sortedKey) int { return cmp.Or(cmp.Compare(x.begin, y.begin), x.index-y.index) })
	for first := 0; first < len(s.sorting); {
		end := first + 1
		for end < len(s.sorting) && s.sorting[end].begin == s.sorting[first].begin {
			end++
		}
		s.sortEqual(keys, s.sorting[first:end])
		first = end
	}
	return s.sorting
}

// sortEqual sorts keys that begin with the same bytes.
func (s *simulation) sortEqual(keys *keyList, of []sortedKey) {
	if len(of) == 1 {
		return
	}
	s.compareFrom(keys, of)
	slices.SortFunc(of, func(x, y sortedKey) int {
		if x.begin != y.begin {
			return cmp.Compare(x.begin, y.begin)
		}
		s.buf, s.other = s.at(keys, x.index, s.buf), s.at(keys, y.index, s.other)
		return cmp.Or(bytes.Compare(s.buf, s.other), x.index-y.index)
	})
}

// compareFrom sets the first bytes of keys after those that all of them have in common.
func (s *simulation) compareFrom(keys *keyList, of []sortedKey) {
	s.other = s.at(keys, of[0].index, s.other)
	common := s.other
	for _, o := range of {
		s.buf = s.at(keys, o.index, s.buf)
		common = common[:commonPrefix(common, s.buf)]
	}
	for i := range of {
		var begin [8]byte
		s.buf = s.at(keys, of[i].index, s.buf)
		copy(begin[:], s.buf[len(common):])
		of[i].begin = binary.BigEndian.Uint64(begin[:])
	}
}

// commonPrefix returns the length of what two keys begin with.
func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// places are the parts of the key space that contain the keys of successive steps.
type places struct {
	starts []string // of the parts, sorted; the first is empty
	found  []int    // the part of each key of the last step
}

// find finds the part of each key. Most keys are in the part of the same key in the step before,
// or in that of the key before.
func (s *simulation) find(keys *keyList, p *places) []int {
	before := 0
	for i := range keys.len() {
		if i == len(p.found) {
			p.found = append(p.found, 0)
		}
		s.buf = s.at(keys, i, s.buf)
		switch {
		case p.contains(p.found[i], s.buf):
		case p.contains(before, s.buf):
			p.found[i] = before
		default:
			p.found[i] = partOf(p.starts, s.buf)
		}
		before = p.found[i]
	}
	p.found = p.found[:keys.len()]
	return p.found
}

// contains reports whether a part contains a key.
func (p *places) contains(part int, key []byte) bool {
	return part < len(p.starts) && p.starts[part] <= string(key) && (part+1 == len(p.starts) || string(key) < p.starts[part+1])
}

// partOf returns the index of the part that contains a key, by the starts of the parts.
func partOf(starts []string, key []byte) int {
	low, high := 0, len(starts)
	for low < high {
		if middle := (low + high) / 2; starts[middle] > string(key) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return max(0, low-1)
}

// quantiles returns the starts of parts of equal size of some keys. Equal keys are in one part, so
// there may be fewer parts.
func (s *simulation) quantiles(keys *keyList, parts int) []string {
	out, order := []string{""}, s.sort(keys, nil)
	for i := 1; i < parts && len(order) > 0; i++ {
		s.buf = s.at(keys, order[i*len(order)/parts].index, s.buf)
		if string(s.buf) > out[len(out)-1] {
			out = append(out, string(s.buf))
		}
	}
	return out
}
