// Package model specifies what readers of generated code must return. It contains a
// small model of cells, garbage collection rules and the clock, written without the
// code under test. Tests draw random schemas, compile their code and run it against an
// in-memory server; reads must return what the model returns, whatever garbage
// collection has removed. The package is only for tests.
package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Schema is a schema with one table, as far as the model needs it, or with a second
// table that has the same key and keeps almost nothing.
type Schema struct {
	Name      string // of the package and the table
	Pattern   string
	Precision time.Duration
	Bucket    time.Duration // 0 for a row per event, or for Endless
	Endless   bool          // a series has one row with all its events
	Unsorted  bool          // the labels of buckets do not sort
	Values    string        // how values are encoded; empty for binary
	Delimiter string        // empty for a binary key
	Before    []string      // segments before the time, as in a schema
	TimeKey   string        // segment with the time or the bucket
	After     []string      // segments after the time
	Sequence  bool          // events have a sequence
	Short     bool          // there is a second table
	State     *TTL          // of a table with pattern latest beside them; nil if there is none
	Rollup    *Rollup       // of the table; nil if it has none
	Fields    []Field
	Families  []Family // with Classes, a single one for all classes
	Classes   []time.Duration
	// Earlier are the earlier layouts of the table, newest first. They have the same
	// Precision, Fields and Name. Each ends where the next one begins.
	Earlier []Schema
	Since   time.Time // of the first event with this layout; zero in the oldest
	Table   string    // suffix of the ID of the table, if it is an earlier layout in another one
}

// Rollup is how a table summarizes events.
type Rollup struct {
	Every  time.Duration
	Fields []string // nil for all
}

// yaml formats a rollup.
func (r *Rollup) yaml() string {
	fields := ""
	if r.Fields != nil {
		fields = fmt.Sprintf(", fields: [%s]", strings.Join(r.Fields, ", "))
	}
	return fmt.Sprintf("{every: %s, family: h, ttl: {keep: forever}%s}", short(r.Every), fields)
}

// layouts returns the layouts of the table, newest first.
func (s *Schema) layouts() []*Schema {
	out := []*Schema{s}
	for i := range s.Earlier {
		out = append(out, &s.Earlier[i])
	}
	return out
}

// Tables returns the IDs of all tables, each once.
func (s *Schema) Tables() []string {
	var out []string
	for _, l := range s.layouts() {
		if id := s.Name + l.Table; !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	if s.Short {
		out = append(out, s.Name+ShortTable)
	}
	return out
}

// Presence says whether a stored event may lack a field.
type Presence string

const (
	Required Presence = "required"
	Optional Presence = "optional"
	Default  Presence = "default" // always written; read as defaultValue if it has expired
)

// defaultValue is the default of fields that have one.
const defaultValue = 7

// Field is an int64 field named v0, v1 and so on.
type Field struct {
	Presence Presence
	Family   int
}

// Family is one column family.
type Family struct {
	Name      string
	TTL       TTL
	WrittenAt bool
}

// TTL is a time to live, as in a schema.
type TTL struct {
	Kind      string // max_age, max_versions, any_of, all_of, one_second, default_expiration or keep
	Age       time.Duration
	FromWrite bool
	Versions  int
	Rules     []TTL
}

// bucketed reports whether a row is a bucket.
func (s *Schema) bucketed() bool { return s.Bucket > 0 || s.Endless }

// bucketStart returns the start of the bucket that contains t.
func (s *Schema) bucketStart(t time.Time) time.Time {
	if s.Endless {
		return time.Unix(0, 0).UTC()
	}
	return t.UTC().Truncate(s.Bucket)
}

// bucketEnd returns the end of the bucket that contains t.
func (s *Schema) bucketEnd(t time.Time) time.Time {
	if s.Endless {
		return time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return t.UTC().Truncate(s.Bucket).Add(s.Bucket)
}

// points reports whether the columns are those of OpenTSDB.
func (s *Schema) points() bool { return s.Values == "opentsdb" }

// eventTimed reports whether cell timestamps are event times.
func (s *Schema) eventTimed() bool { return s.bucketed() && s.Pattern != "bucket_offsets" }

// serialized reports whether an event is one value with all fields.
func (s *Schema) serialized() bool {
	return strings.HasSuffix(s.Pattern, "_serialized") || s.Pattern == "bucket_offsets" && len(s.Fields) > 1
}

// newColumns reports whether values are column names.
func (s *Schema) newColumns() bool { return s.Pattern == "bucket_new_columns" }

// has reports whether any family has a TTL of the given kind.
func (s *Schema) has(kind string) bool {
	for _, f := range s.Families {
		if f.TTL.Kind == kind {
			return true
		}
	}
	return false
}

// YAML returns the schema.
func (s *Schema) YAML() string {
	var b strings.Builder
	s.write(&b)
	return b.String()
}

// write appends the schema.
func (s *Schema) write(b *strings.Builder) {
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	line("btgen: v1\npackage: %s\nname: Event\nseries: {host: string, shard: int64}\ntime: {precision: %s}\nfields:", s.Name, short(s.Precision))
	for i, f := range s.Fields {
		more := map[Presence]string{Optional: ", optional: true", Default: fmt.Sprintf(", default: %d", defaultValue)}[f.Presence]
		if len(s.Families) > 1 {
			more += ", family: " + s.Families[f.Family].Name
		}
		line("  v%d: {type: int64, number: %d%s}", i, i+1, more)
	}
	table := func(id string) {
		line("  %s:", id)
		for _, text := range s.layoutLines() {
			line("    %s", text)
		}
		var allowed []string
		if s.timeFirst() {
			allowed = append(allowed, "K01: to be tried")
		}
		if s.Endless && s.has("keep") && !strings.HasSuffix(id, ShortTable) {
			allowed = append(allowed, "K21: to be tried")
		}
		if s.Unsorted {
			allowed = append(allowed, "K04: to be tried")
		}
		if allowed != nil {
			line("    allow: {%s}", strings.Join(allowed, ", "))
		}
	}
	line("tables:")
	if s.Short {
		table(s.Name + ShortTable)
		line("    family: m\n    ttl: {max_age: 1s}")
	}
	table(s.Name)
	for _, text := range s.familyLines() {
		line("    %s", text)
	}
	if s.Rollup != nil {
		line("    rollup: %s", s.Rollup.yaml())
	}
	s.writeEarlier(line)
	if s.State != nil {
		line("  %s:\n    pattern: latest\n    key: %s\n    family: n\n    ttl: %s\n    allow: {C07: to be tried}", s.Name+StateTable, s.key(slices.Concat(s.Before, s.After)), s.State.yaml())
	}
	for i, q := range s.Queries() {
		if i == 0 {
			line("queries:")
		}
		line("  %s: %s", q.Name, q.yaml())
	}
}

// layoutLines formats the pattern, the key and the encoding of a layout.
func (s *Schema) layoutLines() []string {
	segments := slices.Concat(s.Before, []string{s.TimeKey}, s.After)
	if s.Endless {
		segments = s.Before
	}
	out := []string{"pattern: " + s.Pattern, "key: " + s.key(segments)}
	switch {
	case s.Endless:
		out = append(out, "bucket: none")
	case s.Unsorted:
		out = append(out, fmt.Sprintf(`bucket: {every: %s, origin: "%s", label: "n%%d"}`, short(s.Bucket), s.labelOrigin().Format(time.RFC3339)))
	case s.bucketed():
		out = append(out, "bucket: "+short(s.Bucket))
	}
	if s.Values != "" && !s.serialized() {
		out = append(out, "values: "+s.Values)
	}
	return out
}

// key formats a row key.
func (s *Schema) key(segments []string) string {
	segments = slices.Clone(segments)
	if last := &segments[len(segments)-1]; !s.Endless || strings.Contains(*last, "const") { // nothing follows it
		*last = strings.Replace(*last, ", joined: true", "", 1)
	}
	return fmt.Sprintf("{%ssegments: [%s]}", s.delimiter(), strings.Join(segments, ", "))
}

// StateTable is the suffix of the name of a table with pattern latest.
const StateTable = "_now"

// familyLines formats the families of a layout.
func (s *Schema) familyLines() []string {
	switch {
	case s.Classes != nil:
		var classes []string
		for i, age := range s.Classes {
			classes = append(classes, fmt.Sprintf("c%d: %s", i+1, short(age)))
		}
		return []string{"family: " + s.Families[0].Name, fmt.Sprintf("ttl: {classes: {%s}}", strings.Join(classes, ", "))}
	case len(s.Families) == 1:
		return []string{"family: " + s.Families[0].Name, "ttl: " + s.Families[0].ttl()}
	}
	out := []string{"families:"}
	for i := range s.Families {
		out = append(out, fmt.Sprintf("  %s: {ttl: %s}", s.Families[i].Name, s.Families[i].ttl()))
	}
	return out
}

// writeEarlier writes the earlier layouts.
func (s *Schema) writeEarlier(line func(format string, args ...any)) {
	for i := range s.Earlier {
		if i == 0 {
			line("    since: %s\n    before:", s.Since.Format(time.RFC3339))
		}
		l := &s.Earlier[i]
		lines := l.layoutLines()
		if l.Values == "" && !l.serialized() {
			lines = append(lines, "values: binary")
		}
		lines = append(lines, l.familyLines()...)
		if !l.Since.IsZero() {
			lines = append(lines, "since: "+l.Since.Format(time.RFC3339))
		}
		if above := s.layouts()[i]; l.Table != above.Table {
			lines = append(lines, "table: "+s.Name+l.Table)
		}
		for k, text := range lines {
			line("      %s%s", [...]string{"- ", "  "}[min(k, 1)], text)
		}
	}
}

// labelOrigin returns the start of the first bucket whose label does not sort. The labels of the
// buckets around noon of March 5, 2026, when most cases begin, have four and five digits.
func (s *Schema) labelOrigin() time.Time {
	return s.bucketStart(time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)).Add(-10_000 * s.Bucket)
}

// delimiter formats the delimiter.
func (s *Schema) delimiter() string {
	if s.Delimiter == "" {
		return ""
	}
	return fmt.Sprintf("delimiter: %q, ", s.Delimiter)
}

// ttl formats the time to live of a family.
func (f *Family) ttl() string {
	text := f.TTL.yaml()
	if f.WrittenAt {
		text = strings.TrimSuffix(text, "}") + ", written_at: w_" + f.Name + "}"
	}
	return text
}

// yaml formats a time to live.
func (t TTL) yaml() string {
	switch t.Kind {
	case "max_age":
		return fmt.Sprintf("{max_age: %s%s}", short(t.Age), t.from())
	case "max_versions":
		return fmt.Sprintf("{max_versions: %d%s}", t.Versions, t.from())
	case "any_of", "all_of":
		var rules []string
		for _, r := range t.Rules {
			rules = append(rules, r.yaml())
		}
		return fmt.Sprintf("{%s: [%s]}", t.Kind, strings.Join(rules, ", "))
	case "one_second":
		return "{one_second: {}}"
	case "default_expiration":
		return fmt.Sprintf("{default_expiration: %s}", short(t.Age))
	}
	return "{keep: forever" + t.from() + "}"
}

// from formats what the timestamps of cells are.
func (t TTL) from() string {
	if t.FromWrite {
		return ", from: write"
	}
	return ""
}

// short formats a duration as in a schema.
func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	}
	return fmt.Sprintf("%dus", d/time.Microsecond)
}
