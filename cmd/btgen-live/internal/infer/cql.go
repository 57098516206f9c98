package infer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// ProposeCQL returns a schema for a new table for the events of a table of Apache Cassandra, whose definition is a
// text in CQL: the partition key and the clustering columns before the time are the series, the first clustering
// column that is a timestamp or a timeuuid, or else a date, is the time, columns that only tell partitions of a series
// apart become the bucket, and the default time to live is that of the events. If the text defines several tables,
// table names the one. flags are those of the command that loads the events. Report is nil.
func ProposeCQL(text, table string, flags ...string) (*Proposal, error) {
	tables, err := parseCQL(text)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	i := slices.Index(names, table)
	switch {
	case len(tables) == 0:
		return nil, fmt.Errorf("%w: it has no CREATE TABLE", errCQL)
	case table == "" && len(tables) == 1:
		i = 0
	case i < 0:
		return nil, fmt.Errorf("%w: it defines the tables %s: choose one with --table", errCQL, listed(names))
	}
	d, err := tables[i].design()
	if err != nil {
		return nil, fmt.Errorf("table %s: %w: %w", tables[i].name, ErrNoSchema, err)
	}
	d.loading = append(d.loading, flags...)
	return d.propose()
}

func (t *cqlTable) design() (*design, error) {
	at := slices.IndexFunc(t.clustering, func(name string) bool { return slices.Contains([]string{cqlTimestamp, cqlTimeID}, t.column(name).typ) })
	if at < 0 {
		at = slices.IndexFunc(t.clustering, func(name string) bool { return t.column(name).typ == cqlDate })
	}
	if at < 0 {
		return nil, errors.New("no clustering column is a timestamp, a " + cqlTimeID + " or a date, so that its rows are not events of a series")
	}
	d := &design{
		table: t.name, load: load{precision: time.Millisecond}, timeName: t.clustering[at], loading: []string{"--format cassandra"},
		about: []string{fmt.Sprintf("Proposed by btgen-live infer from the definition of table %s of Apache Cassandra.", t.name)},
	}
	narrowest, keys := len(cqlBuckets), len(t.partition)
	for i, name := range slices.Concat(t.partition, t.clustering) {
		bucket, typ, after := t.bucketOf(name), t.column(name).typ, i-keys-at
		switch {
		case i < keys && bucket >= 0:
			narrowest, d.left = min(narrowest, bucket), append(d.left, name)
			d.ask(true, "Does the time of an event tell its %s, which is left out? If not, add it to the series: events with one time would replace each other.", name)
			if cqlBuckets[bucket].width == "" {
				d.bucketAsk = fmt.Sprintf("How long is a partition? Column %s does not tell.", name)
			}
		case after == 0: // the time
		case after == 1 && len(t.clustering) == at+2 && slices.Contains([]string{"int", "smallint", "tinyint"}, typ):
			d.sequence, d.loading = true, append(d.loading, "--map "+words.ShellPair(name, "sequence"))
		default:
			v := t.seriesValue(name)
			v.ask(after > 0, "It follows the time in the primary key. Does it tell one series from another, or events of one time?")
			d.series = append(d.series, v)
		}
		if i < keys {
			d.partition = len(d.series)
		}
	}
	for _, c := range t.columns {
		switch {
		case slices.Contains(t.partition, c.name) || slices.Contains(t.clustering, c.name):
		case c.static:
			d.left = append(d.left, c.name)
			d.ask(true, "Column %s is static: a partition has one value. Does it belong to another table?", c.name)
		default:
			d.fields = append(d.fields, t.value(c.name))
		}
	}
	switch {
	case len(d.fields) == 0:
		return nil, errors.New("it has no columns besides those of its PRIMARY KEY, so that its events would have no fields")
	case len(d.series) == 0:
		return nil, errors.New("the partition key has only times, so that nothing tells one series from another")
	}
	switch t.column(d.timeName).typ {
	case cqlTimeID:
		d.ask(true, "Column %s is a "+cqlTimeID+", of which only the time is loaded, in milliseconds. Has a series several events in one?", d.timeName)
	case cqlDate:
		d.precision, d.loading = day, append(d.loading, "--zone UTC")
		d.ask(true, "Column %s is a date, which is loaded as midnight in UTC. Is that the time of the events?", d.timeName)
	}
	if narrowest < len(cqlBuckets) {
		d.bucket = cqlBuckets[narrowest].width
	}
	if d.bucket == "" {
		t.setBucket(d)
	}
	if t.ttl > 0 {
		const longest = 20 * 366 * day // of Cassandra
		age := time.Duration(min(t.ttl, int64(longest/time.Second))) * time.Second
		d.ttl = codec.GCRule{Kind: codec.GCMaxAge, MaxAge: age}
		d.about = append(d.about, "The time to live counts from the time of an event, and not from the write.")
	} else {
		d.ttlAsk = "The table has no default_time_to_live. Do its writers set one?"
	}
	return d, nil
}

// cqlBuckets are the names of columns of which partitions consist, the narrowest first, with the widths that these tell, and their types
// if others have these names.
var cqlBuckets = []struct {
	name       *regexp.Regexp
	width, typ string // empty if nothing tells it
}{
	{cqlWords("minute"), "1m", ""}, {cqlWords("hour|yyyymmddhh"), "1h", ""}, {cqlWords("day|date|yyyymmdd"), "1d", cqlDate},
	{cqlWords("week|yearweek"), "1w", ""}, {cqlWords("month|yearmonth|yyyymm"), "1mo", ""}, {cqlWords("year|yyyy"), "1y", ""},
	{cqlWords("bucket|partition|period"), "", cqlTimestamp},
}

// cqlWords returns an expression for names with one of some words.
func cqlWords(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|_)(` + words + `)s?(_|$)`)
}

// bucketOf returns the index in cqlBuckets of a column that seems to tell partitions of a series apart; -1 for others.
func (t *cqlTable) bucketOf(name string) int {
	for i, b := range cqlBuckets {
		if b.name.MatchString(name) {
			return i
		}
	}
	for i, b := range cqlBuckets {
		if b.typ == t.column(name).typ {
			return i
		}
	}
	return -1
}

// setBucket sets the bucket if the partition key does not tell it: the window of compaction, or a usual one.
func (t *cqlTable) setBucket(d *design) {
	if d.bucket = "1d"; d.precision == day {
		d.bucket = bucketFor(day, len(d.fields))
	}
	if size := t.compaction["compaction_window_size"]; strings.HasSuffix(t.compaction["class"], "TimeWindowCompactionStrategy") {
		n, err := strconv.Atoi(size)
		if size == "" {
			n, err = 1, nil
		}
		unit := map[string]time.Duration{"MINUTES": time.Minute, "HOURS": time.Hour, "DAYS": day, "": day}[strings.ToUpper(t.compaction["compaction_window_unit"])]
		const longest = 366 * day
		if err == nil && n > 0 && unit > 0 && n <= int(longest/unit) {
			d.bucket = schema.FormatDuration(time.Duration(n) * unit)
			d.about = append(d.about, "The bucket is the window of TimeWindowCompactionStrategy.")
		}
	}
	if d.bucketAsk == "" && d.precision < day {
		d.bucketAsk = bucketQuestion
	}
}

func (t *cqlTable) seriesValue(name string) designValue {
	v := t.value(name)
	switch v.optional = false; v.typ {
	case "float32", "float64", "bool", "timestamp", "bytes":
		v.ask(true, "Its type in Cassandra is %s, whose text is in the key here. Which values has it?", t.column(name).typ)
		v.typ = "string"
	}
	v.escape = v.typ == "string"
	return v
}

func (t *cqlTable) value(name string) designValue {
	c := t.column(name)
	v := designValue{source: name, typ: cqlTypes[c.typ], optional: true}
	if v.typ == "" {
		v.typ = "string"
		v.ask(true, "Its type in Cassandra is %s, whose text is stored here. Is there a better type?", c.typ)
	}
	v.ask(c.typ == "counter", "It is a counter in Cassandra, and a number here, which is not incremented. Is that right?")
	return v
}

// errCQL is the error of text that is not the definition of a table in CQL.
var errCQL = errors.New("not a table definition in CQL")

// cqlTable is a table of Apache Cassandra. By the documentation of CQL ("Data Definition", CREATE TABLE):
//
//	CREATE TABLE [IF NOT EXISTS] [keyspace.]table (
//	    column type [STATIC] [MASKED WITH …] [PRIMARY KEY], …,
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

// cqlTokens matches a token. The last symbols are those of a comment, a string or a name that has no end.
var cqlTokens = regexp.MustCompile(`(?s)\s+|--[^\n]*|//[^\n]*|/\*.*?\*/|\$\$.*?\$\$|'(?:[^']|'')*'|"(?:[^"]|"")*"|[0-9]+\.[0-9]+|[A-Za-z0-9_]+|/\*|\$\$|.`)

// cqlText is a statement in a form that expressions match: tokens in lower case, with a space between them. Quotes enclose the number
// of what they enclose in the text.
type cqlText struct {
	tokens []string
	lines  []int // of tokens
	quoted []string
}

// Expressions for statements. A name is a word or in quotes.
var (
	cqlName   = `("\d+"|\w+)`
	cqlQuoted = regexp.MustCompile(`["'](\d+)["']`)
	cqlCreate = regexp.MustCompile(`^create table (?:if not exists )?(?:\S+ \. )?` + cqlName + ` \( (.*?) \)(?: with (.*))?$`)
	cqlKey    = regexp.MustCompile(`^primary key \( (?:\( (.+?) \)|(\S+))(?: , (.+))? \)$`)
	cqlField  = regexp.MustCompile(`^` + cqlName + ` (?:\S+ \. )?(` + cqlName + `(?: < .+ >)?)((?: static| primary key| masked with (?:default|\w+ \(.*\)))*)$`)
	cqlTTL    = regexp.MustCompile(`\bdefault_time_to_live = (\S+)`)
	cqlWindow = regexp.MustCompile(`\bcompaction = \{ (.*?) \}`)
)

// parseCQL returns the tables that a text creates.
func parseCQL(text string) (tables []*cqlTable, err error) {
	if len(text) > MaxCQL || !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: want text in UTF-8 of at most %d MiB", errCQL, MaxCQL>>20)
	}
	var of cqlText
	line := 1
	for _, s := range append(cqlTokens.FindAllString(text, -1), ";") {
		begin := line
		line += strings.Count(s, "\n")
		switch {
		case slices.Contains([]string{"'", `"`, "/*", "$$"}, s):
			return nil, fmt.Errorf("%w: line %d: a string, name or comment has no end", errCQL, begin)
		case strings.TrimSpace(s) == "" || strings.HasPrefix(s, "--") || strings.HasPrefix(s, "//") || strings.HasPrefix(s, "/*"):
			continue
		case s[0] == '\'' || s[0] == '"':
			of.quoted = append(of.quoted, strings.ReplaceAll(s[1:len(s)-1], s[:1]+s[:1], s[:1]))
			s = s[:1] + strconv.Itoa(len(of.quoted)-1) + s[:1]
		case strings.HasPrefix(s, "$$"):
			of.quoted = append(of.quoted, s[2:len(s)-2])
			s = "'" + strconv.Itoa(len(of.quoted)-1) + "'"
		}
		if s != ";" {
			of.tokens, of.lines = append(of.tokens, strings.ToLower(s)), append(of.lines, begin)
			continue
		}
		if strings.HasPrefix(strings.Join(of.tokens, " "), "create table ") {
			t, err := of.table()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errCQL, err)
			}
			tables = append(tables, t)
		}
		of = cqlText{}
	}
	return tables, nil
}

// unquoted returns a part of a statement as it is in the text, without the quotes.
func (t *cqlText) unquoted(part string) string {
	part = strings.NewReplacer(" < ", "<", " >", ">", " , ", ", ").Replace(part)
	return cqlQuoted.ReplaceAllStringFunc(part, func(quoted string) string {
		n, _ := strconv.Atoi(quoted[1 : len(quoted)-1])
		return t.quoted[n]
	})
}

// names returns the names in a list.
func (t *cqlText) names(list string) (names []string) {
	for name := range strings.SplitSeq(list, " , ") {
		if name != "" {
			names = append(names, t.unquoted(name))
		}
	}
	return names
}

// table parses the statement.
func (t *cqlText) table() (*cqlTable, error) {
	whole := strings.Join(t.tokens, " ")
	m := cqlCreate.FindStringSubmatch(whole)
	if m == nil {
		return nil, fmt.Errorf("line %d: want CREATE TABLE with a name and columns in parentheses", t.lines[0])
	}
	out := &cqlTable{name: t.unquoted(m[1]), compaction: map[string]string{}}
	for _, part := range cqlParts(m[2]) {
		key, field := cqlKey.FindStringSubmatch(part), cqlField.FindStringSubmatch(part)
		switch {
		case part == "": // after the last comma
		case key != nil:
			out.partition, out.clustering = append(t.names(key[1]), t.names(key[2])...), t.names(key[3])
		case field == nil || t.unquoted(field[1]) == "":
			line := t.lines[strings.Count(whole[:strings.Index(whole, part)], " ")]
			return nil, fmt.Errorf("line %d: want a column and its type, or PRIMARY KEY and columns, not %s", line, show(t.unquoted(part)))
		default:
			c := cqlColumn{t.unquoted(field[1]), t.unquoted(field[2]), strings.Contains(field[4], " static")}
			if out.column(c.name) != nil {
				return nil, fmt.Errorf("table %s has two columns %s", out.name, c.name)
			}
			if out.columns = append(out.columns, c); strings.Contains(field[4], " primary key") {
				out.partition = []string{c.name}
			}
		}
	}
	for _, name := range slices.Concat(out.partition, out.clustering) {
		if out.column(name) == nil {
			return nil, fmt.Errorf("table %s has no column %s, which is in its PRIMARY KEY", out.name, name)
		}
	}
	if len(out.partition) == 0 {
		return nil, fmt.Errorf("table %s has no PRIMARY KEY", out.name)
	}
	for _, pair := range t.names(append(cqlWindow.FindStringSubmatch(m[3]), "", "")[1]) {
		name, value, _ := strings.Cut(pair, " : ")
		out.compaction[name] = value
	}
	if ttl := cqlTTL.FindStringSubmatch(m[3]); ttl != nil {
		var err error
		if out.ttl, err = strconv.ParseInt(ttl[1], 10, 64); err != nil || out.ttl < 0 {
			return nil, fmt.Errorf("want a number of seconds for default_time_to_live, not %s", show(t.unquoted(ttl[1])))
		}
	}
	return out, nil
}

// cqlParts returns what is between the commas that no brackets enclose.
func cqlParts(text string) (parts []string) {
	depth, begin := 0, 0
	for i, c := range text + "," {
		switch c {
		case '(', '<':
			depth++
		case ')', '>':
			depth--
		case ',':
			if depth == 0 || i == len(text) {
				parts = append(parts, strings.TrimSpace(text[begin:i]))
				begin = i + 1
			}
		}
	}
	return parts
}
