package explain

import (
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/protofile"
)

// Bundle says which messages SQL finds in the schema bundle of a table.
type Bundle struct {
	ID      string `json:"id"`
	Message string `json:"message,omitempty"` // of the events; empty if setup deletes the bundle
	Means   string `json:"means"`
}

// bundleOf explains the schema bundle of a table; nil if the schema does not specify it.
func bundleOf(l *layout.Layout, t *layout.Table) *Bundle {
	b := t.Bundle
	switch {
	case b.ID == "":
		return nil
	case b.Drop:
		return &Bundle{ID: b.ID, Means: "Setup deletes schema bundle " + b.ID + ", if it is permitted by name."}
	}
	message := protofile.NameOf(l)
	return &Bundle{b.ID, message, "Schema bundle " + b.ID + " has message " + message + ", so that GoogleSQL reads the fields of an event, as in CAST(… AS " + b.ID + "." + message + ").field, and BigQuery reads events as JSON."}
}
