package window

import (
	"errors"
	"slices"
	"time"
)

// ErrPixels is the error for a chart without pixels.
var ErrPixels = errors.New("a chart must have at least 1 pixel")

// Point is a value of a chart.
type Point struct {
	Time  time.Time
	Value float64
}

// Points reduces the values of a field to those that a chart of n pixels shows: of each pixel, the first, the lowest,
// the highest and the last value. A line through them lights the same pixels as a line through all values (M4, "M4: A
// Visualization-Oriented Time Series Data Aggregation", VLDB 2014). It holds 4 n points.
type Points struct {
	from, to time.Time
	n        int64
	pixel    int64
	open     [4]Point // first, lowest, highest, last
	any      bool
	out      []Point
}

// NewPoints returns a reduction of values with from <= time < to to n pixels, at least 1.
func NewPoints(from, to time.Time, n int) *Points {
	return &Points{from: from, to: to, n: int64(max(n, 1))}
}

// Add adds a value. Times must not descend. NaN is left out: lines have a gap there.
func (p *Points) Add(at time.Time, value float64) {
	if value != value {
		return
	}
	v := Point{at, value}
	if pixel := p.pixelOf(at); !p.any || pixel != p.pixel {
		p.close()
		p.pixel, p.any = pixel, true
		p.open = [4]Point{v, v, v, v}
		return
	}
	if value < p.open[1].Value {
		p.open[1] = v
	}
	if value > p.open[2].Value {
		p.open[2] = v
	}
	p.open[3] = v
}

// pixelOf returns the pixel of a time.
func (p *Points) pixelOf(at time.Time) int64 {
	share := float64(at.Sub(p.from)) / float64(max(p.to.Sub(p.from), 1))
	return min(max(int64(share*float64(p.n)), 0), p.n-1)
}

// close appends the points of the open pixel, in order of time, each once.
func (p *Points) close() {
	if !p.any {
		return
	}
	middle := p.open[1:3]
	if middle[1].Time.Before(middle[0].Time) {
		middle[0], middle[1] = middle[1], middle[0]
	}
	begin := len(p.out)
	p.out = append(p.out, p.open[:]...)
	p.out = p.out[:begin+len(slices.Compact(p.out[begin:]))]
}

// All returns the points in order of time; none if p is nil. No value may be added after it.
func (p *Points) All() []Point {
	if p == nil {
		return nil
	}
	p.close()
	p.any = false
	return p.out
}

// Chart contains the values of a field of a series, as far as a chart shows them.
type Chart[S any] struct {
	Window
	Series S

	points *Points
}

// Points returns the values; see [Points].
func (c *Chart[S]) Points() []Point { return c.points.All() }

// Charts returns the description of charts of a field of n pixels, to fold with the width [Whole]: each is a [Chart]. It
// returns false if the field is no number. Charts are not combined, so they have no groups.
func Charts(s *Spec, field string, from, to time.Time, n int) (*Spec, bool) {
	i := slices.IndexFunc(s.parts, func(p Part) bool { return p.field == field && p.numbers != nil })
	if i < 0 {
		return nil, false
	}
	return &Spec{new: s.chart, name: s.name, parts: []Part{chartPart(&s.parts[i], from, to, n)}}, true
}

// PointsOf returns the values of a chart, given a reference to it.
func PointsOf(chart *Summary) []Point { return (*chart.fields[0].(**Points)).All() }

// chartPart returns the part of a chart of a field: its statistics are a **Points.
func chartPart(of *Part, from, to time.Time, n int) Part {
	return Part{
		field: of.field,
		slice: of.slice,
		add: func(s any, times []time.Time, values any, begin, end int) {
			points := s.(**Points)
			if *points == nil {
				*points = NewPoints(from, to, n)
			}
			of.numbers(times, values, begin, end, (*points).Add)
		},
		copy: func(to, from any) { *to.(**Points) = *from.(**Points) },
	}
}
