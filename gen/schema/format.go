package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Format returns a schema in canonical form. Keys of the language come in a fixed order,
// unknown keys after them. Blocks are indented by two spaces, and there is at most one
// blank line in a row. The values of consecutive names are aligned. A list or mapping in
// brackets stays in brackets if it is on one line, and becomes a block otherwise. Strings
// keep their quotes, and comments their places: above an entry, after it, or at the end of
// a block.
//
// Format never changes the meaning of a schema, and keeps what Parse would reject. If it
// cannot keep something, or if the file is not YAML that the language supports, it returns
// nil and the errors.
func Format(name string, text []byte) ([]byte, diag.List) {
	return format(name, text, rootBlock.shape())
}

// FormatConfig is Format for a btgen.yaml.
func FormatConfig(name string, text []byte) ([]byte, diag.List) {
	return format(name, text, configBlock.shape())
}

func format(name string, text []byte, s shape) ([]byte, diag.List) {
	w := &walker{file: name}
	before := readSource(w, text)
	if before == nil {
		return nil, w.list()
	}
	before.root.arrange(s)
	out := before.root.write()
	if !before.isKept(out, s) {
		w.reject(diag.Pos{File: name}, "unformattable")
		return nil, w.list()
	}
	return out, nil
}

// isKept reports whether a text has the same meaning and comments, and is formatted. It
// parses the text anew.
func (before *source) isKept(text []byte, s shape) bool {
	after := readSource(&walker{}, text)
	if after == nil || before.root.node.meaning(s) != after.root.node.meaning(s) {
		return false
	}
	slices.Sort(before.comments)
	slices.Sort(after.comments)
	after.root.arrange(s)
	return slices.Equal(before.comments, after.comments) && bytes.Equal(after.root.write(), text)
}

// meaning returns a text that two nodes share if they mean the same. The order of keys of the language has no meaning.
func (n *node) meaning(s shape) string {
	s = s.of(n)
	var parts []string
	for _, item := range n.items {
		parts = append(parts, item.meaning(s.child("")))
	}
	for _, e := range n.entries {
		parts = append(parts, strconv.Quote(e.key.text)+": "+e.value.meaning(s.child(e.key.text)))
	}
	if s.kind == shapeClosed {
		slices.Sort(parts)
	}
	return fmt.Sprintf("%d %t %q %s", n.kind, n.plain, n.text, parts)
}

// of returns the shape that a node has, among those that s allows; the zero shape for scalars. It identifies the
// variants of a union by their first key.
func (s shape) of(n *node) shape {
	switch {
	case s.kind == shapeLazy:
		return s.item().of(n)
	case s.kind == shapeEither:
		union := !slices.ContainsFunc(s.either, func(e shape) bool { return e.kind != shapeClosed })
		for _, e := range s.either {
			one := e.of(n)
			if one.item != nil || one.keys != nil && (!union || n.entry(one.keys()[0].name) != nil) {
				return one
			}
		}
	case s.kind == shapeList && n.kind == list, (s.kind == shapeOpen || s.kind == shapeClosed) && n.kind == mapping:
		return s
	}
	return shape{}
}

// child returns the shape of an item, or of the value of a key.
func (s shape) child(key string) shape {
	switch s.kind {
	case shapeList, shapeOpen:
		return s.item()
	case shapeClosed:
		for _, k := range s.keys() {
			if k.name == key {
				return k.shape
			}
		}
	}
	return shape{}
}

// arrange sorts the keys of the language, everywhere in p, and marks the mappings whose
// values are aligned.
func (p *piece) arrange(s shape) {
	s = s.of(p.node)
	p.aligned = s.kind == shapeOpen
	for _, part := range p.parts {
		part.value.arrange(s.child(part.name))
	}
	if s.kind == shapeClosed && len(p.parts) > 1 {
		p.sort(s)
	}
	for _, part := range p.parts {
		part.hoist()
	}
}

// sort sorts the keys into the order of s.
func (p *piece) sort(s shape) {
	place := map[string]int{}
	for i, k := range s.keys() {
		place[k.name] = i - len(s.keys()) // before unknown keys
	}
	first := p.parts[0]
	slices.SortStableFunc(p.parts, func(a, b *part) int { return cmp.Compare(place[a.name], place[b.name]) })
	if now := p.parts[0]; now != first {
		above, own := splitHead(first.head)
		first.head = own
		now.head = append(above, trimBlank(now.head)...)
	}
}

// splitHead splits the comments above the first entry of a block into those about the
// block, up to the last blank line, and those about the entry.
func splitHead(head []string) (block, own []string) {
	for i, line := range slices.Backward(head) {
		if line == "" || line == documentStart {
			return slices.Clip(head[:i+1]), head[i+1:]
		}
	}
	return slices.Clip(head), nil
}

// trimBlank returns lines without leading blank lines.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	return lines
}

// hoist moves the comments of the first entry of a list item above the hyphen, which is on
// the same line as the entry.
func (p *part) hoist() {
	if p.key != "" || p.value.inline || len(p.value.parts) == 0 {
		return
	}
	first := p.value.parts[0]
	p.head = append(slices.Clip(p.head), trimBlank(first.head)...)
	first.head = nil
}
