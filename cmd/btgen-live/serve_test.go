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

// rolledUp returns the schema with a rollup, and events that stay for a time.
func rolledUp(ttl string) string {
	const rollup = "\n    rollup: {every: 1h, family: h, ttl: {keep: forever}}"
	return strings.Replace(servedSchema, "ttl: {keep: forever}", "ttl: {"+ttl+"}"+rollup, 1)
}

// rollUp summarizes events.
func (a *api) rollUp(t *testing.T, o store.RollupOptions) {
	t.Helper()
	o.Sleep = func(context.Context, time.Duration) error { return nil }
	_, err := a.schemas["Event"].Rollup(t.Context(), a.client, o)
	must(t, err)
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

// apiCases are tables whose requests and answers are in testdata/api.
func apiCases(t *testing.T) map[string]*api {
	of := func(changes ...string) string { return strings.NewReplacer(changes...).Replace(servedSchema) }
	keyed := func(key string) string {
		return of(`[{name: city, escape: true}, sensor, bucket]`, key, "queries:\n  ByCity: {by: [city]}\n", "")
	}
	few := readings("berlin", 1, 12*time.Hour, 3)
	var cities, short []dynamic.Event
	for _, city := range []string{"berlin", "bergen", "bern#1", "paris", "Berlin"} {
		for sensor := range int64(3) {
			cities = append(cities, readings(city, sensor+10, time.Hour, 30)...)
		}
	}
	for _, e := range few {
		e.Values = e.Values[:1]
		short = append(short, e)
	}
	odd := dynamic.Event{Series: []any{"odd", int64(math.MaxInt64)}, Time: servedStart, Values: []any{math.NaN(), int64(math.MinInt64), "<script>", "bad", nil}}
	damaged := apiOf(t, servedSchema, few)
	m := bigtable.NewMutation()
	m.Set("m", "value", bigtable.Time(servedStart.Add(7*time.Hour)), []byte("?"))
	must(t, damaged.client.OpenTable("events").Apply(t.Context(), "berlin#1#2021-03-01", m))
	late := readings("berlin", 1, 50*time.Minute, 30) // until 00:10 of the next day
	for i := range late {
		late[i].Time = late[i].Time.Add(10*time.Minute + time.Microsecond)
	}
	summarized := apiOf(t, rolledUp("keep: forever"), late)
	summarized.rollUp(t, store.RollupOptions{All: true})
	expired := testschema.Layout(t, rolledUp("max_age: 30d"))
	return map[string]*api{
		"everything": apiOf(t, servedSchema, slices.Concat(readings("berlin", 1, time.Hour, 48), readings("paris", 2, time.Hour, 3), []dynamic.Event{odd})),
		"refusals":   apiOf(t, servedSchema, readings("berlin", 1, time.Minute, 200)),
		"charts":     apiOf(t, servedSchema, slices.Concat(readings("berlin", 1, time.Hour, 24*200), readings("paris", 2, time.Hour, 48))),
		"infinity": apiOf(t, servedSchema, []dynamic.Event{
			{Series: []any{"a b&c=d", int64(12345678)}, Time: servedStart, Values: []any{math.NaN(), int64(1<<60 + 1), nil, "bad", nil}},
			{Series: []any{"a b&c=d", int64(12345678)}, Time: servedStart.Add(24 * time.Hour), Values: []any{math.Inf(-1), int64(-3), nil, "bad", 90 * time.Second}},
		}),
		"invalid":         apiOf(t, servedSchema, readings("berlin", 1, time.Hour, 3)),
		"invalid_seconds": apiOf(t, of("sensor, bucket]", "sensor, {time: unix_ms, reverse: true}]", "bucket_new_cells", "single_unserialized", "    bucket: 1d\n", ""), readings("berlin", 1, time.Hour, 3)),
		"precision":       apiOf(t, of("fields:", "time: {precision: 1m}\nfields:"), nil),
		"prefix_first":    apiOf(t, servedSchema, cities),
		"prefix_salted":   apiOf(t, keyed(`[{hash: [city, sensor], buckets: 4}, {name: city, escape: true}, sensor, bucket]`), cities),
		"prefix_second":   apiOf(t, keyed(`[sensor, {name: city, escape: true}, bucket]`), cities),
		"prefix_behind":   apiOf(t, keyed(`[{hash: [city, sensor], buckets: 4}, bucket, {name: city, escape: true}, sensor]`), cities),
		"row_escaped":     apiOf(t, servedSchema, readings("ber#lin", 1, 12*time.Hour, 3)),
		"range":           apiOf(t, rolledUp("keep: forever"), late),
		"range_expired":   newAPI([]*layout.Layout{expired}, summarized.client, store.ReaderOptions{}),
		"row_damaged":     damaged,
		"row_text":        apiOf(t, of("    family: m", "    family: m\n    values: text"), few),
		"row_serialized":  apiOf(t, of("bucket_new_cells", "bucket_serialized", "    family: m", "    family: m\n    blob: {column: e, format: json}"), few),
		"row_offsets": apiOf(t, of("bucket_new_cells", "bucket_offsets", "  total: int64\n  note: {type: string, optional: true}\n"+
			"  state: {type: enum, of: {good: 1, bad: 2}}\n  lag: {type: duration, optional: true}\n", ""), short),
		"row_columns": apiOf(t, of("bucket_new_cells", "bucket_new_columns", "sensor, bucket]", "sensor, metric, bucket]", "queries:\n  ByCity: {by: [city]}\n", ""), few),
	}
}

// drawn matches the size, lines and titles in a drawing.
var drawn = regexp.MustCompile(`viewBox="[^"]*"|class="s. line l."|>[^<>]*( \(|no values)[^<>]*<`)

// TestAPI sends the requests in testdata/api, and compares the answers: a line of what is not in rows, and one for each row and cell.
func TestAPI(t *testing.T) {
	for name, a := range apiCases(t) {
		file := filepath.Join("testdata", "api", name+".txt")
		text, err := os.ReadFile(file)
		must(t, err)
		got, next := "", ""
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "\t") {
				continue
			}
			if got += line; line != "\n" && line[0] != '#' {
				answer := answered(t, served(a), strings.ReplaceAll(line, "$next", next))
				next, _ = answer["next"].(string)
				got += shownAnswer(t, answer)
			}
		}
		if *update {
			must(t, os.WriteFile(file, []byte(got), 0o666))
		} else {
			assert.Same(t, string(text), got, file)
		}
	}
}

// answered returns the answer to a request, in which only spaces are escaped.
func answered(t *testing.T, h http.Handler, request string) (answer map[string]any) {
	t.Helper()
	path, query, _ := strings.Cut(strings.TrimSpace(request), "?")
	q, err := url.ParseQuery(query)
	must(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/"+path+"?"+q.Encode(), nil))
	body := w.Body.String()
	if strings.HasPrefix(body, "[") {
		body = `{"rows":` + body + "}"
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	must(t, d.Decode(&answer), body)
	answer["code"] = w.Code
	return answer
}

// shownAnswer returns an answer as files have it: with the lines and labels of a drawing.
func shownAnswer(t *testing.T, answer map[string]any) (text string) {
	t.Helper()
	rows, _ := answer["rows"].([]any)
	delete(answer, "rows")
	if drawing, ok := answer["drawing"].(string); ok {
		answer["drawing"], answer["data"] = drawn.FindAllString(drawing, -1), answer["data"].(map[string]any)["colors"]
	}
	if answer["next"] != nil && answer["next"] != "" {
		answer["next"] = "..."
	}
	parts := []any{answer}
	for _, row := range rows {
		cells, _ := row.(map[string]any)["cells"].([]any)
		delete(row.(map[string]any), "cells")
		parts = append(append(parts, row), cells...)
	}
	for _, part := range parts {
		line, err := json.Marshal(part)
		must(t, err)
		text += "\t" + string(line) + "\n"
	}
	return text
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

// TestAPIWidthOfRollup asks for windows of times whose events have expired, and of others.
func TestAPIWidthOfRollup(t *testing.T) {
	h := servedEventsOf(t, rolledUp("max_age: 30d"), nil)
	now := time.Now().UTC()
	for from, want := range map[string]string{"2021-03-01": "1h", now.Format(time.DateOnly): "5m"} {
		begin, err := time.Parse(time.DateOnly, from)
		must(t, err)
		got := ask(t, h, 200, "windows", "schema", "Event", "value", "city=berlin", "value", "sensor=1", "points", "400", "from", from, "to", begin.AddDate(0, 0, 1).Format(time.DateOnly))
		assert.Same(t, want, got["every"], from)
	}
}

// TestAPIRowOfRollup asks for a row whose bucket changes, is summarized, and changes again.
func TestAPIRowOfRollup(t *testing.T) {
	a := apiOf(t, rolledUp("keep: forever"), readings("berlin", 1, time.Hour, 30))
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
	a.rollUp(t, store.RollupOptions{})
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

// TestAPIOpen asks what the page opens with: the first series of the schema with the newest event, whatever other schemas have.
func TestAPIOpen(t *testing.T) {
	a := apiOf(t, servedSchema, slices.Concat(readings("berlin", 1, time.Hour, 2), readings("paris", 2, time.Hour, 48)))
	check := func(want string, h http.Handler) {
		t.Helper()
		assert.Same(t, "map["+want+"]", fmt.Sprint(ask(t, h, 200, "open")))
	}
	check("newest:2021-03-02T23:00:00Z schema:Event series:map[city:berlin sensor:1]", served(a))
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
	of := func(some []*layout.Layout) http.Handler { return served(newAPI(some, b.Client, store.ReaderOptions{})) }
	check("newest:2021-03-13T11:00:00Z schema:Newer series:map[city:berlin sensor:5]", of(layouts))
	check("newest: schema: series:<nil>", of(layouts[1:2]))
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
	assert.Same(t, "Event", ask(t, h, 200, "schemas")["name"])
	of := []string{"schema", "Event", "value", "city=berlin", "value", "sensor=1"}
	for path, parameters := range map[string][]string{
		"open": nil, "series": of, "chart": of, "range": of, "windows": append(of[:len(of):len(of)], "every", "1h"), "events": of, "latest": of,
		"row": append(of[:len(of):len(of)], "time", "2021-03-02T03:00:00Z"),
	} {
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
				assert.Same(t, want[i%len(questions)], text(questions[i%len(questions)]))
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

// TestProblems checks that errors of Bigtable and of what it stores are not those of the request.
func TestProblems(t *testing.T) {
	for _, err := range []error{status.Error(codes.Internal, "no"), fmt.Errorf("reading: %w", status.Error(codes.PermissionDenied, "no")), &store.DecodeError{Err: errors.New("no")}} {
		assert.Same(t, 502, problemOf(t.Context(), err).Status, err)
	}
}

// TestServed gets the page and its files.
func TestServed(t *testing.T) {
	address := listening(t, servedEvents(t, nil))
	for path, wants := range map[string][2]string{
		"": {"text/html; charset=utf-8", "<title>"}, "api/schemas": {"application/json", "Event"},
		"page.js": {"text/javascript; charset=utf-8", "use strict"}, "page.css": {"text/css; charset=utf-8", "--card"},
		"chart.js": {"text/javascript; charset=utf-8", "function follow"}, "chart.css": {"text/css; charset=utf-8", "--back"},
	} {
		kind, want := wants[0], wants[1]
		r, err := http.NewRequestWithContext(t.Context(), "GET", address+path, nil)
		must(t, err)
		r.Header.Set("Content-Type", "application/json") // as programs do
		response, err := http.DefaultClient.Do(r)
		must(t, err)
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != 200 || response.Header.Get("Content-Type") != kind || !strings.Contains(string(text), want) || !strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'") {
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

// browserScript returns a script that goes through the page, or what it shows.
func browserScript(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "browser", name))
	must(t, err)
	return string(text)
}

// TestBrowserToken asks for the token in a headless Chromium, and keeps the link that it was opened with.
func TestBrowserToken(t *testing.T) {
	browser := testbrowser.New(t)
	const token = "a-token-of-this-test"
	address := overTLS(t, servedEvents(t, readings("berlin", 1, time.Hour, 48)), token)
	shown := browser.Visit(t, address, testbrowser.Looks[0], nil, browserScript(t, "token.js"))
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
		shown := browser.Visit(t, address, look, nil, browserScript(t, "page.js"))
		whole := map[bool]string{true: "2023-03-02 00:00, Europe/Berlin (CET). line: mean, band: minimum to maximum of each 1d", false: "2023-03-03 00:00, Europe/Berlin (CET). line: mean, band: minimum to maximum of each 3d"}[look.Width > 1000]
		want := strings.Replace(strings.TrimSpace(browserScript(t, "page.txt")), "WHOLE", whole, 1)
		assert.Same(t, want, shown, look)
	}
}

// TestBrowserFailure shows another range while the server is slow, and while it fails: what is shown of the range before is pale, and
// each view says what could not be read and tries again.
func TestBrowserFailure(t *testing.T) {
	browser := testbrowser.New(t)
	address := listening(t, servedEvents(t, readings("berlin", 1, time.Hour, 1000)))
	browser.Visit(t, address, testbrowser.Looks[0], nil, browserScript(t, "failure.js"))
}

// TestBrowserEmpty opens the page where there is nothing: it says what to do.
func TestBrowserEmpty(t *testing.T) {
	browser := testbrowser.New(t)
	address := listening(t, servedEventsOf(t, strings.Replace(servedSchema, "queries:\n  ByCity: {by: [city]}\n", "", 1), nil))
	browser.Visit(t, address, testbrowser.Looks[3], nil, browserScript(t, "empty.js"))
}

var must = assert.Must
