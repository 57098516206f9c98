package setup

import (
	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/store"
)

// structType converts a row key schema to the client's type; nil for none.
func structType(k *store.KeySchema) *bigtable.StructType {
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
func compareKeySchema(t store.Table, live *liveTable) []Change {
	want := structType(t.KeySchema)
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
