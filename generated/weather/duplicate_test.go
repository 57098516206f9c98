package weather_test

import (
	"errors"
	"math"
	"testing"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestNaNIsOneValue writes an event without a reading twice in one call: NaN is not equal
// to itself, but is stored as the same bytes.
func TestNaNIsOneValue(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonSerializedWriter(bt.Client, writing(options))
	series := weather.BalloonSerializedSeries{Location: "us-west2", BalloonID: 3698}
	event := weather.BalloonSerializedEvent{BalloonSerializedSeries: series, Time: minute(0), Temperature: math.NaN()}
	check(t, w.WriteAll(t.Context(), []weather.BalloonSerializedEvent{event, event}))
	other := event
	other.Temperature = 9.5
	err := w.WriteAll(t.Context(), []weather.BalloonSerializedEvent{event, event, other})
	var duplicate *store.DuplicateError
	if !errors.As(err, &duplicate) || duplicate.EarlierIndex != 0 {
		t.Error(err)
	}
	if err := w.Write(t.Context(), other, store.WriteOptions{IfAbsent: true}); !errors.Is(err, store.ErrExists) {
		t.Error(err)
	}
	got, err := weather.NewBalloonSerializedReader(bt.Client, options).Latest(t.Context(), series)
	check(t, err)
	if !math.IsNaN(got.Temperature) {
		t.Error(got)
	}
}
