package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/internal/yaml"
)

// MaxFile is the size of the largest file that is parsed, in bytes.
const MaxFile = 1 << 20

// Limits of a file. They keep a hostile file from taking time or memory.
const (
	maxDepth = 50       // nested lists and mappings
	maxTrace = 64 << 10 // bytes of a file in which syntax errors are located
)

// node is a YAML value, reduced to what the language uses. No other file of the package
// depends on a YAML library.
type node struct {
	kind    nodeKind
	pos     diag.Pos
	text    string  // of a scalar
	plain   bool    // a scalar without quotes
	boolean bool    // a plain scalar that YAML reads as a boolean
	items   []*node // of a list
	entries []entry // of a mapping, in the order of the file
}

// entry is one key of a mapping, and its value.
type entry struct {
	key   *node // always a scalar
	value *node
}

type nodeKind int

// The kinds of nodes. A broken node has already been reported and is skipped.
const (
	broken nodeKind = iota
	scalar
	list
	mapping
)

// describe returns a description of n for messages.
func (n *node) describe() string {
	switch n.kind {
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	default:
		return quote(n.text)
	}
}

// entry returns the value of a key of a mapping, or nil if there is none.
func (n *node) entry(key string) *node {
	for _, e := range n.entries {
		if e.key.text == key {
			return e.value
		}
	}
	return nil
}

// given is entry without a value that has been reported.
func (n *node) given(key string) *node {
	if v := n.entry(key); v != nil && v.kind != broken {
		return v
	}
	return nil
}

// child is entry, with an empty node if there is none.
func (n *node) child(key string) *node {
	if v := n.entry(key); v != nil {
		return v
	}
	return &node{}
}

// readYAML returns the top-level mapping of a file, or nil if there is none. It reports
// syntax errors and YAML features that the language does not support.
func readYAML(w *walker, text []byte) *node {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if !checkText(w, text) {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	first := slices.IndexFunc(lines, func(line string) bool { text := strings.TrimSpace(line); return text != "" && text[0] != '#' })
	if first >= 0 && lines[first][0] == '%' { // many of them make the YAML library slow
		w.reject(diag.Pos{File: w.file, Line: 1 + first, Column: 1}, "directive")
		return nil
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && (len(document.Content) == 0 || isNull(document.Content[0])) {
		w.reject(diag.Pos{File: w.file}, "empty-file")
		return nil
	}
	if err != nil {
		syntaxError(w, text, err)
		return nil
	}
	w.textAfter(decoder, document.Content[0].Style&yaml.FlowStyle != 0)
	c := converter{w: w, places: newPlaces(string(text))}
	root := c.convert(document.Content[0], 0)
	if root.kind != mapping {
		if root.kind != broken {
			w.want(root, "a mapping of keys to values", `begin with the line "btgen: v1"`)
		}
		return nil
	}
	return root
}

// textAfter reports other documents, and text after a mapping in brackets. The YAML library reports such text only when it is
// asked for another document.
func (w *walker) textAfter(decoder *yaml.Decoder, brackets bool) {
	var next yaml.Node
	err := decoder.Decode(&next)
	match := yamlError.FindStringSubmatch(fmt.Sprint(err))
	if match != nil {
		next.Line, _ = strconv.Atoi(match[1])
		next.Line++ // it counts from 0 here
	}
	switch {
	case match != nil && brackets:
		w.reject(diag.Pos{File: w.file, Line: next.Line}, "text-after")
	case match != nil || err == nil:
		w.reject(diag.Pos{File: w.file, Line: next.Line, Column: 1}, "second-document")
	}
}

// checkText reports files that are too large or not UTF-8, and line breaks that YAML counts
// but editors do not, since positions would be wrong. It returns whether it found none.
func checkText(w *walker, text []byte) bool {
	if len(text) > MaxFile {
		w.reject(diag.Pos{File: w.file}, "large-file")
		return false
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			w.reject(w.posAt(text, i), "not-utf8")
			return false
		case r == '\u0085', r == '\u2028', r == '\u2029', r == '\r' && !bytes.HasPrefix(text[i+1:], []byte("\n")):
			w.reject(w.posAt(text, i), "line-break", r)
			return false
		}
		i += size
	}
	return true
}

// posAt returns the position of a byte of text.
func (w *walker) posAt(text []byte, offset int) diag.Pos {
	p := newPlaces(string(text))
	return p.pos(w.file, offset)
}

var (
	yamlError     = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	commentValue  = regexp.MustCompile(`:[ \t]+#|[\[{,]#`)
)

// syntaxHint is a part of a message of the YAML library, and a hint about the usual cause.
type syntaxHint struct{ part, hint string }

var syntaxHints = []syntaxHint{
	{"cannot start any token", "quote strings that begin with %, @ or `"},
	{"mapping values are not allowed", `quote strings that contain ": "; align the keys of a mapping in one column`},
	{"tab character", "indent with spaces"},
	{"alphabetic or numeric character", "quote strings that begin with * or &"},
	{"did not find expected key", "align the keys of a mapping in one column; remove text after closing quotes and brackets"},
	{"could not find expected ':'", "write a colon and a space after each key"},
	{"block sequence entries are not allowed", "quote strings that begin with a hyphen; begin lists on a new line"},
	{"control characters", `in double quotes, write an escape such as "\x00"`},
	{"did not find expected ',' or", "close the bracket"},
	{"node content", "close the bracket"},
	{"unexpected end of stream", "close the quotes"},
	{"unknown escape character", `in double quotes, write \\ for a backslash`},
}

// syntaxError reports an error of the YAML library.
func syntaxError(w *walker, text []byte, err error) {
	match := yamlError.FindStringSubmatch(err.Error())
	if match == nil {
		match = []string{"", "", err.Error()}
	}
	if anchor := unknownAnchor.FindStringSubmatch(match[2]); anchor != nil {
		pos := w.posAt(text, max(0, bytes.Index(text, []byte("*"+anchor[1]))))
		w.reject(pos, "alias")
		return
	}
	message := match[2]
	reported, _ := strconv.Atoi(match[1])
	lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	line := max(reported, 1)
	if len(text) <= maxTrace {
		line = firstBadLine(lines, err.Error())
	}
	line = min(line, len(lines))
	hint := ""
	if i := slices.IndexFunc(syntaxHints, func(h syntaxHint) bool { return strings.Contains(message, h.part) }); i >= 0 {
		hint = syntaxHints[i].hint
	}
	if i := slices.IndexFunc(lines, isConflict); i >= 0 {
		w.reject(diag.Pos{File: w.file, Line: i + 1}, "conflict")
		return
	}
	if tabbed := lines[line-1]; bytes.ContainsRune(leading(tabbed), '\t') {
		pos := diag.Pos{File: w.file, Line: line, Column: 1 + bytes.IndexByte(tabbed, '\t')}
		w.reject(pos, "tab")
		return
	}
	if indent := oddIndent(lines, line); indent != "" && strings.Contains(message, "mapping values are not allowed") {
		hint = indent
	}
	if strings.Contains(message, "expected ',' or") || strings.Contains(message, "node content") {
		for i := min(max(reported, 1), line); i <= line; i++ {
			if commentValue.Match(lines[i-1]) {
				line, hint = i, `# begins a comment; to use the character, quote it: "#"`
			}
		}
	}
	w.reject(diag.Pos{File: w.file, Line: line}, "bad-yaml", message, hint)
}

// isConflict reports whether a line marks a merge conflict.
func isConflict(line []byte) bool { return bytes.HasPrefix(line, []byte("<<<<<<< ")) }

// leading returns the spaces and tabs at the begin of a line.
func leading(line []byte) []byte { return line[:len(line)-len(bytes.TrimLeft(line, " \t"))] }

// oddIndent returns the hint for a line, counted from 1, that is indented more than the
// previous one although that has a value, or "" for any other line.
func oddIndent(lines [][]byte, line int) string {
	if line < 2 || bytes.HasSuffix(bytes.TrimSpace(lines[line-2]), []byte(":")) {
		return ""
	}
	indent := func(i int) int { return len(lines[i]) - len(bytes.TrimLeft(lines[i], " ")) }
	before, here := indent(line-2), indent(line-1)
	if here <= before {
		return ""
	}
	return fmt.Sprintf("this line is indented by %d spaces, but the previous one by %d: align the keys of a mapping in one column", here, before)
}

// firstBadLine returns the line that makes the YAML library fail with message. The library
// reports the line where the surrounding block begins, and often the line before that, so
// firstBadLine searches for the shortest prefix that fails with the same message.
func firstBadLine(lines [][]byte, message string) int {
	return 1 + sort.Search(len(lines)-1, func(i int) bool {
		var n yaml.Node
		prefix := append(bytes.Join(lines[:i+1], nil), '\n')
		err := yaml.NewDecoder(bytes.NewReader(prefix)).Decode(&n)
		return err != nil && err.Error() == message
	})
}

// places converts between positions and offsets of a text.
type places struct {
	text   string
	begins []int // of the lines
	// The last position that was converted, so that long lines are scanned only once.
	line, column, at int
}

func newPlaces(text string) places {
	begins := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			begins = append(begins, i+1)
		}
	}
	return places{text: text, begins: begins}
}

// offset returns the offset of a line and column, or of the end of the line if that is shorter.
func (p *places) offset(line, column int) int {
	if line = min(line, len(p.begins)); line != p.line || column < p.column {
		p.line, p.column, p.at = line, 1, p.begins[line-1]
	}
	for ; p.column < column && p.at < len(p.text) && p.text[p.at] != '\n'; p.column++ {
		_, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
	}
	return p.at
}

// rest returns the rest of a line, from a column.
func (p *places) rest(line, column int) string {
	if line < 1 || line > len(p.begins) {
		return ""
	}
	end := len(p.text)
	if line < len(p.begins) {
		end = p.begins[line] - 1
	}
	return p.text[p.offset(line, column):end]
}

// pos returns the position of an offset.
func (p *places) pos(file string, offset int) diag.Pos {
	line, begins := slices.BinarySearch(p.begins, offset)
	if begins {
		line++
	}
	return diag.Pos{File: file, Line: line, Column: 1 + utf8.RuneCountInString(p.text[p.begins[line-1]:offset])}
}

// converter converts nodes of the YAML library.
type converter struct {
	w *walker
	places
}

// convert returns n as a node. It reports unsupported YAML, and returns broken nodes for it.
func (c *converter) convert(n *yaml.Node, depth int) *node {
	out := &node{pos: diag.Pos{File: c.w.file, Line: n.Line, Column: n.Column}}
	switch {
	case n.Kind == yaml.AliasNode:
		c.w.reject(out.pos, "alias")
	case n.Anchor != "":
		c.w.reject(out.pos, "anchor")
	case n.Style&yaml.TaggedStyle != 0 || strings.HasPrefix(c.rest(n.Line, n.Column), "!"):
		c.w.reject(out.pos, "tag")
	case depth >= maxDepth:
		c.w.reject(out.pos, "deep", maxDepth)
	case n.Kind == yaml.ScalarNode:
		c.scalar(n, out)
	case n.Kind == yaml.SequenceNode:
		c.list(n, out, depth)
	case n.Kind == yaml.MappingNode:
		c.mapping(n, out, depth)
	}
	return out
}

func (c *converter) scalar(n *yaml.Node, out *node) {
	out.kind = scalar
	out.text = n.Value
	out.plain = n.Style == 0
	out.boolean = out.plain && n.Tag == "!!bool"
}

func (c *converter) list(n *yaml.Node, out *node, depth int) {
	out.kind = list
	for _, item := range n.Content {
		if isNull(item) {
			out.items = append(out.items, c.null(item, out.pos, "a list item", ""))
		} else {
			out.items = append(out.items, c.convert(item, depth+1))
		}
	}
}

func (c *converter) mapping(n *yaml.Node, out *node, depth int) {
	out.kind = mapping
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, ok := c.key(n.Content[i], depth)
		if !ok {
			continue
		}
		if line, ok := first[key.text]; ok {
			c.w.reject(key.pos, "duplicate-key", quote(key.text), strconv.Itoa(line))
			continue
		}
		first[key.text] = key.pos.Line
		out.entries = append(out.entries, entry{key: key, value: c.value(key, n.Content[i+1], depth)})
	}
}

// key returns the key of a mapping. It reports unsupported keys, and returns false for them.
func (c *converter) key(n *yaml.Node, depth int) (*node, bool) {
	pos := diag.Pos{File: c.w.file, Line: n.Line, Column: n.Column}
	switch {
	case n.Tag == "!!merge" && n.Kind == yaml.ScalarNode:
		c.w.reject(pos, "merge-key")
		return nil, false
	case isNull(n):
		c.w.reject(pos, "no-key-name")
		return nil, false
	case n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode:
		c.w.reject(pos, "key-is-list")
		return nil, false
	}
	key := c.convert(n, depth)
	return key, key.kind == scalar
}

// value returns the value of a key.
func (c *converter) value(key *node, n *yaml.Node, depth int) *node {
	if isNull(n) {
		return c.null(n, key.pos, quote(key.text), key.text)
	}
	return c.convert(n, depth+1)
}

// null reports that what has no value, at the position where the value would be or, if
// that is past the end of the file, at owner.
func (c *converter) null(n *yaml.Node, owner diag.Pos, what, key string) *node {
	pos := diag.Pos{File: c.w.file, Line: n.Line, Column: n.Column}
	if n.Line > len(c.begins) {
		pos = owner
	}
	d := c.w.errorf(pos, "%s has no value", what)
	switch {
	case n.Value != "":
		d.Hint = "remove it; or, for the string, quote it: " + strconv.Quote(n.Value)
	case strings.HasPrefix(strings.TrimLeft(c.rest(n.Line, n.Column), " \t"), "#"):
		d.Hint = `write a value; # begins a comment, so quote it: ` + diag.Code(keyed(key, `"#"`))
	default:
		d.Hint = "write a value, or remove it"
	}
	return &node{pos: pos}
}

// keyed returns "key: value", or only the value if the key is empty or long.
func keyed(key, value string) string {
	if key == "" || len(key) > 40 {
		return value
	}
	return key + ": " + value
}

// isNull reports whether n is a missing value or null.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Style == 0 && n.Anchor == ""
}
