package device_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/btgen-dev/btgen/generated/device"
	"github.com/btgen-dev/btgen/generated/device/devicetest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

const (
	day   = 24 * time.Hour
	milli = time.Millisecond
)

// noon is far in the future: setup adds families to an existing table, after
// which the in-memory server garbage-collects by the system clock. Events that
// have expired by the clock of the tests are still there.
var noon = time.Date(2100, 3, 5, 12, 0, 0, 0, time.UTC)

var (
	pump = device.ReadingSeries{Device: "pump-7"}
	leak = device.AlarmSeries{Device: "pump-7", Kind: device.AlarmKindLeak}
)

// at returns options with a fixed clock.
func at(now time.Time) store.ReaderOptions {
	return store.ReaderOptions{Now: func() time.Time { return now }}
}

// reading returns an event with a signal, identified by its level.
func reading(at time.Time, level float64) device.ReadingEvent {
	return device.ReadingEvent{ReadingSeries: pump, Time: at, Level: level, Errors: 2, Signal: []byte("signal")}
}

// bare returns readings without signals.
func bare(events ...device.ReadingEvent) []device.ReadingEvent {
	var out []device.ReadingEvent
	for _, e := range events {
		e.Signal = nil
		out = append(out, e)
	}
	return out
}

func alarm(at time.Time, text string) device.AlarmEvent {
	return device.AlarmEvent{AlarmSeries: leak, Time: at, Text: text}
}

// cells returns every cell of a family, one per line: row, qualifier, and the
// time before or after noon.
func cells(t *testing.T, client *bigtable.Client, table, family string) []string {
	t.Helper()
	var out []string
	check(t, client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, item := range row[family] {
			out = append(out, fmt.Sprint(item.Row, " ", item.Column, " ", item.Timestamp.Time().Sub(noon)))
		}
		return true
	}))
	return out
}

// check fails the test if err is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare fails the test if got is not want.
func compare(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// all returns the events of a read without errors.
func all[E any](t *testing.T, events iter.Seq2[E, error]) []E {
	t.Helper()
	var out []E
	for e, err := range events {
		check(t, err)
		out = append(out, e)
	}
	return out
}

func TestRulesOnTheServer(t *testing.T) {
	bt := devicetest.New(t)
	conn, err := grpc.NewClient(bt.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	defer func() { _ = conn.Close() }()
	for table, want := range map[string]map[string]string{
		"devices": {
			"raw":    `max_age { seconds: 604800 }`,
			"stats":  `max_age { seconds: 7776000 }`,
			"alarms": `max_age { seconds: 2592000 }`,
		},
		"alarms_by_kind": {
			"m": `max_age { seconds: 259200 }`,
		},
	} {
		live, err := adminpb.NewBigtableTableAdminClient(conn).GetTable(t.Context(), &adminpb.GetTableRequest{
			Name: fmt.Sprintf("projects/%s/instances/%s/tables/%s", storetest.Project, storetest.Instance, table), View: adminpb.Table_FULL,
		})
		check(t, err)
		compare(t, len(want), len(live.ColumnFamilies))
		for name, text := range want {
			rule := &adminpb.GcRule{}
			check(t, prototext.Unmarshal([]byte(text), rule))
			compare(t, rule, live.ColumnFamilies[name].GetGcRule())
		}
	}
}

// An event expires in two steps: its signal after a week, and the rest after 90 days.
func TestSignalExpiresBeforeTheRest(t *testing.T) {
	bt := devicetest.New(t)
	event := reading(noon, 0.5)
	check(t, device.NewReadingWriter(bt.Client, writing(at(noon))).Write(t.Context(), event))
	for _, tt := range []struct {
		age  time.Duration
		want []device.ReadingEvent
	}{
		{0, []device.ReadingEvent{event}},
		{7*day - milli, []device.ReadingEvent{event}},
		{7 * day, []device.ReadingEvent{event}},
		{7*day + milli, bare(event)},
		{90 * day, bare(event)},
		{90*day + milli, nil},
	} {
		r := device.NewReadingReader(bt.Client, at(noon.Add(tt.age)))
		t.Logf("age %v", tt.age)
		compare(t, tt.want, all(t, r.Read(t.Context(), pump, noon, noon.Add(1))))
		compare(t, tt.want, all(t, r.Read(t.Context(), pump, time.Time{}, noon.AddDate(1, 0, 0))))
		latest, err := r.Latest(t.Context(), pump)
		if len(tt.want) == 0 {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%v, %v", latest, err)
			}
			continue
		}
		check(t, err)
		compare(t, tt.want[0], latest)
	}
	compare(t, 1, len(cells(t, bt.Client, "devices", "raw"))) // nothing was collected
}

// In one bucket and in several, each event has exactly the fields that its age allows.
func TestEachEventHasItsOwnAge(t *testing.T) {
	bt := devicetest.New(t)
	var events []device.ReadingEvent
	for i := range 20 {
		events = append(events, reading(noon.Add(time.Duration(i)*7*time.Minute), float64(i)))
	}
	check(t, device.NewReadingWriter(bt.Client, writing(at(noon.Add(3*time.Hour)))).WriteAll(t.Context(), events))
	from, to := events[0].Time, events[19].Time.Add(1)

	r := device.NewReadingReader(bt.Client, at(events[5].Time.Add(7*day)))
	compare(t, append(bare(events[:5]...), events[5:]...), all(t, r.Read(t.Context(), pump, from, to)))
	compare(t, append(bare(events[4:5]...), events[5:7]...), all(t, r.Read(t.Context(), pump, events[4].Time, events[7].Time)))

	r = device.NewReadingReader(bt.Client, at(events[5].Time.Add(90*day)))
	compare(t, bare(events[5:]...), all(t, r.Read(t.Context(), pump, from, to)))
	compare(t, bare(events[5:7]...), all(t, r.Read(t.Context(), pump, events[3].Time, events[7].Time)))
	compare(t, []device.ReadingEvent(nil), all(t, r.Read(t.Context(), pump, from, events[5].Time)))

	// Both expire while the loop runs: first the signals, then the rest.
	now := events[0].Time.Add(7 * day)
	r = device.NewReadingReader(bt.Client, store.ReaderOptions{Now: func() time.Time { return now }})
	want := append([]device.ReadingEvent{events[0], events[1]}, bare(events[2], events[3])...)
	want = append(want, bare(events[10:]...)...)
	var got []device.ReadingEvent
	for e, err := range r.Read(t.Context(), pump, from, to) {
		check(t, err)
		got = append(got, e)
		switch e.Level {
		case 1:
			now = events[19].Time.Add(7*day + milli)
		case 3:
			now = events[10].Time.Add(90 * day)
		}
	}
	compare(t, want, got)
}

// An event that arrives after its signal has expired is stored without the signal.
func TestLateEventIsStoredInPart(t *testing.T) {
	bt := devicetest.New(t)
	w, r := device.NewReadingWriter(bt.Client, writing(at(noon))), device.NewReadingReader(bt.Client, at(noon))
	late := reading(noon.Add(-10*day), 1)
	edge := reading(noon.Add(-7*day), 2)
	over := reading(noon.Add(-7*day-time.Second), 3)
	check(t, w.WriteAll(t.Context(), []device.ReadingEvent{late, over, edge}))
	compare(t, []string{"pump-7#2100-02-26T12 raw:signal -168h0m0s"}, cells(t, bt.Client, "devices", "raw"))
	compare(t, 6, len(cells(t, bt.Client, "devices", "stats")))
	compare(t, append(bare(late, over), edge), all(t, r.Read(t.Context(), pump, noon.Add(-90*day), noon)))

	// An event that is too old for both is not stored, with or without a signal.
	for _, dead := range append(bare(reading(noon.Add(-90*day-time.Second), 4)), reading(noon.Add(-91*day), 5)) {
		err := w.Write(t.Context(), dead)
		var failed *store.WriteError
		var field *codec.FieldError
		if !errors.Is(err, codec.ErrExpired) || !errors.As(err, &failed) || failed.Failures[0].Outcome != store.Refused || !errors.As(err, &field) || field.Field != "time" {
			t.Errorf("%v", err)
		}
		expired := 0
		skip := writing(at(noon))
		skip.SkipExpired = true
		skip.Hooks.End = func(_ context.Context, op store.Operation, _ error) { expired += op.Expired }
		check(t, device.NewReadingWriter(bt.Client, skip).Write(t.Context(), dead))
		compare(t, 1, expired)
	}
	compare(t, 6, len(cells(t, bt.Client, "devices", "stats")))

	// A partly stored event counts as stored.
	expired := 0
	skip := writing(at(noon))
	skip.SkipExpired = true
	skip.Hooks.End = func(_ context.Context, op store.Operation, _ error) { expired += op.Expired }
	check(t, device.NewReadingWriter(bt.Client, skip).Write(t.Context(), late))
	compare(t, 0, expired)
}

// An event is not replaced by one that no table would store, also if writes skip those.
func TestReplaceKeepsWhatCannotBeStored(t *testing.T) {
	bt := devicetest.New(t)
	for _, skipped := range []bool{false, true} {
		o := writing(at(noon))
		o.SkipExpired = skipped
		w := device.NewReadingWriter(bt.Client, o)
		old := reading(noon, 1)
		check(t, w.Write(t.Context(), old))
		stored := cells(t, bt.Client, "devices", "stats")
		if err := w.Replace(t.Context(), old, reading(noon.Add(-91*day), 2)); !errors.Is(err, codec.ErrExpired) {
			t.Errorf("skipped %t: %v", skipped, err)
		}
		compare(t, stored, cells(t, bt.Client, "devices", "stats"))
		check(t, w.Replace(t.Context(), old, reading(noon.Add(-10*day), 3))) // the signal alone has expired
		compare(t, 2, len(cells(t, bt.Client, "devices", "stats")))
		_, err := w.DeleteSeries(t.Context(), old.ReadingSeries)
		check(t, err)
	}
}

// A field that the event no longer has is deleted, and the other family is not affected.
func TestRewritingRemovesAbsentFields(t *testing.T) {
	bt := devicetest.New(t)
	w, r := device.NewReadingWriter(bt.Client, writing(at(noon))), device.NewReadingReader(bt.Client, at(noon))
	events := []device.ReadingEvent{reading(noon.Add(-2*time.Second), 1), reading(noon.Add(-time.Second), 2), reading(noon, 3)}
	check(t, w.WriteAll(t.Context(), events))
	events[1].Signal, events[1].Level = nil, 20
	check(t, w.Write(t.Context(), events[1]))
	compare(t, events, all(t, r.Read(t.Context(), pump, noon.Add(-time.Minute), noon.Add(1))))
	compare(t, 2, len(cells(t, bt.Client, "devices", "raw")))
	compare(t, 6, len(cells(t, bt.Client, "devices", "stats")))

	// This also applies within one call, and the field may be written again.
	again := events[1]
	again.Signal = []byte{}
	check(t, w.WriteAll(t.Context(), []device.ReadingEvent{events[1], again}, store.WriteOptions{LastWins: true}))
	events[1].Signal = []byte{}
	compare(t, events, all(t, r.Read(t.Context(), pump, noon.Add(-time.Minute), noon.Add(1))))
	check(t, w.WriteAll(t.Context(), []device.ReadingEvent{again, bare(again)[0]}, store.WriteOptions{LastWins: true}))
	events[1].Signal = nil
	compare(t, events, all(t, r.Read(t.Context(), pump, noon.Add(-time.Minute), noon.Add(1))))
}

// A read of old events requests only one family, a read of recent events requests both
// at once, and a read across the boundary requests each from its oldest live time.
func TestRequestsOfTwoFamilies(t *testing.T) {
	bt := devicetest.New(t)
	var requests []*btpb.ReadRowsRequest
	client := seen(t, bt, func(m any) {
		if req, ok := m.(*btpb.ReadRowsRequest); ok {
			requests = append(requests, proto.Clone(req).(*btpb.ReadRowsRequest))
		}
	})
	ts := func(days int) string { return fmt.Sprint(noon.Add(time.Duration(days) * day).UnixMicro()) }
	window := func(family, from, to string) string {
		return `chain { filters { family_name_regex_filter: "` + family + `" } filters { timestamp_range_filter { start_timestamp_micros: ` + from + ` end_timestamp_micros: ` + to + ` } } }`
	}
	r := device.NewReadingReader(client, at(noon))
	for _, tt := range []struct {
		from, to   int // days from noon
		want       string
		start, end string
	}{
		{-5, -1, window("raw|stats", ts(-5), ts(-1)), "pump-7#2100-02-28T12", "pump-7#2100-03-04T11\x00"},
		{-20, -7, window("stats", ts(-20), ts(-7)), "pump-7#2100-02-13T12", "pump-7#2100-02-26T11\x00"},
		{-20, -1, "interleave { filters { " + window("raw", ts(-7), ts(-1)) + " } filters { " + window("stats", ts(-20), ts(-1)) + " } }", "pump-7#2100-02-13T12", "pump-7#2100-03-04T11\x00"},
		{-300, -89, window("stats", ts(-90), ts(-89)), "pump-7#2099-12-05T12", "pump-7#2099-12-06T11\x00"},
		{-300, -90, "", "", ""},
	} {
		requests = nil
		all(t, r.Read(t.Context(), pump, noon.Add(time.Duration(tt.from)*day), noon.Add(time.Duration(tt.to)*day)))
		if tt.want == "" {
			compare(t, 0, len(requests))
			continue
		}
		if len(requests) != 1 {
			t.Fatalf("%d requests", len(requests))
		}
		filter := &btpb.RowFilter{}
		check(t, prototext.Unmarshal([]byte(tt.want), filter))
		compare(t, filter, requests[0].Filter)
		compare(t, []*btpb.RowRange{{
			StartKey: &btpb.RowRange_StartKeyClosed{StartKeyClosed: []byte(tt.start)},
			EndKey:   &btpb.RowRange_EndKeyOpen{EndKeyOpen: []byte(tt.end)},
		}}, requests[0].Rows.RowRanges)
	}
}

// A late event without a signal writes nothing to the family of signals, because it has
// no timestamp there.
func TestLateEventWithoutSignal(t *testing.T) {
	bt := devicetest.New(t)
	entries := 0
	client := seen(t, bt, func(m any) {
		req, ok := m.(*btpb.MutateRowsRequest)
		if !ok {
			return
		}
		for _, e := range req.Entries {
			entries++
			compare(t, 2, len(e.Mutations))
			for _, m := range e.Mutations {
				if set := m.GetSetCell(); set.GetFamilyName() != "stats" || set.TimestampMicros <= 0 {
					t.Errorf("mutation %v", m)
				}
			}
		}
	})
	late := bare(reading(noon.Add(-10*day), 1), reading(noon.Add(-11*day), 2))
	check(t, device.NewReadingWriter(client, writing(at(noon))).WriteAll(t.Context(), late))
	compare(t, 2, entries)
}

// seen returns a client of the server whose streams a test can inspect. The client
// encodes requests itself.
func seen(t *testing.T, bt *storetest.Bigtable, see func(m any)) *bigtable.Client {
	t.Helper()
	client, err := storetest.ConnectPlain(t.Context(), bt.Addr, grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			stream, err := streamer(ctx, desc, cc, method, opts...)
			return seeing{stream, see}, err
		}))
	check(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// seeing is a stream whose requests a test can inspect.
type seeing struct {
	grpc.ClientStream
	see func(m any)
}

func (s seeing) SendMsg(m any) error {
	s.see(m)
	return s.ClientStream.SendMsg(m)
}

// Two schemas share a table, with different row keys and different families. Neither
// reader sees what the other writes, whether before, after or at the same time.
func TestSharedTableDoesNotMix(t *testing.T) {
	bt := devicetest.New(t)
	now := noon.Add(time.Hour)
	readings, alarms := device.NewReadingReader(bt.Client, at(now)), device.NewAlarmReader(bt.Client, at(now))
	rw, aw := device.NewReadingWriter(bt.Client, writing(at(now))), device.NewAlarmWriter(bt.Client, writing(at(now)))
	var wantReadings []device.ReadingEvent
	var wantAlarms []device.AlarmEvent
	look := func() {
		t.Helper()
		for _, to := range []time.Time{now, now.AddDate(7000, 0, 0)} {
			compare(t, wantReadings, all(t, readings.Read(t.Context(), pump, time.Time{}, to)))
			compare(t, wantAlarms, all(t, alarms.Read(t.Context(), leak, time.Time{}, to)))
		}
		r, err := readings.Latest(t.Context(), pump)
		if n := len(wantReadings); n > 0 {
			check(t, err)
			compare(t, wantReadings[n-1], r)
		} else if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%v, %v", r, err)
		}
		a, err := alarms.Latest(t.Context(), leak)
		if n := len(wantAlarms); n > 0 {
			check(t, err)
			compare(t, wantAlarms[n-1], a)
		} else if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%v, %v", a, err)
		}
	}
	look()
	for i, after := range []time.Duration{0, 0, 10 * time.Minute, 20 * time.Minute, 20 * time.Minute, 59 * time.Minute} {
		if i%2 == 0 {
			wantAlarms = append(wantAlarms, alarm(noon.Add(after), fmt.Sprint(i)))
			check(t, aw.Write(t.Context(), wantAlarms[len(wantAlarms)-1]))
		} else {
			wantReadings = append(wantReadings, reading(noon.Add(after), float64(i)))
			check(t, rw.Write(t.Context(), wantReadings[len(wantReadings)-1]))
		}
		look()
	}
	// Nor an alarm of another kind from the same device.
	heat := alarm(noon.Add(time.Minute), "other")
	heat.Kind = device.AlarmKindHeat
	check(t, aw.Write(t.Context(), heat))
	look()
}

// An alarm lives 30 days in its bucket, counted from its time.
func TestAlarmsLiveThirtyDays(t *testing.T) {
	bt := devicetest.New(t)
	event := alarm(noon.Add(-5*day), "five days late")
	check(t, device.NewAlarmWriter(bt.Client, writing(at(noon))).Write(t.Context(), event))
	for left, want := range map[time.Duration][]device.AlarmEvent{0: {event}, 25 * day: {event}, 25*day + milli: nil} {
		r := device.NewAlarmReader(bt.Client, at(noon.Add(left)))
		compare(t, want, all(t, r.Read(t.Context(), leak, time.Time{}, noon)))
	}
}

// The cell timestamps of the table by kind are write times: a late alarm, even one that
// is too late for the other table, lives there for the full time after it arrives.
func TestAlarmsByKindExpireAfterTheWrite(t *testing.T) {
	bt := devicetest.New(t)
	w := device.NewAlarmWriter(bt.Client, writing(at(noon.Add(1500*time.Microsecond))))
	late, tooLate := alarm(noon.Add(-5*day), "late"), alarm(noon.Add(-40*day), "too late")
	err := w.WriteAll(t.Context(), []device.AlarmEvent{late, tooLate})
	var failed *store.WriteError
	if !errors.Is(err, codec.ErrExpired) || !errors.As(err, &failed) || len(failed.Failures) != 1 ||
		failed.Failures[0].Index != 1 || failed.Failures[0].Table != "devices" || failed.Failures[0].Outcome != store.Refused {
		t.Errorf("%v, want a refused event in one of two tables", err)
	}
	row := func(e device.AlarmEvent) string { return fmt.Sprintf("leak#pump-7#%013d", e.Time.UnixMilli()) }
	compare(t, []string{row(tooLate) + " m:event 1ms", row(late) + " m:event 1ms"}, cells(t, bt.Client, "alarms_by_kind", "m"))
	compare(t, []string{"pump-7#alarm#leak#2100-02-28 alarms:event -120h0m0s"}, cells(t, bt.Client, "devices", "alarms"))

	// Written again, even by a clock that is behind, it has a single cell; otherwise,
	// the older one could come first.
	for _, clock := range []time.Duration{time.Hour, -time.Hour} {
		late.Text = clock.String()
		check(t, device.NewAlarmWriter(bt.Client, writing(at(noon.Add(clock)))).Write(t.Context(), late))
		compare(t, []string{row(tooLate) + " m:event 1ms", row(late) + " m:event " + clock.String()}, cells(t, bt.Client, "alarms_by_kind", "m"))
		read := all(t, device.NewAlarmReader(bt.Client, at(noon)).Read(t.Context(), leak, time.Time{}, noon))
		compare(t, []device.AlarmEvent{late}, read)
	}
}

// writing returns the writer options that correspond to the given reader options.
func writing(o store.ReaderOptions) store.WriterOptions {
	return store.WriterOptions{TablePrefix: o.TablePrefix, Now: o.Now, Timeout: o.Timeout, Hooks: o.Hooks}
}
