package emit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/layout"
)

// names makes every identifier of one schema's generated code, each in one
// place. All are derived from the schema's name and one entry alone, so that a
// new entry changes no other name.
type names struct{ schema string }

func (n names) series() string     { return n.schema + "Series" }
func (n names) event() string      { return n.schema + "Event" }
func (n names) writer() string     { return n.schema + "Writer" }
func (n names) reader() string     { return n.schema + "Reader" }
func (n names) newWriter() string  { return "New" + n.schema + "Writer" }
func (n names) batcher() string    { return n.schema + "Batcher" }
func (n names) newReader() string  { return "New" + n.schema + "Reader" }
func (n names) newBatcher() string { return "New" + n.schema + "Batcher" }
func (n names) setup() string      { return "Setup" + n.schema }
func (n names) check() string      { return "check" + n.schema }
func (n names) layouts() string    { return lowerFirst(n.schema) + "Layouts" }
func (n names) columns() string    { return n.schema + "Columns" }
func (n names) same() string       { return "same" + n.schema }
func (n names) own() string        { return "own" + n.schema }

// test is the test of the schema's code, and example the function that makes the
// events of it: both are in a package of their own.
func (n names) test() string    { return "Test" + n.schema + "RoundTrip" }
func (n names) example() string { return "example" + n.schema }

// class is the type of TTL classes, classNames the variable with their names.
func (n names) class() string                  { return join(n.schema, "Class") }
func (n names) classNames() string             { return lowerFirst(n.class()) + "Names" }
func (n names) classValue(class string) string { return n.class() + goName(class) }

func (n names) appendProto() string { return "append" + n.schema + "Proto" }
func (n names) parseProto() string  { return "parse" + n.schema + "Proto" }
func (n names) jsonType() string    { return lowerFirst(n.schema) + "JSON" }
func (n names) appendJSON() string  { return "append" + n.schema + "JSON" }
func (n names) parseJSON() string   { return "parse" + n.schema + "JSON" }

// file is the base name of the schema's files.
func (n names) file() string { return snake(n.schema) }

// field is the name of a series value or a field in its struct.
func (n names) field(f *layout.Field) string { return goName(f.Name) }

// fieldConst names a field for ReadOptions.
func (n names) fieldConst(f *layout.Field) string { return n.schema + "Field" + goName(f.Name) }

// enum is the type of an enum field, enumNames the variable with its values.
func (n names) enum(f *layout.Field) string      { return n.schema + goName(f.Name) }
func (n names) enumNames(f *layout.Field) string { return lowerFirst(n.enum(f)) + "Names" }
func (n names) enumValue(f *layout.Field, value string) string {
	return n.enum(f) + goName(value)
}

// table is what the names of one table begin with: the schema's name once.
func (n names) table(t *layout.Table) string {
	id := goName(t.ID)
	if strings.HasPrefix(id, n.schema) {
		return id
	}
	return join(n.schema, id)
}

// join joins two names, without the last word of the first one where the second begins
// with it, in the singular or the plural: UsageClasses and Class are UsageClass.
func join(name, suffix string) string {
	last, first := splitWords(name), splitWords(suffix)
	if len(last) < 2 || len(first) == 0 {
		return name + suffix
	}
	word := last[len(last)-1]
	for _, ending := range []string{"", "s", "es"} {
		if strings.EqualFold(word, first[0]+ending) || strings.EqualFold(word+ending, first[0]) {
			return strings.TrimSuffix(name, word) + suffix
		}
	}
	return name + suffix
}

func (n names) key(t *layout.Table) string      { return n.table(t) + "Key" }
func (n names) parseKey(t *layout.Table) string { return "Parse" + n.table(t) + "Key" }
func (n names) layout(t *layout.Table) string   { return lowerFirst(n.table(t)) + "Layout" }
func (n names) bucket(t *layout.Table) string   { return lowerFirst(n.table(t)) + "Bucket" }
func (n names) timeKey(t *layout.Table) string  { return lowerFirst(n.table(t)) + "Time" }

// columnsVar is the table of the columns of a table.
func (n names) columnsVar(t *layout.Table) string { return lowerFirst(n.table(t)) + "Columns" }

// tableReader is the field of the reader for a table that queries are read from.
func (n names) tableReader(t *layout.Table) string { return "read" + goName(t.ID) }

func (n names) query(q *layout.Query) string      { return lowerFirst(n.schema) + q.Name }
func (n names) queryKeys(q *layout.Query) string  { return "keys" + n.schema + q.Name }
func (n names) querySpans(q *layout.Query) string { return "rows" + n.schema + q.Name }

// initialisms are written in capitals, as Go does.
var initialisms = map[string]bool{
	"api": true, "ascii": true, "cpu": true, "css": true, "db": true, "dns": true, "eof": true, "gc": true,
	"gpu": true, "guid": true, "html": true, "http": true, "https": true, "id": true, "io": true, "ip": true,
	"json": true, "lhs": true, "os": true, "qps": true, "ram": true, "rhs": true, "rpc": true, "sla": true,
	"smtp": true, "sql": true, "ssh": true, "tcp": true, "tls": true, "ttl": true, "udp": true, "ui": true,
	"uid": true, "uri": true, "url": true, "utc": true, "utf8": true, "uuid": true, "vm": true, "xml": true,
}

// splitWords splits a name at underscores, at anything else that is no letter or
// digit, and where a capital follows a small letter.
func splitWords(name string) []string {
	out := make([]string, 0, 4) // few have more
	begin, small := -1, false   // no word has begun
	end := func(i int) {
		if begin >= 0 {
			out = append(out, name[begin:i])
		}
		begin = -1
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end(i)
			small = false
			continue
		}
		if small && unicode.IsUpper(r) {
			end(i)
		}
		if begin < 0 {
			begin = i
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	end(len(name))
	return out
}

// goName returns the exported Go name: balloon_id is BalloonID.
func goName(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for _, w := range splitWords(name) {
		if initialisms[strings.ToLower(w)] {
			b.WriteString(strings.ToUpper(w))
			continue
		}
		first, size := utf8.DecodeRuneInString(w)
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(w[size:])
	}
	return b.String()
}

// lowerFirst makes a name private: BalloonCells is balloonCells, IDTable is idTable.
func lowerFirst(name string) string {
	r := []rune(name)
	for i := range r {
		if i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) || !unicode.IsUpper(r[i]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}

// snake returns a name for a file: HourlyNormal is hourly_normal.
func snake(name string) string {
	return strings.ToLower(strings.Join(splitWords(name), "_"))
}
