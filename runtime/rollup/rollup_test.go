package rollup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestNames checks that changes precede runs, that runs sort by their totals, and that all names are told apart.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		totals := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64Range(0, 1<<63-1)), 1, 5).Draw(t, "totals")
		var row Row
		for _, total := range totals {
			name := RunName(total, rand.Uint64())
			if got, ok := totalOf(name); !ok || got != total || name < FirstRun || name >= AfterRuns {
				t.Fatal(name, got, ok)
			}
			row.Add(name, []byte(fmt.Sprint(total)))
		}
		mark, gone := Mark(rand.Uint64()), DeletionName(rand.Uint64())
		if mark >= FirstRun || gone >= FirstRun {
			t.Fatal(mark, gone)
		}
		row.Add(mark, nil)
		row.Add(gone, Ranges{{1, 5}}.Append(nil))
		if value, _ := row.Best(); string(value) != fmt.Sprint(slices.Max(totals)) || row.Total != slices.Max(totals) {
			t.Fatalf("the best of %v has %s", totals, value)
		}
		if row.Next() != row.Total+2 || len(row.Changes()) != len(row.Runs)+2 || row.foreign || row.vague {
			t.Fatalf("%+v", row)
		}
	})
}

// TestForeign checks that cells of unknown names, and deletions of unknown content, are never taken for nothing.
func TestForeign(t *testing.T) {
	times := &Times{Bucket: day, After: time.Minute, Grace: time.Hour}
	for _, name := range []string{"", "x", "m", "m123", "r", "r123", Mark(1) + "x", strings.ToUpper(Mark(1)), "d", RunName(1, 1)[1:]} {
		var row Row
		row.Add(RunName(3, 1), nil)
		row.Add(name, nil)
		if !row.Changed() || row.Source(times, begin, true) != FromEvents || row.Source(times, begin, false) != DoubtedRun || row.Verdict(times, begin, begin.Add(time.Hour*48), row.Note()) != Unknown {
			t.Errorf("%q: %+v", name, row)
		}
	}
	var row Row
	row.Add(RunName(3, 1), nil)
	row.Add(DeletionName(1), []byte("x"))
	if !row.Doubted() || row.Source(times, begin, false) != DoubtedRun || row.Verdict(times, begin, begin.Add(time.Hour*48), row.Note()) != Compute {
		t.Errorf("%+v", row)
	}
}

var (
	day   = codec.Bucket{Every: 24 * time.Hour}
	begin = time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)
)

// TestVerdict checks what sealers and readers do with rows at all times.
func TestVerdict(t *testing.T) {
	const ttl = 40 * 24 * time.Hour
	times := &Times{Bucket: day, After: 30 * time.Minute, Grace: 30 * time.Minute, TTL: ttl}
	rows := map[string]*Row{}
	for _, what := range []string{"", "m", "d", "r", "rm", "rd", "rdm", "D", "rD", "hh", "DM", "Dm", "Do", "rDo", "h"} {
		row := new(Row)
		for _, c := range what {
			switch c {
			case 'm':
				row.Add(Mark(1), nil)
			case 'd':
				row.Add(DeletionName(1), Ranges{{1, 2}}.Append(nil))
			case 'D': // of all times
				row.Add(DeletionName(2), Ranges{{0, 24 * time.Hour}}.Append(nil))
			case 'h': // of a half
				half := time.Duration(len(row.Deletions)) * 12 * time.Hour
				row.Add(DeletionName(3), Ranges{{half, half + 12*time.Hour}}.Append(nil))
			case 'M': // of a later version
				row.Add("M", nil)
			case 'o':
				row.Others = true
			default:
				row.Add(RunName(1, 1), nil)
			}
		}
		rows[what] = row
	}
	for _, tt := range []struct {
		row      string
		after    time.Duration // the start of the bucket
		verdict  Verdict
		source   Source
		whenBusy Verdict
	}{
		{"m", 24 * time.Hour, Open, FromEvents, Open},
		{"m", 24*time.Hour + 30*time.Minute, Compute, FromEvents, Busy},
		{"", 25 * time.Hour, Compute, FromEvents, Busy},
		{"r", 25 * time.Hour, Clean, FromRun, Clean},
		{"rm", 25 * time.Hour, Compute, FromEvents, Busy},
		{"rd", 25 * time.Hour, Compute, FromEvents, Busy},
		{"rm", ttl - 2*time.Hour - time.Second, Compute, FromEvents, Busy},
		{"rm", ttl - 2*time.Hour, Salvage, FromEvents, Busy},
		{"rd", ttl - 2*time.Hour, Rewrite, FromEvents, Busy},
		{"m", ttl - 2*time.Hour, Salvage, FromEvents, Busy},
		{"rm", ttl - time.Hour - time.Second, Salvage, FromEvents, Busy},
		{"rm", ttl - time.Hour, Rewrite, DoubtedRun, Busy},
		{"rd", ttl - time.Hour, Rewrite, FromRun, Busy},
		{"rdm", ttl, Rewrite, DoubtedRun, Busy},
		{"m", ttl, Salvage, DoubtedEvents, Busy},
		{"d", ttl, Salvage, DoubtedEvents, Busy},
		{"", ttl, Salvage, DoubtedEvents, Busy},
		{"D", 25 * time.Hour, Compute, FromEvents, Busy},
		{"D", ttl - 2*time.Hour, Erase, FromEvents, Busy},
		{"D", ttl, Erase, Nowhere, Busy},
		{"rD", ttl, Erase, Nowhere, Busy},
		{"hh", ttl, Erase, Nowhere, Busy},
		{"h", ttl, Salvage, DoubtedEvents, Busy},
		{"Dm", ttl, Salvage, DoubtedEvents, Busy},
		{"DM", ttl, Unknown, DoubtedEvents, Unknown},
		{"Do", ttl, Salvage, DoubtedEvents, Busy},
		{"rDo", ttl, Rewrite, FromRun, Busy},
		{"r", ttl, Clean, FromRun, Clean},
	} {
		row, now := rows[tt.row], begin.Add(tt.after)
		assert.Same(t, tt.verdict, row.Verdict(times, begin, now, row.Note()), tt.row, tt.after)
		assert.Same(t, tt.whenBusy, row.Verdict(times, begin, now, row.Note()+1), tt.row, tt.after)
		assert.Same(t, tt.source, row.Source(times, begin, times.Whole(begin, now)), tt.row, tt.after)
	}
	forever := &Times{Bucket: day, Grace: time.Hour}
	if now := begin.AddDate(50, 0, 0); forever.Final(begin, now) || !forever.Whole(begin, now) {
		t.Error("events that are kept expire")
	}
}

// TestLeast checks that a sealer whose search begins when the last bucket has ended can summarize it, if events live for
// codec.Rollup.Least, and that they would not be there for long enough without the margin for clocks.
func TestLeast(t *testing.T) {
	for _, every := range []time.Duration{time.Minute, time.Hour, 7 * 24 * time.Hour} {
		of, bucket := codec.Rollup{After: time.Minute}, codec.Bucket{Every: every}
		begin := time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)
		times := &Times{Bucket: bucket, After: of.After, Grace: of.Grace(bucket), TTL: of.Least(bucket)}
		sealed := begin.Add(every + of.After + 2*of.Grace(bucket) - 1)
		if times.Final(begin, sealed) {
			t.Errorf("a bucket of %v is final", every)
		}
		if times.TTL -= codec.Skew; !times.Final(begin, sealed) {
			t.Errorf("a bucket of %v is not final without the margin", every)
		}
	}
}

// TestRanges compares ranges with sets of hours.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Range
		var set [30]bool
		for range rapid.IntRange(0, 6).Draw(t, "ranges") {
			from := rapid.IntRange(0, 24).Draw(t, "from")
			to := from + rapid.IntRange(0, 5).Draw(t, "length")
			all = append(all, Range{time.Duration(from), time.Duration(to)})
			for i := from; i < to; i++ {
				set[i] = true
			}
		}
		ranges, ok := ParseRanges(NewRanges(all).Append(nil))
		if !ok {
			t.Fatal(all)
		}
		for i := range 28 {
			all, some := ranges.Cover(Range{time.Duration(i), time.Duration(i + 2)})
			if all != (set[i] && set[i+1]) || some != (set[i] || set[i+1]) {
				t.Fatalf("%v: %d is %v, %v", ranges, i, all, some)
			}
		}
	})
}

// FuzzRanges parses damaged ranges: they are refused, or equal what is encoded again.
func FuzzRanges(f *testing.F) {
	f.Add(Ranges{{1, 2}, {5, 1 << 40}}.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		ranges, ok := ParseRanges(b)
		if !ok {
			return
		}
		if again, ok := ParseRanges(ranges.Append(nil)); !ok || !slices.Equal(ranges, again) {
			t.Fatal(ranges, again)
		}
	})
}
