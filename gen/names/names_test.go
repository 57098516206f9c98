package names

import (
	"go/token"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/golden/assert"
)

func TestNames(t *testing.T) {
	for _, test := range []struct{ name, goName, lower, snake string }{
		{"balloon_id", "BalloonID", "balloonID", "balloon_id"},
		{"balloonId", "BalloonID", "balloonID", "balloon_id"},
		{"BalloonID", "BalloonID", "balloonID", "balloon_id"},
		{"http_url", "HTTPURL", "httpurl", "http_url"},
		{"HTTPUrl", "HTTPUrl", "httpUrl", "httpurl"},
		{"IDTable", "IDTable", "idTable", "idtable"},
		{"id", "ID", "id", "id"},
		{"x", "X", "x", "x"},
		{"temp_2m", "Temp2m", "temp2m", "temp_2m"},
		{"temp2M", "Temp2M", "temp2M", "temp2_m"},
		{"HourlyNormal", "HourlyNormal", "hourlyNormal", "hourly_normal"},
		{"a__b_", "AB", "ab", "a_b"},
		{"b-c", "BC", "bc", "b_c"},
		{"9lives", "9lives", "9lives", "9lives"}, // of a table: never begins a name
		{"___", "", "", ""},
	} {
		got := []string{Exported(test.name), unexported(Exported(test.name)), words.Snake(test.name)}
		if want := []string{test.goName, test.lower, test.snake}; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q: got %q, want %q", test.name, got, want)
		}
	}
}

// TestNamesAreIdentifiers: names that the language accepts become Go identifiers, and
// the conversion is idempotent.
func TestNamesAreIdentifiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z][A-Za-z0-9_]{0,20}`).Draw(t, "name")
		got := Exported(name)
		if !token.IsIdentifier(got) || !token.IsExported(got) {
			t.Errorf("%q is %q, which is no exported name", name, got)
		}
		assert.Same(t, got, Exported(got), name)
		if lower := unexported(got); token.IsExported(lower) {
			t.Errorf("%q is %q in private", name, lower)
		}
	})
}

func TestTableNames(t *testing.T) {
	for id, want := range map[string]string{
		"balloon_cells": "BalloonCellsKey", "balloon": "BalloonKey", "cells": "BalloonCellsKey",
		"my-table.v2": "BalloonMyTableV2Key", "9": "Balloon9Key", "___": "BalloonKey",
	} {
		table := &layout.Table{ID: id}
		assert.Same(t, want, Of(&layout.Layout{Name: "Balloon", Tables: []*layout.Table{table}}).Table(table).Key, id)
	}
}

// Names do not stutter if one part ends with the word with which the next begins.
func TestJoin(t *testing.T) {
	for _, c := range [][3]string{
		{"Usage", "Class", "UsageClass"},
		{"UsageClasses", "Class", "UsageClass"},
		{"UsageEvent", "Events", "UsageEvents"},
		{"UsageEvent", "EventLog", "UsageEventLog"},
		{"Event", "Events", "EventEvents"}, // it would lose the name of the schema
		{"Usage", "Users", "UsageUsers"},
	} {
		assert.Same(t, c[2], join(c[0], c[1]), c[0], c[1])
	}
}
