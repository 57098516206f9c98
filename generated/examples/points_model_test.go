package examples_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// modelPoint is a data point as a TSD encodes it.
type modelPoint struct {
	at               time.Duration // since the start of the first hour
	value            float64
	qualifier, datum string
}

// modelCell is a cell with data points, in the order in which it has them.
type modelCell struct {
	stamp  int // seconds after noon
	points []modelPoint
}

// pointsModel is what TSDs and writers have stored of a series: per hour, cells by qualifier.
type pointsModel struct {
	t      *rapid.T
	tb     testing.TB // of all runs
	bt     *storetest.Bigtable
	series examples.DataPointSeries
	hours  [3]map[string]modelCell
	clock  int
}

const appendColumn = "\x05\x00\x00"

// encode encodes a point: an integer in more bytes than it takes, perhaps, or a float; and with
// milliseconds, even if the time has none.
func encode(t *rapid.T, at time.Duration, value int8) modelPoint {
	p := modelPoint{at: at, value: float64(value)}
	flags := rapid.SampledFrom([]uint32{0, 1, 3, 7, 11, 15}).Draw(t, "flags")
	bits := uint64(int64(value))
	switch flags {
	case 11:
		bits = uint64(math.Float32bits(float32(value)))
	case 15:
		bits = math.Float64bits(float64(value))
	}
	p.datum = string(binary.BigEndian.AppendUint64(nil, bits)[7-flags&7:])
	in := at % time.Hour
	if in%time.Second == 0 && rapid.Bool().Draw(t, "seconds") {
		p.qualifier = string(binary.BigEndian.AppendUint16(nil, uint16(uint32(in/time.Second)<<4|flags)))
	} else {
		p.qualifier = string(binary.BigEndian.AppendUint32(nil, 0xf0000000|uint32(in/time.Millisecond)<<6|flags))
	}
	return p
}

// stored returns the newest value of each time, in order of time.
func (m *pointsModel) stored() []examples.DataPointEvent {
	newest := map[time.Duration]modelCell{}
	for _, cells := range m.hours {
		for _, c := range cells {
			for _, p := range c.points {
				if old, ok := newest[p.at]; !ok || c.stamp >= old.stamp {
					newest[p.at] = modelCell{c.stamp, []modelPoint{p}}
				}
			}
		}
	}
	var out []examples.DataPointEvent
	for at, c := range newest {
		out = append(out, point(m.series, at, c.points[0].value))
	}
	slices.SortFunc(out, func(a, b examples.DataPointEvent) int { return a.Time.Compare(b.Time) })
	return out
}

// put stores a cell, which the newest of its column hides.
func (m *pointsModel) put(hour int, qualifier, value string, c modelCell) {
	putPoints(m.tb, m.bt, rowAt(m.series, hour), c.stamp, tsdCell{hex.EncodeToString([]byte(qualifier)), hex.EncodeToString([]byte(value))})
	if old, ok := m.hours[hour][qualifier]; !ok || old.stamp < c.stamp {
		m.hours[hour][qualifier] = c
	}
}

// drawTime draws a time of few, so that they meet.
func (m *pointsModel) drawTime() time.Duration {
	return time.Duration(rapid.IntRange(0, 2).Draw(m.t, "hour"))*time.Hour + rapid.SampledFrom([]time.Duration{
		0, time.Millisecond, time.Second, 80 * time.Second, 81 * time.Second, 80*time.Second + time.Millisecond, time.Hour - time.Second, time.Hour - time.Millisecond,
	}).Draw(m.t, "time")
}

// stamp returns a time of writing that no other cell has.
func (m *pointsModel) stamp() int {
	m.clock++
	if rapid.IntRange(0, 3).Draw(m.t, "late") == 0 { // from a TSD whose clock is slow
		return -m.clock
	}
	return m.clock
}

// place puts a single point.
func (m *pointsModel) place(*rapid.T) {
	at := m.drawTime()
	p := encode(m.t, at, rapid.Int8().Draw(m.t, "value"))
	m.put(int(at/time.Hour), p.qualifier, p.datum, modelCell{m.stamp(), []modelPoint{p}})
}

// appendOne appends a point to the column for appended points.
func (m *pointsModel) appendOne(*rapid.T) {
	at := m.drawTime()
	h := int(at / time.Hour)
	m.clock++
	c := modelCell{m.clock, append(slices.Clone(m.hours[h][appendColumn].points), encode(m.t, at, rapid.Int8().Draw(m.t, "value")))}
	value := ""
	for i, p := range c.points {
		value += p.qualifier + p.datum
		if i < len(c.points)-1 && p.at == at { // the last one counts
			c.points[i].value = c.points[len(c.points)-1].value
		}
	}
	m.put(h, appendColumn, value, c)
}

// compact compacts an hour without appended points, as a TSD does: it first writes the cell, and
// then perhaps fails to delete the others.
func (m *pointsModel) compact(*rapid.T) {
	h := rapid.IntRange(0, 2).Draw(m.t, "compacted hour")
	newest := map[time.Duration]modelCell{}
	for q, c := range m.hours[h] {
		for _, p := range c.points {
			if old := newest[p.at]; q != appendColumn && (old.points == nil || c.stamp >= old.stamp) {
				newest[p.at] = modelCell{c.stamp, []modelPoint{p}}
			}
		}
	}
	if len(newest) < 2 || m.hours[h][appendColumn].points != nil {
		return
	}
	m.clock++
	c := modelCell{stamp: m.clock}
	for _, n := range newest {
		c.points = append(c.points, n.points[0])
	}
	slices.SortFunc(c.points, func(a, b modelPoint) int { return int(a.at - b.at) })
	qualifiers, values, forms := "", "", map[int]bool{}
	for _, p := range c.points {
		qualifiers, values, forms[len(p.qualifier)] = qualifiers+p.qualifier, values+p.datum, true
	}
	before := m.hours[h]
	m.hours[h] = map[string]modelCell{}
	for q, old := range before {
		m.hours[h][q] = old
	}
	m.put(h, qualifiers, values+string([]byte{byte(len(forms) - 1)}), c)
	for q := range before {
		if q != qualifiers && rapid.IntRange(0, 3).Draw(m.t, "deleted") > 0 {
			delete(m.hours[h], q)
			del := bigtable.NewMutation()
			del.DeleteCellsInColumn("t", q)
			if err := m.bt.Client.Open("tsdb").Apply(m.t.Context(), rowAt(m.series, h), del); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// write writes an event, which replaces what a single cell has of its time in the same unit, and
// is newer than everything else.
func (m *pointsModel) write(*rapid.T) {
	at, value := m.drawTime(), rapid.Float64().Draw(m.t, "value")
	m.clock++
	w := examples.NewDataPointWriter(m.bt.Client, store.WriterOptions{Now: func() time.Time { return noon.Add(time.Duration(m.clock) * time.Second) }})
	if err := w.Write(m.t.Context(), point(m.series, at, value)); err != nil {
		m.t.Fatal(err)
	}
	cells := m.hours[at/time.Hour]
	length := 4
	if at%time.Second == 0 {
		length = 2
	}
	for q, c := range cells {
		if len(c.points) == 1 && c.points[0].at == at && len(q) == length && q != appendColumn {
			delete(cells, q)
		}
	}
	flags := byte(11)
	if float64(float32(value)) != value {
		flags = 15
	}
	in := at % time.Hour
	q := binary.BigEndian.AppendUint16(nil, uint16(in/time.Second)<<4|uint16(flags))
	if length == 4 {
		q = binary.BigEndian.AppendUint32(nil, 0xf0000000|uint32(in/time.Millisecond)<<6|uint32(flags))
	}
	datum := binary.BigEndian.AppendUint64(nil, math.Float64bits(value))
	if flags == 11 {
		datum = binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(value)))
	}
	cells[string(q)] = modelCell{m.clock, []modelPoint{{at, value, string(q), string(datum)}}}
}

// remove deletes a range: nothing in hours with a cell that has other points, too.
func (m *pointsModel) remove(*rapid.T) {
	from, to := m.drawTime(), m.drawTime()
	if from > to {
		from, to = to, from
	}
	shared := false
	for h := range m.hours {
		whole := from <= time.Duration(h)*time.Hour && to >= time.Duration(h+1)*time.Hour
		var gone []string
		refused := false
		for q, c := range m.hours[h] {
			n := 0
			for _, p := range c.points {
				if p.at >= from && p.at < to {
					n++
				}
			}
			refused = refused || n > 0 && n < len(c.points)
			if n > 0 || whole {
				gone = append(gone, q)
			}
		}
		shared = shared || refused
		for _, q := range gone {
			if !refused {
				delete(m.hours[h], q)
			}
		}
	}
	w := examples.NewDataPointWriter(m.bt.Client, store.WriterOptions{Now: clock})
	_, err := w.DeleteRange(m.t.Context(), m.series, hour.Add(from), hour.Add(to))
	if _, is := errors.AsType[*store.SharedCellError](err); is != shared || !is && err != nil {
		m.t.Fatalf("deleting from %s to %s: %v, shared cells: %t", from, to, err, shared)
	}
}

// same fails a run if a read does not yield what is expected.
func same[E any](t *rapid.T, what string, got iter.Seq2[E, error], want ...E) {
	n := 0
	for e, err := range got {
		if err != nil || n >= len(want) || !reflect.DeepEqual(e, want[n]) {
			t.Fatalf("%s: event %d is %v, %v, want %v", what, n, e, err, want)
		}
		n++
	}
	if n < len(want) {
		t.Fatalf("%s: %d events, want %v", what, n, want)
	}
}

// check compares reads with the model.
func (m *pointsModel) check(*rapid.T) {
	all := m.stored()
	from, to := m.drawTime(), m.drawTime()+time.Millisecond
	if from > to {
		from, to = to, from
	}
	limit := rapid.IntRange(0, 4).Draw(m.t, "limit")
	newest := rapid.Bool().Draw(m.t, "newest first")
	var want []examples.DataPointEvent
	for _, e := range all {
		if !e.Time.Before(hour.Add(from)) && e.Time.Before(hour.Add(to)) {
			want = append(want, e)
		}
	}
	r := examples.NewDataPointReader(m.bt.Client, store.ReaderOptions{Now: clock})
	ctx := m.t.Context()
	read := rapid.IntRange(0, 3).Draw(m.t, "read")
	if read == 0 {
		var series []examples.DataPointSeries
		if len(want) > 0 {
			series = append(series, m.series)
		}
		same(m.t, "series", r.PointsOfSeries(ctx, m.series.Metric, hour.Add(from), hour.Add(to)), series...)
		return
	}
	if newest {
		slices.Reverse(want)
	}
	if limit > 0 {
		want = want[:min(limit, len(want))]
	}
	o := store.ReadOptions{NewestFirst: newest, Limit: limit}
	what := fmt.Sprintf("from %s to %s, %+v", from, to, o)
	switch read {
	case 1:
		same(m.t, what, r.Read(ctx, m.series, hour.Add(from), hour.Add(to), o), want...)
	case 2:
		same(m.t, what+" of the metric", r.PointsOf(ctx, m.series.Metric, hour.Add(from), hour.Add(to), o), want...)
	case 3:
		latest, err := r.Latest(ctx, m.series)
		if len(all) == 0 && !errors.Is(err, store.ErrNotFound) || len(all) > 0 && (err != nil || !reflect.DeepEqual(latest, all[len(all)-1])) {
			m.t.Fatalf("latest: %v, %v, of %v", latest, err, all)
		}
	}
}

// Whatever TSDs and writers do to a table, reads return the newest value of each time, and
// deletions delete exactly their events, or nothing of the row and an error.
func TestPointsModel(tb *testing.T) {
	bt := examplestest.New(tb)
	n := uint32(1 << 16)
	rapid.Check(tb, func(t *rapid.T) {
		n++
		metric := binary.BigEndian.AppendUint32(nil, n)[1:]
		m := &pointsModel{t: t, tb: tb, bt: bt, series: examples.DataPointSeries{Metric: metric, Tagk: docTag.Tagk, Tagv: docTag.Tagv}}
		for h := range m.hours {
			m.hours[h] = map[string]modelCell{}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": m.place, "append": m.appendOne, "compact": m.compact, "write": m.write, "delete": m.remove, "": m.check,
		})
	})
}
