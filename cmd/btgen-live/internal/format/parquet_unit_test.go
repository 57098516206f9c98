package format_test

import (
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/golden/dynamictest"
)

// TestUnits reads event times whose types have units, which may be wrong, with and without --time-unit: no time is taken
// for another one without a word.
func TestUnits(t *testing.T) {
	units := map[time.Duration]pq.TimeUnit{time.Millisecond: pq.Millisecond, time.Microsecond: pq.Microsecond, time.Nanosecond: pq.Nanosecond}
	want := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := dynamictest.Resolve(t, []byte(schemaText))
	for typed, of := range units {
		for _, inUTC := range []bool{true, false} {
			for _, meant := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
				for _, flag := range []time.Duration{0, time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
					n := want.UnixNano() / int64(meant)
					file := fileOfRow(t, pq.String(), pq.TimestampAdjusted(of, inUTC), pq.ByteArrayValue([]byte("x")), pq.Int64Value(n))
					r, err := format.Find("parquet").Read(file, l, format.ReaderOptions{Zone: time.UTC, Unit: flag})
					if refused := err != nil && strings.Contains(err.Error(), "--time-unit"); refused != (flag != 0 && flag != typed) {
						t.Errorf("type of %v, flag %v: %v", typed, flag, err)
					}
					if err != nil {
						continue
					}
					e, _, err := r.Next()
					confirmed := flag == typed && e.Time.Equal(time.Unix(0, n*int64(typed)))
					if err == nil && !e.Time.Equal(want) && !confirmed && meant >= typed {
						t.Errorf("%d, %v in a type of %v, flag %v: %v", n, meant, typed, flag, e.Time)
					}
				}
			}
		}
	}
}
