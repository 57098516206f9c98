package sample

import (
	"math"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// A field without an example gets a likely value, guessed from its name and unit: that
// of the first quantity with one of the words in the name and the unit, else of the
// first with the unit. The guesses affect only examples.

// quantity describes the usual numbers of fields with certain names.
type quantity struct {
	names string             // words, or words joined by underscores
	value map[string]float64 // by unit; "" is for fields without a unit
	step  float64            // difference between successive events, as a fraction; 0 for usualStep
}

// usualStep is how far apart the numbers of events are, as a fraction, and noStep is
// for numbers that do not change, such as codes.
const (
	usualStep = 0.01
	noStep    = -1
)

// quantities are ordered from specific to general. Weather is that of the balloon in
// Bigtable's documentation.
// Source: https://cloud.google.com/bigtable/docs/schema-design-time-series
var quantities = []quantity{
	{names: "pressure barometer", value: map[string]float64{"Pa": 94558, "hPa": 945.6, "mbar": 945.6, "kPa": 94.6, "bar": 2.1, "psi": 32, "": 94558}, step: 0.002},
	{names: "temperature temp dewpoint dew_point", value: map[string]float64{"°C": 9.6, "°F": 49.3, "K": 282.8, "": 9.6}},
	{names: "humidity", value: map[string]float64{"%": 61, "": 61}},
	{names: "altitude elevation", value: map[string]float64{"m": 612, "km": 0.612, "ft": 2008, "": 612}},
	{names: "latitude lat", value: map[string]float64{"°": 40.758, "": 40.758}, step: 0.00001},
	{names: "longitude lon lng", value: map[string]float64{"°": -73.9855, "": -73.9855}, step: 0.00001},
	{names: "rssi rsrp signal signal_strength", value: map[string]float64{"dBm": -67, "": -67}},
	{names: "snr", value: map[string]float64{"dB": 24, "": 24}},
	{names: "noise loudness", value: map[string]float64{"dB": 58, "dBA": 58, "": 58}},
	{names: "wind gust", value: map[string]float64{"m/s": 4.7, "km/h": 17, "mph": 10.5, "kn": 9.1, "": 4.7}},
	{names: "speed velocity", value: map[string]float64{"m/s": 13.4, "km/h": 48, "mph": 30, "kn": 26, "": 13.4}},
	{names: "heading bearing azimuth course direction angle", value: map[string]float64{"°": 214, "rad": 3.73, "": 214}},
	{names: "precipitation rain rainfall snow snowfall", value: map[string]float64{"mm": 10.9, "cm": 1.1, "in": 0.43, "": 10.9}},
	{names: "co2", value: map[string]float64{"ppm": 612, "": 612}},
	{names: "pm1 pm25 pm10 dust", value: map[string]float64{"µg/m³": 11.4, "": 11.4}},
	{names: "ph", value: map[string]float64{"": 7.2}},
	{names: "light illuminance brightness lux", value: map[string]float64{"lx": 320, "%": 75, "": 320}},
	{names: "battery", value: map[string]float64{"%": 87, "V": 3.9, "mV": 3900, "": 87}},
	{names: "voltage", value: map[string]float64{"V": 229.7, "mV": 3300, "kV": 11.2, "": 229.7}},
	{names: "current amperage", value: map[string]float64{"A": 4.2, "mA": 420, "": 4.2}},
	{names: "power", value: map[string]float64{"W": 950, "kW": 7.4, "MW": 2.3, "": 950}},
	{names: "energy consumption", value: map[string]float64{"kWh": 1284.5, "Wh": 950, "MWh": 12.8, "J": 3600, "": 1284.5}},
	{names: "frequency freq", value: map[string]float64{"Hz": 50.02, "kHz": 125, "MHz": 868.1, "GHz": 2.4, "": 50.02}, step: 0.0004},
	{names: "rpm", value: map[string]float64{"rpm": 1480, "1/min": 1480, "": 1480}},
	{names: "heart pulse bpm", value: map[string]float64{"bpm": 72, "1/min": 72, "": 72}},
	{names: "flow", value: map[string]float64{"l/s": 3.4, "l/min": 12.5, "m³/h": 4.8, "": 12.5}},
	{names: "distance range odometer", value: map[string]float64{"m": 1250, "km": 12.5, "mi": 7.8, "ft": 4100, "": 1250}},
	{names: "depth height", value: map[string]float64{"mm": 2400, "cm": 240, "m": 2.4, "ft": 7.9, "": 2.4}},
	{names: "weight mass", value: map[string]float64{"g": 850, "kg": 72.5, "t": 12.4, "lb": 160, "": 72.5}},
	{names: "volume", value: map[string]float64{"ml": 330, "l": 42.5, "m³": 8.4, "": 42.5}},
	{names: "percent percentage pct", value: map[string]float64{"%": 42, "": 42}},
	{names: "ratio fraction share probability", value: map[string]float64{"%": 42, "": 0.42}},
	{names: "cpu load utilization usage", value: map[string]float64{"%": 37, "": 0.37}},
	{names: "latency elapsed took rtt", value: map[string]float64{"ns": 850, "µs": 480, "ms": 12.5, "s": 1.25, "": 12.5}},
	{names: "late delay lag", value: map[string]float64{"ms": 120, "s": 90, "min": 4, "": 90}},
	{names: "uptime age duration interval", value: map[string]float64{"ms": 1500, "s": 3600, "min": 60, "h": 26, "d": 12, "": 3600}},
	{names: "throughput bandwidth", value: map[string]float64{"bytes/s": 125000, "kB/s": 125, "MB/s": 12.5, "bit/s": 1e6, "Mbit/s": 94.2, "Gbit/s": 9.4, "": 125000}},
	{names: "memory mem heap rss disk", value: map[string]float64{"bytes": 536870912, "kB": 524288, "KiB": 524288, "MB": 512, "MiB": 512, "GB": 12.5, "GiB": 12.5, "%": 64, "": 536870912}},
	{names: "price bid ask cost amount open high low close", value: map[string]float64{"USD": 101.25, "EUR": 101.25, "$": 101.25, "€": 101.25, "ct": 325, "": 101.25}, step: 0.002},
	{names: "bytes", value: map[string]float64{"bytes": 48213, "kB": 48.2, "KiB": 47.1, "MB": 4.8, "MiB": 4.6, "GB": 1.2, "GiB": 1.1, "": 48213}},
	{names: "size quantity qty", value: map[string]float64{"": 200}},
	{names: "port", value: map[string]float64{"": 443}, step: noStep},
	{names: "status code", value: map[string]float64{"": 200}, step: noStep},
	{names: "year", value: map[string]float64{"": 2021}, step: noStep},
	{names: "version revision", value: map[string]float64{"": 3}, step: noStep},
	{names: "error errors failure failures fault faults retry retries dropped", value: map[string]float64{"": 3}},
	{names: "count counter total requests calls hits queries messages events packets steps", value: map[string]float64{"": 128}},
	{names: "level", value: map[string]float64{"%": 64, "mm": 2400, "cm": 240, "m": 2.4, "": 64}},
}

// usualNumber is the guess for any other field.
var usualNumber = quantity{value: map[string]float64{"": 42}}

// spellings maps other spellings of units, in lowercase, and suffixes of names, to
// units.
var spellings = map[string]string{
	"c": "°C", "℃": "°C", "degc": "°C", "celsius": "°C", "f": "°F", "℉": "°F", "degf": "°F", "fahrenheit": "°F", "kelvin": "K",
	"deg": "°", "degree": "°", "degrees": "°", "percent": "%", "pct": "%", "pa": "Pa", "hpa": "hPa", "kpa": "kPa", "dbm": "dBm", "db": "dB",
	"meter": "m", "meters": "m", "metre": "m", "metres": "m", "feet": "ft", "kmh": "km/h", "kph": "km/h", "mps": "m/s", "knots": "kn", "kt": "kn",
	"volt": "V", "volts": "V", "v": "V", "mv": "mV", "amp": "A", "amps": "A", "ampere": "A", "ma": "mA", "watt": "W", "watts": "W", "kw": "kW", "kwh": "kWh",
	"b": "bytes", "byte": "bytes", "b/s": "bytes/s", "bps": "bit/s", "mbps": "Mbit/s", "kib": "KiB", "mib": "MiB", "gib": "GiB", "kb": "kB", "mb": "MB", "gb": "GB",
	"us": "µs", "μs": "µs", "sec": "s", "second": "s", "seconds": "s", "millis": "ms", "milliseconds": "ms", "minutes": "min", "hours": "h", "days": "d",
	"lux": "lx", "liter": "l", "liters": "l", "litres": "l", "usd": "USD", "eur": "EUR", "cents": "ct", "hz": "Hz", "mhz": "MHz", "ghz": "GHz",
}

// in returns the value of the quantity in the given unit.
func (q *quantity) in(unit string) (float64, bool) {
	if known, ok := spellings[strings.ToLower(unit)]; ok && q.value[unit] == 0 {
		unit = known
	}
	v, ok := q.value[unit]
	return v, ok
}

// likelyNumber guesses a number from the name and the unit of a field.
func likelyNumber(name, unit string) (value float64, q *quantity) {
	name, unit = words.Snake(name), strings.TrimSpace(unit)
	tail := name[strings.LastIndexByte(name, '_')+1:]
	for i := range quantities {
		q := &quantities[i]
		if !names(name, q.names) {
			continue
		}
		if v, ok := q.in(tail); ok && unit == "" && tail != name {
			return v, q
		}
		if v, ok := q.in(unit); ok {
			return v, q
		}
	}
	for i := range quantities {
		if v, ok := quantities[i].in(unit); ok && unit != "" {
			return v, &quantities[i]
		}
	}
	return usualNumber.value[""], &usualNumber
}

// names reports whether a name contains one of the given words.
func names(name, given string) bool {
	for word := range strings.FieldsSeq(given) {
		for from := 0; ; from++ {
			i := strings.Index(name[from:], word)
			if i < 0 {
				break
			}
			from += i
			begins, end := from == 0 || name[from-1] == '_', from+len(word)
			if begins && (end == len(name) || name[end] == '_') {
				return true
			}
		}
	}
	return false
}

// likelyTexts and likelyDurations are the guesses for fields of these types.
var (
	likelyTexts = []struct{ names, value string }{
		{"status state", "ok"}, {"level severity", "info"}, {"method", "GET"}, {"path url uri", "/items/1"}, {"host hostname server", "web-1"},
		{"ip address addr", "192.0.2.1"}, {"user", "user-1"}, {"email", "user-1@example.com"}, {"city", "Seattle"}, {"country", "US"},
		{"currency", "USD"}, {"symbol ticker", "ACME"}, {"region zone", "us-west2"}, {"stop station", "stop 1"}, {"version", "1.4.2"},
		{"message text note comment description", "text 1"},
	}
	likelyDurations = []struct {
		names string
		value time.Duration
	}{
		{"late delay lag", 90 * time.Second}, {"latency elapsed took rtt response", 120 * time.Millisecond},
		{"uptime age", 26 * time.Hour}, {"interval period timeout ttl", 30 * time.Second},
	}
)

// likelyText guesses a string from the name of a field.
func likelyText(name string) string {
	name = words.Snake(name)
	for _, guess := range likelyTexts {
		if names(name, guess.names) {
			return guess.value
		}
	}
	return "text 1"
}

// likelyDuration guesses a duration from the name of a field.
func likelyDuration(name string) time.Duration {
	name = words.Snake(name)
	for _, guess := range likelyDurations {
		if names(name, guess.names) {
			return guess.value
		}
	}
	return 90 * time.Second
}

// likelyValue guesses a value of a numeric field, typed like Field.Default.
func likelyValue(f *layout.Field) any {
	value, _ := likelyNumber(f.Name, f.Unit)
	switch f.Type {
	case schema.Float32:
		return float64(float32(value))
	case schema.Float64:
		return value
	}
	whole := math.Round(value)
	if unsigned := f.Type == schema.Uint32 || f.Type == schema.Uint64; unsigned {
		whole = math.Abs(whole)
	}
	if whole == 0 || math.Abs(whole) > math.MaxInt32 {
		whole = usualNumber.value[""]
	}
	if f.Type == schema.Uint32 || f.Type == schema.Uint64 {
		return uint64(whole)
	}
	return int64(whole)
}

// numberStep returns the fraction by which the numbers of a field differ between
// events; 0 if they are constant.
func numberStep(f *layout.Field) float64 {
	_, q := likelyNumber(f.Name, f.Unit)
	switch q.step {
	case 0:
		return usualStep
	case noStep:
		return 0
	}
	return q.step
}
