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

// MaxCQL is the maximum size of a text in bytes.
const MaxCQL = 16 << 20

// cqlSyntax matches a token. The last symbols are those of a comment, a string or a name that has no end.
var cqlSyntax = regexp.MustCompile(`(?s)\s+|--[^\n]*|//[^\n]*|/\*.*?\*/|\$\$.*?\$\$|'(?:[^']|'')*'|"(?:[^"]|"")*"|[0-9]+\.[0-9]+|[A-Za-z0-9_]+|/\*|\$\$|.`)

// cqlToken is a token: a word in lower case, a symbol, or what quotes enclose.
type cqlToken struct {
	text  string
	quote byte // 0 without quotes
	line  int
}

// cqlParser parses tables. After the first error, it is at the end.
type cqlParser struct {
	tokens []cqlToken
	err    error
}

// parseCQL returns the tables that a text creates.
func parseCQL(text string) (tables []*cqlTable, err error) {
	p := &cqlParser{}
	if len(text) > MaxCQL || !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: want text in UTF-8 of at most %d MiB", ErrCQL, MaxCQL>>20)
	}
	line := 1
	for _, s := range cqlSyntax.FindAllString(text, -1) {
		t := cqlToken{text: strings.ToLower(s), line: line}
		line += strings.Count(s, "\n")
		switch quote := s[0]; {
		case slices.Contains([]string{"'", `"`, "/*", "$$"}, s):
			return nil, fmt.Errorf("%w: line %d: a string, name or comment has no end", ErrCQL, t.line)
		case strings.TrimSpace(s) == "" || strings.HasPrefix(s, "--") || strings.HasPrefix(s, "//") || strings.HasPrefix(s, "/*"):
			continue
		case quote == '\'' || quote == '"':
			t.text, t.quote = strings.ReplaceAll(s[1:len(s)-1], s[:1]+s[:1], s[:1]), quote
		case strings.HasPrefix(s, "$$"):
			t.text, t.quote = s[2:len(s)-2], '\''
		}
		p.tokens = append(p.tokens, t)
	}
	for len(p.tokens) > 0 {
		if p.accept("create", "table") {
			tables = append(tables, p.table())
		}
		for len(p.tokens) > 0 && !p.accept(";") {
			p.next()
		}
	}
	return tables, p.err
}

// next skips a token, and returns it; an empty one at the end.
func (p *cqlParser) next() (t cqlToken) {
	if len(p.tokens) > 0 {
		t, p.tokens = p.tokens[0], p.tokens[1:]
	}
	return t
}

// is reports whether tokens without quotes follow.
func (p *cqlParser) is(texts ...string) bool {
	for i, text := range texts {
		if i >= len(p.tokens) || p.tokens[i].text != text || p.tokens[i].quote != 0 {
			return false
		}
	}
	return true
}

// accept skips tokens without quotes. It returns false if there are others.
func (p *cqlParser) accept(texts ...string) bool {
	if !p.is(texts...) {
		return false
	}
	p.tokens = p.tokens[len(texts):]
	return true
}

// fail sets the error, unless there is one.
func (p *cqlParser) fail(want string) {
	switch t := p.next(); {
	case p.err != nil:
	case t.line == 0:
		p.err = fmt.Errorf("%w: want %s at the end", ErrCQL, want)
	default:
		p.err = fmt.Errorf("%w: line %d: want %s, not %s", ErrCQL, t.line, want, show(t.text))
	}
	p.tokens = nil
}

// expect is accept for a token without which the text is no definition.
func (p *cqlParser) expect(text string) {
	if !p.accept(text) {
		p.fail(text)
	}
}

// cqlWord matches words.
var cqlWord = regexp.MustCompile(`^\w+$`)

// name returns the name that follows, without that of a keyspace before it.
func (p *cqlParser) name(of string) string {
	if len(p.tokens) == 0 || p.tokens[0].quote != '"' && (p.tokens[0].quote != 0 || !cqlWord.MatchString(p.tokens[0].text)) || p.tokens[0].text == "" {
		p.fail(of)
		return ""
	}
	if t := p.next(); !p.accept(".") {
		return t.text
	}
	return p.name(of)
}

// names returns the names before a closing parenthesis.
func (p *cqlParser) names() (names []string) {
	for more := true; more; more = p.accept(",") {
		names = append(names, p.name("a column"))
	}
	p.expect(")")
	return names
}

// table parses a table after CREATE TABLE.
func (p *cqlParser) table() *cqlTable {
	t := &cqlTable{compaction: map[string]string{}}
	p.accept("if", "not", "exists")
	t.name = p.name("the name of a table")
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		if p.accept("primary", "key", "(") {
			t.partition = []string{""}
			if p.accept("(") {
				t.partition = p.names()
			} else {
				t.partition[0] = p.name("a column")
			}
			if p.accept(",") {
				t.clustering = p.names()
			} else {
				p.expect(")")
			}
		} else {
			p.column(t)
		}
		if !p.accept(",") && !p.is(")") {
			p.fail("a comma or )")
		}
	}
	for len(p.tokens) > 0 && !p.is(";") {
		p.option(t)
	}
	for _, name := range slices.Concat(t.partition, t.clustering) {
		if p.err == nil && t.column(name) == nil {
			p.err = fmt.Errorf("%w: table %s has no column %s, which is in its PRIMARY KEY", ErrCQL, t.name, name)
		}
	}
	if p.err == nil && len(t.partition) == 0 {
		p.err = fmt.Errorf("%w: table %s has no PRIMARY KEY", ErrCQL, t.name)
	}
	return t
}

// column parses a column.
func (p *cqlParser) column(t *cqlTable) {
	c := cqlColumn{name: p.name("a column or PRIMARY KEY")}
	if t.column(c.name) != nil && p.err == nil {
		p.err = fmt.Errorf("%w: table %s has two columns %s", ErrCQL, t.name, c.name)
	}
	c.typ = p.name("the type of column " + c.name)
	for depth := 0; len(p.tokens) > 0 && (depth > 0 || p.is("<")); {
		part := p.next().text
		depth += strings.Count(part, "<") - strings.Count(part, ">")
		if c.typ += strings.ReplaceAll(part, ",", ", "); depth > 0 && len(p.tokens) == 0 {
			p.fail("> after the type of column " + c.name)
		}
	}
	c.static = p.accept("static")
	if p.accept("primary", "key") {
		t.partition = []string{c.name}
	}
	if p.accept("masked") {
		for depth := 0; len(p.tokens) > 0 && (depth > 0 || !p.is(",") && !p.is(")")); {
			part := p.next().text
			depth += strings.Count(part, "(") - strings.Count(part, ")")
		}
	}
	t.columns = append(t.columns, c)
}

// option parses a part of an option, unless it does not matter.
func (p *cqlParser) option(t *cqlTable) {
	switch {
	case p.accept("default_time_to_live", "="):
		text := p.next().text
		n, err := strconv.ParseInt(text, 10, 64)
		if t.ttl = n; p.err == nil && (err != nil || n < 0) {
			p.err = fmt.Errorf("%w: want a number of seconds for default_time_to_live, not %s", ErrCQL, show(text))
		}
	case p.accept("compaction", "=", "{"):
		for p.err == nil && !p.accept("}") {
			name := p.next().text
			p.expect(":")
			t.compaction[name] = p.next().text
			p.accept(",")
		}
	default:
		p.next()
	}
}
