package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// results is the parsed output of benchmarks.
type results struct {
	machine string
	runs    int
	values  map[string]map[string][]float64 // by benchmark, such as Read/case=latest/path=best, and by unit
}

// lineError is the error for a line that no benchmark prints.
type lineError struct {
	line int
	text string
}

// Error quotes the line.
func (e *lineError) Error() string { return fmt.Sprintf("line %d: not a result: %q", e.line, e.text) }

// missingError is the error for a benchmark that was not run, or that lacks a unit.
type missingError struct{ benchmark, unit string }

// Error names the benchmark.
func (e *missingError) Error() string {
	return fmt.Sprintf("no %s of %s: measure again", e.unit, e.benchmark)
}

// parse parses the output of benchmarks, in benchstat format.
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

// add adds a result: a name, the number of iterations, and values with their units.
// It returns false if the line is not a result.
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

// median returns the median of a benchmark's results in a unit.
func (r *results) median(benchmark, unit string) (float64, error) {
	values := r.values[benchmark][unit]
	if len(values) == 0 {
		return 0, &missingError{benchmark, unit}
	}
	return median(values), nil
}

// ratio returns the median of the ratios of two benchmarks, each within a run, because what else the machine does affects both of them.
func (r *results) ratio(benchmark, to, unit string) (float64, error) {
	over, under := r.values[benchmark][unit], r.values[to][unit]
	if len(over) == 0 {
		return 0, &missingError{benchmark, unit}
	}
	if len(over) != len(under) {
		return 0, &missingError{to, unit}
	}
	ratios := make([]float64, len(over))
	for i := range ratios {
		ratios[i] = over[i] / under[i]
	}
	return median(ratios), nil
}

// median returns the median of values, of which there is at least one.
func median(values []float64) float64 {
	sorted, n := slices.Sorted(slices.Values(values)), len(values)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// medians computes medians and keeps the first error, after which all are 1.
type medians struct {
	results *results
	err     error
}

// get returns a median.
func (m *medians) get(benchmark, unit string) float64 {
	return m.known(m.results.median(benchmark, unit))
}

// ratio returns the median of the ratios of two benchmarks.
func (m *medians) ratio(benchmark, to, unit string) float64 {
	return m.known(m.results.ratio(benchmark, to, unit))
}

// known keeps the first error.
func (m *medians) known(v float64, err error) float64 {
	if m.err == nil {
		m.err = err
	}
	if err != nil {
		return 1
	}
	return v
}
