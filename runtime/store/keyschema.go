package store

import (
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

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

// equal reports whether two schemas define the same columns; neither may be nil.
func (k *KeySchema) equal(other *KeySchema) bool {
	return k.Delimiter == other.Delimiter && slices.Equal(k.Fields, other.Fields)
}

// structType converts the schema to the client's type; nil for none.
func (k *KeySchema) structType() *bigtable.StructType {
	if k == nil {
		return nil
	}
	t := &bigtable.StructType{Encoding: bigtable.StructOrderedCodeBytesEncoding{}}
	if k.Delimiter != "" {
		t.Encoding = bigtable.StructDelimitedBytesEncoding{Delimiter: []byte(k.Delimiter)}
	}
	for _, f := range k.Fields {
		field := bigtable.StructField{FieldName: f.Name, FieldType: bigtable.StringType{Encoding: bigtable.StringUtf8BytesEncoding{}}}
		if f.Bytes {
			field.FieldType = bigtable.BytesType{Encoding: bigtable.RawBytesEncoding{}}
		}
		t.Fields = append(t.Fields, field)
	}
	return t
}

// compareKeySchema returns the change of a table's row key schema, if any. Bigtable
// allows adding one at any time, but not changing it.
func compareKeySchema(t Table, live liveTable) []Change {
	want := t.KeySchema.structType()
	switch {
	case want == nil:
		return nil
	case live.keySchema == nil:
		return []Change{{Kind: AddKeySchema, Table: t.ID, KeySchema: t.KeySchema}}
	case bigtable.Equal(*want, *live.keySchema):
		return nil
	}
	c := Change{Kind: ChangeKeySchema, Table: t.ID, KeySchema: t.KeySchema}
	c.hazard("row_key_schema", "", "it has a different one, which Bigtable cannot change")
	return []Change{c}
}
