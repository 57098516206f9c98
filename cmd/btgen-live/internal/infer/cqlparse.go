package infer

import (
	"errors"
	"fmt"
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
	descending            map[string]bool
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

// cqlToken is a word, a string, a number or a symbol.
type cqlToken struct {
	text string // without quotes; in lower case without them
	kind byte   // 'w' for words and numbers, 'n' for names in quotes, 's' for strings, or the symbol
	line int
}

// MaxCQL is the maximum size of a text in bytes.
const MaxCQL = 16 << 20

// cqlTokens splits a text.
func cqlTokens(text string) ([]cqlToken, error) {
	if len(text) > MaxCQL {
		return nil, fmt.Errorf("%w: the text is longer than %d MiB", ErrCQL, MaxCQL>>20)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: it is not valid UTF-8", ErrCQL)
	}
	var out []cqlToken
	line := 1
	for at := 0; at < len(text); {
		rest := text[at:]
		size, token, ok := cqlNext(rest)
		if !ok {
			return nil, fmt.Errorf("%w: line %d: a string, name or comment has no end", ErrCQL, line)
		}
		if token.kind != 0 {
			token.line = line
			out = append(out, token)
		}
		line += strings.Count(rest[:size], "\n")
		at += size
	}
	return out, nil
}

// cqlNext returns the size of what a text begins with, and the token if it is one. It returns false if
// that has no end.
func cqlNext(text string) (int, cqlToken, bool) {
	c := text[0]
	switch {
	case strings.ContainsRune(" \t\r\n", rune(c)):
		return 1, cqlToken{}, true
	case strings.HasPrefix(text, "--"), strings.HasPrefix(text, "//"):
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			end = len(text)
		}
		return end, cqlToken{}, true
	case strings.HasPrefix(text, "/*"):
		end := strings.Index(text[2:], "*/")
		return end + 4, cqlToken{}, end >= 0
	case strings.HasPrefix(text, "$$"):
		end := strings.Index(text[2:], "$$")
		return end + 4, cqlToken{text: text[2:max(2, end+2)], kind: 's'}, end >= 0
	case c == '\'' || c == '"':
		return cqlQuoted(text)
	case isWordByte(c):
		end := 1
		for end < len(text) && (isWordByte(text[end]) || text[end] == '.' && isDigits(text[:end])) {
			end++
		}
		return end, cqlToken{text: strings.ToLower(text[:end]), kind: 'w'}, true
	}
	_, size := utf8.DecodeRuneInString(text)
	return size, cqlToken{text: text[:size], kind: c}, true
}

// cqlQuoted is cqlNext for quotes.
func cqlQuoted(text string) (int, cqlToken, bool) {
	quote := text[:1]
	for end := 1; end < len(text); end++ {
		switch {
		case text[end] != quote[0]:
		case end+1 < len(text) && text[end+1] == quote[0]:
			end++
		default:
			kind := map[string]byte{"'": 's', `"`: 'n'}[quote]
			return end + 1, cqlToken{text: strings.ReplaceAll(text[1:end], quote+quote, quote), kind: kind}, true
		}
	}
	return 0, cqlToken{}, false
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// cqlParser parses the tables of a text.
type cqlParser struct {
	tokens []cqlToken
	at     int
}

// parseCQL returns the tables that a text creates, and the number of other statements.
func parseCQL(text string) (tables []*cqlTable, others int, err error) {
	tokens, err := cqlTokens(text)
	if err != nil {
		return nil, 0, err
	}
	p := &cqlParser{tokens: tokens}
	for p.at < len(p.tokens) {
		switch {
		case p.skip(";"):
		case p.word("create", "table"):
			t, err := p.table()
			if err != nil {
				return nil, 0, err
			}
			tables = append(tables, t)
		default:
			others++
			for p.at < len(p.tokens) && !p.skip(";") {
				p.at++
			}
		}
	}
	return tables, others, nil
}

// fail returns an error at the next token.
func (p *cqlParser) fail(want string) error {
	if p.at >= len(p.tokens) {
		return fmt.Errorf("%w: want %s at the end", ErrCQL, want)
	}
	t := p.tokens[p.at]
	return fmt.Errorf("%w: line %d: want %s, not %s", ErrCQL, t.line, want, show(t.text))
}

// skip skips a symbol. It returns false if there is something else.
func (p *cqlParser) skip(symbol string) bool {
	if p.at < len(p.tokens) && p.tokens[p.at].text == symbol && p.tokens[p.at].kind == symbol[0] {
		p.at++
		return true
	}
	return false
}

// word skips words. It returns false, and skips none, if there is something else.
func (p *cqlParser) word(words ...string) bool {
	for i, w := range words {
		if p.at+i >= len(p.tokens) || p.tokens[p.at+i].text != w || p.tokens[p.at+i].kind != 'w' {
			return false
		}
	}
	p.at += len(words)
	return true
}

// name parses a name.
func (p *cqlParser) name() (string, error) {
	if p.at < len(p.tokens) && (p.tokens[p.at].kind == 'w' || p.tokens[p.at].kind == 'n') && p.tokens[p.at].text != "" {
		p.at++
		return p.tokens[p.at-1].text, nil
	}
	return "", p.fail("a name")
}

// names parses a list of names in parentheses.
func (p *cqlParser) names() ([]string, error) {
	var out []string
	for first := true; first || p.skip(","); first = false {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	if !p.skip(")") {
		return nil, p.fail(")")
	}
	return out, nil
}

// table parses a table after CREATE TABLE.
func (p *cqlParser) table() (*cqlTable, error) {
	t := &cqlTable{descending: map[string]bool{}, compaction: map[string]string{}}
	p.word("if", "not", "exists")
	var err error
	if t.name, err = p.name(); err != nil {
		return nil, err
	}
	if p.skip(".") {
		if t.name, err = p.name(); err != nil {
			return nil, err
		}
	}
	if !p.skip("(") {
		return nil, p.fail("(")
	}
	closed := false // also after a comma
	for first := true; !closed && (first || p.skip(",")); first = false {
		if closed = !first && p.skip(")"); closed {
			break
		}
		if err := p.element(t); err != nil {
			return nil, err
		}
	}
	if !closed && !p.skip(")") {
		return nil, p.fail("a comma or )")
	}
	if err := p.options(t); err != nil {
		return nil, err
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

// element parses a column or the primary key.
func (p *cqlParser) element(t *cqlTable) error {
	if p.word("primary", "key") {
		return p.primaryKey(t)
	}
	name, err := p.name()
	if err != nil {
		return err
	}
	if t.column(name) != nil {
		return fmt.Errorf("%w: table %s has two columns %s", ErrCQL, t.name, name)
	}
	c := cqlColumn{name: name}
	if c.typ, err = p.typ(0); err != nil {
		return err
	}
	c.static = p.word("static")
	if p.word("primary", "key") {
		t.partition = []string{name}
	}
	for p.at < len(p.tokens) && p.tokens[p.at].text != "," && p.tokens[p.at].text != ")" { // a mask
		if p.skip("(") {
			for p.at < len(p.tokens) && !p.skip(")") {
				p.at++
			}
			continue
		}
		p.at++
	}
	t.columns = append(t.columns, c)
	return nil
}

// typ parses a type.
func (p *cqlParser) typ(depth int) (string, error) {
	const deepest = 20
	name, err := p.name()
	if err != nil || depth > deepest {
		return name, err
	}
	if p.skip(".") { // a type of another keyspace
		if name, err = p.name(); err != nil {
			return name, err
		}
	}
	if !p.skip("<") {
		return name, nil
	}
	var of []string
	for first := true; first || p.skip(","); first = false {
		inner, err := p.typ(depth + 1)
		if err != nil {
			return name, err
		}
		of = append(of, inner)
	}
	if !p.skip(">") {
		return name, p.fail(">")
	}
	return name + "<" + strings.Join(of, ", ") + ">", nil
}

// primaryKey parses the primary key after its words.
func (p *cqlParser) primaryKey(t *cqlTable) (err error) {
	if !p.skip("(") {
		return p.fail("(")
	}
	var first string
	if p.skip("(") {
		t.partition, err = p.names()
	} else if first, err = p.name(); err == nil {
		t.partition = []string{first}
	}
	if err != nil {
		return err
	}
	if p.skip(",") {
		t.clustering, err = p.names()
		return err
	}
	if !p.skip(")") {
		return p.fail("a comma or )")
	}
	return nil
}

// options parses the options of a table.
func (p *cqlParser) options(t *cqlTable) error {
	if !p.word("with") {
		p.skip(";")
		return nil
	}
	for first := true; first || p.word("and"); first = false {
		switch {
		case p.word("clustering", "order", "by"):
			if err := p.order(t); err != nil {
				return err
			}
		case p.word("compact", "storage"):
		case p.word("default_time_to_live"):
			if !p.skip("=") {
				return p.fail("=")
			}
			text, err := p.name()
			if err != nil {
				return err
			}
			if t.ttl, err = strconv.ParseInt(text, 10, 64); err != nil || t.ttl < 0 {
				p.at--
				return p.fail("a number of seconds")
			}
		case p.word("compaction"):
			if err := p.properties(t.compaction); err != nil {
				return err
			}
		default:
			p.unknownOption()
		}
	}
	if p.at < len(p.tokens) && !p.skip(";") {
		return p.fail("AND or ;")
	}
	return nil
}

// order parses the order of clustering columns.
func (p *cqlParser) order(t *cqlTable) error {
	if !p.skip("(") {
		return p.fail("(")
	}
	for first := true; first || p.skip(","); first = false {
		name, err := p.name()
		if err != nil {
			return err
		}
		if t.descending[name] = p.word("desc"); !t.descending[name] {
			p.word("asc")
		}
	}
	if !p.skip(")") {
		return p.fail(")")
	}
	return nil
}

// properties parses a map of strings.
func (p *cqlParser) properties(into map[string]string) error {
	if !p.skip("=") || !p.skip("{") {
		return p.fail("= {")
	}
	for !p.skip("}") {
		if p.at+2 >= len(p.tokens) || p.tokens[p.at+1].text != ":" {
			return p.fail("'key': 'value'")
		}
		into[p.tokens[p.at].text] = p.tokens[p.at+2].text
		p.at += 3
		p.skip(",")
	}
	return nil
}

// unknownOption skips an option that does not matter.
func (p *cqlParser) unknownOption() {
	for p.at < len(p.tokens) {
		t := p.tokens[p.at]
		if t.kind == ';' || t.kind == 'w' && t.text == "and" {
			return
		}
		p.at++
	}
}
