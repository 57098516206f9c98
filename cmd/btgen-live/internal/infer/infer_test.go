package infer_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

var update = flag.Bool("update", false, "rewrite the designs in the manual")

// sampled returns all rows of a table.
func sampled(t testing.TB, b *storetest.Bigtable, table string, rule codec.GCRule) infer.Sample {
	t.Helper()
	s := infer.Sample{Table: table, Families: map[string]codec.GCRule{}}
	sampling := verify.Sampling{Rows: 1 << 20, Filter: bigtable.PassAllFilter(), Timeout: time.Minute}
	of, err := verify.Sample(t.Context(), b.Client.OpenTable(table), sampling, func(row bigtable.Row) bool {
		s.Rows = append(s.Rows, row)
		return true
	})
	if err != nil || !of.Complete {
		t.Fatal(of, err)
	}
	s.Sampled = &of
	for _, row := range s.Rows {
		for family := range row {
			if !strings.HasSuffix(family, codec.VersionsFamily("")) { // which its value type tells
				s.Families[family] = rule
			}
		}
	}
	return s
}

// TestDesigns infers the schemas of documented designs, which are right if they read
// everything and are the expected ones. The manual shows the result.
func TestDesigns(t *testing.T) {
	b := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		for i := range designs {
			if err := designs[i].create(ctx, b.Admin, b.Client); err != nil {
				return fmt.Errorf("%s: %w", designs[i].name, err)
			}
		}
		return nil
	})
	archive, err := txtar.ParseFile("testdata/designs.txtar")
	must(t, err)
	schemas, err := txtar.FS(archive)
	must(t, err)
	right, page := 0, ""
	for i := range designs {
		d := &designs[i]
		if i%3 > 0 && !testlong.Enabled() && !*update {
			continue
		}
		p, err := infer.Propose(sampled(t, b, d.table, d.gc))
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
			continue
		}
		if p.Report.Rows.Readable < p.Report.Rows.Total || p.Report.Values.Readable < p.Report.Columns.Total {
			t.Errorf("%s: reads %s row keys, %s values: %+v\n%s", d.name, p.Report.Rows, p.Report.Values, p.Report.Findings, p.Schema)
		}
		want, err := fs.ReadFile(schemas, d.table+".yaml")
		must(t, err)
		verdict := ""
		if d.except == "" {
			right++
		} else {
			verdict = " Right, except for " + d.except + "."
		}
		header := "btgen: v1\npackage: want\nname: Want\n"
		if differs := compare(resolved(t, string(p.Schema)), resolved(t, header+string(want))); differs != "" {
			t.Errorf("%s: differs in %s\n%s", d.name, differs, p.Schema)
		}
		if asked := slices.ContainsFunc(p.Questions, func(q string) bool { return strings.Contains(q, d.ask) }); d.ask != "" && !asked {
			t.Errorf("%s: no question %q\n%s", d.name, d.ask, p.Schema)
		}
		page += d.page(sampled(t, b, d.table, d.gc).Rows, p, verdict)
	}
	if !testlong.Enabled() && !*update {
		return // the page has all designs
	}
	if right < len(designs)-1 || len(designs) < 11 {
		t.Errorf("%d of %d designs are right", right, len(designs))
	}
	checkPage(t, fmt.Sprintf("\nOf the %d designs, %d are right.\n%s", len(designs), right, page))
}

// page shows a design, and what the proposal says of how it stores events.
func (d *design) page(rows []bigtable.Row, p *infer.Proposal, verdict string) string {
	var b strings.Builder
	row := rows[len(rows)/2]
	fmt.Fprintf(&b, "\n## %s\n\n%s.%s\n\n```\n%s\n", d.name, d.source, verdict, codec.KeyString([]byte(row.Key()), nil))
	for _, items := range row {
		item := slices.MinFunc(items, func(a, b bigtable.ReadItem) int { return cmp.Compare(a.Column, b.Column) })
		fmt.Fprintf(&b, "  %s  %s  %s\n", codec.KeyString([]byte(item.Column), nil), codec.FromMicros(int64(item.Timestamp)).Format("2006-01-02T15:04:05.999Z"), codec.KeyString(item.Value, nil))
		if len(items) > 1 {
			fmt.Fprintf(&b, "  … %d more cells\n", len(items)-1)
		}
	}
	b.WriteString("```\n\n```yaml\n")
	for _, line := range strings.Split(string(p.Schema), "\n") {
		line = strings.TrimSpace(line)
		if key, _, _ := strings.Cut(line, ":"); slices.Contains([]string{"pattern", "key", "bucket", "blob", "values", "ttl"}, key) {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("```\n")
	return b.String()
}

const (
	pageBegin = "<!-- designs -->\n"
	pageEnd   = "<!-- end of designs -->"
)

// checkPage compares the designs in the manual, or writes them.
func checkPage(t *testing.T, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "docs", "reference", "designs.md")
	text, err := os.ReadFile(path)
	must(t, err)
	before, rest, ok1 := strings.Cut(string(text), pageBegin)
	got, after, ok2 := strings.Cut(rest, pageEnd)
	switch {
	case !ok1 || !ok2:
		t.Errorf("%s has no designs", path)
	case *update:
		assert.Is(t, nil, os.WriteFile(path, []byte(before+pageBegin+want+pageEnd+after), 0o666))
	case got != want:
		t.Errorf("%s: -update would change (-want +got)\n%s", path, gocmp.Diff(want, got))
	}
}

// resolved returns the layout of a schema.
func resolved(t testing.TB, yaml string) *layout.Layout {
	t.Helper()
	s, found := schema.Parse("schema.yaml", []byte(yaml))
	if found.HasErrors() {
		t.Fatalf("%v\n%s", found, yaml)
	}
	l, found := layout.Resolve(s)
	for _, f := range found {
		if f.Severity == diag.Error && f.Rule == "" {
			t.Fatalf("%v\n%s", found, yaml)
		}
	}
	return l
}

// compare returns what differs in the only tables of two layouts; empty if they store the same. Series values may have other names.
func compare(a, b *layout.Layout) string {
	x, y := a.Tables[0], b.Tables[0]
	for _, part := range []struct {
		name string
		of   func(l *layout.Layout, t *layout.Table) any
	}{
		{"key", func(l *layout.Layout, t *layout.Table) any { return keyText(l, t) }},
		{"time", func(_ *layout.Layout, t *layout.Table) any { return t.Time }},
		{"precision", func(l *layout.Layout, _ *layout.Table) any { return l.Precision }},
		{"bucket", func(_ *layout.Layout, t *layout.Table) any { return t.Bucket }},
		{"pattern", func(_ *layout.Layout, t *layout.Table) any { return t.Pattern }},
		{"columns", func(l *layout.Layout, t *layout.Table) any { return columnsText(l, t) }},
		{"blob", func(_ *layout.Layout, t *layout.Table) any { return t.Blob }},
		{"ttl", func(_ *layout.Layout, t *layout.Table) any {
			var out []string
			for _, f := range t.Families {
				out = append(out, fmt.Sprintf("%s: %s, %v", f.Name, f.GC, f.Life))
			}
			return out
		}},
	} {
		if diff := gocmp.Diff(part.of(b, y), part.of(a, x)); diff != "" {
			return part.name + " (-want +got)\n" + diff
		}
	}
	return ""
}

// keyText describes a row key without the names of series values.
func keyText(l *layout.Layout, t *layout.Table) []string {
	out := []string{t.Delimiter}
	for _, g := range t.Segments {
		text := fmt.Sprintf("kind %d const %q salt %v of %d", g.Kind, g.Const, g.Salted, g.Buckets)
		if g.Kind == codec.SeriesSegment {
			text += fmt.Sprintf(" %s %+v", l.Series[g.Series].Type, g.Form)
		}
		out = append(out, text)
	}
	return out
}

// columnsText describes the columns, or the fields of serialized events.
func columnsText(l *layout.Layout, t *layout.Table) []string {
	var out []string
	for _, c := range t.Columns {
		text := fmt.Sprintf("%q in %s", c.Qualifier, t.Families[c.Family].Name)
		if t.Pattern == codec.BucketOffsets {
			text = "offsets"
		}
		if c.Field >= 0 {
			f := l.Fields[c.Field]
			text += fmt.Sprintf(" %s optional %v", f.Type, f.Optional)
			if f.Type != schema.String && f.Type != schema.JSON {
				c.Pos, c.Field, c.Family, c.Older, c.Was = diag.Pos{}, 0, 0, nil, nil
				text += fmt.Sprintf(" %+v", c)
			}
		}
		out = append(out, text)
	}
	for _, f := range l.Fields {
		if t.Serialized() {
			name := f.Name
			if t.Blob == layout.Protobuf {
				name = ""
			}
			out = append(out, fmt.Sprintf("%s %d %s optional %v", name, f.Number, f.Type, f.Optional))
		}
	}
	slices.Sort(out)
	return out
}

// rows returns rows with the given keys, each with some cells of a column.
func rows(family, qualifier string, cells map[string][]bigtable.ReadItem) []bigtable.Row {
	var out []bigtable.Row
	for key, items := range cells {
		for i := range items {
			items[i].Row, items[i].Column = key, family+":"+qualifier
		}
		out = append(out, bigtable.Row{family: items})
	}
	slices.SortFunc(out, func(a, b bigtable.Row) int { return strings.Compare(a.Key(), b.Key()) })
	return out
}

// at returns a cell.
func at(t time.Time, value string) bigtable.ReadItem {
	return bigtable.ReadItem{Timestamp: bigtable.Time(t), Value: []byte(value)}
}

// Samples with little or nothing in them are errors, or give a schema that reads them.
func TestEdges(t *testing.T) {
	for _, c := range []struct {
		name string
		rows []bigtable.Row
		err  error
		want string // part of the schema
	}{
		{"no rows", nil, infer.ErrEmpty, ""},
		{"no cells", []bigtable.Row{{}}, infer.ErrEmpty, ""},
		{"one row", rows("f", "v", map[string][]bigtable.ReadItem{"a#2026-03-05": {at(noon, "5")}}), nil, `{time: "2006-01-02"}`},
		{"two kinds", slices.Concat(
			rows("f", "age", map[string][]bigtable.ReadItem{"ann#user#1772712000": {at(noon, "5")}, "bob#user#1772712001": {at(noon, "5")}, "cid#user#1772712009": {at(noon, "6")}}),
			rows("f", "amount", map[string][]bigtable.ReadItem{"ann#order#1772712000": {at(noon, "5")}, "bob#order#1772712001": {at(noon, "5")}}),
		), nil, `{const: user}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := infer.Propose(infer.Sample{Table: "edges", Rows: c.rows, Families: map[string]codec.GCRule{"f": {}}})
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if err == nil && !strings.Contains(string(p.Schema), c.want) {
				t.Errorf("%s", p.Schema)
			}
			if err == nil {
				linted(t, p)
			}
		})
	}
}

// linted checks that lint finds nothing in a proposal, other than advice.
func linted(t testing.TB, p *infer.Proposal) {
	t.Helper()
	r := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: p.Schema}})
	for _, f := range r.Diagnostics {
		if f.Severity != diag.Advice {
			t.Errorf("%v\n%s", f, p.Schema)
		}
	}
	if text, found := schema.Format("schema.yaml", p.Schema); found.HasErrors() || string(text) != string(p.Schema) {
		t.Errorf("not formatted: %v\n%s", found, p.Schema)
	}
}

// FuzzPropose tries hostile keys, columns and values: no panic, and every schema is one that
// lint accepts. The same sample gives the same schema.
func FuzzPropose(f *testing.F) {
	f.Add("a#2026-03-05", "b#2026-03-06", "v", []byte("5"), int64(1772712000000000))
	f.Add("\x00\x00\x01\x69\xa9\x7e\x80", "\x00\x00\x02\x69\xa9\x8c\x90", "\x07\xff", []byte{8, 5, 0x11, 0, 0, 0, 0, 0, 0, 0, 1}, int64(0))
	f.Add("user#9223370264142775807", "user#9223370264142775808", "\n#?: ", []byte(`{"a\n": 1, "time": null, "A": "2026-03-05T00:00:00Z"}`), int64(-1))
	f.Add("##", "#", "", []byte{}, int64(1)<<62)
	f.Fuzz(func(t *testing.T, k1, k2, qualifier string, value []byte, micros int64) {
		if k1 == "" || k2 == "" || k1 == k2 {
			return
		}
		cells := func() map[string][]bigtable.ReadItem {
			item := bigtable.ReadItem{Timestamp: bigtable.Timestamp(micros), Value: value}
			return map[string][]bigtable.ReadItem{k1: {item, item}, k2: {item}, k1 + k2: {item}}
		}
		s := infer.Sample{Table: "fuzzed", Rows: rows("f", qualifier, cells()), Families: map[string]codec.GCRule{"f": age(3)}}
		p, err := infer.Propose(s)
		if err != nil {
			if !errors.Is(err, infer.ErrEmpty) && !errors.Is(err, infer.ErrNoSchema) {
				t.Error(err)
			}
			return
		}
		linted(t, p)
		again, err := infer.Propose(s)
		if err != nil || string(again.Schema) != string(p.Schema) {
			t.Errorf("%v: %s", err, gocmp.Diff(string(p.Schema), string(again.Schema)))
		}
	})
}

// TestHostile damages the rows of all designs: keys, columns, values and times that are cut off,
// changed, or exchanged for others. There is no panic, and every schema is one that lint accepts.
func TestHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for n := range len(designs) {
		d := &designs[n%len(designs)]
		s := infer.Sample{Table: d.table, Families: map[string]codec.GCRule{}}
		h := d.written()
		for _, key := range h.keys[:min(len(h.keys), 25)] {
			row := bigtable.Row{}
			damaged := damage(r, key) + "!"
			for _, c := range h.rows[key][:min(len(h.rows[key]), 15)] {
				family, qualifier, _ := strings.Cut(c.Column, ":")
				c.Row, c.Column = damaged, family+":"+damage(r, qualifier)
				c.Value = []byte(damage(r, string(c.Value)))
				if r.IntN(9) == 0 {
					c.Timestamp = bigtable.Timestamp(r.Int64() - r.Int64())
				}
				row[family] = append(row[family], c)
				s.Families[family] = d.gc
			}
			s.Rows = append(s.Rows, row)
		}
		slices.SortFunc(s.Rows, func(a, b bigtable.Row) int { return strings.Compare(a.Key(), b.Key()) })
		p, err := infer.Propose(s)
		switch {
		case err == nil:
			linted(t, p)
		case !errors.Is(err, infer.ErrNoSchema):
			t.Errorf("%s: %v", d.name, err)
		}
	}
}

// proposed returns a proposal for a table with 9 events of each of 9 series, in rows whose keys begin with a prefix.
func proposed(t *testing.T, value string, prefix func(series int) string) *infer.Proposal {
	t.Helper()
	cells := map[string][]bigtable.ReadItem{}
	for s := range 9 {
		for i := range 9 {
			when := time.Date(2026, 3, 5, i, 0, s, 0, time.UTC)
			cells[fmt.Sprintf("%s#%d", prefix(s), when.Unix())] = []bigtable.ReadItem{at(when, value)}
		}
	}
	p, err := infer.Propose(infer.Sample{Table: "t", Rows: rows("f", "v", cells), Families: map[string]codec.GCRule{"f": age(3)}})
	must(t, err, value, prefix(1))
	return p
}

// A salt before the series value, in one part of the keys, is asked about. Numbers of other parts of
// a value are not salts.
func TestSaltWithin(t *testing.T) {
	for format, salt := range map[string]bool{ // of a number that depends on the series, and of the series
		"%02d-m%d": true, "%d_%d": true, "%x/unit %d": true, "%02d~a1b%d": true,
		"%02d-1b-44-11-3a-b%d": false, "m%d-%d": false, "%d.0.0.%d": false, "%04d-%d": false, "1-%d%d": false,
	} {
		p := proposed(t, "1.5", func(s int) string { return fmt.Sprintf(format, s*7%11, s) })
		asked := slices.ContainsFunc(p.Questions, func(q string) bool { return strings.Contains(q, "a salt?") })
		assert.Same(t, salt, asked, format, string(p.Schema))
	}
}

// TestExactForms infers from what only one form reads as it is: salts of the library, and UUIDs in small letters.
func TestExactForms(t *testing.T) {
	id := "0190a5b4-7c3d-7a8b-9c0d-0123456789ab"
	for value, want := range map[string]string{"1.5": "{hash: [", id: "v: uuid", strings.ToUpper(id): "v: string"} {
		p := proposed(t, value, func(s int) string {
			host := fmt.Sprint("h", s)
			return fmt.Sprintf("%02d#%s", codec.Salt(16, host), host)
		})
		assert.Contains(t, want, string(p.Schema), value)
	}
}

// damage changes text, sometimes.
func damage(r *rand.Rand, s string) string {
	switch n := r.IntN(12); {
	case n == 0 && s != "":
		return s[:r.IntN(len(s))]
	case n == 1 && s != "":
		i := r.IntN(len(s))
		return s[:i] + string([]byte{byte(r.Uint32())}) + s[i+1:]
	case n == 2:
		return s + []string{"#", "\x00", "\xff\xfe", "\n? : {", "\u2028"}[r.IntN(5)] + s
	}
	return s
}
