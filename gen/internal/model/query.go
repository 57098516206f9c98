package model

import (
	"slices"
	"strings"
)

// ShortTable is the suffix of the name of a schema's second table.
const ShortTable = "_short"

// Query is a query of a schema.
type Query struct {
	Name string
	By   []string // Host and Shard, as in Go
	Scan bool     // it reads a whole table
	Many string   // the one of By of which it takes several values; empty if it takes one of each
}

// yaml formats the query.
func (q Query) yaml() string {
	text := "{by: [" + strings.ToLower(strings.Join(q.By, ", ")) + "]"
	if q.Scan {
		text += ", scan: to be tried"
	}
	if q.Many != "" {
		return text + ", many: " + strings.ToLower(q.Many) + "}"
	}
	return text + ", delete: true, series: true}"
}

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
