package storetest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Class: a form of lines that says less than the cells. Lines with one cell and lines with several say the same, in any order of
// the cells, and each change of a character is a difference.
func TestStoredForms(t *testing.T) {
	b := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "t", Families: map[string]bigtable.GCPolicy{"m": bigtable.NoGcPolicy(), "n": bigtable.NoGcPolicy()}})
	})
	for key, values := range map[string][]string{"a b": {"1", `"=\x00`}, "c#d": {"", "ä 1"}} {
		m := bigtable.NewMutation()
		for i, v := range values {
			m.Set("m", fmt.Sprintf("%d = \"x", i), 4102444800000000, []byte(v))
			m.Set("m", "other", 4102444800000000+1000*bigtable.Timestamp(i), []byte(v))
			m.Set("n", "", 4102444800000000, []byte(v))
		}
		must(t, b.Client.OpenTable("t").Apply(t.Context(), key, m))
	}
	single := []string{
		"family m: never", "family n: never",
		`row "a b"`, `m:"0 = \"x" 4102444800000000 "1"`, `m:"1 = \"x" 4102444800000000 "\"=\\x00"`, `m:"other" 4102444800000000 "1"`,
		`m:"other" 4102444800001000 "\"=\\x00"`, `n:"" 4102444800000000 "\"=\\x00"`,
		`row "c#d"`, `m:"0 = \"x" 4102444800000000 ""`, `m:"1 = \"x" 4102444800000000 "ä 1"`, `m:"other" 4102444800000000 ""`,
		`m:"other" 4102444800001000 "ä 1"`, `n:"" 4102444800000000 "ä 1"`,
	}
	several := []string{
		"family m: never", "family n: never",
		`row "a b" n 4102444800000000 ""="\"=\\x00"`,
		`row "a b" m 4102444800000000 "1 = \"x"="\"=\\x00" "0 = \"x"="1"`, `row "a b" m 4102444800000000 "other"="1"`,
		`row "a b" m 4102444800001000 "other"="\"=\\x00"`,
		`row "c#d" m 4102444800000000 "0 = \"x"="" "1 = \"x"="ä 1" "other"=""`, `row "c#d" m 4102444800001000 "other"="ä 1"`,
		`row "c#d" n 4102444800000000 ""="ä 1"`,
	}
	for _, lines := range [][]string{single, several} {
		storetest.Stored(t, b, "t", lines...)
		for i, line := range lines {
			if i < 2 {
				continue
			}
			changed := append([]string{}, lines...)
			var offsets []int
			for at := range line {
				offsets = append(offsets, at)
			}
			for _, at := range testlong.Sample(offsets, 7) {
				for _, with := range []string{"", "7", `"`, " "} {
					if changed[i] = line[:at] + with + line[at+1:]; changed[i] == line || strings.HasPrefix(line[at:], "ä") {
						continue
					}
					f := &failures{TB: t}
					if storetest.Stored(f, b, "t", changed...); f.text.Len() == 0 {
						t.Errorf("%s is the same as %s", changed[i], line)
					}
				}
			}
			f := &failures{TB: t}
			if storetest.Stored(f, b, "t", append(append([]string{}, lines[:i]...), lines[i+1:]...)...); f.text.Len() == 0 {
				t.Errorf("%s may be left out", line)
			}
		}
	}
}
