package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// byHand answers a query as a program on the official client would: it requests no row, column or cell
// that the answer does not need, as far as row keys and filters can say so, and folds cells as they come.
func (q query) byHand(ctx context.Context, client *bigtable.Client) (out []answer, err error) {
	switch q.kind {
	case maximum:
		return q.foldByHand(ctx, client, q.hourRows(q.from, q.to), func(string) string { return "" }, math.Max)
	case mean:
		return q.meansByHand(ctx, client)
	case lastMaxima:
		return q.lastByHand(ctx, client)
	case busy:
		return q.busyByHand(ctx, client)
	}
	return q.newestByHand(ctx, client)
}

// hourRows returns the rows of table cpu with readings of the hosts of the query in a range of time.
func (q query) hourRows(from, to time.Time) bigtable.RowSet {
	const hour = "2006-01-02T15"
	var out bigtable.RowRangeList
	if q.hosts == nil {
		for salt := range fleetSalts {
			last := to.Add(-1).Truncate(time.Hour).Add(time.Hour)
			out = append(out, bigtable.NewRange(fmt.Sprintf("%d#%s#", salt, from.Format(hour)), fmt.Sprintf("%d#%s#", salt, last.Format(hour))))
		}
		return out
	}
	for _, host := range q.hosts {
		for at := from.Truncate(time.Hour); at.Before(to); at = at.Add(time.Hour) {
			out = append(out, bigtable.PrefixRange(fmt.Sprintf("%d#%s#%s#", codec.Salt(fleetSalts, host), at.Format(hour), host)))
		}
	}
	return out
}

// ofFields returns the filter of the fields of the query in a range of time.
func (q query) ofFields(from, to time.Time) bigtable.Filter {
	times := bigtable.TimestampRangeFilter(from.Truncate(time.Millisecond), to.Add(time.Millisecond-1).Truncate(time.Millisecond))
	if q.fields == len(fleetFields) {
		return times
	}
	var names []string
	for _, f := range fleetFields[:q.fields] {
		names = append(names, f.name)
	}
	return bigtable.ChainFilters(bigtable.ColumnFilter(strings.Join(names, "|")), times)
}

// fieldByHand returns the index of the field of a cell.
func fieldByHand(item *bigtable.ReadItem) int {
	name := strings.TrimPrefix(item.Column, "m:")
	for i := range fleetFields {
		if fleetFields[i].name == name {
			return i
		}
	}
	return -1
}

func floatByHand(item *bigtable.ReadItem) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(item.Value))
}

// hostByHand returns the name of the host in a row key.
func hostByHand(key string) string { return strings.SplitN(key, "#", 4)[2] }

// placeByHand is a window of a group of hosts.
type placeByHand struct {
	group string
	start int64 // in microseconds
}

// foldByHand folds the cells of windows.
func (q query) foldByHand(ctx context.Context, client *bigtable.Client, rows bigtable.RowSet, group func(host string) string, fold func(a, b float64) float64) ([]answer, error) {
	all := map[placeByHand][]float64{}
	width := q.width.Microseconds()
	err := client.Open("cpu").ReadRows(ctx, rows, func(row bigtable.Row) bool {
		p := placeByHand{group: group(hostByHand(row.Key()))}
		var values []float64
		for i := range row["m"] {
			item := &row["m"][i]
			if start := int64(item.Timestamp) / width * width; values == nil || start != p.start {
				if p.start, values = start, all[placeByHand{p.group, start}]; values == nil {
					values = make([]float64, q.fields)
					for k := range values {
						values[k] = math.NaN()
					}
					all[placeByHand{p.group, start}] = values
				}
			}
			field, v := fieldByHand(item), floatByHand(item)
			if math.IsNaN(values[field]) {
				values[field] = v
			} else {
				values[field] = fold(values[field], v)
			}
		}
		return true
	}, bigtable.RowFilter(q.ofFields(q.from, q.to)))
	return answersByHand(all), err
}

// answersByHand sorts windows.
func answersByHand(all map[placeByHand][]float64) []answer {
	var out []answer
	for p, values := range all {
		out = append(out, answer{p.group, time.UnixMicro(p.start).UTC(), values})
	}
	return sortedAnswers(out)
}

// meansByHand answers a query for means. The values of a column come with the newest first, and are added
// from the oldest on, as in the definition.
func (q query) meansByHand(ctx context.Context, client *bigtable.Client) ([]answer, error) {
	sums, counts := map[placeByHand][]float64{}, map[placeByHand][]float64{}
	width := q.width.Microseconds()
	err := client.Open("cpu").ReadRows(ctx, q.hourRows(q.from, q.to), func(row bigtable.Row) bool {
		host := hostByHand(row.Key())
		for i := range slices.Backward(row["m"]) {
			item := &row["m"][i]
			p := placeByHand{host, int64(item.Timestamp) / width * width}
			if sums[p] == nil {
				sums[p], counts[p] = make([]float64, q.fields), make([]float64, q.fields)
			}
			field := fieldByHand(item)
			sums[p][field] += floatByHand(item)
			counts[p][field]++
		}
		return true
	}, bigtable.RowFilter(q.ofFields(q.from, q.to)))
	for p, values := range sums {
		for i := range values {
			values[i] /= counts[p][i]
		}
	}
	return answersByHand(sums), err
}

// lastByHand reads hour by hour, from the newest one, until it has five windows.
func (q query) lastByHand(ctx context.Context, client *bigtable.Client) (out []answer, err error) {
	for to := q.to; len(out) < 5 && to.After(q.from); {
		from := to.Add(-1).Truncate(time.Hour)
		part := q
		part.from, part.to = from, to
		some, err := part.foldByHand(ctx, client, q.hourRows(from, to), func(string) string { return "" }, math.Max)
		if err != nil {
			return nil, err
		}
		slices.Reverse(some)
		out, to = append(out, some...), from
	}
	return out[:min(5, len(out))], nil
}

// busyByHand lets the server find the rows.
func (q query) busyByHand(ctx context.Context, client *bigtable.Client) (out []answer, err error) {
	var rows bigtable.RowRangeList
	for salt := range fleetSalts {
		if q.hosts == nil || codec.Salt(fleetSalts, q.hosts[0]) == salt {
			rows = append(rows, bigtable.NewRange(fmt.Sprintf("%d#%010d", salt, ceilSeconds(q.from)), fmt.Sprintf("%d#%010d", salt, ceilSeconds(q.to))))
		}
	}
	var least [8]byte
	binary.BigEndian.PutUint64(least[:], math.Float64bits(math.Nextafter(threshold, 100)))
	filter := bigtable.ConditionFilter(
		bigtable.ChainFilters(bigtable.ColumnFilter("usage_user"), bigtable.ValueRangeFilter(least[:], []byte{0x7f, 0xf0})),
		bigtable.FamilyFilter("m"), nil)
	if q.hosts != nil {
		filter = bigtable.ChainFilters(bigtable.RowKeyFilter(`[0-9]#[0-9]*#`+q.hosts[0]+`#\C*`), filter)
	}
	err = client.Open("cpu_readings").ReadRows(ctx, rows, func(row bigtable.Row) bool {
		a := answer{Host: hostByHand(row.Key()), Values: make([]float64, len(fleetFields))}
		for i := range row["m"] {
			item := &row["m"][i]
			a.Time = item.Timestamp.Time().UTC()
			a.Values[fieldByHand(item)] = floatByHand(item)
		}
		out = append(out, a)
		return true
	}, bigtable.RowFilter(filter))
	return sortedAnswers(out), err
}

// ceilSeconds rounds a time up.
func ceilSeconds(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

// newestByHand reads the newest cells of each row, and keeps those of the newest row of each host.
func (q query) newestByHand(ctx context.Context, client *bigtable.Client) ([]answer, error) {
	of := map[string]answer{}
	err := client.Open("cpu").ReadRows(ctx, q.hourRows(q.from, q.to), func(row bigtable.Row) bool {
		a := answer{Host: hostByHand(row.Key()), Values: make([]float64, len(fleetFields))}
		for i := range row["m"] {
			item := &row["m"][i]
			a.Time = item.Timestamp.Time().UTC()
			a.Values[fieldByHand(item)] = floatByHand(item)
		}
		of[a.Host] = a // rows of a host come in order of time
		return true
	}, bigtable.RowFilter(bigtable.LatestNFilter(1)))
	var out []answer
	for _, a := range of {
		out = append(out, a)
	}
	return sortedAnswers(out), err
}
