package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/generated/bench/balloonpb"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The usual implementation: a map of points by time, row keys from fmt, and the
// points sorted at the end.

// commonPoint is a reading without its time.
type commonPoint struct {
	Pressure    int64
	Temperature float64
	Humidity    int64
	Altitude    int64
}

// set sets the value of a column.
func (p *commonPoint) set(column, value string) (err error) {
	switch column {
	case "pressure":
		p.Pressure, err = strconv.ParseInt(value, 10, 64)
	case "temperature":
		p.Temperature, err = strconv.ParseFloat(value, 64)
	case "humidity":
		p.Humidity, err = strconv.ParseInt(value, 10, 64)
	case "altitude":
		p.Altitude, err = strconv.ParseInt(value, 10, 64)
	}
	return err
}

// commonPoints are points by time.
type commonPoints map[time.Time]*commonPoint

// at returns the point at the time of a cell, creating it if necessary.
func (points commonPoints) at(item bigtable.ReadItem) *commonPoint {
	t := item.Timestamp.Time().UTC()
	if points[t] == nil {
		points[t] = &commonPoint{}
	}
	return points[t]
}

// addCell adds a cell whose column is named after its field.
func (points commonPoints) addCell(_ string, item bigtable.ReadItem) error {
	return points.at(item).set(strings.TrimPrefix(item.Column, family+":"), string(item.Value))
}

// addColumn adds a cell whose column is named after its value, in the row of a field.
func (points commonPoints) addColumn(key string, item bigtable.ReadItem) error {
	return points.at(item).set(strings.Split(key, "#")[2], strings.TrimPrefix(item.Column, family+":"))
}

// addBlob adds the message of a reading.
func (points commonPoints) addBlob(_ string, item bigtable.ReadItem) error {
	var m balloonpb.BalloonSerialized
	if err := proto.Unmarshal(item.Value, &m); err != nil {
		return err
	}
	*points.at(item) = commonPoint{m.Pressure, m.Temperature, m.Humidity, m.Altitude}
	return nil
}

// sorted returns the points in time order.
func (points commonPoints) sorted() []reading {
	readings := make([]reading, 0, len(points))
	for t, p := range points {
		readings = append(readings, reading{t, p.Pressure, p.Temperature, p.Humidity, p.Altitude})
	}
	sort.Slice(readings, func(i, j int) bool { return readings[i].time.Before(readings[j].time) })
	return readings
}

// commonWeeks returns the row keys of the weeks in a time range.
func commonWeeks(formats ...string) func(from, to time.Time) bigtable.RowSet {
	return func(from, to time.Time) bigtable.RowSet {
		var keys bigtable.RowList
		for _, format := range formats {
			for n := int(from.Sub(origin) / week); origin.Add(time.Duration(n) * week).Before(to); n++ {
				keys = append(keys, fmt.Sprintf(format, location, balloon, n+1))
			}
		}
		return keys
	}
}

// commonMinutes returns the row range of a time range.
func commonMinutes(from, to time.Time) bigtable.RowSet {
	const layout = "2006-01-02-1504"
	return bigtable.NewRange(fmt.Sprintf("%s#%d#%s", location, balloon, from.Format(layout)), fmt.Sprintf("%s#%d#%s", location, balloon, to.Format(layout)))
}

// commonReads returns a reader of rows, each of whose cells is added to the points.
func commonReads(table string, rows func(from, to time.Time) bigtable.RowSet, add func(points commonPoints, key string, item bigtable.ReadItem) error) reader[reading] {
	return commonReader(func(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]reading, error) {
		points := commonPoints{}
		var failed error
		err := client.Open(table).ReadRows(ctx, rows(from, to), func(row bigtable.Row) bool {
			for _, items := range row {
				for _, item := range items {
					if failed = add(points, row.Key(), item); failed != nil {
						return false
					}
				}
			}
			return true
		}, bigtable.RowFilter(bigtable.TimestampRangeFilter(from, to)))
		return points.sorted(), cmp.Or(err, failed)
	})
}

// commonLatest reads the newest cells of the newest week that has any.
func commonLatest(ctx context.Context, client *bigtable.Client, _, _ time.Time) ([]reading, error) {
	table := client.Open("balloon_new_cells")
	for n := int(now.Sub(origin) / week); n >= 0; n-- {
		row, err := table.ReadRow(ctx, fmt.Sprintf("%s#%d#week%d", location, balloon, n+1), bigtable.RowFilter(bigtable.LatestNFilter(1)))
		if err != nil {
			return nil, err
		}
		points := commonPoints{}
		for _, item := range row[family] {
			if err := points.addCell(row.Key(), item); err != nil {
				return nil, err
			}
		}
		if len(points) > 0 {
			readings := points.sorted()
			return readings[len(readings)-1:], nil
		}
	}
	return nil, nil
}

// commonRows reads the samples in rows, of whose keys parse returns the host and the hour. Columns are named after the
// seconds since the start of the hour.
func commonRows(
	ctx context.Context, table *bigtable.Table, rows bigtable.RowSet, from, to time.Time, parse func(key string) (int, time.Time, error),
) (out []sample, err error) {
	var failed error
	err = table.ReadRows(ctx, rows, func(row bigtable.Row) bool {
		host, hour, err := parse(row.Key())
		for _, items := range row {
			for _, item := range items {
				_, offset, _ := strings.Cut(item.Column, ":")
				t := hour.Add(time.Duration(binary.BigEndian.Uint16([]byte(offset))) * time.Second)
				if !t.Before(from) && t.Before(to) {
					out = append(out, sample{host, t, math.Float64frombits(binary.BigEndian.Uint64(item.Value))})
				}
			}
		}
		failed = err
		return err == nil
	})
	return commonSorted(out), cmp.Or(err, failed)
}

// commonSorted returns samples by hour, host and time.
func commonSorted(samples []sample) []sample {
	sort.Slice(samples, func(i, j int) bool {
		a, b := samples[i], samples[j]
		if x, y := a.time.Truncate(time.Hour), b.time.Truncate(time.Hour); !x.Equal(y) {
			return x.Before(y)
		}
		if a.host != b.host {
			return a.host < b.host
		}
		return a.time.Before(b.time)
	})
	return samples
}

// commonHour is the layout of the hours in the keys of the salted table.
const commonHour = "2006-01-02T15"

// commonKey parses a key of the salted table.
func commonKey(key string) (host int, hour time.Time, err error) {
	parts := strings.Split(key, "#")
	if hour, err = time.Parse(commonHour, parts[2]); err != nil {
		return 0, hour, err
	}
	host, err = strconv.Atoi(strings.TrimPrefix(parts[3], "web-"))
	return host, hour, err
}

// commonSeries reads the hours of one host from the salted table.
func commonSeries(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]sample, error) {
	var keys bigtable.RowList
	for hour := from.Truncate(time.Hour); hour.Before(to); hour = hour.Add(time.Hour) {
		keys = append(keys, fmt.Sprintf("%02d#%s#%s#%s", codec.Salt(salts, metric, hostName(0)), metric, hour.Format(commonHour), hostName(0)))
	}
	return commonRows(ctx, client.Open("samples"), keys, from, to, commonKey)
}

// commonSalted reads all hosts of a metric, with one goroutine per salt.
func commonSalted(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]sample, error) {
	var wg sync.WaitGroup
	var parts [salts][]sample
	var errs [salts]error
	for salt := range salts {
		wg.Go(func() {
			begin := fmt.Sprintf("%02d#%s#%s", salt, metric, from.Format(commonHour))
			end := fmt.Sprintf("%02d#%s#%s", salt, metric, to.Add(time.Hour-1).Format(commonHour))
			parts[salt], errs[salt] = commonRows(ctx, client.Open("samples"), bigtable.NewRange(begin, end), from, to, commonKey)
		})
	}
	wg.Wait()
	return commonSorted(slices.Concat(parts[:]...)), errors.Join(errs[:]...)
}

// commonPointsOf reads all hosts of a metric from the table with binary keys.
func commonPointsOf(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]sample, error) {
	prefix := binary.BigEndian.AppendUint32(nil, metricID)
	begin := fmt.Sprintf("%s%d", prefix, from.Truncate(time.Hour).Unix())
	end := fmt.Sprintf("%s%d", prefix, to.Unix())
	return commonRows(ctx, client.Open("points"), bigtable.NewRange(begin, end), from, to, func(key string) (int, time.Time, error) {
		hour, err := strconv.ParseInt(key[4:14], 10, 64)
		return int(binary.BigEndian.Uint32([]byte(key[14:]))), time.Unix(hour, 0).UTC(), err
	})
}
