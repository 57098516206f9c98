// Package googlesql writes queries of GoogleSQL for Bigtable: those of logical views, which have the
// events of a table, and those of continuous materialized views, which have statistics of them. It
// knows which columns such queries can read; package neighbor writes their files.
package googlesql

import (
	"fmt"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// Query is a query.
type Query struct {
	Text    string   // with a final line break
	Remarks []string // sentences about its columns
}

// ColumnName returns the name of a column in queries: its own if that is valid, or else the name
// of its field.
func ColumnName(l *layout.Layout, c *layout.Column) string {
	if valid := words.Identifier(c.Qualifier); valid == c.Qualifier || c.Field < 0 || c.Was != nil {
		return valid
	}
	return l.Fields[c.Field].Name
}

// EnumValues lists the values of an enum.
func EnumValues(f *layout.Field) string {
	var values []string
	for _, v := range f.Enum {
		values = append(values, fmt.Sprintf("%d is %s", v.Number, v.Name))
	}
	return words.List(values, "and")
}
