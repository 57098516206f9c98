package hotspot

import (
	"math"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// writer is a simulated source of events: a series, and a metric where fields are rows.
type writer struct {
	number uint64 // of the series
	metric string
	weight float64 // share of all events
	series []any   // pointers to its values
}

// population adds writers that represent all series of a load to a list: all of them or, of more
// than most, half of that number of the busiest, and one for each of as many stretches of
// the others, which have about equal weights. Ranks are permuted over the series, so that the busiest are not neighbors.
func population(out []writer, l *layout.Layout, t *layout.Table, load layout.Load, seed uint64, most int) []writer {
	metrics := 1
	if t.Metrics() {
		metrics = len(t.Columns)
	}
	n := uint64(load.Series)
	count := min(n, uint64(max(1, most/metrics)))
	step := stride(n, seed)
	total := layout.Harmonic(load.Series, load.Skew)
	head := count
	if count < n {
		head = count / 2
	}
	out = slices.Grow(out, int(count)*metrics)
	for r := range count {
		first, end := r, r+1
		if r >= head {
			first, end = stretch(r-head, count-head, head, n, load.Skew), stretch(r-head+1, count-head, head, n, load.Skew)
		}
		rank := first + mix(r^seed)%(end-first)
		if cycle := combinations(l, t, n, end-first); r >= head && cycle > 1 { // so that all combinations are equally frequent
			rank = first + (r%cycle+cycle-first%cycle)%cycle
		}
		w := writer{number: (mulmod(rank, step, n) + seed) % n, weight: between(first, end, load.Skew) / total / float64(metrics)}
		for m := range metrics {
			if t.Metrics() {
				w.metric = t.Columns[m].Qualifier
			}
			out = append(out, w)
		}
	}
	return out
}

// stretch returns the first rank of one of some stretches of ranks from head to n with equal
// weights. Each has at least one rank.
func stretch(k, of, head, n uint64, skew float64) uint64 {
	if width, longer := (n-head)/of, (n-head)%of; skew == 0 {
		return head + k*width + min(k, longer)
	}
	a, b, part := float64(head)+0.5, float64(n)+0.5, float64(k)/float64(of)
	rank := a * math.Pow(b/a, part)
	if skew != 1 {
		rank = math.Pow((1-part)*math.Pow(a, 1-skew)+part*math.Pow(b, 1-skew), 1/(1-skew))
	}
	if k == of {
		return n
	}
	return min(max(head+k, uint64(rank)), n-(of-k))
}

// combinations returns the number of combinations of the leading values with a cardinality, as
// long as it is at most most.
func combinations(l *layout.Layout, t *layout.Table, series, most uint64) uint64 {
	out := uint64(1)
	for i := range l.Series {
		if n := radix(l, t, i, series); n > 0 {
			if n > most/out {
				break
			}
			out *= n
		}
	}
	return out
}

// between returns the weight of the series with ranks from first to end, exclusive, if that of
// the busiest, which has rank 0, is 1. For a stretch of many, it is the integral around each.
func between(first, end uint64, skew float64) float64 {
	a, b := float64(first), float64(end)
	switch {
	case end-first == 1:
		return math.Pow(b, -skew)
	case skew == 1:
		return math.Log((b + 0.5) / (a + 0.5))
	}
	return (math.Pow(b+0.5, 1-skew) - math.Pow(a+0.5, 1-skew)) / (1 - skew)
}

// stride returns a step through n series that visits each of them once, and far apart from
// those before it: about the golden section of n.
func stride(n, seed uint64) uint64 {
	step := uint64(float64(n)*(math.Sqrt(5)-1)/2) + mix(seed)%(n/64+1)
	for step = max(1, step); gcd(step, n) != 1; step++ {
	}
	return step
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mulmod returns a*b mod n for a, b and n below 2^53.
func mulmod(a, b, n uint64) uint64 {
	out := uint64(0)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			out = (out + a) % n
		}
		a = a * 2 % n
	}
	return out
}

// mix returns a pseudorandom function of x: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// seriesValues returns the values of one of n series.
func seriesValues(l *layout.Layout, t *layout.Table, number, n uint64) []any {
	out := make([]any, len(l.Series))
	for i := range out {
		out[i] = valueOf(l, t, i, number, n)
	}
	return out
}

// valueOf returns a value of one of n series. Values with a cardinality are the digits of its
// number or, beyond those, random; those without one are different in each series.
func valueOf(l *layout.Layout, t *layout.Table, series int, number, n uint64) any {
	f, form, of := &l.Series[series], t.FormOf(series), radix(l, t, series, n)
	if of == 0 {
		return seriesValue(f, form, number, n)
	}
	whole := number
	rest := n // combinations of the values from this one on
	for i := range series {
		if of := radix(l, t, i, n); of > 0 {
			number, rest = number/of, rest/of
		}
	}
	if rest < of && rest < n { // not enough for all values
		return seriesValue(f, form, mix(whole^uint64(series)<<56)%of, of)
	}
	return seriesValue(f, form, number%of, of)
}

// radix returns the number of values of a series value, if it is known.
func radix(l *layout.Layout, t *layout.Table, series int, n uint64) uint64 {
	return uint64(cardinality(l, t, int64(n), series))
}

// seriesValue returns one of some values of a field: consecutive numbers, and strings in no
// order.
func seriesValue(f *layout.Field, form codec.KeyForm, index, of uint64) any {
	random := mix(index ^ uint64(len(f.Name))<<32)
	return sample.NumberedValue(f, form, sample.Numbered{Index: index, Fitting: fitting(index+1, f, form), Random: [2]uint64{random, mix(random)}})
}

// fitting returns a number that a form of a field can hold.
func fitting(n uint64, f *layout.Field, form codec.KeyForm) uint64 {
	if limit := numbers(f, form); limit < 1<<53 {
		return n % uint64(limit)
	}
	return n
}
