package main

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/runtime/window"
)

// windowReads are reads of a week: by hour, and as columns, from which an application would compute the
// hours. They return the number of events.
func windowReads(client *bigtable.Client) map[string]func(ctx context.Context, from, to time.Time) (int, error) {
	r := weather.NewBalloonNewCellsReader(client, options)
	s := weather.BalloonNewCellsSeries{Location: location, BalloonID: balloon}
	columns := new(weather.BalloonNewCellsColumns)
	return map[string]func(ctx context.Context, from, to time.Time) (int, error){
		"read=columns": func(ctx context.Context, from, to time.Time) (int, error) {
			columns.Reset()
			err := r.ReadColumns(ctx, s, from, to, columns)
			return len(columns.Time), err
		},
		"read=windows": func(ctx context.Context, from, to time.Time) (n int, err error) {
			for w, err := range r.Windows(ctx, s, from, to, window.Every(time.Hour)) {
				if err != nil {
					return n, err
				}
				n += int(w.Events)
			}
			return n, nil
		},
	}
}

// BenchmarkWindows measures what windows cost compared with columns.
func BenchmarkWindows(b *testing.B) {
	on := newBed(b, startAway(b))
	from := end.Add(-week)
	n := len(readings(from, end))
	reads := windowReads(on.wire)
	for _, name := range []string{"read=columns", "read=windows"} {
		b.Run(name, func(b *testing.B) {
			measure(b, on, size{n, 4 * n}, func(ctx context.Context) error {
				_, err := reads[name](ctx, from, end)
				return err
			})
		})
	}
}

// TestWindows checks that the benchmark reads all events.
func TestWindows(t *testing.T) {
	on := newBed(t, startHere(t))
	from := end.Add(-week)
	for name, read := range windowReads(on.wire) {
		if n, err := read(t.Context(), from, end); err != nil || n != len(readings(from, end)) {
			t.Errorf("%s: %d events, %v", name, n, err)
		}
	}
}
