package infer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrCQL is the error of text that is not the definition of a table in CQL.
var ErrCQL = errors.New("not a table definition in CQL")

// cqlTable is a table of Apache Cassandra. By the documentation of CQL ("Data Definition", CREATE TABLE):
//
//	CREATE TABLE [IF NOT EXISTS] [keyspace.]table (
//	    column type [STATIC] [PRIMARY KEY], …,
//	    PRIMARY KEY ((partition key, …), clustering column, …)
//	) WITH CLUSTERING ORDER BY (column DESC, …) AND compaction = {'class': '…', …} AND default_time_to_live = 86400;
//
// Names without quotes are in lower case, quotes are doubled within quotes, and comments begin with --,
// // or /*.
type cqlTable struct {
	name                  string
	columns               []cqlColumn
	partition, clustering []string
	ttl                   int64 // seconds; 0 for none
	compaction            map[string]string
}

// cqlColumn is a column.
type cqlColumn struct {
	name, typ string // the type in lower case, with its parameters
	static    bool
}

// column returns the column with a name; nil if there is none.
func (t *cqlTable) column(name string) *cqlColumn {
	if i := slices.IndexFunc(t.columns, func(c cqlColumn) bool { return c.name == name }); i >= 0 {
		return &t.columns[i]
	}
	return nil
}

// cqlNode is a token, or a list in parentheses or braces.
type cqlNode struct {
	text string // without quotes; in lower case without them
	kind byte   // 'w' for words and numbers, 'n' for names in quotes, 's' for strings, or the first byte of a symbol
	line int
	list [][]cqlNode // what commas separate
}

// cqlNodes are the nodes of a statement, or a part of them.
type cqlNodes []cqlNode

// MaxCQL is the maximum size of a text in bytes.
const MaxCQL = 16 << 20

// cqlToken matches a token. The last symbols are those of a comment, a string or a name that has no end.
var cqlToken = regexp.MustCompile(`(?s)\s+|--[^\n]*|//[^\n]*|/\*.*?\*/|\$\$.*?\$\$|'(?:[^']|'')*'|"(?:[^"]|"")*"|[0-9]+\.[0-9]+|[A-Za-z0-9_]+|/\*|\$\$|.`)

// cqlTokens splits a text.
func cqlTokens(text string) (out cqlNodes, err error) {
	if len(text) > MaxCQL {
		return nil, fmt.Errorf("%w: the text is longer than %d MiB", ErrCQL, MaxCQL>>20)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: it is not valid UTF-8", ErrCQL)
	}
	line := 1
	for _, token := range cqlToken.FindAllString(text, -1) {
		n := cqlNode{text: token, kind: token[0], line: line}
		line += strings.Count(token, "\n")
		switch {
		case slices.Contains([]string{"'", `"`, "/*", "$$"}, token):
			return nil, fmt.Errorf("%w: line %d: a string, name or comment has no end", ErrCQL, n.line)
		case strings.TrimSpace(token) == "", strings.HasPrefix(token, "--"), strings.HasPrefix(token, "//"), strings.HasPrefix(token, "/*"):
			continue
		case n.kind == '\'' || n.kind == '"':
			quote := token[:1]
			n.text, n.kind = strings.ReplaceAll(token[1:len(token)-1], quote+quote, quote), map[string]byte{"'": 's', `"`: 'n'}[quote]
		case strings.HasPrefix(token, "$$"):
			n.text, n.kind = token[2:len(token)-2], 's'
		case isWordByte(n.kind):
			n.text, n.kind = strings.ToLower(token), 'w'
		}
		out = append(out, n)
	}
	return out, nil
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// cqlLists moves what parentheses and braces enclose to lists.
func cqlLists(tokens cqlNodes) (cqlNodes, error) {
	levels := []cqlNode{{list: [][]cqlNode{nil}}}
	types := 0 // depth of the parameters of a type
	for _, n := range tokens {
		top := &levels[len(levels)-1]
		last := &top.list[len(top.list)-1]
		switch {
		case n.kind == '(' || n.kind == '{':
			n.list = [][]cqlNode{nil}
			levels, types = append(levels, n), 0
			continue
		case len(levels) > 1 && n.kind == top.closing():
			levels = levels[:len(levels)-1]
			of := &levels[len(levels)-1]
			of.list[len(of.list)-1] = append(of.list[len(of.list)-1], *top)
			continue
		case n.kind == ';' && len(levels) > 1:
			return nil, fmt.Errorf("%w: line %d: want a comma or %c before ;", ErrCQL, n.line, top.closing())
		case n.kind == '<':
			types++
		case n.kind == '>':
			types = max(0, types-1)
		case n.kind == ',' && len(levels) > 1 && types == 0:
			top.list = append(top.list, nil)
			continue
		}
		*last = append(*last, n)
	}
	if top := levels[len(levels)-1]; len(levels) > 1 {
		return nil, fmt.Errorf("%w: line %d: no %c follows %s", ErrCQL, top.line, top.closing(), top.text)
	}
	return levels[0].list[0], nil
}

// closing returns the symbol that ends a list; 0 for the whole text.
func (n *cqlNode) closing() byte { return map[byte]byte{'(': ')', '{': '}'}[n.kind] }

// words returns the nodes after words; false if they do not begin with these.
func (n cqlNodes) words(words ...string) (cqlNodes, bool) {
	for i, w := range words {
		if i >= len(n) || n[i].text != w || n[i].kind != 'w' {
			return n, false
		}
	}
	return n[len(words):], true
}

// split splits nodes at words or symbols.
func (n cqlNodes) split(separator string) (out []cqlNodes) {
	for begin, i := 0, 0; i <= len(n); i++ {
		if i == len(n) || n[i].text == separator && n[i].kind != 's' && n[i].kind != 'n' {
			out = append(out, n[begin:i])
			begin = i + 1
		}
	}
	return out
}

// name returns the name with which nodes begin, and the nodes after it.
func (n cqlNodes) name(of string) (string, cqlNodes, error) {
	if len(n) > 0 && (n[0].kind == 'w' || n[0].kind == 'n') && n[0].text != "" {
		return n[0].text, n[1:], nil
	}
	return "", nil, n.fail(of)
}

// qualified is name for a name that may follow that of a keyspace.
func (n cqlNodes) qualified(of string) (string, cqlNodes, error) {
	name, rest, err := n.name(of)
	if err == nil && len(rest) > 0 && rest[0].kind == '.' {
		return rest[1:].name(of)
	}
	return name, rest, err
}

// inParentheses returns the list with which nodes begin, without an empty last part.
func (n cqlNodes) inParentheses() ([][]cqlNode, error) {
	if len(n) == 0 || n[0].kind != '(' {
		return nil, n.fail("(")
	}
	list := n[0].list
	if last := len(list) - 1; last > 0 && len(list[last]) == 0 {
		list = list[:last]
	}
	return list, nil
}

// fail returns an error about what nodes should begin with.
func (n cqlNodes) fail(want string) error {
	if len(n) == 0 {
		return fmt.Errorf("%w: want %s at the end of a statement or a list", ErrCQL, want)
	}
	return fmt.Errorf("%w: line %d: want %s, not %s", ErrCQL, n[0].line, want, show(n[0].text))
}

// parseCQL returns the tables that a text creates.
func parseCQL(text string) (tables []*cqlTable, err error) {
	tokens, err := cqlTokens(text)
	if err != nil {
		return nil, err
	}
	nodes, err := cqlLists(tokens)
	if err != nil {
		return nil, err
	}
	for _, statement := range nodes.split(";") {
		if rest, ok := statement.words("create", "table"); ok {
			t, err := parseCQLTable(rest)
			if err != nil {
				return nil, err
			}
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// parseCQLTable parses a table after CREATE TABLE.
func parseCQLTable(n cqlNodes) (*cqlTable, error) {
	t := &cqlTable{compaction: map[string]string{}}
	n, _ = n.words("if", "not", "exists")
	var err error
	if t.name, n, err = n.qualified("the name of a table"); err != nil {
		return nil, err
	}
	elements, err := n.inParentheses()
	if err != nil {
		return nil, err
	}
	for _, element := range elements {
		if err := t.addElement(element); err != nil {
			return nil, err
		}
	}
	n = n[1:]
	options, ok := n.words("with")
	if !ok && len(n) > 0 {
		return nil, n.fail("WITH or ;")
	}
	for _, option := range options.split("and") {
		if err := t.addOption(option); err != nil {
			return nil, err
		}
	}
	if len(t.partition) == 0 {
		return nil, fmt.Errorf("%w: table %s has no PRIMARY KEY", ErrCQL, t.name)
	}
	for _, name := range slices.Concat(t.partition, t.clustering) {
		if t.column(name) == nil {
			return nil, fmt.Errorf("%w: table %s has no column %s, which is in its PRIMARY KEY", ErrCQL, t.name, name)
		}
	}
	return t, nil
}

// addElement parses a column or the primary key.
func (t *cqlTable) addElement(n cqlNodes) (err error) {
	if rest, ok := n.words("primary", "key"); ok {
		return t.setPrimaryKey(rest)
	}
	var c cqlColumn
	if c.name, n, err = n.name("a column or PRIMARY KEY"); err != nil {
		return err
	}
	if t.column(c.name) != nil {
		return fmt.Errorf("%w: table %s has two columns %s", ErrCQL, t.name, c.name)
	}
	if c.typ, n, err = n.qualified("the type of column " + c.name); err != nil {
		return err
	}
	for depth := 0; len(n) > 0 && (depth > 0 || n[0].kind == '<'); n = n[1:] { // parameters
		switch n[0].kind {
		case '<':
			depth++
		case '>':
			depth--
		}
		c.typ += strings.ReplaceAll(n[0].text, ",", ", ")
	}
	if opened := strings.Count(c.typ, "<"); opened > strings.Count(c.typ, ">") {
		return fmt.Errorf("%w: no > follows < in the type of column %s", ErrCQL, c.name)
	}
	n, c.static = n.words("static")
	if rest, ok := n.words("primary", "key"); ok {
		t.partition, n = []string{c.name}, rest
	}
	if _, masked := n.words("masked"); len(n) > 0 && !masked {
		return n.fail("a comma or )")
	}
	t.columns = append(t.columns, c)
	return nil
}

// setPrimaryKey parses the primary key after its words.
func (t *cqlTable) setPrimaryKey(n cqlNodes) error {
	parts, err := n.inParentheses()
	if err != nil {
		return err
	}
	partition := parts[:1]
	if first := cqlNodes(parts[0]); len(first) > 0 && first[0].kind == '(' {
		partition = first[0].list
	}
	for _, part := range partition {
		name, _, err := cqlNodes(part).name("a column")
		if err != nil {
			return err
		}
		t.partition = append(t.partition, name)
	}
	for _, part := range parts[1:] {
		name, _, err := cqlNodes(part).name("a column")
		if err != nil {
			return err
		}
		t.clustering = append(t.clustering, name)
	}
	return nil
}

// addOption parses an option, unless it does not matter.
func (t *cqlTable) addOption(n cqlNodes) (err error) {
	if value, ok := n.words("default_time_to_live"); ok {
		if len(value) > 0 && value[0].kind == '=' {
			value = value[1:]
		}
		if len(value) == 1 {
			t.ttl, err = strconv.ParseInt(value[0].text, 10, 64)
		}
		if len(value) != 1 || err != nil || t.ttl < 0 {
			return value.fail("a number of seconds for default_time_to_live")
		}
	}
	value, ok := n.words("compaction")
	if !ok || len(value) < 2 {
		return nil
	}
	for _, property := range value[1].list {
		if pair := cqlNodes(property).split(":"); len(pair) == 2 && len(pair[0]) > 0 && len(pair[1]) > 0 {
			t.compaction[pair[0][0].text] = pair[1][0].text
		}
	}
	return nil
}
