package usage_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/btgen-dev/btgen/generated/usage"
	"github.com/btgen-dev/btgen/generated/usage/usagetest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Many events that expire at the same moment do not overwrite each other, and
// are read in the order of their times, regardless of their expiries.
func TestEqualExpiriesDoNotCollide(t *testing.T) {
	forEachStrategy(t, func(t *testing.T, s strategy) {
		bt := usagetest.New(t)
		now := noon.Add(10 * time.Minute)
		var want []use
		for i, life := range []time.Duration{3 * day, hour, 0, 0, hour, 3 * day} {
			want = append(want, use{customer: "c", at: noon.Add(time.Duration(i) * time.Second), requests: int64(i), life: life})
		}
		check(t, s.write(t.Context(), bt.Client, at(now), want...))
		latest, err := s.latest(t.Context(), bt.Client, at(now), "c")
		check(t, err)
		compare(t, want[5].read(), latest)
		for i := range want {
			want[i] = want[i].read()
		}
		compare(t, want, all(t, s.read(t.Context(), bt.Client, at(now), "c", noon, now)))
		compare(t, want, all(t, s.read(t.Context(), bt.Client, at(now), "c", time.Time{}, noon.AddDate(9000, 0, 0))))
		// A range selects events by their times, not by their expiries.
		compare(t, want[2:4], all(t, s.read(t.Context(), bt.Client, at(now), "c", want[2].at, want[4].at)))
	})
}

// A new lifetime counts from the new write, whether it is shorter or longer than
// the first, and replaces the first.
func TestChangedExpiryTakesEffectAtOnce(t *testing.T) {
	for _, lives := range [][2]time.Duration{{3 * day, hour}, {hour, 3 * day}, {3 * day, 0}, {0, 3 * day}, {hour, 0}, {0, hour}, {hour, hour}} {
		forEachStrategy(t, func(t *testing.T, s strategy) {
			old := use{customer: "c", at: noon, requests: 1, life: lives[0]}
			u := use{customer: "c", at: noon, requests: 2, life: lives[1]}
			end := noon.Add(aliveFor(u))
			gone := end
			if s.byEvent {
				gone = end.Add(milli) // of its full age it is alive
			}
			for name, write := range map[string]func(client *bigtable.Client) error{
				"in one call": func(client *bigtable.Client) error {
					return s.write(t.Context(), client, at(noon), old, u)
				},
				"in one call with others": func(client *bigtable.Client) error {
					other, third := old, old
					other.at, third.at = noon.Add(time.Second), noon.Add(2*time.Second)
					return s.write(t.Context(), client, at(noon), other, old, third, u)
				},
				"in two calls": func(client *bigtable.Client) error {
					return errors.Join(s.write(t.Context(), client, at(noon), old), s.write(t.Context(), client, at(noon), u))
				},
				"three times": func(client *bigtable.Client) error {
					return errors.Join(s.write(t.Context(), client, at(noon), u), s.write(t.Context(), client, at(noon), old), s.write(t.Context(), client, at(noon), u))
				},
			} {
				bt := usagetest.New(t)
				check(t, write(bt.Client))
				compare(t, []use{u.read()}, all(t, s.read(t.Context(), bt.Client, at(noon), "c", noon, noon.Add(1))))
				compare(t, []use{u.read()}, all(t, s.read(t.Context(), bt.Client, at(end.Add(-milli)), "c", noon, noon.Add(1))))
				compare(t, []use(nil), all(t, s.read(t.Context(), bt.Client, at(gone), "c", noon, noon.Add(1))))

				// Each column has one cell, so nothing can reappear.
				perColumn := map[string]int{}
				for _, c := range cells(t, bt.Client, s.table) {
					if s.byEvent && !c.at.Equal(noon) || !s.byEvent && !strings.HasSuffix(c.row, "T120000") {
						continue // of the others
					}
					_, qualifier, _ := strings.Cut(c.column, ":")
					perColumn[qualifier]++
				}
				want := map[string]int{"requests": 1, "bytes": 1, "written_at": 1}
				if s.byEvent {
					delete(want, "written_at")
				}
				t.Logf("%v then %v, %s", lives[0], lives[1], name)
				compare(t, want, perColumn)
			}
		})
	}
}

// The other events of a bucket keep their cells when one event gets a different class.
func TestRewriteKeepsOtherEventsOfTheBucket(t *testing.T) {
	bt := usagetest.New(t)
	s := usage.UsageClassesSeries{Customer: "c"}
	w, r := usage.NewUsageClassesWriter(bt.Client, writing(at(noon))), usage.NewUsageClassesReader(bt.Client, at(noon))
	var events []usage.UsageClassesEvent
	for i := range 9 {
		events = append(events, usage.UsageClassesEvent{UsageClassesSeries: s, Time: noon.Add(time.Duration(i) * time.Second), Class: usage.UsageClass(1 + i%3), Requests: int64(i)})
	}
	check(t, w.WriteAll(t.Context(), events))
	for i := range events {
		events[i].Class, events[i].Requests = events[i].Class%3+1, int64(100+i)
		check(t, w.Write(t.Context(), events[i]))
		compare(t, events, all(t, r.Read(t.Context(), s, noon, noon.Add(time.Minute))))
		compare(t, 18, len(cells(t, bt.Client, "usage_classes")))
	}
}

// A column that the event no longer has must not outlive the event, or it would be all
// that remains of the row.
func TestRewriteRemovesOldColumns(t *testing.T) {
	for _, table := range []string{"usage_default", "usage_one_second"} {
		bt := usagetest.New(t)
		s := strategies[slices.IndexFunc(strategies, func(s strategy) bool { return s.table == table })]
		m := bigtable.NewMutation()
		for _, column := range []string{"of an older schema", "requests"} {
			for i := range 3 {
				m.Set("m", column, bigtable.Time(noon.AddDate(i, 0, 0)), []byte("12345678"))
			}
		}
		check(t, bt.Client.Open(table).Apply(t.Context(), "c#2021-03-05T120000", m))
		check(t, s.write(t.Context(), bt.Client, at(noon), use{customer: "c", at: noon, life: hour}))
		compare(t, 3, len(cells(t, bt.Client, table)))
	}
}

// The mutation that adds the new cells also deletes the older ones, so no reader
// misses the event in between.
func TestRewriteIsOneMutation(t *testing.T) {
	forEachStrategy(t, func(t *testing.T, s strategy) {
		bt := usagetest.New(t)
		client, recorder := record(t, bt)
		u := use{customer: "c", at: noon, life: hour}
		check(t, s.write(t.Context(), client, at(noon), u))
		requests := recorder.take()
		if len(requests) != 1 {
			t.Fatalf("%d requests for one event: %v", len(requests), requests)
		}
		var deletes, sets int
		for _, m := range requests[0].(*btpb.MutateRowRequest).Mutations {
			switch m.Mutation.(type) {
			case *btpb.Mutation_SetCell_:
				sets++
			case *btpb.Mutation_DeleteFromFamily_:
				deletes++
				if sets > 0 {
					t.Errorf("a family is deleted after it was written")
				}
			case *btpb.Mutation_DeleteFromColumn_:
				deletes++
			default:
				t.Errorf("mutation %v", m)
			}
		}
		want := [2]int{1, 3} // the family, and three columns
		if s.byEvent {
			want = [2]int{4, 2} // two columns in two other families
		}
		compare(t, want, [2]int{deletes, sets})
	})
}

// dead are events that have already expired when they are written, at noon.
func dead() map[string]func(client store.Client, o store.WriterOptions) error {
	byDefault := func(ttl time.Duration, expiresAt time.Time) func(store.Client, store.WriterOptions) error {
		return func(client store.Client, o store.WriterOptions) error {
			return usage.NewUsageDefaultWriter(client, o).Write(context.Background(), usage.UsageDefaultEvent{
				UsageDefaultSeries: usage.UsageDefaultSeries{Customer: "c"}, Time: noon, TTL: ttl, ExpiresAt: expiresAt,
			})
		}
	}
	oneSecond := func(expiresAt time.Time) func(store.Client, store.WriterOptions) error {
		return func(client store.Client, o store.WriterOptions) error {
			return usage.NewUsageOneSecondWriter(client, o).Write(context.Background(), usage.UsageOneSecondEvent{
				UsageOneSecondSeries: usage.UsageOneSecondSeries{Customer: "c"}, Time: noon, ExpiresAt: expiresAt,
			})
		}
	}
	classes := func(class usage.UsageClass, age time.Duration) func(store.Client, store.WriterOptions) error {
		return func(client store.Client, o store.WriterOptions) error {
			return usage.NewUsageClassesWriter(client, o).Write(context.Background(), usage.UsageClassesEvent{
				UsageClassesSeries: usage.UsageClassesSeries{Customer: "c"}, Time: noon.Add(-age), Class: class,
			})
		}
	}
	return map[string]func(store.Client, store.WriterOptions) error{
		"default, expires now":          byDefault(0, noon),
		"default, expired long ago":     byDefault(0, noon.AddDate(-1, 0, 0)),
		"default, expired in 1960":      byDefault(0, noon.AddDate(-61, 0, 0)),
		"default, a negative TTL":       byDefault(-1, time.Time{}),
		"default, only TTL is negative": byDefault(-hour, noon.Add(day)),
		"one second, expires now":       oneSecond(noon),
		"one second, just expired":      oneSecond(noon.Add(-milli)),
		"one second, expired in 1960":   oneSecond(noon.AddDate(-61, 0, 0)),
		"classes, short":                classes(usage.UsageClassShort, hour+time.Second),
		"classes, standard":             classes(usage.UsageClassStandard, 2*day+time.Second),
		"classes, long":                 classes(usage.UsageClassLong, 3*day+time.Second),
	}
}

// refused returns the reason of the only failure in an error, which must be for an
// event that was not sent.
func refused(t *testing.T, err error) *codec.FieldError {
	t.Helper()
	var failed *store.WriteError
	if !errors.As(err, &failed) || len(failed.Failures) != 1 {
		t.Fatalf("got %v, want a WriteError of one event", err)
	}
	f := failed.Failures[0]
	var field *codec.FieldError
	if f.Outcome != store.Refused || f.Row != "" || !errors.As(f.Err, &field) {
		t.Fatalf("got %+v, want a refused event and its field", f)
	}
	return field
}

func TestExpiredEventsAreRefused(t *testing.T) {
	bt := usagetest.New(t)
	client, recorder := record(t, bt)
	for name, write := range dead() {
		t.Run(name, func(t *testing.T) {
			err := write(client, writing(at(noon)))
			if !errors.Is(err, codec.ErrExpired) {
				t.Errorf("got %v, want ErrExpired", err)
			}
			field := refused(t, err)
			want := "expires_at"
			switch {
			case strings.HasPrefix(name, "classes"):
				want = "time"
			case strings.Contains(name, "negative"):
				want = "ttl"
			}
			compare(t, want, field.Field)
			if sent := recorder.take(); len(sent) > 0 {
				t.Errorf("sent: %v", sent)
			}
		})
	}
}

// An event that expires in the next millisecond is still alive, and so is one at the
// maximum age of its class.
func TestEventsAboutToExpireAreWritten(t *testing.T) {
	bt := usagetest.New(t)
	check(t, usage.NewUsageDefaultWriter(bt.Client, writing(at(noon))).Write(t.Context(), usage.UsageDefaultEvent{UsageDefaultSeries: usage.UsageDefaultSeries{Customer: "c"}, Time: noon, TTL: 1}))
	check(t, usage.NewUsageOneSecondWriter(bt.Client, writing(at(noon))).Write(t.Context(), usage.UsageOneSecondEvent{UsageOneSecondSeries: usage.UsageOneSecondSeries{Customer: "c"}, Time: noon, ExpiresAt: noon.Add(1)}))
	check(t, usage.NewUsageClassesWriter(bt.Client, writing(at(noon))).Write(t.Context(), usage.UsageClassesEvent{UsageClassesSeries: usage.UsageClassesSeries{Customer: "c"}, Time: noon.Add(-hour), Class: usage.UsageClassShort}))
	for _, s := range strategies {
		compare(t, 1, len(all(t, s.read(t.Context(), bt.Client, at(noon), "c", noon.Add(-hour), noon.Add(1)))))
	}
}

func TestExpiredEventsAreSkipped(t *testing.T) {
	bt := usagetest.New(t)
	client, recorder := record(t, bt)
	for name, write := range dead() {
		t.Run(name, func(t *testing.T) {
			var ops []store.Operation
			o := writing(at(noon))
			o.SkipExpired = true
			o.Hooks.End = func(_ context.Context, op store.Operation, err error) {
				check(t, err)
				op.Table = ""
				ops = append(ops, op)
			}
			check(t, write(client, o))
			compare(t, []store.Operation{{Name: "Write", Events: 1, Expired: 1}}, ops)
			if sent := recorder.take(); len(sent) > 0 {
				t.Errorf("sent: %v", sent)
			}
		})
	}
}

// Expired events are skipped, and the others are stored. Without SkipExpired, the
// error names the expired ones.
func TestLiveEventsAreWrittenDespiteExpiredOnes(t *testing.T) {
	for _, skip := range []bool{false, true} {
		bt := usagetest.New(t)
		s := usage.UsageOneSecondSeries{Customer: "c"}
		var events []usage.UsageOneSecondEvent
		for i := range 6 {
			event := usage.UsageOneSecondEvent{UsageOneSecondSeries: s, Time: noon.Add(time.Duration(i) * time.Second), ExpiresAt: noon.Add(hour), WrittenAt: noon}
			if i%2 == 1 {
				event.ExpiresAt = noon.Add(-time.Duration(i) * hour)
			}
			events = append(events, event)
		}
		o := writing(at(noon))
		o.SkipExpired = skip
		expired := -1
		o.Hooks.End = func(_ context.Context, op store.Operation, _ error) { expired = op.Expired }
		err := usage.NewUsageOneSecondWriter(bt.Client, o).WriteAll(t.Context(), events)
		var failed *store.WriteError
		switch {
		case skip:
			check(t, err)
			compare(t, 3, expired)
		case !errors.As(err, &failed) || len(failed.Failures) != 3 || failed.Failures[2].Index != 5 || expired != 0:
			t.Errorf("%v, %d expired", err, expired)
		}
		r := usage.NewUsageOneSecondReader(bt.Client, at(noon))
		compare(t, []usage.UsageOneSecondEvent{events[0], events[2], events[4]}, all(t, r.Read(t.Context(), s, noon, noon.Add(time.Minute))))
	}
}

// An event without an expiry is refused, even if expired ones are skipped: skipping it
// would silently lose data.
func TestEventsWithoutExpiryAreRefused(t *testing.T) {
	bt := usagetest.New(t)
	client, recorder := record(t, bt)
	for _, skip := range []bool{false, true} {
		o := writing(at(noon))
		o.SkipExpired = skip
		err := usage.NewUsageOneSecondWriter(client, o).Write(t.Context(), usage.UsageOneSecondEvent{UsageOneSecondSeries: usage.UsageOneSecondSeries{Customer: "c"}, Time: noon})
		if !errors.Is(err, codec.ErrNoExpiry) || refused(t, err).Field != "expires_at" {
			t.Errorf("no expiry: %v", err)
		}
		for _, class := range []usage.UsageClass{0, -1, 4, math.MaxInt} {
			err := usage.NewUsageClassesWriter(client, o).Write(t.Context(), usage.UsageClassesEvent{UsageClassesSeries: usage.UsageClassesSeries{Customer: "c"}, Time: noon, Class: class})
			if !errors.Is(err, codec.ErrClass) || refused(t, err).Field != "class" {
				t.Errorf("class %d: %v", class, err)
			}
		}
		far := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		err = usage.NewUsageOneSecondWriter(client, o).Write(t.Context(), usage.UsageOneSecondEvent{UsageOneSecondSeries: usage.UsageOneSecondSeries{Customer: "c"}, Time: noon, ExpiresAt: far})
		if !errors.Is(err, codec.ErrTimeRange) {
			t.Errorf("the year 10000: %v", err)
		}
	}
	if sent := recorder.take(); len(sent) > 0 {
		t.Errorf("sent: %v", sent)
	}
}

// The writer sends only row mutations, with timestamps in whole milliseconds that it
// has chosen: never the server's clock, and never a ReadModifyWrite, which uses that
// clock, too.
func TestTimestampsAreNeverTheServers(t *testing.T) {
	forEachStrategy(t, func(t *testing.T, s strategy) {
		bt := usagetest.New(t)
		client, recorder := record(t, bt)
		ten := customers()
		now := at(noon.Add(123456 * time.Nanosecond))
		check(t, s.write(t.Context(), client, now, ten...))
		check(t, s.write(t.Context(), client, now, ten[0]))
		for _, u := range ten[:2] {
			compare(t, 1, len(all(t, s.read(t.Context(), client, now, u.customer, noon, noon.Add(1)))))
			_, err := s.latest(t.Context(), client, now, u.customer)
			check(t, err)
		}
		sets := 0
		see := func(mutations []*btpb.Mutation) {
			for _, m := range mutations {
				set := m.GetSetCell()
				if set == nil {
					continue
				}
				sets++
				if set.TimestampMicros <= 0 || set.TimestampMicros%1000 != 0 {
					t.Errorf("timestamp %d", set.TimestampMicros)
				}
			}
		}
		for _, m := range recorder.take() {
			switch m := m.(type) {
			case *btpb.MutateRowRequest:
				see(m.Mutations)
			case *btpb.MutateRowsRequest:
				for _, e := range m.Entries {
					see(e.Mutations)
				}
			case *btpb.ReadRowsRequest:
			default:
				t.Errorf("a %T was sent", m)
			}
		}
		columns := 3
		if s.byEvent {
			columns = 2
		}
		compare(t, 11*columns, sets)
	})
}

// The clock advances during a long read. Events that expire before they are reached
// are not yielded.
func TestEventsThatExpireDuringARead(t *testing.T) {
	forEachStrategy(t, func(t *testing.T, s strategy) {
		bt := usagetest.New(t)
		lives := []time.Duration{hour, 0, hour, 3 * day, 0, hour, 3 * day, 0}
		var uses []use
		for i, life := range lives {
			uses = append(uses, use{customer: "c", at: noon.Add(time.Duration(i) * time.Second), requests: int64(i), life: life})
		}
		check(t, s.write(t.Context(), bt.Client, at(noon), uses...))
		now := noon
		var got []int64
		for u, err := range s.read(t.Context(), bt.Client, store.ReaderOptions{Now: func() time.Time { return now }}, "c", noon, noon.Add(hour)) {
			check(t, err)
			got = append(got, u.requests)
			switch u.requests {
			case 1:
				now = noon.Add(2 * hour) // the end of 2 and 5
			case 4:
				now = noon.Add(2*day + hour) // and of 7
			}
		}
		compare(t, []int64{0, 1, 3, 4, 6}, got)
	})
}

// An event that expires between the request and the check of the clock does not hide
// an older one that is still alive.
func TestLatestExpiresDuringTheRead(t *testing.T) {
	forEachStrategy(t, func(t *testing.T, s strategy) {
		for _, apart := range []time.Duration{time.Minute, 2 * hour} { // in one bucket, and in two
			bt := usagetest.New(t)
			older := use{customer: "c", at: noon.Add(-apart), requests: 1}
			newer := use{customer: "c", at: noon, requests: 2, life: hour}
			check(t, s.write(t.Context(), bt.Client, at(noon), older, newer))
			for name, tt := range map[string]struct {
				asked, looked time.Time
				want          int64
			}{
				"nothing expires":   {noon, noon, 2},
				"the newer expires": {noon.Add(hour - milli), noon.Add(hour + milli), 1},
				"both expire":       {noon.Add(hour - milli), noon.Add(2*day + milli), 0},
				"the older expires": {noon.Add(2*day - apart), noon.Add(2*day + milli), 0},
			} {
				ticks := 0
				o := store.ReaderOptions{Now: func() time.Time {
					if ticks++; ticks == 1 {
						return tt.asked
					}
					return tt.looked
				}}
				got, err := s.latest(t.Context(), bt.Client, o, "c")
				if tt.want == 0 {
					if !errors.Is(err, store.ErrNotFound) {
						t.Errorf("%s: %v, %v", name, got, err)
					}
					continue
				}
				if err != nil || got.requests != tt.want {
					t.Errorf("%s: %v, %v; want %d", name, got, err, tt.want)
				}
			}
		}
	})
}
