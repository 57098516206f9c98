package examples_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Two schemas share a table, with different row keys and different families. Neither reader finds what the other
// writer writes, whether before, after or at the same time.
func TestSharedTable(t *testing.T) {
	bt, ctx := examplestest.New(t), t.Context()
	noon := time.Date(2100, 3, 5, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return noon.Add(time.Hour) }
	readings := examples.NewReadingReader(bt.Client, store.ReaderOptions{Now: clock})
	alarms := examples.NewAlarmReader(bt.Client, store.ReaderOptions{Now: clock})
	var wantReadings []examples.ReadingEvent
	var wantAlarms []examples.AlarmEvent
	pump, leak := examples.ReadingSeries{Device: "pump-7"}, examples.AlarmSeries{Device: "pump-7", Kind: examples.AlarmKindLeak}
	for i, minute := range []int{0, 0, 10, 20, 20, 59} {
		at := noon.Add(time.Duration(minute)*time.Minute + time.Duration(i)*time.Second)
		wantReadings = append(wantReadings, examples.ReadingEvent{ReadingSeries: pump, Time: at, Level: float64(i), Signal: []byte("signal")})
		storetest.Write(t, examples.NewReadingWriter(bt.Client, store.WriterOptions{Now: clock}).WriteAll, wantReadings[i:])
		wantAlarms = append(wantAlarms, examples.AlarmEvent{AlarmSeries: leak, Time: at, Text: fmt.Sprint(i)})
		storetest.Write(t, examples.NewAlarmWriter(bt.Client, store.WriterOptions{Now: clock}).WriteAll, wantAlarms[i:])
		for _, to := range []time.Time{clock(), clock().AddDate(7000, 0, 0)} {
			storetest.Same(t, "readings", readings.Read(ctx, pump, time.Time{}, to), wantReadings...)
			storetest.Same(t, "alarms", alarms.Read(ctx, leak, time.Time{}, to), wantAlarms...)
		}
		storetest.Same(t, "the latest reading", storetest.One(readings.Latest(ctx, pump)), wantReadings[i])
		storetest.Same(t, "the latest alarm", storetest.One(alarms.Latest(ctx, leak)), wantAlarms[i])
	}
}
