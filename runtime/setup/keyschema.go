package setup

import (
	"context"

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
		return []Change{{Kind: "row_key_schema", Sign: "+", Table: t.ID, Says: t.KeySchema.String(), does: addKeySchema(*want)}}
	case bigtable.Equal(*want, *live.keySchema):
		return nil
	}
	c := Change{
		Kind: "row_key_schema", Sign: "~", Table: t.ID, Says: "→ " + t.KeySchema.String(),
		never: "first remove the existing one (gcloud beta bigtable tables update)",
	}
	c.hazard("row_key_schema", "", "it has a different one, which Bigtable cannot change")
	return []Change{c}
}

// addKeySchema adds a row key schema to a table without one.
func addKeySchema(schema bigtable.StructType) request {
	return func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error) {
		return r.keepingProtection(ctx, c, func(ctx context.Context) error {
			return r.admin.UpdateTableWithRowKeySchema(ctx, c.Table, schema)
		})
	}
}
