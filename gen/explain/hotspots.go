package explain

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/hotspot"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Heat is a simulation of a load on a table. Shares are from 0 to 1.
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

// design is a key for a table.
type design struct {
	name  string
	table *layout.Table
}

// simulation is a simulation that has not run.
type simulation struct {
	l     *layout.Layout
	table *layout.Table
	load  hotspot.Load
	heat  Heat  // what is known of the outcome
	out   *Heat // where the outcome is stored
}

// simulationsOf returns the simulations of the load of a table: of its writes, of those with the
// alternatives to its key, and of its declared reads.
func simulationsOf(l *layout.Layout, t *layout.Table) []simulation {
	designs := []design{{"as declared", t}}
	if !hotspot.InOnePlace(l, t) && !t.Endless() {
		designs = append(designs, design{"time first", hotspot.TimeFirst(t)})
	}
	if !hotspot.IsSalted(t) {
		designs = append(designs, design{fmt.Sprintf("salted, %d buckets", assumedSalt), hotspot.Salted(l, t, assumedSalt)})
	}
	load := hotspot.Load{Load: l.Load(), Seed: hotspot.Seed}
	var out []simulation
	for i, d := range designs {
		out = append(out, simulation{l: l, table: d.table, load: load, heat: Heat{Load: "writes", Design: d.name, Chosen: i == 0}})
	}
	if hotspot.NewShare(l, t, load.Load) >= hotspot.HotShare && !t.Allows("K02") {
		sequential := load
		sequential.New = true
		out = append(out, simulation{l: l, table: t, load: sequential, heat: Heat{Load: "writes", Design: "new series, if the numbers are sequential"}})
	}
	for _, r := range l.Expect.Reads {
		if l.ReadTable(r.Method) != t {
			continue
		}
		if load.Range = r.Range; load.Range == 0 && r.Method != schema.LatestMethod {
			load.Range = capacity.AssumedRange
		}
		out = append(out, simulation{l: l, table: t, load: load, heat: Heat{Load: r.Method, Design: "as declared"}})
	}
	return out
}

// run runs the simulation and stores its outcome.
func (s *simulation) run() {
	r := hotspot.Simulate(s.l, s.table, s.load)
	h := s.heat
	h.Key, h.Seed, h.Hottest, h.Step = sample.ShowKey(s.table.Key.String()), s.load.Seed, rounded(r.Hottest), schema.FormatDuration(r.Width.Truncate(time.Second))
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

// rounded rounds shares to what is shown.
func rounded(s hotspot.Share) hotspot.Share {
	return hotspot.Share{Mean: math.Round(s.Mean*1e4) / 1e4, Peak: math.Round(s.Peak*1e4) / 1e4}
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

// heatWords says how the load of a simulation is spread.
func heatWords(h *Heat) string {
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

// heatName names a simulation.
func heatName(h *Heat) string {
	if h.Load == "writes" {
		return "writes, " + h.Design
	}
	return h.Load
}

// seen says what to see in the picture of a simulation.
func seen(h *Heat) string {
	switch even := h.even(); {
	case h.Hottest.Mean > 0.9:
		return "One strong line: at any time, the load hits a single place, whatever is split."
	case h.Hottest.Peak > 0.99:
		return "A strong spot wherever a new bucket begins: all of the load hits a single place."
	case h.Hot && even < 1.5:
		return "An even color, but each key prefix takes more than a node writes."
	case h.Hot && h.Hottest.Mean < 0.5:
		return "A stronger stripe: one place takes " + percent(h.Hottest.Mean) + " of the load, and adding nodes does not spread it."
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

// heatNote says what simulations assume.
func heatNote(t *Table) string {
	h := &t.Heat[0]
	return fmt.Sprintf("Counted with real keys, seed %d, in %d steps of %s and %d parts of the key space with equal numbers of keys. Bigtable splits a part that is hot, but not the end of a key prefix. Values without a cardinality are different in each series; strings are random, numbers consecutive.",
		h.Seed, len(h.Bands[0]), h.Step, len(h.Bands))
}

// notSimulated says why a table has no simulation.
var notSimulated = fmt.Sprintf("Not simulated: only the first %d tables of an explanation are. Explain its schema by name.", mostSimulated)

// heat writes a line with a sparkline for each simulation.
func (w *textWriter) heat(t *Table) {
	if t.NotSimulated {
		w.heading("hotspots, over the key space")
		w.wrapped("    ", plain, notSimulated)
	}
	if len(t.Heat) == 0 {
		return
	}
	w.heading("hotspots, over the key space")
	g := w.grid()
	for i := range t.Heat {
		h := &t.Heat[i]
		p := plain
		if h.Hot {
			p = warned
		}
		g.add(cell{text: heatName(h)}, cell{text: h.sparkline()}, cell{text: heatWords(h), paint: p})
	}
	g.write(&w.b, "    ")
	w.wrapped("    ", plain, heatNote(t))
}

// heat writes a table of simulations and, if the document has a name, refers to their picture.
func (w *markdownWriter) heat(s *Schema, t *Table) {
	if t.NotSimulated {
		w.section("Hotspots")
		w.paragraph(notSimulated)
	}
	if len(t.Heat) == 0 {
		return
	}
	w.section("Hotspots")
	var rows [][]string
	for i := range t.Heat {
		h := &t.Heat[i]
		rows = append(rows, []string{markdown(heatName(h)), code(h.Key), code(h.sparkline()), markdown(heatWords(h)), markdown(seen(h))})
	}
	w.table([]string{"load", "row key", "over the key space", "", "picture"}, rows)
	if w.pictures != "" {
		w.line("\n![%s](%s)", markdown(heatTitle(t)), pictureName(w.pictures, s, t))
	}
	w.paragraph(heatNote(t))
}

// heatTitle is the title of the picture of a table.
func heatTitle(t *Table) string {
	return "The load of table " + t.ID + ": keys from top to bottom, time from left to right, in a stronger color for a larger share"
}

// The measures of a picture, in pixels.
const (
	heatStep   = 7.0
	heatBand   = 6.0
	heatWidth  = 48*heatStep + 2
	heatHeight = 24*heatBand + 2
)

// heatRect is adjacent steps of a band with the same share.
type heatRect struct {
	X, Y, Width float64
	Level       byte
}

// drawHeat lays out the picture of a simulation.
func drawHeat(h *Heat) []heatRect {
	var out []heatRect
	for band, digits := range h.Bands {
		for step := 0; step < len(digits); {
			end := step + 1
			for end < len(digits) && digits[end] == digits[step] {
				end++
			}
			if digits[step] != '0' {
				out = append(out, heatRect{1 + float64(step)*heatStep, 1 + float64(band)*heatBand, float64(end-step) * heatStep, digits[step] - '0'})
			}
			step = end
		}
	}
	return out
}

// pictureName returns the name of the file of a table's picture.
func pictureName(prefix string, s *Schema, t *Table) string {
	return prefix + "." + s.anchor(t.ID) + ".svg"
}

// Pictures returns the pictures that [MarkdownWithPictures] refers to, by file name.
func Pictures(doc Document, prefix string) map[string][]byte {
	out := map[string][]byte{}
	for i := range doc.Schemas {
		s := &doc.Schemas[i]
		for j := range s.Tables {
			out[pictureName(prefix, s, &s.Tables[j])] = picture(&s.Tables[j])
		}
	}
	return out
}

// picture draws the simulations of a table below each other, in light or dark.
func picture(t *Table) []byte {
	var b bytes.Buffer
	each := heatHeight + 44
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\">\n", heatWidth+80, each*float64(len(t.Heat)), heatWidth+80, each*float64(len(t.Heat)))
	b.WriteString("<style>rect.h{fill:#cf222e}rect.f{fill:#fff;stroke:#d1d9e0}text{fill:#1f2328;font:12px sans-serif}@media(prefers-color-scheme:dark){rect.h{fill:#ff7b72}rect.f{fill:#0d1117;stroke:#3d444d}text{fill:#e6edf3}}</style>\n")
	for i := range t.Heat {
		h := &t.Heat[i]
		y := each * float64(i)
		fmt.Fprintf(&b, "<text x=\"1\" y=\"%g\">%s</text>\n", y+14, html.EscapeString(cut(heatName(h)+": hottest part "+percent(h.Hottest.Mean), 58)))
		fmt.Fprintf(&b, "<g transform=\"translate(0 %g)\"><rect class=\"f\" width=\"%g\" height=\"%g\"/>\n", y+20, heatWidth, heatHeight)
		for _, r := range drawHeat(h) {
			fmt.Fprintf(&b, "<rect class=\"h\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill-opacity=\"%.2f\"/>\n", r.X, r.Y, r.Width, heatBand, opacityOf(r.Level))
		}
		fmt.Fprintf(&b, "<text x=\"%g\" y=\"12\">first keys</text><text x=\"%g\" y=\"%g\">last keys</text></g>\n", heatWidth+6, heatWidth+6, heatHeight-2)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// opacityOf returns the opacity of a level from 1 to 9.
func opacityOf(level byte) float64 { return float64(level) / 9 }
