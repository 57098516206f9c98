package store

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// finer are mappings of the patterns that can store times that are finer than the precision, after
// that became coarser.
func finer() []*Mapping[sample] {
	return []*Mapping[sample]{days(), singles(), metrics(), blobs(singles()), blobs(days())}
}

// seconds are the seconds at which the tests of this file write before the precision is a minute.
// The last is a multiple.
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

// TestBackfillFinerTimes copies events with times that the target would truncate, so that they
// would replace each other and what programs have written: it is refused, whatever the options,
// and changes nothing.
func TestBackfillFinerTimes(t *testing.T) {
	for _, source := range finer() {
		for name, o := range map[string]BackfillOptions{"copy": {}, "repair": {Repair: true}, "dry run": {DryRun: true}, "verify": {Verify: true}} {
			t.Run(source.Table.ID+" "+name, func(t *testing.T) {
				target := days()
				target.Table.ID, target.Table.WriteOnly = "target", true
				mappings := []*Mapping[sample]{source, target}
				source.Precision = time.Second
				bt := newBigtable(t, mappings...)
				o.Workers, o.Now = -1, func() time.Time { return at(100_000) }
				writer := WriterOptions{Now: o.Now, Tables: []string{source.Table.ID}}
				must(t, NewWriter(bt.Client, mappings, writer).WriteAll(t.Context(), inSeconds(seconds...)))
				source.Precision, target.Precision = time.Minute, time.Minute
				program := sample{Series: "a", Time: at(0), Value: 7}
				writer.Tables = nil
				must(t, NewWriter(bt.Client, mappings, writer).Write(t.Context(), program))
				_, err := Backfill(t.Context(), bt.Client, mappings, o)
				var refused *BackfillError
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), "2021-03-05T00:00:10Z") || !strings.Contains(err.Error(), "1m0s") {
					t.Errorf("the error is %v", err)
				}
				got, _, err := scanned(t.Context(), t, bt.Client, target, ReaderOptions{Now: o.Now}, KeyRange{})
				must(t, err)
				same(t, shown([]sample{program}), got)
			})
		}
	}
}

// TestBackfillOfFittingTimes copies the rest of such a source.
func TestBackfillOfFittingTimes(t *testing.T) {
	r := newRefill(t, 3)
	for _, l := range r.mappings {
		l.Precision = time.Minute
	}
	r.options.To = at(1)
	report, err := Backfill(t.Context(), r.Client, r.mappings, r.options)
	must(t, err)
	same(t, shown(r.samples[:1]), r.values(t, 1))
	same(t, int64(1), report.Events)
}

// TestBackfillPartsFinerTimes refuses them in each step of a pipeline that meets them.
func TestBackfillPartsFinerTimes(t *testing.T) {
	r := newRefill(t, 3)
	record := func() (chunks []BackfillChunk, steps *BackfillParts[sample], err error) {
		steps, err = NewBackfillParts(r.Client, r.mappings, at(100_000), r.options)
		must(t, err)
		_, err = steps.Record(t.Context(), "singles", KeyRange{}, until("t"), func(c BackfillChunk) { chunks = append(chunks, c) })
		return chunks, steps, err
	}
	chunks, _, err := record()
	must(t, err)
	for _, l := range r.mappings {
		l.Precision = time.Minute
	}
	_, steps, recorded := record()
	_, _, copied := steps.Copy(t.Context(), chunks[0])
	_, settled := steps.Settle(t.Context(), chunks[0])
	for i, err := range []error{recorded, copied, settled} {
		if refused := new(BackfillError); !errors.As(err, &refused) {
			t.Errorf("step %d: the error is %v", i, err)
		}
	}
	same(t, 0, len(r.values(t, 1)))
}

// TestBackfillRateIsNumber refuses a rate that is not a number.
func TestBackfillRateIsNumber(t *testing.T) {
	r := newRefill(t, 1)
	r.options.Rate = math.NaN()
	_, err := Backfill(t.Context(), r.Client, r.mappings, r.options)
	if refused := new(BackfillError); !errors.As(err, &refused) {
		t.Errorf("the error is %v", err)
	}
}

// TestDeleteFinerTimes deletes and replaces events, some of them with times that are finer than
// the precision, in two tables of which the second has only some: what was read is deleted, and
// nothing else. What was written with such a time is deleted where Write has stored it.
func TestDeleteFinerTimes(t *testing.T) {
	stored := []int{0, 10, 30, 59, 60, 120}
	tests := []struct {
		name     string
		deleted  []int // seconds
		moved    bool  // replaced by an event of another minute instead of deleted
		replaced bool  // replaced by one with the same time and the value 7 instead of deleted
		want     []sample
	}{
		{"in between", []int{30}, false, false, inSeconds(0, 10, 59, 60, 120)},
		{"several", []int{30, 10, 60}, false, false, inSeconds(0, 59, 120)},
		{"a multiple", []int{0}, false, false, inSeconds(10, 30, 59, 60, 120)},
		{"not stored there", []int{130}, false, false, inSeconds(0, 10, 30, 59, 60)},
		{"both", []int{130, 30}, false, false, inSeconds(0, 10, 59, 60)},
		{"moved", []int{30}, true, false, append(inSeconds(0, 10, 59, 60, 120), sample{Series: "a", Time: at(600), Value: 7})},
		{"moved from where it is not stored", []int{130}, true, false, append(inSeconds(0, 10, 30, 59, 60), sample{Series: "a", Time: at(600), Value: 7})},
		{"replaced", []int{30}, false, true, append(inSeconds(10, 59, 60, 120), sample{Series: "a", Time: at(0), Value: 7})},
		{"replaced where it is not stored", []int{130}, false, true, append(inSeconds(0, 10, 30, 59, 60), sample{Series: "a", Time: at(120), Value: 7})},
	}
	for _, first := range finer() {
		for _, tt := range tests {
			t.Run(first.Table.ID+" "+tt.name, func(t *testing.T) {
				second := days()
				second.Table.ID = "second"
				mappings := []*Mapping[sample]{first, second}
				bt := newBigtable(t, mappings...)
				now := func() time.Time { return at(100_000) }
				first.Precision, second.Precision = time.Second, time.Second
				only := func(tables ...string) WriterOptions { return WriterOptions{Now: now, Tables: tables} }
				must(t, NewWriter(bt.Client, mappings, only(first.Table.ID)).WriteAll(t.Context(), inSeconds(stored...)))
				must(t, NewWriter(bt.Client, mappings, only("second")).WriteAll(t.Context(), inSeconds(0, 60, 120)))
				first.Precision, second.Precision = time.Minute, time.Minute
				w := NewWriter(bt.Client, mappings, only())
				switch events := inSeconds(tt.deleted...); {
				case tt.moved:
					must(t, w.Replace(t.Context(), events[0], sample{Series: "a", Time: at(600), Value: 7}))
				case tt.replaced:
					updated := events[0]
					updated.Value = 7
					must(t, w.Replace(t.Context(), events[0], updated))
				default:
					d, err := w.Delete(t.Context(), events)
					must(t, err)
					same(t, len(events), d.Events())
				}
				want := shown(tt.want)
				if first.Pattern == codec.BucketNewColumns && tt.name == "replaced" {
					want = append(shown(inSeconds(0)), want...) // it keeps both values
				}
				for i, l := range mappings {
					if i == 1 {
						want = slices.DeleteFunc(want, func(s string) bool { return !strings.Contains(s, ":00Z") })
					}
					got, _, err := scanned(t.Context(), t, bt.Client, l, ReaderOptions{Now: now}, KeyRange{})
					must(t, err)
					slices.Sort(got)
					slices.Sort(want)
					if i == 1 {
						want = slices.DeleteFunc(want, func(s string) bool {
							return first.Pattern == codec.BucketNewColumns && tt.name == "replaced" && s == shown(inSeconds(0))[0]
						})
					}
					same(t, want, got)
				}
			})
		}
	}
}
