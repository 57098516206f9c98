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
	node := prices["node_hour"]
	of := func(storage string) float64 {
		return prices[strings.ReplaceAll(strings.ToLower(storage), " ", "_")+"_gib_month"]
	}
	for i := range p.Nodes {
		c := &p.Nodes[i]
		all, cold := p.largest()
		storage, slow := of(c.Type), 0.0
		if c.tiered {
			storage, slow = of(Types[0].Name), of(Types[len(Types)-1].Name)
		} else {
			cold = 0
		}
		if storage > 0 && node > 0 && (slow > 0 || !c.tiered) {
			cost := float64(p.Clusters) * (float64(c.LowLatency)*node*monthHours + (all-cold)/gib*storage + cold/gib*slow)
			c.MonthlyCost = &cost
		}
	}
	p.save()
}
