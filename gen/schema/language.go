package schema

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
)

// defaultPrecision is the default of time.precision: the granularity of Bigtable's
// timestamps.
const defaultPrecision = time.Millisecond

// The valid words of some keys.
var (
	patterns    = patternNames()
	valueForms  = []string{"binary", "text", "big_endian", "little_endian"}
	blobFormats = []string{"protobuf", "json"}
)

var rootBlock = block[Schema]{
	what: "a schema",
	keys: []key[Schema]{
		must(key[Schema]{
			name: "btgen", doc: Version + ", the version of the language", shape: versionForm.shape,
			read: func(w *walker, n *node, _ *Schema) { versionForm.read(w, n) },
		}),
		must(put("package", "the name of the generated package", packageForm, func(s *Schema) *Value[string] { return &s.Package }).
			also("Lowercase letters, digits and underscores, at most 64 characters. Schemas may share a package.")),
		must(put("name", "the prefix of the generated names", exportedForm("a name"), func(s *Schema) *Value[string] { return &s.Name }).
			also("Letters, digits and underscores, beginning with a capital letter: Balloon gives BalloonEvent, BalloonWriter and BalloonReader.")),
		set("doc", "a description of the events", prose("a doc"), func(s *Schema) *string { return &s.Doc }).
			also("For example: One reading a minute from a weather balloon. It becomes a comment in the generated code."),
		must(set("series", "the values that identify a series, in a fixed order",
			named("a mapping from names to types", "write `series: {location: string}`", seriesNameForm, seriesForm, nameOfField).or(typedNames("series", "string")),
			func(s *Schema) *[]Field { return &s.Series }).
			also("The row keys of every table contain all of them. For example, {location: string, balloon_id: int64}.").proposed(seriesInKeys)),
		set("time", "the precision of event times", record(timeBlock), func(s *Schema) *Time { return &s.Time }).
			also("For example, {precision: 1m}. The default precision is 1ms."),
		must(set("fields", "the values of an event",
			named("a mapping from names to types", "write `fields: {pressure: int64}`", fieldNameForm, fieldForm, nameOfField).or(typedNames("fields", "float64")),
			func(s *Schema) *[]Field { return &s.Fields }).
			also("For example, {pressure: {type: int64, unit: Pa}}.")),
		must(set("tables", "the tables that every event is written to",
			indented(named("a mapping from table IDs to tables", "write tables: {readings: {pattern: …, key: …}}", filled("a table ID"), record(tableBlock), func(t *Table) *Value[string] { return &t.Name }), []string{"pattern", "key", "family", "ttl"}).or(namedItems),
			func(s *Schema) *[]Table { return &s.Tables }).
			also("By their IDs in Bigtable. Most schemas have one; others are for reads that need other row keys.")),
		set("queries", "reads of more than one series; each becomes a method of the reader",
			named("a mapping from names to queries", "write `queries: {ByLocation: {by: [location]}}`", exportedForm("a query name"), record(queryBlock), func(q *Query) *Value[string] { return &q.Name }).or(namedItems),
			func(s *Schema) *[]Query { return &s.Queries }).
			also("For example, {ByLocation: {by: [location]}} becomes ByLocation(ctx, location, from, to)."),
		set("expect", "the expected load", record(expectBlock), func(s *Schema) *Expect { return &s.Expect }).
			also("Used to check sizes and ages, and for estimates. For example, {series: 5800, rate: 1/m, lateness: 2h}."),
	},
	elsewhere: map[string]string{
		"version":      "write `btgen: " + Version + "`",
		"precision":    "write `time: {precision: 1m}`",
		"ttl":          inTables,
		"pattern":      inTables,
		"key":          inTables,
		"bucket":       inTables,
		"family":       inTables,
		"draft":        inTables,
		"allow":        inTables,
		"tags":         "write `series`",
		"labels":       "write `series`",
		"dimensions":   "write `series`",
		"keys":         "write `series`",
		"values":       "write `fields`",
		"columns":      "write `fields`",
		"metrics":      "write `fields`",
		"measurements": "write `fields`",
		"properties":   "write `fields`",
		"timestamp":    "write `time`",
		"description":  "write `doc`",
		"comment":      "write `doc`",
	},
}

const (
	inTables = "each table has one: move it to the tables"
	atTop    = "it belongs to the schema: move it out of the tables, to the top level"
	utcOnly  = "remove it; all times are in UTC"
)

// Hints for forms of tables of other programs that the language cannot describe.
const (
	localTime  = "keys have times in UTC: describe a local time as a string of the series, or write the events to a new table"
	otherSalt  = "for a salt of another hash, let callers give it: declare series: {salt: int32}, and write {name: salt, pad: 2}"
	otherNames = "columns are named by fields, or after times as in bucket_offsets; read others with the Bigtable client"
)

// ofOpenTSDB is the hint for the values of OpenTSDB's own tables.
func ofOpenTSDB(text string) string {
	if text == "opentsdb" {
		return otherNames
	}
	return ""
}

// refusals are the rules that explain some hints.
var refusals = map[string]string{localTime: "K24", otherSalt: "K23", otherNames: "C08"}

var timeBlock = block[Time]{
	what:    "the block time",
	example: "write `time: {precision: 1m}`",
	begin:   func(_ diag.Pos, t *Time) { t.Precision.V = defaultPrecision },
	keys: []key[Time]{
		put("precision", "the unit that event times are truncated to; 1ms by default", precisionForm, func(t *Time) *Value[time.Duration] { return &t.Precision }).
			also("A duration that divides a day evenly, from 1ns to 1d: 1ms, 1s, 30s, 1m, 15m, 1h. Most patterns store the time in the timestamps of cells, and require 1ms or more."),
	},
	elsewhere: map[string]string{
		"timezone": utcOnly, "time_zone": utcOnly, "tz": utcOnly, "zone": utcOnly,
		"resolution": "write `precision`", "granularity": "write `precision`", "unit": "write `precision`", "every": "write `precision`",
		"field": "remove it; every event has a time", "column": "remove it: every event has a time", "name": "remove it: every event has a time",
	},
}

// layoutKeys are the keys of a table that may differ between its layouts.
var layoutKeys = []key[Table]{
	must(put("pattern", "the layout of events, one of "+oneOf(patterns), word("pattern", patterns, nil), func(t *Table) *Value[string] { return &t.Pattern }).
		also(aboutPatterns())),
	must(inline("key", "the row key, as in {delimiter: \"#\", segments: [location, bucket]}", keyBlock).or(keyOf).
		also("The time must not come first. Without a delimiter, the key is binary.")),
	set("bucket", "the time span of a row", bucketForm, func(t *Table) *Bucket { return &t.Bucket }).
		also("A width such as 1d, or {every, origin, label}. Required for bucket patterns. A good row has about ten thousand events, and at most 256 MB. With none, the key does not contain the time, and a series has one row with all its events."),
	put("family", "the column family", filled("a family"), func(t *Table) *Value[string] { return &t.Family }).
		also("Keep it short, since it is stored with every cell. Required, except with families or ttl classes."),
	set("families", "the column families, if there are several",
		named("a mapping from families to their ttl", "write `families: {raw: {ttl: {max_age: 30d}}}`", filled("a family"), record(familyBlock), func(f *Family) *Value[string] { return &f.Name }),
		func(t *Table) *[]Family { return &t.Families }).
		also("They replace family and ttl, and each field names its family. For example, {raw: {ttl: {max_age: 7d}}, stats: {ttl: {max_age: 90d}}}."),
	put("values", "how values are encoded; text is readable in cbt", hintedWord("value encoding", valueForms, ofOpenTSDB), func(t *Table) *Value[string] { return &t.Values }).
		also("The default is binary: big-endian int64 and IEEE 754. big_endian and little_endian are for numbers that other programs wrote, in 4 or 8 bytes by type."),
	set("blob", "the column of a serialized event", record(blobBlock), func(t *Table) *Blob { return &t.Blob }).
		also("For serialized patterns. For example, {column: e, format: protobuf}."),
	set("ttl", "when data expires", pointer(ttlForm(false)), func(t *Table) **TTL { return &t.TTL }).
		also("One of max_age, max_versions, any_of, all_of, one_second, default_expiration, classes and keep. For example, {max_age: 30d}, or {keep: forever}, which must be explicit."),
	set("rollup", "the summary of each bucket by windows of time, which outlives its events", rollupForm, func(t *Table) *Rollup { return &t.Rollup }).
		also("For example, {every: 1h, family: h, ttl: {max_age: 104w}}. Readers take windows from it where it has all changes. In an earlier layout, none says that it has no rollup."),
}

var tableBlock = block[Table]{
	what:    "a table",
	example: "write {pattern: …, key: {segments: […]}}",
	keys: slices.Concat([]key[Table]{
		set("doc", "a description of the table", prose("a doc"), func(t *Table) *string { return &t.Doc }).
			also("It becomes a comment in the generated code."),
		put("draft", "whether nothing is stored yet, so that the layout may change freely", boolean, func(t *Table) *Value[bool] { return &t.Draft }).
			also("Setup refuses a draft except on an emulator. Without draft, btgen.lock keeps the layout of the table, and btgen refuses changes that would make stored data unreadable."),
	}, layoutKeys, []key[Table]{
		sinceKey,
		set("before", "the earlier layouts of the table, newest first",
			listOf("a list of layouts", "write `before: [{bucket: 1d}]`", record(periodBlock)), func(t *Table) *[]Table { return &t.Before }).
			also("Stored data is not changed. Each entry states only what differs from the layout above it. For example, [{bucket: 1d}]."),
		set("splits", "row keys at which a new table is split into tablets", distinct(listOf("a list of row keys", "write `splits: [g, n, t]`", located(filled("a row key")))), func(t *Table) *[]Value[string] { return &t.Splits }).
			also("At most 100. Keys that begin with a hash are split automatically. For example, [g, n, t]."),
		put("row_key_schema", "whether GoogleSQL reads the segments of the key as columns", boolean, func(t *Table) *Value[bool] { return &t.RowKeySchema }).
			also("It creates a structured row key schema. With a delimiter, all segments must be text that sorts above it; in a binary key, they must be strings, with the time as text."),
		put("deletion_protection", "whether Bigtable refuses to delete the table", boolean, func(t *Table) *Value[bool] { return &t.DeletionProtection }).
			also("With true, setup protects the table, its families and its instance from deletion. By default, setup does not change the protection of a live table."),
		set("tier", "where Bigtable keeps old cells, as in {infrequent_access: {after: 60d}}", tierForm, func(t *Table) *Tier { return &t.Tier }).
			also("The infrequent access tier is cheaper than SSD, and much slower to read. With ssd, setup removes the tier of a live table. By default, it does not change it."),
		set("schema_bundle", "the schema bundle with the messages of events in protobuf, for SQL", bundleForm, func(t *Table) *Bundle { return &t.Bundle }).
			also("Setup uploads their descriptors under this ID, so that GoogleSQL and BigQuery read the fields of an event. With {drop: events}, it deletes that bundle. By default, it leaves those of a live table alone."),
		set("materialized_views", "views with statistics of groups of events, which Bigtable maintains", materializedForm, func(t *Table) *[]MaterializedView { return &t.Views }).
			also("The output folder gets a query for each, as in {by_location: {by: [location], every: 1h}}. The table needs row_key_schema: true."),
		put("serves", "whether reads and queries may use the table", boolean, func(t *Table) *Value[bool] { return &t.Serves }).
			also("With false, events are written to it but not read from it: for a new table, until earlier events have been copied to it. The default is true."),
		set("allow", "the rules that the table may break, each with a reason", allowancesForm, func(t *Table) *[]Allow { return &t.Allow }).
			also(`For example, {K04: "labels as in the documentation"}.`),
	}),
	elsewhere: map[string]string{
		"offset":          otherNames,
		"qualifier":       otherNames,
		"qualifiers":      otherNames,
		"compacted":       otherNames,
		"time_column":     otherNames,
		"delimiter":       `write key: {delimiter: "#", segments: […]}`,
		"segments":        "write key: {segments: […]}",
		"every":           "write `bucket: {every: 1w}`",
		"origin":          "write `bucket: {every: 1w, origin: 2021-03-01}`",
		"label":           "write `bucket: {every: 1w, label: week%04d}`",
		"max_age":         "write `ttl: {max_age: 30d}`",
		"format":          "write `blob: {format: protobuf}`",
		"tiers":           "write `tier`",
		"views":           "write `materialized_views: {by_location: {by: [location], every: 1h}}`",
		"bundle":          "write `schema_bundle: events`",
		"schema_bundles":  "write `schema_bundle: events`",
		"tiered_storage":  "write `tier: {infrequent_access: {after: 60d}}`",
		"row_key":         "write `key`",
		"rowKey":          "write `key`",
		"rowkey":          "write `key`",
		"columnFamily":    "write `family`",
		"column_family":   "write `family`",
		"columnfamily":    "write `family`",
		"column_families": "write `families`",
		"columns":         "each field is a column; to rename one, write pressure: {type: int64, column: p}",
		"retention":       "write `ttl: {max_age: 30d}`",
		"gc":              "write `ttl: {max_age: 30d}`",
		"gc_rule":         "write `ttl: {max_age: 30d}`",
		"column":          "write blob: {column: …}",
		"description":     "write `doc`",
		"comment":         "write `doc`",
		"type":            "write `pattern`",
		"layout":          "write `pattern`",
		"fields":          atTop,
		"series":          atTop,
		"time":            atTop,
		"queries":         atTop,
		"expect":          atTop,
	},
}

var bucketBlock = block[Bucket]{
	what:    "a bucket",
	example: "write `bucket: {every: 1w}`",
	begin:   func(pos diag.Pos, b *Bucket) { b.Pos = pos },
	keys: []key[Bucket]{
		must(put("every", "the width of a bucket, as in 1h, 1w, 1mo or 1y", spanForm, func(b *Bucket) *Value[Span] { return &b.Every }).
			also("A duration of at least 1m, or months or years that divide the calendar evenly: 1mo, 2mo, 3mo, 4mo, 6mo, 1y. Or none, for one row per series.")),
		put("origin", "the date that buckets are counted from, in UTC", originForm, func(b *Bucket) *Value[time.Time] { return &b.Origin }).
			also("A date or a time, such as 2021-03-01 or 2021-03-01T12:00:00Z. By default, days begin at midnight and weeks on Monday."),
		put("label", "the name of a bucket in the key, as in week%04d", filled("a label"), func(b *Bucket) *Value[string] { return &b.Label }).
			also("A time format for its start (the default), iso_week, or a number, which is 1 at the origin. Unpadded numbers such as week%d do not sort."),
	},
	elsewhere: map[string]string{
		"timezone": utcOnly, "time_zone": utcOnly, "tz": utcOnly, "zone": utcOnly,
		"width": "write `every`", "size": "write `every`", "interval": "write `every`", "duration": "write `every`", "period": "write `every`",
		"format": "write `label`", "start": "write `origin`",
	},
}

var spanForm = parsed("a bucket width", "write `every: 1w`", parseSpan).like(func(s *shape) { s.syntax, s.most = []string{spanSyntax, noZeroWidth}, maxQuantity })

var rateForm = parsed("a rate", "write `rate: 1/m`", parseRate).like(func(s *shape) { s.syntax = []string{ratePattern, rateNotZero} })

// bucketForm is the form of a bucket, or of its width as a short form.
var bucketForm = short(spanForm.shape, func(w *walker, n *node) (Bucket, bool) {
	every, ok := located(spanForm).read(w, n)
	return Bucket{Pos: n.pos, Every: every}, ok
}, record(bucketBlock))

var familyBlock = block[Family]{
	what:    "a family",
	example: "write `{ttl: {max_age: 30d}}`",
	keys: []key[Family]{
		set("ttl", "when the data of the family expires", pointer(ttlForm(false)), func(f *Family) **TTL { return &f.TTL }).
			also("For example, {max_age: 30d}."),
	},
	elsewhere: map[string]string{"max_age": "write `ttl: {max_age: 30d}`"},
}

var blobBlock = block[Blob]{
	what:    "a blob",
	example: "write `blob: {column: measurements_blob, format: protobuf}`",
	begin:   func(pos diag.Pos, b *Blob) { b.Pos = pos },
	keys: []key[Blob]{
		put("column", "the column that holds the event", filled("a column"), func(b *Blob) *Value[string] { return &b.Column }).
			also("Keep it short, since it is stored with every event."),
		put("format", "protobuf, or json to be human-readable", word("blob format", blobFormats, map[string]string{"proto": "protobuf", "proto3": "protobuf", "pb": "protobuf", "avro": "json", "msgpack": "json", "cbor": "json", "text": "json"}), func(b *Blob) *Value[string] { return &b.Format }).
			also("The default is protobuf, for which each field needs a number."),
	},
}

// allowancesForm is the form of the rules that a table or a query may break.
var allowancesForm = named("a mapping from rules to reasons", "write `allow: {K02: \"slots are hashed upstream\"}`", ruleForm, allowForm, func(a *Allow) *Value[string] { return &a.Rule })

// allowForm is the form of the reason for breaking a rule.
var allowForm = form[Allow]{reasonForm.shape, func(w *walker, n *node) (Allow, bool) {
	why, ok := located(reasonForm).read(w, n)
	return Allow{Reason: why}, ok
}}

var reasonForm = reason("a reason", "slots are hashed upstream")

var queryBlock = block[Query]{
	what:    "a query",
	example: "write `{by: [location]}`",
	keys: []key[Query]{
		set("by", "the series values that the caller gives; none to scan all series", orEmpty(nameList("[location]")), func(q *Query) *[]Value[string] { return &q.By }).
			also("For example, [location]. Every query also takes a time range."),
		put("many", "the value of by of which the caller gives several", filled("a series value"), func(q *Query) *Value[string] { return &q.Many }).
			also("{by: [region, line], many: line} becomes ByLines(ctx, region, lines, from, to), where lines is a slice."),
		put("prefix", "the value of by of which the caller gives a prefix", filled("a series value"), func(q *Query) *Value[string] { return &q.Prefix }).
			also("A string stored as text, right after the others in the key. {by: [region, line], prefix: line} becomes ByLinePrefix(ctx, region, linePrefix, from, to)."),
		put("range", "the value of by of which the caller gives a range", filled("a series value"), func(q *Query) *Value[string] { return &q.Range }).
			also("A value by which keys sort, right after the others. {by: [region, vehicle], range: vehicle} becomes ByVehicles(ctx, region, vehicleFrom, vehicleTo, from, to)."),
		set("where", "the fields by which the query selects events, each by a range or a value", whereForm, func(q *Query) *[]Where { return &q.Where }).
			also("The server skips other events. {by: [sensor], where: {magnitude: range}} becomes BySensor(ctx, sensor, magnitudeFrom, magnitudeTo, from, to), {kind: equal} a parameter kind."),
		put("table", "the ID of the table that the query reads", filled("a table ID"), func(q *Query) *Value[string] { return &q.Table }).
			also("For example, rollups. By default, btgen chooses the table with the least work."),
		put("scan", "the reason why the query may read a whole table", reason("scan", "a nightly export"), func(q *Query) *Value[string] { return &q.Scan }).
			also(`For example, "a nightly export". Without a reason, such a query is an error.`),
		put("series", "whether the reader can list the series of the query", boolean, func(q *Query) *Value[bool] { return &q.Series }).
			also("The reader then has a method that returns the series with events, without reading these: ByLocation adds ByLocationSeries(ctx, location, from, to)."),
		put("delete", "whether events can be deleted by the query", boolean, func(q *Query) *Value[bool] { return &q.Delete }).
			also("The writer then has a method that deletes from all tables what the query selects: ByLocation becomes DeleteByLocation(ctx, location, from, to)."),
		set("allow", "the rules that the query may break, each with a reason", allowancesForm, func(q *Query) *[]Allow { return &q.Allow }).
			also(`For example, {K18: "for manual lookups"}.`),
		set("doc", "a description of the query", prose("a doc"), func(q *Query) *string { return &q.Doc }).
			also("It becomes a comment in the generated code."),
	},
	elsewhere: map[string]string{
		"time":   queryTimeHint,
		"keys":   "write `by`",
		"order":  "remove it; callers choose the order, as in ReadOptions{NewestFirst: true}",
		"limit":  "remove it; callers choose a limit, as in ReadOptions{Limit: 10}",
		"reason": "write `scan: \"the reason\"`",
	},
}

// whereForm is the form of the conditions of a query.
var whereForm = named("a mapping from fields to range or equal", "write `where: {magnitude: range}`", filled("a field"), form[Where]{
	whereWord.shape, func(w *walker, n *node) (Where, bool) {
		v, ok := located(whereWord).read(w, n)
		return Where{Form: v}, ok
	}}, func(v *Where) *Value[string] { return &v.Field })

var whereWord = word("condition", WhereForms, map[string]string{
	"between": "range", "min": "range", "max": "range", "greater": "range", "less": "range", ">": "range", "<": "range", ">=": "range",
	"eq": "equal", "=": "equal", "==": "equal", "equals": "equal", "value": "equal", "in": "equal",
})

const queryTimeHint = "every query takes a time range: remove it"

// nameList returns the form of a non-empty list of distinct names.
func nameList(example string) form[[]Value[string]] {
	return distinct(listOf("a list of names", "write `"+example+"`", located(filled("a name"))))
}

// orEmpty returns f with the empty list allowed.
func orEmpty[V any](f form[[]V]) form[[]V] {
	s := f.shape
	s.least = 0
	return form[[]V]{s, func(w *walker, n *node) ([]V, bool) {
		if n.kind == list && len(n.items) == 0 {
			return nil, true
		}
		return f.read(w, n)
	}}
}

var expectBlock = block[Expect]{
	what:    "the block expect",
	example: "write `expect: {series: 5800, rate: 1/m}`",
	begin:   func(pos diag.Pos, e *Expect) { e.Pos = pos },
	keys: []key[Expect]{
		put("series", "the number of series", integer[int64](1, 1<<53), func(e *Expect) *Value[int64] { return &e.Series }),
		put("rate", "the rate of events per series, as in 1/m", rateForm, func(e *Expect) *Value[float64] { return &e.Rate }).
			also("A number of events and a period: 1/m, 10/s, 100/1h."),
		valueBytes.
			also("For example, 200, or {name: 12, document: 900}. By default, estimates assume 16."),
		put("clusters", "the number of clusters of the instance, which replicate the data", integer[int64](1, 8), func(e *Expect) *Value[int64] { return &e.Clusters }).
			also("Used to check max_versions, which each cluster applies separately."),
		put("lateness", "how long after its time an event may arrive, as in 2h", lengthForm, func(e *Expect) *Value[time.Duration] { return &e.Lateness }).
			also("By default, events are expected to arrive as they happen."),
		set("reads", "how often each query is called, as in {ByLocation: 50/s}", expectedReadsForm, func(e *Expect) *[]ExpectedRead { return &e.Reads }).
			also("Calls per period of a query, of Read or of Latest, of all callers together. {rate: 50/s, range: 1h} declares the time range, too; the default is a day."),
		put("skew", "how unevenly events are distributed among series", number(0, 3), func(e *Expect) *Value[float64] { return &e.Skew }).
			also("The exponent of a Zipf distribution: with 1, the second busiest series has half as many events as the busiest. The default, 0, distributes them evenly."),
		put("arrival", "when events arrive: steady, bursts or daily", word("arrival", Arrivals, map[string]string{"constant": Steady, "uniform": Steady, "burst": Bursts, "bursty": Bursts, "day": Daily, "wave": Daily, "diurnal": Daily}), func(e *Expect) *Value[string] { return &e.Arrival }).
			also("With bursts, the events of a minute arrive in its first ten seconds; with daily, the rate rises from 0 at night to twice the average. The default is steady."),
	},
}

// valueBytes is the key for the size of all values of variable length, or for a size for each
// of some values.
var valueBytes = func() key[Expect] {
	size := located(integer[int64](1, 1<<30))
	each := form[Width]{size.shape, func(w *walker, n *node) (Width, bool) {
		bytes, ok := size.read(w, n)
		return Width{Bytes: bytes}, ok
	}}
	sizes := named("a mapping from values to sizes", "write `value_bytes: 200`", filled("a name"), each, func(v *Width) *Value[string] { return &v.Name })
	return key[Expect]{
		name: "value_bytes", doc: "the average size of string, bytes and JSON values, in bytes, or that of single values, by name",
		shape: shape{kind: shapeEither, what: size.shape.what, either: []shape{size.shape, sizes.shape}},
		read: func(w *walker, n *node, e *Expect) {
			if n.kind == mapping {
				e.Widths, _ = sizes.read(w, n)
			} else {
				e.ValueBytes, _ = size.read(w, n)
			}
		},
	}
}()

// expectedReadBlock is the long form of an expected read.
var expectedReadBlock = block[ExpectedRead]{
	what:    "an expected read",
	example: "write `{rate: 50/s, range: 1h}`",
	keys: []key[ExpectedRead]{
		must(put("rate", "the number of calls per period, as in 50/s", rateForm, func(r *ExpectedRead) *Value[float64] { return &r.Rate })),
		put("range", "the time range that a call reads, as in 1h", lengthForm, func(r *ExpectedRead) *Value[time.Duration] { return &r.Range }).
			also("The default is 1d."),
	},
	elsewhere: map[string]string{"span": "write `range`", "last": "write `range`", "reads": "write `rate`"},
}

var expectedReadsForm = named("a mapping from queries to rates", "write `reads: {Read: 50/s}`", filled("a query"),
	short(rateForm.shape, func(w *walker, n *node) (ExpectedRead, bool) {
		rate, ok := located(rateForm).read(w, n)
		return ExpectedRead{Rate: rate}, ok
	}, record(expectedReadBlock)), func(r *ExpectedRead) *Value[string] { return &r.Method })

// Limits of a schema. Each layout of a table is compared with each other one, for each query: without limits, a file of
// 1 MiB would take minutes.
const (
	maxLayouts     = 1000 // tables of an instance of Bigtable
	maxComparisons = 20_000_000
)

// checkSize rejects schemas with too many tables and queries.
func checkSize(w *walker, s *Schema) {
	layouts, queries := 0, len(s.Queries)
	for _, t := range s.Tables {
		layouts += 1 + len(t.Before)
	}
	switch {
	case layouts > maxLayouts:
		w.errorf(s.Tables[0].Name.Pos, "the schema has %d tables and earlier layouts: an instance of Bigtable has at most %d tables", layouts, maxLayouts).
			Hint = "write one schema for each kind of event"
	case queries*layouts*layouts > maxComparisons:
		w.errorf(s.Queries[0].Name.Pos, "%d queries are too many for %d tables and earlier layouts: at most %d can be compared with all of them",
			queries, layouts, maxComparisons/(layouts*layouts)).Hint = "remove queries that differ only in their names, or split the schema"
	}
}

// checkSchema reports contradictions between the blocks of s.
func checkSchema(w *walker, s *Schema) {
	series := map[string]diag.Pos{}
	names := make([]string, 0, len(s.Series))
	for _, f := range s.Series {
		series[f.Name.V] = f.Name.Pos
		names = append(names, f.Name.V)
	}
	for _, f := range s.Fields {
		if pos, ok := series[f.Name.V]; ok {
			w.errorf(f.Name.Pos, "%s is already a series value, on line %d", quote(f.Name.V), pos.Line).Hint = "remove it; events contain their series values"
		}
	}
	checkSize(w, s)
	checkNumbers(w, s.Fields)
	checkQueryTables(w, s)
	checkQueryForms(w, s)
	checkWhere(w, s)
	checkExpect(w, s)
	if len(names) == 0 {
		return
	}
	for _, q := range s.Queries {
		for _, by := range q.By {
			if _, ok := series[by.V]; ok {
				continue
			}
			hint := queryTimeHint
			switch {
			case slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Name.V == by.V }):
				hint = "it is a field: write it under where, as in {by: [" + names[0] + "], where: {" + by.V + ": range}}, or make it a series value"
			case by.V != "time":
				hint = w.suggest(by.V, names, "the series values are ")
			}
			w.errorf(by.Pos, "%s is not a series value", quote(by.V)).Hint = hint
		}
	}
}

// checkQueryTables reports queries that name an unknown table.
func checkQueryTables(w *walker, s *Schema) {
	names := make([]string, len(s.Tables))
	for i, t := range s.Tables {
		names[i] = t.Name.V
	}
	for _, q := range s.Queries {
		if q.Table.IsSet() && len(names) > 0 && !slices.Contains(names, q.Table.V) {
			w.errorf(q.Table.Pos, "query %s names the unknown table %s", q.Name.V, quote(q.Table.V)).Hint = w.suggest(q.Table.V, names, "the tables are ")
		}
	}
}

// checkQueryForms reports queries of several values, a prefix or a range that do not give the
// value, and those of both a prefix and a range.
func checkQueryForms(w *walker, s *Schema) {
	for i := range s.Queries {
		q := &s.Queries[i]
		names := make([]string, len(q.By))
		for k, by := range q.By {
			names[k] = by.V
		}
		for _, form := range []struct {
			key   string
			value Value[string]
		}{{"many", q.Many}, {"prefix", q.Prefix}, {"range", q.Range}} {
			switch {
			case !form.value.IsSet():
			case len(names) == 0:
				w.errorf(form.value.Pos, "query %s has %s, but no by", q.Name.V, form.key).Hint = "write " + diag.Code("by: ["+form.value.V+"]") + ", with all series values that the query is given"
			case !slices.Contains(names, form.value.V):
				w.errorf(form.value.Pos, "query %s has %s: %s, which is not in its by", q.Name.V, form.key, quote(form.value.V)).Hint = w.suggest(form.value.V, names, "by has ")
			}
		}
		switch {
		case !q.Prefix.IsSet() || !q.Range.IsSet():
		case q.Prefix.V == q.Range.V:
			w.errorf(q.Range.Pos, "query %s has both a prefix and a range of %s, which is one range", q.Name.V, quote(q.Range.V)).Hint = "remove prefix: values with a prefix are a range, until the next prefix"
		default:
			w.errorf(q.Range.Pos, "query %s has prefix and range: rows sort by one value before the other, so Bigtable has no row range for parts of both", q.Name.V).Hint = "remove one of them, and skip the other events after reading them"
		}
	}
}

// checkWhere reports conditions on unknown fields.
func checkWhere(w *walker, s *Schema) {
	var fields, series []string
	for _, f := range s.Fields {
		fields = append(fields, f.Name.V)
	}
	for _, f := range s.Series {
		series = append(series, f.Name.V)
	}
	for i := range s.Queries {
		q := &s.Queries[i]
		for _, c := range q.Where {
			switch {
			case slices.Contains(fields, c.Field.V) || len(fields) == 0:
			case slices.Contains(series, c.Field.V):
				w.errorf(c.Field.Pos, "where of query %s names the series value %s", q.Name.V, quote(c.Field.V)).Hint = "list it in by, where many, prefix and range select several values"
			default:
				w.errorf(c.Field.Pos, "where of query %s names the unknown field %s", q.Name.V, quote(c.Field.V)).Hint = w.suggest(c.Field.V, fields, "the fields are ")
			}
		}
	}
}

// checkExpect reports sizes of unknown values, and reads that the reader does not have.
func checkExpect(w *walker, s *Schema) {
	var values []string
	for _, fields := range [][]Field{s.Series, s.Fields} {
		for _, f := range fields {
			values = append(values, f.Name.V)
		}
	}
	methods := []string{ReadMethod, LatestMethod}
	for _, q := range s.Queries {
		methods = append(methods, q.Name.V)
	}
	for _, v := range s.Expect.Widths {
		if !slices.Contains(values, v.Name.V) {
			w.errorf(v.Name.Pos, "value_bytes names the unknown value %s", quote(v.Name.V)).Hint = w.suggest(v.Name.V, values, "the values are ")
		}
	}
	for _, r := range s.Expect.Reads {
		if !slices.Contains(methods, r.Method.V) {
			w.errorf(r.Method.Pos, "reads names the unknown query %s", quote(r.Method.V)).Hint = w.suggest(r.Method.V, methods, "the queries are ")
		}
	}
}

// checkNumbers reports duplicate field numbers.
func checkNumbers(w *walker, fields []Field) {
	numbers := map[int]Value[string]{}
	for _, f := range fields {
		if !f.Number.IsSet() {
			continue
		}
		if other, ok := numbers[f.Number.V]; ok {
			w.errorf(f.Number.Pos, "the number %d is already used by %s", f.Number.V, quote(other.V)).Hint = "give every field a different number, and never change a number that was stored"
			continue
		}
		numbers[f.Number.V] = f.Name
	}
}
