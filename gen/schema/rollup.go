package schema

import (
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Rollup is how a table summarizes the events of each bucket.
type Rollup struct {
	Pos    diag.Pos             // not set if the file has none
	None   bool                 // the layout has no rollup, although the one above it has
	Every  Value[time.Duration] // width of windows
	Family Value[string]
	TTL    *TTL                 // of the family
	After  Value[time.Duration] // how long after its end a bucket is summarized
	Fields []Value[string]      // nil for all
	Serves Value[bool]
}

// DefaultAfter is how long after its end a bucket is summarized, unless the file says otherwise.
const DefaultAfter = 30 * time.Minute

// rollupBlock is the rollup of a table.
var rollupBlock = block[Rollup]{
	what: "a rollup",
	begin: func(pos diag.Pos, r *Rollup) {
		r.Pos, r.After.V = pos, DefaultAfter
	},
	keys: []key[Rollup]{
		must(put("every", lengthForm, func(r *Rollup) *Value[time.Duration] { return &r.Every })),
		must(put("family", filled("a family"), func(r *Rollup) *Value[string] { return &r.Family })),
		must(set("ttl", pointer(ttlForm(false)), func(r *Rollup) **TTL { return &r.TTL })),
		put("after", lengthForm, func(r *Rollup) *Value[time.Duration] { return &r.After }),
		set("fields", distinct(listOf("a list of fields", "write `fields: [temperature]`", located(filled("a field")))), func(r *Rollup) *[]Value[string] { return &r.Fields }),
		put("serves", boolean, func(r *Rollup) *Value[bool] { return &r.Serves }),
	},
}

// noRollup is the short form of a layout without a rollup.
var noRollup = as(word("rollup", []string{"none"}),
	func(_ string, pos diag.Pos) Rollup { return Rollup{Pos: pos, None: true} }, func(Rollup) string { return "none" })

// rollupForm is the form of a rollup.
var rollupForm = either(scalar, noRollup, record(rollupBlock), func(r Rollup) bool { return r.None })
