package store

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// finer are mappings of the patterns that can store times that are finer than the precision.
func finer() []*mappingOf[sample] {
	return []*mappingOf[sample]{days(), singles(), metrics(), blobs(singles()), blobs(days())}
}

// seconds are those at which events were written before the precision became a minute. The last is a multiple.
var seconds = []int{10, 30, 59, 60}

// inSeconds returns samples at these seconds.
func inSeconds(seconds ...int) (out []sample) {
	for _, n := range seconds {
		out = append(out, sample{Series: "a", Time: at(n), Value: uint64(n)})
	}
	return out
}

// shown describes samples as scanned does.
func shown(samples []sample) (out []string) {
	for _, e := range samples {
		out = append(out, fmt.Sprintf("%s %s %d", e.Series, e.Time.Format(time.RFC3339Nano), e.Value))
	}
	slices.Sort(out)
	return out
}

// TestBackfillFinerTimes refuses to copy times that the target would truncate, whatever the options, and changes
// nothing.
func TestBackfillFinerTimes(t *testing.T) {
	for _, source := range finer() {
		for name, o := range map[string]BackfillOptions{"copy": {}, "repair": {Repair: true}, "dry run": {DryRun: true}, "verify": {Verify: true}} {
			t.Run(source.Table.ID+" "+name, func(t *testing.T) {
				target := days()
				target.Table.ID, target.Table.WriteOnly = "target", true
				mappings := []*mappingOf[sample]{source, target}
				source.Precision = time.Second
				bt := newBigtable(t, mappings...)
				o.Workers, o.Now = -1, func() time.Time { return at(100_000) }
				writer := WriterOptions{Now: o.Now, Tables: []string{source.Table.ID}}
				must(t, newWriterOf(bt.Client, mappings, writer).WriteAll(t.Context(), inSeconds(seconds...)))
				source.Precision, target.Precision = time.Minute, time.Minute
				program := sample{Series: "a", Time: at(0), Value: 7}
				writer.Tables = nil
				must(t, newWriterOf(bt.Client, mappings, writer).Write(t.Context(), program))
				_, err := backfillOf(t.Context(), bt.Client, mappings, o)
				refused := asError[*BackfillError](t, err)
				assert.Contains(t, "2021-03-05T00:00:10Z", refused)
				assert.Contains(t, "1m0s", refused)
				got, _, err := scanned(t.Context(), t, bt.Client, target, ReaderOptions{Now: o.Now}, KeyRange{})
				must(t, err)
				same(t, shown([]sample{program}), got)
			})
		}
	}
}

// TestBackfillPartsFinerTimes refuses them in each step of a pipeline that meets them.
func TestBackfillPartsFinerTimes(t *testing.T) {
	r := newRefill(t, 3)
	record := func() (chunks []JobNote, steps *BackfillParts, err error) {
		steps, err = newBackfillPartsOf(r.Client, r.mappings, at(100_000), r.options)
		must(t, err)
		_, err = steps.Find(t.Context(), JobTable{Table: "singles"}, KeyRange{}, until("t"), func(c JobNote) { chunks = append(chunks, c) })
		return chunks, steps, err
	}
	chunks, _, err := record()
	must(t, err)
	for _, l := range r.mappings {
		l.Precision = time.Minute
	}
	_, steps, recorded := record()
	_, _, copied := steps.Do(t.Context(), chunks[0])
	_, settled := steps.Settle(t.Context(), chunks[0])
	for i, err := range []error{recorded, copied, settled} {
		asError[*BackfillError](t, err, "step", i)
	}
	same(t, 0, len(r.values(t, 1)))
}

// TestJobOptions refuses rates that are none, and options of which one would have no effect.
func TestJobOptions(t *testing.T) {
	r := newRefill(t, 1)
	for _, o := range []BackfillOptions{
		{Rate: math.NaN()}, {Rate: -1}, {Verify: true, Repair: true}, {Verify: true, DryRun: true}, {Verify: true, Checkpoint: "f"}, {DryRun: true, Repair: true}, {DryRun: true, Checkpoint: "f"},
	} {
		o.Source, o.Target, o.Now = r.options.Source, r.options.Target, r.options.Now
		_, err := backfillOf(t.Context(), r.Client, r.mappings, o)
		asError[*OptionsError](t, err, o.Rate)
	}
	for _, o := range []RollupOptions{{Rate: math.NaN()}, {Rate: -1}, {DryRun: true, Checkpoint: "f"}} {
		_, err := Rollup(t.Context(), nil, nil, nil, nil, o)
		asError[*OptionsError](t, err, o.Rate)
	}
}

// TestDeleteFinerTimes deletes and replaces events with finer times in two tables, of which the second has only some:
// what was written is deleted where it was stored, and nothing else.
func TestDeleteFinerTimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		deleted  []int // seconds
		replaced int   // second of the event with the value 7 that replaces the first one; -1 if events are deleted
		want     []int // seconds that are left
	}{
		{[]int{30}, -1, []int{0, 10, 59, 60, 120}}, {[]int{30, 10, 60}, -1, []int{0, 59, 120}},
		{[]int{0}, -1, []int{10, 30, 59, 60, 120}},                                             // a multiple
		{[]int{130}, -1, []int{0, 10, 30, 59, 60}}, {[]int{130, 30}, -1, []int{0, 10, 59, 60}}, // not stored there
		{[]int{30}, 600, []int{0, 10, 59, 60, 120}}, {[]int{130}, 600, []int{0, 10, 30, 59, 60}},
		{[]int{30}, 30, []int{10, 59, 60, 120}}, {[]int{130}, 130, []int{0, 10, 30, 59, 60}},
	} {
		for _, first := range finer() {
			second := days()
			second.Table.ID = "second"
			mappings := []*mappingOf[sample]{first, second}
			bt := newBigtable(t, mappings...)
			now := func() time.Time { return at(100_000) }
			first.Precision, second.Precision = time.Second, time.Second
			for i, written := range [][]int{{0, 10, 30, 59, 60, 120}, {0, 60, 120}} {
				must(t, newWriterOf(bt.Client, mappings, WriterOptions{Now: now, Tables: []string{mappings[i].Table.ID}}).WriteAll(t.Context(), inSeconds(written...)))
			}
			first.Precision, second.Precision = time.Minute, time.Minute
			w, events, want := newWriterOf(bt.Client, mappings, WriterOptions{Now: now}), inSeconds(tt.deleted...), inSeconds(tt.want...)
			if tt.replaced < 0 {
				d, err := w.Delete(t.Context(), events)
				must(t, err)
				same(t, len(events), d.Events())
			} else {
				must(t, w.Replace(t.Context(), events[0], sample{Series: "a", Time: at(tt.replaced), Value: 7}))
				want = append(want, sample{Series: "a", Time: at(tt.replaced / 60 * 60), Value: 7})
			}
			for i, l := range mappings {
				of := shown(want)
				if i == 1 {
					of = slices.DeleteFunc(of, func(s string) bool { return !strings.Contains(s, ":00Z") })
				} else if first.Pattern == codec.BucketNewColumns && tt.replaced == 30 {
					of = append(shown(inSeconds(0)), of...) // it keeps both values
				}
				got, _, err := scanned(t.Context(), t, bt.Client, l, ReaderOptions{Now: now}, KeyRange{})
				must(t, err)
				slices.Sort(got)
				slices.Sort(of)
				assert.Same(t, of, got, l.Table.ID, tt.deleted, tt.replaced)
			}
		}
	}
}
