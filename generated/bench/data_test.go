package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/generated/bench/balloonpb"
	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The times of the stored data: a balloon reports once a minute for the 52 weeks
// that its tables keep, and everything is read as of the last of these minutes.
var (
	origin = time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)
	end    = origin.Add(weeks * week)
	now    = end.Add(-30 * time.Second)
)

const weeks = 52

// The series that is read, and the number of hosts with the metric.
const (
	location = "us-west2"
	balloon  = 3698
	metric   = "cpu.load"
	metricID = 1
	salts    = 16
	// saltedHosts is the number of hosts in the salted table, and hosts the number in the other.
	saltedHosts = 160
	hosts       = 1000
)

// family is the family of the balloons' tables.
const family = "measurements"

// reading is a report of a balloon, the event that all balloon patterns store.
type reading struct {
	time        time.Time
	pressure    int64
	temperature float64
	humidity    int64
	altitude    int64
}

// readingAt returns the report of the balloon at a time.
func readingAt(t time.Time) reading {
	n := int64(t.Sub(origin) / time.Minute)
	return reading{
		time:        t,
		pressure:    94_000 + n*7919%2000,
		temperature: float64(n*31%200) / 10,
		humidity:    40 + n/7%50,
		altitude:    600 + n*13%400,
	}
}

// readings returns the reports of the balloon with from <= time < to.
func readings(from, to time.Time) []reading {
	var out []reading
	for t := from; t.Before(to); t = t.Add(time.Minute) {
		out = append(out, readingAt(t))
	}
	return out
}

// sample is a value of a metric of a host. Hosts are numbered in row key order.
type sample struct {
	host  int
	time  time.Time
	value float64
}

// sampleAt returns the sample of a host at a time.
func sampleAt(host int, t time.Time) sample {
	return sample{host, t, float64((t.Unix()/60+int64(host)*37)%1000) / 8}
}

// samples returns the samples of hosts with from <= time < to, one a minute, by
// hour, host and time.
func samples(first, hosts int, from, to time.Time) []sample {
	var out []sample
	for hour := from.Truncate(time.Hour); hour.Before(to); hour = hour.Add(time.Hour) {
		for host := first; host < first+hosts; host++ {
			for t := hour; t.Before(hour.Add(time.Hour)); t = t.Add(time.Minute) {
				if !t.Before(from) && t.Before(to) {
					out = append(out, sampleAt(host, t))
				}
			}
		}
	}
	return out
}

// hostName returns the name of a host.
func hostName(host int) string { return fmt.Sprintf("web-%03d", host) }

// tables returns the stored tables, whose rows are generated when they are read. Tables whose
// rows are single events or hours contain at most the last two weeks.
func tables() map[string]table {
	all := map[string]rows{"daily_cells": cities()}
	add := func(table, key string, cells func() []inmemory.Cell) {
		all[table] = append(all[table], row{key, cells})
	}
	for w := range weeks {
		start := origin.Add(time.Duration(w) * week)
		of := func(cells func([]reading) []inmemory.Cell) func() []inmemory.Cell {
			return func() []inmemory.Cell { return cells(readings(start, start.Add(week))) }
		}
		add("balloon_new_cells", fmt.Sprintf("us-west2#3698#week%d", w+1), of(newCells))
		add("balloon_combined", fmt.Sprintf("us-west2#3698#week%04d", w+1), of(blobs))
		for _, f := range balloonFields {
			add("balloon_new_columns", fmt.Sprintf("us-west2#3698#%s#week%d", f.name, w+1), of(f.newColumns))
		}
	}
	for _, r := range readings(end.Add(-2*week), end) {
		key := "us-west2#3698#" + r.time.Format("2006-01-02-1504")
		add("balloon_unserialized", key, func() []inmemory.Cell { return newCells([]reading{r}) })
		add("balloon_serialized", key, func() []inmemory.Cell { return blobs([]reading{r}) })
	}
	for host := range hosts {
		since := end.Add(-2 * time.Hour)
		if host == 0 {
			since = end.Add(-week - time.Hour)
		}
		for hour := since; hour.Before(end); hour = hour.Add(time.Hour) {
			key := strconv.AppendInt(binary.BigEndian.AppendUint32(nil, metricID), hour.Unix(), 10)
			add("points", string(binary.BigEndian.AppendUint32(key, uint32(host))), func() []inmemory.Cell { return offsets("t", host, hour) })
			if host < saltedHosts {
				add("samples", fmt.Sprintf("%02d#%s#%s#%s", codec.Salt(salts, metric, hostName(host)), metric, hour.Format("2006-01-02T15"), hostName(host)),
					func() []inmemory.Cell { return offsets("m", host, hour) })
			}
		}
	}
	return sorted(all)
}

// sorted returns tables in memory, with their rows in order.
func sorted(all map[string]rows) map[string]table {
	out := map[string]table{}
	for name, rows := range all {
		slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.key, b.key) })
		out[name] = rows
	}
	return out
}

// field is the column name and the text of a field of a reading.
type field struct {
	name string
	text func(r reading) string
}

// balloonFields are in the order of their columns.
var balloonFields = []field{
	{"altitude", func(r reading) string { return strconv.FormatInt(r.altitude, 10) }},
	{"humidity", func(r reading) string { return strconv.FormatInt(r.humidity, 10) }},
	{"pressure", func(r reading) string { return strconv.FormatInt(r.pressure, 10) }},
	{"temperature", func(r reading) string { return strconv.FormatFloat(r.temperature, 'f', -1, 64) }},
}

// newCells returns the cells of readings with a column for each field.
func newCells(readings []reading) []inmemory.Cell {
	var out []inmemory.Cell
	for _, f := range balloonFields {
		for _, r := range slices.Backward(readings) {
			out = append(out, inmemory.Cell{Family: family, Qualifier: f.name, Micros: r.time.UnixMicro(), Value: []byte(f.text(r))})
		}
	}
	return out
}

// newColumns returns the cells of readings with a column for each value of a field.
func (f field) newColumns(readings []reading) []inmemory.Cell {
	var out []inmemory.Cell
	for _, r := range slices.Backward(readings) {
		out = append(out, inmemory.Cell{Family: family, Qualifier: f.text(r), Micros: r.time.UnixMicro()})
	}
	slices.SortStableFunc(out, func(a, b inmemory.Cell) int { return strings.Compare(a.Qualifier, b.Qualifier) })
	return out
}

// blobs returns the cells of readings in one column, as protobuf messages.
func blobs(readings []reading) []inmemory.Cell {
	var out []inmemory.Cell
	for _, r := range slices.Backward(readings) {
		blob, err := proto.Marshal(&balloonpb.BalloonSerialized{Pressure: r.pressure, Temperature: r.temperature, Humidity: r.humidity, Altitude: r.altitude})
		if err != nil {
			return nil // the tests of reads fail
		}
		out = append(out, inmemory.Cell{Family: family, Qualifier: "measurements_blob", Micros: r.time.UnixMicro(), Value: blob})
	}
	return out
}

// offsets returns the cells of an hour of samples, in columns that are named after the seconds
// since the start of the hour.
func offsets(family string, host int, hour time.Time) []inmemory.Cell {
	var out []inmemory.Cell
	for _, s := range samples(host, 1, hour, hour.Add(time.Hour)) {
		offset := binary.BigEndian.AppendUint16(nil, uint16(s.time.Sub(hour)/time.Second))
		value := binary.BigEndian.AppendUint64(nil, math.Float64bits(s.value))
		out = append(out, inmemory.Cell{Family: family, Qualifier: string(offset), Micros: s.time.UnixMicro(), Value: value})
	}
	return out
}
