package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
)

// Rows of an earlier layout are readable, and those of a layout that the schema lacks are not.
func TestEarlierLayouts(t *testing.T) {
	days := cells
	hours := strings.Replace(days, `{every: 1d, label: "2006-01-02"}`, "1h", 1)
	b := written(t, days)
	for _, tt := range []struct {
		name, yaml string
		readable   bool
	}{
		{"hours alone", hours, false},
		{"hours, and days before", hours + "    since: 2027-01-11\n    before: [{bucket: 1d}]\n", true},
	} {
		l := dynamictest.Resolve(t, []byte(tt.yaml))
		var schemas []verify.Schema
		for _, p := range l.AllPeriods() {
			schemas = append(schemas, verify.Schema{Layout: dynamic.New(l).Layout(), Table: p})
		}
		report, err := verify.Table(t.Context(), b.Client, schemas, verify.Options{Rows: 100, Timeout: time.Minute})
		must(t, err)
		assert.Same(t, tt.readable, len(report.Findings) == 0 && report.Rows.Total > 0, tt.name, report)
	}
}
