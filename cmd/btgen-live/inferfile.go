package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/gen/words"
)

// inferredLines is the number of lines of a file that infer reads by default.
const inferredLines = 10_000

// proposeFile proposes a schema for the events in a file, or for a table definition in CQL.
func (n *inference) proposeFile(cmd *cobra.Command) (*infer.Proposal, error) {
	shown, in, err := input(cmd, []string{n.file})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	propose := n.proposeRecords
	if strings.EqualFold(filepath.Ext(n.file), ".cql") {
		propose = n.proposeCQL
	}
	p, err := propose(cmd, shown, in)
	if err != nil {
		err = fmt.Errorf("%s: %w", shown, err)
	}
	return p, err
}

// proposeCQL proposes a schema for a table definition.
func (n *inference) proposeCQL(cmd *cobra.Command, _ string, in io.Reader) (*infer.Proposal, error) {
	if n.series != nil || n.timeColumn != "" || n.input.format != "" {
		return nil, errors.New("--format, --series and --time-column are for files with events, and this is a table definition")
	}
	text, err := io.ReadAll(io.LimitReader(in, infer.MaxCQL+1))
	if err != nil {
		return nil, err
	}
	return infer.ProposeCQL(string(text), n.table, n.whereToLoad(cmd)...)
}

// proposeRecords proposes a schema for events.
func (n *inference) proposeRecords(cmd *cobra.Command, name string, in io.Reader) (*infer.Proposal, error) {
	f, err := n.input.choose(in, name)
	if err != nil {
		return nil, err
	}
	if !f.Cells && !f.Binary && (n.series != nil || n.timeColumn != "") {
		return nil, errors.New("--series and --time-column are for CSV")
	}
	if !f.Scans() {
		if err := format.Foreign(in); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("no schema is proposed for this format: use %s, or a .cql file",
			words.List(format.Names((*format.Format).Scans), "or"))
	}
	if strings.Contains(n.timeColumn, "+") {
		n.input.reader.CSV.Joined = []string{n.timeColumn}
	}
	scanner, err := f.Scan(in, n.input.reader)
	if err != nil {
		return nil, err
	}
	limit := inferredLines
	if cmd.Flags().Changed("sample") {
		limit = n.sampling.Rows
	}
	base := filepath.Base(name)
	return infer.ProposeRecords(infer.Records{
		Name: strings.TrimSuffix(base, filepath.Ext(base)), Title: words.Printable(base), Format: f, Scanner: scanner, Options: n.input.reader,
		Time: n.timeColumn, Series: n.series, Limit: limit, Flags: append(n.input.given(cmd), n.whereToLoad(cmd)...), File: n.file,
	})
}

// whereToLoad returns the flags of the command that loads the file which say where its schema and its table are.
func (n *inference) whereToLoad(cmd *cobra.Command) []string {
	flags := repeated(cmd, "project", "instance", "prefix")
	if n.out != "" {
		flags = append(flags, "--schemas "+words.Shell(filepath.Dir(n.out)))
	}
	return flags
}
