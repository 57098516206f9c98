package evolve_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
)

// drawn is a schema that edits change. It is rendered as YAML, without using package layout.
type drawn struct {
	name           string // of the schema
	precision      time.Duration
	series, fields []drawnField
	tables         []drawnTable
	queries        []drawnQuery // the name of each is its index
	doc            int
}

// drawnQuery is a query.
type drawnQuery struct {
	by    string // a series value; empty for all series
	table string // empty if package layout chooses
}

// drawnField is a field or a series value. Its ID identifies its stored values and does not
// change when the field is renamed.
type drawnField struct {
	id       int
	name     string
	column   string // empty if it is the name
	typ      string
	of       []drawnValue // of an enum
	optional bool
	fallback string // the default in YAML; empty for none
	text     bool
	number   int
	family   string     // in tables with several families; another one stands for the first
	was      []drawnWas // newest first
}

// drawnWas is a place in which older events have a field.
type drawnWas struct {
	column string // a column, or a name in JSON
	number int    // in protobuf; 0 if it is that of the field
	typ    string
	of     []drawnValue
	values string // "text" or "binary"; empty if it is that of the field
}

// stored returns the column of the field.
func (f *drawnField) stored() string {
	if f.column != "" {
		return f.column
	}
	return f.name
}

// drawnValue is a value of an enum.
type drawnValue struct {
	name   string
	number int
}

// drawnTable is a table with its layouts, newest first.
type drawnTable struct {
	idle    bool // serves: false
	layouts []drawnLayout
}

// drawnLayout is a layout of a table.
type drawnLayout struct {
	table              string
	since              time.Time // zero in the oldest
	pattern, delimiter string
	segments           []drawnSegment // without the time or the bucket, which is last
	timeFirst          bool           // the bucket or the time is before the last segment
	bucket, timeKey    string
	family             string        // of the table, or the prefix of those of TTL classes; empty for no prefix
	ttl                string        // a key of ages or of classes
	families           []drawnFamily // in place of family and ttl
	text               bool
	format             string // of serialized events
	column             string // of serialized events
	rollup             drawnRollup
}

// drawnFamily is a column family with its time to live.
type drawnFamily struct{ name, ttl string }

// drawnSegment is a constant, a salt of the first series value, or a series value.
type drawnSegment struct {
	constant     string
	salt, series int
	form         string
}

// The patterns by what they have.
func (l *drawnLayout) bucketed() bool   { return strings.HasPrefix(l.pattern, "bucket_") }
func (l *drawnLayout) serialized() bool { return strings.HasSuffix(l.pattern, "_serialized") }
func (l *drawnLayout) metrics() bool    { return l.pattern == "bucket_new_columns" }
func (l *drawnLayout) offsets() bool    { return l.pattern == "bucket_offsets" }

// clone returns a copy that shares nothing.
func (s *drawn) clone() *drawn {
	out := *s
	out.series, out.fields = cloneFields(s.series), cloneFields(s.fields)
	out.tables = slices.Clone(s.tables)
	for i := range out.tables {
		out.tables[i].layouts = slices.Clone(s.tables[i].layouts)
		for k := range out.tables[i].layouts {
			l := &out.tables[i].layouts[k]
			l.segments, l.families = slices.Clone(l.segments), slices.Clone(l.families)
		}
	}
	out.queries = slices.Clone(s.queries)
	return &out
}

func cloneFields(fields []drawnField) []drawnField {
	out := slices.Clone(fields)
	for i := range out {
		out[i].of, out[i].was = slices.Clone(out[i].of), slices.Clone(out[i].was)
	}
	return out
}

// YAML returns the schema.
func (s *drawn) YAML() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("btgen: v1\npackage: app\nname: %s\ndoc: Version %d.\ntime: {precision: %s}\nseries:", s.name, s.doc, schema.FormatDuration(s.precision))
	for i := range s.series {
		line("  %s: {%s}", s.series[i].name, s.series[i].yaml())
	}
	line("fields:")
	for i := range s.fields {
		f := &s.fields[i]
		text := f.yaml()
		if f.number > 0 {
			text += fmt.Sprintf(", number: %d", f.number)
		}
		if family := s.familyOf(f); family != "" {
			text += ", family: " + family
		}
		line("  %s: {%s}", f.name, text)
	}
	line("tables:")
	for i := range s.tables {
		t := &s.tables[i]
		line("  %s:", t.layouts[0].table)
		if t.idle {
			line("    serves: false")
		}
		for k := range t.layouts {
			indent := "    "
			switch {
			case k == 1:
				line("    before:")
				fallthrough
			case k > 1:
				indent = "      - "
			}
			for _, key := range s.layoutKeys(t, k) {
				line("%s%s", indent, key)
				if k > 0 {
					indent = "        "
				}
			}
		}
	}
	if len(s.queries) > 0 {
		line("queries:")
	}
	for i, q := range s.queries {
		table := ""
		if q.table != "" {
			table = ", table: " + q.table
		}
		line("  Q%d: {by: [%s]%s, scan: to be tried}", i, q.by, table)
	}
	return []byte(b.String())
}

// yaml returns the keys of a field, without its number.
func (f *drawnField) yaml() string {
	text := "type: " + f.typ + ofText(f.of)
	if f.column != "" {
		text += ", column: " + f.column
	}
	if f.optional {
		text += ", optional: true"
	}
	if f.fallback != "" {
		text += ", default: " + f.fallback
	}
	if f.text {
		text += ", values: text"
	}
	var was []string
	for i := range f.was {
		was = append(was, "{"+f.was[i].yaml(f)+"}")
	}
	if was != nil {
		text += ", was: [" + strings.Join(was, ", ") + "]"
	}
	return text
}

// ofText returns the values of an enum in YAML, after a comma; empty for other types.
func ofText(of []drawnValue) string {
	if of == nil {
		return ""
	}
	var values []string
	for _, v := range of {
		values = append(values, fmt.Sprintf("%s: %d", v.name, v.number))
	}
	return ", of: {" + strings.Join(values, ", ") + "}"
}

// yaml returns the keys of an older place of a field.
func (w *drawnWas) yaml(f *drawnField) string {
	var keys []string
	if w.column != "" {
		keys = append(keys, "column: "+w.column)
	}
	if w.number > 0 {
		keys = append(keys, fmt.Sprint("number: ", w.number))
	}
	if w.typ != f.typ {
		keys = append(keys, "type: "+w.typ+ofText(w.of))
	}
	if w.values != "" {
		keys = append(keys, "values: "+w.values)
	}
	return strings.Join(keys, ", ")
}

// stores reports how the layouts of a schema store fields.
func (s *drawn) stores() (columns, json, protobuf bool) {
	for _, t := range s.tables {
		for _, l := range t.layouts {
			whole := l.serialized() || l.offsets() && len(s.fields) > 1
			columns = columns || !whole && !l.offsets()
			json = json || whole && l.format == "json"
			protobuf = protobuf || whole && l.format == "protobuf"
		}
	}
	return columns, json, protobuf
}

// layoutKeys returns the keys of the k-th layout of a table: for an older one, the keys that
// differ from the layout above it.
func (s *drawn) layoutKeys(t *drawnTable, k int) []string {
	l := &t.layouts[k]
	var above *drawnLayout
	if k > 0 {
		above = &t.layouts[k-1]
	}
	var keys []string
	add := func(differs bool, format string, args ...any) {
		if above == nil || differs {
			keys = append(keys, fmt.Sprintf(format, args...))
		}
	}
	patterns := above != nil && l.pattern != above.pattern
	add(patterns, "pattern: %s", l.pattern)
	if above != nil && l.table != above.table {
		keys = append(keys, "table: "+l.table)
	}
	if !l.since.IsZero() {
		keys = append(keys, "since: "+schema.FormatInstant(l.since))
	}
	add(above != nil && s.keyText(l) != s.keyText(above), "key: %s", s.keyText(l))
	if l.bucketed() {
		add(above != nil && (l.bucket != above.bucket || !above.bucketed()), "bucket: %s", l.bucket)
	}
	several := above != nil && !slices.Equal(l.families, above.families)
	if l.families != nil {
		var families []string
		for _, f := range l.families {
			families = append(families, fmt.Sprintf("%s: {ttl: %s}", f.name, f.ttl))
		}
		add(several, "families: {%s}", strings.Join(families, ", "))
	} else {
		if l.family != "" {
			add(above != nil && l.family != above.family || several, "family: %s", l.family)
		}
		add(above != nil && l.ttl != above.ttl || several, "ttl: %s", l.ttl)
	}
	if l.serialized() || l.offsets() && len(s.fields) > 1 {
		column := "column: " + l.column + ", "
		if l.offsets() {
			column = ""
		}
		add(patterns || above != nil && (l.format != above.format || l.column != above.column), "blob: {%sformat: %s}", column, l.format)
	} else if above == nil && l.text || above != nil && (l.text != above.text || patterns) {
		keys = append(keys, "values: "+map[bool]string{true: "text", false: "binary"}[l.text])
	}
	if above == nil && l.rollup.family != "" || above != nil && s.rollupText(l.rollup) != s.rollupText(above.rollup) {
		keys = append(keys, "rollup: "+s.rollupText(l.rollup))
	}
	if above != nil && len(keys) == 0 { // an entry must have a key
		keys = append(keys, "pattern: "+l.pattern)
	}
	return keys
}

// expressible reports whether the language can say what the layouts are: an earlier layout has
// the family of the next one if it has none.
func (s *drawn) expressible() bool {
	return !slices.ContainsFunc(s.tables, func(t drawnTable) bool {
		for i := range t.layouts[1:] {
			if l, above := &t.layouts[i+1], &t.layouts[i]; l.families == nil && l.family == "" && (above.family != "" || above.families != nil) {
				return true
			}
		}
		return false
	})
}

// familyOf returns the family of a field in the tables with several; empty if there are none.
func (s *drawn) familyOf(f *drawnField) string {
	family := ""
	for _, t := range s.tables {
		for _, l := range t.layouts {
			for _, of := range l.families {
				if of.name == f.family {
					return of.name
				} else if family == "" {
					family = of.name
				}
			}
		}
	}
	return family
}

// rule says how long a family keeps events, or those of a TTL class.
type rule struct {
	family, class string // class is empty for all events
	ttl           string // a key of ages
}

// rules returns how long the families of a layout keep events.
func (l *drawnLayout) rules() []rule {
	if l.families != nil {
		var out []rule
		for _, f := range l.families {
			out = append(out, rule{f.name, "", f.ttl})
		}
		return out
	}
	if classes[l.ttl] == nil {
		return []rule{{l.family, "", l.ttl}}
	}
	var out []rule
	for _, c := range classes[l.ttl] {
		c.family = c.class
		if l.family != "" {
			c.family = l.family + "_" + c.class
		}
		out = append(out, c)
	}
	return out
}

// class returns the class of an event that a version stores: the given one if there is such a
// class.
func (s *drawn) class(r *random, given string) string {
	for _, t := range s.tables {
		if of := classes[t.layouts[0].ttl]; of != nil && t.layouts[0].families == nil {
			if slices.ContainsFunc(of, func(c rule) bool { return c.class == given }) {
				return given
			}
			return one(r, of...).class
		}
	}
	return ""
}

// keyText returns a row key in YAML.
func (s *drawn) keyText(l *drawnLayout) string {
	var segments []string
	for _, g := range l.segments {
		segments = append(segments, s.segmentText(g))
	}
	last := "bucket"
	if !l.bucketed() {
		last = "time"
		if l.timeKey != "" {
			last = "{time: " + l.timeKey + "}"
		}
	}
	if l.metrics() {
		segments = append(segments, "metric")
	}
	if l.timeFirst {
		segments = slices.Insert(segments, len(segments)-1, last)
	} else {
		segments = append(segments, last)
	}
	return fmt.Sprintf("{delimiter: %q, segments: [%s]}", l.delimiter, strings.Join(segments, ", "))
}

// segmentText returns a segment in YAML.
func (s *drawn) segmentText(g drawnSegment) string {
	switch {
	case g.constant != "":
		return "{const: " + g.constant + "}"
	case g.salt > 0:
		return fmt.Sprintf("{hash: [%s], buckets: %d}", s.series[0].name, g.salt)
	case g.form != "":
		return fmt.Sprintf("{name: %s, %s}", s.series[g.series].name, g.form)
	}
	return s.series[g.series].name
}

// random draws the parts of schemas and edits.
type random struct {
	*rand.Rand
	next int // the next unused ID, name or number
}

// one returns one of several.
func one[T any](r *random, of ...T) T { return of[r.IntN(len(of))] }

// chance returns true once in n times.
func (r *random) chance(n int) bool { return r.IntN(n) == 0 }

// fresh returns an unused number.
func (r *random) fresh() int { r.next++; return r.next }

// schema draws a schema.
func (r *random) schema() *drawn {
	s := &drawn{name: "Event", precision: one(r, time.Millisecond, time.Second, time.Second, time.Minute)}
	s.series = append(s.series, drawnField{id: r.fresh(), name: "site", typ: one(r, "string", "string", "string", "bytes")})
	for i := range 1 + r.IntN(2) {
		f := drawnField{id: r.fresh(), name: fmt.Sprint("unit", i), typ: one(r, "int64", "int32", "uint32", "uint64", "string", "enum", "bool", "uuid")}
		if f.typ == "enum" {
			f.of = r.enum()
		}
		s.series = append(s.series, f)
	}
	for range 1 + r.IntN(4) {
		s.fields = append(s.fields, r.field())
	}
	for range one(r, 1, 1, 2, 2, 2, 3) {
		s.tables = append(s.tables, drawnTable{layouts: []drawnLayout{r.layout(s)}})
	}
	if n := len(s.tables); n > 1 && r.chance(2) { // tables that may serve each other's reads
		t := &s.tables[n-1].layouts[0]
		*t = s.tables[0].layouts[0]
		t.segments = slices.Clone(t.segments)
		t.table, t.ttl = one(r, tableIDs...), one(r, ttls...)
		r.Shuffle(len(t.segments), func(i, j int) { t.segments[i], t.segments[j] = t.segments[j], t.segments[i] })
	}
	s.queries = append(s.queries, drawnQuery{})
	if r.chance(2) {
		s.queries = append(s.queries, drawnQuery{by: "site"})
	}
	return s
}

// types are the types of fields.
var types = []string{"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "float32", "float64", "timestamp", "duration", "uuid", "enum", "json"}

// field draws a new field.
func (r *random) field() drawnField {
	id := r.fresh()
	f := drawnField{id: id, name: fmt.Sprint("v", id), number: id, typ: one(r, types...)}
	if r.chance(3) {
		f.typ = one(r, "int64", "int32", "uint32", "string")
	}
	if f.typ == "enum" {
		f.of = r.enum()
	}
	f.text = r.chance(5)
	switch r.IntN(4) {
	case 0, 1:
		f.optional = true
	case 2:
		f.fallback = r.fallback(&f)
	}
	return f
}

// enum draws the values of an enum.
func (r *random) enum() []drawnValue {
	values := []drawnValue{{"low", 0}, {"mid", 1}, {"high", 2}, {"top", 7}}
	return values[:2+r.IntN(3)]
}

// fallback draws a default.
func (r *random) fallback(f *drawnField) string {
	switch f.typ {
	case "enum":
		return one(r, f.of...).name
	case "json":
		return one(r, "'null'", `'{"a": 1}'`)
	}
	return one(r, map[string][]string{
		"string": {`""`, `"x"`}, "bytes": {`"AP8="`, `""`}, "bool": {"true", "false"}, "int32": {"0", "-5"}, "int64": {"0", "-5"},
		"uint32": {"0", "5"}, "uint64": {"0", "5"}, "float32": {"0", "0.5"}, "float64": {"0", "-1.5"},
		"timestamp": {`"2021-03-05T12:00:00Z"`}, "duration": {"0s", "90m"}, "uuid": {"f81d4fae-7dec-41d0-a765-00a0c91e6bf6"},
	}[f.typ]...)
}

// The parts of layouts.
var (
	patterns   = []string{"bucket_new_cells", "bucket_new_cells", "bucket_serialized", "single_unserialized", "single_serialized", "bucket_offsets", "bucket_new_columns"}
	buckets    = []string{"1h", "6h", "1d", "1d", "1w", `{every: 1d, label: "20060102"}`, `{every: 6h, label: "2006-01-02T15"}`, `{every: 1w, label: iso_week}`, `{every: 1w, origin: 2021-01-04, label: "week%d"}`, `{every: 1d, origin: 2021-01-04, label: "d%05d"}`, "{every: 1d, label: unix_ms}", "1mo"}
	timeKeys   = []string{"", "", "unix_us", "unix_ms", `"2006-01-02T15:04:05.000"`, "unix_ms, reverse: true", "unix_us, reverse: true", "unix_ns"}
	ttls       = []string{"{keep: forever}", "{max_age: 400d}", "{max_age: 800d}", "{max_age: 30d}", "{max_age: 60d}"}
	classTTLs  = []string{"{classes: {f: 60d}}", "{classes: {f: 60d, long: 400d}}", "{classes: {f: 30d, long: 800d}}", "{classes: {f: 60d, long: 400d, rare: 800d}}", "{classes: {g: 30d, h: 60d}}"}
	delimiters = []string{"#", "#", "#", "|", "##"}
	families   = []string{"f", "f", "f", "g", "h"}
	tableIDs   = []string{"t0", "t1", "t2", "t3"}
	allTables  = []string{"t0", "t1", "t2", "t3", "u0", "u1", "u2", "u3"} // those of the other schema, too
	constants  = []string{"a", "b", "2026-03-05"}
)

// ages are the ages of ttls; zero if events are kept forever.
var ages = map[string]time.Duration{"{max_age: 30d}": 30 * 24 * time.Hour, "{max_age: 60d}": 60 * 24 * time.Hour, "{max_age: 400d}": 400 * 24 * time.Hour, "{max_age: 800d}": 800 * 24 * time.Hour, "{keep: forever}": 0}

// classes are the TTL classes of ttls.
var classes = func() map[string][]rule {
	out := map[string][]rule{}
	for _, ttl := range classTTLs {
		for c := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(ttl, "{classes: {"), "}}"), ", ") {
			name, age, _ := strings.Cut(c, ": ")
			out[ttl] = append(out[ttl], rule{class: name, ttl: "{max_age: " + age + "}"})
		}
	}
	return out
}()

// forms returns the possible encodings of a type in a key.
func forms(typ string) []string {
	number := []string{"", "", "encoding: decimal, pad: 20", "encoding: hex, pad: 16", "encoding: decimal, pad: 20, reverse: true", "encoding: binary"}
	return map[string][]string{
		"string": {"", "", "encoding: text, escape: true", "encoding: hex", "encoding: base32hex"}, "bytes": {"", "encoding: base64url", "encoding: hex"}, "bool": {"", "encoding: binary"},
		"int32": number, "int64": number, "uint32": number, "uint64": number, "uuid": {"", "encoding: binary"}, "enum": {"", "encoding: decimal, pad: 3"},
	}[typ]
}

// layout draws a layout of one table.
func (r *random) layout(s *drawn) drawnLayout {
	l := drawnLayout{
		table: one(r, tableIDs...), pattern: one(r, patterns...), delimiter: one(r, delimiters...), bucket: one(r, buckets...), timeKey: one(r, timeKeys...),
		family: one(r, families...), ttl: one(r, ttls...), text: r.chance(4), format: one(r, "protobuf", "protobuf", "json"), column: "e",
	}
	if slices.ContainsFunc(s.tables, func(t drawnTable) bool { return t.layouts[0].table == l.table }) {
		l.table = one(r, tableIDs...) // or the schema is invalid
	}
	for i := range s.series {
		l.segments = append(l.segments, drawnSegment{series: i, form: one(r, forms(s.series[i].typ)...)})
	}
	if r.chance(4) {
		r.Shuffle(len(l.segments), func(i, j int) { l.segments[i], l.segments[j] = l.segments[j], l.segments[i] })
	}
	l.timeFirst = r.chance(8)
	if r.chance(6) {
		l.segments = slices.Insert(l.segments, 0, drawnSegment{salt: one(r, 4, 16)})
	} else if r.chance(6) {
		l.segments = slices.Insert(l.segments, 0, drawnSegment{constant: one(r, constants...)})
	}
	switch {
	case r.chance(6):
		l.ttl = one(r, classTTLs...)
		if r.chance(3) {
			l.family = ""
		}
	case r.chance(8) && !l.serialized() && !l.offsets():
		l.families = []drawnFamily{{"f", l.ttl}, {"g", one(r, l.ttl, one(r, ttls...))}}
	}
	if r.chance(2) {
		l.rollup = r.rollup(&l, r.chance(3))
	}
	return l
}
