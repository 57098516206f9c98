package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/job"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// refill is a source with samples and an empty target.
type refill struct {
	*storetest.Bigtable
	mappings []*mappingOf[sample]
	samples  []sample
	options  BackfillOptions
}

// newRefill writes samples of n series to the source alone.
func newRefill(t *testing.T, n int) *refill {
	t.Helper()
	var samples []sample
	for i := range n {
		samples = append(samples, sample{Series: fmt.Sprintf("s%04d", i), Time: at(i), Value: uint64(i)})
	}
	return refillOf(t, singles(), days(), samples...)
}

// fill copies by a client, without an error.
func (r *refill) fill(t *testing.T, client Client) BackfillReport {
	t.Helper()
	report, err := backfillOf(t.Context(), client, r.mappings, r.options)
	must(t, err)
	return report
}

// fails returns the error of a copy.
func (r *refill) fails(t *testing.T) error {
	_, err := backfillOf(t.Context(), r.Client, r.mappings, r.options)
	return err
}

// only returns a writer to some tables.
func (r *refill) only(tables ...string) *writerOf[sample] {
	return newWriterOf(r.Client, r.mappings, WriterOptions{Tables: tables, Now: r.options.Now})
}

// values returns what a table contains.
func (r *refill) values(t *testing.T, table int) (out []string) {
	t.Helper()
	out, _, err := scanned(t.Context(), t, r.Client, r.mappings[table], ReaderOptions{Now: r.options.Now}, KeyRange{})
	must(t, err)
	slices.Sort(out)
	return out
}

// agree checks that the tables contain the same samples.
func (r *refill) agree(t *testing.T) {
	t.Helper()
	same(t, r.values(t, 0), r.values(t, 1))
}

// meddling returns a client that calls before ahead of each change of a table. Each table has one range.
func (r *refill) meddling(table string, before func(n int)) Client {
	n := 0
	return through(r.Client, func(a asked, send func() error) error {
		if a.table == table && a.rows != nil {
			before(n)
			n++
		}
		return send()
	})
}

// TestBackfillGivesUp changes a sample whenever it is copied: the call ends and counts it.
func TestBackfillGivesUp(t *testing.T) {
	r := newRefill(t, 1)
	client := r.meddling("days", func(n int) {
		must(t, r.only("singles").Write(t.Context(), sample{Series: "s0000", Time: at(0), Value: uint64(100 + n)}))
	})
	same(t, int64(1), r.fill(t, client).Unsettled)
}

// TestBackfillKeepsExpired lets a sample expire in the source: it stays in a target that keeps it longer.
func TestBackfillKeepsExpired(t *testing.T) {
	r := newRefill(t, 1)
	now := at(90)
	r.options.Now = func() time.Time { return now }
	r.mappings[0].Table.Families = []Family{aged("f.1", 100*time.Second)}
	client := r.meddling("days", func(int) {
		now = at(110)
		_, err := r.only("singles").Delete(t.Context(), r.samples)
		must(t, err)
	})
	same(t, []int{0, 1}, []int{int(r.fill(t, client).Deleted), len(r.values(t, 1))})
}

// TestBackfillRefusesCheckpoints checks that only the checkpoint of the same call is used.
func TestBackfillRefusesCheckpoints(t *testing.T) {
	r := newRefill(t, 3)
	file := filepath.Join(t.TempDir(), "checkpoint")
	r.options.Checkpoint = file
	r.fill(t, r.Client)
	text, err := os.ReadFile(file)
	must(t, err)
	refuse := func(what string, want string) {
		t.Helper()
		failed := asError[*CheckpointError](t, r.fails(t), what)
		same(t, file, failed.File)
		assert.Contains(t, want, failed, what)
	}
	for _, tt := range []struct {
		want   string
		change func(r *refill)
	}{
		{`its instance is "", not "other"`, func(r *refill) { r.options.Instance = "other" }},
		{"its first time", func(r *refill) { r.options.From = at(1) }},
		{"its end time", func(r *refill) { r.options.To = at(1) }},
		{"its skipping", func(r *refill) { r.options.SkipUndecodable = true }},
		{`its source is "singles", not "p_singles"`, func(r *refill) { r.options.TablePrefix = "p_" }},
		{"its layout of the target", func(r *refill) { r.mappings[1].Table.Layout = "pattern: other" }},
	} {
		before := r.options
		tt.change(r)
		refuse(tt.want, tt.want)
		r.options, r.mappings[1].Table.Layout = before, ""
	}
	must(t, os.WriteFile(file, text[:len(text)/2], 0o666))
	refuse("cut", "damaged")
	must(t, os.Remove(file))
	must(t, os.Mkdir(file, 0o777))
	refuse("folder", "not readable")
	r.options.Checkpoint = filepath.Join(file, "missing", "checkpoint")
	file = r.options.Checkpoint
	refuse("no folder", "not writable")
}

// TestBackfillVerifies compares tables that agree and tables that do not.
func TestBackfillVerifies(t *testing.T) {
	r := newRefill(t, 50)
	r.fill(t, r.Client)
	verify := func(want ...string) {
		t.Helper()
		var found []string
		for _, d := range r.differences(t) {
			found = append(found, d.String())
		}
		same(t, want, found)
	}
	verify()
	must(t, r.only("days").Write(t.Context(), sample{Series: "x", Time: at(200_000)})) // after the call
	verify()
	must(t, r.only("days").Write(t.Context(), sample{Series: "s0003", Time: at(3), Value: 99}))
	verify("from 2021-03-05T00:00:03Z to 2021-03-05T00:00:04Z: 1 event in the source, 1 in the target")
	_, err := r.only("singles").Delete(t.Context(), r.samples[3:4])
	must(t, err)
	verify("from 2021-03-05T00:00:03Z to 2021-03-05T00:00:04Z: 0 events in the source, 1 in the target")
	_, err = r.only("days").Delete(t.Context(), r.samples[3:5])
	must(t, err)
	verify("from 2021-03-05T00:00:04Z to 2021-03-05T00:00:05Z: 1 event in the source, 0 in the target")
}

// TestTimeSlices checks that wider slices have the same sums.
func TestTimeSlices(t *testing.T) {
	a, b := newSlices(), newSlices()
	for i := range int64(3 * maxSlices) {
		a.add(i*1000-5000, Digest{1, uint64(i), 1})
		b.add((3*maxSlices-1-i)*1000-5000, Digest{1, uint64(3*maxSlices - 1 - i), 1})
	}
	if len(a.digests) > maxSlices || 1<<a.shift < 1000 || a.total().Events != 3*maxSlices {
		t.Errorf("%d slices of %d seconds, %v", len(a.digests), 1<<a.shift, a.total())
	}
	same(t, 0, len(a.differences(b)))
	b.add(-4000, Digest{1, 1, 1})
	d := a.differences(b)
	if len(d) != 1 || d[0].From.Unix() > -4000 || d[0].To.Unix() <= -4000 || d[0].Source.Events+1 != d[0].Target.Events {
		t.Error(d)
	}
}

// TestBackfillRefuses checks what is refused before anything is read.
func TestBackfillRefuses(t *testing.T) {
	named := func(id string, l *mappingOf[sample]) *mappingOf[sample] {
		l.Table.ID = id
		return l
	}
	writeTimed := named("written", singles())
	writeTimed.Table.Families = []Family{{Name: "f.1", GC: codec.GCRule{Kind: codec.GCMaxAge, MaxAge: time.Hour}, Life: codec.Lifetime{Timestamp: codec.TimestampWrite}}}
	mappings := []*mappingOf[sample]{named("plain", days()), named("numbered", offsetBlobs()), named("classed", classed(singles())), named("expiring", expires(singles())), writeTimed}
	for _, tt := range []struct{ source, target, want string }{
		{"plain", "plain", "same table"},
		{"plain", "numbered", "plain does not store the sequence numbers of events, which table numbered needs"},
		{"numbered", "plain", "plain cannot store the sequence numbers of events, which table numbered has"},
		{"plain", "classed", "plain does not store the classes of events"},
		{"plain", "expiring", "plain does not store when events expire"},
		{"plain", "written", "family f.1 of table written counts ages from the write"},
		{"", "numbered", "does not store the sequence numbers"},
		{"plain", "", "no table has `serves: false`"},
	} {
		_, err := backfillOf(t.Context(), nil, mappings, BackfillOptions{Source: tt.source, Target: tt.target})
		assert.Contains(t, tt.want, asError[*BackfillError](t, err, tt))
	}
	for _, o := range []BackfillOptions{{Target: "other"}, {Source: "other", Target: "plain"}} {
		_, err := backfillOf(t.Context(), nil, mappings, o)
		asError[*UnknownTableError](t, err, o.Source)
	}
}

// TestBackfillChooses checks the default source: of the tables that serve reads, the one that keeps events longest.
func TestBackfillChooses(t *testing.T) {
	table := func(id string, age time.Duration, idle bool) *mappingOf[sample] {
		l := singles()
		l.Table = Table{ID: id, Families: []Family{aged("f", age)}, WriteOnly: idle}
		return l
	}
	target := table("target", time.Hour, true)
	mappings := []*mappingOf[sample]{table("short", time.Hour, false), table("long", 3*time.Hour, false), table("idle", 4*time.Hour, true), target}
	all := completeAll(allGiven(mappings))
	got, err := sourceOf(all, all[len(all)-1], &BackfillOptions{})
	must(t, err)
	same(t, "long", got.Table.ID)
}

// TestBackfillUndecodable fails for a row that cannot be decoded, and counts it if that is allowed.
func TestBackfillUndecodable(t *testing.T) {
	r := newRefill(t, 3)
	damage := func(row string) { setCell(t, r.Client, "singles", row, "f.1", "v.1", time.Now(), []byte("bad")) }
	damage("bad")
	same(t, "bad", asError[*DecodeError](t, r.fails(t)).Row)
	r.options.SkipUndecodable = true
	got := r.fill(t, r.Client)
	same(t, []int{1, 3, 3}, []int{int(got.Undecodable), int(got.Events), len(r.values(t, 1))})
	damage(fmt.Sprintf("s0001#%013d", at(1).UnixMilli()))
	r.options.Repair = true // which deletes nothing that the source may have
	same(t, []int{2, 3}, []int{int(r.fill(t, r.Client).Undecodable), len(r.values(t, 1))})
}

// TestBackfillMerges copies the last of two values of an event, from a table that keeps both.
func TestBackfillMerges(t *testing.T) {
	e := sample{Series: "s", Time: at(1), Value: 1}
	r := refillOf(t, oneMetric(), days(), e)
	e.Value = 2
	must(t, r.only(r.source().Table.ID).Write(t.Context(), e))
	for _, r.options.Verify = range []bool{false, true} {
		got := r.fill(t, r.Client)
		same(t, []int{1, 1, 0}, []int{int(got.Events), int(got.Merged), len(got.Differences)})
	}
}

// TestBackfillStops ends the context at the first progress.
func TestBackfillStops(t *testing.T) {
	r := newRefill(t, 3)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r.options.Progress = func(BackfillProgress) { cancel(stop) }
	_, err := backfillOf(ctx, splitClient(r.Bigtable, "s0010", "s0020", "s0030"), r.mappings, r.options)
	assert.Is(t, stop, err)
}

// fakeClock passes time without waiting.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) clock() job.Clock {
	return job.Clock{
		Now: func() time.Time {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.now
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.now = c.now.Add(max(0, d))
			return context.Cause(ctx)
		},
	}
}
