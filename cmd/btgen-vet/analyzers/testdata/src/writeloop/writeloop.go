// Package writeloop writes events in loops.
package writeloop

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/runtime/store"
)

func fixed(ctx context.Context, w *examples.PositionWriter, events []examples.PositionEvent) error {
	for _, e := range events {
		if err := w.Write(ctx, e); err != nil { // want `Write sends a request for each event of the loop: call WriteAll with all of them, or add them to a batcher`
			return err
		}
	}
	return nil
}

func converted(ctx context.Context, w *examples.PositionWriter, latitudes map[string]float64) error {
	for region, l := range latitudes {
		e := eventOf(region, l)
		fmt.Println(e, failure{}.Error())
		if l > 0 {
			if err := w.Write(ctx, e); err != nil { // want `Write sends a request for each event`
				return fmt.Errorf("%s: %w", region, err)
			}
		}
	}
	var e examples.PositionEvent
	for i := 0; i < 100; i++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e.Time = time.Unix(int64(i), 0)
		w.Write(ctx, e) // want `Write sends a request for each event`
	}
	return nil
}

type failure struct{ error }

func eventOf(region string, l float64) examples.PositionEvent {
	return examples.PositionEvent{PositionSeries: examples.PositionSeries{Region: region}, Latitude: max(l, 0)}
}

func copied(ctx context.Context, w *examples.PositionWriter, r *examples.PositionReader, s examples.PositionSeries, from, to time.Time) error {
	for e, err := range r.Read(ctx, s, from, to) {
		if err != nil {
			return err
		}
		if err := w.Write(ctx, e); err != nil { // want `Write sends a request for each event`
			return err
		}
	}
	return nil
}

// The loops wait for events.
func waiting(ctx context.Context, w *examples.PositionWriter, arriving chan examples.PositionEvent, ticker *time.Ticker, sensors []sensor) {
	for e := range arriving {
		w.Write(ctx, e)
	}
	for {
		e := <-arriving
		w.Write(ctx, e)
	}
	for i := range 100 {
		<-ticker.C
		w.Write(ctx, eventOf("us", float64(i)))
	}
	for i := range 100 {
		w.Write(ctx, eventOf("us", float64(i)))
		time.Sleep(time.Minute)
	}
	for _, s := range sensors {
		w.Write(ctx, s.measure(ctx))
	}
	for i := range 100 {
		w.Write(ctx, eventOf("us", wait(i)))
	}
	for i := range 100 {
		text, err := os.ReadFile(fmt.Sprint("/proc/", i))
		w.Write(ctx, eventOf(string(text), 1))
		_ = err
	}
}

func wait(i int) float64 {
	time.Sleep(time.Second)
	return float64(i)
}

type sensor interface {
	measure(ctx context.Context) examples.PositionEvent
}

// Each event takes a request of its own.
func absent(ctx context.Context, w *examples.PositionWriter, events []examples.PositionEvent, o store.WriteOptions) {
	for _, e := range events {
		w.Write(ctx, e, store.WriteOptions{IfAbsent: true})
		w.Write(ctx, e, o)
	}
	for _, e := range events {
		fmt.Println(w.Write(ctx, e, store.WriteOptions{LastWins: true})) // want `Write sends a request for each event`
	}
}

// A retry writes one event, some loops end with a write, goroutines write at the same time, and writers have an event each.
func once(ctx context.Context, w *examples.PositionWriter, events []examples.PositionEvent, writers []*examples.PositionWriter) (err error) {
	for i, w := range writers {
		w.Write(ctx, events[i])
	}
	for range 3 {
		if err = w.Write(ctx, events[0]); err == nil {
			break
		}
	}
	for _, e := range events {
		if e.Latitude > 0 {
			return w.Write(ctx, e)
		}
	}
	for _, e := range events {
		if e.Latitude > 0 {
			if err := w.Write(ctx, e); err != nil {
				return err
			}
			break
		}
	}
	for _, e := range events {
		go w.Write(ctx, e)
		go func() { w.Write(ctx, e) }()
	}
	return err
}
