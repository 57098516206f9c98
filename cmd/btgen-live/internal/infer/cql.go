package infer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// ProposeCQL returns a schema for a new table for the events of a table of Apache Cassandra, whose definition is a
// text in CQL: the partition key and the clustering columns before the time are the series, the first clustering
// column that is a timestamp or a timeuuid, or else a date, is the time, columns that only tell partitions of a series
// apart become the bucket, and the default time to live is that of the events. If the text defines several tables,
// table names the one. flags are those of the command that loads the events. Errors are [ErrCQL] and [ErrNoSchema].
// Report is nil.
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
		return nil, fmt.Errorf("%w: it has no CREATE TABLE", ErrCQL)
	case table == "" && len(tables) == 1:
		i = 0
	case i < 0:
		return nil, fmt.Errorf("%w: it defines the tables %s: choose one with --table", ErrCQL, listed(names))
	}
	d, err := tables[i].design()
	if err != nil {
		return nil, fmt.Errorf("table %s: %w: %w", tables[i].name, ErrNoSchema, err)
	}
	d.loading = append(d.loading, flags...)
	return d.propose()
}

const day = 24 * time.Hour

// design derives the design.
func (t *cqlTable) design() (*design, error) {
	at := slices.IndexFunc(t.clustering, func(name string) bool { return slices.Contains([]string{cqlTimestamp, cqlTimeID}, t.column(name).typ) })
	if at < 0 {
		at = slices.IndexFunc(t.clustering, func(name string) bool { return t.column(name).typ == cqlDate })
	}
	if at < 0 {
		return nil, errors.New("no clustering column is a timestamp, a " + cqlTimeID + " or a date, so that its rows are not events of a series")
	}
	d := &design{
		table: t.name, precision: time.Millisecond, timeName: t.clustering[at], loading: []string{"--format cassandra"},
		about: []string{fmt.Sprintf("Proposed by btgen-live infer from the definition of table %s of Apache Cassandra.", t.name)},
	}
	narrowest := len(cqlBuckets)
	for _, name := range t.partition {
		i := t.bucketOf(name)
		if i < 0 {
			d.series = append(d.series, t.seriesValue(name))
			continue
		}
		narrowest, d.left = min(narrowest, i), append(d.left, name)
		d.asks = append(d.asks, fmt.Sprintf("Does the time of an event tell its %s, which is left out? If not, add it to the series: events with one time would replace each other.", name))
		if cqlBuckets[i].width == "" {
			d.bucketAsk = fmt.Sprintf("How long is a partition? Column %s does not tell.", name)
		}
	}
	d.partition = len(d.series)
	for _, name := range t.clustering[:at] {
		d.series = append(d.series, t.seriesValue(name))
	}
	t.addTies(d, t.clustering[at+1:])
	t.addFields(d)
	switch {
	case len(d.fields) == 0:
		return nil, errors.New("it has no columns besides those of its PRIMARY KEY, so that its events would have no fields")
	case len(d.series) == 0:
		return nil, errors.New("the partition key has only times, so that nothing tells one series from another")
	}
	switch t.column(d.timeName).typ {
	case cqlTimeID:
		d.asks = append(d.asks, fmt.Sprintf("Column %s is a "+cqlTimeID+", of which only the time is loaded, in milliseconds. Has a series several events in one?", d.timeName))
	case cqlDate:
		d.precision, d.loading = day, append(d.loading, "--zone UTC")
		d.asks = append(d.asks, fmt.Sprintf("Column %s is a date, which is loaded as midnight in UTC. Is that the time of the events?", d.timeName))
	}
	if narrowest < len(cqlBuckets) {
		d.bucket = cqlBuckets[narrowest].width
	}
	if d.bucket == "" {
		t.setBucket(d)
	}
	if d.ttl = "{keep: forever}"; t.ttl > 0 {
		const longest = 20 * 366 * day // of Cassandra
		d.ttl = "{max_age: " + schema.FormatDuration(time.Duration(min(t.ttl, int64(longest/time.Second)))*time.Second) + "}"
		d.about = append(d.about, "The time to live counts from the time of an event, and not from the write.")
	} else {
		d.ttlAsk = "The table has no default_time_to_live. Do its writers set one?"
	}
	return d, nil
}

// cqlBucket is a width of partitions.
type cqlBucket struct {
	words []string // in names of columns
	width string   // empty if the words do not tell it
}

// cqlBuckets are words in the names of columns of which partitions consist, the narrowest first.
var cqlBuckets = []cqlBucket{
	{[]string{"minute"}, "1m"}, {[]string{"hour", "yyyymmddhh"}, "1h"}, {[]string{"day", "date", "yyyymmdd"}, "1d"}, {[]string{"week", "yearweek"}, "1w"},
	{[]string{"month", "yearmonth", "yyyymm"}, "1mo"}, {[]string{"year", "yyyy"}, "1y"}, {[]string{"bucket", "partition", "period"}, ""},
}

// bucketOf returns the index in cqlBuckets of a column of the partition key that seems to tell partitions of a series apart; -1
// for others.
func (t *cqlTable) bucketOf(name string) int {
	parts, typ := strings.Split(strings.ToLower(name), "_"), t.column(name).typ
	for i, b := range cqlBuckets {
		if slices.ContainsFunc(parts, func(part string) bool {
			return slices.Contains(b.words, part) || slices.Contains(b.words, strings.TrimSuffix(part, "s"))
		}) {
			return i
		}
	}
	return slices.IndexFunc(cqlBuckets, func(b cqlBucket) bool {
		return typ == cqlDate && b.width == "1d" || typ == cqlTimestamp && b.width == ""
	})
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

// seriesValue derives a series value.
func (t *cqlTable) seriesValue(name string) designValue {
	v := t.value(name)
	switch v.optional = false; v.typ {
	case "float32", "float64", "bool", "timestamp", "bytes":
		v.asks = append(v.asks, fmt.Sprintf("Its type in Cassandra is %s, whose text is in the key here. Which values has it?", t.column(name).typ))
		v.typ = "string"
	}
	v.escape = v.typ == "string"
	return v
}

// addTies adds the clustering columns after the time.
func (t *cqlTable) addTies(d *design, names []string) {
	for _, name := range names {
		if len(names) == 1 && slices.Contains([]string{"int", "smallint", "tinyint"}, t.column(name).typ) {
			d.sequence, d.loading = true, append(d.loading, "--map "+words.ShellPair(name, "sequence"))
			continue
		}
		v := t.seriesValue(name)
		v.asks = append(v.asks, "It follows the time in the primary key. Does it tell one series from another, or events of one time?")
		d.series = append(d.series, v)
	}
}

// addFields adds the columns outside of the primary key.
func (t *cqlTable) addFields(d *design) {
	for _, c := range t.columns {
		switch {
		case slices.Contains(t.partition, c.name) || slices.Contains(t.clustering, c.name):
		case c.static:
			d.left = append(d.left, c.name)
			d.asks = append(d.asks, fmt.Sprintf("Column %s is static: a partition has one value. Does it belong to another table?", c.name))
		default:
			d.fields = append(d.fields, t.value(c.name))
		}
	}
}

// value derives a value from a column.
func (t *cqlTable) value(name string) designValue {
	c := t.column(name)
	v := designValue{source: name, typ: cqlTypes[c.typ], optional: true}
	if v.typ == "" {
		v.typ = "string"
		v.asks = append(v.asks, fmt.Sprintf("Its type in Cassandra is %s, whose text is stored here. Is there a better type?", c.typ))
	}
	if c.typ == "counter" {
		v.asks = append(v.asks, "It is a counter in Cassandra, and a number here, which is not incremented. Is that right?")
	}
	return v
}
