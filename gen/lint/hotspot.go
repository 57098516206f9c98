package lint

import (
	"math"
	"strings"

	"github.com/btgen-dev/btgen/gen/hotspot"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// loadChecks are about where the writes of a table go.
var loadChecks = checks{
	"K03": func(r reporter) { // all writes go to a few key prefixes
		first, ok := firstSegment(r.t)
		if !ok || hotspot.InOnePlace(r.l, r.t) {
			return // K01
		}
		load, p := r.l.Load(), hotspot.EndsOf(r.l, r.t)
		if !p.Hot(r.t, load) {
			return
		}
		even := p
		even.Busiest = 0
		switch pos, hint := r.t.Source(&first).Pos, r.spread(load); {
		case hotspot.Hot(r.t, load, p.Busiest) && !even.Hot(r.t, load):
			r.at(pos, "busiest", writes(load), words.Count(float64(load.Series), "series", "series"), 100*p.Busiest)
		case len(p.Open) > 0:
			r.at(pos, "unknown", writes(load), math.Ceil(hotspot.Total(r.t, load)/hotspot.NodeWrites), hotspot.NodeWrites, strings.Join(p.Open, " and "), hint)
		default:
			r.at(pos, "few", writes(load), words.Count(p.N, "key prefix", "key prefixes"), words.Count(p.N, "node takes them", "nodes share them"), hotspot.NodeWrites, hint)
		}
	},
	"K26": func(r reporter) { // the row of a series gets all its writes
		if e := r.size(); r.t.Pattern.NewestOnly() && !e.Load.AssumedRate && e.Load.Rate > maxStateRate {
			r.at(r.t.PatternPos, "rate", rate(e.Load.Rate))
		}
	},
}

// spread proposes keys with more prefixes: the time after all series values, or a salt of
// them. If neither is enough, it proposes another series value.
func (r reporter) spread(load layout.Load) string {
	var keys []string
	moved := hotspot.WithSegments(r.t, timeLast(r.l, r.t))
	if text := segments(moved.SegmentTexts()); text != segments(r.t.SegmentTexts()) && !hotspot.EndsOf(r.l, moved).Hot(r.t, load) {
		keys = append(keys, "put the time after more values: "+text)
	}
	for _, buckets := range []int{layout.UsualSalt, 32, 64, wideSalt} {
		if salted := hotspot.Salted(r.l, r.t, buckets); !hotspot.EndsOf(r.l, salted).Hot(r.t, load) {
			keys = append(keys, "begin with a salt: "+segments(salted.SegmentTexts()))
			break
		}
	}
	if keys == nil {
		return "no key spreads so few series: add a high-cardinality series value, such as shard: int32, that writers choose at random"
	}
	hint := strings.Join(keys, "; or ")
	if open := hotspot.EndsOf(r.l, r.t).Open; open != nil {
		hint += "; or declare the cardinality, as in " + open[0] + ": {type: string, cardinality: 500}"
	}
	return hint
}

// maxStateRate is the rate of writes to a row of pattern latest that is not reported, per second; our
// judgment.
const maxStateRate = 10
