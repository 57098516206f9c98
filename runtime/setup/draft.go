package setup

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/runtime/store"
)

// DraftError is the error for tables that are drafts: their layouts may still change freely, so
// stored events could become unreadable.
type DraftError struct {
	Tables []string // with their prefix, in the order of the schemas
}

// Error returns the names of the tables and what to do.
func (e *DraftError) Error() string {
	tables, them := "table "+e.Tables[0]+" is a draft", "it"
	if len(e.Tables) > 1 {
		tables, them = "tables "+strings.Join(e.Tables, ", ")+" are drafts", "them"
	}
	return fmt.Sprintf("%s, whose layout may still change; setup creates %s only on an emulator: remove draft: true from the schema and run btgen generate, or set setup.Options.AllowDrafts in tests", tables, them)
}

// CheckDrafts returns the *DraftError with which Setup refuses the tables, without sending a
// request; nil if there are no drafts, Options.AllowDrafts is set, or clients connect to an
// emulator.
func CheckDrafts(tables []store.Table, opts ...Options) error {
	o := defaults(opts)
	if o.AllowDrafts || os.Getenv(store.EmulatorVariable) != "" {
		return nil
	}
	var drafts []string
	for _, t := range tables {
		if id := o.TablePrefix + t.ID; t.Draft && !slices.Contains(drafts, id) {
			drafts = append(drafts, id)
		}
	}
	if drafts == nil {
		return nil
	}
	return &DraftError{drafts}
}
