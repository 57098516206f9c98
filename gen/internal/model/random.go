package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// ages are the ages in random schemas: short, so that events exceed them.
var ages = []time.Duration{time.Second, 10 * time.Second, time.Minute, time.Hour, 48 * time.Hour}

// Matrix draws a schema for each strategy that fits each pattern, and one of OpenTSDB.
func Matrix(seed int) []Schema {
	var out []Schema
	for _, p := range patterns() {
		for _, s := range layout.Strategies() {
			if verdict := layout.Fits(p, s); !verdict.Always {
				out = append(out, drawn(p, s).Example(1000*seed+len(out))) // a different key for each
				if p.Versioned() {
					out = append(out, rapid.Map(drawn(p, s), endless).Example(1000*seed+len(out)))
				}
			}
		}
	}
	return append(out, rapid.Map(drawn(codec.BucketOffsets, layout.MaxAgeFromWrite), points).Example(1000*seed+len(out)))
}

// patterns returns the patterns for all events: a table with only the newest ones needs another table.
func patterns() []codec.Pattern {
	return slices.DeleteFunc(codec.Patterns(), codec.Pattern.NewestOnly)
}

// endless returns a schema with buckets as one without: a series has one row, of which a version
// limit keeps few events.
func endless(s Schema) Schema {
	s.Endless, s.Bucket, s.TimeKey = true, 0, ""
	s.Before, s.After = slices.Concat(s.Before, s.After), nil
	few := func(t *TTL) {
		if t.Kind == "max_versions" {
			t.Versions = 1 + t.Versions%3
		}
	}
	s.Families = slices.Clone(s.Families)
	for i := range s.Families {
		ttl := &s.Families[i].TTL
		ttl.Rules = slices.Clone(ttl.Rules)
		few(ttl)
		for k := range ttl.Rules {
			few(&ttl.Rules[k])
		}
	}
	return s
}

// Unsorted returns schemas with those of them with buckets once more, with labels that do not sort.
func Unsorted(schemas []Schema) []Schema {
	out := slices.Clone(schemas)
	for _, s := range schemas {
		joined := strings.Contains(strings.Join(slices.Concat(s.Before, s.After), ""), "joined") // the labels have a variable width
		if s.Bucket > 0 && s.TimeKey == "bucket" && s.Delimiter != "" && s.Earlier == nil && !joined {
			s.Unsorted = true
			out = append(out, s)
		}
	}
	return out
}

// points returns a schema of offsets as one of OpenTSDB.
func points(s Schema) Schema {
	s.Values, s.Bucket, s.Precision = "opentsdb", time.Hour, max(s.Precision, time.Millisecond)
	s.Fields = []Field{{Presence: Required}}
	if s.Sequence {
		s.Sequence, s.After = false, s.After[:len(s.After)-1]
	}
	return s
}

// Histories draws a schema with one or two earlier layouts for each strategy that fits
// each pattern.
func Histories(seed int) []Schema {
	var out []Schema
	for _, p := range patterns() {
		for _, strategy := range layout.Strategies() {
			if layout.Fits(p, strategy).Always {
				continue
			}
			out = append(out, rapid.Custom(func(t *rapid.T) Schema {
				s := drawn(p, strategy).Draw(t, "newest")
				drawEarlier(t, &s, strategy)
				return s
			}).Example(1000*seed+len(out)))
		}
	}
	return out
}

// Random draws a schema of any pattern with one to three families.
func Random(seed int) Schema {
	return rapid.Custom(func(t *rapid.T) Schema {
		p := rapid.SampledFrom([]codec.Pattern{codec.BucketNewColumns, codec.BucketNewCells, codec.SingleUnserialized}).Draw(t, "pattern")
		s := draw(t, p)
		age := rapid.SampledFrom(ages).Draw(t, "default")
		var strategies []layout.Strategy
		for _, strategy := range layout.Strategies() {
			if layout.Fits(p, strategy) == (layout.Verdict{}) && strategy != layout.Classes {
				strategies = append(strategies, strategy)
			}
		}
		n := rapid.IntRange(2, 3).Draw(t, "families")
		for i := range n {
			ttl := drawTTL(t, &s, rapid.SampledFrom(strategies).Draw(t, "strategy"))
			if ttl.Kind == "default_expiration" {
				ttl.Age = age // so that an event without an expiry has a single default
			}
			s.Families = append(s.Families, drawFamily(t, &s, string(rune('a'+i)), ttl))
		}
		for i := range max(n, rapid.IntRange(1, 4).Draw(t, "fields")) {
			f := Field{Presence: rapid.SampledFrom([]Presence{Optional, Default}).Draw(t, "presence"), Family: i % n}
			if s.Families[f.Family].TTL.Kind == "keep" {
				f.Presence = rapid.SampledFrom([]Presence{Required, Optional, Default}).Draw(t, "presence")
			}
			s.Fields = append(s.Fields, f)
		}
		return s
	}).Example(seed)
}

// drawn draws a schema of a pattern with one strategy.
func drawn(p codec.Pattern, strategy layout.Strategy) *rapid.Generator[Schema] {
	return rapid.Custom(func(t *rapid.T) Schema {
		s := draw(t, p)
		if strategy == layout.Classes {
			s.Classes = rapid.SliceOfNDistinct(rapid.SampledFrom(ages), 2, 3, rapid.ID[time.Duration]).Draw(t, "classes")
			s.Families = []Family{{Name: "m"}}
		} else {
			s.Families = []Family{drawFamily(t, &s, "m", drawTTL(t, &s, strategy))}
			s.Short = (strategy == layout.MaxAge || strategy == layout.KeepForever) && rapid.Bool().Draw(t, "short")
		}
		for range rapid.IntRange(1, 3).Draw(t, "fields") {
			presences := []Presence{Required, Required, Optional, Default}
			if s.Pattern == "bucket_new_cells" && s.Families[0].TTL.countsVersions() {
				presences = []Presence{Required, Default}
			}
			s.Fields = append(s.Fields, Field{Presence: rapid.SampledFrom(presences).Draw(t, "presence")})
		}
		return s
	})
}

// drawEarlier draws the earlier layouts of a schema with one strategy.
func drawEarlier(t *rapid.T, s *Schema, strategy layout.Strategy) {
	s.Short = s.Short && !(s.Families[0].TTL.Kind == "max_age" && s.Families[0].TTL.Age <= time.Second)      // the other table could be read instead
	s.Short = s.Short && slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Presence != Optional }) // it could refuse an event without values that an earlier layout takes
	s.Families[0].WrittenAt = false
	for i := range rapid.IntRange(1, 2).Draw(t, "earlier layouts") {
		if above := s.layouts()[i]; above.relabels() && rapid.Bool().Draw(t, "only another bucket") {
			l := *above
			l.Earlier, l.Bucket = nil, rapid.SampledFrom(slices.DeleteFunc(slices.Clone(widths), func(d time.Duration) bool { return d == above.Bucket })).Draw(t, "earlier bucket")
			s.Earlier = append(s.Earlier, l)
			break
		}
		l := draw(t, rapid.SampledFrom(s.earlierPatterns(strategy)).Draw(t, "earlier pattern"))
		l.Precision, l.Fields, l.Classes, l.Families = s.Precision, s.Fields, s.Classes, slices.Clone(s.Families)
		if l.Sequence && !s.layouts()[i].Sequence {
			l.Sequence, l.After = false, l.After[:len(l.After)-1]
		}
		if l.timeFirst() { // an earlier layout cannot allow it
			n := slices.IndexFunc(l.After, func(g string) bool { return !strings.Contains(g, "const") })
			l.Before, l.After = append(l.Before, l.After[n]), slices.Delete(slices.Clone(l.After), n, n+1)
		}
		l.drawPlace(t, s, i, strategy)
		s.Earlier = append(s.Earlier, l)
	}
	days := slices.ContainsFunc(s.layouts(), func(l *Schema) bool { return l.Bucket > time.Hour })
	at, step := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC), time.Hour
	if days {
		at, step = at.Truncate(24*time.Hour).AddDate(0, 0, rapid.IntRange(0, 1).Draw(t, "day")), 24*time.Hour
	}
	for _, l := range s.layouts()[:len(s.Earlier)] {
		l.Since = at
		at = at.Add(-step)
	}
}

// relabels reports whether another width of the buckets is enough to tell the rows of two
// layouts in one family apart.
func (s *Schema) relabels() bool {
	return s.bucketed() && s.TimeKey == "bucket" && s.Delimiter != "" && !s.Families[0].TTL.countsVersions()
}

// widths are the widths of buckets.
var widths = []time.Duration{time.Minute, time.Hour, 24 * time.Hour}

// earlierPatterns returns the patterns of earlier layouts that fit the schema.
func (s *Schema) earlierPatterns(strategy layout.Strategy) []codec.Pattern {
	optional := slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Presence == Optional })
	return slices.DeleteFunc(patterns(), func(p codec.Pattern) bool {
		return layout.Fits(p, strategy).Always || s.Precision < time.Millisecond && p != codec.BucketOffsets ||
			p == codec.BucketNewCells && optional && slices.Contains([]layout.Strategy{layout.MaxVersions, layout.AnyOf, layout.AllOf}, strategy)
	})
}

// drawPlace draws how the rows of the i-th earlier layout are kept apart from others: in
// another table, in another family, where they may have the same keys, or by a constant at
// the beginning of the key.
func (s *Schema) drawPlace(t *rapid.T, newest *Schema, i int, strategy layout.Strategy) {
	place := rapid.SampledFrom([]string{"table", "family", "family", "key"}).Draw(t, "place")
	ttl := newest.Families[0].TTL
	if place == "key" && (ttl.countsVersions() || ttl.fromWrite() && s.eventTimed()) {
		place = "table"
	}
	switch place {
	case "key":
		if s.Before = append([]string{fmt.Sprintf("{const: o%d}", i)}, s.Before...); !strings.HasPrefix(strings.Join(newest.Before, ""), "{const: n}") {
			newest.Before = append([]string{"{const: n}"}, newest.Before...)
		}
		return
	case "table":
		s.Table = fmt.Sprintf("_p%d", i)
	case "family":
		s.Families[0].Name = fmt.Sprintf("old%d", i)
	}
	if s.Classes == nil && ttl.Kind != "default_expiration" { // whose age must be the same
		s.Families[0].TTL = drawTTL(t, s, strategy)
	}
}

// draw draws what all schemas of a pattern have in common.
func draw(t *rapid.T, p codec.Pattern) (s Schema) {
	s = Schema{
		Pattern:   p.String(),
		Precision: rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute}).Draw(t, "precision"),
		Values:    rapid.SampledFrom([]string{"", "text", "little_endian"}).Draw(t, "values"),
	}
	if p == codec.BucketOffsets {
		s.Precision = rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, time.Second}).Draw(t, "finer precision")
	}
	defer func() { drawKey(t, &s) }()
	if p.Bucketed() {
		s.Bucket = rapid.SampledFrom(widths).Draw(t, "bucket")
	}
	return s
}

// drawKey draws the row key.
func drawKey(t *rapid.T, s *Schema) {
	s.Delimiter = rapid.SampledFrom([]string{"#", "/", "::", ""}).Draw(t, "delimiter")
	pick := func(label string, text, binary []string) string {
		if s.Delimiter == "" {
			return rapid.SampledFrom(binary).Draw(t, label)
		}
		return rapid.SampledFrom(text).Draw(t, label)
	}
	segments := []string{
		pick("host", []string{"host", "host", "{name: host, encoding: hex}", "{name: host, escape: true}"}, []string{"host"}),
		pick("shard", []string{"shard", "{name: shard, encoding: decimal, pad: 5, reverse: true}", "{name: shard, encoding: hex, pad: 2}", "{name: shard, encoding: binary}", "{name: shard, encoding: big_endian}"},
			[]string{"shard", "{name: shard, encoding: hex, pad: 16, reverse: true}", "{name: shard, encoding: little_endian}"}),
	}
	segments = rapid.Permutation(segments).Draw(t, "order")
	if s.newColumns() {
		segments = append(segments, "metric")
	}
	n := rapid.IntRange(0, len(segments)).Draw(t, "before")
	s.Before, s.After = slices.Clone(segments[:n]), slices.Clone(segments[n:])
	switch rapid.IntRange(0, 4).Draw(t, "more") {
	case 0, 1:
		insert(t, s, rapid.SampledFrom([]string{"{hash: [host], buckets: 4}", "{hash: [shard], buckets: 3}", "{hash: [host, shard], buckets: 20}"}).Draw(t, "hash"))
	case 2:
		insert(t, s, rapid.SampledFrom([]string{"{const: x}", "{const: x, kind: true}", "{const: xy, joined: true}"}).Draw(t, "const"))
		insert(t, s, "{const: x}")
	case 3:
		if !s.eventTimed() {
			s.Sequence = true
			s.After = append(s.After, "{sequence: true}")
		}
	}
	s.TimeKey = drawTime(t, s)
	s.drawJoined(t)
}

// drawJoined may let the segments after the host follow it without a delimiter, if all of
// them have a fixed width and the time is among them.
func (s *Schema) drawJoined(t *rapid.T) {
	i := slices.IndexFunc(s.Before, func(g string) bool { return strings.Contains(g, "host") && !strings.Contains(g, "hash") })
	varies := func(g string) bool { return g == "metric" || g == "shard" && s.Delimiter != "" }
	if i < 0 || slices.ContainsFunc(slices.Concat(s.Before[i+1:], s.After), varies) || !rapid.Bool().Draw(t, "joined") {
		return
	}
	s.Before[i] = "{name: host, joined: true}"
	if len(s.After) > 0 && s.Pattern != "bucket_offsets" && rapid.Bool().Draw(t, "joined time") {
		s.TimeKey = strings.Replace(s.TimeKey, "}", ", joined: true}", 1) // not for the short form
	}
}

// insert inserts a segment at a random place in the key.
func insert(t *rapid.T, s *Schema, segment string) {
	side := &s.Before
	if rapid.Bool().Draw(t, "behind the time") {
		side = &s.After
	}
	*side = slices.Insert(*side, rapid.IntRange(0, len(*side)).Draw(t, "place"), segment)
}

// drawTime draws the form of the time in the key.
func drawTime(t *rapid.T, s *Schema) string {
	word, formats := "time", []string{"unix_ms", "unix_us", "unix_ns", "unix_ms, reverse: true", "unix_ns, reverse: true", "binary", "binary, reverse: true", "binary_ms", "binary_ns, reverse: max_uint64", "unix_ms, reverse: max_int64", `"2006-01-02T150405.000"`}
	if s.bucketed() {
		word, formats = "bucket", []string{"unix_s", "unix_ms, reverse: true", "binary", "binary4_s", "unix_s, reverse: max_int64", "binary_ms, reverse: max_int64", `"2006-01-02T1504"`}
	}
	if rapid.Bool().Draw(t, "short") {
		return word
	}
	format := rapid.SampledFrom(formats).Draw(t, "format")
	if s.Delimiter == "::" {
		format = strings.ReplaceAll(format, ":0", "0") // a time must not contain a part of the delimiter
	}
	return "{" + word + ": " + format + "}"
}

// drawFamily draws the other attributes of a family.
func drawFamily(t *rapid.T, s *Schema, name string, ttl TTL) Family {
	expires := !s.bucketed() && (ttl.Kind == "one_second" || ttl.Kind == "default_expiration")
	return Family{Name: name, TTL: ttl, WrittenAt: expires && rapid.Bool().Draw(t, "written_at")}
}

// drawTTL draws a time to live with a strategy that does not lose data.
func drawTTL(t *rapid.T, s *Schema, strategy layout.Strategy) TTL {
	age := TTL{Kind: "max_age", Age: rapid.SampledFrom(ages).Draw(t, "age")}
	other := TTL{Kind: "max_age", Age: rapid.SampledFrom(ages).Draw(t, "other age")}
	versions := TTL{Kind: "max_versions", Versions: rapid.IntRange(1, 3).Draw(t, "versions")}
	if !s.eventTimed() && rapid.Bool().Draw(t, "write") {
		age.FromWrite, other.FromWrite, versions.FromWrite = true, true, true
	}
	enough := versions
	if s.eventTimed() {
		enough.Versions = int(s.Bucket / s.Precision)
	}
	switch strategy {
	case layout.MaxAge:
		age.FromWrite = false
		return age
	case layout.MaxAgeFromWrite:
		age.FromWrite = true
		return age
	case layout.MaxVersions:
		return enough
	case layout.AnyOf:
		if s.newColumns() {
			return TTL{Kind: "any_of", Rules: []TTL{age, {Kind: "all_of", Rules: []TTL{other, age}}}}
		}
		return TTL{Kind: "any_of", Rules: []TTL{{Kind: "all_of", Rules: []TTL{age, versions}}, other, enough}}
	case layout.AllOf:
		if s.newColumns() {
			return TTL{Kind: "all_of", Rules: []TTL{age, other}}
		}
		return TTL{Kind: "all_of", Rules: []TTL{age, versions}}
	case layout.OneSecond:
		return TTL{Kind: "one_second"}
	case layout.DefaultExpiration:
		return TTL{Kind: "default_expiration", Age: age.Age}
	}
	return TTL{Kind: "keep", FromWrite: versions.FromWrite}
}

// countsVersions reports whether the rank of a cell matters in any layout.
func (s *Schema) countsVersions() bool {
	return slices.ContainsFunc(s.layouts(), func(l *Schema) bool {
		return slices.ContainsFunc(l.Families, func(f Family) bool { return f.TTL.countsVersions() })
	})
}

// countsVersions reports whether the rank of a cell matters.
func (t TTL) countsVersions() bool {
	return t.Kind == "max_versions" || slices.ContainsFunc(t.Rules, TTL.countsVersions)
}
