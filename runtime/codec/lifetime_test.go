package codec_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

var (
	oneSecond = codec.Lifetime{Timestamp: codec.TimestampExpiry}
	twoDays   = codec.Lifetime{Timestamp: codec.TimestampShifted, Default: 2 * day}
)

// A cell is live from its write until just before its expiry, regardless of fractions
// of a millisecond, and only the one window contains it until then.
func TestLifetimeExpires(t *testing.T) {
	check(t, "alive until it expires", func(t *rapid.T) {
		life := rapid.SampledFrom([]codec.Lifetime{oneSecond, twoDays, {Timestamp: codec.TimestampShifted, Default: time.Second}}).Draw(t, "lifetime")
		now := date("2021-03-05T12:00:00Z").Add(time.Duration(rapid.Int64Range(0, 3e6).Draw(t, "ns")))
		ttl := time.Duration(rapid.OneOf(rapid.Int64Range(1, 3e6), rapid.Int64Range(1, int64(4*day))).Draw(t, "ttl"))
		us, err := life.Micros(now, time.Time{}, time.Time{}, ttl)
		must(t, err)
		end := now.Add(ttl)
		rounded := codec.FromMicros(codec.CeilMicros(end))
		if expiry, ok := life.Expiry(us); !ok || !expiry.Equal(rounded) {
			t.Fatalf("expires %v, want %v", expiry, rounded)
		}
		for at, want := range map[time.Time]bool{now: true, end.Add(-1): true, rounded.Add(-1): true, rounded: false, rounded.Add(1): false} {
			windows := life.Windows(at, time.Time{}, date("9999-12-31"))
			in := len(windows) == 1 && windows[0].From <= us && windows[0].To == 0
			if life.Alive(at, us, 1) != want || in != want {
				t.Fatalf("at %v: alive %v, in the window %v, want %v", at, life.Alive(at, us, 1), in, want)
			}
		}
		for at := range map[time.Time]bool{now: true, end: true, rounded.Add(-1): true, rounded: true} {
			if alive := life.Alive(at, us, 1); alive != (us >= life.Horizon(at)) || alive != at.Before(life.Fresh(us, false)) || life.Forever() {
				t.Fatalf("at %v: alive %v, horizon %d, fresh until %v", at, alive, life.Horizon(at), life.Fresh(us, false))
			}
		}
		if us%1000 != 0 || life.Default > 0 && us != codec.CeilMicros(end.Add(-life.Default)) { // as in Bigtable's documentation
			t.Fatalf("the timestamp %d of a cell that expires %v", us, rounded)
		}
		if _, bounded := life.Since(now); bounded || life.Windows(now, end, end) != nil {
			t.Fatal("the timestamp, which is not the event time, bounds it")
		}
		again, err := life.Micros(now, time.Time{}, rounded, 0)
		if err != nil || again != us {
			t.Fatalf("written again as read: %d, %v; want %d", again, err, us)
		}
	})
}

func TestLifetimeRefuses(t *testing.T) {
	now := date("2021-03-05T12:00:00.0005Z")
	none := time.Time{}
	hour := codec.Lifetime{Retention: maxAge(time.Hour).Retention(0)}
	for _, tt := range []struct {
		name             string
		life             codec.Lifetime
		event, expiresAt time.Time
		ttl              time.Duration
		want             error
	}{
		{"no expiry", oneSecond, now, none, 0, codec.ErrNoExpiry},
		{"born expired", oneSecond, now, now.Add(-time.Hour), 0, codec.ErrExpired},
		{"expires now", oneSecond, now, date("2021-03-05T12:00:00Z"), 0, codec.ErrExpired},
		{"expires before 1970", oneSecond, now, date("1969-12-31"), 0, codec.ErrExpired},
		{"expires too late", oneSecond, now, date("9999-12-31").Add(day), 0, codec.ErrTimeRange},
		{"negative ttl", oneSecond, now, now.Add(time.Hour), -1, codec.ErrExpired},
		{"no expiry, but a default", twoDays, none, none, 0, nil},
		{"negative ttl with a default", twoDays, now, none, -1, codec.ErrExpired},
		{"born expired with a default", twoDays, now, now.Add(-1e6), 0, codec.ErrExpired},
		{"ttl wins", twoDays, now, now.Add(-1e6), time.Second, nil},
		{"too old", hour, now.Add(-2 * time.Hour), none, 0, codec.ErrExpired},
		{"old, but written now", codec.Lifetime{Timestamp: codec.TimestampWrite, Retention: hour.Retention}, now.Add(-2 * time.Hour), none, 0, nil},
	} {
		_, err := tt.life.Micros(now, tt.event, tt.expiresAt, tt.ttl)
		assert.Is(t, tt.want, err, tt.name)
	}
}

func TestRetentionCovers(t *testing.T) {
	check(t, "covers what it keeps", func(t *rapid.T) {
		a, b := rules(2).Draw(t, "a").Retention(0), rules(2).Draw(t, "b").Retention(0)
		now := date("2021-03-05T12:00:00Z")
		us := codec.Micros(now) - 1000*rapid.Int64Range(0, 6_000_000).Draw(t, "age")
		rank := rapid.IntRange(1, 10).Draw(t, "rank")
		if a.Covers(b) && b.Alive(now, us, rank) && !a.Alive(now, us, rank) {
			t.Fatalf("%v covers %v, but not the cell %d of rank %d", a, b, us, rank)
		}
		if !a.Covers(a) {
			t.Fatalf("%v does not cover itself", a)
		}
	})
	month, week := maxAge(30*day).Retention(0), maxAge(7*day).Retention(0)
	if !month.Covers(week) || week.Covers(month) || week.Covers(nil) || !codec.Retention(nil).Covers(week) {
		t.Error("30d covers 7d, for ever covers both")
	}
}

// A read must count newer cells only if a cell may become too old for one term within
// an hour and another term may still keep it.
func TestRetentionTurns(t *testing.T) {
	now := date("2021-03-05T12:00:00Z")
	both := allOf(maxAge(day), maxVersions(3)).Retention(0)
	for _, tt := range []struct {
		r        codec.Retention
		from, to time.Duration // before now
		want     bool
	}{
		{both, 2 * day, 0, true},
		{both, day, 0, true},
		{both, day - time.Hour + 1, 0, true},
		{both, day - time.Hour, 0, false},
		{both, 3 * day, day, false},
		{both, 3 * day, day - 1, true},
		{maxAge(day).Retention(0), 3 * day, 0, false},
		{maxVersions(3).Retention(0), 3 * day, 0, false},
		{nil, 3 * day, 0, false},
	} {
		if got := tt.r.Turns(now, now.Add(-tt.from), now.Add(-tt.to), time.Hour); got != tt.want {
			t.Errorf("%v from %v to %v ago: %v, want %v", tt.r, tt.from, tt.to, got, tt.want)
		}
	}
}

// The oldest live event is that of the family that keeps events longest.
func TestOldestOfFamilies(t *testing.T) {
	now := date("2021-03-05T12:00:00Z")
	age := func(age time.Duration) codec.Lifetime {
		return codec.Lifetime{Retention: codec.Retention{{MaxAge: age}}}
	}
	hour, two := now.Add(-time.Hour), now.Add(-2*day)
	for _, test := range []struct {
		name     string
		families []codec.Lifetime
		oldest   time.Time
		bounded  bool
	}{
		{"none", nil, time.Time{}, false},
		{"one", []codec.Lifetime{age(time.Hour)}, hour, true},
		{"the longer one first", []codec.Lifetime{age(2 * day), age(time.Hour)}, two, true},
		{"the longer one last", []codec.Lifetime{age(time.Hour), age(2 * day)}, two, true},
		{"one that keeps all", []codec.Lifetime{age(time.Hour), {}}, time.Time{}, false},
	} {
		oldest, bounded := codec.Oldest(now, test.families, func(l *codec.Lifetime) codec.Lifetime { return *l })
		if !oldest.Equal(test.oldest) || bounded != test.bounded {
			t.Errorf("%s: %v, %v; want %v, %v", test.name, oldest, bounded, test.oldest, test.bounded)
		}
	}
}
