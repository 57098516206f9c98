package hotspot

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// keyList is row keys in one piece of memory.
type keyList struct {
	text []byte
	ends []int
}

// newKeyList returns an empty list with memory for n keys of some bytes.
func newKeyList(n, bytes int) keyList { return keyList{make([]byte, 0, n*bytes), make([]int, 0, n)} }

// add adds a copy of a key.
func (k *keyList) add(key []byte) {
	k.text = append(k.text, key...)
	k.ends = append(k.ends, len(k.text))
}

// len returns the number of keys.
func (k *keyList) len() int { return len(k.ends) }

// at returns a key, which is valid until the list is emptied.
func (k *keyList) at(i int) []byte {
	begin := 0
	if i > 0 {
		begin = k.ends[i-1]
	}
	return k.text[begin:k.ends[i]]
}

// emptied returns a list without keys, in the same memory.
func (k *keyList) emptied() keyList { return keyList{k.text[:0], k.ends[:0]} }

// addAll adds the keys of another list.
func (k *keyList) addAll(o *keyList) {
	begin := len(k.text)
	k.text = append(k.text, o.text...)
	for _, end := range o.ends {
		k.ends = append(k.ends, begin+end)
	}
}

// sorted returns a copy of the list in the given order.
func (k *keyList) sorted(order []sortedKey) keyList {
	out := keyList{make([]byte, 0, len(k.text)), make([]int, 0, len(k.ends))}
	for _, o := range order {
		out.add(k.at(o.index))
	}
	return out
}

// sortedKey is the place of a key in a list.
type sortedKey struct {
	begin uint64 // the first bytes after those that all keys have in common
	index int
}

// sort returns the order of keys, those with the given indexes or all if that is nil. Equal keys
// stay in their order. It is valid until the next call. Most keys differ within a few bytes, so
// that most comparisons are of numbers.
func (s *simulation) sort(keys *keyList, of []int) []sortedKey {
	n := len(of)
	if of == nil {
		n = keys.len()
	}
	s.sorting = slices.Grow(s.sorting[:0], n)
	if of == nil {
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
	common := keys.at(s.sorting[0].index)
	for _, o := range s.sorting {
		common = common[:commonPrefix(common, keys.at(o.index))]
	}
	for i := range s.sorting {
		var begin [8]byte
		copy(begin[:], keys.at(s.sorting[i].index)[len(common):])
		s.sorting[i].begin = binary.BigEndian.Uint64(begin[:])
	}
	slices.SortFunc(s.sorting, func(a, b sortedKey) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		return cmp.Or(bytes.Compare(keys.at(a.index), keys.at(b.index)), a.index-b.index)
	})
	return s.sorting
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

// of returns the part of each key. Most keys are in the part of the same key in the step before,
// or in that of the key before.
func (p *places) of(keys *keyList) []int {
	before := 0
	for i := range keys.len() {
		if i == len(p.found) {
			p.found = append(p.found, 0)
		}
		key := keys.at(i)
		switch {
		case p.contains(p.found[i], key):
		case p.contains(before, key):
			p.found[i] = before
		default:
			p.found[i] = find(p.starts, key)
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

// find returns the index of the part that contains a key, by the starts of the parts.
func find(starts []string, key []byte) int {
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

// quantiles returns the starts of parts of sorted keys of equal size. Equal keys are in one
// part, so there may be fewer parts.
func quantiles(keys *keyList, parts int) []string {
	out := []string{""}
	for i := 1; i < parts; i++ {
		if key := keys.at(i * keys.len() / parts); string(key) > out[len(out)-1] {
			out = append(out, string(key))
		}
	}
	return out
}
