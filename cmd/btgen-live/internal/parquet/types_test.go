package parquet

import (
	"strings"
	"testing"
	"time"

	pqformat "github.com/parquet-go/parquet-go/format"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
)

// TestColumnTypes checks that each type has a column type.
func TestColumnTypes(t *testing.T) {
	for _, typ := range schema.Types() {
		if nodes[typ] == nil {
			t.Errorf("nodes lacks type %s", typ)
		}
	}
}

// TestNoUnit refuses times whose logical type has no unit, which a forged or damaged file may have, whatever the options say.
func TestNoUnit(t *testing.T) {
	for _, logical := range []pqformat.LogicalTypeValue{&pqformat.TimeType{}, &pqformat.TimestampType{}, &pqformat.TimestampType{IsAdjustedToUTC: true}} {
		from := "INT64 " + logical.String()
		for _, to := range schema.Types() {
			if _, err := find(from, to, &format.ReaderOptions{Unit: time.Second, Zone: time.UTC}); err == nil || !strings.Contains(err.Error(), "unit=) is no") {
				t.Errorf("%s as %s: %v", from, to, err)
			}
		}
	}
}
