package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// results are what benchmarks have printed.
type results struct {
	machine string
	runs    int
	values  map[string]map[string][]float64 // by benchmark, such as Read/case=latest/path=best, and by unit
}

// lineError is a line that is not what a benchmark prints.
type lineError struct {
	line int
	text string
}

// Error shows the line.
func (e *lineError) Error() string { return fmt.Sprintf("line %d: not a result: %q", e.line, e.text) }

// missingError is a benchmark that has not been run, or a unit that it does not have.
type missingError struct{ benchmark, unit string }

// Error names the benchmark.
func (e *missingError) Error() string {
	return fmt.Sprintf("no %s of %s: measure again", e.unit, e.benchmark)
}

// parse takes apart what benchmarks have printed: their form is that of benchstat.
func parse(text string) (*results, error) {
	r := &results{values: map[string]map[string][]float64{}}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "cpu: "):
			r.machine = strings.TrimPrefix(line, "cpu: ")
		case strings.HasPrefix(line, "PASS"):
			r.runs++
		case strings.HasPrefix(line, "Benchmark"):
			if !r.add(strings.Fields(strings.TrimPrefix(line, "Benchmark"))) {
				return nil, &lineError{i + 1, line}
			}
		}
	}
	return r, nil
}

// add adds a result: a name, how often it ran, and values with their units. It
// returns false if it is none.
func (r *results) add(fields []string) bool {
	if len(fields) < 4 || len(fields)%2 != 0 {
		return false
	}
	name := fields[0]
	if cut := strings.LastIndexByte(name, '-'); cut >= 0 {
		if _, err := strconv.Atoi(name[cut+1:]); err == nil {
			name = name[:cut] // without the number of processors
		}
	}
	if r.values[name] == nil {
		r.values[name] = map[string][]float64{}
	}
	for i := 2; i < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return false
		}
		r.values[name][fields[i+1]] = append(r.values[name][fields[i+1]], value)
	}
	return true
}

// median returns the median of what was measured of a benchmark in a unit.
func (r *results) median(benchmark, unit string) (float64, error) {
	values := slices.Sorted(slices.Values(r.values[benchmark][unit]))
	n := len(values)
	if n == 0 {
		return 0, &missingError{benchmark, unit}
	}
	return (values[(n-1)/2] + values[n/2]) / 2, nil
}

// medians takes medians, and keeps the first error: after it, all are 1.
type medians struct {
	results *results
	err     error
}

// get returns a median.
func (m *medians) get(benchmark, unit string) float64 {
	v, err := m.results.median(benchmark, unit)
	if m.err == nil {
		m.err = err
	}
	if err != nil {
		return 1
	}
	return v
}
