package schema

import (
	"math"
	"regexp"
	"strconv"

	"github.com/btgen-dev/btgen/runtime/window"
)

// Sketch is a summary of the numbers of a field in a window, beside the statistics that all numbers have: a key of the
// field asks for it. Package window folds it, and all else about it is here.
type Sketch struct {
	Key     string                              // of a field in schemas, and in btgen.lock
	Go      string                              // its type in package window
	With    func(of window.Part) window.Part    // adds it to the part of a field
	Width   func(values float64) Widths         // of one of some values in a rollup, in bytes
	Plural  string                              // what its statistics are
	Written string                              // how one of them is written
	Usual   []string                            // some of these names, to choose from
	Unknown string                              // why a window with values may not have its statistics
	Parse   func(name string) (int, bool)       // returns a statistic, less than 1<<24, by its name
	Name    func(statistic int) string          // returns the name of a statistic
	Value   func(of any, statistic int) float64 // returns a statistic of a pointer to one; NaN if it is unknown
	Exact   map[int]string                      // statistics that all numbers have by another name: of integers, these are exact
}

// Sketches says which of AllSketches a field has.
type Sketches [len(AllSketches)]bool

// All returns the sketches of a field, in the order in which windows have them.
func (s Sketches) All() (all []*Sketch) {
	for i, has := range s {
		if has {
			all = append(all, &AllSketches[i])
		}
	}
	return all
}

// AllSketches lists the sketches.
var AllSketches = [...]Sketch{{
	Key: "quantiles", Go: "Quantiles",
	With: window.With[window.Quantiles], Width: quantilesWidth,
	Plural: "percentiles", Written: "a percentile such as p99.9", Usual: []string{"p50", "p90", "p99"},
	Unknown: "a rollup has them from before the field had quantiles, or values are over more than 256 powers of two",
	Parse:   parsePercentile,
	Name:    func(millionths int) string { return "p" + strconv.FormatFloat(float64(millionths)/1e4, 'f', -1, 64) },
	Value: func(of any, millionths int) float64 {
		return of.(*window.Quantiles).Quantile(float64(millionths) / 1e6)
	},
	Exact: map[int]string{0: "min", 1e6: "max"},
}}

// quantilesWidth returns the size of the counts for quantiles of some values: 2 bytes for each bucket of numbers.
// Typically, the numbers are over a power of two.
func quantilesWidth(values float64) Widths {
	const header, bucket, most, octave = 3, 2, 16384, 64
	return Widths{header + bucket, header + bucket*min(values, octave), header + 2*bucket*min(values, most)}
}

var percentile = regexp.MustCompile(`^p(100|[0-9]{1,2}(?:\.[0-9]{1,4})?)$`)

// parsePercentile parses the name of a percentile, which is a number of millionths.
func parsePercentile(name string) (int, bool) {
	m := percentile.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	percent, _ := strconv.ParseFloat(m[1], 64)
	return int(math.Round(percent * 1e4)), true
}

// sketchKeys returns the keys that ask for sketches.
func sketchKeys() (keys []key[Field]) {
	for i := range AllSketches {
		k := set(AllSketches[i].Key, boolean, func(f *Field) *bool { return &f.Sketches[i] })
		keys = append(keys, k.ofTypes(Type.Measures, "sketch-of-other-type"))
	}
	return keys
}
