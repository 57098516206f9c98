// Package model says what a reader of generated code must return: a small model
// of cells, rules of garbage collection and the clock, written without the code
// that it checks. Random schemas are drawn, compiled and run against an in-memory
// server, and what they read must be what the model says, whatever garbage
// collection has done so far. It is for tests alone.
package model

import (
	"fmt"
	"strings"
	"time"
)

// Schema is a schema with one table, as far as the model needs to know, or with a
// second one that has the same key and keeps next to nothing.
type Schema struct {
	Name      string // of the package and the table
	Pattern   string
	Precision time.Duration
	Bucket    time.Duration // 0 for a row per event
	Text      bool          // values are text
	Delimiter string        // empty for a binary key
	Before    []string      // the segments before the time, as the language has them
	TimeKey   string        // the segment with the time or the bucket
	After     []string      // the segments after it
	Sequence  bool          // events carry a tie-breaker
	Short     bool          // there is the second table
	Fields    []Field
	Families  []Family // just one with the TTL classes if there are Classes
	Classes   []time.Duration
}

// Presence says whether a stored event may lack a field.
type Presence string

// The presences.
const (
	Required Presence = "required"
	Optional Presence = "optional"
	Default  Presence = "default" // written always; read as defaultValue where it is gone
)

// defaultValue is what a field with a default is read as where it is gone.
const defaultValue = 7

// Field is one field, an int64 called v0, v1 and so on.
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

// TTL is a time to live, as the language has it.
type TTL struct {
	Kind      string // max_age, max_versions, any_of, all_of, one_second, default_expiration or keep
	Age       time.Duration
	FromWrite bool
	Versions  int
	Rules     []TTL
}

// bucketed reports whether a row is a bucket.
func (s *Schema) bucketed() bool { return s.Bucket > 0 }

// eventTimed reports whether the timestamps of cells are the times of events.
func (s *Schema) eventTimed() bool { return s.bucketed() && s.Pattern != "bucket_offsets" }

// serialized reports whether an event is one value with all fields.
func (s *Schema) serialized() bool {
	return strings.HasSuffix(s.Pattern, "_serialized") || s.Pattern == "bucket_offsets" && len(s.Fields) > 1
}

// newColumns reports whether values are column names.
func (s *Schema) newColumns() bool { return s.Pattern == "bucket_new_columns" }

// has reports whether some family's TTL is of the kind.
func (s *Schema) has(kind string) bool {
	for _, f := range s.Families {
		if f.TTL.Kind == kind {
			return true
		}
	}
	return false
}

// YAML writes the schema.
func (s *Schema) YAML() string {
	var b strings.Builder
	s.write(&b)
	return b.String()
}

// write writes the schema.
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
	var segments []string
	segments = append(append(append(segments, s.Before...), s.TimeKey), s.After...)
	table := func(id string) {
		line("  %s:\n    pattern: %s\n    key: {%ssegments: [%s]}", id, s.Pattern, s.delimiter(), strings.Join(segments, ", "))
		if s.bucketed() {
			line("    bucket: %s", short(s.Bucket))
		}
		if s.Text && !s.serialized() {
			line("    values: text")
		}
		if s.timeFirst() {
			line("    allow: {K01: to be tried}")
		}
	}
	line("tables:")
	if s.Short {
		table(s.Name + ShortTable)
		line("    family: m\n    ttl: {max_age: 1s}")
	}
	table(s.Name)
	switch {
	case s.Classes != nil:
		var classes []string
		for i, age := range s.Classes {
			classes = append(classes, fmt.Sprintf("c%d: %s", i+1, short(age)))
		}
		line("    family: m\n    ttl: {classes: {%s}}", strings.Join(classes, ", "))
	case len(s.Families) == 1:
		line("    family: %s\n    ttl: %s", s.Families[0].Name, s.Families[0].ttl())
	default:
		line("    families:")
		for i := range s.Families {
			line("      %s: {ttl: %s}", s.Families[i].Name, s.Families[i].ttl())
		}
	}
	for i, q := range s.Queries() {
		if i == 0 {
			line("queries:")
		}
		line("  %s: %s", q.Name, q.yaml())
	}
}

// delimiter writes the delimiter.
func (s *Schema) delimiter() string {
	if s.Delimiter == "" {
		return ""
	}
	return fmt.Sprintf("delimiter: %q, ", s.Delimiter)
}

// ttl writes the time to live of a family.
func (f *Family) ttl() string {
	text := f.TTL.yaml()
	if f.WrittenAt {
		text = strings.TrimSuffix(text, "}") + ", written_at: w_" + f.Name + "}"
	}
	return text
}

// yaml writes a time to live.
func (t TTL) yaml() string {
	switch t.Kind {
	case "max_age":
		if t.FromWrite {
			return fmt.Sprintf("{max_age: %s, from: write}", short(t.Age))
		}
		return fmt.Sprintf("{max_age: %s}", short(t.Age))
	case "max_versions":
		return fmt.Sprintf("{max_versions: %d}", t.Versions)
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
	return "{keep: forever}"
}

// short writes a duration as the language has it.
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
