// Package readerror reads events.
package readerror

import (
	"context"
	"iter"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
)

var from, to time.Time

func blank(ctx context.Context, r *examples.PositionReader, s examples.PositionSeries) (n int) {
	for e, _ := range r.Read(ctx, s, from, to) { // want `the error of the read is ignored: a failed read ends the loop early, with an empty event; check it in the loop`
		n += int(e.Latitude)
	}
	for e := range r.Read(ctx, s, from, to) { // want `the error of the read is ignored`
		n += int(e.Latitude)
	}
	for range r.Read(ctx, s, from, to) { // want `the error of the read is ignored`
		n++
	}
	for e := range day(ctx, r, s) { // want `the error of the read is ignored`
		n += int(e.Latitude)
	}
	events := r.Read(ctx, s, from, to)
	for e := range events { // want `the error of the read is ignored`
		n += int(e.Latitude)
	}
	return n
}

func fixed(ctx context.Context, r *examples.PositionReader, s examples.PositionSeries) (n int, name string, all []string, err error) {
	for e, _ := range r.Read(ctx, s, from, to) { // want `the error of the read is ignored`
		n += int(e.Latitude)
	}
	sum := func() error {
		for e := range r.Read(ctx, s, from, to) { // want `the error of the read is ignored`
			n += int(e.Latitude)
		}
		return nil
	}
	return n, name, all, sum()
}

func notFixed(ctx context.Context, r *examples.PositionReader, s examples.PositionSeries) (examples.PositionEvent, error) {
	for e := range r.Read(ctx, s, from, to) { // want `the error of the read is ignored`
		return e, nil
	}
	return examples.PositionEvent{}, nil
}

func dropped(ctx context.Context, r *examples.PositionReader, s examples.PositionSeries) (n int) {
	for e, err := range r.Read(ctx, s, from, to) {
		_ = err // want `the error of the read is lost: the caller takes what was read for all events; return the error`
		n += int(e.Latitude)
	}
	for e, err := range r.Read(ctx, s, from, to) {
		if err != nil {
			break // want `the error of the read is lost`
		}
		n += int(e.Latitude)
	}
	return n
}

func checked(ctx context.Context, r *examples.PositionReader, s examples.PositionSeries) (n int, err error) {
	for e, err := range r.Read(ctx, s, from, to) {
		if err != nil {
			return 0, err
		}
		n += int(e.Latitude)
	}
	var e examples.PositionEvent
	for e, err = range r.Read(ctx, s, from, to) {
		if err != nil {
			break
		}
		n += int(e.Latitude)
	}
	failed := false
	for e, err := range r.Read(ctx, s, from, to) {
		if err != nil {
			failed = true
			continue
		}
		n += int(e.Latitude)
	}
	for e := range numbers() {
		n += e
	}
	for e := range []int{1} {
		n += e
	}
	//btgen:allow readerror an estimate
	for e := range r.Read(ctx, s, from, to) {
		n += int(e.Latitude)
	}
	_ = failed
	return n, err
}

func day(ctx context.Context, r *examples.PositionReader, s examples.PositionSeries) iter.Seq2[examples.PositionEvent, error] {
	if s.Region == "" {
		return again(s)
	}
	events := r.Read(ctx, s, from, to)
	return events
}

func again(s examples.PositionSeries) iter.Seq2[examples.PositionEvent, error] { return again(s) }

func numbers() iter.Seq2[int, error] { return nil }
