package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// fleetBegin is when the readings of a fleet begin, as do those of TSBS.
var fleetBegin = time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)

// fleetStep is the time between the readings of a host, as with TSBS.
const fleetStep = 10 * time.Second

// fleetFields are the fields of [examples.UsageEvent], which begin at fieldIndex.
var fleetFields = []string{
	"usage_user", "usage_system", "usage_idle", "usage_nice", "usage_iowait", "usage_irq", "usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice",
}

// fieldIndex is the index of the first field in an event or a window.
const fieldIndex = 2

// fleet is a fleet of hosts as TSBS's documentation describes it: each has tags that stay, and
// readings, whose ten values each follow a random walk between 0 and 100.
type fleet struct {
	hosts  []examples.UsageSeries
	step   time.Duration // between readings of a host
	steps  int           // readings of each host
	values []float64     // by host, step and field
}

// newFleet returns a fleet, which is always the same.
func newFleet(hosts int, span, step time.Duration) *fleet {
	f := &fleet{step: step, steps: int(span / step)}
	f.values = make([]float64, 0, hosts*f.steps*len(fleetFields))
	for host := range hosts {
		random := rand.New(rand.NewPCG(29, uint64(host)))
		f.hosts = append(f.hosts, hostTags(host, random))
		var walk [10]float64
		for i := range walk {
			walk[i] = 100 * random.Float64()
		}
		for range f.steps {
			f.values = append(f.values, walk[:]...)
			for i := range walk {
				walk[i] = min(max(walk[i]+random.NormFloat64(), 0), 100)
			}
		}
	}
	return f
}

// hostTags returns the tags of a host.
func hostTags(host int, random *rand.Rand) examples.UsageSeries {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	region := one("ap-northeast-1", "eu-central-1", "eu-west-1", "sa-east-1", "us-east-1", "us-west-2")
	return examples.UsageSeries{
		Hostname:           fmt.Sprintf("host_%d", host),
		Region:             region,
		Datacenter:         region + one("a", "b", "c"),
		Rack:               strconv.Itoa(random.IntN(100)),
		OS:                 one("Ubuntu15.10", "Ubuntu16.04LTS", "Ubuntu16.10"),
		Arch:               one("x64", "x86"),
		Team:               one("CHI", "LON", "NYC", "SF"),
		Service:            strconv.Itoa(random.IntN(20)),
		ServiceVersion:     one("0", "1"),
		ServiceEnvironment: one("production", "staging", "test"),
	}
}

// end returns the end of the readings.
func (f *fleet) end() time.Time { return fleetBegin.Add(time.Duration(f.steps) * f.step) }

// at returns the time of a reading.
func (f *fleet) at(step int) time.Time { return fleetBegin.Add(time.Duration(step) * f.step) }

// reading returns the values of a reading, in the order of fleetFields.
func (f *fleet) reading(host, step int) []float64 {
	begin := (host*f.steps + step) * len(fleetFields)
	return f.values[begin:][:len(fleetFields)]
}

// isBusy reports whether a reading of a host in a range of time is above the threshold.
func (f *fleet) isBusy(s examples.UsageSeries, from, to time.Time) bool {
	host := slices.Index(f.hosts, s)
	for step := range f.steps {
		if at := f.at(step); !at.Before(from) && at.Before(to) && f.reading(host, step)[0] > threshold {
			return true
		}
	}
	return false
}

// event returns a reading as an event.
func (f *fleet) event(host, step int) examples.UsageEvent {
	e := examples.UsageEvent{UsageSeries: f.hosts[host], Time: f.at(step)}
	for i, v := range f.reading(host, step) {
		reflect.ValueOf(&e).Elem().Field(fieldIndex + i).SetFloat(v)
	}
	return e
}

// fleetSalts is the number of salts in the keys of schema cpu.
const fleetSalts = 8

// tables returns the tables of schema cpu.
func (f *fleet) tables() map[string]table {
	var salts [fleetSalts][]taggedHost
	for host, s := range f.hosts {
		salt := codec.Salt(fleetSalts, s.Hostname)
		salts[salt] = append(salts[salt], taggedHost{host, tagsOf(s)})
	}
	for _, hosts := range salts {
		slices.SortFunc(hosts, func(a, b taggedHost) int { return strings.Compare(a.tags, b.tags) })
	}
	return map[string]table{
		"cpu":          fleetTable{f, salts, int(time.Hour / f.step), func(t time.Time) string { return t.Format("2006-01-02T15") }},
		"cpu_readings": fleetTable{f, salts, 1, func(t time.Time) string { return fmt.Sprintf("%010d", t.Unix()) }},
	}
}

// fleetTable is a table whose rows are generated when they are read.
type fleetTable struct {
	*fleet
	salts  [fleetSalts][]taggedHost // in the order of row keys
	each   int                      // readings of a row
	format func(t time.Time) string // in row keys
}

// taggedHost is a host with the part of row keys after the time.
type taggedHost struct {
	host int
	tags string
}

// times returns the number of rows of a host.
func (t fleetTable) times() int { return (t.steps + t.each - 1) / t.each }

// Len implements [table].
func (t fleetTable) Len() int { return len(t.hosts) * t.times() }

// Row implements [table].
func (t fleetTable) Row(i int) row {
	for salt, hosts := range t.salts {
		if n := len(hosts) * t.times(); i >= n {
			i -= n
			continue
		}
		begin, of := i/len(hosts)*t.each, hosts[i%len(hosts)]
		key := fmt.Sprintf("%d#%s#%s", salt, t.format(t.at(begin)), of.tags)
		return row{key, func() []inmemory.Cell { return t.cells(of.host, begin, min(begin+t.each, t.steps)) }}
	}
	return row{}
}

// tagsOf returns the part of row keys after the time.
func tagsOf(s examples.UsageSeries) string {
	var tags []string
	for i := range reflect.TypeOf(s).NumField() {
		tags = append(tags, reflect.ValueOf(s).Field(i).String())
	}
	return strings.Join(tags, "#")
}

// cells returns the cells of readings in a row, by column, the newest one of each first.
func (f *fleet) cells(host, begin, end int) []inmemory.Cell {
	out := make([]inmemory.Cell, 0, (end-begin)*len(fleetFields))
	values := make([]byte, 0, 8*cap(out))
	for _, name := range slices.Sorted(slices.Values(fleetFields)) {
		i := slices.Index(fleetFields, name)
		for step := end - 1; step >= begin; step-- {
			values = binary.BigEndian.AppendUint64(values, math.Float64bits(f.reading(host, step)[i]))
			out = append(out, inmemory.Cell{Family: "m", Qualifier: name, Micros: f.at(step).UnixMicro(), Value: values[len(values)-8:]})
		}
	}
	return out
}
