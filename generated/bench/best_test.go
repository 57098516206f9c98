package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// The best that a good engineer would write on the official client: columns are
// reused, names and keys are looked up only when they change, and nothing is
// converted needlessly.

// errLacking is the error for a stored reading that lacks a field, which the reader
// does not support.
var errLacking = errors.New("a reading lacks a field")

// bestColumns are readings in columnar form.
type bestColumns struct {
	time                         []time.Time
	pressure, humidity, altitude []int64
	temperature                  []float64
}

// reset empties the columns and keeps their memory.
func (c *bestColumns) reset() {
	*c = bestColumns{c.time[:0], c.pressure[:0], c.humidity[:0], c.altitude[:0], c.temperature[:0]}
}

// check checks that all columns have the same length.
func (c *bestColumns) check() error {
	if n := len(c.time); len(c.pressure) != n || len(c.humidity) != n || len(c.altitude) != n || len(c.temperature) != n {
		return errLacking
	}
	return nil
}

// length returns the number of readings.
func (c *bestColumns) length() int { return len(c.time) }

// event returns the i-th reading.
func (c *bestColumns) event(i int) reading {
	return reading{c.time[i], c.pressure[i], c.temperature[i], c.humidity[i], c.altitude[i]}
}

// bestWeeks returns the keys of the weeks in a time range, grouped into requests
// whose keys are in time order: Bigtable responds in key order, in which week10
// comes before week9.
func bestWeeks(label string) func(from, to time.Time) []bigtable.RowSet {
	return func(from, to time.Time) (out []bigtable.RowSet) {
		var keys bigtable.RowList
		for n := int(from.Sub(origin) / week); origin.Add(time.Duration(n) * week).Before(to); n++ {
			key := bestSeries + fmt.Sprintf(label, n+1)
			if len(keys) > 0 && key < keys[len(keys)-1] {
				out, keys = append(out, keys), nil
			}
			keys = append(keys, key)
		}
		return append(out, keys)
	}
}

// bestSeries is the key prefix of the balloon.
var bestSeries = location + "#" + strconv.Itoa(balloon) + "#"

// bestMinutes returns the row range of a time range.
func bestMinutes(from, to time.Time) []bigtable.RowSet {
	const layout = "2006-01-02-1504"
	return []bigtable.RowSet{bigtable.NewRange(bestSeries+from.Format(layout), bestSeries+to.Format(layout))}
}

// bestBetween returns a filter for the cells in a time range.
func bestBetween(from, to time.Time) bigtable.ReadOption {
	return bigtable.RowFilter(bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(from.UnixMicro()), bigtable.Timestamp(to.UnixMicro())))
}

// bestRows calls take with each row until it fails.
func bestRows(ctx context.Context, table *bigtable.Table, rows bigtable.RowSet, take func(row bigtable.Row) error, opts ...bigtable.ReadOption) error {
	var failed error
	err := table.ReadRows(ctx, rows, func(row bigtable.Row) bool {
		failed = take(row)
		return failed == nil
	}, opts...)
	return cmp.Or(err, failed)
}

// bestReads returns a reader of rows, each of which is added to the columns.
func bestReads(table string, rows func(from, to time.Time) []bigtable.RowSet, add func(c *bestColumns, row bigtable.Row) error) reader[reading] {
	return bestReader[reading](func(c *bestColumns, ctx context.Context, client *bigtable.Client, from, to time.Time) error {
		c.reset()
		for _, set := range rows(from, to) {
			if err := bestRows(ctx, client.Open(table), set, func(row bigtable.Row) error { return add(c, row) }, bestBetween(from, to)); err != nil {
				return err
			}
		}
		return c.check()
	})
}

// addCells adds a row with a column for each field. The time is that of the cells, so that no key need be parsed.
func (c *bestColumns) addCells(row bigtable.Row) error {
	items := row[family]
	for begin := 0; begin < len(items); {
		column, end := items[begin].Column, begin
		for end < len(items) && items[end].Column == column {
			end++
		}
		if err := c.addColumn(column, items[begin:end]); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// addColumn adds the cells of a column, which come newest first.
func (c *bestColumns) addColumn(column string, items []bigtable.ReadItem) (err error) {
	switch column {
	case "measurements:pressure":
		for _, item := range slices.Backward(items) {
			c.time = append(c.time, time.UnixMicro(int64(item.Timestamp)).UTC())
		}
		c.pressure, err = appendInts(c.pressure, items)
	case "measurements:humidity":
		c.humidity, err = appendInts(c.humidity, items)
	case "measurements:altitude":
		c.altitude, err = appendInts(c.altitude, items)
	case "measurements:temperature":
		for _, item := range slices.Backward(items) {
			v, err := strconv.ParseFloat(string(item.Value), 64)
			if err != nil {
				return err
			}
			c.temperature = append(c.temperature, v)
		}
	}
	return err
}

// appendInts appends the numbers in cells, in reverse order.
func appendInts(dst []int64, items []bigtable.ReadItem) ([]int64, error) {
	for _, item := range slices.Backward(items) {
		v, err := strconv.ParseInt(string(item.Value), 10, 64)
		if err != nil {
			return dst, err
		}
		dst = append(dst, v)
	}
	return dst, nil
}

// bestByMinute indexes readings by the minute since a time. It places the cells of
// new columns, which are not in time order, without sorting.
type bestByMinute struct {
	from   time.Time
	fields []uint8 // which fields have been seen of each minute
	bestColumns
}

// newColumns reads weeks with a row for each field and a column for each value.
func (m *bestByMinute) newColumns(ctx context.Context, client *bigtable.Client, from, to time.Time) error {
	m.begin(from, to)
	var keys bigtable.RowList
	fields := map[string]int{}
	for i, name := range []string{"pressure", "temperature", "humidity", "altitude"} {
		for _, list := range bestWeeks(name+"#week%d")(from, to) {
			for _, key := range list.(bigtable.RowList) {
				keys, fields[key] = append(keys, key), i
			}
		}
	}
	err := bestRows(ctx, client.Open("balloon_new_columns"), keys, func(row bigtable.Row) error {
		return m.addRow(fields[row.Key()], row[family])
	}, bestBetween(from, to))
	return cmp.Or(err, m.collect())
}

// begin allocates the minutes of a time range.
func (m *bestByMinute) begin(from, to time.Time) {
	n := int(to.Sub(from) / time.Minute)
	m.from, m.fields = from, slices.Grow(m.fields[:0], n)[:n]
	clear(m.fields)
	m.time, m.temperature = slices.Grow(m.time[:0], n)[:n], slices.Grow(m.temperature[:0], n)[:n]
	for _, column := range []*[]int64{&m.pressure, &m.humidity, &m.altitude} {
		*column = slices.Grow((*column)[:0], n)[:n]
	}
}

// addRow adds the cells of a field. Those with the same value are adjacent, and the
// value is parsed once.
func (m *bestByMinute) addRow(field int, items []bigtable.ReadItem) error {
	begin := m.from.UnixMicro()
	column, whole, fraction := "", int64(0), 0.0
	for _, item := range items {
		if item.Column != column {
			column = item.Column
			var err error
			if text := column[len(family)+1:]; field == 1 {
				fraction, err = strconv.ParseFloat(text, 64)
			} else {
				whole, err = strconv.ParseInt(text, 10, 64)
			}
			if err != nil {
				return err
			}
		}
		minute := (int64(item.Timestamp) - begin) / time.Minute.Microseconds()
		m.fields[minute] |= 1 << field
		switch field {
		case 0:
			m.pressure[minute] = whole
		case 1:
			m.temperature[minute] = fraction
		case 2:
			m.humidity[minute] = whole
		case 3:
			m.altitude[minute] = whole
		}
	}
	return nil
}

// collect moves the minutes that have a reading together.
func (m *bestByMinute) collect() error {
	n := 0
	for i, seen := range m.fields {
		switch seen {
		case 0:
			continue
		case 1<<4 - 1:
		default:
			return errLacking
		}
		m.time[n] = m.from.Add(time.Duration(i) * time.Minute)
		m.pressure[n], m.temperature[n], m.humidity[n], m.altitude[n] = m.pressure[i], m.temperature[i], m.humidity[i], m.altitude[i]
		n++
	}
	m.bestColumns = bestColumns{m.time[:n], m.pressure[:n], m.humidity[:n], m.altitude[:n], m.temperature[:n]}
	return nil
}

// addBlobs adds a row with a message for each reading.
func (c *bestColumns) addBlobs(row bigtable.Row) error {
	for _, item := range slices.Backward(row[family]) {
		if err := c.addBlob(item); err != nil {
			return err
		}
	}
	return nil
}

// addBlob adds the message of a reading. It has only four numbers, so its fields
// are read one by one.
func (c *bestColumns) addBlob(item bigtable.ReadItem) error {
	r := reading{time: time.UnixMicro(int64(item.Timestamp)).UTC()}
	for blob := item.Value; len(blob) > 0; {
		field, wireType, n := protowire.ConsumeTag(blob)
		if n < 0 {
			return protowire.ParseError(n)
		}
		blob = blob[n:]
		var number uint64
		switch wireType {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(blob)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(blob)
		default:
			n = protowire.ConsumeFieldValue(field, wireType, blob)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		blob = blob[n:]
		switch field {
		case 1:
			r.pressure = int64(number)
		case 2:
			r.temperature = math.Float64frombits(number)
		case 3:
			r.humidity = int64(number)
		case 4:
			r.altitude = int64(number)
		}
	}
	c.time = append(c.time, r.time)
	c.pressure = append(c.pressure, r.pressure)
	c.temperature = append(c.temperature, r.temperature)
	c.humidity = append(c.humidity, r.humidity)
	c.altitude = append(c.altitude, r.altitude)
	return nil
}

// latest reads the newest cells of the newest week that has any, most likely the current one.
func (c *bestColumns) latest(ctx context.Context, client *bigtable.Client, _, _ time.Time) error {
	c.reset()
	table := client.Open("balloon_new_cells")
	newest := bigtable.RowFilter(bigtable.LatestNFilter(1))
	for n := int(now.Sub(origin)/week) + 1; n > 0 && len(c.time) == 0; n-- {
		row, err := table.ReadRow(ctx, bestSeries+"week"+strconv.Itoa(n), newest)
		if err != nil {
			return err
		}
		if err := c.addCells(row); err != nil {
			return err
		}
	}
	return c.check()
}

// bestSamples are samples in columnar form.
type bestSamples struct {
	host  []int
	time  []time.Time
	value []float64
}

// reset empties the columns and keeps their memory.
func (s *bestSamples) reset() {
	*s = bestSamples{s.host[:0], s.time[:0], s.value[:0]}
}

// length returns the number of samples.
func (s *bestSamples) length() int { return len(s.time) }

// event returns the i-th sample.
func (s *bestSamples) event(i int) sample { return sample{s.host[i], s.time[i], s.value[i]} }

// add adds an hour of a host, whose columns are in time order.
func (s *bestSamples) add(items []bigtable.ReadItem, host int, hour, from, to time.Time) error {
	for _, item := range items {
		n := len(item.Column)
		if len(item.Value) != 8 || n < 4 {
			return fmt.Errorf("column %q: %d bytes", item.Column, len(item.Value))
		}
		t := hour.Add(time.Duration(int(item.Column[n-2])<<8|int(item.Column[n-1])) * time.Second)
		if t.Before(from) || !t.Before(to) {
			continue
		}
		s.host = append(s.host, host)
		s.time = append(s.time, t)
		s.value = append(s.value, math.Float64frombits(binary.BigEndian.Uint64(item.Value)))
	}
	return nil
}

// series reads the hours of one host from the salted table. They arrive in time order.
func (s *bestSamples) series(ctx context.Context, client *bigtable.Client, from, to time.Time) error {
	s.reset()
	host := hostName(0)
	prefix := fmt.Sprintf("%02d#%s#", codec.Salt(salts, metric, host), metric)
	hour := from.Truncate(time.Hour)
	var keys bigtable.RowList
	for h := hour; h.Before(to); h = h.Add(time.Hour) {
		keys = append(keys, string(append(h.AppendFormat([]byte(prefix), "2006-01-02T15#"), host...)))
	}
	next := 0
	return bestRows(ctx, client.Open("samples"), keys, func(row bigtable.Row) error {
		for keys[next] != row.Key() {
			next++
		}
		return s.add(row["m"], 0, hour.Add(time.Duration(next)*time.Hour), from, to)
	})
}

// bestRow is an hour of a host.
type bestRow struct {
	hour  time.Time
	host  int
	items []bigtable.ReadItem
}

// salted reads all hosts of a metric, ordered by hour, host and time. It requests the ranges of all salts at once, and then
// sorts the hours.
func (s *bestSamples) salted(ctx context.Context, client *bigtable.Client, from, to time.Time) error {
	s.reset()
	const layout = "2006-01-02T15"
	var ranges bigtable.RowRangeList
	for salt := range salts {
		prefix := fmt.Sprintf("%02d#%s#", salt, metric)
		ranges = append(ranges, bigtable.NewRange(prefix+from.Format(layout), prefix+to.Add(time.Hour-1).Format(layout)))
	}
	var rows []bestRow
	err := bestRows(ctx, client.Open("samples"), ranges, func(row bigtable.Row) error {
		key := row.Key()[len("00#")+len(metric)+len("#"):]
		hour, err := time.Parse(layout, key[:len(layout)])
		if err != nil {
			return err
		}
		host, err := strconv.Atoi(key[len(layout)+len("#web-"):])
		rows = append(rows, bestRow{hour, host, row["m"]})
		return err
	})
	slices.SortFunc(rows, func(a, b bestRow) int { return cmp.Or(a.hour.Compare(b.hour), a.host-b.host) })
	for _, r := range rows {
		err = cmp.Or(err, s.add(r.items, r.host, r.hour, from, to))
	}
	return err
}

// points reads all hosts of a metric from the table with binary keys, which are ordered by
// hour and host.
func (s *bestSamples) points(ctx context.Context, client *bigtable.Client, from, to time.Time) error {
	s.reset()
	prefix := binary.BigEndian.AppendUint32(nil, metricID)
	begin := strconv.AppendInt(slices.Clip(prefix), from.Truncate(time.Hour).Unix(), 10)
	end := strconv.AppendInt(slices.Clip(prefix), to.Add(time.Hour-1).Truncate(time.Hour).Unix(), 10)
	return bestRows(ctx, client.Open("points"), bigtable.NewRange(string(begin), string(end)), func(row bigtable.Row) error {
		key := row.Key()
		hour, err := strconv.ParseInt(key[4:14], 10, 64)
		if err != nil {
			return err
		}
		host := int(key[14])<<24 | int(key[15])<<16 | int(key[16])<<8 | int(key[17])
		return s.add(row["t"], host, time.Unix(hour, 0).UTC(), from, to)
	})
}
