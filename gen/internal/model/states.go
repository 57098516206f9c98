package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/store"
)

// states is a case of a schema that has a table with the newest event of each series.
type states struct {
	*run
	search Access[Event] // of the same tables without that one
}

// CheckStates writes, deletes and replaces events of a schema with State. At every moment, reads of the
// newest events must find what they find without that table, which search is a driver of: also after a
// deletion of which a request has failed.
func CheckStates[E any](t *rapid.T, ctx context.Context, s *Schema, d, search *Driver[E]) {
	r := begin(t, ctx, s, converted(s, d))
	defer d.Drop(r.prefix)
	c := &states{r, converted(s, search).Open(r.prefix, r.clock)}
	for range rapid.IntRange(4, 12).Draw(t, "steps") {
		step := rapid.SampledFrom([]string{"write", "write", "write", "wait", "collect", "delete", "delete", "replace"}).Draw(t, "step")
		switch step {
		case "write":
			var events []Event
			for range rapid.IntRange(1, 6).Draw(t, "events") {
				e := r.event()
				events, r.times = append(events, e), append(r.times, e.Time)
			}
			c.wrote(r.access.WriteAll(ctx, events))
			r.log = append(r.log, logged{now: r.now, events: events})
		case "wait":
			r.now = r.now.Add(r.duration("wait"))
		case "collect":
			c.collect()
		case "delete":
			d := r.drawDeletion()
			c.repeated(d.what, func() (store.Deletion, error) { return d.call(store.DeleteOptions{}) }, c.compare)
		default:
			old, updated := r.drawKnown(), r.event()
			r.times = append(r.times, updated.Time)
			c.repeated(step, func() (store.Deletion, error) {
				err := r.access.Replace(ctx, old, updated)
				if refused(err) {
					err = nil
				}
				return store.Deletion{}, err
			}, func(string) {})
		}
		c.compare(step)
	}
}

// wrote fails if a write failed other than by refusing events.
func (c *states) wrote(err error) {
	if err != nil && !refused(err) {
		c.Fatal(err)
	}
}

// refused reports whether an error is that of events that no table was sent.
func refused(err error) bool {
	failed, ok := errors.AsType[*store.WriteError](err)
	if !ok {
		return false
	}
	for _, f := range failed.Failures {
		if f.Outcome != store.Refused {
			return false
		}
	}
	return true
}

// repeated makes a call of which a request may fail. After a failure, it calls between, and makes the
// call again.
func (c *states) repeated(what string, call func() (store.Deletion, error), between func(what string)) {
	if _, err := c.faulty(call); err == nil {
		return
	}
	between(what + ", of which a request failed")
	if _, err := call(); err != nil {
		c.Fatalf("%s: %v\nschema\n%s", what, err, c.schema.YAML())
	}
}

// collect garbage-collects some cells of all tables.
func (c *states) collect() {
	rules := c.rules()
	rules[c.schema.Name+StateTable] = map[string]TTL{"n": *c.schema.State, "n-versions": *c.schema.State}
	garbage := logged{mutations: map[place]*bigtable.Mutation{}}
	for id, of := range rules {
		c.eachRow(id, func(row bigtable.Row) {
			for family, items := range row {
				rank := 0
				for i, item := range items {
					if rank++; i == 0 || items[i-1].Column != item.Column {
						rank = 1
					}
					if of[family].collects(c.now.Sub(item.Timestamp.Time()), rank) && rapid.Bool().Draw(c.T, "collects") {
						garbage.at(id, row.Key()).DeleteTimestampRange(family, strings.TrimPrefix(item.Column, family+":"), item.Timestamp, item.Timestamp+1000)
					}
				}
			}
		})
	}
	c.apply(c.prefix, garbage)
}

// compare compares all ways to read the newest events with a search.
func (c *states) compare(what string) {
	var bases []Event
	for _, s := range allSeries {
		base := Event{Host: s.Host, Shard: s.Shard}
		bases = append(bases, base)
		got, err := c.access.Latest(c.ctx, base)
		want, wanted := c.search.Latest(c.ctx, base)
		if errors.Is(err, c.access.NotFound) != errors.Is(wanted, c.access.NotFound) || err == nil && !cmp.Equal(want, got) {
			c.Fatalf("Latest after %s at %v: %+v, %v instead of %+v, %v\nschema\n%s", what, c.now, got, err, want, wanted, c.schema.YAML())
		}
	}
	c.equal("LatestMany after "+what, c.search.LatestMany(c.ctx, bases), c.access.LatestMany(c.ctx, bases))
	from, to := c.span()
	if rapid.Bool().Draw(c.T, "until later") {
		to = c.now.Add(rapid.SampledFrom([]time.Duration{1, time.Second, 1000 * time.Hour}).Draw(c.T, "later"))
	}
	if from.After(to) {
		from = time.Time{}
	}
	how := Order{LatestOnly: true}
	for range 2 {
		q := rapid.SampledFrom(c.schema.Queries()).Draw(c.T, "query")
		v := c.values(q)
		c.equal(fmt.Sprintf("%s %+v from %v to %v after %s", q.Name, v, from, to, what), c.search.Queries[q.Name](c.ctx, v, from, to, how), c.access.Queries[q.Name](c.ctx, v, from, to, how))
	}
	base := bases[rapid.IntRange(0, len(bases)-1).Draw(c.T, "base")]
	c.equal("Read after "+what, c.search.Ordered(c.ctx, base, from, to, how), c.access.Ordered(c.ctx, base, from, to, how))
}

// equal compares the newest events of each series.
func (c *states) equal(what string, want, got iter.Seq2[Event, error]) {
	if diff := cmp.Diff(c.bySeries(what, want), c.bySeries(what, got)); diff != "" {
		c.Fatalf("%s at %v (-want +got)\n%s\nschema\n%s", what, c.now, diff, c.schema.YAML())
	}
}

// bySeries returns events by their series, of which each has one.
func (c *states) bySeries(what string, events iter.Seq2[Event, error]) map[Series]Event {
	out := map[Series]Event{}
	for e, err := range events {
		if err != nil {
			if !errors.Is(err, store.ErrBounds) {
				c.Fatalf("%s: %v", what, err)
			}
			continue
		}
		s := Series{e.Host, e.Shard}
		if _, twice := out[s]; twice {
			c.Fatalf("%s: the newest event of %v came twice", what, s)
		}
		out[s] = e
	}
	return out
}
