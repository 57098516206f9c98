package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShown checks that the manual and the plot show the latest results.
func TestShown(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{raw, readme, manual, picture} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	got := shown{files[readme], files[manual], files[picture]}
	want, err := render(files[raw], got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(shown{})); diff != "" {
		t.Errorf("go run %s -render would change (-want +got)\n%s", pkg, diff)
	}
}

func TestParse(t *testing.T) {
	got, err := parse(`goos: linux
cpu: A Processor
BenchmarkRead/case=a-b/path=best-16    5   30 cpu-ns/event   2.5 allocs/op
BenchmarkRead/case=a-b/path=wire    5   7 cpu-ns/event
PASS
BenchmarkRead/case=a-b/path=best-16    5   10 cpu-ns/event   2 allocs/op
PASS
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &results{machine: "A Processor", runs: 2, values: map[string]map[string][]float64{
		"Read/case=a-b/path=best": {"cpu-ns/event": {30, 10}, "allocs/op": {2.5, 2}},
		"Read/case=a-b/path=wire": {"cpu-ns/event": {7}},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(results{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{"BenchmarkRead", "BenchmarkRead 5 30", "BenchmarkRead 5 x ns/op", "BenchmarkRead 5 30 ns/op 2"} {
		_, err := parse("PASS\n" + line)
		if want := (&lineError{2, line}).Error(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRatio checks that ratios are those within runs.
func TestRatio(t *testing.T) {
	r := &results{values: map[string]map[string][]float64{"A": {"ns": {1, 20, 6}}, "B": {"ns": {2, 10, 2}}, "C": {"ns": {1}}}}
	if got, err := r.ratio("A", "B", "ns"); err != nil || got != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for _, to := range []string{"C", "D"} {
		if _, err := r.ratio("A", to, "ns"); err == nil {
			t.Errorf("a ratio to %s", to)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{8, 1, 4, 2}, 3},
	} {
		r := &results{values: map[string]map[string][]float64{"A": {"ns": c.values}}}
		if got, err := r.median("A", "ns"); err != nil || got != c.want {
			t.Errorf("median of %v is %v, %v; want %v", c.values, got, err, c.want)
		}
		_, err := r.median("A", "bytes")
		var missing *missingError
		if !errors.As(err, &missing) || *missing != (missingError{"A", "bytes"}) {
			t.Error(err)
		}
	}
}

// invented returns made-up results of all benchmarks: the cost of an event on each path.
func invented(costs map[string]int) string {
	var b strings.Builder
	line := func(name string, ns int) {
		fmt.Fprintf(&b, "Benchmark%s 1 %d %s %d %s 1234 %s 1.25 %s\n", name, ns, perEvent, ns, perCell, allocs, heldMB)
	}
	for _, g := range [][]benchCase{patternCases, otherReads, writesShown} {
		for _, c := range g {
			for _, path := range []string{"common", "best", "ordinary", "wire", "ordinary-columns", "ordinary-events", "wire-columns", "wire-events", "transport"} {
				line(c.benchmark+"/path="+path, costs[path])
			}
		}
	}
	line(windowColumns, 100)
	line(windowHours, 115)
	fmt.Fprintf(&b, "Benchmark%s 1 1.75 %s 1.8 %s\n", windowParts, speedup, speedupApart)
	for _, s := range spans {
		for _, path := range []string{"best", "wire-columns", "wire-events"} {
			line("Scale/span="+s.name+"/path="+path, costs[path])
		}
	}
	return b.String()
}

// inventedCosts are round numbers.
var inventedCosts = map[string]int{
	"common": 8000, "best": 4000, "ordinary": 5000, "ordinary-columns": 5000, "ordinary-events": 4000,
	"wire": 1000, "wire-columns": 100, "wire-events": 200, "transport": 50,
}

// emptyPages are pages with markers but no tables.
func emptyPages() shown {
	return shown{readme: costMarks.begin + costMarks.end, manual: tableMarks.begin + tableMarks.end}
}

func TestRender(t *testing.T) {
	pages := shown{
		readme: "# Readme\n" + costMarks.begin + "old\n" + costMarks.end + "\nMore.\n",
		manual: "# Title\n" + tableMarks.begin + "old\n" + tableMarks.end + "\nThe end.\n",
	}
	out, err := render(invented(inventedCosts), pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Title\n" + tableMarks.begin + "Medians of ",
		"| `bucket_serialized` | `ReadColumns` | 0.5 | 0.8 | **40** |  | 1,234 | 1,234 | 2.0 |\n|  | `Read` |  | 1.0 | **20** |  | 1,234 | 1,234 | 4.0 |\n",
		"| one event | `Write` | 0.5 | 0.8 | **4.0** |  | 1,234 | 1,234 | 20 |\n",
		"| 1,000,000 events; by hand, one at a time | `Batcher` | 0.5 | 0.8 | **4.0** | ≥ 15 | 123,400 | 1,234 | 20 |\n",
		"to that of `ReadColumns` | 1.15 |\n",
		"two separate queries | 1.8; 1.8 |\n",
		"| 4 weeks | 4,000 | 100 | 200 | 1.2 MB |\n",
		tableMarks.end + "\nThe end.\n",
	} {
		if !strings.Contains(out.manual, want) {
			t.Errorf("no %q in\n%s", want, out.manual)
		}
	}
	for _, want := range []string{
		"# Readme\n" + costMarks.begin + "| client CPU time",
		"| read a week of one-minute events | 100% | 100% | **5%** |\n",
		"| write one event | 100% | 125% | **25%** |\n" + costMarks.end + "\nMore.\n",
	} {
		if !strings.Contains(out.readme, want) {
			t.Errorf("no %q in\n%s", want, out.readme)
		}
	}
	again, err := render(invented(inventedCosts), out)
	if err != nil || again != out {
		t.Errorf("rendered again it is not the same: %v", err)
	}
}

func TestRenderRefuses(t *testing.T) {
	whole := invented(inventedCosts)
	var missing *missingError
	if _, err := render(strings.Replace(whole, "span=13w", "span=14w", 1), emptyPages()); !errors.As(err, &missing) {
		t.Errorf("%v for results without a benchmark", err)
	}
	pages := emptyPages()
	pages.manual = tableMarks.begin
	if _, err := render(whole, pages); !errors.Is(err, markError{manual, tableMarks}) {
		t.Errorf("%v for a manual without the end of the tables", err)
	}
	pages = emptyPages()
	pages.readme = ""
	if _, err := render(whole, pages); !errors.Is(err, markError{readme, costMarks}) {
		t.Errorf("%v for a README without a place for the table", err)
	}
}

// TestPlot checks that marks are at their values on the axis.
func TestPlot(t *testing.T) {
	out, err := render(invented(inventedCosts), emptyPages())
	if err != nil {
		t.Fatal(err)
	}
	var image struct {
		Texts []struct {
			X    float64 `xml:"x,attr"`
			Text string  `xml:",chardata"`
		} `xml:"text"`
		Circles []struct {
			X     float64 `xml:"cx,attr"`
			Class string  `xml:"class,attr"`
		} `xml:"circle"`
	}
	if err := xml.Unmarshal([]byte(out.picture), &image); err != nil {
		t.Fatal(err)
	}
	axis := map[string]float64{}
	for _, text := range image.Texts {
		axis[text.Text] = text.X
	}
	circles := map[string][]float64{}
	for _, c := range image.Circles {
		circles[c.Class] = append(circles[c.Class], c.X)
	}
	decade := axis["1 µs"] - axis["100 ns"]
	for class, want := range map[string]float64{
		"ordinary": axis["1 µs"] + decade*math.Log10(5),
		"columns":  axis["100 ns"],
		"events":   axis["100 ns"] + decade*math.Log10(2),
	} {
		if len(circles[class]) < 2 || math.Abs(circles[class][1]-want) > 0.2 { // the first is in the legend
			t.Errorf("%s are at %v, want %v", class, circles[class], want)
		}
	}
}
