package explain

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/hotspot"
	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Heat is a simulation of a load on a table: the data of a row of hotspots. Shares are from 0 to 1.
type Heat struct {
	Load    string        `json:"load"` // writes, or a method of the reader
	Key     string        `json:"key"`  // the form of the row key
	Design  string        `json:"design"`
	Chosen  bool          `json:"chosen,omitempty"`
	Seed    uint64        `json:"seed"`
	Hottest hotspot.Share `json:"hottest"` // of the bands
	Hot     bool          `json:"hot"`     // whether it is a hotspot, as rules K01 to K03 judge
	Step    string        `json:"step"`
	// Bands are parts of the key space, the first keys first. Each has a digit per step: the
	// share of the load, from 0, none, to 9, all.
	Bands []string `json:"bands"`
}

// assumedSalt is the number of buckets of the salt that designs are compared with.
const assumedSalt = 16

// simulation is a simulation that has not run.
type simulation struct {
	l     *layout.Layout
	table *layout.Table
	load  hotspot.Load
	heat  Heat  // what is known of the outcome
	out   *Heat // where the outcome is stored
}

// mostSimulated is how many tables are simulated, so that an explanation of very many takes
// seconds.
const mostSimulated = 100

// simulate simulates the load of each of the first tables.
func simulate(layouts []*layout.Layout) map[*layout.Table][]Heat {
	var all []simulation
	out := map[*layout.Table][]Heat{}
	for _, l := range layouts {
		for _, t := range l.Tables {
			if len(out) == mostSimulated {
				break
			}
			some := simulationsOf(l, t)
			out[t] = make([]Heat, len(some))
			for i := range some {
				some[i].out = &out[t][i]
			}
			all = append(all, some...)
		}
	}
	parallel.For(len(all), func(i int) { all[i].run() })
	return out
}

// simulationsOf returns the simulations of the load of a table: of its writes, of those with the
// alternatives to its key, and of its declared reads.
func simulationsOf(l *layout.Layout, t *layout.Table) []simulation {
	var out []simulation
	load := hotspot.Load{Load: l.Load(), Seed: hotspot.Seed}
	add := func(table *layout.Table, load hotspot.Load, of, design string) {
		heat := Heat{Load: of, Design: design, Chosen: out == nil}
		out = append(out, simulation{l: l, table: table, load: load, heat: heat})
	}
	add(t, load, "writes", "as declared")
	if !hotspot.InOnePlace(l, t) && !t.Endless() {
		add(hotspot.TimeFirst(t), load, "writes", "time first")
	}
	if !hotspot.IsSalted(t) {
		add(hotspot.Salted(l, t, assumedSalt), load, "writes", fmt.Sprintf("salted, %d buckets", assumedSalt))
	}
	if hotspot.NewShare(l, t, load.Load) >= hotspot.HotShare && !t.Allows("K02") {
		sequential := load
		sequential.New = true
		add(t, sequential, "writes", "new series, if the numbers are sequential")
	}
	for _, r := range l.Expect.Reads {
		if l.ReadTable(r.Method.V) != t {
			continue
		}
		if load.Range = r.Range; load.Range == 0 && r.Method.V != schema.LatestMethod {
			load.Range = capacity.AssumedRange
		}
		add(t, load, r.Method.V, "as declared")
	}
	return out
}

// run runs the simulation and stores its outcome.
func (s *simulation) run() {
	r := hotspot.Simulate(s.l, s.table, s.load)
	h := s.heat
	h.Key, h.Seed, h.Hottest = sample.KeyNames(s.table), s.load.Seed, r.Hottest
	h.Step = schema.FormatDuration(r.Width.Truncate(time.Second))
	h.Hot = h.Load == "writes" && (s.load.New || !hotspot.Spreads(s.l, s.table, s.load.Load))
	for _, band := range r.Heat {
		digits := make([]byte, len(band))
		for step, share := range band {
			digits[step] = '0' + level(share)
		}
		h.Bands = append(h.Bands, string(digits))
	}
	*s.out = h
}

// level returns the digit of a share. Its square root makes small shares visible.
func level(share float64) byte {
	if share <= 0 {
		return 0
	}
	return byte(min(9, max(1, math.Round(9*math.Sqrt(share)))))
}

// sparks are the heights of a sparkline.
const sparks = "▁▂▃▄▅▆▇█"

// sparkline draws the mean share of each band of the key space, the first keys first.
func (h *Heat) sparkline() string {
	var b strings.Builder
	for _, band := range h.Bands {
		sum := 0.0
		for _, digit := range []byte(band) {
			share := float64(digit-'0') / 9
			sum += share * share
		}
		mean := math.Sqrt(sum / float64(len(band)))
		b.WriteRune([]rune(sparks)[min(7, int(mean*8))])
	}
	return b.String()
}

// words says how the load of a simulation is spread.
func (h *Heat) words() string {
	worst := ""
	if h.Hottest.Peak > 1.5*h.Hottest.Mean {
		worst = ", at worst " + percent(h.Hottest.Peak)
	}
	return fmt.Sprintf("hottest part %s (%s × even%s)", percent(h.Hottest.Mean), words.Number(h.even()), worst)
}

// even returns the share of the hottest band as a multiple of an even share.
func (h *Heat) even() float64 { return h.Hottest.Mean * float64(len(h.Bands)) }

// percent writes a share.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1000)/10, 'f', -1, 64) + "%"
}

// name names a simulation.
func (h *Heat) name() string {
	if h.Load == "writes" {
		return "writes, " + h.Design
	}
	return h.Load
}

// seen says what to see in the picture of a simulation.
func (h *Heat) seen() string {
	switch even := h.even(); {
	case h.Hottest.Mean > 0.9:
		return "One strong line: at any time, the load hits a single place, whatever is split."
	case h.Hottest.Peak > 0.99:
		return "A strong spot wherever a new bucket begins: all of the load hits a single place."
	case h.Hot && even < 1.5:
		return "An even color, but each key prefix takes more than a node writes."
	case h.Hot && h.Hottest.Mean < 0.5:
		return "A stronger stripe: one place takes " + percent(h.Hottest.Mean) +
			" of the load, and adding nodes does not spread it."
	case h.Hot:
		return "Strong lines: few places take the load, so adding nodes does not help."
	case even < 1.5:
		return "An even color: all parts of the key space share the load."
	}
	if h.Load != "writes" {
		return "Some stripes are stronger: single keys or prefixes take more than others."
	}
	return "Some stripes are stronger: single keys or prefixes take more than others, but no more than a node handles."
}

// hotspots shows how the loads of a table spread, if they are simulated.
func (b *builder) hotspots(of *document.Section, t *layout.Table) {
	if b.heat == nil {
		return
	}
	out := of.Section("hotspots, over the key space")
	all := b.heat[t]
	if len(all) == 0 {
		out.Say(fmt.Sprintf("Not simulated: only the first %d tables of an explanation are. Explain its schema by name.",
			mostSimulated))
		return
	}
	table := out.Table(document.Plain.Column(""), document.Plain.Column(""), document.Plain.Column(""))
	pictures := &document.Pictures{Note: "The share of the load in each part: keys from top to bottom, time from left " +
		"to right, in a stronger color for a larger share."}
	for i := range all {
		h := &all[i]
		row := table.Row(h, h.name(), h.sparkline(), h.words())
		if h.Hot {
			row.Style = document.Warning
		}
		pictures.All = append(pictures.All, h.draw())
	}
	h := &all[0]
	out.Note(fmt.Sprintf(`Counted with real keys, seed %d, in %d steps of %s and %d parts of the key space with equal
		numbers of keys. Bigtable splits a part that is hot, but not the end of a key prefix. Values without a cardinality
		are different in each series; strings are random, numbers consecutive.`,
		h.Seed, len(h.Bands[0]), h.Step, len(h.Bands)))
	out.Add(document.Part{Pictures: pictures})
}
