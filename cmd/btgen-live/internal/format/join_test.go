package format_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/golden/assert"
)

const rowsOfOneTime = `host,time,value,count,note
a,2026-01-02T03:04:05Z,1,,
b,2026-01-02T03:04:05Z,,1,
a,2026-01-02T03:04:05Z,,2,
x,yesterday,1,,
a,2026-01-02T03:04:05.000Z,,,n
a,2026-01-02T03:04:06Z,5,,
b,2026-01-02T03:04:05Z,,3,
c,2026-01-02T03:04:05Z,,3,
`

// Rows of one series and time are one event, with the last value of each field. Fields that it must have may be in any
// of them.
func TestJoiner(t *testing.T) {
	l, o := resolve(t), format.ReaderOptions{Partial: true}
	j, err := format.NewJoiner(newReader(t, l, "csv", rowsOfOneTime, o), l, o, false)
	must(t, err)
	want := []string{
		`line 2: 2026-01-02T03:04:05Z []interface {}{"a", 1, 2, "n", interface {}(nil), interface {}(nil), "idle"}`,
		"3:1: value: the value is missing",
		`5:3: time: "yesterday" is not a valid timestamp: want a time such as 2021-03-05T12:00:00Z`,
		`line 7: 2026-01-02T03:04:06Z []interface {}{"a", 5, interface {}(nil), interface {}(nil), interface {}(nil), interface {}(nil), "idle"}`,
		"9:1: value: the value is missing",
	}
	assert.Same(t, want, all(j))
	assert.Same(t, format.Replacements{Events: 1, Line: 8, Before: 3}, j.Replaced())
}

// Rows that are too far apart are not joined, and end the reading before one replaces other fields of the other.
func TestJoinerFar(t *testing.T) {
	l, o := resolve(t), format.ReaderOptions{Partial: true}
	for _, tt := range []struct {
		n            int
		last         string
		merges, ends bool
	}{{50_000, ",2", false, false}, {150_000, ",2", false, true}, {150_000, ",2", true, true}, {150_000, "2,2", true, false}, {150_000, "2,", false, false}} {
		var b strings.Builder
		b.WriteString("host,time,value,count\na,2026-01-02T03:04:05Z,1,\n")
		for i := range tt.n {
			fmt.Fprintf(&b, "h%d,2026-01-02T03:04:05Z,1,\n", i)
		}
		b.WriteString("a,2026-01-02T03:04:05Z," + tt.last + "\n")
		j, err := format.NewJoiner(newReader(t, l, "csv", b.String(), o), l, o, tt.merges)
		must(t, err)
		for err == nil {
			_, _, err = j.Next()
		}
		begins := fmt.Sprintf("line %d continues the point of line 2: ", tt.n+3)
		isFar := errors.Is(err, format.ErrFar) && strings.HasPrefix(err.Error(), begins)
		if isFar != tt.ends || !tt.ends && err != io.EOF {
			t.Errorf("%v: %v", tt, err)
		}
	}
}

// Events that replace others are found by what is stored of their time.
func TestIdentities(t *testing.T) {
	l := resolve(t)
	ids := format.NewIdentities(l)
	r := newReader(t, l, "csv", "host,time,value\na,2026-01-02T03:04:05Z,1\nab,2026-01-02T03:04:05Z,1\na,2026-01-02T03:04:05.0001Z,1\na,2026-01-02T03:04:06Z,1\n", format.ReaderOptions{})
	var got []int
	for {
		e, line, err := r.Next()
		if err != nil {
			break
		}
		before, _ := ids.Add(&e, line)
		got = append(got, before)
	}
	assert.Same(t, []int{0, 0, 2, 0}, got)
}
