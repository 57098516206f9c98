package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/schema"
)

// Prices are amounts of the user's currency by name, as [schema.PriceNames] lists them. A
// missing price is unknown.
type Prices map[string]float64

// Check returns an error for the first unknown name.
func (p Prices) Check() error {
	for name := range p {
		if !slices.Contains(schema.PriceNames, name) {
			return fmt.Errorf("unknown price %q: want %s", name, strings.Join(schema.PriceNames, ", "))
		}
	}
	return nil
}

// monthHours is the average length of a month: 365 days in 12 months.
const monthHours = 730

// gib is the unit of storage that Google charges for.
const gib = 1 << 30

// Price sets the monthly costs of a plan, for the storage types with known prices.
func (p *Plan) Price(prices Prices) {
	for i := range p.Nodes {
		c := &p.Nodes[i]
		storage := prices[strings.ReplaceAll(strings.ToLower(c.Type), " ", "_")+"_gib_month"]
		if node := prices["node_hour"]; storage > 0 && node > 0 {
			cost := float64(p.Clusters) * (float64(c.LowLatency)*node*monthHours + p.largest()/gib*storage)
			c.MonthlyCost = &cost
		}
	}
}
