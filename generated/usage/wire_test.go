package usage_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/btgen-dev/btgen/generated/usage"
	"github.com/btgen-dev/btgen/generated/usage/usagetest"
)

// ts writes a time as a timestamp in text form.
func ts(t time.Time) string { return fmt.Sprint(t.UnixMicro()) }

// Tables are created with the ages in the schemas. The test compares protos,
// because the text form does not distinguish a second from a thousand
// milliseconds.
func TestRulesOnTheServer(t *testing.T) {
	bt := usagetest.New(t)
	for table, want := range map[string]map[string]string{
		"usage_default":    {"m": `max_age { seconds: 172800 }`},
		"usage_one_second": {"m": `max_age { seconds: 1 }`},
		"usage_classes": {
			"short":    `max_age { seconds: 3600 }`,
			"standard": `max_age { seconds: 172800 }`,
			"long":     `max_age { seconds: 259200 }`,
		},
	} {
		families := liveTable(t, bt, table).ColumnFamilies
		compare(t, len(want), len(families))
		for name, rule := range want {
			compare(t, parse(t, &adminpb.GcRule{}, rule), families[name].GetGcRule())
		}
	}
	// A second call changes nothing.
	_, err := usage.SetupUsageDefault(t.Context(), bt.Admin, bt.Client)
	check(t, err)
	_, err = usage.SetupUsageOneSecond(t.Context(), bt.Admin, bt.Client)
	check(t, err)
	_, err = usage.SetupUsageClasses(t.Context(), bt.Admin, bt.Client)
	check(t, err)
}

// wireTest is an expected request.
type wireTest struct {
	table      string
	filter     string
	start, end string // row keys
}

var (
	// wireNow is between two milliseconds.
	wireNow  = noon.Add(30*time.Minute + 700*time.Microsecond)
	wireMs   = noon.Add(30 * time.Minute) // wireNow, rounded down
	wireFrom = noon.AddDate(-1, 0, 0)
	wireTo   = noon.Add(20 * time.Minute)
)

// requestOf returns the only read request of a call.
func requestOf(t *testing.T, r *recorder) *btpb.ReadRowsRequest {
	t.Helper()
	reads := r.reads()
	if len(reads) != 1 {
		t.Fatalf("%d read requests", len(reads))
	}
	return reads[0]
}

// Every request of Read selects only the live cells, by the clock of the
// reader: a cell that expires now is excluded, and one that expires at any
// later time is included. If timestamps are event times, rows that cannot
// contain live cells are excluded.
func TestRequestsOfRead(t *testing.T) {
	for _, tt := range []wireTest{
		{
			table: "usage_one_second",
			filter: `chain {
				filters { family_name_regex_filter: "m" }
				filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(milli)) + ` } }
			}`,
			start: "customer-01#2020-03-05T120000", end: "customer-01#2021-03-05T122000",
		},
		{
			table: "usage_default",
			filter: `chain {
				filters { family_name_regex_filter: "m" }
				filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(-2*day).Add(milli)) + ` } }
			}`,
			start: "customer-01#2020-03-05T120000", end: "customer-01#2021-03-05T122000",
		},
		{
			table: "usage_classes",
			// An age is exceeded by cells older than the millisecond after now, minus the age.
			filter: `interleave {
				filters { chain {
					filters { family_name_regex_filter: "short" }
					filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(-hour).Add(milli)) + ` end_timestamp_micros: ` + ts(wireTo) + ` } }
				} }
				filters { chain {
					filters { family_name_regex_filter: "standard" }
					filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(-2*day).Add(milli)) + ` end_timestamp_micros: ` + ts(wireTo) + ` } }
				} }
				filters { chain {
					filters { family_name_regex_filter: "long" }
					filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(-3*day).Add(milli)) + ` end_timestamp_micros: ` + ts(wireTo) + ` } }
				} }
			}`,
			start: "customer-01#2021-03-02T12", end: "customer-01#2021-03-05T12\x00",
		},
	} {
		t.Run(tt.table, func(t *testing.T) {
			bt := usagetest.New(t)
			client, recorder := record(t, bt)
			s := strategies[slices.IndexFunc(strategies, func(s strategy) bool { return s.table == tt.table })]
			all(t, s.read(t.Context(), client, at(wireNow), "customer-01", wireFrom, wireTo))
			req := requestOf(t, recorder)
			compare(t, parse(t, &btpb.RowFilter{}, tt.filter), req.Filter)
			compare(t, 0, len(req.Rows.RowKeys))
			compare(t, []*btpb.RowRange{{
				StartKey: &btpb.RowRange_StartKeyClosed{StartKeyClosed: []byte(tt.start)},
				EndKey:   &btpb.RowRange_EndKeyOpen{EndKeyOpen: []byte(tt.end)},
			}}, req.Rows.RowRanges)
		})
	}
}

// A range that begins later than all ages requests only that range, and families with the same
// times are requested together.
func TestRequestsOfRecentReads(t *testing.T) {
	bt := usagetest.New(t)
	client, recorder := record(t, bt)
	r := usage.NewUsageClassesReader(client, at(wireNow))
	s := usage.UsageClassesSeries{Customer: "customer-01"}
	all(t, r.Read(t.Context(), s, noon, wireTo))
	compare(t, parse(t, &btpb.RowFilter{}, `chain {
		filters { family_name_regex_filter: "short|standard|long" }
		filters { timestamp_range_filter { start_timestamp_micros: `+ts(noon)+` end_timestamp_micros: `+ts(wireTo)+` } }
	}`), requestOf(t, recorder).Filter)

	// For a range in the day before yesterday, one family remains.
	all(t, r.Read(t.Context(), s, noon.Add(-3*day+hour), noon.Add(-2*day)))
	compare(t, parse(t, &btpb.RowFilter{}, `chain {
		filters { family_name_regex_filter: "long" }
		filters { timestamp_range_filter { start_timestamp_micros: `+ts(noon.Add(-3*day+hour))+` end_timestamp_micros: `+ts(noon.Add(-2*day))+` } }
	}`), requestOf(t, recorder).Filter)

	// For an earlier range, none remains, and nothing is sent.
	all(t, r.Read(t.Context(), s, noon.Add(-30*day), noon.Add(-3*day)))
	compare(t, 0, len(recorder.take()))
}

// Latest also selects live cells. The limit to the newest cell of a column comes after the
// time range: before it, the limit could drop live cells.
func TestRequestsOfLatest(t *testing.T) {
	for _, tt := range []wireTest{
		{
			table: "usage_one_second",
			start: "1970-01-01T000000", end: "9999-12-31T23595:",
			filter: `chain {
				filters { family_name_regex_filter: "m" }
				filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(milli)) + ` } }
			}`,
		},
		{
			table: "usage_default",
			start: "1970-01-01T000000", end: "9999-12-31T23595:",
			filter: `chain {
				filters { family_name_regex_filter: "m" }
				filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(-2*day).Add(milli)) + ` } }
			}`,
		},
		{
			table: "usage_classes",
			start: "2021-03-02T12", end: "9999-12-31T23\x00", // what can be alive
			filter: `chain {
				filters { interleave {
					filters { chain {
						filters { family_name_regex_filter: "short" }
						filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(-hour).Add(milli)) + ` end_timestamp_micros: 253402300800000000 } }
					} }
					filters { chain {
						filters { family_name_regex_filter: "standard" }
						filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(-2*day).Add(milli)) + ` end_timestamp_micros: 253402300800000000 } }
					} }
					filters { chain {
						filters { family_name_regex_filter: "long" }
						filters { timestamp_range_filter { start_timestamp_micros: ` + ts(wireMs.Add(-3*day).Add(milli)) + ` end_timestamp_micros: 253402300800000000 } }
					} }
				} }
				filters { cells_per_column_limit_filter: 1 }
			}`,
		},
	} {
		t.Run(tt.table, func(t *testing.T) {
			bt := usagetest.New(t)
			client, recorder := record(t, bt)
			s := strategies[slices.IndexFunc(strategies, func(s strategy) bool { return s.table == tt.table })]
			check(t, s.write(t.Context(), client, at(noon), customers()...))
			_, err := s.latest(t.Context(), client, at(wireNow), "customer-01")
			check(t, err)
			req := requestOf(t, recorder)
			compare(t, parse(t, &btpb.RowFilter{}, tt.filter), req.Filter)
			if !req.Reversed || req.RowsLimit != 1 {
				t.Errorf("reversed %v, at most %d rows", req.Reversed, req.RowsLimit)
			}
			compare(t, []*btpb.RowRange{{
				StartKey: &btpb.RowRange_StartKeyClosed{StartKeyClosed: []byte("customer-01#" + tt.start)},
				EndKey:   &btpb.RowRange_EndKeyOpen{EndKeyOpen: []byte("customer-01#" + tt.end)},
			}}, req.Rows.RowRanges)
		})
	}
}
