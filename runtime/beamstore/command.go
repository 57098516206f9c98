package beamstore

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/btgen-dev/btgen/runtime/store"
)

// Main runs the pipeline that the flags of the program describe. It parses them, so the
// program must define its own before. run is usually beamx.Run. In a worker, Main does not
// return.
func (s *Schema[E]) Main(ctx context.Context, run func(context.Context, *beam.Pipeline) error) error {
	var c command
	c.define(flag.CommandLine)
	flag.Parse()
	beam.Init()
	p, scope := beam.NewPipelineWithRoot()
	if err := c.check(); err != nil {
		return err
	}
	if err := build(s, scope, &c); err != nil {
		return err
	}
	return run(ctx, p)
}

// command contains the flags of a program.
type command struct {
	pipeline        string
	conn            Connection
	from, to        time.Time
	source, targets string
	output          string
	files           int
	skipUndecodable bool
	repair, renew   bool
	timeout         time.Duration
	all, replicated bool
	wait            time.Duration
}

// define defines the flags.
func (c *command) define(f *flag.FlagSet) {
	f.StringVar(&c.pipeline, "pipeline", "", "backfill, rollup, delete or export")
	f.StringVar(&c.conn.Project, "bigtable_project", "", "project of the Bigtable instance")
	f.StringVar(&c.conn.Instance, "bigtable_instance", "", "Bigtable instance")
	f.StringVar(&c.conn.AppProfile, "bigtable_app_profile", "", "app profile of all requests (default: that of the instance)")
	f.StringVar(&c.conn.TablePrefix, "table_prefix", "", "prefix of the table IDs")
	f.Func("from", "time of the first event, in RFC 3339 (default: all earlier events)", moment(&c.from))
	f.Func("to", "time after the last event, in RFC 3339 (default: now; required by delete)", moment(&c.to))
	f.StringVar(&c.source, "source", "", "table to read (default: the one that the reader uses)")
	f.StringVar(&c.targets, "targets", "", "tables to fill, separated by commas (default: all but the source)")
	f.StringVar(&c.output, "output", "", "beginning of the names of exported files")
	f.IntVar(&c.files, "files", 1, "number of exported files")
	f.BoolVar(&c.repair, "repair", false, "backfill: write only what differs, and delete from any target what the source lacks")
	f.BoolVar(&c.renew, "renew_ages", false, "backfill: allow targets in which ages count from the write")
	f.DurationVar(&c.timeout, "timeout", store.DefaultTimeout, "backfill: the time limit of requests; the pipeline waits three times as long for late ones")
	f.BoolVar(&c.all, "all", false, "rollup: also summarize buckets whose summary is missing, or differs from their events")
	f.BoolVar(&c.replicated, "replicated", false, "rollup: wait for replication, for an instance with several clusters")
	f.DurationVar(&c.wait, "wait", 0, "rollup: instead of the wait, in tests that write nothing meanwhile")
	f.BoolVar(&c.skipUndecodable, "skip_undecodable", false, "count events that cannot be decoded, instead of failing")
}

// moment returns a function that parses a time.
func moment(to *time.Time) func(string) error {
	return func(text string) (err error) {
		*to, err = time.Parse(time.RFC3339Nano, text)
		return err
	}
}

// FlagError reports a missing or unknown value of a flag.
type FlagError struct{ Flag, Reason string }

// Error names the flag and what to do.
func (e *FlagError) Error() string { return fmt.Sprintf("--%s %s", e.Flag, e.Reason) }

// check returns an error if a flag is missing.
func (c *command) check() error {
	switch {
	case c.pipeline == "":
		return &FlagError{"pipeline", "is required: backfill, rollup, delete or export"}
	case c.conn.Project == "":
		return &FlagError{"bigtable_project", "is required"}
	case c.conn.Instance == "":
		return &FlagError{"bigtable_instance", "is required"}
	case c.timeout <= 0:
		return &FlagError{"timeout", "must be positive"}
	case c.pipeline != "backfill" && (c.repair || c.renew):
		return &FlagError{"repair", "and --renew_ages are options of --pipeline backfill"}
	case c.pipeline != "rollup" && (c.all || c.replicated || c.wait > 0):
		return &FlagError{"all", "and --replicated are options of --pipeline rollup"}
	case c.pipeline == "rollup" && (!c.from.IsZero() || !c.to.IsZero() || c.source != ""):
		return &FlagError{"from", "and --source cannot be used: all buckets that have changed are summarized"}
	case c.pipeline == "delete" && c.to.IsZero():
		return &FlagError{"to", "is required: events before this time are deleted, of all series"}
	case c.pipeline == "delete" && c.source != "":
		return &FlagError{"source", "cannot be used: events are deleted from all tables"}
	case c.pipeline == "export" && c.output == "":
		return &FlagError{"output", "is required: files are named OUTPUT-00000-of-00001.ndjson"}
	}
	return nil
}

// build adds the pipeline.
func build[E any](s *Schema[E], scope beam.Scope, c *command) error {
	switch c.pipeline {
	case "backfill":
		o := BackfillOptions{From: c.from, To: c.to, Source: c.source, SkipUndecodable: c.skipUndecodable,
			Repair: c.repair, RenewAges: c.renew, Timeout: c.timeout}
		if c.targets != "" {
			o.Targets = strings.Split(c.targets, ",")
		}
		return s.Backfill(scope, c.conn, o)
	case "rollup":
		return s.Rollup(scope, c.conn, RollupOptions{All: c.all, Replicated: c.replicated, SkipUndecodable: c.skipUndecodable, Wait: c.wait})
	case "delete":
		return s.Delete(scope, c.conn, DeleteOptions{From: c.from, To: c.to, SkipUndecodable: c.skipUndecodable})
	case "export":
		read := ReadOptions{From: c.from, To: c.to, Table: c.source, SkipUndecodable: c.skipUndecodable}
		return s.Export(scope, c.conn, ExportOptions{ReadOptions: read, Path: c.output, Files: c.files})
	}
	return &FlagError{"pipeline", fmt.Sprintf("%s is unknown: write backfill, rollup, delete or export", c.pipeline)}
}
