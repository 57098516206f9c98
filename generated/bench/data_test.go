package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// The times of the stored data: a balloon reports once a minute for the 52 weeks
// that its tables keep, and everything is read as of the last of these minutes.
var (
	origin = time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)
	end    = origin.Add(weeks * week)
	now    = end.Add(-30 * time.Second)
)

const (
	weeks = 52
	week  = 7 * 24 * time.Hour
)

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

// newLayout is the time since which balloon_layouts has its newest layout.
var newLayout = time.Date(2021, 3, 29, 0, 0, 0, 0, time.UTC)

// tables returns the stored tables, whose rows are generated when they are read. Tables whose
// rows are single events or hours contain at most the last two weeks.
func tables() map[string]table {
	out := map[string]rows{}
	for w := range weeks {
		start := origin.Add(time.Duration(w) * week)
		cellsOf := func(cells func([]reading) []cell) func() []cell {
			return func() []cell { return cells(readings(start, start.Add(week))) }
		}
		name := func(format string, a ...any) string { return fmt.Sprintf("us-west2#3698#"+format, a...) }
		out["balloon_new_cells"] = append(out["balloon_new_cells"], row{name("week%d", w+1), family, cellsOf(newCells)})
		if !start.Before(newLayout) {
			out["balloon_layouts"] = append(out["balloon_layouts"], row{name("week%d", w+1), family, cellsOf(newCells)})
		}
		out["balloon_combined"] = append(out["balloon_combined"], row{name("week%04d", w+1), family, cellsOf(blobs)})
		for _, f := range balloonFields {
			out["balloon_new_columns"] = append(out["balloon_new_columns"], row{name("%s#week%d", f.name, w+1), family, cellsOf(f.newColumns)})
		}
	}
	for _, r := range readings(end.Add(-2*week), end) {
		key := "us-west2#3698#" + r.time.Format("2006-01-02-1504")
		out["balloon_unserialized"] = append(out["balloon_unserialized"], row{key, family, func() []cell { return newCells([]reading{r}) }})
		out["balloon_serialized"] = append(out["balloon_serialized"], row{key, family, func() []cell { return blobs([]reading{r}) }})
	}
	out["samples"] = saltedRows()
	out["points"] = pointRows()
	out["daily_cells"] = cities()
	for _, rows := range out {
		slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.key, b.key) })
	}
	return inMemory(out)
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
func newCells(readings []reading) []cell {
	var out []cell
	for _, f := range balloonFields {
		for _, r := range slices.Backward(readings) {
			out = append(out, cell{f.name, r.time.UnixMicro(), []byte(f.text(r)), ""})
		}
	}
	return out
}

// newColumns returns the cells of readings with a column for each value of a field.
func (f field) newColumns(readings []reading) []cell {
	var out []cell
	for _, r := range slices.Backward(readings) {
		out = append(out, cell{f.text(r), r.time.UnixMicro(), nil, ""})
	}
	slices.SortStableFunc(out, func(a, b cell) int { return strings.Compare(a.qualifier, b.qualifier) })
	return out
}

// blobs returns the cells of readings in one column, as protobuf messages.
func blobs(readings []reading) []cell {
	var out []cell
	for _, r := range slices.Backward(readings) {
		blob := protowire.AppendTag(nil, 1, protowire.VarintType)
		blob = protowire.AppendVarint(blob, uint64(r.pressure))
		if r.temperature != 0 { // what is zero is not written
			blob = protowire.AppendTag(blob, 2, protowire.Fixed64Type)
			blob = protowire.AppendFixed64(blob, math.Float64bits(r.temperature))
		}
		blob = protowire.AppendTag(blob, 3, protowire.VarintType)
		blob = protowire.AppendVarint(blob, uint64(r.humidity))
		blob = protowire.AppendTag(blob, 4, protowire.VarintType)
		blob = protowire.AppendVarint(blob, uint64(r.altitude))
		out = append(out, cell{"measurements_blob", r.time.UnixMicro(), blob, ""})
	}
	return out
}

// saltedRows returns the rows of table samples: the first host has the last week
// and the hour before, the others the last two hours.
func saltedRows() []row {
	var out []row
	for host := range saltedHosts {
		since := end.Add(-2 * time.Hour)
		if host == 0 {
			since = end.Add(-week - time.Hour)
		}
		for hour := since; hour.Before(end); hour = hour.Add(time.Hour) {
			key := fmt.Sprintf("%02d#%s#%s#%s", codec.Salt(salts, metric, hostName(host)), metric, hour.Format("2006-01-02T15"), hostName(host))
			out = append(out, row{key, "m", func() []cell { return offsets(host, hour) }})
		}
	}
	return out
}

// pointRows returns the rows of table points: two hours of each host.
func pointRows() []row {
	var out []row
	for hour := end.Add(-2 * time.Hour); hour.Before(end); hour = hour.Add(time.Hour) {
		for host := range hosts {
			key := binary.BigEndian.AppendUint32(nil, metricID)
			key = strconv.AppendInt(key, hour.Unix(), 10)
			key = binary.BigEndian.AppendUint32(key, uint32(host))
			out = append(out, row{string(key), "t", func() []cell { return offsets(host, hour) }})
		}
	}
	return out
}

// offsets returns the cells of an hour of samples, in columns that are named after the seconds
// since the start of the hour.
func offsets(host int, hour time.Time) []cell {
	var out []cell
	for _, s := range samples(host, 1, hour, hour.Add(time.Hour)) {
		offset := binary.BigEndian.AppendUint16(nil, uint16(s.time.Sub(hour)/time.Second))
		out = append(out, cell{string(offset), s.time.UnixMicro(), binary.BigEndian.AppendUint64(nil, math.Float64bits(s.value)), ""})
	}
	return out
}
