package main

import (
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

func TestTablesOf(t *testing.T) {
	day := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 24 * time.Hour}
	one := codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: 1}
	due := codec.Lifetime{Timestamp: codec.TimestampExpiry}
	table := func(id, family string, rule codec.GCRule) *layout.Table {
		return &layout.Table{ID: id, Draft: true, Families: []layout.Family{{Name: family, GC: rule, HasGC: true}}}
	}
	layouts := []*layout.Layout{
		{Name: "A", Tables: []*layout.Table{table("z", "a", day), table("shared", "a", day)}},
		{Name: "B", Tables: []*layout.Table{table("shared", "b", one), table("b", "b", codec.GCRule{})}},
		{Name: "C", Tables: []*layout.Table{{ID: "c", Draft: true, Protected: new(true), Splits: []string{"x"}, Families: []layout.Family{{Name: "a", GC: day, Life: due}, {Name: "b", Class: 2}}}}},
	}
	want := []store.Table{
		{ID: "z", Draft: true, Families: []store.Family{{Name: "a", GC: day}}},
		{ID: "shared", Draft: true, Families: []store.Family{{Name: "a", GC: day}}},
		{ID: "shared", Draft: true, Families: []store.Family{{Name: "b", GC: one}}},
		{ID: "b", Draft: true, Families: []store.Family{{Name: "b"}}},
		{ID: "c", Draft: true, DeletionProtection: bigtable.Protected, Splits: []string{"x"}, Families: []store.Family{{Name: "a", GC: day, Life: due}, {Name: "b", Class: 2}}},
	}
	for _, t := range want {
		for i, f := range t.Families {
			t.Families[i].Life = f.Life.Under(f.GC, 0)
		}
	}
	var got []store.Table
	for _, l := range layouts {
		got = append(got, dynamic.New(l).Tables()...)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(store.Table{})); diff != "" {
		t.Error(diff)
	}
}

func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8086": "127.0.0.1:8086",
		"0.0.0.0:8086":   "127.0.0.1:8086",
		"[::]:8086":      "127.0.0.1:8086",
		"[::1]:8086":     "[::1]:8086",
		"10.0.0.7:1":     "10.0.0.7:1",
	} {
		assert.Same(t, want, reachable(addr), addr)
	}
}
