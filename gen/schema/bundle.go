package schema

import "github.com/btgen-dev/btgen/gen/diag"

// Bundle is the schema bundle of a table, with the messages of its events for SQL.
type Bundle struct {
	Pos  diag.Pos // not set if the file has none
	ID   string
	Drop bool // setup deletes it
}

// Same reports whether two bundles, of which neither may be missing, are the same.
func (b Bundle) Same(other Bundle) bool { return b.ID == other.ID && b.Drop == other.Drop }

// bundleIDForm is the ID of a schema bundle.
var bundleIDForm = idForm("a schema bundle", `^[_A-Za-z0-9][-_.A-Za-z0-9]{0,49}$`, "is up to 50 letters, digits and _ - .", "schema_bundle: events")

// bundleBlock is the long form of a schema bundle, which deletes it.
var bundleBlock = block[Bundle]{
	what:  "a schema bundle",
	begin: func(pos diag.Pos, b *Bundle) { b.Pos, b.Drop = pos, true },
	keys: []key[Bundle]{
		must(set("drop", bundleIDForm, func(b *Bundle) *string { return &b.ID })),
	},
}

// bundleForm is the form of a schema bundle.
var bundleForm = either(scalar, as(bundleIDForm,
	func(id string, pos diag.Pos) Bundle { return Bundle{Pos: pos, ID: id} }, func(b Bundle) string { return b.ID }),
	record(bundleBlock), func(b Bundle) bool { return !b.Drop })
