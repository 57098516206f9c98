package verify

import (
	"context"
	"slices"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/store"
)

// windows reads the sampled ranges of row keys once more, and compares the windows of rollups with the events.
func (v *verifier) windows(ctx context.Context, client store.Client, o Options, ranges []store.KeyRange) error {
	var seen []*layout.Layout
	for _, s := range v.schemas {
		if slices.Contains(seen, s.Layout) || len(s.Layout.Rollups()) == 0 {
			continue
		}
		seen = append(seen, s.Layout)
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
			for _, within := range ranges {
				wrong := 0
				compared, err := parts.Compare(ctx, i, within, func(e *store.RunError) bool {
					wrong++
					v.wrongRun(e)
					return true
				})
				if err != nil {
					return err
				}
				v.report.Windows.Total += compared
				v.report.Windows.Readable += compared - wrong
			}
		}
	}
	return nil
}

// wrongRun adds the finding for a run that does not agree with its events.
func (v *verifier) wrongRun(e *store.RunError) {
	f := Finding{Row: show(e.Row), Column: show(e.Column), Problem: e.Reason(), kind: "damaged run",
		Guess: "the cell is damaged: btgen-live rollup with --all replaces it, as long as all events of the bucket are there"}
	if !e.Window.IsZero() {
		f.kind, f.Guess = "run", "a program without the rollup has changed the events: write one of them again, and run btgen-live rollup"
	}
	v.found(f)
}
