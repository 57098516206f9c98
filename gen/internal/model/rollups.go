package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/store"
)

// rollups is a case of a schema with a rollup.
type rollups struct {
	*run
	kept     *Table // what was written and not deleted, whether or not it has expired
	outlived int    // exact windows of events that have expired
}

// CheckRollups writes, deletes, replaces and summarizes events of a schema with a Rollup, whose events have one time to
// live, which may be none. At every moment, windows must be those of all events that were written and not deleted, or be
// inexact, which they must not be as long as all events of their buckets are there. It returns how many exact windows of
// events that had expired it has seen.
func CheckRollups[E any](t *rapid.T, ctx context.Context, s *Schema, d *Driver[E]) int {
	r := begin(t, ctx, s, converted(s, d))
	defer d.Drop(r.prefix)
	forever := *s
	forever.Families = []Family{{Name: s.Families[0].Name, TTL: TTL{Kind: "keep"}}}
	c := &rollups{run: r, kept: NewTable(&forever)}
	for range rapid.IntRange(6, 18).Draw(t, "steps") {
		step := rapid.SampledFrom([]string{"write", "write", "write", "wait", "end", "expire", "collect", "summarize", "summarize", "summarize", "delete", "replace"}).Draw(t, "step")
		switch step {
		case "write":
			c.write()
		case "wait":
			r.now = r.now.Add(r.duration("wait"))
		case "end": // of most buckets
			r.now = r.now.Add(s.Bucket + time.Hour)
		case "expire":
			r.now = r.now.Add(s.Families[0].TTL.Age)
		case "collect":
			r.collect(rapid.SampledFrom([]int{1, 2}).Draw(t, "of"))
		case "summarize":
			c.repeated(step, func() error { return r.access.Rollup(ctx) })
		case "delete":
			of := r.drawDeletion()
			c.repeated(of.what, func() error { _, err := of.call(store.DeleteOptions{}); return err })
			r.table.Delete(of.deleted)
			c.kept.Delete(of.deleted)
		default:
			c.replace()
		}
		for range 3 {
			c.compare(step)
		}
	}
	c.outlive()
	c.vanish()
	return c.outlived
}

// outlive writes an event, summarizes it and lets it expire: nothing came too late, so its window must be exact, if the
// rollup has all that is read, by the hour.
func (c *rollups) outlive() {
	ttl, of := c.schema.Families[0].TTL, c.schema.Rollup
	if ttl.Kind == "keep" || of.Fields != nil || of.Every > time.Hour {
		return
	}
	e := c.alone()
	c.keep(e)
	c.now = c.now.Add(c.schema.Bucket + time.Hour)
	c.repeated("summarize", func() error { return c.access.Rollup(c.ctx) })
	c.now = c.now.Add(ttl.Age)
	c.collect(1)
	before := c.outlived
	c.compareOf(Series{"a", 1}, e.Time.Add(-c.schema.Bucket), e.Time.Add(c.schema.Bucket), "the end of an event")
	if c.outlived == before {
		c.Fatalf("no window of %v is exact after its event has expired\nschema\n%s", e.Time, c.schema.YAML())
	}
}

// vanish writes an event, deletes its series, and summarizes it when it has expired: no cell is left of it, and windows are exact.
func (c *rollups) vanish() {
	ttl := c.schema.Families[0].TTL
	if ttl.Kind == "keep" {
		return
	}
	before := map[place]bool{}
	for cell := range c.raws(c.prefix) {
		before[cell.place] = true
	}
	e := c.alone()
	base := Event{Host: e.Host, Shard: e.Shard}
	c.repeated("DeleteSeries", func() error { _, err := c.access.DeleteSeries(c.ctx, base, store.DeleteOptions{}); return err })
	c.now = c.now.Add(c.schema.Bucket + time.Hour + ttl.Age)
	for _, when := range []string{"before", "after"} {
		got, err := c.access.Windows(c.ctx, base, e.Time.Add(-c.schema.Bucket), e.Time.Add(c.schema.Bucket))
		if err != nil || len(got) > 0 {
			c.Fatalf("%s it is summarized, an erased series has the windows %+v, %v\nschema\n%s", when, got, err, c.schema.YAML())
		}
		c.repeated("summarize", func() error { return c.access.Rollup(c.ctx) })
	}
	for cell, value := range c.raws(c.prefix) {
		if !before[cell.place] {
			c.Fatalf("%+v is left of an erased series: %q\nschema\n%s", cell, value, c.schema.YAML())
		}
	}
}

// alone writes an event that has a bucket of its own.
func (c *rollups) alone() Event {
	c.now = c.now.Add(c.schema.Families[0].TTL.Age + 2*c.schema.Bucket)
	e := c.filled(Event{Host: "a", Shard: 1, Time: c.now})
	for i := range e.Has {
		e.Has[i], e.Values[i] = true, 1
	}
	c.times = append(c.times, e.Time)
	c.writeAll([]Event{e})
	return e
}

// write writes some events.
func (c *rollups) write() {
	var events []Event
	for range rapid.IntRange(1, 6).Draw(c.T, "events") {
		e := c.event()
		events, c.times = append(events, e), append(c.times, e.Time)
	}
	c.writeAll(events)
	for _, e := range events {
		c.keep(e)
	}
}

// keep remembers an event that was written, unless it was refused.
func (c *rollups) keep(e Event) {
	if !c.refuses(e) {
		c.kept.Write(c.now, e)
	}
}

// replace replaces an event.
func (c *rollups) replace() {
	old, updated := c.drawKnown(), c.event()
	c.times = append(c.times, updated.Time)
	if c.refuses(updated) {
		if err := c.access.Replace(c.ctx, old, updated); !refused(err) {
			c.Fatalf("Replace by %+v at %v: %v\nschema\n%s", updated, c.now, err, c.schema.YAML())
		}
		return
	}
	c.repeated("Replace", func() error { return c.access.Replace(c.ctx, old, updated) })
	for _, table := range []*Table{c.table, c.kept} {
		table.Delete(func(e *Event) bool { return c.schema.same(e, &old) })
		table.Write(c.now, updated)
	}
}

// repeated makes a call of which a request may fail, and makes it again after a failure.
func (c *rollups) repeated(what string, call func() error) {
	if _, err := c.faulty(func() (store.Deletion, error) { return store.Deletion{}, call() }); err == nil {
		return
	}
	if err := call(); err != nil {
		c.Fatalf("%s: %v\nschema\n%s", what, err, c.schema.YAML())
	}
}

// compare compares windows of a series in a drawn time range.
func (c *rollups) compare(what string) {
	series := c.host()
	from, to := c.span()
	c.compareOf(series, from, to, what)
}

// compareOf compares the windows of a series in a time range with its events.
func (c *rollups) compareOf(series Series, from, to time.Time, what string) {
	want := map[time.Time]Window{}
	for _, w := range windowsOf(c.kept.Read(c.now, series, from, to)) {
		want[w.Start] = w
	}
	got, err := c.access.Windows(c.ctx, Event{Host: series.Host, Shard: series.Shard}, from, to)
	fail := func(format string, args ...any) {
		c.Fatalf("windows of %v from %v to %v after %s at %v: %s\nschema\n%s", series, from, to, what, c.now, fmt.Sprintf(format, args...), c.schema.YAML())
	}
	if err != nil {
		fail("%v", err)
	}
	if !slices.IsSortedFunc(got, func(a, b Window) int { return a.Start.Compare(b.Start) }) {
		fail("not in order")
	}
	doubt := false // about the last value before a window, from which its increase counts
	for _, w := range got {
		of, has := want[w.Start]
		delete(want, w.Start)
		switch whole := c.whole(w.Start); {
		case w.Inexact && whole && !doubt:
			fail("that of %v is inexact", w.Start)
		case w.Inexact:
		case !has || !cmp.Equal(of, w):
			fail("that of %v: -want +got\n%s", w.Start, cmp.Diff(of, w))
		case !whole:
			c.outlived++
		}
		doubt = w.Inexact
	}
	for _, w := range want {
		fail("%+v is missing", w)
	}
}

// whole reports whether all events of the buckets of a window are there, on servers with any clock.
func (c *rollups) whole(start time.Time) bool {
	ttl := c.schema.Families[0].TTL
	return ttl.Kind == "keep" || c.now.Add(time.Hour).Before(c.schema.bucketStart(start).Add(ttl.Age))
}
