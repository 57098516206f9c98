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

// keySchema compares the row key schema. Bigtable allows adding one at any time, but not changing it.
func (c *comparison) keySchema() {
	switch want, have := structType(c.KeySchema), c.live.keySchema; {
	case want == nil && have != nil:
		c.leave("row key schema", unknown, "GoogleSQL reads row keys by it, and fails on others")
	case want == nil, have != nil && bigtable.Equal(*want, *have):
	case have == nil:
		c.add(Change{Kind: "row_key_schema", Sign: "+", Says: c.KeySchema.String(), does: addKeySchema(*want)})
	default:
		change := Change{
			Kind: "row_key_schema", Sign: "~", Says: "→ " + c.KeySchema.String(),
			never: "first remove the existing one (gcloud beta bigtable tables update)",
		}
		change.hazard("row_key_schema", "", "it has a different one, which Bigtable cannot change")
		c.add(change)
	}
}

// addKeySchema adds a row key schema to a table without one.
func addKeySchema(schema bigtable.StructType) request {
	return func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error) {
		return r.keepingProtection(ctx, c, func(ctx context.Context) error {
			return r.admin.UpdateTableWithRowKeySchema(ctx, c.Table, schema)
		})
	}
}
