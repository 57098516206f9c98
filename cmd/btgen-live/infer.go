package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
)

// Limits of the sample that infer holds in memory.
const (
	inferredCells    = 1_000_000
	inferredBytes    = 256 << 20
	inferredRow      = 100_000 // cells of a row
	inferredVersions = 1000    // cells of a column in a row
)

// newInfer returns the command infer.
func newInfer() *cobra.Command {
	var n inference
	cmd := command("infer", n.run)
	cmd.Args = cli.AtMost(1)
	n.optional(cmd, "app `profile` of the reads")
	cmd.Flags().StringVar(&n.table, "table", "", "`ID` of the table, without the prefix")
	cmd.Flags().StringVar(&n.sampling.Prefix, "key-prefix", "", "read only rows whose keys begin with this `text`, for a table with several kinds of rows")
	cmd.Flags().Var(number(&n.sampling.Rows, defaultSample, 1, 0), "sample", fmt.Sprintf("maximum number of `rows` to read; of a file, lines, by default %d", inferredLines))
	cmd.Flags().Var(number(&n.versions, inferredVersions, 1, 0), "versions", "maximum number of `cells` to read of a column in a row, the newest")
	cmd.Flags().StringVar(&n.out, "out", "", "write the schema to this `file`, which must not exist, and print the shares")
	n.input.add(cmd)
	cmd.Flags().StringSliceVar(&n.series, "series", nil, "`columns` of CSV that tell one series from another, or name=value for one that the file lacks")
	cmd.Flags().StringVar(&n.timeColumn, "time-column", "", "`column` of CSV with the time")
	return cmd
}

// inference are the flags of the command infer.
type inference struct {
	target
	table, out string
	file       string // with events, or - for stdin
	versions   int
	sampling   verify.Sampling
	input      inputFlags
	series     []string
	timeColumn string
}

// run proposes a schema.
func (n *inference) run(cmd *cobra.Command, args []string) error {
	if _, err := os.Lstat(n.out); n.out != "" && err == nil {
		return fmt.Errorf("--out %s: the file exists", n.out)
	}
	propose := n.proposeTable
	if len(args) == 1 {
		n.file, propose = args[0], n.proposeFile
	}
	p, err := propose(cmd)
	if err != nil {
		return err
	}
	return n.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), p)
}

// proposeTable proposes a schema for a table.
func (n *inference) proposeTable(cmd *cobra.Command) (*infer.Proposal, error) {
	if n.table == "" {
		return nil, errors.New("no table is named: add --table T with the ID of the table for which to propose a schema, or the file with events of another system")
	}
	if err := n.required(); err != nil {
		return nil, err
	}
	progress := cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
	defer progress.Stop()
	progress.Step("reading up to %d rows of table %s%s", n.sampling.Rows, n.prefix, n.table)
	sample := infer.Sample{Table: n.table}
	err := n.withAdmin(cmd, func(ctx context.Context, admin *bigtable.AdminClient, client *bigtable.Client) error {
		if err := n.stored(ctx, admin, &sample); err != nil {
			return err
		}
		return n.read(ctx, client, &sample)
	})
	if err != nil {
		return nil, fmt.Errorf("table %s%s: %w", n.prefix, n.table, err)
	}
	return infer.Propose(sample)
}

// read reads the rows of the sample: whole ones, in order, up to the limits of memory.
func (n *inference) read(ctx context.Context, client *bigtable.Client, s *infer.Sample) error {
	n.sampling.Timeout = n.timeout
	n.sampling.Filter, n.sampling.RowCells = bigtable.LatestNFilter(n.versions), inferredRow
	n.sampling.Cells, n.sampling.Bytes = inferredCells, inferredBytes
	sampled, err := verify.Sample(ctx, client.OpenTable(n.prefix+n.table), n.sampling, func(row bigtable.Row) bool {
		s.Rows = append(s.Rows, row)
		return true
	})
	s.Sampled = &sampled
	slices.SortFunc(s.Rows, func(a, b bigtable.Row) int { return strings.Compare(a.Key(), b.Key()) })
	return err
}

// stored sets what the table itself tells: its column families without that of the sums of versions, its tier and
// its granularity.
func (n *inference) stored(ctx context.Context, admin *bigtable.AdminClient, s *infer.Sample) error {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	s.Families = map[string]codec.GCRule{}
	info, micros, err := setup.TableInfo(ctx, admin, n.prefix+n.table)
	if err == nil {
		s.Tier, s.Micros = setup.TierOf(info.TieredStorageConfig), micros
		for _, f := range info.FamilyInfos {
			_, aggregate := f.ValueType.(bigtable.AggregateType)
			if !aggregate || !strings.HasSuffix(f.Name, codec.VersionsFamily("")) {
				s.Families[f.Name] = setup.RuleOf(f.FullGCPolicy)
			}
		}
	}
	if status.Code(err) == codes.NotFound {
		if ids, failed := admin.Tables(ctx); failed == nil {
			slices.Sort(ids)
			err = fmt.Errorf("it does not exist, so there is no proposal; the tables of the instance are %s", listed(ids))
		}
	}
	return err
}

// print prints the schema, or writes its file and prints what it reads. It returns
// ErrFindings if it does not read everything.
func (n *inference) print(stdout, stderr io.Writer, p *infer.Proposal) error {
	r, err := p.Report, error(nil)
	summary := ""
	if r != nil {
		summary = reportText(r)
	}
	if p.Partial {
		summary = "some lines were not read: the first comments of the schema name them\n"
	}
	if len(p.Questions) > 0 {
		summary += fmt.Sprintf("%s in the schema\n", countOf(len(p.Questions), "question"))
	}
	if n.out == "" {
		_, err = stdout.Write(p.Schema)
		stdout = stderr
	} else {
		err = output.WriteNew(n.out, p.Schema)
	}
	if err == nil {
		_, err = io.WriteString(stdout, summary)
	}
	if err == nil && (p.Partial || r != nil && len(r.Findings) > 0) {
		err = cli.ErrFindings
	}
	return err
}
