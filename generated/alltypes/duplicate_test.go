package alltypes

import (
	"errors"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/store"
)

// TestEventsAreComparedAsStored writes two events with the same series and time
// in one call: they count as one if they are stored in the same form.
func TestEventsAreComparedAsStored(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(first, second *SampleEvent)
		differs bool
	}{
		{"nil and empty bytes", func(a, b *SampleEvent) { a.Raw, b.Raw = nil, []byte{} }, false},
		{"absent and empty bytes", func(a, b *SampleEvent) { a.MaybeRaw, b.MaybeRaw = nil, []byte{} }, true},
		{"times of one step", func(a, b *SampleEvent) { b.Time = a.Time.Add(time.Nanosecond) }, false},
		{"a time of another zone", func(a, b *SampleEvent) { b.At = a.At.In(time.FixedZone("east", 3600)) }, false},
		{"another value", func(a, b *SampleEvent) { b.Small = a.Small + 1 }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forEachTable(t, func(t *testing.T, client store.Client, l *store.Mapping[SampleEvent]) {
				w := layoutWriter(client, l)
				a, b := full(), full()
				tt.change(&a, &b)
				if err := w.WriteAll(t.Context(), []SampleEvent{a, b}); errors.Is(err, store.ErrDuplicate) != tt.differs || !tt.differs && err != nil {
					t.Error(err)
				}
			})
		})
	}
}
