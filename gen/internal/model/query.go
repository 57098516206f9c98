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

// yaml formats the query.
func (q Query) yaml() string {
	text := "{by: [" + strings.ToLower(strings.Join(q.By, ", ")) + "]"
	if q.Scan {
		text += ", scan: to be tried"
	}
	switch {
	case q.Equal:
		return text + ", where: {v0: equal}, allow: {K18: to be tried}}"
	case q.Where:
		return text + ", where: {v0: range}, allow: {K18: to be tried}}"
	case q.Many != "":
		return text + ", many: " + strings.ToLower(q.Many) + "}"
	case q.Prefix != "":
		return text + ", prefix: " + strings.ToLower(q.Prefix) + ", series: true, allow: {K18: to be tried}}"
	case q.Range != "":
		return text + ", range: " + strings.ToLower(q.Range) + ", allow: {K18: to be tried}}"
	}
	return text + ", delete: true, series: true}"
}

// Whole reports whether the query takes one value of a series value.
func (q Query) Whole(name string) bool { return q.Many != name && q.Prefix != name && q.Range != name }

// Takes reports whether the query takes several values of a series value.
func (q Query) Takes(name string) bool { return q.Many == name }

// finds reports whether the query with the values of given returns events of s.
func (q Query) finds(s, given Series) bool {
	return (s.Host == given.Host || !slices.Contains(q.By, "Host")) && (s.Shard == given.Shard || !slices.Contains(q.By, "Shard"))
}

// Queries returns the queries that the table of the schema can answer.
func (s *Schema) Queries() []Query {
	var out []Query
	for _, q := range []Query{
		{Name: "ByHost", By: []string{"Host"}},
		{Name: "ByShard", By: []string{"Shard"}},
		{Name: "One", By: []string{"Shard", "Host"}},
		{Name: "Export"},
	} {
		if all, scan := s.answered(q); all {
			q.Scan = scan
			out = append(out, q)
		}
	}
	return out
}

// ManyQueries returns the queries of several values that the table of the schema can answer.
func (s *Schema) ManyQueries() []Query {
	var out []Query
	for _, q := range []Query{
		{Name: "Hosts", By: []string{"Host"}, Many: "Host"},
		{Name: "Shards", By: []string{"Shard"}, Many: "Shard"},
		{Name: "Ones", By: []string{"Shard", "Host"}, Many: "Host"},
	} {
		if all, scan := s.answered(q); all {
			q.Scan = scan
			out = append(out, q)
		}
	}
	return out
}

// PartQueries returns the queries of a prefix or a range that the table of the schema can answer.
func (s *Schema) PartQueries() []Query {
	var out []Query
	for _, q := range []Query{
		{Name: "HostPrefix", By: []string{"Host"}, Prefix: "Host"},
		{Name: "HostPrefixOf", By: []string{"Shard", "Host"}, Prefix: "Host"},
		{Name: "HostRange", By: []string{"Host"}, Range: "Host"},
		{Name: "ShardRange", By: []string{"Shard"}, Range: "Shard"},
		{Name: "ShardRangeOf", By: []string{"Host", "Shard"}, Range: "Shard"},
	} {
		if !slices.ContainsFunc(s.layouts(), func(l *Schema) bool { return !l.answersPart(&q) }) {
			out = append(out, q)
		}
	}
	return out
}

// WhereQueries returns the queries with a condition on the first field that the table of the schema
// can answer.
func (s *Schema) WhereQueries() []Query {
	var out []Query
	for _, q := range []Query{
		{Name: "InRange", By: []string{"Shard", "Host"}, Where: true},
		{Name: "HostInRange", By: []string{"Host"}, Where: true},
		{Name: "WithValue", By: []string{"Shard", "Host"}, Where: true, Equal: true},
	} {
		all, scan := s.answered(q)
		if all && !slices.ContainsFunc(s.layouts(), func(l *Schema) bool { return !l.selects(s.Classes, &q) }) {
			q.Scan = scan
			out = append(out, q)
		}
	}
	return out
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

// holds reports whether a query of a prefix or a range finds a series.
func (q Query) holds(s, low, high Series) bool {
	in := func(name string) bool { return slices.Contains(q.By, name) && q.Prefix != name && q.Range != name }
	switch {
	case in("Host") && s.Host != low.Host, in("Shard") && s.Shard != low.Shard:
		return false
	case q.Prefix != "":
		return strings.HasPrefix(s.Host, low.Host)
	case q.Range == "Host":
		return s.Host >= low.Host && s.Host < high.Host
	}
	return s.Shard >= low.Shard && s.Shard < high.Shard
}

// Hosts returns the hosts of several series.
func Hosts(several []Series) (out []string) {
	for _, s := range several {
		out = append(out, s.Host)
	}
	return out
}

// Shards returns the shards of several series.
func Shards(several []Series) (out []int64) {
	for _, s := range several {
		out = append(out, s.Shard)
	}
	return out
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
