package schema

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
)

// defaultPrecision is how finely events are timed where the file does not say:
// the granularity of Bigtable's timestamps.
const defaultPrecision = time.Millisecond

// The words of the language that stand for a choice.
var (
	patterns    = []string{"bucket_new_columns", "bucket_new_cells", "single_serialized", "single_unserialized", "bucket_serialized", "bucket_offsets"}
	valueForms  = []string{"binary", "text"}
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
			also("Lower-case letters, digits and underscores, at most 64 characters. Schemas may share a package.")),
		must(put("name", "the prefix of the generated names", exportedForm("a name"), func(s *Schema) *Value[string] { return &s.Name }).
			also("Letters, digits and underscores, beginning with a capital letter: Balloon gives BalloonEvent, BalloonWriter and BalloonReader.")),
		set("doc", "what an event is, for people", prose("a doc"), func(s *Schema) *string { return &s.Doc }).
			also("For instance: One reading a minute from a weather balloon. It becomes a comment in the generated code."),
		must(set("series", "what tells one series from another, in a fixed order",
			named("a mapping from names to types", "write `series: {location: string}`", seriesNameForm, seriesForm, nameOfField),
			func(s *Schema) *[]Field { return &s.Series }).
			also("All of it must be in the row key of every table. For instance {location: string, balloon_id: int64}.")),
		set("time", "how finely events are timed", record(timeBlock), func(s *Schema) *Time { return &s.Time }).
			also("For instance {precision: 1m}. The default precision is 1ms."),
		must(set("fields", "what one event carries",
			named("a mapping from names to types", "write `fields: {pressure: int64}`", fieldNameForm, fieldForm, nameOfField),
			func(s *Schema) *[]Field { return &s.Fields }).
			also("For instance {pressure: {type: int64, unit: Pa}}.")),
		must(set("tables", "the tables that every event is written to",
			named("a mapping from table ids to tables", "write tables: {readings: {pattern: …, key: …}}", filled("a table id"), record(tableBlock), func(t *Table) *Value[string] { return &t.Name }),
			func(s *Schema) *[]Table { return &s.Tables }).
			also("By their ids in Bigtable. One for most schemas; more for reads that begin with other series values.")),
		set("queries", "how the events are read; each becomes a method of the reader",
			named("a mapping from names to queries", "write `queries: {ByLocation: {by: [location]}}`", exportedForm("a query name"), record(queryBlock), func(q *Query) *Value[string] { return &q.Name }),
			func(s *Schema) *[]Query { return &s.Queries }).
			also("For reads of more than a single series. For instance {ByLocation: {by: [location]}} gives ByLocation(ctx, location, from, to)."),
		set("expect", "the load that the tables are meant for", record(expectBlock), func(s *Schema) *Expect { return &s.Expect }).
			also("For checks of sizes and ages, and for estimates. For instance {series: 5800, rate: 1/m, lateness: 2h}."),
	},
	elsewhere: map[string]string{
		"version":   "write `btgen: " + Version + "`",
		"precision": "write `time: {precision: 1m}`",
		"ttl":       "every table has its own: write it below tables",
		"pattern":   "every table has its own: write it below tables",
		"key":       "every table has its own: write it below tables",
		"bucket":    "every table has its own: write it below tables",
	},
}

var timeBlock = block[Time]{
	what:    "the block time",
	example: "write `time: {precision: 1m}`",
	begin:   func(_ diag.Pos, t *Time) { t.Precision.V = defaultPrecision },
	keys: []key[Time]{
		put("precision", "what the time of an event is truncated to; 1ms where it is not said", precisionForm, func(t *Time) *Value[time.Duration] { return &t.Precision }).
			also("A duration that divides a day evenly, from 1ns to 1d: 1ms, 1s, 30s, 1m, 15m, 1h. In most patterns cells are timed in milliseconds, so that it is 1ms or more."),
	},
}

var tableBlock = block[Table]{
	what:    "a table",
	example: "write {pattern: …, key: {segments: […]}}",
	keys: []key[Table]{
		set("doc", "what the table is for, for people", prose("a doc"), func(t *Table) *string { return &t.Doc }).
			also("It becomes a comment in the generated code."),
		must(put("pattern", "how events are laid out, one of "+oneOf(patterns), word("pattern", patterns, nil), func(t *Table) *Value[string] { return &t.Pattern }).
			also("With a row per bucket: bucket_new_cells has a timestamped cell in each column for each event; bucket_serialized one cell with all fields; bucket_offsets a column named by the time within the bucket; bucket_new_columns a row for each field, and a column named by the value. With a row per event: single_unserialized has a column for each field; single_serialized one cell.")),
		must(inline("key", "how the row key is made, as in {delimiter: \"#\", segments: [location, bucket]}", keyBlock).
			also("The time must not come first. Without a delimiter the key is binary.")),
		set("bucket", "how wide a row is in time", bucketForm, func(t *Table) *Bucket { return &t.Bucket }).
			also("A width such as 1d, or {every, origin, label}. Needed in the bucket patterns; a good row has some ten thousand events, and 256 MB at most."),
		put("family", "the column family", filled("a family"), func(t *Table) *Value[string] { return &t.Family }).
			also("Keep it short, since it is stored with every cell. Needed, but with families or ttl classes."),
		set("families", "the column families, where there are several",
			named("a mapping from families to their ttl", "write `families: {raw: {ttl: {max_age: 30d}}}`", filled("a family"), record(familyBlock), func(f *Family) *Value[string] { return &f.Name }),
			func(t *Table) *[]Family { return &t.Families }).
			also("In place of family and ttl; each field then names its family. For instance {raw: {ttl: {max_age: 7d}}, stats: {ttl: {max_age: 90d}}}."),
		put("values", "how values are written: text is readable in cbt", word("form of values", valueForms, nil), func(t *Table) *Value[string] { return &t.Values }).
			also("The default is binary: big-endian int64 and IEEE 754."),
		set("blob", "the column of a serialized event", record(blobBlock), func(t *Table) *Blob { return &t.Blob }).
			also("For serialized patterns. For instance {column: e, format: protobuf}."),
		set("ttl", "when data expires", pointer(ttlForm(false)), func(t *Table) **TTL { return &t.TTL }).
			also("One of max_age, max_versions, any_of, all_of, one_second, default_expiration, classes and keep. For instance {max_age: 30d}; or {keep: forever}, which must be said."),
		set("splits", "row keys at which a new table is split into tablets", distinct(listOf("a list of row keys", "write `splits: [g, n, t]`", located(filled("a row key")))), func(t *Table) *[]Value[string] { return &t.Splits }).
			also("At most 100. Keys that begin with a hash are split by themselves. For instance [g, n, t]."),
		put("row_key_schema", "whether GoogleSQL reads the segments of the key as columns", boolean, func(t *Table) *Value[bool] { return &t.RowKeySchema }).
			also("A structured row key schema: with a delimiter all segments are text that sorts above it; in a binary key they are strings, and the time in text."),
		put("deletion_protection", "whether Bigtable refuses to delete the table", boolean, func(t *Table) *Value[bool] { return &t.DeletionProtection }).
			also("With true, setup protects the table, its families and its instance from deletion. Without the key, what a live table has is left alone."),
		set("allow", "rules that do not hold here, each with the reason", allowancesForm, func(t *Table) *[]Allow { return &t.Allow }).
			also(`For instance {K04: "labels as in the documentation"}.`),
	},
	elsewhere: map[string]string{
		"delimiter":       `write key: {delimiter: "#", segments: […]}`,
		"segments":        "write key: {segments: […]}",
		"every":           "write `bucket: {every: 1w}`",
		"origin":          "write `bucket: {every: 1w, origin: 2021-03-01}`",
		"label":           "write `bucket: {every: 1w, label: week%04d}`",
		"max_age":         "write `ttl: {max_age: 30d}`",
		"format":          "write `blob: {format: protobuf}`",
		"row_key":         "write `key`",
		"rowKey":          "write `key`",
		"rowkey":          "write `key`",
		"columnFamily":    "write `family`",
		"column_family":   "write `family`",
		"columnfamily":    "write `family`",
		"column_families": "write `families`",
		"columns":         "the columns are the fields; one can have a name of its own there: pressure: {type: int64, column: p}",
		"retention":       "write `ttl: {max_age: 30d}`",
		"gc":              "write `ttl: {max_age: 30d}`",
		"gc_rule":         "write `ttl: {max_age: 30d}`",
		"column":          "write blob: {column: …}",
	},
}

var bucketBlock = block[Bucket]{
	what:    "a bucket",
	example: "write `bucket: {every: 1w}`",
	begin:   func(pos diag.Pos, b *Bucket) { b.Pos = pos },
	keys: []key[Bucket]{
		must(put("every", "how wide a bucket is, as in 1h, 1w, 1mo or 1y", spanForm, func(b *Bucket) *Value[Span] { return &b.Every }).
			also("A duration from 1m, or months or years that divide the calendar: 1mo, 2mo, 3mo, 4mo, 6mo, 1y.")),
		put("origin", "the date that buckets are counted from, in UTC", originForm, func(b *Bucket) *Value[time.Time] { return &b.Origin }).
			also("A date or a time such as 2021-03-01 or 2021-03-01T12:00:00Z. By default days begin at midnight and weeks on Monday."),
		put("label", "how a bucket is named in the key, as in week%04d", filled("a label"), func(b *Bucket) *Value[string] { return &b.Label }).
			also("A time format for its start (the default), iso_week, or a number counted from the origin, beginning with 1. An unpadded number such as week%d does not sort."),
	},
}

var spanForm = parsed("a bucket width", "write `every: 1w`", parseSpan).like(func(s *shape) { s.syntax, s.most = []string{spanSyntax, notZero}, maxQuantity })

var rateForm = parsed("a rate", "write `rate: 1/m`", parseRate).like(func(s *shape) { s.syntax = []string{ratePattern, rateNotZero} })

// bucketForm is a bucket, or its width alone.
var bucketForm = short(spanForm.shape, func(w *walker, n *node) (Bucket, bool) {
	every, ok := located(spanForm).read(w, n)
	return Bucket{Pos: n.pos, Every: every}, ok
}, record(bucketBlock))

var familyBlock = block[Family]{
	what:    "a family",
	example: "write `{ttl: {max_age: 30d}}`",
	keys: []key[Family]{
		set("ttl", "when the data of the family expires", pointer(ttlForm(false)), func(f *Family) **TTL { return &f.TTL }).
			also("For instance {max_age: 30d}."),
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
		put("format", "protobuf, or json for people", word("blob format", blobFormats, map[string]string{"proto": "protobuf", "proto3": "protobuf", "pb": "protobuf"}), func(b *Blob) *Value[string] { return &b.Format }).
			also("Each field needs a number for protobuf, which is the default."),
	},
}

// allowancesForm is the rules that do not hold for a table or a query.
var allowancesForm = named("a mapping from rules to reasons", "write `allow: {K02: \"slots are hashed upstream\"}`", ruleForm, allowForm, func(a *Allow) *Value[string] { return &a.Rule })

// allowForm is the reason why a rule does not hold.
var allowForm = form[Allow]{reasonForm.shape, func(w *walker, n *node) (Allow, bool) {
	why, ok := located(reasonForm).read(w, n)
	return Allow{Reason: why}, ok
}}

var reasonForm = reason("a reason", "slots are hashed upstream")

var queryBlock = block[Query]{
	what:    "a query",
	example: "write `{by: [location]}`",
	keys: []key[Query]{
		set("by", "the series values that the query gives; none with a scan of all series", orEmpty(nameList("[location]")), func(q *Query) *[]Value[string] { return &q.By }).
			also("For instance [location]. Every query takes a range of time as well."),
		put("table", "the table that answers the query, by its id", filled("a table id"), func(q *Query) *Value[string] { return &q.Table }).
			also("For instance rollups. Without it, the table that does so with the least work."),
		put("scan", "the reason why the query may read a whole table", reason("scan", "a nightly export"), func(q *Query) *Value[string] { return &q.Scan }).
			also(`For instance "a nightly export". Without it such a query is refused.`),
		set("allow", "rules that do not hold for the query, each with the reason", allowancesForm, func(q *Query) *[]Allow { return &q.Allow }).
			also(`For instance {K18: "looked for by hand"}.`),
		set("doc", "what the query is for, for people", prose("a doc"), func(q *Query) *string { return &q.Doc }).
			also("It becomes a comment in the generated code."),
	},
	elsewhere: map[string]string{
		"time":   queryTimeHint,
		"reason": "write `scan: \"the reason\"`",
	},
}

const queryTimeHint = "every query takes a range of time: leave it out"

// nameList returns the form of a list of names, each at most once.
func nameList(example string) form[[]Value[string]] {
	return distinct(listOf("a list of names", "write `"+example+"`", located(filled("a name"))))
}

// orEmpty returns the form of a list that may be empty.
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
		put("series", "how many series there are", integer[int64](1, 1<<53), func(e *Expect) *Value[int64] { return &e.Series }),
		put("rate", "how many events a series has in a time, as in 1/m", rateForm, func(e *Expect) *Value[float64] { return &e.Rate }).
			also("A number of events and a time: 1/m, 10/s, 100/1h."),
		put("value_bytes", "how many bytes a string, bytes or JSON value has on average", integer[int64](1, 1<<30), func(e *Expect) *Value[int64] { return &e.ValueBytes }).
			also("16 is assumed where it is not said."),
		put("clusters", "how many clusters the instance has; data is replicated between several", integer[int64](1, 8), func(e *Expect) *Value[int64] { return &e.Clusters }).
			also("For the check of max_versions, which each cluster counts for itself."),
		put("lateness", "how long after its time an event may come, as in 2h", ageForm, func(e *Expect) *Value[time.Duration] { return &e.Lateness }).
			also("The default is that events come as they happen."),
	},
}

// checkSchema reports what is wrong between the blocks of s.
func checkSchema(w *walker, s *Schema) {
	series := map[string]diag.Pos{}
	names := make([]string, 0, len(s.Series))
	for _, f := range s.Series {
		series[f.Name.V] = f.Name.Pos
		names = append(names, f.Name.V)
	}
	for _, f := range s.Fields {
		if pos, ok := series[f.Name.V]; ok {
			w.errorf(f.Name.Pos, "%s is a series value already, in line %d", quote(f.Name.V), pos.Line).Hint = "an event has its series values: leave the field out, or name it differently"
		}
	}
	checkNumbers(w, s.Fields)
	checkQueryTables(w, s)
	if len(names) == 0 {
		return
	}
	for _, q := range s.Queries {
		for _, by := range q.By {
			if _, ok := series[by.V]; ok {
				continue
			}
			hint := queryTimeHint
			if by.V != "time" {
				hint = w.suggest(by.V, names, "the series values are ")
			}
			w.errorf(by.Pos, "%s is no series value", quote(by.V)).Hint = hint
		}
	}
}

// checkQueryTables reports queries that name a table that there is not.
func checkQueryTables(w *walker, s *Schema) {
	names := make([]string, len(s.Tables))
	for i, t := range s.Tables {
		names[i] = t.Name.V
	}
	for _, q := range s.Queries {
		if q.Table.IsSet() && len(names) > 0 && !slices.Contains(names, q.Table.V) {
			w.errorf(q.Table.Pos, "query %s names table %s, which the schema does not have", q.Name.V, quote(q.Table.V)).Hint = w.suggest(q.Table.V, names, "the tables are ")
		}
	}
}

// checkNumbers reports field numbers that two fields have.
func checkNumbers(w *walker, fields []Field) {
	numbers := map[int]Value[string]{}
	for _, f := range fields {
		if !f.Number.IsSet() {
			continue
		}
		if other, ok := numbers[f.Number.V]; ok {
			w.errorf(f.Number.Pos, "the number %d is that of %s already", f.Number.V, quote(other.V)).Hint = "number every field differently, and never change a number that was stored"
			continue
		}
		numbers[f.Number.V] = f.Name
	}
}
