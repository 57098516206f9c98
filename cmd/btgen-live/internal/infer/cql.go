package infer

import (
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
	case table == "":
		return nil, fmt.Errorf("%w: it defines the tables %s: choose one with --table", ErrCQL, listed(names))
	case i < 0:
		return nil, fmt.Errorf("%w: it has no table %s: it defines %s", ErrCQL, table, listed(names))
	}
	d, err := tables[i].design()
	if err != nil {
		return nil, err
	}
	d.loading = append(d.loading, flags...)
	return d.propose()
}

const day = 24 * time.Hour

// cqlDate is the type of days in CQL.
const cqlDate = "date"

// cqlTimes are the types in CQL whose values are times of events, the likeliest first.
var cqlTimes = [][]string{{"timestamp", cqlTimeID}, {cqlDate}}

// design derives the design.
func (t *cqlTable) design() (*design, error) {
	at := -1
	for _, types := range cqlTimes {
		if at < 0 {
			at = slices.IndexFunc(t.clustering, func(name string) bool { return slices.Contains(types, t.column(name).typ) })
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("table %s: %w: no clustering column is a timestamp, a "+cqlTimeID+" or a date, so that its rows are not events of a series", t.name, ErrNoSchema)
	}
	d := &design{
		table: t.name, precision: time.Millisecond, timeName: t.clustering[at], loading: []string{"--format cassandra"},
		about: []string{fmt.Sprintf("Proposed by btgen-live infer from the definition of table %s of Apache Cassandra.", t.name)},
	}
	for _, name := range t.partition {
		if width, ok := t.bucketOf(name); ok {
			t.addBucket(d, name, width)
			continue
		}
		d.series = append(d.series, t.seriesValue(name))
	}
	d.partition = len(d.series)
	for _, name := range t.clustering[:at] {
		d.series = append(d.series, t.seriesValue(name))
	}
	t.addTies(d, t.clustering[at+1:])
	if t.addFields(d); len(d.fields) == 0 {
		return nil, fmt.Errorf("table %s: %w: it has no columns besides those of its PRIMARY KEY, so that its events would have no fields", t.name, ErrNoSchema)
	}
	if len(d.series) == 0 {
		return nil, fmt.Errorf("table %s: %w: the partition key has only times, so that nothing tells one series from another", t.name, ErrNoSchema)
	}
	switch t.column(d.timeName).typ {
	case cqlTimeID:
		d.asks = append(d.asks, fmt.Sprintf("Column %s is a "+cqlTimeID+", of which only the time is loaded, in milliseconds. Has a series several events in one?", d.timeName))
	case cqlDate:
		d.precision, d.loading = day, append(d.loading, "--zone UTC")
		d.asks = append(d.asks, fmt.Sprintf("Column %s is a date, which is loaded as midnight in UTC. Is that the time of the events?", d.timeName))
	}
	t.setBucket(d)
	t.setTTL(d)
	return d, nil
}

// cqlBuckets are words in the names of columns of which partitions consist, and their buckets. Longer
// words precede those that they contain.
var cqlBuckets = []struct{ word, bucket string }{
	{"yyyymmddhh", "1h"}, {"yyyymmdd", "1d"}, {"yyyymm", "1mo"}, {"yyyy", "1y"}, {"yearmonth", "1mo"}, {"yearweek", "1w"},
	{"minute", "1m"}, {"hour", "1h"}, {"day", "1d"}, {"date", "1d"}, {"week", "1w"}, {"month", "1mo"}, {"year", "1y"},
	{"bucket", ""}, {"partition", ""}, {"period", ""},
}

// cqlWidths are the widths of cqlBuckets, the narrowest first.
var cqlWidths = []string{"1m", "1h", "1d", "1w", "1mo", "1y", ""}

// narrower returns the narrower of two widths.
func narrower(a, b string) string {
	return cqlWidths[min(slices.Index(cqlWidths, a), slices.Index(cqlWidths, b))]
}

// bucketOf reports whether a column of the partition key seems to tell partitions of a series apart, and
// how wide they are; empty if the definition does not tell.
func (t *cqlTable) bucketOf(name string) (string, bool) {
	width, is := "", false
	for _, word := range strings.Split(strings.ToLower(name), "_") {
		for _, b := range cqlBuckets {
			if word == b.word || word == b.word+"s" {
				width, is = narrower(width, b.bucket), true
			}
		}
	}
	switch typ := t.column(name).typ; {
	case is:
		return width, true
	case typ == "date":
		return "1d", true
	default:
		return "", typ == "timestamp"
	}
}

// addBucket replaces a column of the partition key by the bucket.
func (t *cqlTable) addBucket(d *design, name, width string) {
	d.left = append(d.left, name)
	d.bucket = narrower(d.bucket, width)
	d.about = append(d.about, fmt.Sprintf("Column %s, which tells partitions of a series apart, is left out.", name))
	d.asks = append(d.asks, fmt.Sprintf("Does the time of an event tell its %s, which is left out? If not, add it to the series: events with one time would replace each other.", name))
	if width == "" {
		d.bucketAsk = fmt.Sprintf("How long is a partition? Column %s does not tell.", name)
	}
}

// setBucket sets the bucket, if the partition key does not tell it.
func (t *cqlTable) setBucket(d *design) {
	if d.bucket != "" {
		return
	}
	d.bucket = "1d"
	if d.precision == day {
		d.bucket = bucketFor(day, len(d.fields))
	}
	const class, unit, size = "class", "compaction_window_unit", "compaction_window_size"
	if strings.HasSuffix(t.compaction[class], "TimeWindowCompactionStrategy") {
		n, err := strconv.Atoi(t.compaction[size])
		of := map[string]time.Duration{"MINUTES": time.Minute, "HOURS": time.Hour, "DAYS": day, "": day}[strings.ToUpper(t.compaction[unit])]
		if t.compaction[size] == "" {
			n, err = 1, nil
		}
		const longest = 366
		if err == nil && n > 0 && n <= longest*24*60 && of > 0 && time.Duration(n)*of <= longest*day {
			d.bucket = schema.FormatDuration(time.Duration(n) * of)
			d.about = append(d.about, "The bucket is the window of TimeWindowCompactionStrategy.")
		}
	}
	if d.bucketAsk == "" && d.precision < day {
		d.bucketAsk = "How many events has a series a day? A row should have less than 20,000 cells."
	}
}

// setTTL sets the time to live.
func (t *cqlTable) setTTL(d *design) {
	d.ttl = "{keep: forever}"
	if t.ttl == 0 {
		d.ttlAsk = "The table has no default_time_to_live. Do its writers set one?"
		return
	}
	const longest = 20 * 366 * day // of Cassandra
	age := min(time.Duration(min(t.ttl, int64(longest/time.Second)))*time.Second, longest)
	d.ttl = "{max_age: " + schema.FormatDuration(age) + "}"
	d.about = append(d.about, "The time to live counts from the time of an event, and not from the write.")
}

// seriesValue derives a series value.
func (t *cqlTable) seriesValue(name string) designValue {
	v := t.value(name)
	v.optional = false
	if v.typ == "string" {
		v.escape = true
	}
	switch v.typ {
	case "float32", "float64", "bool", "timestamp", "bytes":
		v.asks = append(v.asks, fmt.Sprintf("Its type in Cassandra is %s, whose text is in the key here. Which values has it?", t.column(name).typ))
		v.typ, v.escape = "string", true
	}
	return v
}

// addTies adds the clustering columns after the time.
func (t *cqlTable) addTies(d *design, names []string) {
	for _, name := range names {
		typ := t.column(name).typ
		if !d.sequence && len(names) == 1 && (typ == "int" || typ == "smallint" || typ == "tinyint") {
			d.sequence = true
			d.loading = append(d.loading, "--map "+words.ShellPair(name, "sequence"))
			d.about = append(d.about, fmt.Sprintf("Column %s, which follows the time in the primary key, is the sequence number.", name))
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
