package store

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestDeepPagesOfSeries lists series in cheap pages, although the last series of each page, and the next, are deleted.
func TestDeepPagesOfSeries(t *testing.T) {
	l := singles()
	bt := newBigtable(t, l)
	n, size := testlong.Pick(500, 20_000), testlong.Pick(50, 1000)
	var samples []sample
	for i := range n {
		samples = append(samples, sample{Series: fmt.Sprintf("s%06d", i), Time: at(0)})
	}
	w := newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(1000))
	must(t, w.WriteAll(t.Context(), samples))
	c := &counts{}
	r := newReaderOf(counted(bt.Client, c), l, clockAt(1000))
	page, last := &Page{Size: size}, sample{}
	for more := true; more; more = page.Token != "" {
		*c = counts{}
		n := len(samples)
		for s, err := range seriesReadOf(t.Context(), r, all("s"), seriesOf(sample{}), at(0), at(100+n), SeriesOptions{Page: page}) {
			must(t, err)
			same(t, samples[0].Series, s)
			last, samples = samples[0], samples[1:]
		}
		if c.Cells > 4*size || c.Requests > 20 {
			t.Fatalf("a page of %d series: %+v", n-len(samples), *c)
		}
		if page.Token = page.Next; len(samples) == 0 {
			continue
		}
		for _, gone := range []sample{last, samples[0]} {
			_, err := w.DeleteAll(t.Context(), seriesOf(gone))
			must(t, err)
		}
		samples = samples[1:]
	}
	same(t, 0, len(samples))
}

// TestTokensOfSeries uses tokens where they do not belong.
func TestTokensOfSeries(t *testing.T) {
	l := singles()
	bt := holding(t, l, 1000, []sample{{Series: "s1", Time: at(0)}, {Series: "s2", Time: at(0)}, {Series: "s3", Time: at(0)}})
	r := newReaderOf(bt.Client, l, clockAt(1000))
	list := func(q *testQuery[sample], page Page) (got []string, next string, err error) {
		for s, err := range seriesReadOf(t.Context(), r, q, seriesOf(sample{}), at(0), at(100), SeriesOptions{Page: &page}) {
			if err != nil {
				return got, page.Next, err
			}
			got = append(got, s)
		}
		return got, page.Next, nil
	}
	got, token, err := list(all("s"), Page{Size: 2})
	must(t, err)
	more, end, err := list(all("s"), Page{Size: 2, Token: token})
	must(t, err)
	same(t, [][]string{{"s1", "s2"}, {"s3"}, {""}}, [][]string{got, more, {end}})
	of := &Page{Size: 1}
	must(t, firstError(readOf(t.Context(), r, all("s"), seriesOf(sample{}), at(0), at(100), ReadOptions{Page: of})))
	raw, err := base64.RawURLEncoding.DecodeString(token)
	must(t, err)
	crafted := func(p pagePlace) string { return p.token(binary.BigEndian.Uint64(raw[1:])) }
	for what, token := range map[string]string{
		"cut off": token[:len(token)-1], "of events": of.Next, "a number": crafted(pagePlace{group: 1}), "no end": crafted(pagePlace{key: "s1", mark: mark{open: true}}),
		"ends before": crafted(pagePlace{key: "s2", mark: mark{open: true, data: []string{"s1"}}}),
	} {
		_, next, err := list(all("s"), Page{Size: 2, Token: token})
		asError[*TokenError](t, err, what)
		assert.Same(t, token, next, what)
	}
	_, _, err = list(all("s1"), Page{Size: 2, Token: token})
	asError[*TokenError](t, err)
	_, _, err = list(all("s"), Page{})
	assert.Is(t, ErrPage, err)
}

// TestSeriesAreSkipped counts about one request and eight rows for each series, or few for small series.
func TestSeriesAreSkipped(t *testing.T) {
	for _, c := range []struct {
		series, rows, mostRequests, mostRows int
	}{
		{30, testlong.Pick(200, 1000), 60, 8 * 30}, {1000, 2, 40, 3000}, {3, 1, 4, 3}, {0, 0, 1, 0},
	} {
		l := singles()
		var samples []sample
		var want []string
		for i := range c.series {
			want = append(want, fmt.Sprintf("s%04d", i))
			for k := range c.rows {
				samples = append(samples, sample{Series: want[i], Time: at(60 * k), Value: uint64(k), Note: make([]byte, 100)})
			}
		}
		samples = append(samples, sample{Series: "r", Time: at(0)}, sample{Series: "t", Time: at(0)})
		now := 60 * (c.rows + 1)
		bt := holding(t, l, now, samples)
		counts := &counts{}
		r := newReaderOf(counted(bt.Client, counts), l, clockAt(now))
		same(t, want, made(t, seriesReadOf(t.Context(), r, all("s"), seriesOf(sample{}), at(0), at(now)), strings.Clone))
		if counts.Requests > c.mostRequests || counts.Cells > c.mostRows {
			t.Errorf("%d series of %d rows: %+v, want at most %d requests and %d rows", c.series, c.rows, *counts, c.mostRequests, c.mostRows)
		}
	}
}
