package chart

import (
	"math"
	"strconv"
	"strings"
)

// valueScale is the vertical axis of a panel.
type valueScale struct {
	low, high float64
	ticks     []valueTick
}

// valueTick is a labeled value.
type valueTick struct {
	value float64
	label string
}

// at returns the height of a value, from 0 for the lowest to 1. It cannot overflow.
func (s *valueScale) at(v float64) float64 {
	return (v/2 - s.low/2) / (s.high/2 - s.low/2)
}

// tiny is the smallest difference of values that is drawn.
const tiny = 1e-290

// valuesOf returns a scale for a range of finite values, with about n ticks, but at least two where
// numbers are that close.
func valuesOf(low, high float64, n int) *valueScale {
	largest := max(math.Abs(low), math.Abs(high))
	pad := (high/2 - low/2) * 0.08
	if high/2-low/2 <= max(largest*1e-14, tiny) {
		if pad = largest * 0.05; pad <= tiny {
			pad = 1
		}
	}
	s := &valueScale{low: finite(low - pad), high: finite(high + pad)}
	for more := max(n, 2); len(s.ticks) < 2 && more < 4*n+8; more++ {
		s.place(more)
	}
	return s
}

// place sets about n ticks.
func (s *valueScale) place(n int) {
	step := roundUp((s.high/2 - s.low/2) / float64(n) * 2)
	first := math.Ceil(s.low / step)
	s.ticks = nil
	for i := range n + 2 {
		v := (first + float64(i)) * step
		if v > s.high {
			return
		}
		s.ticks = append(s.ticks, valueTick{v, tickLabel(v, step, max(math.Abs(s.low), math.Abs(s.high)))})
	}
}

// finite returns the finite number nearest to v.
func finite(v float64) float64 { return max(-math.MaxFloat64, min(v, math.MaxFloat64)) }

// roundUp rounds a positive number up to 1, 2 or 5 times a power of ten.
func roundUp(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if x <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// Values from largePower on, and those below smallPower, are in scientific notation: 1.5e9.
const (
	largePower = 7
	smallPower = -4
)

// tickLabel formats a multiple of step, with as many digits as ticks need to differ.
func tickLabel(v, step, largest float64) string {
	power, stepPower := exponent(largest), exponent(step)
	switch {
	case v == 0:
		return "0"
	case power >= largePower || power < smallPower:
		return scientific(v, max(exponent(v)-stepPower, 0))
	}
	return grouped(strconv.FormatFloat(v, 'f', max(-stepPower, 0), 64))
}

// exponent returns the power of ten of a number; 0 for 0.
func exponent(v float64) int {
	if v == 0 {
		return 0
	}
	return int(math.Floor(math.Log10(math.Abs(v)) + 1e-9))
}

// number formats a value with six significant digits, or all before the decimal point.
func number(v float64) string {
	power := exponent(v)
	if v != 0 && (power >= largePower || power < smallPower) {
		return scientific(v, 5)
	}
	text := strconv.FormatFloat(v, 'f', max(5-power, 0), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return grouped(text)
}

// scientific formats a number with up to a number of decimals: 1.5e9.
func scientific(v float64, decimals int) string {
	digits, power, _ := strings.Cut(strconv.FormatFloat(v, 'e', min(decimals, 16), 64), "e")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	n, _ := strconv.Atoi(power) // always a number
	return digits + "e" + strconv.Itoa(n)
}

// grouped inserts thousands separators.
func grouped(text string) string {
	whole, rest, _ := strings.Cut(text, ".")
	begin := 0
	if strings.HasPrefix(whole, "-") {
		begin = 1
	}
	for i := len(whole) - 3; i > begin; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest == "" {
		return whole
	}
	return whole + "." + rest
}
