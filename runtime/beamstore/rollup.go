package beamstore

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// RollupOptions specify how to summarize events.
type RollupOptions struct {
	// All is that of store.RollupOptions.
	All bool
	// Replicated waits for replication, on an instance with several clusters.
	Replicated bool
	// SkipUndecodable counts buckets that cannot be decoded, in the metric undecodable, and leaves them. Otherwise, they
	// fail the pipeline.
	SkipUndecodable bool
	// Wait replaces the wait, in tests that write nothing meanwhile; 0 for all of it.
	Wait time.Duration
}

// Rollup summarizes the buckets of the tables with a rollup that have ended and have changed, by the rules of
// [store.Rollup]. It first stores which buckets have changed. When all of them are known, it waits until no program can be
// writing the changes that it has seen, and then summarizes them on all workers. The connection needs an app profile that
// routes to a single cluster, that of all other programs that summarize, and allows single-row transactions.
//
// A bundle that is executed again and a pipeline that is started again summarize only what is left.
//
// The error is store.ErrNoRollup if no table has a rollup.
func (s *Schema[E]) Rollup(scope beam.Scope, conn Connection, o RollupOptions) error {
	scope = scope.Scope("btgen.Rollup")
	j := job{opened: opened{Conn: conn.resolved()}, Schema: s.Name, Rollup: &o}
	if err := j.open(nil); err != nil {
		return err
	}
	j.build(scope)
	return nil
}
