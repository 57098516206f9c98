package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Difference is a range of time in which two tables have different events.
type Difference struct {
	From, To       time.Time // To is excluded
	Source, Target Digest
	// MayHaveExpired is whether a table may just have lost events or some of their fields, which the other one does not tell, because it
	// depends on their own expiry or class, on when they were written, or on newer ones. It is the table with fewer events, or either one.
	MayHaveExpired bool
}

// String describes the difference on one line.
func (d Difference) String() string {
	text := fmt.Sprintf("from %s to %s: %s in the source, %d in the target", d.From.Format(time.RFC3339), d.To.Format(time.RFC3339), quantity(int(d.Source.Events), "event"), d.Target.Events)
	if d.MayHaveExpired {
		text += ", or some had expired in one table, which the other one does not tell"
	}
	return text
}

const (
	// keptFor is how long both tables must keep an event that is compared.
	keptFor = time.Hour
	// maxSlices is the maximum number of ranges of time that are compared.
	maxSlices = 4096
	// compareRounds is how often ranges that differ are compared.
	compareRounds = 3
	// maxDifferences is the maximum number of differences in a report.
	maxDifferences = 100
)

// timeSlices are the digests of the events of a table by ranges of time, all of which have the same width in seconds, a power of two.
type timeSlices struct {
	shift   int              // the binary logarithm of the width
	digests map[int64]Digest // by their start divided by the width
}

// newSlices returns no events.
func newSlices() *timeSlices { return &timeSlices{digests: map[int64]Digest{}} }

// add adds events at a time in seconds.
func (s *timeSlices) add(seconds int64, d Digest) {
	at := seconds >> s.shift
	sum := s.digests[at]
	sum.Add(d)
	if s.digests[at] = sum; len(s.digests) > maxSlices {
		s.widen(s.shift + 1)
	}
}

// widen joins ranges.
func (s *timeSlices) widen(shift int) {
	if shift > s.shift {
		before := *s
		s.shift, s.digests = shift, map[int64]Digest{}
		s.merge(&before)
	}
}

// merge adds the events of others.
func (s *timeSlices) merge(o *timeSlices) {
	s.widen(o.shift)
	for at, d := range o.digests {
		s.add(at<<o.shift, d)
	}
}

// differences returns the ranges in which the events of two tables differ, in order.
func (s *timeSlices) differences(o *timeSlices) []Difference {
	s.widen(o.shift)
	o.widen(s.shift)
	all := maps.Clone(s.digests)
	maps.Copy(all, o.digests)
	var out []Difference
	for _, at := range slices.Sorted(maps.Keys(all)) {
		if s.digests[at] != o.digests[at] {
			out = append(out, Difference{
				From: time.Unix(at<<s.shift, 0).UTC(), To: time.Unix((at+1)<<s.shift, 0).UTC(), Source: s.digests[at], Target: o.digests[at],
			})
		}
	}
	return out
}

// total returns the digest of all events.
func (s *timeSlices) total() (sum Digest) {
	for _, d := range s.digests {
		sum.Add(d)
	}
	return sum
}

// verify compares the source with the target.
func (b *backfill) verify(ctx context.Context) error {
	ofTarget, err := b.rangesOf(ctx, b.target)
	if err != nil {
		return err
	}
	first := len(b.progress.Ranges) // of the target
	b.progress.Ranges = append(b.progress.Ranges, ofTarget...)
	for round := range compareRounds {
		b.began = b.Now()
		source, err := b.summarize(ctx, b.source, b.progress.Ranges[:first], round == 0)
		if err != nil {
			return err
		}
		target, err := b.summarize(ctx, b.target, b.progress.Ranges[first:], false)
		if err != nil {
			return err
		}
		if round == 0 {
			b.report.Compared = target.total()
		}
		found := source.differences(target)
		for i := range found {
			found[i].MayHaveExpired = b.mayHaveExpired(&found[i])
		}
		if b.report.Differences = found[:min(len(found), maxDifferences)]; len(found) == 0 {
			break
		}
		b.From, b.To = codec.Later(b.From, found[0].From), codec.Earlier(b.To, found[len(found)-1].To)
	}
	return nil
}

// mayHaveExpired reports whether events that the tables lose at times that the other one does not tell may explain a difference.
func (b *backfill) mayHaveExpired(d *Difference) bool {
	return b.untold.parts || b.untold.source && b.untold.target ||
		b.untold.source && d.Source.Events < d.Target.Events ||
		b.untold.target && d.Target.Events < d.Source.Events
}

// summarize returns the digests of what ranges of a table have. counted is whether to count their rows and events.
func (b *backfill) summarize(ctx context.Context, l *mapping, ranges []jobRange, counted bool) (*timeSlices, error) {
	all := newSlices()
	err := b.Each(ctx, len(ranges), func(ctx context.Context, i int) error {
		found, counts, err := b.summarizeRange(ctx, l, ranges[i])
		if err != nil {
			return err
		}
		b.Mu.Lock()
		defer b.Mu.Unlock()
		all.merge(found)
		if ranges[i].Done = true; counted {
			b.progress.Counts.add(counts)
		}
		b.Tell(false)
		return nil
	})
	return all, err
}

// summarizeRange returns the digests of a range of row keys.
func (b *backfill) summarizeRange(ctx context.Context, l *mapping, r jobRange) (*timeSlices, BackfillCounts, error) {
	var counts BackfillCounts
	out := newSlices()
	until := b.began.Add(keptFor)
	source, target := newDigester(b.source, until), newDigester(b.target, until)
	err := b.rows(ctx, l, r, allClaims{}, &counts, func(row untypedRow) error {
		if err := b.fits(row.Key, row.Events, target); err != nil {
			return err
		}
		if l == b.source {
			row.Events = distinct(b.source, b.target, row.Events, &counts.Merged)
		}
		for i := range row.Events {
			e := row.Events[i]
			if err := source.check(e); isExpired(err) || !b.dropLost(e, until) {
				counts.Expired++
				continue
			}
			sum, err := target.of(e)
			switch {
			case isExpired(err):
				counts.Expired++
			case err != nil:
				return fmt.Errorf("table %s, row %q: %w", b.TablePrefix+r.Table, row.Key, err)
			default:
				counts.Events++
				out.add(l.Time(e).Unix(), sum)
			}
		}
		return nil
	})
	return out, counts, err
}
