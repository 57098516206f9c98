package schema

import (
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// defaultPrecision is the default of time.precision: the granularity of Bigtable's
// timestamps.
const defaultPrecision = time.Millisecond

// The valid words of some keys.
var (
	patterns    = wordsOf(codec.Patterns())
	valueForms  = []string{"binary", "text", "big_endian", "little_endian"}
	blobFormats = []string{"protobuf", "json"}
)

// versionKey returns the key with the version of the language.
func versionKey[T any]() key[T] { return constant[T]("btgen", versionForm, Version) }

var rootBlock = block[Schema]{
	what: "a schema",
	keys: []key[Schema]{
		versionKey[Schema](),
		must(put("package", packageForm, func(s *Schema) *Value[string] { return &s.Package })),
		must(put("name", exportedForm("a name"), func(s *Schema) *Value[string] { return &s.Name })),
		set("doc", prose("a doc"), func(s *Schema) *string { return &s.Doc }),
		must(set("series",
			named("a mapping from names to types", "write `series: {location: string}`", seriesNameForm, seriesForm, nameOfField).or(typedNames("series", "string")),
			func(s *Schema) *[]Field { return &s.Series }).proposed(seriesInKeys)),
		set("time", record(timeBlock), func(s *Schema) *Time { return &s.Time }),
		must(set("fields",
			named("a mapping from names to types", "write `fields: {pressure: int64}`", fieldNameForm, fieldForm, nameOfField).or(typedNames("fields", "float64")),
			func(s *Schema) *[]Field { return &s.Fields })),
		must(set("tables",
			named("a mapping from table IDs to tables", "write tables: {readings: {pattern: …, key: …}}", filled("a table ID"), record(tableBlock), func(t *Table) *Value[string] { return &t.Name }).unless(notIndented("pattern", "key", "family", "ttl")).or(namedItems),
			func(s *Schema) *[]Table { return &s.Tables })),
		set("queries",
			named("a mapping from names to queries", "write `queries: {ByLocation: {by: [location]}}`", exportedForm("a query name"), record(queryBlock), func(q *Query) *Value[string] { return &q.Name }).or(namedItems),
			func(s *Schema) *[]Query { return &s.Queries }),
		set("expect", record(expectBlock), func(s *Schema) *Expect { return &s.Expect }),
	},
}

var timeBlock = block[Time]{
	what:  "the block time",
	begin: func(_ diag.Pos, t *Time) { t.Precision.V = defaultPrecision },
	keys: []key[Time]{
		put("precision", precisionForm, func(t *Time) *Value[time.Duration] { return &t.Precision }),
	},
}

// layoutKeys are the keys of a table that may differ between its layouts.
var layoutKeys = []key[Table]{
	must(put("pattern", word("pattern", patterns), func(t *Table) *Value[string] { return &t.Pattern })),
	must(inline("key", keyBlock)),
	set("bucket", bucketForm, func(t *Table) *Bucket { return &t.Bucket }),
	put("family", filled("a family"), func(t *Table) *Value[string] { return &t.Family }),
	set("families",
		named("a mapping from families to their ttl", "write `families: {raw: {ttl: {max_age: 30d}}}`", filled("a family"), record(familyBlock), func(f *Family) *Value[string] { return &f.Name }),
		func(t *Table) *[]Family { return &t.Families }),
	put("values", word("value encoding", valueForms), func(t *Table) *Value[string] { return &t.Values }),
	set("blob", record(blobBlock), func(t *Table) *Blob { return &t.Blob }),
	set("ttl", pointer(ttlForm(false)), func(t *Table) **TTL { return &t.TTL }),
	set("rollup", rollupForm, func(t *Table) *Rollup { return &t.Rollup }),
}

var tableBlock = block[Table]{
	what: "a table",
	keys: slices.Concat([]key[Table]{
		set("doc", prose("a doc"), func(t *Table) *string { return &t.Doc }),
		put("draft", boolean, func(t *Table) *Value[bool] { return &t.Draft }),
	}, layoutKeys, []key[Table]{
		sinceKey,
		set("before",
			listOf("a list of layouts", "write `before: [{bucket: 1d}]`", record(periodBlock)), func(t *Table) *[]Table { return &t.Before }),
		set("splits", distinct(listOf("a list of row keys", "write `splits: [g, n, t]`", located(filled("a row key")))), func(t *Table) *[]Value[string] { return &t.Splits }),
		put("row_key_schema", boolean, func(t *Table) *Value[bool] { return &t.RowKeySchema }),
		put("deletion_protection", boolean, func(t *Table) *Value[bool] { return &t.DeletionProtection }),
		set("tier", tierForm, func(t *Table) *Tier { return &t.Tier }),
		set("schema_bundle", bundleForm, func(t *Table) *Bundle { return &t.Bundle }),
		set("materialized_views", materializedForm, func(t *Table) *[]MaterializedView { return &t.Views }),
		put("serves", boolean, func(t *Table) *Value[bool] { return &t.Serves }),
		set("allow", allowancesForm, func(t *Table) *[]Allow { return &t.Allow }),
	}),
}

var bucketBlock = block[Bucket]{
	what:  "a bucket",
	begin: func(pos diag.Pos, b *Bucket) { b.Pos = pos },
	keys: []key[Bucket]{
		must(put("every", spanForm, func(b *Bucket) *Value[Span] { return &b.Every })),
		put("origin", originForm, func(b *Bucket) *Value[time.Time] { return &b.Origin }),
		put("label", filled("a label"), func(b *Bucket) *Value[string] { return &b.Label }),
	},
}

var spanForm = parsed("a bucket width", "write `every: 1w`", parseSpan).like(func(s *shape) { s.syntax, s.json.MaxLength = []string{spanSyntax, noZeroWidth}, maxQuantity })

var rateForm = parsed("a rate", "write `rate: 1/m`", parseRate).like(func(s *shape) { s.syntax = []string{ratePattern, rateNotZero} })

// bucketForm is the form of a bucket, or of its width.
var bucketForm = short(bucketBlock, "every")

var familyBlock = block[Family]{
	what: "a family",
	keys: []key[Family]{
		set("ttl", pointer(ttlForm(false)), func(f *Family) **TTL { return &f.TTL }),
	},
}

var blobBlock = block[Blob]{
	what:  "a blob",
	begin: func(pos diag.Pos, b *Blob) { b.Pos = pos },
	keys: []key[Blob]{
		put("column", filled("a column"), func(b *Blob) *Value[string] { return &b.Column }),
		put("format", word("blob format", blobFormats), func(b *Blob) *Value[string] { return &b.Format }),
	},
}

// allowancesForm is the form of the rules that a table or a query may break.
var allowancesForm = named("a mapping from rules to reasons", "write `allow: {K02: \"slots are hashed upstream\"}`", ruleForm,
	as(reasonForm, func(text string, _ diag.Pos) Allow { return Allow{Reason: text} }, func(a Allow) string { return a.Reason }),
	func(a *Allow) *Value[string] { return &a.Rule })

var reasonForm = reason("a reason", "slots are hashed upstream")

var queryBlock = block[Query]{
	what: "a query",
	keys: []key[Query]{
		set("by", orEmpty(nameList("[location]")), func(q *Query) *[]Value[string] { return &q.By }),
		put("many", filled("a series value"), func(q *Query) *Value[string] { return &q.Many }),
		put("prefix", filled("a series value"), func(q *Query) *Value[string] { return &q.Prefix }),
		put("range", filled("a series value"), func(q *Query) *Value[string] { return &q.Range }),
		set("where", whereForm, func(q *Query) *[]Where { return &q.Where }),
		put("table", filled("a table ID"), func(q *Query) *Value[string] { return &q.Table }),
		put("scan", reason("scan", "a nightly export"), func(q *Query) *Value[string] { return &q.Scan }),
		put("series", boolean, func(q *Query) *Value[bool] { return &q.Series }),
		put("delete", boolean, func(q *Query) *Value[bool] { return &q.Delete }),
		set("allow", allowancesForm, func(q *Query) *[]Allow { return &q.Allow }),
		set("doc", prose("a doc"), func(q *Query) *string { return &q.Doc }),
	},
}

// whereForm is the form of the conditions of a query.
var whereForm = named("a mapping from fields to range or equal", "write `where: {magnitude: range}`", filled("a field"),
	in(whereWord, func(v *Where) *Value[string] { return &v.Form }), func(v *Where) *Value[string] { return &v.Field })

var whereWord = word("condition", WhereForms)

// nameList returns the form of a non-empty list of distinct names.
func nameList(example string) form[[]Value[string]] {
	return distinct(listOf("a list of names", "write `"+example+"`", located(filled("a name"))))
}

// orEmpty returns f with the empty list allowed.
func orEmpty[V any](f form[[]V]) form[[]V] {
	read := f.read
	f.read = func(w *walker, n *node) ([]V, bool) {
		if n.kind == list && len(n.items) == 0 {
			return nil, true
		}
		return read(w, n)
	}
	return f.like(func(s *shape) { s.json.MinItems = 0 })
}

var expectBlock = block[Expect]{
	what:  "the block expect",
	begin: func(pos diag.Pos, e *Expect) { e.Pos = pos },
	check: func(_ *walker, n *node, e *Expect) { e.SeriesPos = n.child("series").pos },
	keys: []key[Expect]{
		set("series", integer[int64](1, 1<<53), func(e *Expect) *int64 { return &e.Series }),
		set("rate", rateForm, func(e *Expect) *float64 { return &e.Rate }),
		valueBytes,
		set("clusters", integer[int64](1, 8), func(e *Expect) *int64 { return &e.Clusters }),
		set("lateness", lengthForm, func(e *Expect) *time.Duration { return &e.Lateness }),
		set("reads", expectedReadsForm, func(e *Expect) *[]ExpectedRead { return &e.Reads }),
		set("skew", number(0, 3), func(e *Expect) *float64 { return &e.Skew }),
		set("arrival", word("arrival", Arrivals), func(e *Expect) *string { return &e.Arrival }),
	},
}

// valueBytes is the key for the size of all values of variable length, or for a size for each
// of some values.
var valueBytes = func() key[Expect] {
	size := integer[int64](1, 1<<30)
	all := set("value_bytes", size, func(e *Expect) *int64 { return &e.ValueBytes })
	type width struct {
		name  Value[string]
		bytes Value[int64]
	}
	list := named("a mapping from values to sizes", "write `value_bytes: 200`", filled("a name"),
		in(size, func(v *width) *Value[int64] { return &v.bytes }), func(v *width) *Value[string] { return &v.name })
	byName := form[map[string]int64]{shape: list.shape, read: func(w *walker, n *node) (map[string]int64, bool) {
		all, ok := list.read(w, n)
		out := map[string]int64{}
		for _, v := range all {
			out[v.name.V] = v.bytes.V
		}
		return out, ok
	}}
	return all.or(set("value_bytes", byName, func(e *Expect) *map[string]int64 { return &e.Widths }))
}()

// expectedReadBlock is the long form of an expected read.
var expectedReadBlock = block[ExpectedRead]{
	what: "an expected read",
	keys: []key[ExpectedRead]{
		must(set("rate", rateForm, func(r *ExpectedRead) *float64 { return &r.Rate })),
		set("range", lengthForm, func(r *ExpectedRead) *time.Duration { return &r.Range }),
	},
}

var expectedReadsForm = named("a mapping from queries to rates", "write `reads: {Read: 50/s}`", filled("a query"), short(expectedReadBlock, "rate"),
	func(r *ExpectedRead) *Value[string] { return &r.Method })

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
		w.reject(s.Tables[0].Name.Pos, "too-many-tables", layouts, maxLayouts)
	case queries*layouts*layouts > maxComparisons:
		w.reject(s.Queries[0].Name.Pos, "too-many-queries", queries, layouts, maxComparisons/(layouts*layouts))
	}
}

// checkSchema reports contradictions between the blocks of s.
func checkSchema(w *walker, root *node, s *Schema) {
	series, fields := namesOf(s.Series, nameOfField), namesOf(s.Fields, nameOfField)
	tables := namesOf(s.Tables, func(t *Table) *Value[string] { return &t.Name })
	methods := append([]string{ReadMethod, LatestMethod}, namesOf(s.Queries, func(q *Query) *Value[string] { return &q.Name })...)
	for _, f := range s.Fields {
		if i := slices.Index(series, f.Name.V); i >= 0 {
			w.reject(f.Name.Pos, "series-as-field", quote(f.Name.V), s.Series[i].Name.Pos.Line)
		}
	}
	checkSize(w, s)
	checkNumbers(w, s.Fields)
	for i := range s.Queries {
		q := &s.Queries[i]
		w.known(q.Table, tables, "unknown-table", "the tables are ", q.Name.V)
		checkBy(w, q, series, fields)
		checkParts(w, q)
		for _, c := range q.Where {
			if slices.Contains(series, c.Field.V) && !slices.Contains(fields, c.Field.V) {
				w.reject(c.Field.Pos, "where-of-series", q.Name.V, quote(c.Field.V))
			} else {
				w.known(c.Field, fields, "unknown-field", "the fields are ", q.Name.V)
			}
		}
	}
	for _, e := range root.child("expect").child("value_bytes").entries {
		w.known(Value[string]{e.key.text, e.key.pos}, slices.Concat(series, fields), "unknown-value", "the values are ")
	}
	for _, r := range s.Expect.Reads {
		w.known(r.Method, methods, "unknown-query", "the queries are ")
	}
}

// wordsOf returns the words of the language for values.
func wordsOf[T fmt.Stringer](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.String()
	}
	return out
}

// namesOf returns the names of values.
func namesOf[T any](values []T, name func(*T) *Value[string]) []string {
	out := make([]string, len(values))
	for i := range values {
		out[i] = name(&values[i]).V
	}
	return out
}

// known reports a name that is set and not one of names, if there are any. The arguments of the message come
// before the name.
func (w *walker) known(name Value[string], names []string, message, all string, args ...any) {
	if name.IsSet() && len(names) > 0 && !slices.Contains(names, name.V) {
		w.reject(name.Pos, message, append(args, quote(name.V), w.suggest(name.V, names, all))...)
	}
}

// checkBy reports names in by that are no series values.
func checkBy(w *walker, q *Query, series, fields []string) {
	for _, by := range q.By {
		switch {
		case len(series) == 0 || slices.Contains(series, by.V):
		case slices.Contains(fields, by.V):
			w.reject(by.Pos, "not-a-series-value", quote(by.V), "it is a field: write it under where, as in {by: ["+series[0]+"], where: {"+by.V+": range}}, or make it a series value")
		case by.V == "time":
			w.reject(by.Pos, "not-a-series-value", quote(by.V), guideOf("a query").elsewhere["time"].hint)
		default:
			w.known(by, series, "not-a-series-value", "the series values are ")
		}
	}
}

// checkParts reports queries of several values, a prefix or a range that do not give the
// value, and those of both a prefix and a range.
func checkParts(w *walker, q *Query) {
	names := namesOf(q.By, func(v *Value[string]) *Value[string] { return v })
	for _, part := range []struct {
		key   string
		value Value[string]
	}{{"many", q.Many}, {"prefix", q.Prefix}, {"range", q.Range}} {
		if part.value.IsSet() && len(names) == 0 {
			w.reject(part.value.Pos, "no-by", q.Name.V, part.key, diag.Code("by: ["+part.value.V+"]"))
		}
		w.known(part.value, names, "not-in-by", "by has ", q.Name.V, part.key)
	}
	switch {
	case !q.Prefix.IsSet() || !q.Range.IsSet():
	case q.Prefix.V == q.Range.V:
		w.reject(q.Range.Pos, "prefix-and-range", q.Name.V, quote(q.Range.V))
	default:
		w.reject(q.Range.Pos, "two-parts", q.Name.V)
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
			w.reject(f.Number.Pos, "field-number-used", f.Number.V, quote(other.V))
			continue
		}
		numbers[f.Number.V] = f.Name
	}
}
