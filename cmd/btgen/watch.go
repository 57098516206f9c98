package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/project"
)

// watch calls run immediately, and again whenever what take returns has changed, until ctx ends. It prints findings
// and failures, and continues.
//
// It polls the files instead of subscribing to notifications, which also works on network
// file systems, in containers, and for folders that are added later.
func watch(ctx context.Context, cmd *cobra.Command, take func() snapshot, run func() error) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: watching the schemas; interrupt to stop\n", cmd.Root().Name())
	var seen snapshot
	for first := true; ; first = false {
		begin := time.Now()
		now := take()
		if first || !now.equal(seen) {
			seen = now
			if err := run(); !errors.Is(err, context.Canceled) {
				cli.PrintError(cmd, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause(time.Since(begin))):
		}
	}
}

// pause returns how long to wait before reading the schemas again. Reading takes at most a
// tenth of the time, so that a large project does not keep a core busy.
func pause(reading time.Duration) time.Duration { return max(300*time.Millisecond, 9*reading) }

// interruptible returns a context that is canceled when the process is interrupted or terminated.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// snapshot is the input of a run.
type snapshot struct {
	texts  map[string]string // schemas by path
	more   string            // what else the run depends on
	failed string            // why the input could not be read; empty if it could
}

// takeSnapshot reads the schemas of a project, and what else a run depends on.
func takeSnapshot(paths []string, out string, more func(p *project.Project) (string, error)) snapshot {
	p, err := project.Load(paths, out)
	if err != nil {
		return snapshot{failed: err.Error()}
	}
	s := snapshot{texts: map[string]string{}}
	if s.more, err = more(p); err != nil {
		return snapshot{failed: err.Error()}
	}
	for _, in := range p.Inputs {
		s.texts[in.Name] = string(in.Text)
	}
	return s
}

// outputs returns the output folders of a project, and whether the runtime is copied there.
func outputs(p *project.Project) (string, error) {
	parts, err := p.Parts()
	var out string
	for _, part := range parts {
		out += fmt.Sprintf("%q %t ", part.Out, part.Vendored())
	}
	return out, err
}

// equal reports whether two snapshots have the same result.
func (s snapshot) equal(o snapshot) bool {
	return s.more == o.more && s.failed == o.failed && maps.Equal(s.texts, o.texts)
}
