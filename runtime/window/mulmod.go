package window

import "math/bits"

// mulMod returns a*b modulo m, from 0 to m-1, without overflow. b and m are positive.
func mulMod(a, b, m int64) int64 {
	negative := a < 0
	if negative {
		a = -a
	}
	hi, lo := bits.Mul64(uint64(a)%uint64(m), uint64(b)%uint64(m))
	_, rest := bits.Div64(hi, lo, uint64(m))
	if negative && rest > 0 {
		rest = uint64(m) - rest
	}
	return int64(rest)
}
