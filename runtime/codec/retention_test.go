package codec_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func maxAge(d time.Duration) codec.GCRule { return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: d} }

func maxVersions(n int) codec.GCRule { return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: n} }

func anyOf(rules ...codec.GCRule) codec.GCRule {
	return codec.GCRule{Kind: codec.GCUnion, Rules: rules}
}

func allOf(rules ...codec.GCRule) codec.GCRule {
	return codec.GCRule{Kind: codec.GCIntersection, Rules: rules}
}

var never codec.GCRule

// rules draws GC rules, nested up to the given depth.
func rules(depth int) *rapid.Generator[codec.GCRule] {
	return rapid.Custom(func(t *rapid.T) codec.GCRule {
		last := codec.GCIntersection
		if depth == 0 {
			last = codec.GCMaxVersions
		}
		kind := codec.GCKind(rapid.IntRange(int(codec.GCNone), int(last)).Draw(t, "kind"))
		r := codec.GCRule{Kind: kind}
		switch kind {
		case codec.GCMaxAge:
			unit := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, time.Second}).Draw(t, "unit")
			r.MaxAge = unit * time.Duration(rapid.IntRange(1, 5000).Draw(t, "age"))
		case codec.GCMaxVersions:
			r.MaxVersions = rapid.IntRange(1, 8).Draw(t, "versions")
		case codec.GCUnion, codec.GCIntersection:
			r.Rules = rapid.SliceOfN(rules(depth-1), 0, 3).Draw(t, "rules")
		}
		return r
	})
}

// collects implements Bigtable's documentation: it reports whether a rule collects a
// cell of the given age and rank; the newest cell of a column has rank 1.
func collects(r codec.GCRule, age time.Duration, rank int) bool {
	collected := func(sub codec.GCRule) bool { return collects(sub, age, rank) }
	switch r.Kind {
	case codec.GCMaxAge:
		return age > r.MaxAge
	case codec.GCMaxVersions:
		return rank > r.MaxVersions
	case codec.GCUnion:
		return slices.ContainsFunc(r.Rules, collected)
	case codec.GCIntersection:
		return len(r.Rules) > 0 && !slices.ContainsFunc(r.Rules, func(sub codec.GCRule) bool { return !collected(sub) })
	}
	return false
}

// The windows of a retention contain exactly the cells that the rule does not collect,
// whatever garbage collection has already removed, of the milliseconds that a range begins and ends in.
func TestRetentionMirrorsGC(t *testing.T) {
	testlong.Checks(t, 100)
	check(t, "windows and rank are the complement of the rule", func(t *rapid.T) {
		rule := rules(3).Draw(t, "rule")
		now := rapid.SampledFrom([]time.Time{date("2021-03-05T12:00:00.123456789Z"), time.Unix(3, 0).UTC()}).Draw(t, "now")
		around := func(name string) time.Time {
			d := time.Duration(rapid.IntRange(-6_000_000, 1_000_000).Draw(t, name)) * time.Microsecond
			return now.Add(d)
		}
		from, to := around("from"), around("to")
		if rapid.Bool().Draw(t, "all") {
			from, to = time.Time{}, date("9999-12-31")
		}
		var stamps []int64 // of one column, newest first
		for _, ms := range rapid.SliceOfNDistinct(rapid.Int64Range(-6000, 1000), 0, 10, rapid.ID[int64]).Draw(t, "cells") {
			if us := codec.Micros(now) + ms*1000; us >= 0 {
				stamps = append(stamps, us)
			}
		}
		slices.Sort(stamps)
		slices.Reverse(stamps)
		maxCells := rapid.SampledFrom([]int64{0, int64(len(stamps)), 10}).Draw(t, "maxCells")

		retention := rule.Retention(maxCells)
		windows := retention.Windows(now, from, to)
		for i, w := range windows {
			if w.From%1000 != 0 || w.To%1000 != 0 || w.To > 0 && w.From >= w.To || i > 0 && w.To != windows[i-1].From {
				t.Fatalf("windows are not adjacent milliseconds, the newest first: %v", windows)
			}
		}
		for i, us := range stamps {
			at := codec.FromMicros(us)
			living := !collects(rule, now.Sub(at), i+1)
			want := living && from.Before(to) && !at.Before(codec.Truncate(from, time.Millisecond)) && at.Before(codec.Ceil(to, time.Millisecond))
			n := 0
			for _, w := range windows {
				if w.From <= us && (w.To == 0 || us < w.To) && (w.Versions == 0 || i < w.Versions) {
					n++
				}
			}
			if n > 1 || (n == 1) != want {
				t.Fatalf("cell %d at %v is in %d windows, alive %v\nrule %s\nretention %v\nwindows %v",
					i+1, at, n, living, rule, retention, windows)
			}
			if retention.Alive(now, us, i+1) != living {
				t.Fatalf("cell %d at %v is alive: %v\nrule %s\nretention %v", i+1, at, !living, rule, retention)
			}
			if (us >= retention.Horizon(now)) != retention.Alive(now, us, 1) {
				t.Fatalf("the newest cell at %v: horizon %d\nretention %v", at, retention.Horizon(now), retention)
			}
			for _, rank := range []int{1, i + 1, math.MaxInt32} {
				// Until then the cell is live; with newest set only at rank 1, else at
				// any rank.
				fresh := retention.Fresh(us, rank == 1)
				if now.Before(fresh) && !retention.Alive(now, us, rank) {
					t.Fatalf("cell at %v of rank %d is dead before %v\nretention %v", at, rank, fresh, retention)
				}
				if rank != i+1 && retention.Alive(now, us, rank) && now.After(fresh) {
					t.Fatalf("cell at %v of rank %d is alive after %v\nretention %v", at, rank, fresh, retention)
				}
			}
			if since, ok := retention.Since(now); ok && living && at.Before(since) {
				t.Fatalf("cell at %v, alive since %v", at, since)
			}
		}
	})
	check(t, "a retention is minimal", func(t *rapid.T) {
		retention := rules(3).Draw(t, "rule").Retention(0)
		implies := func(limit, other int64) bool { return other == 0 || limit != 0 && limit <= other }
		for i, a := range retention {
			if a == (codec.Term{}) {
				t.Fatalf("%v keeps everything", retention)
			}
			for j, b := range retention {
				if i != j && implies(int64(a.MaxAge), int64(b.MaxAge)) && implies(int64(a.Versions), int64(b.Versions)) {
					t.Fatalf("%v: %v implies %v", retention, a, b)
				}
			}
		}
	})
	check(t, "a normalised rule has the same retention", func(t *rapid.T) {
		rule := rules(3).Draw(t, "rule")
		if d := cmp.Diff(rule.Retention(5), rule.Normalize().Retention(5)); d != "" {
			t.Fatal(d)
		}
	})
}

// TestWindows checks the edges of what TestRetentionMirrorsGC draws.
func TestWindows(t *testing.T) {
	now := date("2021-03-05T12:00:00.0005Z")
	month := codec.CeilMicros(now.Add(-30 * day))
	us := func(s string) int64 { return codec.Micros(date(s)) }
	newest := codec.Retention{{MaxAge: 30 * day}, {Versions: 1}}
	aged := codec.Retention{{MaxAge: 30 * day}}
	for _, tt := range []struct {
		name     string
		r        codec.Retention
		from, to time.Time
		want     []codec.Window
	}{
		{"far future", aged, time.Time{}, date("9999-12-31"), []codec.Window{{From: month, To: us("9999-12-31")}}},
		{"past all timestamps", newest, time.Time{}, time.Unix(1<<60, 0), []codec.Window{{From: month}, {To: month, Versions: 1}}},
		{"from past all timestamps", nil, time.Unix(1<<60, 0), time.Unix(1<<61, 0), nil},
		{"before 1970", nil, time.Time{}, time.Unix(0, 0), nil},
		{"an end in the first millisecond", nil, time.Unix(0, 0), time.Unix(0, 500_000), []codec.Window{{From: 0, To: 1000}}}, // 0 means unbounded
		{"zero times", nil, time.Time{}, time.Time{}, nil},
		{"empty", nil, now, now, nil},
	} {
		if d := cmp.Diff(tt.want, tt.r.Windows(now, tt.from, tt.to)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// Rules are printed as the client does, but for the unit of short ages. Package setup compares their sizes with those
// that it sends.
func TestGCRuleText(t *testing.T) {
	for want, rule := range map[string]codec.GCRule{
		"never":                          never,
		"age() > 30d":                    maxAge(30 * day),
		"age() > 90m":                    maxAge(90 * time.Minute),
		"age() > 1s":                     maxAge(time.Second),
		"age() > 1.5s":                   maxAge(1500 * time.Millisecond),
		"age() > 5µs":                    maxAge(5 * time.Microsecond),
		"(age() > 7d || versions() > 3)": anyOf(maxAge(week), maxVersions(3)),
		"(age() > 26h && never)":         allOf(maxAge(26*time.Hour), never),
		"(versions() > 1 && (never))":    allOf(maxVersions(1), anyOf(never)),
	} {
		if rule.String() != want {
			t.Errorf("got %s, want %s", rule, want)
		}
	}
}

func TestGCRuleNormalize(t *testing.T) {
	a, b, c := maxAge(day), maxAge(week), maxVersions(3)
	for _, tt := range []struct{ rule, want codec.GCRule }{
		{a, a},
		{codec.GCRule{Kind: codec.GCMaxAge, MaxAge: day, MaxVersions: 7}, a},
		{anyOf(c, b, a), anyOf(a, b, c)},
		{anyOf(c, anyOf(a, b), a), anyOf(a, b, c)},
		{anyOf(c, allOf(a, b), a), anyOf(a, c, allOf(a, b))},
		{anyOf(anyOf(a)), a},
		{anyOf(a, a), a},
		{anyOf(a, never), a},
		{allOf(a, never), never},
		{anyOf(), never},
		{allOf(), never},
	} {
		if d := cmp.Diff(tt.want, tt.rule.Normalize()); d != "" {
			t.Errorf("%s: %s", tt.rule, d)
		}
		if !tt.rule.Equal(tt.want) || tt.rule.Equal(anyOf(tt.rule, maxVersions(1))) != tt.want.Equal(anyOf(tt.want, maxVersions(1))) {
			t.Errorf("%s and %s", tt.rule, tt.want)
		}
	}
	if a.Equal(b) || a.Equal(c) || anyOf(a, c).Equal(allOf(a, c)) {
		t.Error("different rules are equal")
	}
	check(t, "the same once and twice, and for any order", func(t *rapid.T) {
		rule := rules(3).Draw(t, "rule")
		once := rule.Normalize()
		if d := cmp.Diff(once, once.Normalize()); d != "" {
			t.Fatal(d)
		}
		shuffled := rule
		shuffled.Rules = slices.Clone(rule.Rules)
		slices.Reverse(shuffled.Rules)
		if !shuffled.Equal(rule) {
			t.Fatalf("%s and %s", rule, shuffled)
		}
	})
}
