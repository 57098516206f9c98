// Package retry repeats calls.
package retry

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/runtime/store"
)

func forever(ctx context.Context, w *examples.PositionWriter, e examples.PositionEvent) {
	for {
		err := w.Write(ctx, e) // want `Write is called again after every error, also one that stays, such as a refused event: inspect it with errors.As or errors.Is`
		if err == nil {
			break
		}
		log.Print(err)
		time.Sleep(time.Second)
	}
	for {
		if err := w.Write(ctx, e); err != nil { // want `Write is called again after every error`
			time.Sleep(time.Second)
			continue
		}
		break
	}
	for {
		if err := w.Write(ctx, e); err != nil { // want `Write is called again after every error`
			time.Sleep(time.Second)
		} else {
			return
		}
	}
}

func attempts(ctx context.Context, w *examples.PositionWriter, r *examples.PositionReader, s examples.PositionSeries) (err error) {
	for range 3 {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		_, err = w.DeleteSeries(ctx, s) // want `DeleteSeries is called again after every error`
		cancel()
		if err == nil {
			return nil
		}
	}
	err = errors.New("")
	for i := 0; i < 3 && err != nil; i++ {
		_, err = r.Latest(ctx, s) // want `Latest is called again after every error`
	}
	var last error
	for i := range 3 {
		if err := w.WriteAll(ctx, nil); err == nil { // want `WriteAll is called again after every error`
			return nil
		} else {
			last = fmt.Errorf("%d: %w", i, err)
		}
	}
	return last
}

func withoutBody(ctx context.Context, w *examples.PositionWriter, e examples.PositionEvent) {
	for err := w.Write(ctx, e); err != nil; err = w.Write(ctx, e) { // want `Write is called again after every error`
	}
	for err := w.Write(ctx, e); err != nil; err = w.Write(ctx, e) {
		if !retryable(err) {
			return
		}
	}
}

func jumps(ctx context.Context, w *examples.PositionWriter, e examples.PositionEvent) error {
again:
	if err := w.Write(ctx, e); err != nil { // want `Write is called again after every error`
		time.Sleep(time.Second)
		goto again
	}
	var err error
once:
	time.Sleep(time.Second)
	err = w.Write(ctx, e) // want `Write is called again after every error`
	if err != nil {
		goto once
	}
	if err = w.WriteAll(ctx, nil); err != nil {
		goto end
	}
end:
	return err
}

func jumpsFor(ctx context.Context, w *examples.PositionWriter, e examples.PositionEvent) error {
next:
	err := w.Write(ctx, e)
	if err != nil && retryable(err) {
		goto next
	}
other:
	time.Sleep(time.Second)
	e.Time = e.Time.Add(time.Second)
	if err = w.Write(ctx, e); err != nil {
		goto other
	}
	return err
}

func inspected(ctx context.Context, w *examples.PositionWriter, r *examples.PositionReader, e examples.PositionEvent) error {
	for {
		err := w.Write(ctx, e)
		var failed *store.WriteError
		if err == nil || errors.As(err, &failed) {
			return err
		}
	}
	for {
		_, err := r.Latest(ctx, e.PositionSeries)
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	for {
		_, err := r.Latest(ctx, e.PositionSeries)
		if err == nil {
			return nil
		}
		if err == store.ErrNotFound {
			return err
		}
	}
	for {
		err := w.Write(ctx, e)
		if err == nil {
			return nil
		}
		if last := err; !retryable(last) {
			return last
		}
	}
	var last error
	for {
		err := w.Write(ctx, e)
		if err == nil {
			return nil
		}
		last = err
		if retryable(last) {
			continue
		}
		err = last
	}
}

func retryable(error) bool { return false }

// These are not the same calls, or not repeated.
func others(ctx context.Context, w *examples.PositionWriter, readers []*examples.PositionReader, events []examples.PositionEvent) error {
	for _, e := range events {
		if err := w.WriteAll(ctx, []examples.PositionEvent{e}); err != nil {
			continue
		}
		break
	}
	for _, r := range readers {
		if _, err := r.Latest(ctx, events[0].PositionSeries); err == nil {
			return nil
		}
	}
	for {
		if err := w.Write(ctx, events[0]); err != nil {
			return err
		}
		time.Sleep(time.Minute)
	}
}
