package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen/internal/designer"
	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/project"
)

// runServe serves the explanation of schemas until the command is interrupted.
func runServe(cmd *cobra.Command, f explainFlags, paths []string) error {
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	l, err := web.Listen(ctx, f.addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s/\n", l.Addr())
	page := designer.New()
	served := make(chan error, 1)
	go func() { served <- web.Serve(ctx, l, page, nil); stop() }()
	collectGarbage(100) // unlike a run that ends
	take := func() snapshot { return takeSnapshot(paths, "", f.explainedBeside) }
	err = watch(ctx, cmd, take, func() error { return f.draw(page, paths) })
	return errors.Join(err, <-served)
}

// explainedBeside returns what an explanation depends on beside the schemas: prices, when locks were written, and the earlier version.
func (f *explainFlags) explainedBeside(p *project.Project) (string, error) {
	out := fmt.Sprint(p.Prices(), cli.Earlier(f.against))
	locks, err := p.Locks()
	for _, l := range locks {
		if info, err := os.Stat(l.Path); err == nil {
			out += fmt.Sprintf(" %q %d %s", l.Path, info.Size(), info.ModTime())
		}
	}
	return out, err
}

// draw shows the schemas as they are now: first without simulations, which take longer.
func (f *explainFlags) draw(page *designer.Designer, paths []string) error {
	s := &designer.State{Source: func(string) []byte { return nil }}
	p, err := project.Load(paths, "")
	var prices capacity.Prices
	if err == nil {
		s.Source = p.Text
		prices, err = f.allPrices(p.Prices())
	}
	if err != nil {
		if !errors.As(err, &s.Findings) {
			s.Failure = err.Error()
		}
		return page.Show(s)
	}
	result := gen.Resolve(p.Inputs)
	s.Findings = result.Diagnostics
	if result.Diagnostics.HasErrors() {
		return page.Show(s)
	}
	f.compareWith(s, p)
	for _, hotspots := range []bool{false, true} {
		doc, err := explain.New(result.Schemas, result.Layouts, explain.Options{Prices: prices, Hotspots: hotspots})
		if err != nil {
			return err
		}
		s.Document = &doc.Document
		if err := page.Show(s); err != nil {
			return err
		}
	}
	return nil
}

// compareWith adds the changes since the earlier version.
func (f *explainFlags) compareWith(s *designer.State, p *project.Project) {
	s.Since = f.against
	if f.against == "lock" {
		s.Since = "btgen.lock"
		if !hasLock(p) {
			s.Since = "Nothing to compare with: btgen generate writes btgen.lock, with how events are stored."
			return
		}
	}
	changes, notes, err := cli.Changes(p, f.against, false, time.Now())
	if err != nil {
		s.Since = fmt.Sprintf("No comparison with %s: %v", s.Since, err)
		return
	}
	s.Changes, s.Notes, s.Compared = cli.ListOf(changes), notes, true
}

// hasLock reports whether any schema has a lock.
func hasLock(p *project.Project) bool {
	locks, err := p.Locks()
	for _, l := range locks {
		if _, missing := os.Lstat(filepath.FromSlash(l.Path)); err == nil && !errors.Is(missing, fs.ErrNotExist) {
			return true
		}
	}
	return err != nil // the comparison says it
}
