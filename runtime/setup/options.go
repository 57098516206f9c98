package setup

import (
	"cmp"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Options configure [Setup]. The zero value is valid. If several are passed, the
// last one replaces the others.
type Options struct {
	// TablePrefix precedes every table ID, for example "staging_".
	TablePrefix string
	// Timeout limits each request, including its retries. 0 means
	// [store.DefaultTimeout]; with [store.NoTimeout], a call whose context has no deadline may retry forever.
	Timeout time.Duration
	// DryRun returns the plan without changing anything.
	DryRun bool
	// Allow contains the names of changes that are refused otherwise; see Change.Name.
	Allow []string
	// NoHistory neither reads nor writes the history of layouts; see [HistoryTable]. Then
	// nothing prevents an older program from setting up tables that a newer one has changed.
	NoHistory bool
	// AllowDrafts creates draft tables on any server, for tests. Otherwise, they are
	// created only if BIGTABLE_EMULATOR_HOST is set.
	AllowDrafts bool
	// ListBundles also reads the schema bundles of tables for which no schema declares one, so that
	// Plan.Unmanaged contains them, if there is permission to list them.
	ListBundles bool
	// Confirm is called with the plan, even if it is empty, before any change; nil means
	// no confirmation. If it returns an error, nothing is changed, and that error is
	// returned.
	Confirm func(Plan) error
	// Now is the clock for layouts by time, of which new ones must not have begun in existing
	// tables; time.Now if nil.
	Now func() time.Time
}

// setupOptions returns the options of a setup with their defaults filled in.
func defaults(opts []Options) Options {
	o := call.Last(opts)
	o.Timeout = cmp.Or(o.Timeout, store.DefaultTimeout)
	return o
}
