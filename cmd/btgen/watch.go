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

// watch calls generate immediately, and again whenever a schema or btgen.yaml has changed,
// until the process is interrupted. It prints findings and failures, and continues.
//
// It polls the files instead of subscribing to notifications, which also works on network
// file systems, in containers, and for folders that are added later.
func watch(cmd *cobra.Command, paths []string, out string, generate func() error) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: watching the schemas; interrupt to stop\n", cmd.Root().Name())
	var seen snapshot
	for first := true; ; first = false {
		begin := time.Now()
		now := takeSnapshot(paths, out)
		if first || !now.equal(seen) {
			seen = now
			if err := generate(); !errors.Is(err, context.Canceled) {
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

// snapshot is the input of generated code.
type snapshot struct {
	texts  map[string]string // schemas by path
	out    string            // output folders, and whether the runtime is copied there
	failed string            // why the schemas could not be read; empty if they could
}

// takeSnapshot reads the schemas of a project.
func takeSnapshot(paths []string, out string) snapshot {
	p, err := project.Load(paths, out)
	if err != nil {
		return snapshot{failed: err.Error()}
	}
	parts, err := p.Parts()
	if err != nil {
		return snapshot{failed: err.Error()}
	}
	s := snapshot{texts: map[string]string{}}
	for _, part := range parts {
		s.out += fmt.Sprintf("%q %t ", part.Out, part.Vendored())
	}
	for _, in := range p.Inputs {
		s.texts[in.Name] = string(in.Text)
	}
	return s
}

// equal reports whether two snapshots result in the same code.
func (s snapshot) equal(o snapshot) bool {
	return s.out == o.out && s.failed == o.failed && maps.Equal(s.texts, o.texts)
}
