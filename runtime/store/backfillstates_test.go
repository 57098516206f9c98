package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// TestBackfillStatesInRanges checks that a series with events in several ranges, which workers read at the
// same time, is counted, and found to differ, once.
func TestBackfillStatesInRanges(t *testing.T) {
	c := newNowCase(t, 100*24*time.Hour)
	const series, days = 5, 4
	var samples []sample
	var keys []string
	for i := range series {
		for day := range days {
			e := sample{Series: fmt.Sprintf("s%d", i), Time: at(86_400 * day)}
			samples, keys = append(samples, e), append(keys, e.Series+"#"+e.Time.Format(time.DateOnly))
		}
	}
	c.now = at(86_400 * days)
	must(t, c.events().WriteAll(t.Context(), samples))
	client := splitClient(c.Bigtable, keys...)
	for _, tt := range []struct {
		name                string
		options             BackfillOptions
		events, differences int
	}{
		{"dry run", BackfillOptions{DryRun: true}, series, 0},
		{"empty", BackfillOptions{Verify: true}, series, series},
		{"fill", BackfillOptions{}, series, 0},
		{"fill again", BackfillOptions{}, 0, 0},
		{"filled", BackfillOptions{Verify: true}, series, 0},
		{"repair", BackfillOptions{Repair: true}, series, 0},
		{"repaired", BackfillOptions{Verify: true}, series, 0},
	} {
		tt.options.Target, tt.options.Now, tt.options.Workers = "now", c.clock, 4
		report, err := backfillOf(t.Context(), client, c.mappings, tt.options)
		if must(t, err); report.Events != int64(tt.events) || report.Rows != series*days || len(report.Differences) != tt.differences {
			t.Errorf("%s: %d series in %d rows, %d differences", tt.name, report.Events, report.Rows, len(report.Differences))
		}
	}
	c.agree("s0", "s4")
}

// TestBackfillUndecodableStates checks that rows that cannot be decoded differ, and are repaired, whether
// they are newer or older than the events, or have none.
func TestBackfillUndecodableStates(t *testing.T) {
	for _, repair := range []bool{false, true} {
		c := newNowCase(t, 500*time.Second)
		w := c.writer(c.Client)
		for _, s := range []string{"newer", "same", "older", "whole"} {
			must(t, w.Write(t.Context(), sample{Series: s, Time: at(900), Value: 1, Note: []byte("n")}))
		}
		now := c.Client.Open("now")
		damage := func(series string, at int) {
			m := bigtable.NewMutation()
			m.DeleteRow()
			must(t, now.Apply(t.Context(), series, m))
			m = bigtable.NewMutation()
			cell := wire.AppendSetCell(nil, wire.AppendQualifier(wire.AppendFamily(nil, "f.1"), []byte("note")), day0.Add(time.Duration(at)*time.Second).UnixMicro(), []byte("x"))
			new(wire.Converter).AddTo(m, c.mappings[0].untyped().appendVersion(cell, cell))
			must(t, now.Apply(t.Context(), series, m))
		}
		damage("newer", 950)
		damage("same", 900)
		damage("older", 850)
		damage("without events", 900)
		all := []string{"newer", "same", "older", "whole", "without events"}
		c.agree(all...)
		if n := c.verified(); n != 4 {
			t.Errorf("%d rows differ instead of 4", n)
		}
		report, err := backfillOf(t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Repair: repair, Now: c.clock})
		must(t, err)
		c.agree(all...)
		want := 1 // a back-fill looks only at series with events
		if repair {
			want = 0
		}
		if n := c.verified(); n != want || report.Deleted != int64(1-want) {
			t.Errorf("repair %t: %d rows differ, %+v", repair, n, report)
		}
	}
}

// TestBackfillRefusedStates checks that a series that the keys of the table cannot have is an error: reads of the newest
// events would miss it.
func TestBackfillRefusedStates(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	now := c.mappings[0]
	now.Key.Delimiter = ";"
	now.Key.Segments = append(now.Key.Segments, codec.Segment{Kind: codec.ConstSegment, Const: "now"})
	now.Put = func(e *sample, c *eventCells) {
		c.Row(keyOf(&now.Key, e))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
	}
	must(t, c.events().WriteAll(t.Context(), []sample{{Series: "a", Time: at(900)}, {Series: "b;c", Time: at(900)}}))
	for _, verify := range []bool{false, true} {
		_, err := backfillOf(t.Context(), c.Client, c.mappings, BackfillOptions{Target: "now", Verify: verify, Now: c.clock})
		assert.Is(t, codec.ErrDelimiter, err, verify)
	}
}

// TestBackfillBesideStates checks that a table with all samples is filled from another one, and never
// from the newest ones, and that calls that would do so are refused.
func TestBackfillBesideStates(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	copies := living(days(), c.mappings[1].Table.Families[0].GC)
	copies.Table.ID, copies.Table.WriteOnly = "copies", true
	c.mappings = append(c.mappings, copies)
	must(t, c.Admin.CreateTableFromConf(t.Context(), &bigtable.TableConf{TableID: "copies", Families: map[string]bigtable.GCPolicy{"f.1": bigtable.NoGcPolicy()}}))
	samples := []sample{{Series: "a", Time: at(900)}, {Series: "a", Time: at(901)}, {Series: "b", Time: at(902)}}
	w := newWriterOf(c.Client, c.mappings, WriterOptions{Now: c.clock, Tables: []string{"days", "now"}})
	must(t, w.WriteAll(t.Context(), samples))
	report, err := backfillOf(t.Context(), c.Client, c.mappings, BackfillOptions{Now: c.clock})
	if must(t, err); report.Source != "days" || report.Events != 3 {
		t.Errorf("copied: %+v", report)
	}
	c.agree("a", "b")
	for reason, o := range map[string]BackfillOptions{
		"table now has only the newest event of each series":                {Source: "now"},
		"needs no checkpoint":                                               {Target: "now", Checkpoint: "x"},
		"leave out the range of time":                                       {Target: "now", From: at(900)},
		"the newest event of each series, whatever its time: leave out the": {Target: "now", To: at(900)},
	} {
		if _, err := backfillOf(t.Context(), c.Client, c.mappings, o); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("got %v, want %s", err, reason)
		}
	}
	if _, err := newBackfillPartsOf(c.Client, c.mappings, time.Time{}, BackfillOptions{Target: "now"}); err == nil || !strings.Contains(err.Error(), "a pipeline cannot fill") {
		t.Errorf("a pipeline: %v", err)
	}
}

// TestStatesAlone checks that a table with the newest samples is not written without the others, and that
// deletions need no others.
func TestStatesAlone(t *testing.T) {
	c := newNowCase(t, 500*time.Second)
	must(t, c.writer(c.Client).Write(t.Context(), sample{Series: "a", Time: at(900)}))
	w := newWriterOf(c.Client, c.mappings, WriterOptions{Now: c.clock, Tables: []string{"now"}})
	e := sample{Series: "a", Time: at(901)}
	assert.Is(t, ErrStatesAlone, w.Write(t.Context(), e))
	b := newBatcherOf(w, nil)
	assert.Is(t, ErrStatesAlone, b.Add(t.Context(), e))
	must(t, b.Close(context.Background()))
	_, err := w.DeleteAll(t.Context(), seriesOf(e))
	must(t, err)
	c.agree("a")
}
