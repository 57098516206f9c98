package gen_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/runtime/store"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/generated/alltypes"
	"github.com/btgen-dev/btgen/generated/alltypes/alltypestest"
	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// resolved returns the layouts of the example schemas.
func resolved(t *testing.T) gen.Result {
	t.Helper()
	paths, err := filepath.Glob("../schemas/*.yaml")
	check(t, err)
	var inputs []gen.Input
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(t, err)
		inputs = append(inputs, gen.Input{Name: path, Text: text})
	}
	result := gen.Resolve(inputs)
	check(t, result.Diagnostics.Err())
	return result
}

// layoutOf returns the layout with a name, such as examples.Sample.
func layoutOf(t *testing.T, r gen.Result, name string) *layout.Layout {
	t.Helper()
	i := slices.IndexFunc(r.Layouts, func(l *layout.Layout) bool { return l.Package+"."+l.Name == name })
	if i < 0 {
		t.Fatal("no schema ", name)
	}
	return r.Layouts[i]
}

// requests returns the parts of the requests since the last call that a plan determines.
func (c *traffic) requests() []*bigtablepb.ReadRowsRequest {
	var out []*bigtablepb.ReadRowsRequest
	for _, r := range c.take() {
		out = append(out, &bigtablepb.ReadRowsRequest{Rows: r.Rows, Filter: r.Filter, RowsLimit: r.RowsLimit, Reversed: r.Reversed})
	}
	return out
}

// onWire converts planned requests to wire format, independently of package store, which
// sends them.
func onWire(planned []scan.Request) []*bigtablepb.ReadRowsRequest {
	var out []*bigtablepb.ReadRowsRequest
	for _, r := range planned {
		request := &bigtablepb.ReadRowsRequest{Rows: &bigtablepb.RowSet{}, Filter: filterOnWire(r.Filter), RowsLimit: int64(r.Limit), Reversed: r.Rows[0].Reverse}
		add := func(start, end string) {
			rows := &bigtablepb.RowRange{StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(start)}}
			if end != "" {
				rows.EndKey = &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(end)}
			}
			if start == "" {
				rows.StartKey = nil
			}
			request.Rows.RowRanges = append(request.Rows.RowRanges, rows)
		}
		list := len(r.Rows) == 1 && len(r.Rows[0].Keys) > 1 && !r.Rows[0].Reverse
		for _, rows := range r.Rows {
			if rows.Keys == nil {
				add(rows.Start, rows.End)
			}
			for _, key := range rows.Keys {
				if list {
					request.Rows.RowKeys = append(request.Rows.RowKeys, []byte(key))
				} else {
					add(key, key+"\x00")
				}
			}
		}
		out = append(out, request)
	}
	return out
}

// filterOnWire converts a planned filter to wire format.
func filterOnWire(f scan.Filter) *bigtablepb.RowFilter {
	switch f := f.(type) {
	case scan.Chain:
		var filters []*bigtablepb.RowFilter
		for _, inner := range f {
			onWire := filterOnWire(inner)
			if cells, ok := inner.(scan.Cells); ok && cells.Windows != nil {
				filters = append(filters, onWire.GetChain().Filters...) // not a chain within a chain
			} else {
				filters = append(filters, onWire)
			}
		}
		return chained(filters...)
	case scan.Interleave:
		return interleaved(each(f, filterOnWire))
	case scan.Keys:
		forms := each(f, func(form codec.KeyPieces) string { return form.Regexp() })
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: []byte(strings.Join(forms, "|"))}}
	case scan.Columns:
		names := strings.Join(each(f, codec.QuoteRegexp), "|")
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnQualifierRegexFilter{ColumnQualifierRegexFilter: []byte(names)}}
	case scan.ColumnRange:
		return interleaved(each(f.Families, func(family string) *bigtablepb.RowFilter {
			r := &bigtablepb.ColumnRange{FamilyName: family}
			if f.Begin != "" {
				r.StartQualifier = &bigtablepb.ColumnRange_StartQualifierClosed{StartQualifierClosed: []byte(f.Begin)}
			}
			if f.End != "" {
				r.EndQualifier = &bigtablepb.ColumnRange_EndQualifierOpen{EndQualifierOpen: []byte(f.End)}
			}
			return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnRangeFilter{ColumnRangeFilter: r}}
		}))
	case scan.Cells:
		names := strings.ReplaceAll(strings.Join(f.Families, "|"), ".", `\.`)
		families := &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: names}}
		if f.Windows == nil {
			return families
		}
		return chained(families, interleaved(each(f.Windows, windowOnWire)))
	case scan.CellsPerColumn:
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: int32(f)}}
	case scan.CellsPerRow:
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_CellsPerRowLimitFilter{CellsPerRowLimitFilter: int32(f)}}
	case scan.ValueRanges:
		return interleaved(each(f, func(r codec.ValueRange) *bigtablepb.RowFilter {
			on := &bigtablepb.ValueRange{StartValue: &bigtablepb.ValueRange_StartValueClosed{StartValueClosed: []byte(r.Start)}}
			if r.End != "" {
				on.EndValue = &bigtablepb.ValueRange_EndValueOpen{EndValueOpen: []byte(r.End)}
			}
			return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ValueRangeFilter{ValueRangeFilter: on}}
		}))
	case scan.Condition:
		on := &bigtablepb.RowFilter_Condition{PredicateFilter: filterOnWire(f.If)}
		if f.Then != nil {
			on.TrueFilter = filterOnWire(f.Then)
		}
		if f.Else != nil {
			on.FalseFilter = filterOnWire(f.Else)
		}
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Condition_{Condition: on}}
	case scan.StripValues:
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_StripValueTransformer{StripValueTransformer: true}}
	}
	return nil
}

// windowOnWire converts a window of cells to wire format: the newest cells of each column,
// and among those the ones in a time range.
func windowOnWire(w codec.Window) *bigtablepb.RowFilter {
	var parts []*bigtablepb.RowFilter
	if w.Versions > 0 {
		parts = append(parts, filterOnWire(scan.CellsPerColumn(w.Versions)))
	}
	if w.From > 0 || w.To > 0 {
		r := &bigtablepb.TimestampRange{StartTimestampMicros: w.From, EndTimestampMicros: w.To}
		parts = append(parts, &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_TimestampRangeFilter{TimestampRangeFilter: r}})
	}
	return chained(parts...)
}

// chained chains filters, and interleaved interleaves them. Bigtable rejects either with a
// single filter.
func chained(filters ...*bigtablepb.RowFilter) *bigtablepb.RowFilter {
	if len(filters) == 1 {
		return filters[0]
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: filters}}}
}

func interleaved(filters []*bigtablepb.RowFilter) *bigtablepb.RowFilter {
	if len(filters) == 1 {
		return filters[0]
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Interleave_{Interleave: &bigtablepb.RowFilter_Interleave{Filters: filters}}}
}

// each returns the result of f for each element.
func each[A, B any](in []A, f func(A) B) []B {
	var out []B
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}

// drain reads to the end and ignores the results.
func drain[E any](events iter.Seq2[E, error]) {
	for range events {
	}
}

// explained is a schema with its generated reader.
type explained struct {
	name   string
	addr   func(t *testing.T) string
	reader func(client *bigtable.Client, now time.Time) calls
}

// ctx is for reads that are not canceled.
var ctx = context.Background()

// TestExplainedRequests checks that the requests in the plans that explain prints are the
// requests that generated readers send.
func TestExplainedRequests(t *testing.T) {
	result := resolved(t)
	doc, err := explain.New(result.Schemas, result.Layouts, explain.Options{})
	check(t, err)
	for _, e := range testlong.Sample(explainedReaders(t, result), 4) {
		t.Run(e.name, func(t *testing.T) {
			l := layoutOf(t, result, e.name)
			_, _, now := sample.Day(l.Read)
			c := &traffic{}
			calls := e.reader(c.connect(t, e.addr(t), storetest.Connect), now)
			queries := append([]layout.Query{l.ReadQuery()}, l.Queries...)
			for _, q := range queries {
				read := calls.reads[q.Name]
				if slices.ContainsFunc(q.Inputs, func(in layout.Input) bool { return in.Ends() == 2 }) {
					continue // the examples are single values
				}
				if read == nil {
					t.Fatal("no read ", q.Name)
				}
				from, to, _ := sample.Day(q.Table)
				for _, span := range spansOf(&q, from, to) {
					read(span[0], span[1])
					sameRequests(t, q.Name, sample.Requests(l, &q, now, span[0], span[1], nil), c.requests())
				}
				if n := expectedOf(doc, e.name, q.Name); n != len(sample.Requests(l, &q, now, from, to, nil)) {
					t.Errorf("%s: explained as %d requests", q.Name, n)
				}
			}
			if read := calls.reads["fields"]; read != nil {
				q := l.ReadQuery()
				from, to, _ := sample.Day(q.Table)
				read(from, to)
				sameRequests(t, "fields", sample.Requests(l, &q, now, from, to, q.Table.Pickable()[:1]), c.requests())
			}
			if err := calls.latest(); err != nil && !strings.Contains(err.Error(), "no event found") {
				t.Error(err)
			}
			search := sample.LatestSearch(l, now)
			first := fmt.Sprint(sample.LatestRequests(l, now)) != fmt.Sprint(search) // another look comes first
			if len(search) > 1 && search[0].KeysOnly {                               // there is nothing to be found
				search = slices.DeleteFunc(search, func(r scan.Request) bool { return !r.KeysOnly })
			}
			want := search
			if first {
				want = append(sample.LatestRequests(l, now), search...)
			}
			sameRequests(t, "Latest", want, c.requests())
		})
	}
}

// spansOf returns time ranges to read: a day, part of a bucket, part of a millisecond and,
// if rows are in time order, more buckets than fit in a request or are listed.
func spansOf(q *layout.Query, from, to time.Time) [][2]time.Time {
	const second, fine = time.Second, 1500 * time.Microsecond
	spans := [][2]time.Time{
		{from, to}, {to, from},
		{from.Add(time.Hour + second), from.Add(4*time.Hour + second)},
		{from.Add(time.Minute), from.Add(2 * time.Minute)},
		{from.Add(fine), from.Add(time.Hour + fine)}, {from.Add(fine), from.Add(fine + 2*time.Microsecond)},
	}
	if !q.Table.Pattern.Bucketed() || q.Table.Bucket.Sorted() {
		spans = append(spans, [2]time.Time{from.AddDate(-1, 0, 0), to.AddDate(1, 0, 0)}, [2]time.Time{from.AddDate(-10, 0, 0), to})
	}
	return spans
}

// expectedOf returns the number of requests of a read according to a document.
func expectedOf(doc *explain.Explanation, schema, read string) int {
	for _, s := range doc.Sections {
		if s.ID != schema {
			continue
		}
		for _, r := range s.Sections[len(s.Sections)-2].Sections {
			if r.Name != read && !strings.HasPrefix(r.Name, read+", ") {
				continue
			}
			for _, row := range r.Parts[len(r.Parts)-1].Table.Rows {
				if work, ok := row.Data.(estimate.Work); ok {
					return work.Requests
				}
			}
		}
	}
	return -1
}

// sameRequests compares requests sorted by their rows, because concurrent requests have no order.
func sameRequests(t *testing.T, what string, planned []scan.Request, sent []*bigtablepb.ReadRowsRequest) {
	t.Helper()
	byRows := func(a, b *bigtablepb.ReadRowsRequest) int { return cmp.Compare(fmt.Sprint(a.Rows), fmt.Sprint(b.Rows)) }
	want := onWire(planned)
	slices.SortStableFunc(want, byRows)
	slices.SortStableFunc(sent, byRows)
	if slices.EqualFunc(want, sent, func(a, b *bigtablepb.ReadRowsRequest) bool { return proto.Equal(a, b) }) {
		return // a diff of large requests takes seconds
	}
	if diff := gocmp.Diff(want, sent, protocmp.Transform(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: (-planned +sent)\n%s", what, diff)
	}
}

// reader is a generated reader.
type reader[E, S any] interface {
	Read(ctx context.Context, series S, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[E, error]
	Latest(ctx context.Context, series S) (E, error)
}

// calls are the reads of a reader, by name.
type calls struct {
	reads  map[string]func(from, to time.Time)
	latest func() error
}

// callsOf returns the calls of a reader for a series, including, if there are fields, a read of a
// single field.
func callsOf[E, S any](r reader[E, S], series S, fields ...store.Field) calls {
	out := calls{reads: map[string]func(from, to time.Time){}}
	out.reads["Read"] = func(from, to time.Time) { drain(r.Read(ctx, series, from, to)) }
	if fields != nil {
		out.reads["fields"] = func(from, to time.Time) { drain(r.Read(ctx, series, from, to, store.ReadOptions{Fields: fields})) }
	}
	out.latest = func() error {
		_, err := r.Latest(ctx, series)
		return err
	}
	return out
}

// with adds the read of a query.
func (c calls) with(name string, read func(from, to time.Time)) calls {
	c.reads[name] = read
	return c
}

// explainedReaders are the readers of the example schemas, each with the series of its examples.
func explainedReaders(t *testing.T, result gen.Result) []explained {
	const m, m86, gopher = "nyc", "m86", "gopher"
	o := func(now time.Time) store.ReaderOptions {
		return store.ReaderOptions{Now: func() time.Time { return now }}
	}
	return []explained{
		{"examples.Position", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewPositionReader(client, o(now))
			return callsOf(r, examples.PositionSeries{Region: m, Line: m86, Vehicle: 5824}, examples.PositionFieldLatitude).
				with("ByLine", func(from, to time.Time) { drain(r.ByLine(ctx, m, m86, from, to)) }).
				with("ByLines", func(from, to time.Time) { drain(r.ByLines(ctx, m, []string{m86, m86}, from, to)) }).
				with("ByVehicle", func(from, to time.Time) { drain(r.ByVehicle(ctx, m, 5824, from, to)) }).
				with("ByRegion", func(from, to time.Time) { drain(r.ByRegion(ctx, m, from, to)) }).
				with("Export", func(from, to time.Time) { drain(r.Export(ctx, from, to)) })
		}},
		{"examples.Tremor", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewTremorReader(client, o(now))
			return callsOf(r, examples.TremorSeries{Network: "NC", Station: "PKD1", Channel: 3}, examples.TremorFieldMagnitude).
				with("ByStations", func(from, to time.Time) { drain(r.ByStations(ctx, "NC", "PKD1", from, to)) }).
				with("Unreviewed", func(from, to time.Time) { drain(r.Unreviewed(ctx, "NC", "PKD1", true, from, to)) })
		}},
		{"examples.Vehicle", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewVehicleReader(client, o(now))
			return callsOf(r, examples.VehicleSeries{Region: m, Line: m86, Vehicle: 5824}, examples.VehicleFieldLatitude).
				with("ByLine", func(from, to time.Time) { drain(r.ByLine(ctx, m, m86, from, to)) }).
				with("ByRegion", func(from, to time.Time) { drain(r.ByRegion(ctx, m, from, to)) })
		}},
		{"examples.Delay", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewDelayReader(client, o(now))
			return callsOf(r, examples.DelaySeries{Region: m, Line: m86, Vehicle: 5824}).
				with("ByRegion", func(from, to time.Time) { drain(r.ByRegion(ctx, m, from, to)) }).
				with("ByRegionAndLine", func(from, to time.Time) { drain(r.ByRegionAndLine(ctx, m, m86, from, to)) })
		}},
		{"examples.Activity", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewActivityReader(client, o(now))
			id, _ := codec.ParseUUID("f81d4fae-7dec-41d0-a765-00a0c91e6bf6")
			return callsOf(r, examples.ActivitySeries{Repository: "btgen", Actor: gopher, ID: id}).
				with("ByRepository", func(from, to time.Time) { drain(r.ByRepository(ctx, "btgen", from, to)) }).
				with("ByActor", func(from, to time.Time) { drain(r.ByActor(ctx, gopher, from, to)) })
		}},
		{"examples.Tick", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewTickReader(client, o(now))
			return callsOf(r, examples.TickSeries{Exchange: "XNYS", Symbol: "ACME"}).
				with("ByExchange", func(from, to time.Time) { drain(r.ByExchange(ctx, "XNYS", from, to)) })
		}},
		{"examples.Usage", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewUsageReader(client, o(now))
			series := seriesOf[examples.UsageSeries](t, result, "examples.Usage")
			return callsOf(r, series, examples.UsageFieldUsageUser).
				with("ByHosts", func(from, to time.Time) { drain(r.ByHosts(ctx, []string{series.Hostname, series.Hostname}, from, to)) }).
				with("All", func(from, to time.Time) { drain(r.All(ctx, from, to)) })
		}},
		{"examples.Meter", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewMeterReader(client, o(now))
			return callsOf(r, examples.MeterSeries{Region: "north", Meter: 42}, examples.MeterFieldEnergy).
				with("ByRegion", func(from, to time.Time) { drain(r.ByRegion(ctx, "north", from, to)) })
		}},
		{"examples.MeterReading", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewMeterReadingReader(client, o(now))
			return callsOf(r, seriesOf[examples.MeterReadingSeries](t, result, "examples.MeterReading")).
				with("ByRegion", func(from, to time.Time) { drain(r.ByRegion(ctx, "region", from, to)) })
		}},
		{"examples.Sample", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewSampleReader(client, o(now))
			return callsOf(r, examples.SampleSeries{Metric: "cpu.load", Host: "web-1"}).
				with("ByMetric", func(from, to time.Time) { drain(r.ByMetric(ctx, "cpu.load", from, to)) }).
				with("BySeries", func(from, to time.Time) { drain(r.BySeries(ctx, "cpu.load", "web-1", from, to)) })
		}},
		{"examples.Point", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewPointReader(client, o(now))
			return callsOf(r, examples.PointSeries{Metric: 1, Host: 258}).
				with("ByMetric", func(from, to time.Time) { drain(r.ByMetric(ctx, 1, from, to)) })
		}},
		{"weather.BalloonCombined", weatherServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(weather.NewBalloonCombinedReader(client, o(now)), weather.BalloonCombinedSeries{Location: "us-west2", BalloonID: 3698})
		}},
		{"weather.BalloonNewCells", weatherServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(weather.NewBalloonNewCellsReader(client, o(now)), weather.BalloonNewCellsSeries{Location: "us-west2", BalloonID: 3698}, weather.BalloonNewCellsFieldPressure)
		}},
		{"weather.BalloonNewColumns", weatherServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(weather.NewBalloonNewColumnsReader(client, o(now)), weather.BalloonNewColumnsSeries{Location: "us-west2", BalloonID: 3698}, weather.BalloonNewColumnsFieldPressure)
		}},
		{"weather.BalloonSerialized", weatherServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(weather.NewBalloonSerializedReader(client, o(now)), weather.BalloonSerializedSeries{Location: "us-west2", BalloonID: 3698})
		}},
		{"weather.BalloonUnserialized", weatherServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(weather.NewBalloonUnserializedReader(client, o(now)), weather.BalloonUnserializedSeries{Location: "us-west2", BalloonID: 3698}, weather.BalloonUnserializedFieldPressure)
		}},
		{"examples.UsageClasses", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(examples.NewUsageClassesReader(client, o(now)), examples.UsageClassesSeries{Customer: "customer-07"}, examples.UsageClassesFieldRequests)
		}},
		{"examples.UsageDefault", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(examples.NewUsageDefaultReader(client, o(now)), examples.UsageDefaultSeries{Customer: "customer-07"}, examples.UsageDefaultFieldRequests)
		}},
		{"examples.UsageOneSecond", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(examples.NewUsageOneSecondReader(client, o(now)), examples.UsageOneSecondSeries{Customer: "customer-07"}, examples.UsageOneSecondFieldRequests)
		}},
		{"examples.Reading", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(examples.NewReadingReader(client, o(now)), examples.ReadingSeries{Device: "pump-7"}, examples.ReadingFieldLevel)
		}},
		{"examples.Alarm", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(examples.NewAlarmReader(client, o(now)), seriesOf[examples.AlarmSeries](t, result, "examples.Alarm"))
		}},
		{"alltypes.Sample", allServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(alltypes.NewSampleReader(client, o(now)), seriesOf[alltypes.SampleSeries](t, result, "alltypes.Sample"), alltypes.SampleFieldText)
		}},
		{"alltypes.Sparse", allServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(alltypes.NewSparseReader(client, o(now)), seriesOf[alltypes.SparseSeries](t, result, "alltypes.Sparse"), alltypes.SparseFieldLevel)
		}},
		{"examples.Daily", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			r := examples.NewDailyReader(client, o(now))
			return callsOf(r, seriesOf[examples.DailySeries](t, result, "examples.Daily"), examples.DailyFieldPrecipitation).
				with("AllCities", func(from, to time.Time) { drain(r.AllCities(ctx, from, to)) })
		}},
		{"examples.Normal", exampleServer, func(client *bigtable.Client, now time.Time) calls {
			return callsOf(examples.NewNormalReader(client, o(now)), seriesOf[examples.NormalSeries](t, result, "examples.Normal"), examples.NormalFieldPressure)
		}},
	}
}

// seriesOf returns the series of the examples as the type of a generated package.
func seriesOf[S any](t *testing.T, r gen.Result, name string) S {
	t.Helper()
	l := layoutOf(t, r, name)
	var out S
	setSeries(t, reflect.ValueOf(&out).Elem(), l, l.Read)
	return out
}

// setSeries sets the example series of a table: its fields are in the order of the
// schema.
func setSeries(t *testing.T, v reflect.Value, l *layout.Layout, table *layout.Table) {
	t.Helper()
	for i := range l.Series {
		setField(t, v.Field(i), &l.Series[i], sample.SeriesValue(l, table, i))
	}
}

// writer is a generated writer.
type writer[E any] interface {
	Write(ctx context.Context, event E, opts ...store.WriteOptions) error
}

// stored writes example events with the generated writer, and returns the rows of a table,
// without the parts that only explanations have.
func stored[E any](t *testing.T, l *layout.Layout, table *layout.Table, addr string, newWriter func(client *bigtable.Client, o store.WriterOptions) writer[E]) {
	t.Helper()
	client, err := storetest.Connect(t.Context(), addr)
	check(t, err)
	defer func() { check(t, client.Close()) }()
	events := sample.Events(l, table, 3, 1)
	if len(events) < 3 {
		t.Fatalf("table %s: %d examples", table.ID, len(events))
	}
	for i := range events {
		w := newWriter(client, store.WriterOptions{Now: func() time.Time { return events[i].WrittenAt }})
		check(t, w.Write(t.Context(), eventOf[E](t, l, table, &events[i])))
	}
	var got []sample.Row
	check(t, client.Open(table.ID).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		got = append(got, rowOf(table, row))
		return true
	}))
	if diff := gocmp.Diff(bare(sample.Rows(l, table, events)), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("table %s: (-explained +stored)\n%s", table.ID, diff)
	}
}

// rowOf returns a stored row.
func rowOf(table *layout.Table, row bigtable.Row) sample.Row {
	out := sample.Row{Key: row.Key()}
	for i, f := range table.Families {
		for _, item := range row[f.Name] {
			out.Cells = append(out.Cells, sample.Cell{
				Family: i, Qualifier: strings.TrimPrefix(item.Column, f.Name+":"), Micros: int64(item.Timestamp), Value: item.Value,
			})
		}
	}
	return byCell(out)
}

// bare omits everything that is not stored.
func bare(rows []sample.Row) []sample.Row {
	for i := range rows {
		rows[i].Parts = nil
		for j := range rows[i].Cells {
			rows[i].Cells[j].Event, rows[i].Cells[j].Column = 0, 0
		}
		byCell(rows[i])
	}
	return rows
}

// byCell sorts the cells of a row.
func byCell(row sample.Row) sample.Row {
	slices.SortFunc(row.Cells, func(a, b sample.Cell) int {
		return cmp.Or(a.Family-b.Family, cmp.Compare(a.Qualifier, b.Qualifier), cmp.Compare(a.Micros, b.Micros))
	})
	return row
}

// eventOf returns an example as the event type of a generated package. The struct begins with the
// series and ends with the fields, both in the order of the schema.
func eventOf[E any](t *testing.T, l *layout.Layout, table *layout.Table, e *sample.Event) E {
	t.Helper()
	var out E
	v := reflect.ValueOf(&out).Elem()
	setSeries(t, v.Field(0), l, table)
	first := v.NumField() - len(l.Fields)
	for i := range l.Fields {
		setField(t, v.Field(first+i), &l.Fields[i], e.Values[i])
	}
	for name, value := range map[string]any{"Time": e.Time, "Sequence": e.Sequence, "TTL": e.TTL, "ExpiresAt": e.ExpiresAt} {
		if f := v.FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value))
		}
	}
	if f := v.FieldByName("Class"); f.IsValid() {
		f.SetInt(int64(e.Class))
	}
	return out
}

// setField sets a field of an event, or of a series.
func setField(t *testing.T, f reflect.Value, of *layout.Field, value any) {
	t.Helper()
	if value == nil {
		return
	}
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	text, isText := value.(string)
	switch {
	case of.Type == schema.Enum:
		n, _ := of.Enum.Number(text)
		f.SetInt(n)
	case of.Type == schema.UUID:
		id, err := codec.ParseUUID(text)
		check(t, err)
		f.Set(reflect.ValueOf(id))
	case of.Type == schema.JSON:
		f.Set(reflect.ValueOf(json.RawMessage(text)))
	case isText:
		f.SetString(text)
	default:
		f.Set(reflect.ValueOf(value).Convert(f.Type()))
	}
}

// TestExplainedRows compares the example rows of explanations with those that generated writers
// store for the same events.
func TestExplainedRows(t *testing.T) {
	result := resolved(t)
	for i, l := range result.Layouts {
		for _, table := range l.AllPeriods() {
			store, known := explainedWriters[l.Package+"."+l.Name]
			switch {
			case !known:
				t.Fatal("no writer for ", l.Package, l.Name)
			case i%testlong.Pick(4, 1) == 0:
				store(t, l, table)
			}
		}
	}
}

// TestExplainedRun compares the example cells of a rollup with those that are stored once the first week of the example events has
// been summarized.
func TestExplainedRun(t *testing.T) {
	result := resolved(t)
	l := layoutOf(t, result, "examples.Meter")
	table := l.Read
	events := sample.Events(l, table, 3, 1)
	// Without rules of garbage collection: the server has its own clock.
	b := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: table.ID, ColumnFamilies: map[string]bigtable.Family{"m": {}, "h": {}}})
	})
	now := events[3].WrittenAt
	clock := func() time.Time { return now }
	w := examples.NewMeterWriter(b.Client, store.WriterOptions{Now: clock})
	for i := range events {
		check(t, w.Write(t.Context(), eventOf[examples.MeterEvent](t, l, table, &events[i])))
	}
	now = now.Add(time.Hour)
	report, err := examples.RollupMeter(t.Context(), b.Client, store.RollupOptions{Now: clock, Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil || report.Sealed != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	for i, want := range []sample.Cell{sample.Run(l, table, events[:3]), sample.Mark(table, events[3].Time)} {
		row, err := b.Client.Open(table.ID).ReadRow(t.Context(), sample.Rows(l, table, events)[i].Key, bigtable.RowFilter(bigtable.FamilyFilter("h")))
		check(t, err)
		if len(row["h"]) != 1 {
			t.Fatal(row)
		}
		got := row["h"][0]
		name := strings.TrimPrefix(got.Column, "h:")
		random := len(want.Qualifier) - len(rollup.Mark(0)) + 1
		if len(name) != len(want.Qualifier) || name[:random] != want.Qualifier[:random] || int64(got.Timestamp) != want.Micros || !slices.Equal(got.Value, want.Value) {
			t.Errorf("row %d: want %+v, got %+v", i, want, got)
		}
	}
}

// explainedWriters are the writers of the example schemas.
var explainedWriters = map[string]func(t *testing.T, l *layout.Layout, table *layout.Table){
	"examples.Click":              storesOf(exampleServer, examples.NewClickWriter),
	"examples.Measurement":        storesOf(exampleServer, examples.NewMeasurementWriter),
	"examples.State":              storesOf(exampleServer, examples.NewStateWriter),
	"examples.View":               storesOf(exampleServer, examples.NewViewWriter),
	"alltypes.Sample":             storesOf(allServer, alltypes.NewSampleWriter),
	"alltypes.Sparse":             storesOf(allServer, alltypes.NewSparseWriter),
	"examples.Usage":              storesOf(exampleServer, examples.NewUsageWriter),
	"examples.Alarm":              storesOf(exampleServer, examples.NewAlarmWriter),
	"examples.Reading":            storesOf(exampleServer, examples.NewReadingWriter),
	"examples.Activity":           storesOf(exampleServer, examples.NewActivityWriter),
	"examples.Meter":              storesOf(exampleServer, examples.NewMeterWriter),
	"examples.Tick":               storesOf(exampleServer, examples.NewTickWriter),
	"examples.MeterReading":       storesOf(exampleServer, examples.NewMeterReadingWriter),
	"examples.Point":              storesOf(exampleServer, examples.NewPointWriter),
	"examples.Sample":             storesOf(exampleServer, examples.NewSampleWriter),
	"examples.Daily":              storesOf(exampleServer, examples.NewDailyWriter),
	"examples.Normal":             storesOf(exampleServer, examples.NewNormalWriter),
	"examples.Tremor":             storesOf(exampleServer, examples.NewTremorWriter),
	"examples.Delay":              storesOf(exampleServer, examples.NewDelayWriter),
	"examples.Position":           storesOf(exampleServer, examples.NewPositionWriter),
	"examples.Vehicle":            storesOf(exampleServer, examples.NewVehicleWriter),
	"examples.UsageClasses":       storesOf(exampleServer, examples.NewUsageClassesWriter),
	"examples.UsageDefault":       storesOf(exampleServer, examples.NewUsageDefaultWriter),
	"examples.UsageOneSecond":     storesOf(exampleServer, examples.NewUsageOneSecondWriter),
	"weather.BalloonCombined":     storesOf(weatherServer, weather.NewBalloonCombinedWriter),
	"weather.BalloonLayouts":      storesOf(weatherServer, weather.NewBalloonLayoutsWriter),
	"weather.BalloonNewCells":     storesOf(weatherServer, weather.NewBalloonNewCellsWriter),
	"weather.BalloonNewColumns":   storesOf(weatherServer, weather.NewBalloonNewColumnsWriter),
	"weather.BalloonSerialized":   storesOf(weatherServer, weather.NewBalloonSerializedWriter),
	"weather.BalloonUnserialized": storesOf(weatherServer, weather.NewBalloonUnserializedWriter),
}

// The in-memory servers with the tables of each package.
func weatherServer(t *testing.T) string { return weathertest.New(t).Addr }
func allServer(t *testing.T) string     { return alltypestest.New(t).Addr }
func exampleServer(t *testing.T) string { return examplestest.New(t).Addr }

// storesOf stores examples with a generated writer in a server of their codec.
func storesOf[E any, W writer[E]](server func(t *testing.T) string, newWriter func(client store.Client, opts ...store.WriterOptions) W) func(t *testing.T, l *layout.Layout, table *layout.Table) {
	return func(t *testing.T, l *layout.Layout, table *layout.Table) {
		t.Helper()
		stored(t, l, table, server(t), func(client *bigtable.Client, o store.WriterOptions) writer[E] { return newWriter(client, o) })
	}
}
