package model

import (
	"slices"
	"strings"
	"time"
)

// ShortTable is the suffix of the name of a schema's second table.
const ShortTable = "_short"

// Query is a query of a schema.
type Query struct {
	Name string
	By   []string // Host and Shard, as in Go
	Scan bool     // it reads a whole table
	Many string   // the one of By of which it takes several values; empty if it takes one of each
	// Prefix and Range are the one of By of which it takes a prefix, or a range.
	Prefix, Range string
	// Where says that it selects events by the first field: by a range, or with Equal by a value.
	Where, Equal bool
}

// Values are the values that a query is given.
type Values struct {
	Given, End  Series   // those of which it takes one; End has the end of a range
	Low, High   []Series // the same, or several that differ in the value of Many
	From, Below int64    // the range of the first field, or its value
}

// yaml formats the query.
func (q Query) yaml() string {
	text := "{by: [" + strings.ToLower(strings.Join(q.By, ", ")) + "], delete: true, series: true"
	if q.Scan {
		text += ", scan: to be tried"
	}
	for _, form := range [][2]string{{"many", q.Many}, {"prefix", q.Prefix}, {"range", q.Range}} {
		if form[1] != "" {
			text += ", " + form[0] + ": " + strings.ToLower(form[1])
		}
	}
	switch {
	case q.Equal:
		text += ", where: {v0: equal}"
	case q.Where:
		text += ", where: {v0: range}"
	}
	if q.Where || q.Prefix+q.Range != "" {
		text += ", allow: {K18: to be tried}"
	}
	return text + "}"
}

// plain reports whether the query takes single values, and no others.
func (q Query) plain() bool { return q.Many+q.Prefix+q.Range == "" && !q.Where }

// inputs returns what the query takes, in the order of its parameters: Host, Shard, and Where.
func (q Query) inputs() (out []string) {
	part := q.Prefix + q.Range
	for _, by := range q.By {
		if by != part {
			out = append(out, by)
		}
	}
	if part != "" {
		out = append(out, part)
	}
	if q.Where {
		out = append(out, "Where")
	}
	return out
}

// Args renders the arguments of the generated methods of the query, each after a comma. v has the
// values.
func (q Query) Args() string {
	text := ""
	for _, in := range q.inputs() {
		switch {
		case in == "Where" && q.Equal:
			text += ", v.From"
		case in == "Where":
			text += ", v.From, v.Below"
		case in == q.Many && in == q.Range:
			text += ", v." + in + "Ranges()"
		case in == q.Many:
			text += ", v." + in + "s()"
		case in == q.Range:
			text += ", v.Given." + in + ", v.End." + in
		default:
			text += ", v.Given." + in
		}
	}
	return text
}

// Given returns the values as package dynamic takes them.
func (q Query) Given(v Values) (out []any) {
	value := func(s Series, name string) any {
		if name == "Host" {
			return s.Host
		}
		return s.Shard
	}
	for _, in := range q.inputs() {
		switch {
		case in == "Where" && q.Equal:
			out = append(out, v.From)
			continue
		case in == "Where":
			out = append(out, []any{v.From, v.Below})
			continue
		}
		one := func(low, high Series) any {
			if in == q.Range {
				return []any{value(low, in), value(high, in)}
			}
			return value(low, in)
		}
		if in != q.Many {
			out = append(out, one(v.Given, v.End))
			continue
		}
		all := []any{}
		for i := range v.Low {
			all = append(all, one(v.Low[i], v.High[i]))
		}
		out = append(out, all)
	}
	return out
}

// Hosts returns the hosts of several values.
func (v Values) Hosts() []string { return each(v.Low, func(s Series) string { return s.Host }) }

// Shards returns the shards of several values.
func (v Values) Shards() []int64 { return each(v.Low, func(s Series) int64 { return s.Shard }) }

// HostRanges returns several ranges of hosts.
func (v Values) HostRanges() [][2]string {
	return pairs(v.Hosts(), each(v.High, func(s Series) string { return s.Host }))
}

// ShardRanges returns several ranges of shards.
func (v Values) ShardRanges() [][2]int64 {
	return pairs(v.Shards(), each(v.High, func(s Series) int64 { return s.Shard }))
}

func each[T any](all []Series, of func(Series) T) (out []T) {
	for _, s := range all {
		out = append(out, of(s))
	}
	return out
}

func pairs[T any](from, to []T) (out [][2]T) {
	for i := range from {
		out = append(out, [2]T{from[i], to[i]})
	}
	return out
}

// finds reports whether the query returns events of s.
func (q Query) finds(s Series, v Values) bool {
	for i := range v.Low {
		high := v.Low[i]
		if q.Range != "" {
			high = v.High[i]
		}
		if q.holds(s, v.Low[i], high) {
			return true
		}
	}
	return false
}

// holds reports whether the query with single values finds a series.
func (q Query) holds(s, low, high Series) bool {
	in := func(name string) bool { return slices.Contains(q.By, name) && q.Prefix != name && q.Range != name }
	switch {
	case in("Host") && s.Host != low.Host, in("Shard") && s.Shard != low.Shard:
		return false
	case q.Prefix != "":
		return strings.HasPrefix(s.Host, low.Host)
	case q.Range == "Host":
		return s.Host >= low.Host && s.Host < high.Host
	case q.Range == "Shard":
		return s.Shard >= low.Shard && s.Shard < high.Shard
	}
	return true
}

// picks returns which events of the series the query returns; nil for all. An event without the field
// has its default.
func (q Query) picks(v Values) func(e Event) bool {
	if !q.Where {
		return nil
	}
	return func(e Event) bool {
		value := e.Values[0]
		return e.Has[0] && (value == v.From || !q.Equal && v.From <= value) && (q.Equal || value < v.Below)
	}
}

// Queries returns the queries that the table of the schema can answer.
func (s *Schema) Queries() []Query {
	var out []Query
	host, both, reverse := []string{"Host"}, []string{"Shard", "Host"}, []string{"Host", "Shard"}
	for _, q := range []Query{
		{Name: "ByHost", By: host},
		{Name: "ByShard", By: []string{"Shard"}},
		{Name: "One", By: both},
		{Name: "Export"},
		{Name: "Hosts", By: host, Many: "Host"},
		{Name: "Shards", By: []string{"Shard"}, Many: "Shard"},
		{Name: "Ones", By: both, Many: "Host"},
		{Name: "HostPrefix", By: host, Prefix: "Host"},
		{Name: "HostPrefixOf", By: both, Prefix: "Host"},
		{Name: "HostPrefixes", By: host, Prefix: "Host", Many: "Host"},
		{Name: "HostPrefixOfShards", By: both, Prefix: "Host", Many: "Shard"},
		{Name: "HostRange", By: host, Range: "Host"},
		{Name: "HostRanges", By: host, Range: "Host", Many: "Host"},
		{Name: "ShardRange", By: []string{"Shard"}, Range: "Shard"},
		{Name: "ShardRangeOf", By: reverse, Range: "Shard"},
		{Name: "ShardRangeOfHosts", By: reverse, Range: "Shard", Many: "Host"},
		{Name: "ShardRangesOf", By: reverse, Range: "Shard", Many: "Shard"},
		{Name: "InRange", By: both, Where: true},
		{Name: "HostInRange", By: host, Where: true},
		{Name: "WithValue", By: both, Where: true, Equal: true},
		{Name: "HostsInRange", By: host, Many: "Host", Where: true},
		{Name: "HostPrefixesWithValue", By: host, Prefix: "Host", Many: "Host", Where: true, Equal: true},
		{Name: "ShardRangesInRange", By: reverse, Range: "Shard", Many: "Shard", Where: true},
	} {
		all, scan := s.answered(q)
		part := q.Prefix+q.Range != ""
		if part {
			all, scan = true, false
		}
		if all && !slices.ContainsFunc(s.layouts(), func(l *Schema) bool {
			return part && !l.answersPart(&q) || q.Where && !l.selects(s.Classes, &q)
		}) {
			q.Scan = scan
			out = append(out, q)
		}
	}
	return out
}

// PlainQueries returns those that take single values, and no others.
func (s *Schema) PlainQueries() []Query {
	return slices.DeleteFunc(s.Queries(), func(q Query) bool { return !q.plain() })
}

// selects reports whether the server can select the events of a layout by the first field: if
// they have rows of their own, or if they are single cells of which all that are young enough are
// kept, and if bytes sort like values or, for a single value, there is only one form.
func (s *Schema) selects(classes []time.Duration, q *Query) bool {
	cells := s.Pattern == "bucket_new_cells" && len(s.Fields) == 1 && !slices.ContainsFunc(s.Families, func(f Family) bool { return f.TTL.counts() })
	return (cells || s.Pattern == "single_unserialized") && (classes == nil || s.Fields[0].Presence != Default) &&
		s.Values != "text" && (q.Equal || s.Values != "little_endian")
}

// counts reports whether what a time to live keeps depends on the number of newer cells.
func (t TTL) counts() bool {
	return t.Kind == "max_versions" || slices.ContainsFunc(t.Rules, TTL.counts)
}

// answersPart reports whether a layout can answer a query of a prefix or a range: if nothing but
// constants, given values and, unless fields have rows, salts precede the value before the time,
// and rows with neighboring values are neighbors.
func (s *Schema) answersPart(q *Query) bool {
	if s.Unsorted {
		return false
	}
	part := strings.ToLower(q.Prefix + q.Range)
	metric, salted := false, false
	for _, g := range s.Before {
		switch {
		case isSalt(g):
			salted = salted || strings.Contains(g, part) || strings.Contains(g, "host") && !slices.Contains(q.By, "Host") || strings.Contains(g, "shard") && !slices.Contains(q.By, "Shard")
		case g == "metric":
			metric = true
		case strings.Contains(g, "const"):
		case !strings.Contains(g, part):
			if len(q.By) == 1 {
				return false
			}
		default:
			return (!s.newColumns() || metric && !salted) && s.sortsBy(g, q)
		}
	}
	return false
}

// sortsBy reports whether the rows with a prefix or a range of a segment are adjacent.
func (s *Schema) sortsBy(g string, q *Query) bool {
	switch {
	case strings.Contains(g, "joined"), q.Range != "" && strings.Contains(g, "_endian"):
		return false
	case q.Prefix != "":
		return !strings.Contains(g, "encoding: hex")
	case strings.Contains(g, "reverse"):
		return false
	case q.Range == "Host":
		return strings.Contains(g, "escape") || s.Delimiter == "" || strings.Contains(g, "encoding: hex") && s.Delimiter < "0"
	}
	return strings.Contains(g, "pad") || strings.Contains(g, "encoding: binary") || s.Delimiter == ""
}

// answered reports whether all layouts can answer a query, and whether one of them must
// scan its whole table.
func (s *Schema) answered(q Query) (all, scan bool) {
	all = true
	for _, l := range s.layouts() {
		all = all && l.answers(&q)
		scan = scan || q.Scan
	}
	return all, scan
}

// answers reports whether the table can answer a query, and sets whether it must scan
// the whole table: it must if no specified value is in the part of the key that the
// reader can write, which ends before the first unspecified value. A salt of
// unspecified values can be any number, but only before the time. Values after the time
// restrict the rows of buckets, whose keys are known, but not rows of single events.
func (s *Schema) answers(q *Query) bool {
	missing := func(text string) bool {
		for _, value := range []string{"Host", "Shard"} {
			if strings.Contains(text, strings.ToLower(value)) && !slices.Contains(q.By, value) {
				return true
			}
		}
		return false
	}
	q.Scan = true
	if s.Unsorted && len(q.By) < 2 {
		return false // the rows of several series are not in order of time
	}
	var metric, salted bool
	written := func(segments []string, behind bool) bool {
		for _, g := range segments {
			switch {
			case strings.Contains(g, "sequence"), missing(g) && (behind || !isSalt(g)):
				return false
			case isSalt(g):
				salted = salted || missing(g)
			case g == "metric":
				metric = metric || !behind
			case !strings.Contains(g, "const"):
				q.Scan = q.Scan && behind && !s.bucketed()
			}
		}
		return true
	}
	if written(s.Before, false) {
		written(s.After, true)
		q.Scan = q.Scan && len(q.By) > 0 // all series in a time range are the expected result
	}
	return !s.newColumns() || len(q.By) == 2 || metric && !salted
}

// isSalt reports whether a segment is a salt.
func isSalt(segment string) bool { return strings.Contains(segment, "hash") }

// timeFirst reports whether the key begins with the time.
func (s *Schema) timeFirst() bool {
	return !slices.ContainsFunc(s.Before, func(g string) bool { return !strings.Contains(g, "const") })
}
