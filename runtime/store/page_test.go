package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
)

// TestPagesAreCheap counts what pages of a table with one row per event receive: each row about once.
func TestPagesAreCheap(t *testing.T) {
	l := singles()
	r, c := stored(t, l, 1, numbered(1000)...)
	for _, q := range []*testQuery[sample]{nil, all("s")} {
		if q == nil {
			q = wholeOf(r)
		}
		*c = counts{}
		events, token := 0, ""
		for more := true; more; more = token != "" {
			page := &Page{Size: 50, Token: token}
			events += len(made(t, readOf(t.Context(), r, q, seriesOf(sample{Series: "s"}), at(0), at(1000), ReadOptions{Page: page}), sampleText))
			token = page.Next
		}
		if events != 1000 || c.Cells > 1050 || c.Requests > 22 {
			t.Errorf("%d events, %+v", events, *c)
		}
	}
}

// TestTokenOfAnotherRead uses tokens where they do not belong.
func TestTokenOfAnotherRead(t *testing.T) {
	l := days()
	r, _ := stored(t, l, 3600, numbered(20)...)
	ask := func(r *readerOf[sample], q *testQuery[sample], series string, to int, o ReadOptions) error {
		return firstError(readOf(t.Context(), r, q, seriesOf(sample{Series: series}), at(0), at(to), o))
	}
	first := &Page{Size: 3}
	must(t, ask(r, wholeOf(r), "s", 86400, ReadOptions{Page: first}))
	token := first.Next
	next := func() *Page { return &Page{Size: 3, Token: token} }
	must(t, ask(r, wholeOf(r), "s", 86400, ReadOptions{Page: next()}))
	other := *l
	other.Table.Layout = "another layout"
	changed := readerOf[sample]{&Reader{options: r.reader.options, mapping: other.untyped(), shape: r.reader.shape, table: r.reader.table, whole: r.reader.whole, gathered: r.reader.gathered}}
	damaged := []byte(token)
	damaged[10] ^= 1
	for what, err := range map[string]error{
		"query":     ask(r, all("s"), "s", 86400, ReadOptions{Page: next()}),
		"values":    ask(r, wholeOf(r), "t", 86400, ReadOptions{Page: next()}),
		"range":     ask(r, wholeOf(r), "s", 86399, ReadOptions{Page: next()}),
		"order":     ask(r, wholeOf(r), "s", 86400, ReadOptions{NewestFirst: true, Page: next()}),
		"layout":    ask(&changed, wholeOf(r), "s", 86400, ReadOptions{Page: next()}),
		"damaged":   ask(r, wholeOf(r), "s", 86400, ReadOptions{Page: &Page{Size: 3, Token: string(damaged)}}),
		"cut off":   ask(r, wholeOf(r), "s", 86400, ReadOptions{Page: &Page{Size: 3, Token: token[:20]}}),
		"no base64": ask(r, wholeOf(r), "s", 86400, ReadOptions{Page: &Page{Size: 3, Token: "?"}}),
	} {
		asError[*TokenError](t, err, what)
	}
	for _, o := range []ReadOptions{{Page: &Page{}}, {Page: &Page{Size: 1}, LatestOnly: true}} {
		assert.Is(t, ErrPage, ask(r, all("s"), "s", 86400, o), o)
	}
}

// TestPagesOfSeveralClasses ends pages between two events of one time with different classes: both come once, and not
// again if they are written again with another class.
func TestPagesOfSeveralClasses(t *testing.T) {
	for _, of := range []func() *mappingOf[sample]{days, singles} {
		l, other := classed(of()), classed(of())
		other.Table.Families[0].Name = "renamed"
		bt := newBigtable(t, l, other)
		w, another := newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(10)), newWriterOf(bt.Client, []*mappingOf[sample]{other}, writeAt(10))
		event := func(second, class int) sample {
			return sample{Series: "s", Time: at(second), Value: uint64(second), Class: class}
		}
		for _, newestFirst := range []bool{false, true} {
			must(t, w.WriteAll(t.Context(), []sample{event(1, 2), event(2, 1), event(3, 1)}))
			must(t, another.Write(t.Context(), event(2, 2)))
			var got []string
			for token, more := "", true; more; {
				page := &Page{Size: 1, Token: token}
				for e, err := range newReaderOf(bt.Client, l, clockAt(10)).Read(t.Context(), seriesOf(sample{Series: "s"}), at(0), at(10), ReadOptions{NewestFirst: newestFirst, Page: page}) {
					must(t, err)
					got = append(got, fmt.Sprint(e.Value, ":", e.Class))
					if e.Value != 2 {
						must(t, w.Write(t.Context(), event(int(e.Value), 3-e.Class)))
					}
				}
				token, more = page.Next, page.Next != ""
			}
			want := "[1:2 2:1 2:2 3:1]"
			if newestFirst {
				want = "[3:1 2:2 2:1 1:2]"
			}
			assert.Same(t, want, fmt.Sprint(got), l.Table.ID, newestFirst)
		}
	}
}

// TestRowsSinceThePlaceOfAPage compares the rows that a page requests with the definition.
func TestRowsSinceThePlaceOfAPage(t *testing.T) {
	keys := []string{"a", "a#1", "b", "b#1", "b#2", "b\xff", "c", "\xff", "\xff\xff"}
	has := func(all []codec.Rows, key string) bool {
		return slices.ContainsFunc(all, func(r codec.Rows) bool {
			if r.Keys != nil {
				return slices.Contains(r.Keys, key)
			}
			return r.Start <= key && (r.End == "" || key < r.End)
		})
	}
	for _, begin := range append([]string{"b#", "aa"}, keys...) {
		for _, reverse := range []bool{false, true} {
			for _, rows := range [][]codec.Rows{
				{{Keys: keys, Reverse: reverse}}, {{Reverse: reverse}}, {{Start: "a#", End: "b#2", Reverse: reverse}},
				{{Start: "c", Reverse: reverse}, {Start: "a", End: "b", Reverse: reverse}}, {{Keys: []string{"a#1"}, Reverse: reverse}},
			} {
				left := request.Since(rows, begin)
				for _, key := range keys {
					precedes := key < begin
					if reverse {
						precedes = key > begin && !strings.HasPrefix(key, begin)
					}
					if want := has(rows, key) && !precedes; has(left, key) != want {
						t.Errorf("%+v since %q, reverse %v: has %q: %v", rows, begin, reverse, key, !want)
					}
				}
			}
		}
	}
}
