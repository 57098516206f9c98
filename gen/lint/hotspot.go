package lint

import (
	"math"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// Thresholds; our judgment.
const (
	fewPrefixes = 10    // key prefixes, inclusive
	fewWrites   = 1_400 // rows written per second that are never a hotspot: a tenth of nodeWrites
)

// nodeWrites is how many 1 KB rows per second one node writes, according to
// https://cloud.google.com/bigtable/docs/performance.
const nodeWrites = 14_000

// prefixes counts the distinct key prefixes before the time. Each grows at one end, in
// one tablet, so at most n nodes share the writes.
type prefixes struct {
	n     float64  // lower bound; +Inf for one per series if the number of series is not declared
	open  []string // series values whose cardinality is not declared
	whole bool     // whether the prefix contains all series values
}

// prefixesOf counts the key prefixes of a table: the combinations of series values, salt
// buckets, and fields before the time. Combinations of series values are capped at the
// number of series.
func prefixesOf(l *layout.Layout, t *layout.Table) prefixes {
	p := prefixes{n: 1}
	known, metrics := map[int]bool{}, 1.0
	for _, g := range t.BeforeTime() {
		switch g.Kind {
		case layout.SeriesSegment:
			known[g.Series] = true
			if n := l.Series[g.Series].Cardinality; n > 0 {
				p.n *= float64(n)
			} else {
				p.open = append(p.open, l.Series[g.Series].Name)
			}
		case layout.MetricSegment:
			metrics = float64(len(t.Columns))
		}
	}
	for _, g := range t.BeforeTime() {
		if g.Kind == layout.SaltSegment {
			p.n *= saltValues(l, g, known)
		}
	}
	p.whole = len(known) == len(l.Series)
	switch series := float64(l.Expect.Series); {
	case p.whole && len(p.open) > 0 && series == 0:
		p.n = math.Inf(1)
	case p.whole && len(p.open) > 0:
		p.n, p.open = series, nil
	case series > 0:
		p.n = min(p.n, series)
	}
	p.n *= metrics
	return p
}

// saltValues returns how many salt buckets a fixed combination of the known series values
// can have.
func saltValues(l *layout.Layout, salt layout.Segment, known map[int]bool) float64 {
	n := 1.0
	for _, i := range salt.Salted {
		if known[i] {
			continue
		}
		values := l.Series[i].Cardinality
		if values == 0 {
			return float64(salt.Buckets)
		}
		n *= float64(values)
	}
	return min(n, float64(salt.Buckets))
}

// total returns how many rows per second all series write, one event at a time.
func total(t *layout.Table, load layout.Load) float64 {
	return load.Rate * float64(load.Series) * float64(t.RowsPerEvent())
}

// hot reports whether the table has too few prefixes for the load.
func (p prefixes) hot(t *layout.Table, load layout.Load) bool {
	declared := !load.AssumedRate && !load.AssumedSeries
	switch writes := total(t, load); {
	case declared && writes <= fewWrites:
		return false
	case declared && writes/p.n > nodeWrites:
		return true
	}
	return p.n <= fewPrefixes && len(p.open) == 0
}

// hotTail is K03: all writes go to a few key prefixes.
func hotTail(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown || first.Kind == layout.TimeSegment || first.Kind == layout.BucketSegment {
		return // K01
	}
	load, p := l.Load(), prefixesOf(l, t)
	switch hint := spread(l, t, load); {
	case !p.hot(t, load):
	case len(p.open) > 0:
		report.at(first.Pos, hint, "%s need %s key prefixes at %s writes a second per node; the cardinality of %s is not declared",
			writes(load), number(math.Ceil(total(t, load)/nodeWrites)), number(nodeWrites), strings.Join(p.open, " and "))
	default:
		report.at(first.Pos, hint, "hotspot: all writes, %s, go to %s; at most %s, at about %s writes a second each",
			writes(load), words.Count(p.n, "key prefix", "key prefixes"), words.Count(p.n, "node takes them", "nodes share them"), number(nodeWrites))
	}
}

// spread proposes keys with more prefixes: the time after all series values, or a salt of
// them. If neither is enough, it proposes another series value.
func spread(l *layout.Layout, t *layout.Table, load layout.Load) string {
	var keys []string
	moved := rewrite(t, timeLast(l, t))
	if text := segments(segmentsOf(moved)); text != segments(segmentsOf(t)) && !prefixesOf(l, moved).hot(t, load) {
		keys = append(keys, "put the time after more values: "+text)
	}
	if salted := saltedFor(l, t, load); salted != nil {
		keys = append(keys, "begin with a salt: "+segments(segmentsOf(salted)))
	}
	if keys == nil {
		return "no key spreads so few series: add a high-cardinality series value, such as shard: int32, that writers choose at random"
	}
	hint := strings.Join(keys, "; or ")
	if open := prefixesOf(l, t).open; open != nil {
		hint += "; or declare the cardinality, as in " + open[0] + ": {type: string, cardinality: 500}"
	}
	return hint
}

// saltedFor returns the table with a salt that has enough buckets for the load at the
// beginning of its keys, or nil if no salt is enough.
func saltedFor(l *layout.Layout, t *layout.Table, load layout.Load) *layout.Table {
	salt := layout.Segment{Kind: layout.SaltSegment}
	rest := slices.Clone(t.Segments)
	if i := slices.IndexFunc(rest, func(g layout.Segment) bool { return g.Kind == layout.SaltSegment }); i >= 0 {
		salt = rest[i]
		rest = slices.Delete(rest, i, i+1)
	} else {
		for _, g := range rest {
			if g.Kind == layout.SeriesSegment {
				salt.Salted = append(salt.Salted, g.Series)
			}
		}
	}
	for _, buckets := range []int{usualSalt, 32, 64, wideSalt} {
		salt.Buckets, salt.Text = buckets, l.SaltText(salt.Salted, buckets)
		if other := rewrite(t, behindConst(rest, salt)); !prefixesOf(l, other).hot(t, load) {
			return other
		}
	}
	return nil
}
