package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/runtime/scan"
)

// HiddenEvents are stored events that no reader finds, because their layout by time ends before them.
type HiddenEvents struct {
	Events int
	Row    string    // the first of the keys of their rows
	Last   time.Time // of the newest one
}

// Hidden reads the events of the table whose layout by time ends at one of the given times, and that are not before that. With an
// error, there may be more than it has found. Rows and events that cannot be decoded do not count. It searches the whole table in
// several ranges of row keys at a time; Bigtable returns only rows that may have such events, as far as row keys or timestamps tell.
func (t *Table) Hidden(ctx context.Context, client Client, ends []time.Time, opts ...ReaderOptions) (found HiddenEvents, err error) {
	var one sync.Mutex
	for _, of := range t.ended {
		if !slices.ContainsFunc(ends, of.until.Equal) {
			continue
		}
		l := of.mapping.alone()
		s, err := newScanner(client, []*mapping{l}, t.ID, readerOptions(opts))
		if err == nil {
			err = s.inRanges(ctx, DefaultWorkers, func(ctx context.Context, within KeyRange) error {
				for row, err := range s.each(ctx, within, of.until, scan.MaxTime) {
					switch {
					case err != nil && !isDecodeError(err):
						return err
					case err != nil || len(row.Events) == 0:
						continue
					}
					one.Lock()
					if found.Events += len(row.Events); found.Row == "" || row.Key < found.Row {
						found.Row = row.Key
					}
					if last := *l.Time(row.Events[len(row.Events)-1]); last.After(found.Last) {
						found.Last = last
					}
					one.Unlock()
				}
				return nil
			})
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}
