package googlesql

import (
	"fmt"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Decoding is how BigQuery decodes cells. The zero value leaves them as BYTES.
type Decoding struct {
	Type        string       `json:"type,omitempty"`
	Encoding    string       `json:"encoding,omitempty"`
	ProtoConfig *ProtoConfig `json:"protoConfig,omitempty"`
	About       string       `json:"-"` // what the reader of a query must know; may be empty
}

// Equal reports whether cells are decoded in the same way.
func (d Decoding) Equal(other Decoding) bool {
	return d.Type == other.Type && d.Encoding == other.Encoding && (d.ProtoConfig == nil) == (other.ProtoConfig == nil)
}

// ProtoConfig is a BigtableProtoConfig.
type ProtoConfig struct {
	SchemaBundleID   string `json:"schemaBundleId"`
	ProtoMessageName string `json:"protoMessageName"`
}

// Decodings that BigQuery documents.
var (
	AsBytes   = Decoding{Type: "BYTES"}
	asString  = Decoding{Type: "STRING"}
	asInteger = Decoding{Type: "INTEGER", Encoding: "BINARY"}
	asFloat   = Decoding{Type: "FLOAT", Encoding: "BINARY"}
)

// With returns a decoding with a remark.
func (d Decoding) With(format string, args ...any) Decoding {
	d.About = fmt.Sprintf(format, args...)
	return d
}

// DecodingOf returns how the values of a field are decoded.
func DecodingOf(f *layout.Field, as codec.Values) Decoding {
	switch as {
	case codec.TextValues:
		return valueTypes[f.Type].column
	case codec.BigEndianValues:
		return AsBytes.With("a number of 4 bytes, big-endian.")
	case codec.LittleEndianValues:
		return AsBytes.With("a number in little-endian bytes.")
	}
	return valueTypes[f.Type].columnBinary(f)
}
