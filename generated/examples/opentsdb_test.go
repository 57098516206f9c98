package examples_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"math"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// The points of a table of OpenTSDB, whose metrics have one tag, are copied to a table of a schema. The first cell has two
// points that OpenTSDB has compacted, the second one two that it has appended.
func Example_openTSDB() {
	ctx := context.Background()
	bt, err := examplestest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()
	if err := errors.Join(bt.Admin.CreateTable(ctx, "tsdb"), bt.Admin.CreateColumnFamily(ctx, "tsdb", "t")); err != nil {
		log.Fatal(err)
	}
	tsdb, hour := bt.Client.OpenTable("tsdb"), time.Date(2100, 3, 1, 12, 0, 0, 0, time.UTC)
	key := "\x00\x00\x01" + string(binary.BigEndian.AppendUint32(nil, uint32(hour.Unix()))) + "\x00\x00\x01\x00\x01\x02"
	m := bigtable.NewMutation()
	m.Set("t", "\x00\x1b\xf0\x00\xfa\x4b", 0, []byte("\x3f\xc0\x00\x00\x3f\xc0\x00\x00\x01"))
	m.Set("t", "\x05\x00\x00", 0, []byte("\x00\x30\x2a\x00\x47\xff\xff\xff\xff\xff\xff\xff\xff"))
	m.Set("t", "\x01\x00\x03", 0, []byte(`{"description": "an annotation"}`))
	if err := tsdb.Apply(ctx, key, m); err != nil {
		log.Fatal(err)
	}

	w := examples.NewPointWriter(bt.Client, store.WriterOptions{Now: func() time.Time { return hour.Add(time.Hour) }})
	n, err := copyOpenTSDB(ctx, tsdb, w)
	fmt.Println(n, "points,", err)
	r := examples.NewPointReader(bt.Client, store.ReaderOptions{Now: func() time.Time { return hour.Add(time.Hour) }})
	for e, err := range r.Read(ctx, examples.PointSeries{Metric: 1, Host: 258}, hour, hour.Add(time.Hour)) {
		fmt.Println(e.Time.Format(time.TimeOnly), e.Value, err)
	}

	// Output:
	// 3 points, <nil>
	// 12:00:01 1.5 <nil>
	// 12:00:03 42 <nil>
	// 12:00:04 -1 <nil>
}

// copyOpenTSDB writes the points of a table of OpenTSDB, and returns their number. It stops at the first row that it cannot decode.
func copyOpenTSDB(ctx context.Context, from bigtable.TableAPI, w *examples.PointWriter) (n int, failed error) {
	err := from.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		key := []byte(row.Key())
		if len(key) != 3+4+3+3 { // the IDs of the metric, of the tag and of its value; and the hour
			failed = fmt.Errorf("row %q is not of a metric with one tag", key)
			return false
		}
		series := examples.PointSeries{Metric: id(key[:3]), Host: id(key[10:])}
		hour, values := time.Unix(int64(binary.BigEndian.Uint32(key[3:])), 0).UTC(), map[time.Duration]float64{}
		cells := row["t"]
		slices.SortStableFunc(cells, func(a, b bigtable.ReadItem) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
		for _, c := range cells { // of several values of one time, the newest counts
			name := []byte(c.Column[len("t:"):])
			if len(name)%2 != 0 && name[0] != appended {
				continue // an annotation or a histogram
			}
			if !eachPoint(name, c.Value, func(at time.Duration, v float64) { values[at.Truncate(time.Second)] = v }) {
				failed = fmt.Errorf("row %q, column %q: a point is not complete", key, name)
				return false
			}
		}
		var events []examples.PointEvent
		for at, v := range values {
			events = append(events, examples.PointEvent{PointSeries: series, Time: hour.Add(at), Value: v})
		}
		n += len(events)
		failed = w.WriteAll(ctx, events)
		return failed == nil
	}, bigtable.RowFilter(bigtable.LatestNFilter(1)))
	return n, errors.Join(failed, err)
}

// appended is the name of a column whose value has names and values of points in turn, without the two zeros that follow it.
const appended = 5

// eachPoint calls f for the points of a cell: their times in the hour, and their values. It returns false for other cells.
func eachPoint(name, value []byte, f func(at time.Duration, v float64)) bool {
	pairs := name[0] == appended && len(name) == 3
	if pairs {
		name = value
	}
	for len(name) > 0 {
		size := 2 // of a name in seconds
		if name[0]>>4 == 0xf {
			size = 4
		}
		if len(name) < size {
			return false
		}
		at := time.Duration(binary.BigEndian.Uint16(name)>>4) * time.Second
		if size == 4 {
			at = time.Duration(binary.BigEndian.Uint32(name)<<4>>10) * time.Millisecond
		}
		flags := name[size-1]
		if name = name[size:]; pairs {
			value = name
		}
		if size = int(flags&7) + 1; len(value) < size {
			return false
		}
		f(at, number(value[:size], flags&8 != 0))
		if value = value[size:]; pairs {
			name = value
		}
	}
	return true
}

// id is an ID of 3 bytes.
func id(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// number is a floating-point number, or an integer in two's complement, big-endian.
func number(b []byte, float bool) float64 {
	switch {
	case float && len(b) == 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case float && len(b) == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	n := int64(int8(b[0]))
	for _, c := range b[1:] {
		n = n<<8 | int64(c)
	}
	return float64(n)
}
