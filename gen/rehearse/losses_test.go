package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

const day = 24 * time.Hour

// aged returns the rule and the lifetime of events that expire.
func aged(age time.Duration) (Rule, codec.Lifetime) {
	gc := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: age}
	return Rule{gc, 1}, codec.Lifetime{}.Under(gc, 1)
}

// family returns a family of events.
func family(name, class string, age time.Duration) Family {
	rule, life := aged(age)
	return Family{Name: name, Class: class, Life: life, Rule: rule}
}

// table returns a table with a layout that has some fields, one by one.
func table(name string, fields ...string) Table {
	l := Layout{Place: name, Rows: "rows", Families: []Family{family("m", "", 60*day)}}
	for _, f := range fields {
		l.Columns = append(l.Columns, Column{Field: f, Family: "m", Key: f, Coding: "c", Statistics: "s"})
	}
	return Table{Name: name, Layouts: []Layout{l}}
}

// with returns a table with other settings of its layout.
func (t Table) with(set func(l *Layout)) Table {
	l := t.Layouts[0]
	l.Families, l.Columns = slices.Clone(l.Families), slices.Clone(l.Columns)
	set(&l)
	t.Layouts = append([]Layout{l}, t.Layouts[1:]...)
	return t
}

// rolled returns a table with a rollup of some fields.
func (t Table) rolled(every time.Duration, fields ...string) Table {
	return t.with(func(l *Layout) {
		rule, _ := aged(1000 * day)
		l.Rollup = &Rollup{Family: "h", Every: every, Rule: rule}
		for _, f := range fields {
			l.Rollup.Fields = append(l.Rollup.Fields, Summary{f, f})
		}
	})
}

// of returns a program with a schema, the first table of which serves Read. Fields whose names end in a question mark are
// optional.
func of(fields string, tables ...Table) Program {
	s := Schema{Name: "S", Tables: tables, Reads: []Read{{Name: "Read"}}}
	for _, f := range strings.Fields(fields) {
		id, optional := strings.CutSuffix(f, "?")
		s.Fields = append(s.Fields, Field{ID: id, Optional: optional})
	}
	return Program{Schemas: []Schema{s}}
}

// in returns a program with the tables as those of another schema, beside its own.
func (p Program) in(name string, tables ...Table) Program {
	other := of("a", tables...).Schemas[0]
	other.Name = name
	p.Schemas = append(slices.Clone(p.Schemas), other)
	return p
}

// after returns an epoch after others.
func after(p Program, before ...*Epoch) *Epoch { return &Epoch{Program: p, After: before} }

// chain returns an epoch for each program, the last one.
func chain(all ...Program) *Epoch {
	out := after(all[0])
	for _, p := range all[1:] {
		out = after(p, out)
	}
	return out
}

// lossesText returns losses in short.
func lossesText(next *Epoch) string {
	var out []string
	for _, l := range Losses(next) {
		text := l.Schema + "." + l.Read
		if l.Field != "" {
			text += "/" + l.Field
		}
		if l.Width > 0 {
			text += "/windows"
		}
		out = append(out, fmt.Sprintf("%s %s>%s", text, l.Was, l.Is))
	}
	return strings.Join(out, ", ")
}

// TestLosses rehearses histories, each of which needs one part of the rehearsal: without it, the loss is not seen, or one that is
// none.
func TestLosses(t *testing.T) {
	ab, rows := table("t", "a", "b"), func(l *Layout) { l.Rows = "other" }
	filled := func(e *Epoch, names ...string) *Epoch { e.Filled = names; return e }
	at := func(e *Epoch, now time.Time) *Epoch { e.Now = now; return e }
	year := func(n int) time.Time { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC) }
	copied := table("u", "a", "b")
	byTime := func(newer, older func(l *Layout)) Table {
		t := ab.with(func(l *Layout) {
			l.Since = year(2030)
			l.Families[0].Name = "n"
			l.Columns[0].Family, l.Columns[1].Family = "n", "n"
		}).with(newer)
		t.Layouts = append(t.Layouts, ab.with(older).Layouts...)
		return t
	}
	none := func(*Layout) {}
	classes := func(names ...string) Table {
		return ab.with(func(l *Layout) {
			l.Families = nil
			for _, name := range names {
				l.Families = append(l.Families, family(name, name, 60*day))
			}
			l.Columns[0].Family, l.Columns[1].Family = "", ""
		})
	}
	named := func(l *Layout) { l.Columns[1].Values, l.Columns[1].Named = []Value{{1, "x"}, {2, "y"}}, false }
	exchanged := func(l *Layout) { named(l); l.Columns[1].Values = []Value{{1, "y"}, {2, "x"}} }
	recoded := func(l *Layout) { l.Columns[1].Coding = "d" }
	apart := func(l *Layout) { // no column is like another one
		for i := range l.Columns {
			l.Columns[i].Coding += l.Columns[i].Key
		}
	}
	for _, tt := range []struct {
		name, want string
		next       *Epoch
	}{
		{"nothing changes", "", chain(of("a b?", ab), of("a b?", ab))},
		{"other rows", "S.Read present>", chain(of("a b?", ab), of("a b?", ab.with(rows)))},
		{"a schema is removed", "T.Read present>", chain(of("a", ab).in("T", copied), of("a", ab))},
		{"seal: windows of a field that a rollup never had", "S.Read/b/windows b>inexact", chain(of("a b?", ab.rolled(time.Hour, "a", "b")), of("a b?", ab.rolled(time.Hour, "a")))},
		{"touch: a late event has its bucket summarized again", "S.Read/windows present>inexact, S.Read/a/windows a>inexact", chain(of("a", table("t", "a").rolled(time.Hour, "a")), of("a", table("t", "a").rolled(day, "a")))},
		{"rewrite: a field that is back", "S.Read/b absent>b", chain(of("a b?", ab), of("a", table("t", "a")), of("a b?", ab))},
		{"time: a shorter age", "S.Read present>", chain(of("a", table("t", "a")), of("a", table("t", "a").with(func(l *Layout) { l.Families[0] = family("m", "", 10*day) })))},
		{"fill: a copy has all events", "", filled(chain(of("a", table("t", "a")), of("a", table("t", "a"), table("u", "a")), of("a", table("u", "a"), table("t", "a"))), "u")},
		{"fill: and none that was deleted", "", filled(chain(of("a", table("t", "a"), table("u", "a")), of("a", table("t", "a")), of("a", table("u", "a"), table("t", "a"))), "u")},
		{"not filled", "S.Read present>", chain(of("a", table("t", "a")), of("a", table("t", "a"), table("u", "a")), of("a", table("u", "a"), table("t", "a")))},
		{"foreign: a schema reads the events of another one", "T.Read >an event of S", chain(of("a", ab).in("T", copied), of("a", ab).in("T", ab))},
		{"earlier: a field is back in another column", "S.Read/b b>absent", chain(of("a b?", ab), of("a", table("t", "a")), of("a b?", ab.with(func(l *Layout) { l.Columns[1].Key = "c" })))},
		{"ends: a new read in a table of shorter ages", "", chain(of("a", ab, copied), func() Program {
			p := of("a", ab, copied.with(func(l *Layout) { l.Families[0] = family("m", "", 10*day) }))
			p.Schemas[0].Reads = append(p.Schemas[0].Reads, Read{Name: "Query", Table: 1})
			return p
		}())},
		{"possible: events of an expired layout", "", at(chain(of("a b?", byTime(none, none)), of("a b?", byTime(none, none).with(none)), of("a b?", Table{Name: "t", Layouts: byTime(none, none).Layouts[:1]})), year(2031))},
		{"possible: those of a later one", "S.Read present>", at(chain(of("a b?", byTime(none, none)), of("a b?", byTime(rows, none))), year(2031))},
		{"possible: a layout that has not begun", "", at(chain(of("a b?", byTime(none, none)), of("a b?", byTime(rows, none))), year(2029))},
		{"inexact: windows that say that they lack a field", "S.Read/windows inexact>, S.Read/a/windows inexact>, S.Read/b/windows inexact>", chain(of("a b", table("t", "a", "b").rolled(time.Hour, "a")), of("a b", table("t", "a", "b")))},
		{"kinds: an event without an optional field", "S.Read present>cannot be read without b", chain(of("a b?", ab), of("a b", ab))},
		{"kinds: the only value of an event", "S.Read present>", chain(of("a? b? c? d?", table("t", "a", "b", "c", "d").with(apart)), of("b? c? d?", table("t", "b", "c", "d").with(apart)))},
		{"kinds: an event without any optional field", "S.Read present>", chain(of("a b? c?", table("t", "a", "b", "c").with(apart)), of("b? c?", table("t", "b", "c").with(apart)))},
		{"classes: a family of a class", "S.Read present>", chain(of("a b?", classes("x", "y")), of("a b?", classes("x")))},
		{"values of an enum", "S.Read/b b.x>b.y", chain(of("a b", ab.with(named)), of("a b", ab.with(exchanged)))},
		{"another coding", "S.Read/b b>other values, of c", chain(of("a b", ab), of("a b", ab.with(recoded)))},
		{"meetings: a field in the column that another one had", "S.Read/c absent>b", chain(of("a b?", ab), of("a", table("t", "a")), of("a c?", table("t", "a", "c").with(func(l *Layout) { l.Columns[1].Key = "b" })))},
		{"together: two fields of which an event had one", "S.Read present>", chain(of("a? b? c?", table("t", "a", "b", "c")), of("c?", table("t", "c")))},
		{"a new schema reads a table of another one", "T.Read >an event of S", chain(of("a", ab), of("a", ab).in("T", ab))},
		{"a schema reads a copy of another one", "T.Read >an event of S", chain(of("a", ab, copied).in("T", table("v", "a")), of("a", ab, copied).in("T", copied))},
		{"alike: fields that change alike", "S.Read/b b>other values, of c, S.Read/c c>other values, of c", chain(of("a b? c?", table("t", "a", "b", "c")), of("a b? c?", table("t", "a", "b", "c").with(func(l *Layout) { l.Columns[1].Coding, l.Columns[2].Coding = "d", "d" })))},
		{"a merge: what one side has changed", "S.Read present>", after(of("a", ab.with(rows)), after(of("a", ab), after(of("a", ab))), after(of("a", ab.with(rows)), after(of("a", ab))))},
		{"a table with the newest events lacks those of before", "S.Latest present>", chain(of("a", ab), func() Program {
			p := of("a", ab, Table{Name: "now", Newest: true, Layouts: table("now", "a").Layouts})
			p.Schemas[0].Reads = append(p.Schemas[0].Reads, Read{Name: "Latest", Table: 1})
			return p
		}())},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Same(t, tt.want, lossesText(tt.next)) })
	}
}
