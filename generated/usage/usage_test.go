package usage_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/usage"
	"github.com/btgen-dev/btgen/generated/usage/usagetest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// customers is the documented example of ten customers: the first keeps data for
// an hour, the second for three days, and the others for the default of two
// days.
func customers() []use {
	out := []use{{life: hour}, {life: 3 * day}, {}, {}, {}, {}, {}, {}, {}, {}}
	for i := range out {
		out[i].customer, out[i].at, out[i].requests = fmt.Sprintf("customer-%02d", i+1), noon, int64(100+i)
	}
	return out
}

// The clock passes each expiry, on a server that collects nothing and on one
// that collects everything it may. Reads return the same.
func TestTenCustomers(t *testing.T) {
	forEachStrategy(t, func(t *testing.T, s strategy) {
		for _, collected := range []bool{false, true} {
			bt := usagetest.New(t)
			ten := customers()
			check(t, s.write(t.Context(), bt.Client, at(noon), ten...))
			written := len(cells(t, bt.Client, s.table))
			for _, life := range []time.Duration{hour, 2 * day, 3 * day} {
				for _, off := range []time.Duration{-milli, 0, milli} {
					now := noon.Add(life + off)
					if collected {
						collect(t, bt, s.table, now)
					}
					var want, read, latest []use
					for _, u := range ten {
						if left := aliveFor(u) - life - off; left > 0 || left == 0 && s.byEvent {
							want = append(want, u.read())
						}
						read = append(read, all(t, s.read(t.Context(), bt.Client, at(now), u.customer, noon, noon.Add(1)))...)
						newest, err := s.latest(t.Context(), bt.Client, at(now), u.customer)
						switch {
						case err == nil:
							latest = append(latest, newest)
						case !errors.Is(err, store.ErrNotFound):
							t.Fatal(err)
						}
					}
					t.Logf("%v after the writing, collected %v: %d are alive", life+off, collected, len(want))
					compare(t, want, read)
					compare(t, want, latest)
				}
			}
			want := written
			if collected {
				want = 0
				collect(t, bt, s.table, noon.Add(3*day+time.Second+milli)) // a second later at the latest
			}
			if left := len(cells(t, bt.Client, s.table)); left != want {
				t.Errorf("collected %v: %d of %d cells are left", collected, left, written)
			}
		}
	})
}

// aliveFor returns how long an event lives.
func aliveFor(u use) time.Duration {
	if u.life == 0 {
		return 2 * day
	}
	return u.life
}

// Garbage collection never deletes more than what has expired: at the last
// moment of each event, all its cells exist.
func TestCollectionIsNotEarly(t *testing.T) {
	forEachStrategy(t, func(t *testing.T, s strategy) {
		for _, u := range customers()[:3] {
			bt := usagetest.New(t)
			check(t, s.write(t.Context(), bt.Client, at(noon), u))
			written := cells(t, bt.Client, s.table)
			collect(t, bt, s.table, noon.Add(aliveFor(u)-milli))
			compare(t, written, cells(t, bt.Client, s.table))
		}
	})
}

// The figures of the documentation: with a default of two days, data that
// lives an hour has the timestamp of 47 hours ago, and data that lives three
// days that of tomorrow.
func TestTimestampsAsDocumented(t *testing.T) {
	written := noon.Add(250 * milli) // the event is of noon, and comes a little later
	for table, want := range map[string][]string{
		"usage_default": {
			"customer-01#2021-03-05T120000 m -47h0m0s", // now - 47 h
			"customer-02#2021-03-05T120000 m 24h0m0s",  // now + 24 h
			"customer-03#2021-03-05T120000 m 0s",
		},
		"usage_one_second": {
			"customer-01#2021-03-05T120000 m 1h0m0s",
			"customer-02#2021-03-05T120000 m 72h0m0s",
			"customer-03#2021-03-05T120000 m 48h0m0s",
		},
		"usage_classes": {
			"customer-01#2021-03-05T12 short -250ms", // the time of the event
			"customer-03#2021-03-05T12 standard -250ms",
			"customer-02#2021-03-05T12 long -250ms",
		},
	} {
		s := strategies[slices.IndexFunc(strategies, func(s strategy) bool { return s.table == table })]
		bt := usagetest.New(t)
		check(t, s.write(t.Context(), bt.Client, at(written), customers()[:3]...))
		var got []string
		perRow := map[string]int{}
		for _, c := range cells(t, bt.Client, table) {
			family, qualifier, _ := strings.Cut(c.column, ":")
			got = append(got, fmt.Sprintf("%s %s %v", c.row, family, c.at.Sub(written)))
			perRow[c.row]++
			if now := string(binary.BigEndian.AppendUint64(nil, uint64(written.UnixNano()))); qualifier == "written_at" && c.value != now {
				t.Errorf("%s, written_at: %x, want the clock, %x", c.row, c.value, now)
			}
		}
		compare(t, want, slices.Compact(got))
		columns := 3 // with written_at
		if s.byEvent {
			columns = 2
		}
		for row, n := range perRow {
			if n != columns {
				t.Errorf("%s, row %s: %d cells", table, row, n)
			}
		}
	}
}

// Events that were read contain their expiry and write time, and can be written again unchanged.
func TestEventsKeepTheirExpiryWhenWrittenAgain(t *testing.T) {
	again := noon.Add(30*time.Minute + 7*milli)
	for _, life := range []time.Duration{hour, 2 * day, 3 * day} {
		bt := usagetest.New(t)
		end := noon.Add(life)

		ds := usage.UsageDefaultSeries{Customer: "c"}
		de := usage.UsageDefaultEvent{UsageDefaultSeries: ds, Time: noon, Requests: 3, Bytes: 4}
		if life != 2*day {
			de.TTL = life
		}
		check(t, usage.NewUsageDefaultWriter(bt.Client, writing(at(noon))).Write(t.Context(), de))
		dr := usage.NewUsageDefaultReader(bt.Client, at(again))
		dread, err := dr.Latest(t.Context(), ds)
		check(t, err)
		de.TTL, de.ExpiresAt, de.WrittenAt = 0, end, noon
		compare(t, de, dread)
		before := timesOf(cells(t, bt.Client, "usage_default"))
		check(t, usage.NewUsageDefaultWriter(bt.Client, writing(at(again))).Write(t.Context(), dread))
		compare(t, before, timesOf(cells(t, bt.Client, "usage_default")))
		de.WrittenAt = again
		compare(t, []usage.UsageDefaultEvent{de}, all(t, dr.Read(t.Context(), ds, noon, noon.Add(1))))

		os := usage.UsageOneSecondSeries{Customer: "c"}
		oe := usage.UsageOneSecondEvent{UsageOneSecondSeries: os, Time: noon, ExpiresAt: end, WrittenAt: end, Requests: 3, Bytes: 4}
		check(t, usage.NewUsageOneSecondWriter(bt.Client, writing(at(noon))).Write(t.Context(), oe))
		or := usage.NewUsageOneSecondReader(bt.Client, at(again))
		oread, err := or.Latest(t.Context(), os)
		check(t, err)
		oe.WrittenAt = noon // the value in the event is ignored
		compare(t, oe, oread)
		before = timesOf(cells(t, bt.Client, "usage_one_second"))
		check(t, usage.NewUsageOneSecondWriter(bt.Client, writing(at(again))).Write(t.Context(), oread))
		compare(t, before, timesOf(cells(t, bt.Client, "usage_one_second")))
		oe.WrittenAt = again
		compare(t, []usage.UsageOneSecondEvent{oe}, all(t, or.Read(t.Context(), os, noon, noon.Add(1))))
	}
}

// timesOf returns the times of cells.
func timesOf(cells []cell) []time.Time {
	var out []time.Time
	for _, c := range cells {
		out = append(out, c.at)
	}
	return out
}

// An expiry between two milliseconds is rounded up, never down.
func TestExpiryIsRoundedUp(t *testing.T) {
	bt := usagetest.New(t)
	s := usage.UsageOneSecondSeries{Customer: "c"}
	end := noon.Add(hour + 300*time.Microsecond)
	check(t, usage.NewUsageOneSecondWriter(bt.Client, writing(at(noon))).Write(t.Context(), usage.UsageOneSecondEvent{UsageOneSecondSeries: s, Time: noon, ExpiresAt: end}))
	for now, want := range map[time.Time]int{end.Add(-1): 1, end: 1, noon.Add(hour + milli - 1): 1, noon.Add(hour + milli): 0} {
		r := usage.NewUsageOneSecondReader(bt.Client, at(now))
		compare(t, want, len(all(t, r.Read(t.Context(), s, noon, noon.Add(1)))))
	}
}

// TTL counts from the write and takes precedence over ExpiresAt; without both, the default applies.
func TestTTLWins(t *testing.T) {
	bt := usagetest.New(t)
	s := usage.UsageDefaultSeries{Customer: "c"}
	written := noon.Add(10 * time.Minute)
	for _, tt := range []struct {
		ttl       time.Duration
		expiresAt time.Time
		want      time.Time
	}{
		{0, time.Time{}, written.Add(2 * day)},
		{time.Minute, time.Time{}, written.Add(time.Minute)},
		{time.Minute, noon.Add(day), written.Add(time.Minute)},
		{time.Minute, noon.Add(-day), written.Add(time.Minute)},
		{0, noon.Add(day), noon.Add(day)},
		{0, noon.Add(30 * day), noon.Add(30 * day)},
	} {
		event := usage.UsageDefaultEvent{UsageDefaultSeries: s, Time: noon, TTL: tt.ttl, ExpiresAt: tt.expiresAt}
		check(t, usage.NewUsageDefaultWriter(bt.Client, writing(at(written))).Write(t.Context(), event))
		got, err := usage.NewUsageDefaultReader(bt.Client, at(written)).Latest(t.Context(), s)
		check(t, err)
		if !got.ExpiresAt.Equal(tt.want) || got.TTL != 0 {
			t.Errorf("ttl %v and expiry %v: expires %v, want %v", tt.ttl, tt.expiresAt, got.ExpiresAt, tt.want)
		}
	}
}

// The age of a class counts from the event: an event of an hour that is written half an hour late
// expires half an hour after the write.
func TestClassesCountFromTheEvent(t *testing.T) {
	bt := usagetest.New(t)
	s := usage.UsageClassesSeries{Customer: "c"}
	written := noon.Add(30 * time.Minute)
	event := usage.UsageClassesEvent{UsageClassesSeries: s, Time: noon, Class: usage.UsageClassShort, Requests: 1}
	check(t, usage.NewUsageClassesWriter(bt.Client, writing(at(written))).Write(t.Context(), event))
	for left, want := range map[time.Duration][]usage.UsageClassesEvent{30 * time.Minute: {event}, 30*time.Minute + milli: nil} {
		r := usage.NewUsageClassesReader(bt.Client, at(written.Add(left)))
		compare(t, want, all(t, r.Read(t.Context(), s, noon, noon.Add(1))))
	}
}

// Events of several classes, in one bucket and in several buckets, are read in time order, each
// with its class.
func TestClassesAreMergedByTime(t *testing.T) {
	bt := usagetest.New(t)
	s := usage.UsageClassesSeries{Customer: "c"}
	var events []usage.UsageClassesEvent
	for i := range 12 {
		events = append(events, usage.UsageClassesEvent{
			UsageClassesSeries: s, Time: noon.Add(time.Duration(i) * 10 * time.Minute), Class: usage.UsageClass(1 + i*2%3), Requests: int64(i), Bytes: -1,
		})
	}
	now := noon.Add(hour)
	shuffled := slices.Clone(events)
	slices.Reverse(shuffled)
	check(t, usage.NewUsageClassesWriter(bt.Client, writing(at(now))).WriteAll(t.Context(), shuffled))
	r := usage.NewUsageClassesReader(bt.Client, at(now))
	compare(t, events, all(t, r.Read(t.Context(), s, noon, noon.Add(2*hour))))
	compare(t, events[3:8], all(t, r.Read(t.Context(), s, events[3].Time, events[8].Time)))
	latest, err := r.Latest(t.Context(), s)
	check(t, err)
	compare(t, events[11], latest)

	// Two and a half hours later, all but one event of the first class have expired.
	r = usage.NewUsageClassesReader(bt.Client, at(noon.Add(150*time.Minute)))
	var want []usage.UsageClassesEvent
	for _, e := range events {
		if e.Class != usage.UsageClassShort || !e.Time.Before(noon.Add(90*time.Minute)) {
			want = append(want, e)
		}
	}
	compare(t, want, all(t, r.Read(t.Context(), s, noon, noon.Add(2*hour))))
	if len(want) != 9 {
		t.Fatalf("%d events are left", len(want))
	}
}
