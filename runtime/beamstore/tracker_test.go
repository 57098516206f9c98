package beamstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/btgen-dev/btgen/runtime/store"
)

// However often a range is split while its rows are claimed, each row is claimed exactly once.
func TestSplitsLoseNothing(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		keys := randomKeys(random)
		pending := []store.KeyRange{{}}
		var claimed []string
		for splits := 0; len(pending) > 0; {
			tr := &tracker{within: pending[0]}
			pending = pending[1:]
			whole := tr.within
			for _, key := range keys {
				if !whole.Contains(key) {
					continue
				}
				for splits < 50 && random.IntN(3) == 0 {
					splits++
					if rest := split(t, tr, []float64{0, 0.5, 1, random.Float64()}[random.IntN(4)]); rest != nil {
						pending = append(pending, *rest)
					}
				}
				if !tr.TryClaim(key) {
					break
				}
				claimed = append(claimed, key)
			}
			if !tr.IsDone() {
				tr.TryClaim(rangeEnd{})
			}
			if tr.err != nil || !tr.IsDone() {
				t.Fatalf("seed %d: %+v", seed, tr)
			}
		}
		slices.Sort(claimed)
		if !slices.Equal(claimed, keys) {
			t.Fatalf("seed %d: claimed %q of %q", seed, claimed, keys)
		}
	}
}

// randomKeys returns distinct keys in order, of which many have a common prefix.
func randomKeys(random *rand.Rand) []string {
	var keys []string
	for range random.IntN(40) {
		key := []byte("common#")[:random.IntN(8)]
		for range 1 + random.IntN(3) {
			key = append(key, []byte{0, 1, '#', 'a', 0xfe, 0xff}[random.IntN(6)])
		}
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// split splits a tracker, checks that both parts are the whole, and returns the residual.
func split(t *testing.T, tr *tracker, fraction float64) *store.KeyRange {
	before := tr.within
	primary, residual, err := tr.TrySplit(fraction)
	if err != nil || primary != tr.GetRestriction() {
		t.Fatalf("split of %+v: %v, error %v", before, primary, err)
	}
	if residual == nil {
		if tr.within != before {
			t.Fatalf("%+v became %+v without a residual", before, tr.within)
		}
		return nil
	}
	rest := residual.(store.KeyRange)
	if rest.Start != tr.within.End || tr.within.Start != before.Start || rest.End != before.End || rest.Start <= tr.claimed {
		t.Fatalf("%+v was split into %+v and %+v after row %q", before, tr.within, rest, tr.claimed)
	}
	if fraction == 0 && !tr.IsDone() {
		t.Fatalf("%+v is not done after a checkpoint", tr)
	}
	return &rest
}

// A split of evenly spread keys divides them as asked, and progress is reported.
func TestSplitsAreEven(t *testing.T) {
	tr := &tracker{within: store.KeyRange{Start: "sensor#0000", End: "sensor#9999"}}
	tr.TryClaim("sensor#2000")
	done, remaining := tr.GetProgress()
	if done < 0.1 || done > 0.3 || done+remaining != 1 {
		t.Errorf("progress %g and %g", done, remaining)
	}
	_, residual, _ := tr.TrySplit(0.5)
	if at := residual.(store.KeyRange).Start; at < "sensor#55" || at > "sensor#65" {
		t.Errorf("split at %q", at)
	}
}

// Claims out of order are errors, because rows would be lost.
func TestInvalidClaims(t *testing.T) {
	for name, keys := range map[string][]string{
		"before the range": {"a"},
		"backwards":        {"d", "c"},
		"twice":            {"d", "d"},
		"after the end":    {"d", "z", "zz"},
	} {
		tr := &tracker{within: store.KeyRange{Start: "b", End: "x"}}
		for _, key := range keys {
			tr.TryClaim(key)
		}
		if tr.GetError() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUnionOfRanges(t *testing.T) {
	all := []store.KeyRange{{Start: "m", End: "n"}, {Start: "a", End: "c"}, {Start: "b", End: "d"}, {Start: "n", End: "o"}, {Start: "x"}, {Start: "z", End: "zz"}}
	want := []store.KeyRange{{Start: "a", End: "d"}, {Start: "m", End: "o"}, {Start: "x"}}
	if got := union(all); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range []struct {
		a, b store.KeyRange
		want string
	}{
		{store.KeyRange{}, store.KeyRange{Start: "b", End: "c"}, `{"b" "c"} true`},
		{store.KeyRange{Start: "a", End: "b"}, store.KeyRange{Start: "b"}, `{"b" "b"} false`},
		{store.KeyRange{Start: "a"}, store.KeyRange{Start: "b"}, `{"b" ""} true`},
	} {
		got, some := intersect(c.a, c.b)
		if text := fmt.Sprintf("%q %t", got, some); text != c.want {
			t.Errorf("intersection of %q and %q: %s", c.a, c.b, text)
		}
	}
}
