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

// storageName returns the name of the price of a GiB and month on a storage type.
func storageName(storage string) string {
	return strings.ReplaceAll(strings.ToLower(storage), " ", "_") + "_gib_month"
}

// The prices of both tiers.
var (
	ssdPrice        = storageName(Types[0].Name)
	infrequentPrice = storageName(Types[len(Types)-1].Name)
)

// lacks returns those of some prices that are unknown.
func (p Prices) lacks(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { _, known := p[name]; return known })
}

// StorageMonth returns what a month of bytes on SSD and in the infrequent access tier costs in one
// cluster, or the names of the prices that it takes and that are unknown.
func (p Prices) StorageMonth(ssd, infrequent float64) (cost float64, lacks []string) {
	takes := []string{ssdPrice}
	if infrequent > 0 {
		takes = append(takes, infrequentPrice)
	}
	return ssd/gib*p[ssdPrice] + infrequent/gib*p[infrequentPrice], p.lacks(takes...)
}

// Price sets the monthly costs of a plan, for the storage types with known prices.
func (p *Plan) Price(prices Prices) {
	p.LacksPrices = nil
	for i := range p.Nodes {
		c := &p.Nodes[i]
		all, cold := p.largest()
		name := storageName(c.Type)
		if c.tiered {
			name = ssdPrice
		} else {
			cold = 0
		}
		takes := []string{c.nodePrice, name}
		if c.tiered {
			takes = append(takes, infrequentPrice)
		}
		if lacks := prices.lacks(takes...); len(lacks) > 0 {
			if i == 0 && len(prices) > 0 {
				p.LacksPrices = lacks
			}
			continue
		}
		cost := float64(p.Clusters) * (float64(c.LowLatency)*prices[c.nodePrice]*monthHours + (all-cold)/gib*prices[name] + cold/gib*prices[infrequentPrice])
		c.MonthlyCost = &cost
	}
	p.save()
}
