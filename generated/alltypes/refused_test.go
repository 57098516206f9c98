package alltypes

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Values that no table can store are refused before anything is sent, with the name of the field.
func TestRefusedEvents(t *testing.T) {
	bt := newServer(t)
	w := NewSampleWriter(bt.Client, writing)
	state := SampleMaybeState(3)
	nan, before1677 := math.NaN(), time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name, field string
		spoil       func(e *SampleEvent)
		want        error
	}{
		{"no time", "time", func(e *SampleEvent) { e.Time = time.Time{} }, codec.ErrTimeRange},
		{"before 1970", "time", func(e *SampleEvent) { e.Time = time.UnixMilli(-1) }, codec.ErrTimeRange},
		{"empty string in the key", "site", func(e *SampleEvent) { e.Site = "" }, codec.ErrEmpty},
		{"no bytes in the key", "tag", func(e *SampleEvent) { e.Tag = nil }, codec.ErrEmpty},
		{"delimiter in the key", "site", func(e *SampleEvent) { e.Site = "a#b" }, codec.ErrDelimiter},
		{"key over 4 KiB", "key", func(e *SampleEvent) { e.Site = strings.Repeat("x", 4096) }, codec.ErrKeyTooLong},
		{"bytes in the key, as hex over 4 KiB", "key", func(e *SampleEvent) { e.Tag = make([]byte, 2048) }, codec.ErrKeyTooLong},
		{"string in the key that is not UTF-8", "site", func(e *SampleEvent) { e.Site = "\xff" }, codec.ErrUTF8},
		{"no enum in the key", "kind", func(e *SampleEvent) { e.Kind = 2 }, codec.ErrEnum},
		{"time in the key before 1970", "since", func(e *SampleEvent) { e.Since = time.Unix(-1, 0) }, codec.ErrTimeRange},
		{"string that is not UTF-8", "text", func(e *SampleEvent) { e.Text = "a\xc3" }, codec.ErrUTF8},
		{"NaN", "ratio", func(e *SampleEvent) { e.Ratio = nan }, codec.ErrNaN},
		{"infinity, which JSON does not have", "load", func(e *SampleEvent) { e.Load = float32(math.Inf(1)) }, codec.ErrNaN},
		{"optional NaN", "maybe_ratio", func(e *SampleEvent) { e.MaybeRatio = &nan }, codec.ErrNaN},
		{"no timestamp", "at", func(e *SampleEvent) { e.At = time.Time{} }, codec.ErrTimeRange},
		{"optional timestamp", "maybe_at", func(e *SampleEvent) { e.MaybeAt = &before1677 }, codec.ErrTimeRange},
		{"no enum", "state", func(e *SampleEvent) { e.State = 0 }, codec.ErrEnum},
		{"enum without a name", "state", func(e *SampleEvent) { e.State = 3 }, codec.ErrEnum},
		{"optional enum", "maybe_state", func(e *SampleEvent) { e.MaybeState = &state }, codec.ErrEnum},
		{"no JSON", "document", func(e *SampleEvent) { e.Document = nil }, codec.ErrJSON},
		{"half of JSON", "document", func(e *SampleEvent) { e.Document = json.RawMessage(`{"a":`) }, codec.ErrJSON},
		{"optional JSON, empty", "maybe_document", func(e *SampleEvent) { e.MaybeDocument = json.RawMessage{} }, codec.ErrJSON},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := plain()
			tt.spoil(&e)
			err := w.Write(t.Context(), e)
			var field *codec.FieldError
			if !errors.Is(err, tt.want) || !errors.As(err, &field) || field.Field != tt.field {
				t.Errorf("got %v, want field %q with: %v", err, tt.field, tt.want)
			}
		})
	}
	for _, l := range sampleMappings {
		if cells := storedCells(t, bt.Client, l.Table.ID); len(cells) > 0 {
			t.Errorf("%s: %d cells were stored", l.Table.ID, len(cells))
		}
	}
}

// A reader refuses a series that no writer could have written.
func TestReadersRefuseInvalidSeries(t *testing.T) {
	r := NewSampleReader(newServer(t).Client, options)
	series := plain().SampleSeries
	series.Site = "a#b"
	if _, err := r.Latest(t.Context(), series); !errors.Is(err, codec.ErrDelimiter) {
		t.Errorf("Latest: %v", err)
	}
	for _, err := range r.Read(t.Context(), series, start, end) {
		if !errors.Is(err, codec.ErrDelimiter) {
			t.Errorf("Read: %v", err)
		}
		return
	}
	t.Error("Read yielded nothing")
}
