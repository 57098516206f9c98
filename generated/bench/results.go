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
	values := slices.Sorted(slices.Values(r.values[benchmark][unit]))
	n := len(values)
	if n == 0 {
		return 0, &missingError{benchmark, unit}
	}
	return (values[(n-1)/2] + values[n/2]) / 2, nil
}

// medians computes medians and keeps the first error, after which all are 1.
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
