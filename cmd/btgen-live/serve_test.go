package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testbrowser"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

const servedSchema = `btgen: v1
package: app
name: Event
doc: Readings of <b>sensors</b>.
series: {city: string, sensor: int64}
fields:
  value: {type: float64, unit: °C}
  total: int64
  note: {type: string, optional: true}
  state: {type: enum, of: {good: 1, bad: 2}}
  lag: {type: duration, optional: true}
tables:
  events:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [{name: city, escape: true}, sensor, bucket]}
    bucket: 1d
    family: m
    ttl: {keep: forever}
queries:
  ByCity: {by: [city]}
`

// servedStart is the time of the first event.
var servedStart = time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)

// servedEvents serves events of the schema.
func servedEvents(t testing.TB, events []dynamic.Event) http.Handler {
	t.Helper()
	return servedEventsOf(t, servedSchema, events)
}

// servedEventsOf serves events of a schema.
func servedEventsOf(t testing.TB, text string, events []dynamic.Event) http.Handler {
	t.Helper()
	return served(apiOf(t, text, events))
}

// apiOf returns an API with events of a schema.
func apiOf(t testing.TB, text string, events []dynamic.Event) *api {
	t.Helper()
	l := testschema.Layout(t, text)
	schema := dynamic.New(l)
	b := dynamictest.Start(t, schema)
	must(t, schema.NewWriter(b.Client).WriteAll(t.Context(), events))
	return newAPI([]*layout.Layout{l}, b.Client, store.ReaderOptions{})
}

// readings are events of a sensor, one each step.
func readings(city string, sensor int64, step time.Duration, n int) []dynamic.Event {
	var out []dynamic.Event
	for i := range n {
		out = append(out, dynamic.Event{Series: []any{city, sensor}, Time: servedStart.Add(time.Duration(i) * step), Values: []any{float64(i % 24), int64(i), nil, "good", time.Duration(i%24) * 90 * time.Second}})
	}
	return out
}

// ask returns the answer to a request with a status.
func ask(t testing.TB, h http.Handler, code int, path string, parameters ...string) map[string]any {
	t.Helper()
	q := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		q.Add(parameters[i], parameters[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/"+path+"?"+q.Encode(), nil))
	var out map[string]any
	if path == "schemas" && code == http.StatusOK {
		var list []any
		must(t, json.Unmarshal(w.Body.Bytes(), &list))
		return list[0].(map[string]any)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != code {
		t.Fatalf("%s %v: %d, %v: %s", path, parameters, w.Code, err, w.Body)
	}
	kind := map[bool]string{true: "application/json", false: "application/problem+json"}[code == http.StatusOK]
	assert.Same(t, kind, w.Header().Get("Content-Type"), path)
	return out
}

// rowsIn returns the rows of an answer.
func rowsIn(answer map[string]any) (out []map[string]any) {
	for _, r := range answer["rows"].([]any) {
		out = append(out, r.(map[string]any))
	}
	return out
}

// TestAPI asks for everything that the API has.
func TestAPI(t *testing.T) {
	events := append(readings("berlin", 1, time.Hour, 48), readings("paris", 2, time.Hour, 3)...)
	events = append(events, dynamic.Event{Series: []any{"odd", int64(math.MaxInt64)}, Time: servedStart, Values: []any{math.NaN(), int64(math.MinInt64), "<script>", "bad", nil}})
	h := servedEvents(t, events)

	schemas := ask(t, h, 200, "schemas")
	if schemas["name"] != "Event" || fmt.Sprint(schemas["tables"]) != "[events]" || !strings.Contains(fmt.Sprint(schemas["queries"]), "ByCity") || !strings.Contains(fmt.Sprint(schemas["fields"]), "enum:[good bad]") {
		t.Errorf("got %v", schemas)
	}

	answer := ask(t, h, 200, "series", "schema", "Event", "limit", "2")
	if got := fmt.Sprint(answer["rows"]); got != "[map[city:berlin sensor:1] map[city:odd sensor:9223372036854775807]]" || answer["next"] == "" {
		t.Errorf("got %v", answer)
	}
	answer = ask(t, h, 200, "series", "schema", "Event", "limit", "2", "page", answer["next"].(string))
	if got := fmt.Sprint(answer["rows"]); got != "[map[city:paris sensor:2]]" || answer["next"] != "" {
		t.Errorf("got %v", answer)
	}
	if got := fmt.Sprint(ask(t, h, 200, "series", "schema", "Event", "search", "PAR")["rows"]); got != "[map[city:paris sensor:2]]" {
		t.Errorf("got %v", got)
	}

	odd := rowsIn(ask(t, h, 200, "events", "schema", "Event", "value", "city=odd", "value", "sensor=9223372036854775807"))[0]
	if odd["value"] != "NaN" || odd["total"] != "-9223372036854775808" || odd["note"] != "<script>" || odd["state"] != "bad" || odd["time"] != "2021-03-01T00:00:00Z" {
		t.Errorf("got %v", odd)
	}
	berlin := []string{"schema", "Event", "value", "city=berlin", "value", "sensor=1"}
	page, n := "", 0
	for {
		answer := ask(t, h, 200, "events", append(berlin, "limit", "20", "page", page)...)
		for _, r := range rowsIn(answer) {
			if r["note"] != nil || r["total"] != float64(n) {
				t.Errorf("event %d: %v", n, r)
			}
			n++
		}
		if page = answer["next"].(string); page == "" {
			break
		}
	}
	assert.Same(t, 48, n)
	if got := rowsIn(ask(t, h, 200, "events", append(berlin, "limit", "1", "order", "newest", "fields", "total")...))[0]; got["total"] != 47.0 || got["value"] != nil {
		t.Errorf("got %v", got)
	}
	if got := rowsIn(ask(t, h, 200, "events", "schema", "Event", "query", "ByCity", "value", "city=paris", "from", "2021-03-01T01:00:00Z")); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if got := rowsIn(ask(t, h, 200, "events", "schema", "Event", "limit", "5")); len(got) != 5 {
		t.Errorf("got %v", got)
	}
	for limit, more := range map[string]bool{"51": true, "52": false, "53": false} {
		if got := ask(t, h, 200, "events", "schema", "Event", "limit", limit); got["more"] != more || got["next"] != "" {
			t.Errorf("limit %s: %v, %v", limit, got["more"], got["next"])
		}
	}
	if got := rowsIn(ask(t, h, 200, "latest", "schema", "Event", "query", "ByCity", "value", "city=berlin")); len(got) != 1 || got[0]["total"] != 47.0 {
		t.Errorf("got %v", got)
	}

	windows := ask(t, h, 200, "windows", append(berlin, "every", "1d", "zone", "Europe/Berlin", "fields", "value", "statistics", "mean,max", "from", "2021-03-01", "to", "2021-03-03")...)
	if got := rowsIn(windows); len(got) != 2 || got[0]["start"] != "2021-03-01T00:00:00+01:00" || got[1]["value_mean"] != 11.5 || got[1]["value_max"] != 23.0 {
		t.Errorf("got %v", got)
	}
	if cost := windows["cost"].(map[string]any); cost["requests"] == 0.0 || cost["rows"] == 0.0 || cost["cells"] != 47.0 || cost["bytes"].(float64) < 47*8 {
		t.Errorf("got %v", cost)
	}
	windows = ask(t, h, 200, "windows", append(berlin, "points", "10", "from", "2021-03-01", "to", "2021-03-03")...)
	if windows["every"] != "6h" || len(rowsIn(windows)) != 8 {
		t.Errorf("got %v", windows)
	}
	for _, to := range []string{"2021-03-01T00:00:00Z", "2021-03-01T00:00:00.001Z", "2021-03-01T00:00:10Z", "2021-03-01T00:10:00Z"} {
		if got := ask(t, h, 200, "windows", append(berlin, "points", "600", "from", "2021-03-01", "to", to)...); got["every"] != "1s" {
			t.Errorf("to %s: windows of %v", to, got["every"])
		}
	}
	assert.Contains(t, "name:start type:timestamp", fmt.Sprint(windows["columns"].([]any)[2:5]))
}

// TestAPIPages continues requests with relative times, and refuses pages of other requests by the name of the parameter.
func TestAPIPages(t *testing.T) {
	events := readings("berlin", 1, time.Minute, 5)
	for i := range events {
		events[i].Time = time.Now().Add(time.Duration(i-10) * time.Minute)
	}
	h := servedEvents(t, append(events, readings("bern", 2, time.Hour, 1)...))
	berlin := []string{"schema", "Event", "value", "sensor=1", "value", "city=berlin", "limit", "2"}
	for _, order := range []string{"newest", "time"} {
		page, n := "", 0
		for {
			answer := ask(t, h, 200, "events", append(berlin, "from", "-1h", "order", order, "page", page)...)
			if n, page = n+len(rowsIn(answer)), answer["next"].(string); page == "" {
				break
			}
		}
		assert.Same(t, 5, n)
	}
	next := func(path string, parameters ...string) string {
		return ask(t, h, 200, path, append(parameters, "schema", "Event", "limit", "1")...)["next"].(string)
	}
	ofBe, ofHour := next("series", "search", "be"), next("events", "value", "sensor=1", "value", "city=berlin", "from", "-1h")
	for name, request := range map[string][]string{
		"search": {"series", "search", "ber", "page", ofBe}, "from": {"series", "search", "be", "from", "-1h", "page", ofBe},
		"value": {"events", "value", "sensor=2", "value", "city=berlin", "from", "-1h", "page", ofHour},
		"order": {"events", "value", "city=berlin", "value", "sensor=1", "from", "-1h", "order", "newest", "page", ofHour},
	} {
		got := ask(t, h, 400, request[0], append(request[1:], "schema", "Event")...)["detail"].(string)
		assert.Contains(t, ": it continues a request with another "+name+": repeat its parameters", got, name)
	}
	for _, page := range []string{"x", "e30", ofBe[1:]} {
		if got := ask(t, h, 400, "series", "schema", "Event", "page", page)["detail"].(string); !strings.HasSuffix(got, ": it is damaged: start again without a page") {
			t.Errorf("got %s", got)
		}
	}
	if got := rowsIn(ask(t, h, 200, "series", "schema", "Event", "search", "be", "page", ofBe)); len(got) != 1 || got[0]["city"] != "bern" {
		t.Errorf("got %v", got)
	}
}

// TestAPIPrefixes finds series by the beginning of row keys, where the key allows it, and otherwise says what it allows.
func TestAPIPrefixes(t *testing.T) {
	var events []dynamic.Event
	for _, city := range []string{"berlin", "bergen", "bern#1", "paris", "Berlin"} {
		for sensor := range int64(3) {
			events = append(events, readings(city, sensor+10, time.Hour, 30)...)
		}
	}
	text := func(key string) string {
		schema, _, _ := strings.Cut(servedSchema, "queries:")
		return strings.Replace(schema, `[{name: city, escape: true}, sensor, bucket]`, key, 1)
	}
	for name, c := range map[string]struct {
		schema, leads string
		none, some    []string // of a prefix of the city; empty if it is refused
	}{
		"first":  {servedSchema, "[map[name:city prefix:true] map[name:sensor prefix:false]]", nil, []string{"bergen", "berlin", "bern#1"}},
		"salt":   {text(`[{hash: [city, sensor], buckets: 4}, {name: city, escape: true}, sensor, bucket]`), "[map[name:city prefix:true] map[name:sensor prefix:false]]", nil, []string{"bergen", "berlin", "bern#1"}},
		"second": {text(`[sensor, {name: city, escape: true}, bucket]`), "[map[name:sensor prefix:false] map[name:city prefix:true]]", []string{"the value of sensor and a prefix of city"}, nil},
		"time":   {text(`[{hash: [city, sensor], buckets: 4}, bucket, {name: city, escape: true}, sensor]`), "[]", []string{"begin with none of a series value"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := servedEventsOf(t, c.schema, events)
			assert.Same(t, c.leads, fmt.Sprint(ask(t, h, 200, "schemas")["leads"]))
			for _, want := range c.none {
				if got := ask(t, h, 400, "series", "schema", "Event", "prefix", "city=ber")["detail"].(string); !strings.Contains(got, want) {
					t.Errorf("got %s", got)
				}
			}
			if c.some != nil {
				answer := ask(t, h, 200, "series", "schema", "Event", "prefix", "city=ber")
				if got := cities(answer); !slices.Equal(got, c.some) || len(rowsIn(answer)) != 9 {
					t.Errorf("got %v", got)
				}
				if got := len(rowsIn(ask(t, h, 200, "series", "schema", "Event", "value", "city=berlin", "search", "sensor=12"))); got != 1 {
					t.Errorf("%d series", got)
				}
				if got := ask(t, h, 200, "series", "schema", "Event", "prefix", "city=bern#", "limit", "2"); len(rowsIn(got)) != 2 || got["next"] == "" {
					t.Errorf("got %v", got)
				}
			}
			if got := cities(ask(t, h, 200, "series", "schema", "Event", "search", "BER")); len(got) != 4 {
				t.Errorf("got %v", got)
			}
		})
	}
	h := servedEventsOf(t, text(`[sensor, {name: city, escape: true}, bucket]`), events)
	if got := cities(ask(t, h, 200, "series", "schema", "Event", "value", "sensor=11", "prefix", "city=ber")); !slices.Equal(got, []string{"bergen", "berlin", "bern#1"}) {
		t.Errorf("got %v", got)
	}
	for _, parameters := range [][]string{{"prefix", "sensor=1"}, {"prefix", "other=1"}, {"prefix", "city"}, {"value", "city=berlin", "prefix", "city=b"}, {"value", "sensor=1", "value", "city=berlin", "prefix", "sensor=1"}, {"prefix", "city=b", "query", "ByCity"}, {"prefix", "city=b", "table", "events"}} {
		if got := ask(t, h, 400, "series", append([]string{"schema", "Event"}, parameters...)...)["detail"].(string); !strings.HasPrefix(got, "prefix ") {
			t.Errorf("%v: %s", parameters, got)
		}
	}
}

// cities returns the cities of the series in an answer, sorted.
func cities(answer map[string]any) []string {
	found := map[string]bool{}
	for _, row := range rowsIn(answer) {
		found[row["city"].(string)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// TestAPINames serves schemas of the same name, in different packages and projects.
func TestAPINames(t *testing.T) {
	var layouts []*layout.Layout
	for _, of := range [][3]string{{"a/event.yaml", "a", "Event"}, {"b/event.yaml", "b", "Event"}, {"b/other.yaml", "b", "Other"}, {"c/event.yaml", "b", "Event"}} {
		text := strings.Replace(strings.Replace(servedSchema, "package: app", "package: "+of[1], 1), "name: Event", "name: "+of[2], 1)
		_, l := testschema.Parse(t, of[0], text)
		layouts = append(layouts, l)
	}
	a := newAPI(layouts, nil, store.ReaderOptions{})
	if want := []string{"a.Event", "b/event.yaml", "Other", "c/event.yaml"}; !slices.Equal(a.names, want) || len(a.schemas) != 4 {
		t.Errorf("got %v", a.names)
	}
}

// TestAPIRow asks for the row of an event.
func TestAPIRow(t *testing.T) {
	h := servedEvents(t, readings("ber#lin", 1, time.Hour, 30))
	row := rowsIn(ask(t, h, 200, "row", "schema", "Event", "value", "city=ber#lin", "value", "sensor=1", "time", "2021-03-02T03:00:00Z"))[0]
	cells := row["cells"].([]any)
	if row["table"] != "events" || fmt.Sprint(row["parts"]) != "[map[name:city text:ber%23lin] map[name:sensor text:1] map[name:bucket text:2021-03-02]]" && len(row["parts"].([]any)) != 3 || len(cells) != 24 {
		t.Errorf("got %v", row)
	}
	cell := cells[0].(map[string]any)
	if cell["live"] != true || cell["bytes"] != 8.0 || cell["timestamp"] != "2021-03-02T05:00:00Z" || cell["expires"] != nil || !strings.HasPrefix(cell["column"].(string), "m:") {
		t.Errorf("got %v", cell)
	}
	if got := rowsIn(ask(t, h, 200, "row", "schema", "Event", "value", "city=none", "value", "sensor=1", "time", "2021-03-02T03:00:00Z")); len(got[0]["cells"].([]any)) != 0 {
		t.Errorf("got %v", got)
	}
}

// TestAPIRowDecoded asks for rows of all patterns, and of a cell that cannot be decoded: cells have values beside their bytes.
func TestAPIRowDecoded(t *testing.T) {
	of := func(changes ...string) string { return strings.NewReplacer(changes...).Replace(servedSchema) }
	alone := []string{"  total: int64\n  note: {type: string, optional: true}\n  state: {type: enum, of: {good: 1, bad: 2}}\n  lag: {type: duration, optional: true}\n", ""}
	for name, c := range map[string]struct{ schema, column, value, time, means string }{
		"cells":      {servedSchema, "m:value", "0x4008000000000000", "", "value 3"},
		"text":       {of("    family: m", "    family: m\n    values: text"), "m:value", "3", "", "value 3"},
		"serialized": {of("bucket_new_cells", "bucket_serialized", "    family: m", "    family: m\n    blob: {column: e, format: json}"), "m:e", `{"value":3,"total":3,"state":"good","lag":"4m30s"}`, "", "value 3, total 3, state good, lag 4m30s"},
		"offsets":    {of("bucket_new_cells", "bucket_offsets", alone[0], alone[1]), "m:0x00a4cb80", "0x4008000000000000", "2021-03-01T03:00:00Z", "value 3"},
		"columns":    {of("bucket_new_cells", "bucket_new_columns", "sensor, bucket]", "sensor, metric, bucket]", "queries:\n  ByCity: {by: [city]}\n", ""), "m:0x4008000000000000", "", "", "value 3"},
	} {
		t.Run(name, func(t *testing.T) {
			events := readings("berlin", 1, time.Hour, 5)
			if strings.Contains(c.schema, "bucket_offsets") {
				for i := range events {
					events[i].Values = events[i].Values[:1]
				}
			}
			h := servedEventsOf(t, c.schema, events)
			row := rowsIn(ask(t, h, 200, "row", "schema", "Event", "value", "city=berlin", "value", "sensor=1", "time", "2021-03-01T03:00:00Z"))
			var shown []string
			for _, r := range row {
				for _, cell := range r["cells"].([]any) {
					got := cell.(map[string]any)
					at, _ := got["time"].(string)
					shown = append(shown, fmt.Sprint(got["column"], " ", got["value"], " ", at, " ", got["means"]))
				}
			}
			if want := fmt.Sprint(c.column, " ", c.value, " ", c.time, " ", c.means); !slices.Contains(shown, want) {
				t.Errorf("no %s in\n%s", want, strings.Join(shown, "\n"))
			}
			if got := row[0]["parts"].([]any)[0].(map[string]any); got["name"] != "city" || got["text"] != "berlin" || got["means"] == "" {
				t.Errorf("got %v", got)
			}
		})
	}
	a := apiOf(t, servedSchema, readings("berlin", 1, time.Hour, 5))
	m := bigtable.NewMutation()
	m.Set("m", "value", bigtable.Time(servedStart.Add(7*time.Hour)), []byte("?"))
	must(t, a.client.OpenTable("events").Apply(t.Context(), "berlin#1#2021-03-01", m))
	row := rowsIn(ask(t, served(a), 200, "row", "schema", "Event", "value", "city=berlin", "value", "sensor=1", "time", "2021-03-01T03:00:00Z"))[0]
	assert.Contains(t, "0x3f is not a binary float64", fmt.Sprint(row["cells"]))
}

// TestAPIRowBetweenEvents asks for the row of a time that no event can have.
func TestAPIRowBetweenEvents(t *testing.T) {
	h := servedEventsOf(t, strings.Replace(servedSchema, "fields:", "time: {precision: 1m}\nfields:", 1), nil)
	for at, code := range map[string]int{"2021-03-02T03:00:00Z": 200, "2021-03-02T03:00:30Z": 400} {
		got := ask(t, h, code, "row", "schema", "Event", "value", "city=berlin", "value", "sensor=1", "time", at)
		if code == 400 && got["detail"] != `time "2021-03-02T03:00:30Z": finer than the precision of the schema, 1m, so no event has it` {
			t.Errorf("got %v", got)
		}
	}
}

// TestAPIWidthOfRollup asks for windows of times whose events have expired, and of others.
func TestAPIWidthOfRollup(t *testing.T) {
	h := servedEventsOf(t, strings.Replace(servedSchema, "ttl: {keep: forever}", "ttl: {max_age: 30d}\n    rollup: {every: 1h, family: h, ttl: {keep: forever}}", 1), nil)
	now := time.Now().UTC()
	for from, want := range map[string]string{"2021-03-01": "1h", now.Format(time.DateOnly): "5m"} {
		begin, err := time.Parse(time.DateOnly, from)
		must(t, err)
		got := ask(t, h, 200, "windows", "schema", "Event", "value", "city=berlin", "value", "sensor=1", "points", "400", "from", from, "to", begin.AddDate(0, 0, 1).Format(time.DateOnly))
		if got["every"] != want {
			t.Errorf("from %s: windows of %v, want %s", from, got["every"], want)
		}
	}
}

// TestAPIRange asks for the range of events that have expired, and for windows in it: it cuts none of the rollup.
func TestAPIRange(t *testing.T) {
	of := func(ttl string) string {
		return strings.Replace(servedSchema, "ttl: {keep: forever}", "ttl: "+ttl+"\n    rollup: {every: 1h, family: h, ttl: {keep: forever}}", 1)
	}
	events := readings("berlin", 1, 50*time.Minute, 30) // until 00:10 of the next day
	for i := range events {
		events[i].Time = events[i].Time.Add(10*time.Minute + time.Microsecond)
	}
	a := apiOf(t, of("{keep: forever}"), events)
	berlin := []string{"schema", "Event", "value", "city=berlin", "value", "sensor=1"}
	check := func(fields string) {
		t.Helper()
		extent := ask(t, served(a), 200, "range", append(berlin, "fields", fields)...)
		if extent["from"] != "2021-03-01T00:00:00Z" || extent["to"] != "2021-03-02T01:00:00Z" || extent["cost"].(map[string]any)["requests"] == 0.0 {
			t.Errorf("got %v", extent)
		}
		for _, width := range [][]string{{"every", "1h"}, {"every", "1d"}, {"points", "10"}} {
			n := 0.0
			for _, w := range rowsIn(ask(t, served(a), 200, "windows", append(berlin, append(width, "from", extent["from"].(string), "to", extent["to"].(string))...)...)) {
				if n += w["events"].(float64); w["inexact"] != false {
					t.Errorf("%v: %v", width, w)
				}
			}
			assert.Same(t, 30.0, n, width)
		}
	}
	check("value,lag")
	if _, err := a.schemas["Event"].Rollup(t.Context(), a.client, store.RollupOptions{All: true, Sleep: func(context.Context, time.Duration) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	a = newAPI([]*layout.Layout{testschema.Layout(t, of("{max_age: 30d}"))}, a.client, store.ReaderOptions{})
	check("total")
	if got := ask(t, served(a), 200, "range", append(berlin, "fields", "note")...); got["from"] != "" || got["to"] != "" {
		t.Errorf("got %v", got)
	}
	if got := ask(t, served(a), 200, "range", append(berlin, "from", "2021-03-01T20:10:00Z")...); got["from"] != "2021-03-01T21:00:00Z" {
		t.Errorf("got %v", got)
	}
}

// TestAPIRowOfRollup asks for a row whose bucket changes, is summarized, and changes again.
func TestAPIRowOfRollup(t *testing.T) {
	a := apiOf(t, strings.Replace(servedSchema, "ttl: {keep: forever}", "ttl: {keep: forever}\n    rollup: {every: 1h, family: h, ttl: {keep: forever}}", 1), readings("berlin", 1, time.Hour, 30))
	h := served(a)
	var bytes float64
	shown := func() (out []string) {
		row := rowsIn(ask(t, h, 200, "row", "schema", "Event", "value", "city=berlin", "value", "sensor=1", "time", "2021-03-01T03:00:00Z"))[0]
		assert.Same(t, "[map[family:m rule:never] map[family:h rule:never]]", fmt.Sprint(row["families"]))
		for _, c := range row["cells"].([]any) {
			if c := c.(map[string]any); strings.HasPrefix(c["column"].(string), "h:") {
				if c["live"] != true || c["timestamp"] != "2021-03-02T00:00:00Z" {
					t.Errorf("got %v", c)
				}
				bytes = c["bytes"].(float64)
				out = append(out, c["means"].(string))
			}
		}
		return out
	}
	assert.Same(t, []string{"mark: events have changed"}, shown())
	_, err := a.schemas["Event"].Rollup(t.Context(), a.client, store.RollupOptions{Sleep: func(context.Context, time.Duration) error { return nil }})
	must(t, err)
	if got := shown(); !slices.Equal(got, []string{"run: 24 windows by 1h, in place of 1 change"}) || bytes < 100 {
		t.Errorf("got %q, %v bytes", got, bytes)
	}
	m := bigtable.NewMutation()
	m.Set("h", rollup.DeletionName(1), bigtable.Time(servedStart.AddDate(0, 0, 1)), rollup.NewRanges([]rollup.Range{{From: 0, To: time.Hour}, {From: 2 * time.Hour, To: 3 * time.Hour}}).Append(nil))
	m.Set("h", rollup.RunName(9, 1), bigtable.Time(servedStart.AddDate(0, 0, 1)), []byte("damaged"))
	m.Set("h", "later", bigtable.Time(servedStart.AddDate(0, 0, 1)), []byte("unknown"))
	must(t, a.client.OpenTable("events").Apply(t.Context(), "berlin#1#2021-03-01", m))
	want := []string{"deletion of 2 time ranges", "", "run: 24 windows by 1h, in place of 1 change", "run: not a run of a rollup: its checksum does not match"}
	assert.Same(t, want, shown())
}

// TestAPIChart asks for charts as plot draws them: of one series and of several, of open and relative ranges, and of no events.
func TestAPIChart(t *testing.T) {
	h := servedEvents(t, slices.Concat(readings("berlin", 1, time.Hour, 24*200), readings("paris", 2, time.Hour, 48)))
	berlin, paris := `["city=berlin","sensor=1"]`, `["city=paris","sensor=2"]`
	of := func(parameters ...string) []string { return append([]string{"schema", "Event"}, parameters...) }
	both := ask(t, h, 200, "chart", of("series", berlin, "series", paris, "width", "380")...)
	if got := fmt.Sprint(both["series"], both["from"], both["to"], both["every"], both["values"]); got != "[city=berlin sensor=1 city=paris sensor=2]2021-03-01T00:00:00Z2021-09-17T00:00:00Z1d14544" {
		t.Errorf("got %s", got)
	}
	drawing := both["drawing"].(string)
	if !strings.HasPrefix(drawing, `<svg viewBox="0 0 380 `) || strings.Count(drawing, "s1 line l1") != 3 || !strings.Contains(drawing, "value (°C)") || both["data"].(map[string]any)["colors"] != 6.0 {
		t.Error(drawing[:500])
	}
	zoned := ask(t, h, 200, "chart", of("series", paris, "from", "2021-03-01 12:30", "to", "2021-03-02", "zone", "Europe/Berlin", "fields", "total", "show", "max")...)
	if got := fmt.Sprint(zoned["from"], zoned["to"], zoned["every"], zoned["about"], zoned["values"]); got != "2021-03-01T12:30:00+01:002021-03-02T00:00:00+01:001hline: max of each 1h11" {
		t.Errorf("got %s", got)
	}
	for name, parameters := range map[string][]string{
		"since":  {"series", paris, "from", "2021-03-02"},
		"until":  {"series", paris, "to", "2021-03-02"},
		"value":  {"value", "city=paris", "value", "sensor=2"},
		"query":  {"query", "ByCity", "value", "city=paris"},
		"absent": {"series", paris, "series", `["city=x","sensor=1"]`, "from", "2021-03-02", "to", "2021-03-03"},
	} {
		want := map[string]float64{"since": 72, "until": 72, "value": 144, "query": 144, "absent": 72}[name]
		if got := ask(t, h, 200, "chart", of(parameters...)...); got["values"] != want {
			t.Errorf("%s: %v values", name, got["values"])
		}
	}
	for _, parameters := range [][]string{{"series", paris, "from", "-7d"}, {"series", `["city=x","sensor=1"]`}} {
		if got := ask(t, h, 200, "chart", of(parameters...)...); got["values"] != 0.0 || got["from"] != "" || got["drawing"] != nil {
			t.Errorf("%v: %v", parameters, got)
		}
	}
	if got := ask(t, h, 200, "chart", of("series", paris, "from", "-7d", "to", "0s")...); got["values"] != 0.0 || got["from"] == "" || !strings.Contains(got["drawing"].(string), "no values") {
		t.Errorf("got %v", got)
	}
	for want, parameters := range map[string][]string{
		`series "x": want a JSON array`:                       {"series", "x"},
		`: want all values of a series`:                       {"series", `["city=paris"]`},
		`series: value, query and table select`:               {"series", paris, "query", "ByCity"},
		`width "10": want a whole number from 200 to 4000`:    {"series", paris, "width", "10"},
		`show "most": must be mean`:                           {"series", paris, "show", "most"},
		`fields: the schema has no number or duration "note"`: {"series", paris, "fields", "note"},
		`from 2021-03-02 is after to 2021-03-01`:              {"series", paris, "from", "2021-03-02", "to", "2021-03-01"},
	} {
		assert.Contains(t, want, ask(t, h, 400, "chart", of(parameters...)...)["detail"].(string), parameters)
	}
}

// TestAPIOpen asks what the page opens with: the first series of the schema with the newest event, whatever other schemas have.
func TestAPIOpen(t *testing.T) {
	a := apiOf(t, servedSchema, slices.Concat(readings("berlin", 1, time.Hour, 2), readings("paris", 2, time.Hour, 48)))
	if got := fmt.Sprint(ask(t, served(a), 200, "open")); got != "map[newest:2021-03-02T23:00:00Z schema:Event series:map[city:berlin sensor:1]]" {
		t.Errorf("got %s", got)
	}
	other := func(name, table string) *layout.Layout {
		text := strings.NewReplacer("name: Event", "name: "+name, "  events:", "  "+table+":").Replace(servedSchema)
		return testschema.Layout(t, text)
	}
	newer := dynamic.New(other("Newer", "newer"))
	b := dynamictest.Start(t, newer)
	_, err := setup.Setup(t.Context(), b.Admin, b.Client, a.schemas["Event"].Tables())
	must(t, err)
	for _, s := range []*dynamic.Schema{newer, a.schemas["Event"]} {
		must(t, s.NewWriter(b.Client).WriteAll(t.Context(), readings("berlin", int64(len(s.Layout().Name)), time.Hour, 3)))
	}
	must(t, newer.NewWriter(b.Client).WriteAll(t.Context(), readings("paris", 7, time.Hour, 300)))
	layouts := []*layout.Layout{a.schemas["Event"].Layout(), other("Absent", "absent"), newer.Layout()}
	if got := fmt.Sprint(ask(t, served(newAPI(layouts, b.Client, store.ReaderOptions{})), 200, "open")); got != "map[newest:2021-03-13T11:00:00Z schema:Newer series:map[city:berlin sensor:5]]" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(ask(t, served(newAPI(layouts[1:2], b.Client, store.ReaderOptions{})), 200, "open")); got != "map[newest: schema: series:<nil>]" {
		t.Errorf("got %s", got)
	}
}

// TestAPIRefuses asks for what is not there.
func TestAPIRefuses(t *testing.T) {
	h := servedEvents(t, readings("berlin", 1, time.Minute, 200))
	berlin := []string{"schema", "Event", "value", "city=berlin", "value", "sensor=1"}
	for want, c := range map[string]struct {
		code       int
		path       string
		parameters []string
	}{
		`there are /api/schemas, open, series, chart, range, windows, events, latest and row`: {404, "other", nil},
		`no schema "Other"; there are Event`:                                                  {400, "events", []string{"schema", "Other"}},
		`no parameter "limits"`:                                                               {400, "events", append(berlin, "limits", "1")},
		`parameter from is given twice`:                                                       {400, "events", append(berlin, "from", "2021-01-01", "from", "2021-01-01")},
		`from "yesterday": want a date`:                                                       {400, "events", append(berlin, "from", "yesterday")},
		`limit "0": want a whole number from 1 to 10000`:                                      {400, "events", append(berlin, "limit", "0")},
		`"sensor=x":`:          {400, "events", []string{"schema", "Event", "value", "city=a", "value", "sensor=x"}},
		`time "": want a time`: {400, "row", berlin},
		`time "2021-03-05T12:00:00.1234567891Z": want at most nine digits after the point`: {400, "row", append(berlin, "time", "2021-03-05T12:00:00.1234567891Z")},
		`from "2021-03-05T12:00:00.1234567891Z": want at most nine digits after the point`: {400, "events", append(berlin, "from", "2021-03-05T12:00:00.1234567891Z")},
		`from "-1.0000000001s": want a date`:                                               {400, "events", append(berlin, "from", "-1.0000000001s")},
		`want the values of one series`:                                                    {400, "row", []string{"schema", "Event", "time", "2021-03-02T03:00:00Z"}},
		`no query takes only sensor`:                                                       {400, "events", []string{"schema", "Event", "value", "sensor=1"}},
		`query "Q": schema Event has no such query`:                                        {400, "events", []string{"schema", "Event", "query", "Q"}},
		`order "oldest": want newest or time`:                                              {400, "events", append(berlin, "order", "oldest")},
		`fields: the schema has no field "x"`:                                              {400, "events", append(berlin, "fields", "x")},
		`the newest event of each series (latest) needs series values`:                     {400, "latest", []string{"schema", "Event"}},
		`events with the newest first (order=newest) need series values`:                   {400, "events", []string{"schema", "Event", "order", "newest"}},
		`events in order of time (order=time) need series values`:                          {400, "events", []string{"schema", "Event", "order", "time"}},
		`order=time: the rows of these events are in another order: leave it out`:          {400, "events", []string{"schema", "Event", "query", "ByCity", "value", "city=berlin", "order", "time"}},
		`points: windows have the width of every`:                                          {400, "windows", append(berlin, "every", "1d", "points", "4")},
		`sequence 1: events of schema Event have none`:                                     {400, "row", append(berlin, "time", "2021-03-02T03:00:00Z", "sequence", "1")},
		`from and to: want the time of one event`:                                          {400, "row", append(berlin, "time", "2021-03-02T03:00:00Z", "from", "2021-03-02")},
		`table "events": query ByCity reads a table of its own: leave one of them out`:     {400, "events", []string{"schema", "Event", "query", "ByCity", "table", "events", "value", "city=berlin"}},
		`the width of the windows is missing`:                                              {400, "windows", berlin},
		`every: `:                                                                          {400, "windows", append(berlin, "every", "1x")},
		`zone "Nowhere"`:                                                                   {400, "windows", append(berlin, "every", "1d", "zone", "Nowhere")},
		`zone "": no such time zone`:                                                       {400, "windows", append(berlin, "every", "1d", "zone", "")},
		`fill "": want none, null`:                                                         {400, "windows", append(berlin, "every", "1d", "fill", "")},
		`there are more than 100 windows of 1m`:                                            {422, "windows", append(berlin, "every", "1m", "limit", "100")},
		`page "!": it is damaged`:                                                          {400, "events", append(berlin, "page", "!")},
		`fields: the schema has no field "y"`:                                              {400, "range", append(berlin, "fields", "y")},
		`page "2": it is damaged`:                                                          {400, "series", []string{"schema", "Event", "page", "2"}},
	} {
		answer := ask(t, h, c.code, c.path, c.parameters...)
		if !strings.Contains(answer["detail"].(string), want) || answer["status"] != float64(c.code) {
			t.Errorf("%s %v: %v, want %s", c.path, c.parameters, answer, want)
		}
	}
}

// TestAPIUnreachable asks where no emulator answers: each request says so, before its time has passed.
func TestAPIUnreachable(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	_ = l.Close() // so connections are refused
	t.Setenv(store.EmulatorVariable, l.Addr().String())
	r := &request{project: "p", instance: "i"}
	must(t, r.connectLater(t.Context()))
	defer func() { _ = r.close() }()
	a := newAPI([]*layout.Layout{testschema.Layout(t, servedSchema)}, r.client, store.ReaderOptions{})
	a.reach = emulates
	h := served(a)
	if got := ask(t, h, 200, "schemas"); got["name"] != "Event" {
		t.Errorf("got %v", got)
	}
	for _, path := range []string{"open", "series", "chart", "range", "windows", "events", "latest", "row"} {
		parameters := []string{"schema", "Event", "value", "city=berlin", "value", "sensor=1"}
		switch path {
		case "open":
			parameters = nil
		case "windows":
			parameters = append(parameters, "every", "1h")
		case "row":
			parameters = append(parameters, "time", "2021-03-02T03:00:00Z")
		}
		got := ask(t, h, 503, path, parameters...)
		if want := "no emulator answers at " + l.Addr().String(); got["title"] != "no connection" || !strings.HasPrefix(got["detail"].(string), want) {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// expired is a context at its deadline, which has not ended it yet.
type expired struct{ context.Context }

func (expired) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

// TestAPIWatch watches a server that answers until a request times out, which is no failure of the server.
func TestAPIWatch(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	t.Setenv(store.EmulatorVariable, l.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	(&api{reach: emulates}).watch(expired{ctx}, func(err error) { t.Error(err) })
}

// grafana finds the JSON for Grafana in the manual.
var grafana = regexp.MustCompile("(?s)<!-- grafana: (\\w+) -->\n```json\n(.*?)\n```")

// TestGrafana sends the requests of the panel and of the variable in the manual, and finds their columns.
func TestGrafana(t *testing.T) {
	manual, err := os.ReadFile("../../docs/reference/btgen-live.md")
	must(t, err)
	schema := strings.NewReplacer("name: Event", "name: Balloon", "city", "location", "sensor:", "balloon_id:", ", sensor,", ", balloon_id,", "value:", "temperature:", "ByCity", "ByLocation").Replace(servedSchema)
	events := slices.Concat(readings("us-west2", 3698, time.Hour, 24), readings("us-west20", 1, time.Hour, 1), readings("eu-us-west2", 2, time.Hour, 1))
	for n := range int64(150) {
		events = append(events, readings("us-west2", 4000+n, time.Hour, 1)...)
	}
	h := servedEventsOf(t, schema, slices.Delete(events, 5, 8)) // a pause
	want := map[string]string{"panel": "24 rows, 3 without temperature_mean", "variable": "151 rows, 0 without balloon_id"}
	type query struct {
		URL     string
		Root    string `json:"root_selector"`
		Columns []struct{ Selector, Type string }
	}
	found := grafana.FindAllStringSubmatch(string(manual), -1)
	if len(found) != 2 {
		t.Fatalf("%d documents", len(found))
	}
	for _, m := range found {
		var panel struct {
			query
			Targets []query
		}
		must(t, json.Unmarshal([]byte(m[2]), &panel))
		for _, q := range append(panel.Targets, panel.query) {
			if q.URL == "" {
				continue
			}
			text := strings.NewReplacer("${balloon:percentencode}", "3698", "${__from:date:iso}", "2021-03-01T00:00:00.000Z", "${__to:date:iso}", "2021-03-02T00:00:00.000Z").Replace(q.URL)
			u, err := url.Parse(text)
			if err != nil || strings.Contains(text, "$") {
				t.Fatal(text, err)
			}
			var parameters []string
			for name, values := range u.Query() {
				for _, v := range values {
					parameters = append(parameters, name, v)
				}
			}
			rows := ask(t, h, 200, strings.TrimPrefix(u.Path, "/api/"), parameters...)[q.Root].([]any)
			for _, c := range q.Columns {
				without := 0
				for _, row := range rows {
					if infinity(row.(map[string]any)[c.Selector], c.Type) == nil {
						without++
					}
				}
				if c.Type == "timestamp" {
					if without > 0 {
						t.Errorf("%s: %d rows without %s", m[1], without, c.Selector)
					}
				} else if got := fmt.Sprintf("%d rows, %d without %s", len(rows), without, c.Selector); got != want[m[1]] {
					t.Errorf("%s: %s, want %s", m[1], got, want[m[1]])
				}
			}
		}
	}
}

// infinity returns what the backend of the Infinity data source makes of a value in a column of a type (gframer/field.go of
// grafana/infinity-libs): strings are parsed, and numbers are formatted by %v.
func infinity(v any, kind string) any {
	text, is := v.(string)
	switch {
	case v == nil:
		return nil
	case kind == "number" && is:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
		return nil
	case kind == "timestamp" && is:
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at.UTC()
		}
		return nil
	case kind == "string":
		return fmt.Sprint(v)
	}
	return v
}

// TestInfinity asks for values that dashboards often get wrong.
func TestInfinity(t *testing.T) {
	const big = 1 << 60
	h := servedEvents(t, []dynamic.Event{
		{Series: []any{"a b&c=d", int64(12345678)}, Time: servedStart, Values: []any{math.NaN(), int64(big + 1), nil, "bad", nil}},
		{Series: []any{"a b&c=d", int64(12345678)}, Time: servedStart.Add(24 * time.Hour), Values: []any{math.Inf(-1), int64(-3), nil, "bad", 90 * time.Second}},
	})
	found := rowsIn(ask(t, h, 200, "series", "schema", "Event"))[0] // as the variables of a dashboard
	series := []string{"schema", "Event", "value", "city=" + infinity(found["city"], "string").(string), "value", "sensor=" + infinity(found["sensor"], "string").(string)}
	windows := rowsIn(ask(t, h, 200, "windows", append(series, "every", "1d", "zone", "Europe/Berlin", "statistics", "mean,sum,max", "fill", "null", "from", "2021-02-28", "to", "2021-03-03")...))
	events := rowsIn(ask(t, h, 200, "events", series...))
	if len(windows) != 3 || len(events) != 2 {
		t.Fatalf("%v\n%v", windows, events)
	}
	nan := infinity(windows[1]["value_mean"], "number").(float64)
	for _, c := range []struct {
		value any
		kind  string
		want  any
	}{
		{windows[0]["start"], "timestamp", time.Date(2021, 2, 27, 23, 0, 0, 0, time.UTC)}, {windows[0]["value_mean"], "number", nil}, {windows[0]["total_sum"], "number", nil},
		{windows[1]["total_sum"], "number", float64(big)}, {windows[1]["total_max"], "string", "1152921504606846977"}, {windows[2]["value_mean"], "number", math.Inf(-1)},
		{windows[2]["total_sum"], "number", -3.0}, {windows[2]["lag_mean"], "string", "1m30s"},
		{events[0]["time"], "timestamp", servedStart}, {events[0]["value"], "string", "NaN"}, {events[0]["total"], "string", "1152921504606846977"}, {events[0]["note"], "string", nil}, {events[1]["lag"], "string", "1m30s"},
	} {
		if got := infinity(c.value, c.kind); got != c.want {
			t.Errorf("%v as %s: %v, want %v", c.value, c.kind, got, c.want)
		}
	}
	if !math.IsNaN(nan) {
		t.Errorf("got %v", nan)
	}
}

// TestAPIConcurrent reads from many clients at a time. Each answer is the same.
func TestAPIConcurrent(t *testing.T) {
	h := servedEvents(t, readings("berlin", 1, time.Minute, testlong.Pick(200, 500)))
	questions := [][]string{{"windows", "every", "1h"}, {"windows", "every", "1m"}, {"events", "limit", "500"}, {"latest"}, {"series"}}
	text := func(question []string) string {
		q := url.Values{"schema": {"Event"}, "value": {"city=berlin", "sensor=1"}}
		for i := 1; i < len(question); i += 2 {
			q.Set(question[i], question[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/"+question[0]+"?"+q.Encode(), nil))
		_, rows, _ := strings.Cut(w.Body.String(), `"rows":[`) // not the cost
		return fmt.Sprint(w.Code, rows)
	}
	var want []string
	for _, q := range questions {
		want = append(want, text(q))
	}
	each := testlong.Pick(2, 20)
	var clients sync.WaitGroup
	for n := range 50 {
		clients.Go(func() {
			for i := n; i < n+each; i++ {
				if got := text(questions[i%len(questions)]); got != want[i%len(questions)] {
					t.Errorf("%v: another answer", questions[i%len(questions)])
				}
			}
		})
	}
	clients.Wait()
}

// listening serves a handler on the loopback interface.
func listening(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := web.Listen(t.Context(), "127.0.0.1:0")
	must(t, err)
	started(t, l, h, nil)
	return "http://" + l.Addr().String() + "/"
}

// started serves a handler until the test ends.
func started(t *testing.T, l net.Listener, h http.Handler, access *web.Access) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, l, h, access) }()
	t.Cleanup(func() {
		cancel()
		assert.Is(t, nil, <-ended)
	})
}

// TestInvalidRequests asks for what no table can have, with time encodings that refuse other times. The class of fault: an error
// that precedes all requests to Bigtable is reported as one of Bigtable.
func TestInvalidRequests(t *testing.T) {
	numbered := strings.NewReplacer("sensor, bucket]", "sensor, {time: unix_ms, reverse: true}]", "bucket_new_cells", "single_unserialized", "    bucket: 1d\n", "").Replace(servedSchema)
	for name, schema := range map[string]string{"buckets": servedSchema, "seconds": numbered} {
		h := servedEventsOf(t, schema, readings("berlin", 1, time.Hour, 3))
		whole := []string{"schema", "Event", "value", "city=berlin", "value", "sensor=1"}
		empty := []string{"schema", "Event", "value", "city=", "value", "sensor=1"}
		for _, path := range []string{"series", "range", "windows", "events", "latest", "row"} {
			more := map[string][]string{"windows": {"every", "1h"}, "row": {"time", "2021-03-01T00:00:00Z"}}[path]
			ask(t, h, 400, path, append(slices.Clone(empty), more...)...)
			ask(t, h, 200, path, append(slices.Clone(whole), more...)...)
			if path == "row" {
				ask(t, h, 400, path, append(slices.Clone(whole), "time", "-0001-01-01T00:00:00Z")...)
				ask(t, h, 400, path, append(slices.Clone(whole), "time", "0000-12-31T00:00:00Z")...)
				continue
			}
			ask(t, h, 400, path, append(append(slices.Clone(whole), more...), "from", "-0001-01-01T00:00:00Z")...)
			q := url.Values{"schema": {"Event"}, "value": {"city=berlin", "sensor=1"}, "from": {"0000-01-01T00:00:00Z"}, "to": {"0000-12-31T00:00:00Z"}}
			if path == "windows" {
				q.Set("every", "1h")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/"+path+"?"+q.Encode(), nil))
			if w.Code != 200 && w.Code != 400 && w.Code != 422 {
				t.Errorf("%s, %s before year 1: %d %s", name, path, w.Code, w.Body)
			}
		}
	}
	for _, err := range []error{status.Error(codes.Internal, "no"), fmt.Errorf("reading: %w", status.Error(codes.PermissionDenied, "no")), &store.DecodeError{Err: errors.New("no")}} {
		if p := problemOf(t.Context(), err); p.Status != 502 {
			t.Errorf("%v: %d", err, p.Status)
		}
	}
}

// got gets an answer as programs do.
func got(t *testing.T, address string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	must(t, err)
	r.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(r)
}

// TestServed gets the page and its files.
func TestServed(t *testing.T) {
	address := listening(t, servedEvents(t, nil))
	kinds := map[string]string{"": "text/html; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8", "chart.js": "text/javascript; charset=utf-8", "chart.css": "text/css; charset=utf-8", "api/schemas": "application/json"}
	for path, want := range map[string]string{"": "<title>", "page.js": "use strict", "page.css": "--card", "chart.js": "function follow", "chart.css": "--back", "api/schemas": "Event"} {
		response, err := got(t, address+path)
		must(t, err)
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != 200 || response.Header.Get("Content-Type") != kinds[path] || !strings.Contains(string(text), want) || !strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
		}
	}
	response, err := http.Get(address + "page.html")
	must(t, err)
	_ = response.Body.Close()
	assert.Same(t, 404, response.StatusCode)
}

// hostileTexts are texts that must only be shown.
func hostileTexts() []string {
	var out []string
	for _, text := range []string{"<script>document.title='x'</script>", "<img src=x onerror=document.title='x'>", `"><svg onload=document.title='x'>`, "javascript:document.title='x'", "${document.title='x'}", "&lt;b&gt;", "\u202e", "'--", "a=b&c=d#e", "%00%3Cscript%3E"} {
		for i := range 20 {
			out = append(out, fmt.Sprint(text, i))
		}
	}
	return out
}

// overTLS serves a handler to those who know a token.
func overTLS(t *testing.T, h http.Handler, token string) string {
	t.Helper()
	certified := httptest.NewTLSServer(nil) // for its certificate
	defer certified.Close()
	certificate := certified.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	must(t, err)
	dir := t.TempDir()
	r := newRequest("serve", &cobra.Command{})
	r.cert, r.key, r.token, r.addr = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), "stdin", ":0"
	for name, block := range map[string]*pem.Block{r.cert: {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, r.key: {Type: "PRIVATE KEY", Bytes: key}} {
		must(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	}
	r.cmd.SetIn(strings.NewReader(token + "\nmore"))
	access, err := r.access()
	must(t, err)
	l, err := r.listen(t.Context(), access)
	must(t, err)
	started(t, l, h, access)
	return fmt.Sprintf("https://127.0.0.1:%d/", l.Addr().(*net.TCPAddr).Port)
}

// TestToken reads from another machine's point of view: everything but the page needs the token.
func TestToken(t *testing.T) {
	const token = "a-token-of-this-test"
	address := overTLS(t, servedEvents(t, nil), token)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for path, want := range map[string]int{"": 200, "page.js": 200, "page.css": 200, "chart.js": 200, "chart.css": 200, "api/schemas": 401, "api/events?schema=Event": 401, "api/": 401, "other": 401} {
		for header, want := range map[string]int{"": want, "Bearer x": want, "Bearer " + token: map[string]int{"api/": 404, "other": 404}[path]} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", address+path, nil)
			must(t, err)
			r.Header.Set("Authorization", header)
			response, err := client.Do(r)
			must(t, err)
			_ = response.Body.Close()
			assert.Same(t, cmp.Or(want, 200), response.StatusCode, path, header)
		}
	}
}

// TestBrowserToken asks for the token in a headless Chromium, and keeps the link that it was opened with.
func TestBrowserToken(t *testing.T) {
	browser := testbrowser.New(t)
	const token = "a-token-of-this-test"
	address := overTLS(t, servedEvents(t, readings("berlin", 1, time.Hour, 48)), token)
	shown := browser.Visit(t, address, testbrowser.Looks[0], nil, `
location.hash = "schema=Event&tab=events&series=" + encodeURIComponent('["city=berlin","sensor=1"]');
await until("the form", () => !$("login").hidden && $("problem").textContent.includes("token"));
$("token").value = "wrong"; $("login").requestSubmit();
await until("refused", () => $("problem").textContent === "the token is wrong");
if (document.cookie) faults.push("scripts see the cookie " + document.cookie);
$("token").value = "`+token+`"; $("login").requestSubmit();
await until("events", () => $("events").querySelectorAll("tbody tr").length === 48);
if (document.cookie || location.href.includes("token") || $("token").value || !$("login").hidden || !$("problem").hidden) faults.push("the token is left: " + document.cookie + location.href + $("problem").textContent);
shown.push((await fetch("/api/schemas")).status);`)
	assert.Same(t, "200", shown)
}

// TestBrowser goes through the page in a headless Chromium, as a person would: from what it opens with to single events, their stored
// rows, and the results of queries.
func TestBrowser(t *testing.T) {
	browser := testbrowser.New(t)
	events := append(readings("berlin", 1, time.Hour, 2*365*24), readings("paris", 2, time.Hour, 48)...)
	for i, text := range hostileTexts() {
		events = append(events, dynamic.Event{Series: []any{text, int64(i)}, Time: servedStart, Values: []any{1.0, int64(1) << 60, text, "bad", nil}})
	}
	address := listening(t, servedEvents(t, events))
	for _, look := range testbrowser.Looks {
		shown := browser.Visit(t, address, look, nil, `
const label = name => [...document.querySelectorAll("#series label")].find(l => l.textContent.includes(name));
const click = async name => (await until(name, () => label(name))).querySelector("input").click();
const search = async text => { $("search").value = text; $("search").dispatchEvent(new Event("input")); };
const body = id => $(id).querySelector(".body"), about = () => body("chart").querySelector(".about")?.textContent || "";
const shows = (id, f) => until(id + ": " + f, () => !$(id).hidden && !body(id).classList.contains("stale") && f(body(id)));
const tab = name => [...$("tabs").children].find(b => b.textContent === name).click();
const first = id => [...body(id).querySelector("tbody tr").children].map(td => td.textContent).join("|");
const fits = () => { if (document.documentElement.scrollWidth > innerWidth) faults.push(view() + " is wider than the window: " + document.documentElement.scrollWidth); };
await shows("chart", c => c.querySelector("figure"));
shown.push("opens with " + state().get("schema") + " " + chosen().map(nameOf) + " " + $("zone").value);
$("finder").open = true;
await until("series", () => document.querySelectorAll("#series li").length === 50);
const listed = $("series").textContent;
$("next").click();
await until("the next page", () => $("series").textContent !== listed && !$("previous").disabled);
$("previous").click();
await until("the first page", () => $("series").textContent === listed && $("previous").disabled);
await search("berlin");
go({series: JSON.stringify(["city=berlin", "sensor=1"])});
await shows("chart", () => about().includes(" each ") && body("chart").querySelectorAll(".plot").length === 3 && body("chart").querySelector(".legend").textContent === "city=berlin sensor=1");
shown.push(about().replace(/\. \d+ request.*/, ""));
const svg = body("chart").querySelector("figure svg"), area = svg.getBoundingClientRect();
if (Math.abs(svg.viewBox.baseVal.width - area.width) > 16) faults.push("drawn for " + svg.viewBox.baseVal.width + ", shown in " + area.width);
for (const text of svg.querySelectorAll("text")) {
  const box = text.getBBox(), view = svg.viewBox.baseVal;
  if (box.x < -0.5 || box.x + box.width > view.width + 0.5) faults.push("cut off: " + text.textContent);
}
fits();
const point = (type, share) => { const box = svg.querySelector(".plot").dataset.box.split(" ").map(Number), scale = area.width / svg.viewBox.baseVal.width;
  svg.dispatchEvent(new PointerEvent(type, {bubbles: true, clientX: area.left + (box[0] + share * box[2]) * scale, clientY: area.top + 60, pointerType: "mouse"})); };
point("pointermove", 0.5);
shown.push("values of " + [...body("chart").querySelectorAll(".tip tr")].map(tr => tr.firstChild.textContent).join(", "));
point("pointerdown", 0.25); point("pointermove", 0.5);
if (svg.querySelectorAll(".dragged").length !== 3) faults.push("not all panels show what is dragged");
point("pointerup", 0.5);
await until("dragged", () => state().has("from"));
await shows("chart", () => /^2021-08-3. .* to 2022-0[23]-/.test(about()));
document.querySelector("figure").dispatchEvent(new KeyboardEvent("keydown", {key: "-"}));
await shows("chart", () => /^2021-0(5-3|6-0)/.test(about()));
$("from").value = "2021-06-01"; $("to").value = "2021-06-03 00:00"; $("range").requestSubmit();
await shows("chart", () => about().startsWith("2021-06-01 00:00 to 2021-06-03 00:00, Europe/Berlin (CEST). dot: one event. "));
shown.push(body("chart").querySelectorAll("svg circle").length + " dots");
$("later").click();
await shows("chart", () => about().startsWith("2021-06-02 00:00 to 2021-06-04 00:00"));
$("from").value = "2023-02-20"; $("to").value = ""; $("range").requestSubmit();
await shows("chart", () => about().startsWith("2023-02-20 00:00 to 2023-03-01 01:00"));
$("from").value = "-7d"; $("range").requestSubmit();
await shows("chart", c => c.textContent.startsWith("There are no values in this range. The newest event is of 2023-03-01 00:00:00."));
[...$("presets").children].find(b => b.textContent === "7 d").click();
await shows("chart", c => c.querySelectorAll(".empty button").length === 2);
body("chart").querySelectorAll(".empty button")[1].click();
await shows("chart", () => /^2023-02-22 00:00.* to 2023-03-01 00:00/.test(about()));
$("from").value = "yesterday"; $("range").requestSubmit();
await until("no time", () => $("chart").querySelector(".failed")?.textContent.includes('from "yesterday": want a date'));
go({from: "2021-06-01", to: "2021-06-03"});
await shows("chart", () => about().startsWith("2021-06-01"));
tab("Events");
await shows("events", e => e.querySelectorAll("tbody tr").length === 48);
shown.push(first("events"));
fits();
body("events").querySelector("tbody button").click();
await shows("row", r => r.querySelectorAll("tbody tr").length === 96);
shown.push(body("row").querySelector(".key").textContent + ": " + first("row").replace(/\|[0-9.]+y ago\|/, "|"), body("row").querySelectorAll("tr.this").length + " cells of the event");
fits();
tab("Newest");
await shows("newest", e => e.querySelector("tbody tr"));
shown.push(first("newest"));
fits();
tab("Stored row");
await shows("row", r => r.querySelector("h3").textContent.includes("2023-03-01 00:00:00"));
go({tab: "events", from: "", to: ""});
await shows("events", e => e.querySelector(".more"));
body("events").querySelector(".more").click();
await until("a second page", () => body("events").querySelectorAll("tbody tr").length === 100);
tab("Queries");
const form = await until("a form", () => $("forms").querySelector("form")), ask = as => { form.querySelector("select").value = as; form.requestSubmit(); };
form.querySelector("input").value = "paris";
ask("events");
await shows("queries", q => q.querySelectorAll("tbody tr").length === 48);
shown.push(body("queries").querySelector(".about").textContent.replace(/[0-9.]+ .B/, "bytes"), first("queries"));
ask("newest of each series");
await shows("queries", q => q.querySelectorAll("tbody tr").length === 1);
$("live").click();
body("queries").querySelector("tbody tr").remove();
await shows("queries", q => q.querySelectorAll("tbody tr").length === 1);
$("live").click();
ask("chart");
await shows("queries", q => q.querySelectorAll("figure .plot").length === 3);
fits();
const asked = location.hash;
location.hash = "schema=Event";
await shows("chart", c => c.querySelector("figure") && !state().has("query"));
location.hash = asked.replace("Europe%2FBerlin", "America%2FNew_York");
await shows("queries", q => q.querySelector("figure") && q.textContent.includes("2021-02-28 19:00 to ") && $("forms").querySelector("input").value === "paris");
$("zone").value = "Nowhere"; $("zone").dispatchEvent(new Event("change"));
await until("no zone", () => $("problem").textContent.startsWith("Nowhere:"));
$("zone").value = "Europe/Berlin"; $("zone").dispatchEvent(new Event("change"));
await until("a zone", () => $("problem").hidden);
shown.push([local("2021-10-31T00:30:00Z"), local("2021-10-31T01:30:00.5Z"), local("2021-10-31T02:30:00Z"), local("0001-01-01T00:00:00Z")].join(", "));
location.hash = "schema=Event&series=" + encodeURIComponent('["city=paris","sensor=2"]');
await search("script");
await click("<script>");
await shows("chart", c => c.querySelectorAll(".legend li").length === 2);
shown.push("2 series in " + body("chart").querySelectorAll("figure .line.l1, figure .d1").length + " panels");
body("chart").querySelectorAll(".legend button")[1].click();
if (body("chart").querySelectorAll("figure .s1.off").length === 0) faults.push("not hidden");
tab("Newest");
await shows("newest", e => e.textContent.includes("script"));
document.querySelectorAll("#series input:checked").forEach(box => box.click());
go({series: "none"});
await shows("newest", e => e.textContent === "Choose series to see them.");
await search("nothing has this");
await until("no series", () => $("series").textContent.includes("No series has this text"));
if (document.querySelector("img, script:not([src]), svg svg")) faults.push("text became an element");
shown.push(document.title);`)
		whole := map[bool]string{true: "2023-03-02 00:00, Europe/Berlin (CET). line: mean, band: minimum to maximum of each 1d", false: "2023-03-03 00:00, Europe/Berlin (CET). line: mean, band: minimum to maximum of each 3d"}[look.Width > 1000]
		want := `opens with Event city="><svg onload=document.title='x'>0 sensor=40 Europe/Berlin
2021-03-01 00:00 to ` + whole + `
values of value (°C), total, lag (min)
144 dots
⋯|berlin|1|2021-06-02 23:00:00|21|2,253||good|31m30s
berlin#1#2021-06-02: m:lag|2021-06-02 23:00:00|lag 31m30s|0x000001b80cc75400|8|
4 cells of the event
⋯|berlin|1|2023-03-01 00:00:00|23|17,519||good|34m30s
48 events, 1 request, 2 rows, 192 cells, bytes.
⋯|paris|2|2021-03-01 01:00:00|0|0||good|0s
2021-10-31 02:30:00 GMT+2, 2021-10-31 02:30:00.5 GMT+1, 2021-10-31 03:30:00, 0001-01-01T00:00:00Z
2 series in 2 panels
Event on Bigtable`
		assert.Same(t, want, shown, look)
	}
}

// TestBrowserFailure shows another range while the server is slow, and while it fails: what is shown of the range before is pale, and
// each view says what could not be read and tries again.
func TestBrowserFailure(t *testing.T) {
	browser := testbrowser.New(t)
	address := listening(t, servedEvents(t, readings("berlin", 1, time.Hour, 1000)))
	browser.Visit(t, address, testbrowser.Looks[0], nil, `
const real = fetch, wait = [];
const slow = () => window.fetch = (path, o) => new Promise((answer, fail) => wait.push({path, answer, fail, o}));
const failed = () => new Response(JSON.stringify({title: "no connection", status: 503, detail: "no emulator answers"}), {status: 503});
const fail = () => { window.fetch = async path => failed(); for (const w of wait.splice(0)) w.answer(failed()); };
const work = () => { window.fetch = real; for (const w of wait.splice(0)) real(w.path, w.o).then(w.answer, w.fail); };
const body = id => $(id).querySelector(".body"), message = id => $(id).querySelector(".state").textContent, about = () => body("chart").querySelector(".about")?.textContent || "";
const settled = id => !body(id).classList.contains("stale") && !message(id);
const is = (what, got, want) => { if (got !== want) faults.push(what + ": " + got); };
location.hash = "schema=Event&zone=UTC&from=2021-03-02&to=2021-03-20&series=" + encodeURIComponent('["city=berlin","sensor=1"]');
await until("a chart", () => about().startsWith("2021-03-02") && settled("chart"));
for (const text of body("chart").querySelectorAll("text")) if (text.textContent === "-0") faults.push("an axis has -0");
slow();
$("later").click();
await until("a slow answer", () => wait.length === 1 && message("chart") === "Reading the chart …");
is("slow", body("chart").classList.contains("stale"), true);
fail();
await until("a failure", () => $("chart").querySelector(".failed button"));
is("failed", message("chart"), "The chart could not be read: no emulator answers. Below is what was read before.Try again");
is("still", about().slice(0, 10), "2021-03-02");
$("chart").querySelector(".failed button").click();
await until("another failure", () => $("chart").querySelector(".failed button") && body("chart").classList.contains("stale"));
work();
$("chart").querySelector(".failed button").click();
await until("the range", () => settled("chart") && about().startsWith("2021-03-11"));
fail();
go({tab: "events"});
await until("no events", () => message("events") === "The events could not be read: no emulator answers" + "Try again");
work();
$("events").querySelector(".failed button").click();
await until("events", () => settled("events") && body("events").querySelectorAll("tbody tr").length === 50);
fail();
body("events").querySelector(".more").click();
await until("no more events", () => body("events").textContent.endsWith("More events could not be read: no emulator answers"));
work();
body("events").querySelector(".more").click();
await until("more events", () => body("events").querySelectorAll("tbody tr").length === 100);
go({tab: "", live: "1"});
await until("live", () => settled("chart"));
fail();
await until("a failed refresh", () => $("chart").querySelector(".failed"));
work();
await until("a refresh", () => settled("chart"));
window.fetch = async () => { throw new TypeError("no network"); };
await until("no server", () => message("chart").includes("btgen-live serve does not answer: no network"));
work();
await until("the server", () => settled("chart"));
slow();
go({live: "", from: "2021-03-03"});
await until("a chart that is not wanted", () => wait.length === 1);
const late = wait.splice(0);
go({from: "2021-03-04"});
await until("the wanted one", () => wait.length === 1);
work();
await until("the last range", () => settled("chart") && about().startsWith("2021-03-04"));
for (const w of late) real(w.path).then(w.answer, w.fail);
await new Promise(done => setTimeout(done, 300));
is("late", about().slice(0, 10), "2021-03-04");
fail();
go({series: "", from: "", to: ""});
await until("no series", () => $("series").querySelector(".failed button"));
work();
$("series").querySelector(".failed button").click();
await until("the first series", () => settled("chart") && about().startsWith("2021-03-01") && $("series").querySelectorAll(":checked").length === 1);`)
}

// TestBrowserEmpty opens the page where there is nothing: it says what to do.
func TestBrowserEmpty(t *testing.T) {
	browser := testbrowser.New(t)
	address := listening(t, servedEventsOf(t, strings.Replace(servedSchema, "queries:\n  ByCity: {by: [city]}\n", "", 1), nil))
	browser.Visit(t, address, testbrowser.Looks[3], nil, `
for (const [tab, text] of Object.entries({chart: "Choose series to see them.", events: "Choose series", newest: "Choose series", row: "Choose series", queries: "The schema has no queries."})) {
  go({tab});
  await until(tab, () => !$(tab).hidden && $(tab).textContent.includes(text));
}
$("finder").open = true;
await until("no series", () => $("series").textContent.includes("No series has events yet. Write some, such as those of a file: btgen-live write Event events.csv"));
if (!$("problem").hidden) faults.push($("problem").textContent);`)
}

var must = assert.Must
