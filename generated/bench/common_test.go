package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/generated/bench/balloonpb"
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

// at returns the point at a time, creating it if necessary.
func (points commonPoints) at(t time.Time) *commonPoint {
	if points[t] == nil {
		points[t] = &commonPoint{}
	}
	return points[t]
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
func commonWeeks(format string, from, to time.Time) bigtable.RowList {
	var keys bigtable.RowList
	for n := int(from.Sub(origin) / week); origin.Add(time.Duration(n) * week).Before(to); n++ {
		keys = append(keys, fmt.Sprintf(format, location, balloon, n+1))
	}
	return keys
}

// commonRead calls take with each cell of the rows in the time range.
func commonRead(ctx context.Context, table *bigtable.Table, rows bigtable.RowSet, from, to time.Time, take func(key string, item bigtable.ReadItem) error) error {
	var failed error
	err := table.ReadRows(ctx, rows, func(row bigtable.Row) bool {
		for _, items := range row {
			for _, item := range items {
				if failed = take(row.Key(), item); failed != nil {
					return false
				}
			}
		}
		return true
	}, bigtable.RowFilter(bigtable.TimestampRangeFilter(from, to)))
	if err != nil {
		return err
	}
	return failed
}

// commonNewCells reads weeks with a column for each field.
func commonNewCells(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]reading, error) {
	points := commonPoints{}
	err := commonRead(ctx, client.Open("balloon_new_cells"), commonWeeks("%s#%d#week%d", from, to), from, to, func(_ string, item bigtable.ReadItem) error {
		p := points.at(item.Timestamp.Time().UTC())
		return p.set(strings.TrimPrefix(item.Column, family+":"), string(item.Value))
	})
	return points.sorted(), err
}

// commonNewColumns reads weeks with a row for each field and a column for each value.
func commonNewColumns(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]reading, error) {
	points := commonPoints{}
	var keys bigtable.RowList
	for _, field := range []string{"pressure", "temperature", "humidity", "altitude"} {
		keys = append(keys, commonWeeks("%s#%d#"+field+"#week%d", from, to)...)
	}
	err := commonRead(ctx, client.Open("balloon_new_columns"), keys, from, to, func(key string, item bigtable.ReadItem) error {
		p := points.at(item.Timestamp.Time().UTC())
		return p.set(strings.Split(key, "#")[2], strings.TrimPrefix(item.Column, family+":"))
	})
	return points.sorted(), err
}

// commonBlobs reads weeks with a message for each reading.
func commonBlobs(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]reading, error) {
	points := commonPoints{}
	err := commonRead(ctx, client.Open("balloon_combined"), commonWeeks("%s#%d#week%04d", from, to), from, to, func(_ string, item bigtable.ReadItem) error {
		return points.unmarshal(item.Timestamp.Time().UTC(), item.Value)
	})
	return points.sorted(), err
}

// unmarshal parses the message of a reading.
func (points commonPoints) unmarshal(t time.Time, blob []byte) error {
	var m balloonpb.BalloonSerialized
	if err := proto.Unmarshal(blob, &m); err != nil {
		return err
	}
	points[t] = &commonPoint{m.Pressure, m.Temperature, m.Humidity, m.Altitude}
	return nil
}

// commonMinutes returns the row range of a time range.
func commonMinutes(from, to time.Time) bigtable.RowRange {
	const layout = "2006-01-02-1504"
	return bigtable.NewRange(fmt.Sprintf("%s#%d#%s", location, balloon, from.Format(layout)), fmt.Sprintf("%s#%d#%s", location, balloon, to.Format(layout)))
}

// commonTime returns the time in a row key.
func commonTime(key string) (time.Time, error) {
	return time.Parse("2006-01-02-1504", strings.Split(key, "#")[2])
}

// commonUnserialized reads rows of one reading with a column for each field.
func commonUnserialized(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]reading, error) {
	points := commonPoints{}
	err := commonRead(ctx, client.Open("balloon_unserialized"), commonMinutes(from, to), from, to, func(key string, item bigtable.ReadItem) error {
		t, err := commonTime(key)
		if err != nil {
			return err
		}
		return points.at(t).set(strings.TrimPrefix(item.Column, family+":"), string(item.Value))
	})
	return points.sorted(), err
}

// commonSerialized reads rows of one reading, stored as a message.
func commonSerialized(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]reading, error) {
	points := commonPoints{}
	err := commonRead(ctx, client.Open("balloon_serialized"), commonMinutes(from, to), from, to, func(key string, item bigtable.ReadItem) error {
		t, err := commonTime(key)
		if err != nil {
			return err
		}
		return points.unmarshal(t, item.Value)
	})
	return points.sorted(), err
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
			if err := points.at(item.Timestamp.Time().UTC()).set(strings.TrimPrefix(item.Column, family+":"), string(item.Value)); err != nil {
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

// commonOffset returns the time and the value of a cell in a column that is named
// after the seconds since the start of the hour.
func commonOffset(hour time.Time, item bigtable.ReadItem) (time.Time, float64) {
	_, offset, _ := strings.Cut(item.Column, ":")
	t := hour.Add(time.Duration(binary.BigEndian.Uint16([]byte(offset))) * time.Second)
	return t, math.Float64frombits(binary.BigEndian.Uint64(item.Value))
}

// commonSamples are unordered samples.
type commonSamples struct {
	mu      sync.Mutex
	samples []sample
}

// add adds the samples of a row.
func (s *commonSamples) add(row bigtable.Row, host int, hour, from, to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, items := range row {
		for _, item := range items {
			if t, value := commonOffset(hour, item); !t.Before(from) && t.Before(to) {
				s.samples = append(s.samples, sample{host, t, value})
			}
		}
	}
}

// sorted returns the samples by hour, host and time.
func (s *commonSamples) sorted() []sample {
	sort.Slice(s.samples, func(i, j int) bool {
		a, b := s.samples[i], s.samples[j]
		if x, y := a.time.Truncate(time.Hour), b.time.Truncate(time.Hour); !x.Equal(y) {
			return x.Before(y)
		}
		if a.host != b.host {
			return a.host < b.host
		}
		return a.time.Before(b.time)
	})
	return s.samples
}

// addSalted adds the samples of a row of the salted table.
func (s *commonSamples) addSalted(row bigtable.Row, from, to time.Time) error {
	parts := strings.Split(row.Key(), "#")
	hour, err := time.Parse("2006-01-02T15", parts[2])
	if err != nil {
		return err
	}
	host, err := strconv.Atoi(strings.TrimPrefix(parts[3], "web-"))
	if err != nil {
		return err
	}
	s.add(row, host, hour, from, to)
	return nil
}

// commonSeries reads the hours of one host from the salted table.
func commonSeries(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]sample, error) {
	var keys bigtable.RowList
	for hour := from.Truncate(time.Hour); hour.Before(to); hour = hour.Add(time.Hour) {
		keys = append(keys, fmt.Sprintf("%02d#%s#%s#%s", saltOf(metric, hostName(0)), metric, hour.Format("2006-01-02T15"), hostName(0)))
	}
	var s commonSamples
	var failed error
	err := client.Open("samples").ReadRows(ctx, keys, func(row bigtable.Row) bool {
		failed = s.addSalted(row, from, to)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return s.sorted(), err
}

// commonSalted reads all hosts of a metric, with one goroutine per salt.
func commonSalted(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]sample, error) {
	const layout = "2006-01-02T15"
	var s commonSamples
	var wg sync.WaitGroup
	errs := make([]error, 2*salts)
	for salt := range salts {
		wg.Go(func() {
			begin := fmt.Sprintf("%02d#%s#%s", salt, metric, from.Format(layout))
			end := fmt.Sprintf("%02d#%s#%s", salt, metric, to.Add(time.Hour-1).Format(layout))
			errs[salt] = client.Open("samples").ReadRows(ctx, bigtable.NewRange(begin, end), func(row bigtable.Row) bool {
				errs[salts+salt] = s.addSalted(row, from, to)
				return errs[salts+salt] == nil
			})
		})
	}
	wg.Wait()
	return s.sorted(), errors.Join(errs...)
}

// commonPointsOf reads all hosts of a metric from the table with binary keys.
func commonPointsOf(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]sample, error) {
	prefix := binary.BigEndian.AppendUint32(nil, metricID)
	begin := fmt.Sprintf("%s%d", prefix, from.Truncate(time.Hour).Unix())
	end := fmt.Sprintf("%s%d", prefix, to.Unix())
	var s commonSamples
	var failed error
	err := client.Open("points").ReadRows(ctx, bigtable.NewRange(begin, end), func(row bigtable.Row) bool {
		var hour int64
		if hour, failed = strconv.ParseInt(row.Key()[4:14], 10, 64); failed != nil {
			return false
		}
		host := binary.BigEndian.Uint32([]byte(row.Key()[14:]))
		s.add(row, int(host), time.Unix(hour, 0).UTC(), from, to)
		return true
	})
	if err == nil {
		err = failed
	}
	return s.sorted(), err
}
