package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
)

// record is a line of a CSV file.
type record struct {
	values []string
	err    error // the first value that cannot be parsed
}

// number parses the value of a column.
func (r *record) number(column int) float64 {
	v, err := strconv.ParseFloat(r.values[column], 64)
	r.err = errors.Join(r.err, err)
	return v
}

// time parses the time of a column, in UTC.
func (r *record) time(column int, layout string) time.Time {
	v, err := time.Parse(layout, r.values[column])
	r.err = errors.Join(r.err, err)
	return v
}

// load returns the events of a CSV file with a header and the given number of columns.
func load[E any](root, name string, columns int, event func(r *record) E) ([]E, error) {
	path := filepath.Join(root, "generated", "examples", "testdata", name)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.FieldsPerRecord = columns
	lines, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var events []E
	for i := 1; i < len(lines); i++ {
		r := &record{values: lines[i]}
		events = append(events, event(r))
		if r.err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, r.err)
		}
	}
	return events, nil
}

// loadHours returns the climate normals of each hour of a year in Seattle.
func loadHours(root string) ([]examples.NormalEvent, error) {
	return load(root, "seattle-weather-hourly-normals.csv", 4, func(r *record) examples.NormalEvent {
		return examples.NormalEvent{
			NormalSeries: examples.NormalSeries{Station: "seattle"},
			Time:         r.time(0, "2006-01-02T15:04:05"),
			Pressure:     r.number(1),
			Temperature:  r.number(2),
			Wind:         r.number(3),
		}
	})
}

// loadDays returns the weather of each day of four years in two cities.
func loadDays(root string) ([]examples.DailyEvent, error) {
	return load(root, "weather.csv", 7, func(r *record) examples.DailyEvent {
		e := examples.DailyEvent{
			DailySeries:   examples.DailySeries{Location: r.values[0]},
			Time:          r.time(1, time.DateOnly),
			Precipitation: r.number(2),
			TempMax:       r.number(3),
			TempMin:       r.number(4),
			Wind:          float32(r.number(5)),
		}
		r.err = errors.Join(r.err, e.Weather.UnmarshalText([]byte(r.values[6])))
		return e
	})
}
