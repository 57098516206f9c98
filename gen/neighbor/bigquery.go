package neighbor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	decoding
	Columns []externalColumn `json:"columns,omitempty"`
}

// externalColumn is a BigtableColumn.
type externalColumn struct {
	QualifierString  string `json:"qualifierString,omitempty"`
	QualifierEncoded []byte `json:"qualifierEncoded,omitempty"`
	FieldName        string `json:"fieldName,omitempty"`
	decoding
}

// decoding is how BigQuery decodes cells. The zero value leaves them as BYTES.
type decoding struct {
	Type        string       `json:"type,omitempty"`
	Encoding    string       `json:"encoding,omitempty"`
	ProtoConfig *protoConfig `json:"protoConfig,omitempty"`
	about       string       // what the reader of a query must know; may be empty
}

// equal reports whether cells are decoded in the same way.
func (d decoding) equal(other decoding) bool {
	return d.Type == other.Type && d.Encoding == other.Encoding && (d.ProtoConfig == nil) == (other.ProtoConfig == nil)
}

// protoConfig is a BigtableProtoConfig.
type protoConfig struct {
	SchemaBundleID   string `json:"schemaBundleId"`
	ProtoMessageName string `json:"protoMessageName"`
}

// Decodings that BigQuery documents.
var (
	asBytes   = decoding{Type: "BYTES"}
	asString  = decoding{Type: "STRING"}
	asInteger = decoding{Type: "INTEGER", Encoding: "BINARY"}
	asFloat   = decoding{Type: "FLOAT", Encoding: "BINARY"}
)

// with returns a decoding with a remark.
func (d decoding) with(format string, args ...any) decoding {
	d.about = fmt.Sprintf(format, args...)
	return d
}

// bigQuery renders the external tables.
func (r *renderer) bigQuery() {
	live := r.live()
	names := r.unique(live, "BigQuery", identifier)
	for _, t := range live {
		r.add("bigquery/"+t.ID+".sql", recordOf(t).HeadIn(output.SQL), r.externalTable(&t, names[t.ID]))
	}
}

// externalTable renders the definition of one table.
func (r *renderer) externalTable(t *layout.StoredTable, name string) string {
	options := externalOptions{ReadRowkeyAsString: textKeys(t), IgnoreUnspecifiedColumnFamilies: true}
	var remarks strings.Builder
	for i := range t.Families {
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
	family := externalFamily{FamilyID: name, OnlyReadLatest: true, decoding: decoding{Type: "BYTES"}}
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
			family.decoding = r.decodingOf(l, &l.Table.Columns[0])
			about := "the name of a column is the time of an event in its bucket, in binary."
			if l.Table.HasPoints() {
				about = "the name of a column is the time of an event in its hour, and the type and length of its value, or those of several events."
			}
			remarks = append(remarks, of+about)
			if family.about != "" {
				remarks = append(remarks, of+family.about)
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
		external := externalColumn{decoding: c.decoding}
		if utf8.ValidString(c.qualifier) {
			external.QualifierString = c.qualifier
		} else {
			external.QualifierEncoded = []byte(c.qualifier)
		}
		if c.name != c.qualifier {
			external.FieldName = c.name
		}
		if c.about != "" {
			remarks = append(remarks, fmt.Sprintf("Column %s of family %s: %s", strconv.Quote(c.qualifier), name, c.about))
		}
		family.Columns = append(family.Columns, external)
	}
	return family, slices.Compact(remarks)
}

// storedColumn is a column of a family, for all layouts that have it.
type storedColumn struct {
	qualifier string
	name      string // in queries
	decoding
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
			if !columns[k].equal(d) {
				columns[k].decoding = asBytes.with("layouts of the table encode it in different ways.")
			}
			continue
		}
		taken := func(name string) bool {
			return slices.ContainsFunc(columns, func(have storedColumn) bool { return strings.EqualFold(have.name, name) })
		}
		columns = append(columns, storedColumn{c.Qualifier, freeName(columnName(l.Schema, &c), taken), d})
	}
	return columns
}

// columnName returns the name of a column in queries: its own if that is valid, or else the name
// of its field.
func columnName(l *layout.Layout, c *layout.Column) string {
	if valid := identifier(c.Qualifier); valid == c.Qualifier || c.Field < 0 || c.Was != nil {
		return valid
	}
	return l.Fields[c.Field].Name
}

// freeName returns a name with a number if it is taken.
func freeName(name string, taken func(name string) bool) string {
	for n, own := 2, name; ; n++ {
		if !taken(own) {
			return own
		}
		own = name + "_" + strconv.Itoa(n)
	}
}

// decodingOf returns how BigQuery decodes the cells of a column. What it would not decode exactly
// remains BYTES.
func (r *renderer) decodingOf(l layout.StoredLayout, c *layout.Column) decoding {
	switch c.Field {
	case layout.WholeEvent:
		return r.decodingOfEvents(l)
	case layout.WrittenAt:
		return fieldDecoding(&layout.Field{Type: schema.Timestamp}, c.Values)
	}
	f := &l.Schema.Fields[c.Field]
	if c.Was != nil {
		f = c.Was
	}
	return fieldDecoding(f, c.Values)
}

// decodingOfEvents returns how serialized events are decoded.
func (r *renderer) decodingOfEvents(l layout.StoredLayout) decoding {
	switch bundle := r.bundle(l.Table.ID); {
	case l.Table.Blob == layout.JSONText:
		return decoding{Type: "JSON", Encoding: "TEXT"}
	case bundle == "":
		return asBytes.with("events in protobuf. With a schema_bundle in the table, they would be JSON.")
	default:
		return decoding{Type: "JSON", Encoding: "PROTO_BINARY", ProtoConfig: &protoConfig{bundle, protofile.NameOf(l.Schema)}}
	}
}

// fieldDecoding returns how the values of a field are decoded.
func fieldDecoding(f *layout.Field, as codec.Values) decoding {
	switch as {
	case codec.TextValues:
		return valueTypes[f.Type].queryText
	case codec.BigEndianValues:
		return asBytes.with("a number of 4 bytes, big-endian.")
	case codec.LittleEndianValues:
		return asBytes.with("a number in little-endian bytes.")
	case codec.OpenTSDBValues:
		return asBytes.with("the value of an event, or those of several, as OpenTSDB stores them.")
	}
	return valueTypes[f.Type].query(f)
}

// enumValues lists the values of an enum.
func enumValues(f *layout.Field) string {
	var values []string
	for _, v := range f.Enum {
		values = append(values, fmt.Sprintf("%d is %s", v.Number, v.Name))
	}
	return words.List(values, "and")
}
