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

// storage returns the price of a GiB and month on a storage type; 0 if it is unknown.
func (p Prices) storage(name string) float64 {
	return p[strings.ReplaceAll(strings.ToLower(name), " ", "_")+"_gib_month"]
}

// StorageMonth returns what a month of bytes on SSD and in the infrequent access tier costs in one
// cluster. It reports false if a price that this takes is unknown.
func (p Prices) StorageMonth(ssd, infrequent float64) (float64, bool) {
	warm, cold := p.storage(Types[0].Name), p.storage(Types[len(Types)-1].Name)
	return ssd/gib*warm + infrequent/gib*cold, warm > 0 && (cold > 0 || infrequent == 0)
}

// Price sets the monthly costs of a plan, for the storage types with known prices.
func (p *Plan) Price(prices Prices) {
	node := prices["node_hour"]
	for i := range p.Nodes {
		c := &p.Nodes[i]
		all, cold := p.largest()
		storage, slow := prices.storage(c.Type), 0.0
		if c.tiered {
			storage, slow = prices.storage(Types[0].Name), prices.storage(Types[len(Types)-1].Name)
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
