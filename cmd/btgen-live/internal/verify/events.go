package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
)

// events reads the sampled ranges of row keys once more, as the reader of each schema does, and
// counts the events. What cells alone do not tell is found here: an event that lacks a required field,
// and a row that no read of a series looks for.
func (v *verifier) events(ctx context.Context, client store.Client, o Options, ranges []store.KeyRange) error {
	v.report.Events = new(Share)
	e := &eventCheck{verifier: v, owned: map[string]bool{}, misplaced: map[string]*store.DecodeError{}}
	var seen []*layout.Layout
	for _, s := range v.schemas {
		if slices.Contains(seen, s.Layout) {
			continue // another layout by time of the same table
		}
		seen = append(seen, s.Layout)
		scanner, err := store.NewScanner[dynamic.Event](client, dynamic.New(s.Layout).Mappings(), s.Table.ID, store.ReaderOptions{TablePrefix: o.Prefix, Timeout: o.Timeout})
		if err != nil {
			return err
		}
		for _, within := range ranges {
			for row, err := range scanner.Rows(ctx, within, time.Time{}, scan.MaxTime) {
				if err := e.add(row, err); err != nil {
					return err
				}
			}
		}
	}
	e.done()
	return nil
}

// eventCheck counts the events of a sample.
type eventCheck struct {
	*verifier
	owned     map[string]bool               // rows in which a schema has events
	misplaced map[string]*store.DecodeError // rows that no read of a schema looks for
}

// add counts the events of a row, or an event that cannot be read. It returns other errors.
func (e *eventCheck) add(row store.ScannedRow[dynamic.Event], err error) error {
	failed, ok := errors.AsType[*store.DecodeError](err)
	switch {
	case err == nil:
		e.report.Events.Readable += len(row.Events)
		e.report.Events.Total += len(row.Events)
		e.owned[row.Key] = e.owned[row.Key] || len(row.Events) > 0
	case !ok:
		return err
	case errors.Is(err, store.ErrMisplaced):
		e.misplaced[failed.Row] = failed
	case !failed.Time.IsZero():
		e.report.Events.add(false)
		e.owned[failed.Row] = true
		if errors.Is(err, codec.ErrMissing) {
			e.found(Finding{Row: show(failed.Row), Column: show(failed.Column), Problem: failed.Err.Error(), kind: "event",
				Guess: fmt.Sprintf("another program does not write %q, or it expired or was deleted before the rest; make the field optional, or give it a default", failed.Column)})
		}
	}
	return nil
}

// done reports the rows that no schema looks for.
func (e *eventCheck) done() {
	for key, failed := range e.misplaced {
		if e.owned[key] || e.reported[key] {
			continue
		}
		e.report.Events.add(false)
		e.found(Finding{Row: show(key), Problem: failed.Err.Error(), Guess: "another program wrote the row with other rules for its key", kind: "misplaced"})
	}
}
