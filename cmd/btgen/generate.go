package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/neighbor"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime"
)

// newGenerate returns the command generate.
func newGenerate() *cobra.Command {
	var out string
	var prune, watching bool
	var changes accepting
	cmd := &cobra.Command{
		Use:         "generate [path...]",
		Short:       "Generate the code of the schemas",
		Annotations: cli.Once(),
		Long: `Generate the code of the schemas. Either all files are written or none. Files that
btgen has not generated, or that belong to another project, are never changed. The
code of deleted schemas is removed; for more than one schema, this requires --prune.
A run that had nothing to do is not repeated until a file that it has read changes; the
user's cache folder remembers it.

The file btgen.lock records how events are stored. A change that would make stored
events unreadable, wrong or deleted is an error, unless --accept names it.
The clock is not read. With --now, layouts by time that have expired at that time can be
removed, and those that have not begun can be removed or begin at another time.

With --watch, keep running until interrupted, and generate the code again whenever a
schema or btgen.yaml changes.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			generate := func() error {
				changed, err := runGenerate(cmd, paths, out, prune, changes)
				if !changed && err == nil && !watching {
					cli.MayRepeat(cmd)
				}
				return err
			}
			if watching {
				ctx, stop := interruptible(cmd.Context())
				defer stop()
				return watch(ctx, cmd, func() snapshot { return takeSnapshot(paths, out, outputs) }, generate)
			}
			return generate()
		},
	}
	outFlag(cmd, &out)
	cmd.Flags().BoolVar(&prune, "prune", false, "remove the code of deleted schemas, even if there are several")
	cmd.Flags().StringVar(&changes.now, "now", "", "accept the removal of layouts that have expired, and changes of those that have not begun, at a `time` such as 2027-01-11T00:00:00Z")
	cmd.Flags().StringArrayVar(&changes.names, "accept", nil, "accept a `change` of stored data by its name, with a reason: E04:table=reason; can be repeated")
	cmd.Flags().BoolVar(&watching, "watch", false, "generate again whenever a schema changes, until interrupted")
	cli.Exclusive(cmd, "an acceptance and a time are for one run, and --watch repeats it", "accept", "watch")
	cli.Exclusive(cmd, "an acceptance and a time are for one run, and --watch repeats it", "now", "watch")
	return cmd
}

// accepting is what allows changes of stored data.
type accepting struct {
	names []string // changes, with reasons
	now   string   // a time, which decides which layouts have begun or expired; may be empty
}

// clock returns the time; zero if there is none.
func (a accepting) clock() (time.Time, error) {
	if a.now == "" {
		return time.Time{}, nil
	}
	now, err := time.Parse(time.RFC3339, a.now)
	if err != nil {
		return now, fmt.Errorf("--now %s: want a time such as 2027-01-11T00:00:00Z", a.now)
	}
	return now, nil
}

// runGenerate generates code, and reports whether any file has changed. It holds the locks of the modules
// while it reads schemas and writes files.
func runGenerate(cmd *cobra.Command, paths []string, out string, prune bool, accept accepting) (changed bool, err error) {
	modules, err := project.Modules(paths, out)
	if err != nil {
		return false, err
	}
	for _, module := range modules {
		unlock, err := output.Lock(module)
		if err != nil {
			return false, err
		}
		defer unlock()
	}
	progress := cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
	defer progress.Stop()
	c, err := compare(cmd, progress, paths, out, accept)
	if err != nil {
		return false, err
	}
	if !prune {
		if err := c.changes.CheckRemovals(); err != nil {
			return false, err
		}
	}
	progress.Step("writing %s", count(len(c.changes.Steps), "file"))
	if err := cli.Commit(cmd.Context(), c.changes); err != nil {
		return false, err
	}
	progress.Stop()
	c.note(cmd)
	created, updated, removed := c.changes.Changed()
	return created+updated+removed > 0, c.print(cmd)
}

// print prints how many files have changed, which tables are locked for the first time, and how
// to require a missing runtime.
func (c *comparison) print(cmd *cobra.Command) error {
	if c.lacks(func(t *project.Target) bool { return t.LacksRuntime }) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: the code imports the runtime, which go.mod does not require; run: go get %s\n", cmd.Root().Name(), cli.ModuleVersion())
	}
	if c.lacks(func(t *project.Target) bool { return t.LacksBeam }) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: the code for pipelines imports a module that go.mod does not require; run: go get %s@latest\n", cmd.Root().Name(), runtime.BeamModule)
	}
	created, updated, removed := c.changes.Changed()
	if created+updated+removed == 0 {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: all %s up to date\n", count(c.schemas, "schema"), count(len(c.changes.Steps), "file"))
		return err
	}
	text := fmt.Sprintf("%s: %d of %s created, %d updated, %d removed\n",
		count(c.schemas, "schema"), created, count(len(c.changes.Steps)-removed, "file"), updated, removed)
	for _, line := range c.locking.Notes() {
		text += line + "\n"
	}
	_, err := io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// newCheck returns the command check.
func newCheck() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:         "check [path...]",
		Short:       "Check that the code is up to date",
		Annotations: cli.Once(),
		Long: `Compare the generated code and btgen.lock with the schemas. If a file is missing, was
edited or should be removed, print a unified diff and exit with 1. A change that would
make stored events unreadable, wrong or deleted is an error. No file is changed.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			progress := cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
			defer progress.Stop()
			c, err := compare(cmd, progress, paths, out, accepting{})
			if err != nil {
				return err
			}
			progress.Stop()
			c.note(cmd)
			cli.MayRepeat(cmd)
			return printDiff(cmd.OutOrStdout(), c.changes)
		},
	}
	outFlag(cmd, &out)
	return cmd
}

// printDiff prints changes. If there are any, it returns ErrFindings.
func printDiff(stdout io.Writer, changes *output.Changes) error {
	diff := changes.Diff()
	if len(diff) == 0 {
		return nil
	}
	if _, err := stdout.Write(diff); err != nil {
		return err
	}
	return cli.ErrFindings
}

// outFlag adds the flag for the output folder.
func outFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", `output folder (default "generated")`)
}

// comparison is what a run of generate would change.
type comparison struct {
	parts   []part
	changes *output.Changes // that bring all up to date
	locking *cli.Locking
	schemas int
	schema  string // the file of one of them
}

// part is one project of a run.
type part struct {
	target  *project.Target
	changes *output.Changes
}

// lacks reports whether any module lacks a requirement.
func (c *comparison) lacks(requirement func(*project.Target) bool) bool {
	return slices.ContainsFunc(c.parts, func(p part) bool { return requirement(p.target) })
}

// compare compares the schemas with the generated code and the locks. It prints the findings in
// the schemas, and the changes that their locks forbid unless accept names them.
func compare(cmd *cobra.Command, progress *cli.Progress, paths []string, out string, accept accepting) (*comparison, error) {
	now, err := accept.clock()
	if err != nil {
		return nil, err
	}
	progress.Step("reading schemas")
	p, err := project.Load(paths, out)
	if err != nil {
		return nil, err
	}
	parts, err := p.Parts()
	if err != nil {
		return nil, err
	}
	c := &comparison{schemas: len(p.Inputs), schema: filepath.FromSlash(p.Inputs[0].Name)}
	var layouts []*layout.Layout
	var all []*output.Changes
	for _, one := range parts {
		target, result, err := generated(cmd, progress, one)
		if err != nil {
			return nil, err
		}
		progress.Step("comparing %s", count(len(result.Files), "file"))
		changes, err := output.Compare(target.Dir, result.Files, target)
		if err != nil {
			return nil, err
		}
		layouts, all = append(layouts, result.Layouts...), append(all, changes)
		c.parts = append(c.parts, part{target, changes})
	}
	c.changes = output.Join(all...)
	if c.locking, err = cli.CompareLocks(p, layouts, accept.names, c.changes.Locked(), now); err != nil {
		return nil, err
	}
	if err := cli.Report(cmd.OutOrStdout(), p, c.locking.Found); err != nil {
		return nil, err
	}
	for _, step := range c.locking.Steps {
		if err := c.changes.Add(step); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// generated returns the code of one project of a run, with the files for other tools.
func generated(cmd *cobra.Command, progress *cli.Progress, p *project.Project) (*project.Target, gen.Result, error) {
	target, err := p.Target()
	if err != nil {
		return nil, gen.Result{}, err
	}
	progress.Step("generating the code of %s", count(len(p.Inputs), "schema"))
	result, err := gen.Generate(p.Inputs, target.Target)
	if err != nil {
		return nil, result, err
	}
	if err := cli.Report(cmd.OutOrStdout(), p, result.Diagnostics); err != nil {
		return nil, result, err
	}
	result.Files, err = withNeighbors(cmd, p, target, result)
	return target, result, err
}

// withNeighbors returns the files of a result, and those for other tools that btgen.yaml requests.
// These are about all schemas of the project, so a run without some of them leaves them alone.
func withNeighbors(cmd *cobra.Command, p *project.Project, target *project.Target, result gen.Result) ([]output.File, error) {
	config := p.Config()
	switch {
	case !neighbor.Wanted(result.Layouts, config):
		return result.Files, nil
	case !target.Whole():
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: files for other tools are about all schemas of the project, and were left alone; run: btgen %s\n", cmd.Root().Name(), cmd.Name())
		return result.Files, nil
	}
	more, found := neighbor.Files(result.Layouts, config)
	found.Sort()
	return append(result.Files, more...), cli.Report(cmd.OutOrStdout(), p, found)
}

// note prints which locks git ignores, and which generated files are left alone although they may be
// unused.
func (c *comparison) note(cmd *cobra.Command) {
	print := func(format, path string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: "+format+"\n", cmd.Root().Name(), words.Printable(filepath.ToSlash(path)))
	}
	for _, path := range c.locking.Paths {
		if project.Ignored(path) && !project.Ignored(c.schema) {
			print("git ignores %s, so that a new checkout begins without what is known of stored events; remove its pattern from .gitignore, or add !btgen.lock, and check the file in", path)
		}
	}
	for _, path := range c.changes.Orphans {
		print("%s was left alone, although its schema and project no longer exist; remove it if it is unused", path)
	}
	for _, p := range c.parts {
		if !p.changes.New() {
			continue
		}
		for _, dir := range p.target.Elsewhere() {
			print("code of these schemas is also in %s; if the output folder has moved, remove that code, which is no longer updated", dir)
		}
	}
}

// count formats a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
