package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
)

// Limits of the sample that infer holds in memory.
const (
	inferredBytes = 256 << 20
	inferredRow   = 100_000 // cells of a row
)

// inferSchema proposes a schema for a table, or for a file.
func inferSchema(_ context.Context, r *request) error {
	if _, err := os.Lstat(r.out); r.out != "" && err == nil {
		return fmt.Errorf("--out %s: the file exists", r.out)
	}
	propose := r.proposeForTable
	if len(r.args) == 1 {
		propose = r.proposeForFile
	}
	p, err := propose()
	if err != nil {
		return err
	}
	return r.printProposal(p)
}

// proposeForTable proposes a schema for a table.
func (r *request) proposeForTable() (*infer.Proposal, error) {
	if r.tableID == "" {
		return nil, errors.New("no table is named: add --table T with the ID of the table for which to propose a schema, " +
			"or the file with events of another system")
	}
	if err := cmp.Or(r.without("is for files", "format", "metric", "time-unit", "time-layout", "zone", "delimiter", "columns", "null", "series",
		"time-column"), r.required()); err != nil {
		return nil, err
	}
	defer r.step("reading up to %d rows of table %s%s", r.sample, r.prefix, r.tableID).Stop()
	sample := infer.Sample{Table: r.tableID}
	ctx, admin, err := r.connectBoth()
	if err == nil {
		err = r.inferStored(ctx, admin, &sample)
	}
	if err == nil {
		err = r.inferRows(ctx, &sample)
	}
	if err != nil {
		return nil, fmt.Errorf("table %s%s: %w", r.prefix, r.tableID, err)
	}
	return infer.Propose(sample)
}

// inferRows reads the rows of the sample: whole ones, in order, up to the limits of memory.
func (r *request) inferRows(ctx context.Context, s *infer.Sample) error {
	sampling := verify.Sampling{
		Rows: r.sample, Prefix: r.keyPrefix, Timeout: r.timeout, Filter: bigtable.LatestNFilter(r.versions), RowCells: inferredRow,
		Bytes: inferredBytes,
	}
	sampled, err := verify.Sample(ctx, r.client.OpenTable(r.prefix+r.tableID), sampling, func(row bigtable.Row) bool {
		s.Rows = append(s.Rows, row)
		return true
	})
	s.Sampled = &sampled
	slices.SortFunc(s.Rows, func(a, b bigtable.Row) int { return strings.Compare(a.Key(), b.Key()) })
	return err
}

// inferStored sets what the table itself tells: its column families without that of the sums of versions, its tier and
// its granularity.
func (r *request) inferStored(ctx context.Context, admin *bigtable.AdminClient, s *infer.Sample) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	s.Families = map[string]codec.GCRule{}
	info, micros, err := setup.TableInfo(ctx, admin, r.prefix+r.tableID)
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

// printProposal prints the schema, or writes its file and prints what it reads. It returns
// ErrFindings if it does not read everything.
func (r *request) printProposal(p *infer.Proposal) (err error) {
	stdout, summary := r.cmd.OutOrStdout(), ""
	if p.Report != nil {
		summary = reportText(p.Report)
	}
	if n := len(p.Unread); n > 0 {
		summary = fmt.Sprintf("%s of the sample %s not read, as in line %v\n", countOf(n, "line"), words.Plural(n, "is", "are"), p.Unread[0])
	}
	if len(p.Questions) > 0 {
		summary += fmt.Sprintf("%s in the schema\n", countOf(len(p.Questions), "question"))
	}
	if r.out == "" {
		_, err = stdout.Write(p.Schema)
		stdout = r.cmd.ErrOrStderr()
	} else {
		err = output.WriteNew(r.out, p.Schema)
	}
	if err == nil {
		_, err = io.WriteString(stdout, summary)
	}
	if err == nil && (p.Unread != nil || p.Report != nil && len(p.Report.Findings) > 0) {
		err = cli.ErrFindings
	}
	return err
}

// inferredLines is the number of lines of a file that infer reads by default.
const inferredLines = 10_000

// proposeForFile proposes a schema for the events in a file, or for a table definition in CQL.
func (r *request) proposeForFile() (*infer.Proposal, error) {
	shown, in, err := r.openInput()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	propose := r.proposeForRecords
	if strings.EqualFold(filepath.Ext(r.args[0]), ".cql") {
		propose = r.proposeForCQL
	}
	p, err := propose(shown, in)
	if err != nil {
		err = fmt.Errorf("%s: %w", shown, err)
	}
	return p, err
}

// proposeForCQL proposes a schema for a table definition.
func (r *request) proposeForCQL(_ string, in io.Reader) (*infer.Proposal, error) {
	if err := r.without("is for events, and this is a table definition", "format", "metric", "time-unit", "time-layout", "zone", "delimiter",
		"columns", "null", "series", "time-column", "sample", "key-prefix", "versions"); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, infer.MaxCQL+1))
	if err != nil {
		return nil, err
	}
	return infer.ProposeCQL(string(text), r.tableID, r.flagsToLoad()...)
}

// proposeForRecords proposes a schema for events.
func (r *request) proposeForRecords(name string, in io.Reader) (*infer.Proposal, error) {
	if err := r.without("is for tables, and this is a file", "table", "key-prefix", "versions"); err != nil {
		return nil, err
	}
	f, err := r.inputFormat(in, name)
	if err != nil {
		return nil, err
	}
	if !f.Cells && !f.Binary && (r.several != nil || r.timeColumn != "") {
		return nil, errors.New("--series and --time-column are for CSV")
	}
	if !f.Scans() {
		if err := format.Foreign(in); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("no schema is proposed for this format: use %s, or a .cql file",
			words.List(format.Names((*format.Format).Scans), "or"))
	}
	if strings.Contains(r.timeColumn, "+") {
		r.reader.CSV.Joined = []string{r.timeColumn}
	}
	limit := inferredLines
	if r.given("sample") {
		limit = r.sample
	}
	base := filepath.Base(name)
	return infer.ProposeRecords(infer.Records{
		Name: strings.TrimSuffix(base, filepath.Ext(base)), Title: words.Printable(base), Format: f, Input: in, Options: r.reader,
		Time: r.timeColumn, Series: r.several, Limit: limit, File: r.args[0],
		Flags: r.flagsToLoad("time-unit", "zone", "time-layout", "delimiter", "null", "columns"),
	})
}

// without returns an error if the command line has a flag that would be ignored.
func (r *request) without(why string, names ...string) error {
	for _, name := range names {
		if r.given(name) {
			return fmt.Errorf("--%s %s: leave it out", name, why)
		}
	}
	return nil
}

// flagsToLoad returns the flags of the command that loads the file which the command line has, and that of the schema.
func (r *request) flagsToLoad(names ...string) []string {
	flags := r.repeated(append(names, "project", "instance", "prefix", "app-profile", "timeout")...)
	if r.out != "" {
		flags = append(flags, "--schemas "+words.Shell(filepath.Dir(r.out)))
	}
	return flags
}
