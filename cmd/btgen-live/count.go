package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newCount returns the command count.
func newCount() *cobra.Command {
	var c counting
	cmd := command("count", c.run)
	c.target.flags(cmd, "app `profile` of the reads")
	c.selection.flags(cmd)
	cmd.Flags().Var(number(&c.workers, store.DefaultWorkers, 1, 0), "workers", "number of ranges of row keys to read concurrently")
	return cmd
}

// counting are the flags of the command count.
type counting struct {
	target
	selection
	workers int
}

// tally counts events.
type tally struct {
	mu                          sync.Mutex // for all of it
	events, undecodable, marked int
	progress                    *meter
	begun                       time.Time
}

// run counts events.
func (c *counting) run(cmd *cobra.Command, args []string) error {
	s, err := c.resolve(args)
	if err != nil {
		return err
	}
	t := &tally{progress: newMeter(cmd), begun: time.Now()}
	err = c.with(cmd, func(ctx context.Context, client *bigtable.Client) error {
		defer t.progress.end()
		err := c.count(ctx, client, s, t)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("interrupted after %s", countOf(t.events, "event"))
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), t.events); err != nil {
		return err
	}
	if t.marked > 0 {
		t.progress.line("%s", markedText(t.marked))
	}
	return t.progress.undecodable(t.undecodable)
}

// countable yields the selected events without their values, where their number does not
// depend on them. Values that cannot be decoded are then no errors.
func (s *selected) countable(ctx context.Context, client store.Client, ro store.ReaderOptions) func(func(dynamic.Event, error) bool) {
	var o store.ReadOptions
	if !s.readTable().Metrics() {
		o.Fields = []store.Field{}
	}
	return s.events(ctx, client, ro, o)
}

// add counts the events of a row, or an undecodable one. It returns other errors.
func (t *tally) add(row *store.ScannedRow[dynamic.Event], err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if row.Marked {
		t.marked++
	}
	if isUndecodable(err) {
		t.undecodable++
		return nil
	}
	t.events += len(row.Events)
	t.progress.show(func() string { return rateText(t.events, "event", t.begun) })
	return err
}

// count counts what is selected.
func (c *counting) count(ctx context.Context, client store.Client, s *selected, t *tally) error {
	if s.of != ofTable {
		one := &store.ScannedRow[dynamic.Event]{Events: make([]dynamic.Event, 1)}
		for _, err := range s.countable(ctx, client, c.readerOptions()) {
			if err := t.add(one, err); err != nil {
				return err
			}
		}
		return nil
	}
	scanners, err := s.schema.NewScanners(client, s.table, c.readerOptions())
	if err != nil {
		return err
	}
	for _, scanner := range scanners {
		if err := scanner.Each(ctx, c.workers, s.from, s.to, t.add); err != nil {
			return err
		}
	}
	return nil
}
