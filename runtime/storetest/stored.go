package storetest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
)

// Stored fails the test unless a table stores exactly what the lines say: its families with their garbage
// collection rules, and then each row, in order of keys, with its cells, sorted.
//
//	family m: age() > 30d
//	row "us-west2#3698#week0"
//	m:"pressure" 1614945600000000 "94587"
//
// A line of a row may have cells of a family with the same timestamp, in any order, and the next line the same row:
//
//	row "us-west2#3698#week0" m 1614945600000000 "pressure"="94587" "temperature"="9.6"
//
// Keys, columns and values are quoted as in Go, and timestamps are in microseconds. Families that no line
// names do not count, and neither do the cells of a family with a rollup, whose line begins with rollup.
func Stored(t testing.TB, b *Bigtable, table string, want ...string) {
	t.Helper()
	want = cellLines(want)
	got, err := b.lines(t.Context(), table, want)
	if err != nil {
		t.Errorf("table %s: %v", table, err)
		return
	}
	for i := range max(len(got), len(want)) {
		is, wanted := lineAt(got, i), lineAt(want, i)
		if is != wanted {
			t.Errorf("table %s: line %d is\n\t%s\nwant\n\t%s\nin\n\t%s", table, i, is, wanted, strings.Join(got, "\n\t"))
			return // later differences may be a consequence
		}
	}
}

// Write writes events with WriteAll of a writer, and ends the test if that fails.
func Write[E, O any](t testing.TB, writeAll func(ctx context.Context, events []E, opts ...O) error, events []E) {
	t.Helper()
	if err := writeAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

// cellLines returns lines with at most one cell each: those of rows with cells are split.
func cellLines(lines []string) (out []string) {
	row, cells := "", 0 // index of the first cell of the row
	for _, line := range lines {
		key, _ := strconv.QuotedPrefix(strings.TrimPrefix(line, "row "))
		rest, has := strings.CutPrefix(line, "row "+key+" ")
		part := strings.SplitN(rest, " ", 3) // the family, the timestamp and the cells
		if !has || key == "" || len(part) < 3 {
			out = append(out, line)
			continue
		}
		if row != key {
			row, out = key, append(out, "row "+key)
			cells = len(out)
		}
		for rest = " " + part[2]; rest != ""; {
			column, _ := strconv.QuotedPrefix(rest[1:])
			after, ok := strings.CutPrefix(rest, " "+column+"=")
			value, err := strconv.QuotedPrefix(after)
			if !ok || err != nil {
				out = append(out, line) // no table stores it
				break
			}
			out = append(out, part[0]+":"+column+" "+part[1]+" "+value)
			rest = after[len(value):]
		}
		slices.Sort(out[cells:])
	}
	return out
}

// lineAt returns a line; that there is none, if there are fewer.
func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing more"
}

// lines returns the content of a table in the form of [Stored], for the families that want names.
func (b *Bigtable) lines(ctx context.Context, table string, want []string) (out []string, err error) {
	kinds := map[string]string{} // of families
	for _, line := range want {
		kind, rest, _ := strings.Cut(line, " ")
		if name, _, named := strings.Cut(rest, ": "); named && (kind == "family" || kind == "rollup" || kind == "sums") {
			kinds[name] = kind
		}
	}
	info, err := b.Admin.TableInfo(ctx, table)
	if err != nil {
		return nil, err
	}
	for _, f := range info.FamilyInfos {
		if kind := kinds[f.Name]; kind != "" {
			out = append(out, fmt.Sprintf("%s %s: %s", kind, f.Name, ruleOf(f)))
		}
	}
	slices.Sort(out)
	err = b.Client.OpenTable(table).ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		var cells []string
		for family, items := range row {
			for _, c := range items {
				if kinds[family] == "family" {
					cells = append(cells, fmt.Sprintf("%s:%q %d %q", family, strings.TrimPrefix(c.Column, family+":"), c.Timestamp, c.Value))
				}
			}
		}
		if slices.Sort(cells); cells != nil {
			out = append(append(out, fmt.Sprintf("row %q", row.Key())), cells...)
		}
		return true
	})
	return out, err
}

// unitless matches the ages of a rule, some of which the client prints without a unit.
var unitless = regexp.MustCompile(`age\(\) > \d+[dhm]?`)

// ruleOf returns the garbage collection rule of a family, as [codec.GCRule.String] prints it.
func ruleOf(f bigtable.FamilyInfo) string {
	if f.GCPolicy == "<never>" || f.GCPolicy == "" {
		return "never"
	}
	return unitless.ReplaceAllStringFunc(f.GCPolicy, func(age string) string {
		if micros, err := time.ParseDuration(strings.TrimPrefix(age, "age() > ") + "us"); err == nil {
			return "age() > " + micros.String()
		}
		return age
	})
}
