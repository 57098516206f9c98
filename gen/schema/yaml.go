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
	maxTrace = 64 << 10 // bytes of a file in which the place of a syntax error is searched
)

// node is a YAML value, reduced to what the language makes use of. No other
// file of the package knows of YAML libraries.
type node struct {
	kind    nodeKind
	pos     diag.Pos
	text    string  // of a scalar
	plain   bool    // a scalar that is not quoted
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

// The kinds of nodes. A broken node has been reported already, and is skipped.
const (
	broken nodeKind = iota
	scalar
	list
	mapping
)

// describe returns what n is, for a message.
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

// entry returns the value of a key of a mapping, or nil.
func (n *node) entry(key string) *node {
	for _, e := range n.entries {
		if e.key.text == key {
			return e.value
		}
	}
	return nil
}

// readYAML returns the mapping that a file consists of, or nil where there is
// none. Everything that the language does not take from YAML is reported here.
func readYAML(w *walker, text []byte) *node {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if !checkText(w, text) {
		return nil
	}
	first, ok := firstDocument(w, text)
	if !ok {
		return nil
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(first))
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && (len(document.Content) == 0 || isNull(document.Content[0])) {
		w.errorf(diag.Pos{File: w.file}, "the file is empty").Hint = `the first line is "btgen: v1"`
		return nil
	}
	if err != nil {
		syntaxError(w, first, err)
		return nil
	}
	if line := textAfter(decoder); line > 0 {
		w.errorf(diag.Pos{File: w.file, Line: line}, "text after the last bracket, which ends the file").Hint = "remove it, or write the keys without brackets around all of them"
	}
	c := converter{w: w, lines: strings.Split(string(first), "\n")}
	root := c.convert(document.Content[0], 0)
	if root.kind != mapping {
		if root.kind != broken {
			w.want(root, "a mapping of keys to values", `the first line is "btgen: v1"`)
		}
		return nil
	}
	return root
}

// textAfter returns the line of what follows a mapping in brackets, of which the
// YAML library says something only if it is asked for more; 0 if nothing does.
func textAfter(decoder *yaml.Decoder) int {
	err := decoder.Decode(new(yaml.Node))
	if err == nil || errors.Is(err, io.EOF) {
		return 0
	}
	if match := yamlError.FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1]) // it counts from 0 here
		return line + 1
	}
	return 1
}

// checkText refuses what is no text, and line breaks that editors and YAML
// count differently: positions would be wrong.
func checkText(w *walker, text []byte) bool {
	if len(text) > MaxFile {
		w.errorf(diag.Pos{File: w.file}, "the file is larger than 1 MiB").Hint = "a schema is one kind of event: make one file for each"
		return false
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			w.errorf(w.posAt(text, i), "the file is not UTF-8").Hint = "save it as UTF-8"
			return false
		case r == '\u0085', r == '\u2028', r == '\u2029', r == '\r' && !bytes.HasPrefix(text[i+1:], []byte("\n")):
			w.errorf(w.posAt(text, i), "the character %U ends a line in YAML and nowhere else", r).Hint = `end lines with a newline; inside a text in double quotes write an escape such as "\u2028"`
			return false
		}
		i += size
	}
	return true
}

// posAt returns the place of a byte of text.
func (w *walker) posAt(text []byte, offset int) diag.Pos {
	before := text[:offset]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return diag.Pos{File: w.file, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(line) + 1}
}

// firstDocument returns the text without what follows the first document, and
// refuses directives: their number makes the YAML library slow.
func firstDocument(w *walker, text []byte) (first []byte, ok bool) {
	begun, ended := false, false
	end := len(text)
	line := 0
	for offset := 0; offset < len(text); {
		length := bytes.IndexByte(text[offset:], '\n') + 1
		if length == 0 {
			length = len(text) - offset
		}
		row := string(text[offset : offset+length])
		line++
		pos := diag.Pos{File: w.file, Line: line, Column: 1}
		switch rest := strings.TrimLeft(row, " \t\r\n"); {
		case isMarker(row, "...") && !ended:
			ended, end = true, offset
			if after := strings.TrimSpace(row[3:]); after == "" || after[0] == '#' {
				break
			}
			fallthrough
		case isMarker(row, "---") && begun, ended && rest != "" && rest[0] != '#' && !isMarker(row, "..."):
			w.errorf(pos, "a second document in the file").Hint = "make it a file of its own"
			return text[:min(end, offset)], true
		case rest == "" || rest[0] == '#':
		case row[0] == '%' && !begun:
			w.errorf(pos, "directives are not part of the language").Hint = "remove the line"
			return nil, false
		default:
			begun = true
		}
		offset += length
	}
	return text[:end], true
}

// isMarker reports whether a line is a document marker of YAML.
func isMarker(row, marker string) bool {
	rest, ok := strings.CutPrefix(row, marker)
	return ok && (rest == "" || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

var (
	yamlError     = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	commentValue  = regexp.MustCompile(`:[ \t]+#|[\[{,]#`)
)

// syntaxHints says what usually lies behind an error of the YAML library.
var syntaxHints = []struct{ part, hint string }{
	{"cannot start any token", "quote a text that begins with %, @ or `; indent with spaces, not with tabs"},
	{"mapping values are not allowed", `quote a text that contains ": "; keys of one mapping begin in the same column`},
	{"tab character", "indent with spaces"},
	{"alphabetic or numeric character", "quote a text that begins with * or &"},
	{"did not find expected key", "keys of one mapping begin in the same column; text after a closing quote or bracket is an error"},
	{"could not find expected ':'", "a key is followed by a colon and a space"},
	{"block sequence entries are not allowed", "quote a text that begins with a hyphen; a list begins in a line of its own"},
	{"control characters", `in double quotes, write an escape such as "\x00"`},
	{"did not find expected ',' or", "close the bracket"},
	{"node content", "close the bracket"},
	{"unexpected end of stream", "close the quotes"},
	{"unknown escape character", `in double quotes a backslash is written \\`},
}

// syntaxError reports an error of the YAML library.
func syntaxError(w *walker, text []byte, err error) {
	match := yamlError.FindStringSubmatch(err.Error())
	if match == nil {
		match = []string{"", "", err.Error()}
	}
	if anchor := unknownAnchor.FindStringSubmatch(match[2]); anchor != nil {
		pos := w.posAt(text, max(0, bytes.Index(text, []byte("*"+anchor[1]))))
		w.errorf(pos, "aliases are not part of the language").Hint = "write the value out; quote a text that begins with *"
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
	hint := syntaxHint(message)
	if i := slices.IndexFunc(lines, isConflict); i >= 0 {
		w.errorf(diag.Pos{File: w.file, Line: i + 1}, "a merge conflict that was not resolved").Hint = "keep one of the two sides, and remove the lines with <<<<<<<, ======= and >>>>>>>"
		return
	}
	if indent := oddIndent(lines, line); indent != "" && strings.Contains(message, "mapping values are not allowed") {
		hint = indent
	}
	if strings.Contains(message, "expected ',' or") || strings.Contains(message, "node content") {
		for i := min(max(reported, 1), line); i <= line; i++ {
			if commentValue.Match(lines[i-1]) {
				line, hint = i, `# begins a comment: for the text, quote it: "#"`
			}
		}
	}
	w.errorf(diag.Pos{File: w.file, Line: line}, "not valid YAML: %s", message).Hint = hint
}

// isConflict reports whether a line marks a merge conflict.
func isConflict(line []byte) bool { return bytes.HasPrefix(line, []byte("<<<<<<< ")) }

// oddIndent says that a line, counted from 1, is indented more than the key of the
// line before, which has its value already; empty if it is not.
func oddIndent(lines [][]byte, line int) string {
	if line < 2 || bytes.HasSuffix(bytes.TrimSpace(lines[line-2]), []byte(":")) {
		return ""
	}
	indent := func(i int) int { return len(lines[i]) - len(bytes.TrimLeft(lines[i], " ")) }
	before, here := indent(line-2), indent(line-1)
	if here <= before {
		return ""
	}
	return fmt.Sprintf("this line is indented by %d spaces, and the one before by %d: keys of one mapping begin in the same column", here, before)
}

// syntaxHint returns what usually lies behind an error of the YAML library.
func syntaxHint(message string) string {
	for _, h := range syntaxHints {
		if strings.Contains(message, h.part) {
			return h.hint
		}
	}
	return ""
}

// firstBadLine returns the line that makes the YAML library fail with message.
// Its own line numbers name the line where the surrounding block begins, and
// often the line before: so this looks for the fewest lines that fail alike.
func firstBadLine(lines [][]byte, message string) int {
	return 1 + sort.Search(len(lines)-1, func(i int) bool {
		var n yaml.Node
		prefix := append(bytes.Join(lines[:i+1], nil), '\n')
		err := yaml.NewDecoder(bytes.NewReader(prefix)).Decode(&n)
		return err != nil && err.Error() == message
	})
}

// converter makes nodes of the nodes of the YAML library.
type converter struct {
	w     *walker
	lines []string
	// The last place that was looked up: lines may be long, and are walked once.
	line, column, offset int
}

// convert returns n, with everything reported and broken that is not part of
// the language.
func (c *converter) convert(n *yaml.Node, depth int) *node {
	out := &node{pos: diag.Pos{File: c.w.file, Line: n.Line, Column: n.Column}}
	switch {
	case n.Kind == yaml.AliasNode:
		c.w.errorf(out.pos, "aliases are not part of the language").Hint = "write the value out; quote a text that begins with *"
	case n.Anchor != "":
		c.w.errorf(out.pos, "anchors are not part of the language").Hint = "remove the anchor; quote a text that begins with &"
	case n.Style&yaml.TaggedStyle != 0 || c.at(n.Line, n.Column) == '!':
		c.w.errorf(out.pos, "tags are not part of the language").Hint = "remove the tag; quote a text that begins with !"
	case depth >= maxDepth:
		c.w.errorf(out.pos, "nested deeper than %d levels", maxDepth).Hint = "no schema needs that"
	case n.Kind == yaml.ScalarNode:
		c.scalar(n, out)
	case n.Kind == yaml.SequenceNode:
		c.list(n, out, depth)
	case n.Kind == yaml.MappingNode:
		c.mapping(n, out, depth)
	}
	return out
}

// at returns the byte at a line and column.
func (c *converter) at(line, column int) byte {
	if line < 1 || line > len(c.lines) {
		return 0
	}
	if line != c.line || column < c.column {
		c.line, c.column, c.offset = line, 1, 0
	}
	text := c.lines[line-1]
	for ; c.column < column && c.offset < len(text); c.column++ {
		_, size := utf8.DecodeRuneInString(text[c.offset:])
		c.offset += size
	}
	if c.offset >= len(text) {
		return 0
	}
	return text[c.offset]
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
			out.items = append(out.items, c.null(item, out.pos, "an entry of the list", ""))
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
			c.w.errorf(key.pos, "the key %s is here twice", quote(key.text)).Hint = "it is first in line " + strconv.Itoa(line)
			continue
		}
		first[key.text] = key.pos.Line
		out.entries = append(out.entries, entry{key: key, value: c.value(key, n.Content[i+1], depth)})
	}
}

// key returns the key of a mapping, unless it is none that the language has.
func (c *converter) key(n *yaml.Node, depth int) (*node, bool) {
	pos := diag.Pos{File: c.w.file, Line: n.Line, Column: n.Column}
	switch {
	case n.Tag == "!!merge" && n.Kind == yaml.ScalarNode:
		c.w.errorf(pos, "merge keys are not part of the language").Hint = "write the keys out"
		return nil, false
	case isNull(n):
		c.w.errorf(pos, "a key without a name").Hint = "write a name before the colon"
		return nil, false
	case n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode:
		c.w.errorf(pos, "a list or a mapping cannot be a key").Hint = "write a name before the colon"
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

// null reports that what has no value, at the place where it would be. YAML puts
// that after the end of a file that ends too early: then it is at owner.
func (c *converter) null(n *yaml.Node, owner diag.Pos, what, key string) *node {
	pos := diag.Pos{File: c.w.file, Line: n.Line, Column: n.Column}
	if n.Line > len(c.lines) {
		pos = owner
	}
	d := c.w.errorf(pos, "%s has no value", what)
	switch {
	case n.Value != "":
		d.Hint = "leave it out; or, for the text, quote it: " + strconv.Quote(n.Value)
	case c.comment(n):
		d.Hint = `write a value; # begins a comment: for the text, quote it: ` + diag.Code(keyed(key, `"#"`))
	default:
		d.Hint = "write a value, or leave it out"
	}
	return &node{pos: pos}
}

// comment reports whether a comment follows where a value is missing.
func (c *converter) comment(n *yaml.Node) bool {
	if c.at(n.Line, n.Column) == 0 {
		return false
	}
	return strings.HasPrefix(strings.TrimLeft(c.lines[n.Line-1][c.offset:], " \t"), "#")
}

// keyed returns "key: value", or value where there is no key.
func keyed(key, value string) string {
	if key == "" || len(key) > 40 {
		return value
	}
	return key + ": " + value
}

// isNull reports whether n is a value that is not there, or null.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Style == 0 && n.Anchor == ""
}
