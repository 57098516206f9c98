package neighbor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/googlesql"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/protofile"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// externalOptions are the bigtable_options of an external table: BigtableOptions of BigQuery's
// REST API.
type externalOptions struct {
	ReadRowkeyAsString              bool             `json:"readRowkeyAsString"`
	IgnoreUnspecifiedColumnFamilies bool             `json:"ignoreUnspecifiedColumnFamilies"`
	ColumnFamilies                  []externalFamily `json:"columnFamilies"`
}

// externalFamily is a BigtableColumnFamily.
type externalFamily struct {
	FamilyID       string `json:"familyId"`
	OnlyReadLatest bool   `json:"onlyReadLatest"`
	googlesql.Decoding
	Columns []externalColumn `json:"columns,omitempty"`
}

// externalColumn is a BigtableColumn.
type externalColumn struct {
	QualifierString  string `json:"qualifierString,omitempty"`
	QualifierEncoded []byte `json:"qualifierEncoded,omitempty"`
	FieldName        string `json:"fieldName,omitempty"`
	googlesql.Decoding
}

// bigQuery renders the external tables.
func (r *renderer) bigQuery() {
	live := r.live()
	names := r.unique(live, "BigQuery", words.Identifier)
	for _, t := range live {
		r.add("bigquery/"+t.ID+".sql", recordOf(t).HeadIn(output.SQL), r.externalTable(&t, names[t.ID]))
	}
}

// externalTable renders the definition of one table.
func (r *renderer) externalTable(t *layout.StoredTable, name string) string {
	options := externalOptions{ReadRowkeyAsString: textKeys(t), IgnoreUnspecifiedColumnFamilies: true}
	var remarks strings.Builder
	for i := range t.Families {
		if onlyRollup(t, t.Families[i].Name) {
			continue // queries aggregate events
		}
		family, about := r.externalFamily(t, t.Families[i].Name)
		options.ColumnFamilies = append(options.ColumnFamilies, family)
		for _, remark := range about {
			remarks.WriteString("--\n" + comment("--", "%s", remark))
		}
	}
	return comment("--", "%s Besides them, queries see events that have expired, until Bigtable removes their cells.", tableAbout(t)) +
		remarks.String() +
		fmt.Sprintf("CREATE OR REPLACE EXTERNAL TABLE `%s.%s`\nOPTIONS (\n  format = 'CLOUD_BIGTABLE',\n  uris = ['%s'],\n  bigtable_options = r'''\n%s\n'''\n);\n",
			r.config.BigQuery.Dataset, name, r.uri(t.ID), optionsJSON(options))
}

// uri returns the location of a table.
func (r *renderer) uri(table string) string {
	profile := ""
	if name := r.config.BigQuery.AppProfile; name != "" {
		profile = "/appProfiles/" + name
	}
	return "https://googleapis.com/bigtable/" + r.config.BigQuery.Instance + profile + "/tables/" + table
}

// optionsJSON formats options for a raw string literal in single quotes.
func optionsJSON(options externalOptions) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	_ = e.Encode(options) // strings and booleans
	return strings.TrimSpace(strings.ReplaceAll(string(words.EscapeJSON(b.Bytes())), "'", `\u0027`))
}

// textKeys reports whether all row keys are text.
func textKeys(t *layout.StoredTable) bool {
	return !slices.ContainsFunc(t.Layouts, func(l layout.StoredLayout) bool {
		return l.Table.Delimiter == "" || slices.ContainsFunc(l.Table.Segments, func(g codec.Segment) bool {
			return l.Table.InBytes(&g) || g.Form.Encoding == codec.KeyRaw || !utf8.ValidString(g.Const)
		})
	})
}

// externalFamily returns the definition of a family, and remarks about its columns.
func (r *renderer) externalFamily(t *layout.StoredTable, name string) (externalFamily, []string) {
	family := externalFamily{FamilyID: name, OnlyReadLatest: true, Decoding: googlesql.AsBytes}
	var columns []storedColumn
	var remarks []string
	for _, l := range t.Layouts {
		i := slices.IndexFunc(l.Table.Families, func(f layout.Family) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		of := fmt.Sprintf("Family %s: ", name)
		switch p := l.Table.Pattern; {
		case p.Naming() == codec.NamedByValue:
			family.OnlyReadLatest = false
			remarks = append(remarks, of+"the name of a column is the value of an event, and the timestamp of a cell its time. The cells are empty.")
			continue
		case p.Naming() == codec.NamedByTime:
			family.Decoding = r.decodingOf(l, &l.Table.Columns[0])
			remarks = append(remarks, of+"the name of a column is the time of an event in its bucket, in binary.")
			if family.About != "" {
				remarks = append(remarks, of+family.About)
			}
			continue
		case p.Versioned():
			family.OnlyReadLatest = false
			about := "each cell is an event, and its timestamp the time of the event."
			if p.NewestOnly() {
				about = "only the cells with the newest timestamp of a row are the state of now. Others wait for garbage collection."
			}
			remarks = append(remarks, of+about)
		}
		columns = addColumns(columns, r, l, i)
	}
	for _, c := range columns {
		external := externalColumn{Decoding: c.Decoding}
		if utf8.ValidString(c.qualifier) {
			external.QualifierString = c.qualifier
		} else {
			external.QualifierEncoded = []byte(c.qualifier)
		}
		if c.name != c.qualifier {
			external.FieldName = c.name
		}
		if c.About != "" {
			remarks = append(remarks, fmt.Sprintf("Column %s of family %s: %s", strconv.Quote(c.qualifier), name, c.About))
		}
		family.Columns = append(family.Columns, external)
	}
	return family, slices.Compact(remarks)
}

// storedColumn is a column of a family, for all layouts that have it.
type storedColumn struct {
	qualifier string
	name      string // in queries
	googlesql.Decoding
}

// addColumns adds the columns that a layout stores in its i-th family. A column that layouts
// store in different ways remains BYTES.
func addColumns(columns []storedColumn, r *renderer, l layout.StoredLayout, i int) []storedColumn {
	for _, c := range l.Table.AllColumns() {
		if c.Family != i && !l.Table.HasClasses() {
			continue
		}
		d := r.decodingOf(l, &c)
		same := func(have storedColumn) bool { return have.qualifier == c.Qualifier }
		if k := slices.IndexFunc(columns, same); k >= 0 {
			if !columns[k].Equal(d) {
				columns[k].Decoding = googlesql.AsBytes.With("layouts of the table encode it in different ways.")
			}
			continue
		}
		taken := func(name string) bool {
			return slices.ContainsFunc(columns, func(have storedColumn) bool { return strings.EqualFold(have.name, name) })
		}
		columns = append(columns, storedColumn{c.Qualifier, words.Free(googlesql.ColumnName(l.Schema, &c), taken), d})
	}
	return columns
}

// decodingOf returns how BigQuery decodes the cells of a column. What it would not decode exactly
// remains BYTES.
func (r *renderer) decodingOf(l layout.StoredLayout, c *layout.Column) googlesql.Decoding {
	switch c.Field {
	case layout.WholeEvent:
		return r.decodingOfEvents(l)
	case layout.WrittenAt:
		return googlesql.DecodingOf(&layout.Field{Type: schema.Timestamp}, c.Values)
	}
	f := &l.Schema.Fields[c.Field]
	if c.Was != nil {
		f = c.Was
	}
	return googlesql.DecodingOf(f, c.Values)
}

// decodingOfEvents returns how serialized events are decoded.
func (r *renderer) decodingOfEvents(l layout.StoredLayout) googlesql.Decoding {
	switch bundle := r.bundle(l.Table.ID); {
	case l.Table.Blob == layout.JSONText:
		return googlesql.Decoding{Type: "JSON", Encoding: "TEXT"}
	case bundle == "":
		return googlesql.AsBytes.With("events in protobuf. With a schema_bundle in the table, they would be JSON.")
	default:
		return googlesql.Decoding{Type: "JSON", Encoding: "PROTO_BINARY", ProtoConfig: &googlesql.ProtoConfig{SchemaBundleID: bundle, ProtoMessageName: protofile.NameOf(l.Schema)}}
	}
}
