package schema

import (
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
			name: "btgen", doc: "the version of the language: " + Version, shape: versionForm.shape,
			read: func(w *walker, n *node, _ *Schema) { versionForm.read(w, n) },
		}),
		must(put("package", "the name of the generated package", packageForm, func(s *Schema) *Value[string] { return &s.Package })),
		must(put("name", "the prefix of the generated names", exportedForm("a name"), func(s *Schema) *Value[string] { return &s.Name })),
		set("doc", "what an event is, for people", prose("a doc"), func(s *Schema) *string { return &s.Doc }),
		must(set("series", "what tells one series from another, in a fixed order",
			named("a mapping from names to types", "series: {location: string}", seriesNameForm, seriesForm, nameOfField),
			func(s *Schema) *[]Field { return &s.Series })),
		set("time", "how finely events are timed", record(timeBlock), func(s *Schema) *Time { return &s.Time }),
		must(set("fields", "what one event carries",
			named("a mapping from names to types", "fields: {pressure: int64}", fieldNameForm, fieldForm, nameOfField),
			func(s *Schema) *[]Field { return &s.Fields })),
		must(set("tables", "the tables that every event is written to",
			named("a mapping from table ids to tables", "tables: {readings: {pattern: …, key: …}}", filled("a table id"), record(tableBlock), func(t *Table) *Value[string] { return &t.Name }),
			func(s *Schema) *[]Table { return &s.Tables })),
		set("queries", "how the events are read; each becomes a method of the reader",
			named("a mapping from names to queries", "queries: {ByLocation: {by: [location]}}", exportedForm("a query name"), record(queryBlock), func(q *Query) *Value[string] { return &q.Name }),
			func(s *Schema) *[]Query { return &s.Queries }),
		set("expect", "the load that the tables are meant for", record(expectBlock), func(s *Schema) *Expect { return &s.Expect }),
	},
	elsewhere: map[string]string{
		"version":   "write btgen: " + Version,
		"precision": "write time: {precision: 1m}",
		"ttl":       "every table has its own: write it below tables",
		"pattern":   "every table has its own: write it below tables",
		"key":       "every table has its own: write it below tables",
		"bucket":    "every table has its own: write it below tables",
	},
}

var timeBlock = block[Time]{
	what:    "the block time",
	example: "write time: {precision: 1m}",
	begin:   func(_ diag.Pos, t *Time) { t.Precision.V = defaultPrecision },
	keys: []key[Time]{
		put("precision", "what the time of an event is truncated to; 1ms where it is not said", precisionForm, func(t *Time) *Value[time.Duration] { return &t.Precision }),
	},
}

var tableBlock = block[Table]{
	what:    "a table",
	example: "write {pattern: …, key: {segments: […]}}",
	keys: []key[Table]{
		set("doc", "what the table is for, for people", prose("a doc"), func(t *Table) *string { return &t.Doc }),
		must(put("pattern", "how events are laid out, one of "+oneOf(patterns), word("pattern", patterns, nil), func(t *Table) *Value[string] { return &t.Pattern })),
		must(inline("key", "how the row key is made, as in {delimiter: \"#\", segments: [location, bucket]}", keyBlock)),
		set("bucket", "how wide a row is in time", bucketForm, func(t *Table) *Bucket { return &t.Bucket }),
		put("family", "the column family", filled("a family"), func(t *Table) *Value[string] { return &t.Family }),
		set("families", "the column families, where there are several",
			named("a mapping from families to their ttl", "write families: {raw: {ttl: {max_age: 30d}}}", filled("a family"), record(familyBlock), func(f *Family) *Value[string] { return &f.Name }),
			func(t *Table) *[]Family { return &t.Families }),
		put("values", "how values are written: text is readable in cbt", word("form of values", valueForms, nil), func(t *Table) *Value[string] { return &t.Values }),
		set("blob", "the column of a serialized event", record(blobBlock), func(t *Table) *Blob { return &t.Blob }),
		set("ttl", "when data expires", pointer(ttlForm(false)), func(t *Table) **TTL { return &t.TTL }),
		set("splits", "row keys at which a new table is split into tablets", distinct(listOf("a list of row keys", "write splits: [g, n, t]", located(filled("a row key")))), func(t *Table) *[]Value[string] { return &t.Splits }),
		set("allow", "rules that do not hold here, each with the reason",
			named("a mapping from rules to reasons", `write allow: {K02: "slots are hashed upstream"}`, ruleForm, allowForm, func(a *Allow) *Value[string] { return &a.Rule }),
			func(t *Table) *[]Allow { return &t.Allow }),
	},
	elsewhere: map[string]string{
		"delimiter": `write key: {delimiter: "#", segments: […]}`,
		"segments":  "write key: {segments: […]}",
		"every":     "write bucket: {every: 1w}",
		"origin":    "write bucket: {every: 1w, origin: 2021-03-01}",
		"label":     "write bucket: {every: 1w, label: week%04d}",
		"max_age":   "write ttl: {max_age: 30d}",
		"format":    "write blob: {format: protobuf}",
		"column":    "write blob: {column: …}",
	},
}

var bucketBlock = block[Bucket]{
	what:    "a bucket",
	example: "write bucket: {every: 1w}",
	begin:   func(pos diag.Pos, b *Bucket) { b.Pos = pos },
	keys: []key[Bucket]{
		must(put("every", "how wide a bucket is, as in 1h, 1w, 1mo or 1y", spanForm, func(b *Bucket) *Value[Span] { return &b.Every })),
		put("origin", "the date that buckets are counted from, in UTC", originForm, func(b *Bucket) *Value[time.Time] { return &b.Origin }),
		put("label", "how a bucket is named in the key, as in week%04d", filled("a label"), func(b *Bucket) *Value[string] { return &b.Label }),
	},
}

var spanForm = parsed("a bucket width", "write every: 1w", parseSpan)

// bucketForm is a bucket, or its width alone.
var bucketForm = short(spanForm.shape, func(w *walker, n *node) (Bucket, bool) {
	every, ok := located(spanForm).read(w, n)
	return Bucket{Pos: n.pos, Every: every}, ok
}, record(bucketBlock))

var familyBlock = block[Family]{
	what:    "a family",
	example: "write {ttl: {max_age: 30d}}",
	keys: []key[Family]{
		set("ttl", "when the data of the family expires", pointer(ttlForm(false)), func(f *Family) **TTL { return &f.TTL }),
	},
	elsewhere: map[string]string{"max_age": "write ttl: {max_age: 30d}"},
}

var blobBlock = block[Blob]{
	what:    "a blob",
	example: "write blob: {column: measurements_blob, format: protobuf}",
	begin:   func(pos diag.Pos, b *Blob) { b.Pos = pos },
	keys: []key[Blob]{
		put("column", "the column that holds the event", filled("a column"), func(b *Blob) *Value[string] { return &b.Column }),
		put("format", "protobuf, or json for people", word("blob format", blobFormats, map[string]string{"proto": "protobuf", "proto3": "protobuf", "pb": "protobuf"}), func(b *Blob) *Value[string] { return &b.Format }),
	},
}

// allowForm is the reason why a rule does not hold.
var allowForm = form[Allow]{reasonForm.shape, func(w *walker, n *node) (Allow, bool) {
	why, ok := located(reasonForm).read(w, n)
	return Allow{Reason: why}, ok
}}

var reasonForm = reason("a reason", "slots are hashed upstream")

var queryBlock = block[Query]{
	what:    "a query",
	example: "write {by: [location]}",
	keys: []key[Query]{
		must(set("by", "the series values that the query gives", nameList("[location]"), func(q *Query) *[]Value[string] { return &q.By })),
		put("scan", "the reason why the query may read a whole table", reason("scan", "a nightly export"), func(q *Query) *Value[string] { return &q.Scan }),
		set("doc", "what the query is for, for people", prose("a doc"), func(q *Query) *string { return &q.Doc }),
	},
	elsewhere: map[string]string{
		"time":   queryTimeHint,
		"reason": `write scan: "the reason"`,
	},
}

const queryTimeHint = "every query takes a range of time: leave it out"

// nameList returns the form of a list of names, each at most once.
func nameList(example string) form[[]Value[string]] {
	return distinct(listOf("a list of names", "write "+example, located(filled("a name"))))
}

var expectBlock = block[Expect]{
	what:    "the block expect",
	example: "write expect: {series: 5800, rate: 1/m}",
	keys: []key[Expect]{
		put("series", "how many series there are", integer[int64](1, 1<<53), func(e *Expect) *Value[int64] { return &e.Series }),
		put("rate", "how many events a series has in a time, as in 1/m", parsed("a rate", "write rate: 1/m", parseRate), func(e *Expect) *Value[float64] { return &e.Rate }),
		put("lateness", "how long after its time an event may come, as in 2h", ageForm, func(e *Expect) *Value[time.Duration] { return &e.Lateness }),
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
