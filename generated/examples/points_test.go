package examples_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// hour is the start of the hour of the rows in OpenTSDB's documentation, and docRow the key of the
// first of them: a metric, the hour, a tag and its value.
var (
	hour   = time.Unix(1356998400, 0).UTC()
	docRow = unhex("00000150e22700000001000001")
	docTag = examples.DataPointSeries{Metric: []byte("\x00\x00\x01"), Tagk: []byte("\x00\x00\x01"), Tagv: []byte("\x00\x00\x01")}
)

// unhex decodes hexadecimal digits, ignoring spaces.
func unhex(s string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// tsdCell is a cell that a TSD has written.
type tsdCell struct{ qualifier, value string } // in hexadecimal digits

// putPoints writes cells as a TSD does, n seconds after noon.
func putPoints(t testing.TB, bt *storetest.Bigtable, row string, n int, cells ...tsdCell) {
	t.Helper()
	m := bigtable.NewMutation()
	for _, c := range cells {
		m.Set("t", unhex(c.qualifier), bigtable.Time(noon.Add(time.Duration(n)*time.Second)), []byte(unhex(c.value)))
	}
	if err := bt.Client.Open("tsdb").Apply(t.Context(), row, m); err != nil {
		t.Fatal(err)
	}
}

// point is the event of a series at an offset in the hour.
func point(series examples.DataPointSeries, at time.Duration, value float64) examples.DataPointEvent {
	return examples.DataPointEvent{DataPointSeries: series, Time: hour.Add(at), Value: value}
}

// rowAt is the key of the row of the series that is n hours later.
func rowAt(series examples.DataPointSeries, n int) string {
	key := append(slices.Clone(series.Metric), binary.BigEndian.AppendUint32(nil, uint32(hour.Unix())+uint32(n)*3600)...)
	return string(slices.Concat(key, series.Tagk, series.Tagv))
}

// clients connects to the server of a test with and without the client's own decoding of rows.
func clients(t *testing.T, bt *storetest.Bigtable) map[string]*bigtable.Client {
	t.Helper()
	out := map[string]*bigtable.Client{"wire": bt.Client}
	for name, connect := range map[string]func(context.Context, string, ...grpc.DialOption) (*bigtable.Client, error){"ordinary": storetest.ConnectPlain} {
		client, err := connect(t.Context(), bt.Addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		out[name] = client
	}
	return out
}

// A row with points in each form in which OpenTSDB stores them, next to annotations and a
// histogram, is read in every way.
func TestPointsOfOpenTSDB(t *testing.T) {
	bt := examplestest.New(t)
	note := hex.EncodeToString([]byte(`{"tsuid":"000001000001000001","startTime":1356998403}`))
	putPoints(t, bt, docRow, 0,
		tsdCell{"0000 0010 f000fa4b 0027", "01 02 3fc00000 0000000000000005 01"}, // compacted
		tsdCell{"003b", "3fc00000"},
		tsdCell{"004b", "00000000 40200000"}, // as old versions stored floats
		tsdCell{"0050 0060", "06 07 00"},
		tsdCell{"050000", "0080 ff 0070 08 fdbb9fc3 00000009"}, // appended out of order
		tsdCell{"010003", note}, tsdCell{"0100000bb9", note}, tsdCell{"060009", "00010203"},
	)
	putPoints(t, bt, rowAt(docTag, -1), 0, tsdCell{"e0f0", "64"})
	putPoints(t, bt, rowAt(docTag, 1), 0, tsdCell{"010003", note}) // no event
	putPoints(t, bt, rowAt(docTag, 2), 0, tsdCell{"0000", "0a"})
	putPoints(t, bt, rowAt(docTag, 3), 0, tsdCell{"010003", note})
	second := func(n float64) time.Duration { return time.Duration(math.Round(n*1000)) * time.Millisecond }
	var want []examples.DataPointEvent
	for _, e := range [][2]float64{
		{-1, 100}, {0, 1}, {1, 2}, {1.001, 1.5}, {2, 5}, {3, 1.5}, {4, 2.5}, {5, 6}, {6, 7}, {7, 8}, {8, -1}, {3599.999, 9}, {7200, 10},
	} {
		want = append(want, point(docTag, second(e[0]), e[1]))
	}
	end := hour.Add(24 * time.Hour)
	for name, client := range clients(t, bt) {
		r := examples.NewDataPointReader(client, store.ReaderOptions{Now: clock})
		for i := range want {
			for k := i; k < len(want); k++ {
				part := want[i : k+1]
				to := part[len(part)-1].Time.Add(time.Millisecond)
				what := fmt.Sprintf("%s, %d to %d", name, i, k)
				storetest.Same(t, what, r.Read(t.Context(), docTag, part[0].Time, to), part...)
				storetest.Same(t, what+", 2 events", r.Read(t.Context(), docTag, part[0].Time, to, store.ReadOptions{Limit: 2}), part[:min(2, len(part))]...)
				newest := slices.Clone(part)
				slices.Reverse(newest)
				newestFirst := store.ReadOptions{NewestFirst: true, Limit: 3}
				storetest.Same(t, what+", newest first", r.PointsOf(t.Context(), docTag.Metric, part[0].Time, to, newestFirst), newest[:min(3, len(newest))]...)
				storetest.Same(t, what+", of a tag", r.PointsOfTag(t.Context(), docTag.Tagk, docTag.Tagv, part[0].Time, to), part...)
				storetest.Same(t, what+", in columns", storetest.Columns[examples.DataPointEvent](func(c *examples.DataPointColumns) error {
					return r.ReadColumns(t.Context(), docTag, part[0].Time, to, c)
				}), part...)
				storetest.Same(t, what+", series", r.PointsOfSeries(t.Context(), docTag.Metric, part[0].Time, to), docTag)
			}
		}
		storetest.Same(t, name+", annotations", r.Read(t.Context(), docTag, hour.Add(time.Hour), hour.Add(2*time.Hour)))
		storetest.Same(t, name+", series with annotations", r.PointsOfSeries(t.Context(), docTag.Metric, hour.Add(time.Hour), hour.Add(2*time.Hour)))
		storetest.Same(t, name+", between", r.PointsOfSeries(t.Context(), docTag.Metric, hour.Add(9*time.Second), hour.Add(time.Hour-time.Second)))
		storetest.Same(t, name+", latest", storetest.One(r.Latest(t.Context(), docTag)), want[len(want)-1])
		storetest.Same(t, name+", latest of a metric", r.PointsOf(t.Context(), docTag.Metric, hour, end, store.ReadOptions{LatestOnly: true}), want[len(want)-1])
		storetest.Same(t, name+", latest in range", r.PointsOf(t.Context(), docTag.Metric, hour, hour.Add(4*time.Second), store.ReadOptions{LatestOnly: true}), want[5])
		page := &store.Page{Size: 2}
		for i := 0; i < len(want); i += 2 {
			storetest.Same(t, name+", page", r.Read(t.Context(), docTag, want[0].Time, end, store.ReadOptions{Page: page}), want[i:min(i+2, len(want))]...)
			page.Token = page.Next
		}
	}
}

// Of several values of one time, that of the newest cell counts, as in OpenTSDB, whichever form
// the cells have.
func TestPointsOfEqualTimes(t *testing.T) {
	bt := examplestest.New(t)
	forms := []tsdCell{
		{"0030", "%02x"},                        // an integer
		{"003b", "%08x"},                        // a float: replaced below
		{"f002ee00", "%02x"},                    // with milliseconds
		{"0020 0030 0040", "63 %02x 63 00"},     // compacted
		{"050000", "0020 63 0030 62 0030 %02x"}, // appended, again
	}
	for i := range forms {
		for k := range forms {
			if i == k {
				continue
			}
			series := examples.DataPointSeries{Metric: []byte{0, 1, byte(i)}, Tagk: docTag.Tagk, Tagv: []byte{0, 0, byte(k)}}
			cell := func(form int, value int) tsdCell {
				bits := uint32(value)
				if form == 1 {
					bits = math.Float32bits(float32(value))
				}
				return tsdCell{forms[form].qualifier, fmt.Sprintf(forms[form].value, bits)}
			}
			putPoints(t, bt, rowAt(series, 0), 2, cell(i, 7)) // the newer one
			putPoints(t, bt, rowAt(series, 0), 1, cell(k, 8))
			r := examples.NewDataPointReader(bt.Client, store.ReaderOptions{Now: clock})
			storetest.Same(t, fmt.Sprintf("%v and %v", forms[i], forms[k]), r.Read(t.Context(), series, hour.Add(3*time.Second), hour.Add(4*time.Second)), point(series, 3*time.Second, 7))
		}
	}
}

// Writers store points as a TSD does, and replace what is stored of their time, also in cells of
// other types and in cells with several points.
func TestPointsAreWritten(t *testing.T) {
	bt := examplestest.New(t)
	putPoints(t, bt, docRow, 0, tsdCell{"0030", "01"}, tsdCell{"0037", "0000000000000002"}, tsdCell{"0020 0030", "03 04 00"}, tsdCell{"010003", "aa"})
	w := examples.NewDataPointWriter(bt.Client, store.WriterOptions{Now: clock})
	events := []examples.DataPointEvent{point(docTag, 3*time.Second, 1.5), point(docTag, 3001*time.Millisecond, 0.1), point(docTag, time.Hour-time.Millisecond, -2)}
	if err := w.WriteAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	want := []tsdCell{{"002000 30", "030400"}, {"003b", "3fc00000"}, {"010003", "aa"}, {"f002ee4f", "3fb999999999999a"}, {"fdbb9fcb", "c0000000"}}
	for i := range want {
		want[i] = tsdCell{strings.ReplaceAll(want[i].qualifier, " ", ""), want[i].value}
	}
	if got := stored(t, bt, docRow); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
	r := examples.NewDataPointReader(bt.Client, store.ReaderOptions{Now: clock})
	storetest.Same(t, "written", r.Read(t.Context(), docTag, hour, hour.Add(time.Hour)), append([]examples.DataPointEvent{point(docTag, 2*time.Second, 3)}, events...)...)

	for _, value := range []float64{math.NaN(), math.Inf(1)} { // which a TSD does not accept
		if err := w.Write(t.Context(), point(docTag, 0, value)); !errors.Is(err, codec.ErrNaN) {
			t.Errorf("%g: %v", value, err)
		}
	}
	if err := w.Write(t.Context(), events[0], store.WriteOptions{IfAbsent: true}); !errors.Is(err, store.ErrSharedCells) {
		t.Errorf("IfAbsent: %v", err)
	}
	if got := stored(t, bt, docRow); !slices.Equal(got, want) {
		t.Errorf("a refused event changed the row to %v", got)
	}
}

// stored returns the newest cell of each column of a row.
func stored(t testing.TB, bt *storetest.Bigtable, key string) (out []tsdCell) {
	t.Helper()
	row, err := bt.Client.Open("tsdb").ReadRow(t.Context(), key, bigtable.RowFilter(bigtable.LatestNFilter(1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range row["t"] {
		out = append(out, tsdCell{hex.EncodeToString([]byte(item.Column[2:])), hex.EncodeToString(item.Value)})
	}
	return out
}

// What cannot be decoded is an error with its column, and the other points of its row are read.
// It does not hide an older event from Latest silently.
func TestUndecodablePoints(t *testing.T) {
	bt := examplestest.New(t)
	for n, cells := range [][]tsdCell{
		{{"070000", "01"}},                              // an unknown column
		{{"0010 0020", "01 02"}},                        // compacted, without its last byte
		{{"050000", "0020"}},                            // appended in part
		{{"00f7", "0020000000000001"}},                  // an integer that is no float64
		{{"0010 00f9", "04 0102 00"}, {"0010", "0102"}}, // a float of 2 bytes, after an event
		{{"e100", "01"}},                                // after the hour
	} {
		series := examples.DataPointSeries{Metric: []byte{0, 2, byte(n)}, Tagk: docTag.Tagk, Tagv: docTag.Tagv}
		putPoints(t, bt, rowAt(series, 0), 0, tsdCell{"0000", "05"})
		putPoints(t, bt, rowAt(series, 0), 1, cells...)
		r := examples.NewDataPointReader(bt.Client, store.ReaderOptions{Now: clock})
		failed, events := 0, 0
		for e, err := range r.Read(t.Context(), series, hour, hour.Add(time.Hour)) {
			var decode *store.DecodeError
			switch {
			case errors.As(err, &decode) && decode.Column != "" && decode.Row == rowAt(series, 0):
				failed++
			case err != nil:
				t.Errorf("%v: %v", cells, err)
			case e.Time.Equal(hour) && e.Value == 5:
				events++
			}
		}
		if failed != 1 || events != 1 {
			t.Errorf("%v: %d errors, %d events", cells, failed, events)
		}
		var decode *store.DecodeError
		if e, err := r.Latest(t.Context(), series); !errors.As(err, &decode) {
			t.Errorf("%v: the latest is %v, %v", cells, e, err)
		}
		storetest.Same(t, "before the error", r.PointsOfSeries(t.Context(), series.Metric, hour, hour.Add(time.Second)), series)
	}
}

// Rows with more or fewer tags are of no series of the schema: reads of a series are not affected, and
// queries of the metric, deletions among them, name them and leave them.
func TestPointsWithOtherTags(t *testing.T) {
	bt := examplestest.New(t)
	series := examples.DataPointSeries{Metric: []byte{0, 5, 0}, Tagk: docTag.Tagk, Tagv: docTag.Tagv}
	others := []string{rowAt(series, 0) + "\x00\x00\x02\x00\x00\x04", rowAt(series, 1)[:7]} // two tags, and none
	putPoints(t, bt, rowAt(series, 0), 0, tsdCell{"0000", "01"})
	for _, row := range others {
		putPoints(t, bt, row, 0, tsdCell{"0000", "02"})
	}
	r := examples.NewDataPointReader(bt.Client, store.ReaderOptions{Now: clock})
	want, end := point(series, 0, 1), hour.Add(4*time.Hour)
	storetest.Same(t, "Read", r.Read(t.Context(), series, hour, end), want)
	storetest.Same(t, "Latest", storetest.One(r.Latest(t.Context(), series)), want)
	storetest.Same(t, "PointsOfTag", r.PointsOfTag(t.Context(), series.Tagk, series.Tagv, hour, end), want)
	var failed []string
	for e, err := range r.PointsOf(t.Context(), series.Metric, hour, end) {
		switch decode, is := errors.AsType[*store.DecodeError](err); {
		case is:
			failed = append(failed, decode.Row)
		case err != nil || e.Value != 1:
			t.Errorf("%v, %v", e, err)
		}
	}
	if !slices.Equal(failed, others) {
		t.Errorf("errors of %q, want %q", failed, others)
	}
	w := examples.NewDataPointWriter(bt.Client, store.WriterOptions{Now: clock})
	d, err := w.DeletePointsOf(t.Context(), series.Metric, hour, end)
	if _, is := errors.AsType[*store.DecodeError](err); !is || d.Events() != 1 {
		t.Errorf("%v, %v", d, err)
	}
	for _, row := range others {
		if len(stored(t, bt, row)) != 1 {
			t.Errorf("row %q is gone", row)
		}
	}
}

// Deleting points deletes these and nothing else: cells with other points stay, and are an error.
func TestPointsAreDeleted(t *testing.T) {
	bt := examplestest.New(t)
	note := tsdCell{"010003", "aa"}
	all := []tsdCell{{"0010", "01"}, {"0020 0030", "020300"}, {"00400050", "040500"}, {"050000", "0060060070f9"}, note}
	tests := []struct {
		name     string
		from, to int // seconds in the hour
		left     []int
		events   int
		shared   string
	}{
		{"a single cell", 1, 2, []int{1, 2, 3, 4}, 1, ""},
		{"a whole compacted cell", 2, 4, []int{0, 2, 3, 4}, 2, ""},
		{"whole cells", 1, 6, []int{3, 4}, 5, ""},
		{"appended points", 6, 8, []int{0, 1, 2, 4}, 2, ""},
		{"all points, not the annotation", 0, 3600, []int{4}, 7, ""},
		{"more than the hour", -7200, 7200, []int{4}, 7, ""},
		{"half a compacted cell", 1, 3, []int{0, 1, 2, 3, 4}, 0, "00200030"},
		{"half of the appended points", 1, 7, []int{0, 1, 2, 3, 4}, 0, "050000"},
		{"nothing", 10, 3600, []int{0, 1, 2, 3, 4}, 0, ""},
	}
	for n, tt := range tests {
		series := examples.DataPointSeries{Metric: []byte{0, 3, byte(n)}, Tagk: docTag.Tagk, Tagv: docTag.Tagv}
		putPoints(t, bt, rowAt(series, 0), 0, all...)
		putPoints(t, bt, rowAt(series, 9), 0, all...)
		want := []tsdCell{}
		for _, i := range tt.left {
			want = append(want, tsdCell{strings.ReplaceAll(all[i].qualifier, " ", ""), all[i].value})
		}
		slices.SortFunc(want, func(a, b tsdCell) int { return strings.Compare(a.qualifier, b.qualifier) })
		w := examples.NewDataPointWriter(bt.Client, store.WriterOptions{Now: clock})
		for _, dry := range []bool{true, false, false} {
			before := stored(t, bt, rowAt(series, 0))
			d, err := w.DeleteRange(t.Context(), series, hour.Add(time.Duration(tt.from)*time.Second), hour.Add(time.Duration(tt.to)*time.Second), store.DeleteOptions{DryRun: dry})
			var shared *store.SharedCellError
			if errors.As(err, &shared) != (tt.shared != "") || shared == nil && err != nil || shared != nil && (hex.EncodeToString([]byte(shared.Column)) != tt.shared || shared.Row != rowAt(series, 0) || shared.Events == 0) {
				t.Errorf("%s: %v", tt.name, err)
			}
			got := stored(t, bt, rowAt(series, 0))
			switch {
			case dry && !slices.Equal(got, before), !dry && !slices.Equal(got, want):
				t.Errorf("%s: left %v, want %v", tt.name, got, want)
			case len(before) == len(all) && d.Events() != tt.events:
				t.Errorf("%s: %d events, want %d", tt.name, d.Events(), tt.events)
			}
		}
		if got := stored(t, bt, rowAt(series, 9)); len(got) != len(all) {
			t.Errorf("%s: another hour has %v", tt.name, got)
		}
		_, err := w.Delete(t.Context(), []examples.DataPointEvent{point(series, 9*time.Hour+2*time.Second, 0)})
		if _, shared := errors.AsType[*store.SharedCellError](err); !shared {
			t.Errorf("one event of a compacted cell: %v", err)
		}
		if d, err := w.Delete(t.Context(), []examples.DataPointEvent{point(series, 9*time.Hour+2*time.Second, 0), point(series, 9*time.Hour+3*time.Second, 0)}); err != nil || d.Events() != 2 {
			t.Errorf("all events of a compacted cell: %v, %v", d, err)
		}
	}

	// An hour without anything else is deleted with its family, and one with a column that cannot
	// be decoded is not.
	series := examples.DataPointSeries{Metric: []byte{0, 4, 0}, Tagk: docTag.Tagk, Tagv: docTag.Tagv}
	putPoints(t, bt, rowAt(series, 0), 0, all[:4]...)
	putPoints(t, bt, rowAt(series, 1), 0, tsdCell{"070000", "01"}, all[0])
	w := examples.NewDataPointWriter(bt.Client, store.WriterOptions{Now: clock})
	d, err := w.DeletePointsOf(t.Context(), series.Metric, hour, hour.Add(2*time.Hour))
	if _, undecodable := errors.AsType[*store.DecodeError](err); !undecodable || d.Events() != 8 || d.Tables[0].Mutations != 2 {
		t.Errorf("two hours: %v, %v", d, err)
	}
	if got := append(stored(t, bt, rowAt(series, 0)), stored(t, bt, rowAt(series, 1))...); len(got) != 1 || got[0].qualifier != "070000" {
		t.Errorf("two hours: left %v", got)
	}
}
