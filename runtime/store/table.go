package store

import (
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Table describes a table to [Setup].
type Table struct {
	ID       string // without prefix
	Families []Family
	// Splits are the row keys at which a new table is split into tablets, at most 100.
	// They do not affect an existing table.
	Splits []string
	// KeySchema defines how GoogleSQL reads the row keys; nil for no definition.
	KeySchema *KeySchema
	// DeletionProtection specifies whether Bigtable refuses to delete the table;
	// bigtable.None leaves the setting unchanged.
	DeletionProtection bigtable.DeletionProtection
	// Tier is the age from which Bigtable keeps cells in the infrequent access tier;
	// codec.SSDOnly removes that tier, and 0 leaves the setting unchanged.
	Tier codec.Tier `json:",omitempty"`
	// Bundle is the schema bundle of the table, with the messages of its events for SQL; nil leaves
	// those of a live table unchanged.
	Bundle *SchemaBundle `json:",omitempty"`
	// Layout contains the facts that decide how the events of a schema are stored in the
	// table, for the history of setups: "key: value", separated by "; ", on one line for
	// each layout by time, newest first. If it is empty, the table has no history.
	Layout string
	// Draft reports whether the layout of the table may still change; see [DraftError].
	Draft bool
	// WriteOnly reports whether readers do not use the table, because it has `serves:
	// false`.
	WriteOnly bool

	ended []endedLayout // the layouts by time of its events that have an end
}

// endedLayout is a layout by time that another one follows.
type endedLayout struct {
	mapping *Mapping
	until   time.Time
}

// Family is a column family.
type Family struct {
	Name string
	GC   codec.GCRule   // garbage collection rule
	Life codec.Lifetime // meaning of its timestamps, and which cells are live
	// Class is the TTL class of the family's events, counting from 1; 0 if events have
	// no class.
	Class int
	// Rollup reports whether the family has events that a rollup summarizes, or the rollup itself.
	Rollup bool `json:",omitempty"`
	// Sums reports whether the cells of the family are sums of integers.
	Sums bool `json:",omitempty"`
}

// KeySchema defines how GoogleSQL for Bigtable reads the row keys of a table: as one
// column per segment. Writers and readers do not need it.
type KeySchema struct {
	Delimiter string // between the fields; empty for ordered code
	Fields    []codec.KeyField
}

// String returns the columns, such as "region STRING, slot BYTES".
func (k *KeySchema) String() string {
	columns := make([]string, len(k.Fields))
	for i, f := range k.Fields {
		columns[i] = f.String()
	}
	return strings.Join(columns, ", ")
}

// SchemaBundle is the schema bundle of a table: protobuf messages with which GoogleSQL for Bigtable
// and BigQuery read the fields of serialized events. Writers and readers do not need it.
type SchemaBundle struct {
	ID string // within the table
	// Descriptors is a serialized google.protobuf.FileDescriptorSet with the files of the messages
	// and all that they import. A bundle may have further files.
	Descriptors []byte `json:",omitempty"`
	// Drop deletes the bundle.
	Drop bool `json:",omitempty"`
}

// Tables returns the tables of a schema for [Setup].
func Tables(mappings []*Mapping) []Table {
	var tables []Table
	for _, l := range mappings {
		periods := l.Periods()
		for i, p := range periods {
			t := p.Table.withRollup(p.Rollup).withSums(p.Pattern)
			if i > 0 {
				t.ended = []endedLayout{{p, periods[i-1].Since}}
			}
			tables = addTable(tables, t)
		}
	}
	return tables
}

// addTable adds a table, or the layout of a period to the table with its ID.
func addTable(tables []Table, t Table) []Table {
	i := slices.IndexFunc(tables, func(known Table) bool { return known.ID == t.ID })
	if i < 0 {
		return append(tables, t)
	}
	tables[i] = tables[i].with(t)
	return tables
}

// with returns the table with an earlier layout of its events: those of its families that t
// does not have, and its facts.
func (t Table) with(earlier Table) Table {
	if t.Layout != "" {
		t.Layout += "\n" + earlier.Layout
	}
	t.Families, t.ended = slices.Clone(t.Families), slices.Concat(t.ended, earlier.ended)
	for _, f := range earlier.Families {
		i := slices.IndexFunc(t.Families, func(own Family) bool { return own.Name == f.Name })
		if i < 0 {
			t.Families = append(t.Families, f)
		} else {
			t.Families[i].Rollup = t.Families[i].Rollup || f.Rollup
		}
	}
	return t
}

// withRollup returns the table with the family of its rollup, if it has one.
func (t Table) withRollup(r *codec.Rollup) Table {
	if r == nil {
		return t
	}
	t.Families = append(slices.Clone(t.Families), Family{Name: r.Family, GC: r.GC, Life: codec.Lifetime{}.Under(r.GC, 0)})
	for i := range t.Families {
		t.Families[i].Rollup = true
	}
	return t
}

// withSums returns the table with the family of the sums of versions, if it has the pattern codec.Latest.
func (t Table) withSums(p codec.Pattern) Table {
	if p.NewestOnly() {
		events := t.Families[0]
		t.Families = append(slices.Clone(t.Families), Family{Name: codec.VersionsFamily(events.Name), GC: events.GC, Life: events.Life, Sums: true})
	}
	return t
}

// hasClasses reports whether each family belongs to a TTL class.
func (t *Table) hasClasses() bool { return len(t.Families) > 0 && t.Families[0].Class > 0 }
