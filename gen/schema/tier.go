package schema

import (
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Tier is where Bigtable keeps the cells of a table.
type Tier struct {
	Pos   diag.Pos             // not set if the file has none
	SSD   bool                 // all on SSD
	After Value[time.Duration] // older ones in the infrequent access tier
}

// tierBlock is the storage tiers of a table.
var tierBlock = block[Tier]{
	what:  "a tier",
	begin: func(pos diag.Pos, t *Tier) { t.Pos = pos },
	keys: []key[Tier]{
		must(inline("infrequent_access", block[Tier]{
			what: "the block infrequent_access",
			keys: []key[Tier]{
				must(put("after", ageForm, func(t *Tier) *Value[time.Duration] { return &t.After })),
			},
		})),
	},
}

// ssdForm is the short form of a tier.
var ssdForm = word("tier", []string{"ssd"}, func(text string) string {
	if age, ok := intended(text); ok {
		return "write " + diag.Code("tier: {infrequent_access: {after: "+age+"}}")
	}
	if strings.HasPrefix(text, "infrequent") || slices.Contains([]string{"cold", "ia", "archive"}, strings.ToLower(text)) {
		return "say from which age: `tier: {infrequent_access: {after: 60d}}`"
	}
	return ""
})

// tierForm is the form of a tier.
var tierForm = either(scalar, as(ssdForm,
	func(_ string, pos diag.Pos) Tier { return Tier{Pos: pos, SSD: true} }, func(Tier) string { return "ssd" }),
	record(tierBlock), func(t Tier) bool { return t.SSD })
