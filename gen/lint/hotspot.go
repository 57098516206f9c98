package lint

import (
	"math"
	"strings"

	"github.com/btgen-dev/btgen/gen/hotspot"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// hotTail is K03: all writes go to a few key prefixes.
func hotTail(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown || hotspot.InOnePlace(l, t) {
		return // K01
	}
	load, p := l.Load(), hotspot.EndsOf(l, t)
	if !p.Hot(t, load) {
		return
	}
	switch pos, hint := t.Source(&first).Pos, spread(l, t, load); {
	case hotspot.Hot(t, load, p.Busiest) && !fewPrefixes(t, load, p):
		report.at(pos, "busiest", writes(load), words.Count(float64(load.Series), "series", "series"), 100*p.Busiest)
	case len(p.Open) > 0:
		report.at(pos, "unknown", writes(load), math.Ceil(hotspot.Total(t, load)/hotspot.NodeWrites), hotspot.NodeWrites, strings.Join(p.Open, " and "), hint)
	default:
		report.at(pos, "few", writes(load), words.Count(p.N, "key prefix", "key prefixes"), words.Count(p.N, "node takes them", "nodes share them"), hotspot.NodeWrites, hint)
	}
}

// fewPrefixes reports whether there are too few key prefixes, also without skew.
func fewPrefixes(t *layout.Table, load layout.Load, p hotspot.Ends) bool {
	p.Busiest = 0
	return p.Hot(t, load)
}

// spread proposes keys with more prefixes: the time after all series values, or a salt of
// them. If neither is enough, it proposes another series value.
func spread(l *layout.Layout, t *layout.Table, load layout.Load) string {
	var keys []string
	moved := hotspot.WithSegments(t, timeLast(l, t))
	if text := segments(segmentsOf(moved)); text != segments(segmentsOf(t)) && !hotspot.EndsOf(l, moved).Hot(t, load) {
		keys = append(keys, "put the time after more values: "+text)
	}
	if salted := saltedFor(l, t, load); salted != nil {
		keys = append(keys, "begin with a salt: "+segments(segmentsOf(salted)))
	}
	if keys == nil {
		return "no key spreads so few series: add a high-cardinality series value, such as shard: int32, that writers choose at random"
	}
	hint := strings.Join(keys, "; or ")
	if open := hotspot.EndsOf(l, t).Open; open != nil {
		hint += "; or declare the cardinality, as in " + open[0] + ": {type: string, cardinality: 500}"
	}
	return hint
}

// saltedFor returns the table with a salt that has enough buckets for the load at the
// beginning of its keys, or nil if no salt is enough.
func saltedFor(l *layout.Layout, t *layout.Table, load layout.Load) *layout.Table {
	for _, buckets := range []int{layout.UsualSalt, 32, 64, wideSalt} {
		if other := hotspot.Salted(l, t, buckets); !hotspot.EndsOf(l, other).Hot(t, load) {
			return other
		}
	}
	return nil
}

// maxStateRate is the rate of writes to a row of pattern latest that is not reported, per second; our
// judgment.
const maxStateRate = 10

// hotState is K26: the row of a series gets all its writes.
func hotState(l *layout.Layout, t *layout.Table, report reporter) {
	if e := report.size(); t.Pattern.NewestOnly() && !e.Load.AssumedRate && e.Load.Rate > maxStateRate {
		report.at(t.PatternPos, "rate", rate(e.Load.Rate))
	}
}
