package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
)

// layouts returns the layouts of the schemas, with one of their tables each: others are layouts by time of the same table.
func (v *verifier) layouts() (out []Schema) {
	for _, s := range v.schemas {
		if !slices.ContainsFunc(out, func(other Schema) bool { return other.Layout == s.Layout }) {
			out = append(out, s)
		}
	}
	return out
}

// events reads the sampled ranges of row keys once more, as the reader of each schema does, and
// counts the events. What cells alone do not tell is found here: an event that lacks a required field,
// and a row that no read of a series looks for.
func (v *verifier) events(ctx context.Context, client store.Client, o Options) error {
	v.report.Events = new(Share)
	owned := map[string]bool{}                   // rows in which a schema has events
	misplaced := map[string]*store.DecodeError{} // rows that no read of a series looks for
	for _, s := range v.layouts() {
		mappings, options := dynamic.New(s.Layout).Mappings(), store.ReaderOptions{TablePrefix: o.Prefix, Timeout: o.Timeout}
		scanner, err := store.NewScanner[dynamic.Event](client, mappings, s.Table.ID, options)
		if err != nil {
			return err
		}
		for _, within := range v.ranges {
			for row, err := range scanner.Rows(ctx, within, time.Time{}, scan.MaxTime) {
				failed, ok := errors.AsType[*store.DecodeError](err)
				switch {
				case err == nil:
					v.report.Events.Readable += len(row.Events)
					v.report.Events.Total += len(row.Events)
					owned[row.Key] = owned[row.Key] || len(row.Events) > 0
				case !ok:
					return err
				case errors.Is(err, store.ErrMisplaced):
					misplaced[failed.Row] = failed
				case !failed.Time.IsZero():
					owned[failed.Row] = true
					v.unreadEvent(failed)
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(misplaced)) {
		if !owned[key] && !v.reported[key] {
			v.report.Events.add(false)
			v.found("misplaced", key, "", misplaced[key].Err.Error(), "another program wrote the row with other rules for its key")
		}
	}
	return nil
}

// unreadEvent counts an event that cannot be read. Why is found in its cells, unless one is missing.
func (v *verifier) unreadEvent(failed *store.DecodeError) {
	v.report.Events.add(false)
	if errors.Is(failed, codec.ErrMissing) {
		v.found("event", failed.Row, show(failed.Column), failed.Err.Error(), fmt.Sprintf("another program does not write %q, "+
			"or it expired or was deleted before the rest; make the field optional, or give it a default", failed.Column))
	}
}

// windows reads the sampled ranges of row keys once more, and compares the windows of rollups with the events.
func (v *verifier) windows(ctx context.Context, client store.Client, o Options) error {
	for _, s := range v.layouts() {
		if len(s.Layout.Rollups()) == 0 {
			continue
		}
		parts, err := dynamic.New(s.Layout).RollupParts(client, store.RollupOptions{TablePrefix: o.Prefix, Timeout: o.Timeout})
		if err != nil {
			return err
		}
		for i, t := range parts.First() {
			if o.Prefix+t.Table != v.report.Table {
				continue
			}
			if v.report.Windows == nil {
				v.report.Windows = new(Share)
			}
			for _, within := range v.ranges {
				compared, err := parts.Compare(ctx, i, within, func(e *store.RunError) bool {
					v.report.Windows.Readable--
					v.wrongRun(e)
					return true
				})
				if err != nil {
					return err
				}
				v.report.Windows.Total += compared
				v.report.Windows.Readable += compared
			}
		}
	}
	return nil
}

// wrongRun adds the finding for a run that does not agree with its events.
func (v *verifier) wrongRun(e *store.RunError) {
	kind, guess := "damaged run", "the cell is damaged: btgen-live rollup with --all replaces it, as long as all events of the bucket are there"
	if !e.Window.IsZero() {
		kind = "run"
		guess = "a program without the rollup has changed the events: write one of them again, and run btgen-live rollup"
	}
	v.found(kind, e.Row, show(e.Column), e.Reason(), guess)
}
