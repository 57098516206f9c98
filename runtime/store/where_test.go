package store

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// gauge is an event with a field of each kind of condition.
type gauge struct {
	Series string
	Time   time.Time
	Level  int64
	Score  *float64
}

type gaugeColumns struct {
	Series []string
	Time   []time.Time
	Level  []int64
	Score  []*float64
}

// gauges returns a mapping of gauges.
func gauges() *mappingOf[gauge] {
	columns := columnsByName[gauge, gaugeColumns](SeriesPart(0, stringSeries), TimePart(1),
		RequiredColumn(2, "level", codec.Binary.Int64), OptionalColumn(3, "score", codec.Binary.Float64))
	segments := []codec.Segment{{Name: "series"}, {Kind: codec.TimeSegment}}
	return newMappingOf(columns, mappingOf[gauge]{
		Table: Table{ID: "gauges", Families: []Family{{Name: "f"}}}, Pattern: codec.SingleUnserialized,
		Key:       codec.Key{Delimiter: "#", Segments: segments, Time: codec.TimeFormat{Kind: codec.UnixMillis}},
		Precision: time.Millisecond, Check: func(*gauge) error { return nil },
	})
}

// TestWhereIsRefused reads with bounds that no event can be compared to, and continues a page with other ones.
func TestWhereIsRefused(t *testing.T) {
	l, count := gauges(), counts{}
	bt := serve(t, l)
	w := newWriterOf(bt.Client, []*mappingOf[gauge]{l}, writeAt(0))
	for i := range 5 {
		must(t, w.Write(t.Context(), gauge{Series: "s0", Time: at(i), Level: int64(i)}))
	}
	r := newReaderOf(counted(bt.Client, &count), l, clockAt(200_000))
	nan, zero := math.NaN(), 0.0
	query := func(f Field) *testQuery[gauge] {
		return &testQuery[gauge]{Name: "Q", Spans: spansOf(l), Conditions: []codec.Condition{{Field: string(f)}}}
	}
	read := func(q *testQuery[gauge], o ReadOptions) error {
		return firstError(readOf(t.Context(), r, q, seriesOf(gauge{Series: "s0"}), at(0), at(200_000), o))
	}
	for name, test := range map[string]struct {
		q    *testQuery[gauge]
		want error
	}{
		"no values":     {query("level"), ErrBounds},
		"inverted":      {query("level").Where(gauge{Level: 2}, gauge{Level: 1}), ErrBounds},
		"NaN":           {query("score").Where(gauge{Score: &nan}, gauge{Score: &zero}), ErrBounds},
		"to NaN":        {query("score").Where(gauge{Score: &zero}, gauge{Score: &nan}), ErrBounds},
		"no end":        {query("score").Where(gauge{Score: &zero}, gauge{}), ErrBounds},
		"unknown field": {query("levels").Where(gauge{}, gauge{}), ErrNoField},
	} {
		assert.Is(t, test.want, read(test.q, ReadOptions{}), name)
	}
	must(t, read(query("level").Where(gauge{Level: 2}, gauge{Level: 4}), ReadOptions{}))
	same(t, counts{1, 2}, count)
	page := &Page{Size: 1}
	for _, high := range []int64{5, 5, 4} {
		err := read(query("level").Where(gauge{Level: -3}, gauge{Level: high}), ReadOptions{Page: page})
		if _, other := errors.AsType[*TokenError](err); other != (high == 4) || !other && err != nil {
			t.Errorf("below %d: %v", high, err)
		}
		page.Token = page.Next
	}
}
