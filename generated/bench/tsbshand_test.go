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
	case maximum, mean:
		return q.foldByHand(ctx, client, q.from, q.to)
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
	return bigtable.ChainFilters(bigtable.ColumnFilter(strings.Join(fleetFields[:q.fields], "|")), times)
}

// fieldByHand returns the index of the field of a cell.
func fieldByHand(item *bigtable.ReadItem) int {
	return slices.Index(fleetFields, strings.TrimPrefix(item.Column, "m:"))
}

func floatByHand(item *bigtable.ReadItem) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(item.Value))
}

// hostByHand returns the name of the host in a row key.
func hostByHand(key string) string { return strings.SplitN(key, "#", 4)[2] }

// rowByHand returns the reading that a row has.
func rowByHand(row bigtable.Row) answer {
	a := answer{Host: hostByHand(row.Key()), Values: make([]float64, len(fleetFields))}
	for i := range row["m"] {
		item := &row["m"][i]
		a.Time = item.Timestamp.Time().UTC()
		a.Values[fieldByHand(item)] = floatByHand(item)
	}
	return a
}

// foldedByHand are the sums or the maxima of the values of fields, and their numbers.
type foldedByHand struct{ values, counts []float64 }

// foldByHand answers a query for maxima or means in a range of time. The values of a column come with the newest first, and are
// added from the oldest on, as in the definition.
func (q query) foldByHand(ctx context.Context, client *bigtable.Client, from, to time.Time) (out []answer, err error) {
	all := map[answerKey]*foldedByHand{}
	err = client.Open("cpu").ReadRows(ctx, q.hourRows(from, to), func(row bigtable.Row) bool {
		host := hostByHand(row.Key())
		var of *foldedByHand
		var last answerKey
		for i := range slices.Backward(row["m"]) {
			item := &row["m"][i]
			if key := q.keyOf(host, int64(item.Timestamp)); of == nil || key != last {
				if last, of = key, all[key]; of == nil {
					of = &foldedByHand{make([]float64, q.fields), make([]float64, q.fields)}
					all[key] = of
				}
			}
			field, v := fieldByHand(item), floatByHand(item)
			switch {
			case of.counts[field] == 0:
				of.values[field] = v
			case q.kind == mean:
				of.values[field] += v
			default:
				of.values[field] = math.Max(of.values[field], v)
			}
			of.counts[field]++
		}
		return true
	}, bigtable.RowFilter(q.ofFields(from, to)))
	for key, of := range all {
		if q.kind == mean {
			for i := range of.values {
				of.values[i] /= of.counts[i]
			}
		}
		out = append(out, answer{key.host, time.UnixMicro(key.start).UTC(), of.values})
	}
	return sortedAnswers(out), err
}

// lastByHand reads hour by hour, from the newest one, until it has five windows.
func (q query) lastByHand(ctx context.Context, client *bigtable.Client) (out []answer, err error) {
	for to := q.to; len(out) < 5 && to.After(q.from); {
		from := to.Add(-1).Truncate(time.Hour)
		some, err := q.foldByHand(ctx, client, from, to)
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
		out = append(out, rowByHand(row))
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
		a := rowByHand(row)
		of[a.Host] = a // rows of a host come in order of time
		return true
	}, bigtable.RowFilter(bigtable.LatestNFilter(1)))
	var out []answer
	for _, a := range of {
		out = append(out, a)
	}
	return sortedAnswers(out), err
}
