package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

const readings = `
btgen: v1
package: readings
name: Reading
series: {host: string}
fields:
  value: {type: float64}
  count: {type: int64, optional: true}
  note:  {type: string, optional: true}
  raw:   {type: bytes, optional: true}
  extra: {type: json, optional: true}
  state: {type: enum, of: {idle: 0, busy: 1}, default: idle}
tables:
  readings: {pattern: single_unserialized, key: {delimiter: "#", segments: [host, {time: unix_ms}]}, family: f,
    ttl: {keep: forever}}
`

func resolve(t testing.TB) *layout.Layout {
	t.Helper()
	r := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: []byte(readings)}})
	must(t, r.Diagnostics.Err())
	return r.Layouts[0]
}

// newReader returns a reader of a format.
func newReader(t testing.TB, l *layout.Layout, name, in string, o format.ReaderOptions) format.Reader {
	t.Helper()
	r, err := format.Find(name).Read(strings.NewReader(in), l, o)
	must(t, err)
	return r
}

// all reads all events, and the errors of those that cannot be parsed.
func all(r format.Reader) []string {
	var out []string
	for {
		e, line, err := r.Next()
		_, refused := errors.AsType[*format.InputError](err)
		switch {
		case err == io.EOF:
			return out
		case refused:
			out = append(out, err.Error())
		case err != nil:
			return append(out, "fails: "+err.Error())
		default:
			out = append(out, fmt.Sprintf("line %d: %s %#v", line, e.Time.Format(time.RFC3339Nano), append(e.Series, e.Values...)))
		}
	}
}

// A header that does not fit the schema is refused.
func TestHeader(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "header: the input is empty: want the names of the columns",
		"time,value\n":              "header: column host: the value is missing",
		"time,value,host,valeu\n":   `header: column valeu: the schema has no such value "valeu"; did you mean value?`,
		"time,value,host,value\n":   "header: column value: the value is given twice",
		"time,value,\"host\n":       "header: 1:12: syntax error: the quoted cell has no end; where this record ends is uncertain, so that nothing after it is read",
		"time,value,host\n":         "",
		"\n\nhost,value,time\r\n\n": "",
	} {
		got := ""
		if _, err := format.Find("csv").Read(strings.NewReader(in), resolve(t), format.ReaderOptions{}); err != nil {
			got = err.Error()
		}
		assert.Same(t, want, got, in)
	}
}

// Lines that are too long do not use more memory, and are reported.
func TestLongLines(t *testing.T) {
	line := strings.Repeat("x", 65<<20) + "\n"
	for _, c := range formatCases(t) {
		if !testlong.Enabled() && !strings.HasSuffix(c.name, "influx_types.txtar") {
			continue
		}
		if c.format.Cells && c.options.CSV.Columns == nil {
			continue // with a header
		}
		long := io.MultiReader(strings.NewReader(line), bytes.NewReader(c.input))
		r, err := c.format.Read(long, c.layout, c.options)
		must(t, err)
		got := all(r)
		if !slices.Contains(got, "1:1: the line is longer than 64 MiB") || !slices.ContainsFunc(got, func(line string) bool { return !strings.HasPrefix(line, "1:1: ") }) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// What is in a value is never an event: after a syntax error in a record that may have several lines, nothing
// more is read, where the next line may be a part of a string.
func TestBrokenRecords(t *testing.T) {
	const ends = "; where this record ends is uncertain, so that nothing after it is read"
	cases := formatCases(t)
	for _, tt := range []struct{ format, in, want string }{
		{"ndjson", "{\"host\":\"a\",\"time\":\"2026-01-02T03:04:05Z\",\"value\":1,\"note\":\"x\n{\"host\":\"evil\",\"time\":\"2026-01-02T03:04:05Z\",\"value\":1}\n\"}\n", "1:62: syntax error: invalid character '\\n' in string literal"},
		{"ndjson", "{\"host\":\"a\",\"value\":[\n{\"host\":\"evil\",\"time\":\"2026-01-02T03:04:05Z\",\"value\":1}\n}\n", "3:1: syntax error: invalid character '}' after array element"},
		{"ndjson", "[\n{\"host\":\"a\",\"time\":\"2026-01-02T03:04:05Z\",\"value\":1}\n]\n", "1:1: syntax error: want a JSON object, and not an array: jq -c '.[]' prints its elements"},
		{"csv", "host,time,value,note\na,2026-01-02T03:04:05Z,1,\"say \\\"x\nevil,2026-01-02T03:04:05Z,1,\n\"\n", "2:33: syntax error: want a comma or a line break after the cell: quotes in cells are doubled, or follow a backslash with --format cassandra"},
		{"csv", "host,time,value,note\na,2026-01-02T03:04:05Z,1,5\" x\nevil,2026-01-02T03:04:05Z,1,\n", "2:27: syntax error: a quote in a cell without quotes"},
		{"csv", "host,time,value,note\na,2026-01-02T03:04:05Z,1,\"x\nevil,2026-01-02T03:04:05Z,1,\n", "2:26: syntax error: the quoted cell has no end"},
		{"csv", "host,time,value,note\na,2026-01-02T03:04:05Z,1,\"" + strings.Repeat("evil,2026-01-02T03:04:05Z,1,\n", 3<<20) + "\"\n", "2:1: the line is longer than 64 MiB"},
		{"influx", "weather,station=a note=\"x\nweather,station=evil temp=1 1\n", "1:24: syntax error: the string has no end"},
		{"influx", "weather,station=a note=\"x\nweather,station=evil temp=1 1\n\"y\" 1\n", "3:2: syntax error: want a line break"},
		{"influx", "weather,station=a\\\nweather,station=evil temp=1 1\n", "1:19: syntax error: want a space and the fields"},
		{"influx", "weather,station=\"a b temp=\"x\nweather,station=evil temp=1 1\n", "1:20: syntax error: want a field, as in key=value"},
		{"prometheus", "bad{le=\"1\nevil 1 1395066363000\n\"} 1 1395066363000\n", "1:8: syntax error: the string has no end"},
	} {
		l, o := resolve(t), format.ReaderOptions{}
		if i := slices.IndexFunc(cases, func(c formatCase) bool { return c.format.Name == tt.format && c.format.Metric != "" }); i >= 0 {
			l, o = cases[i].layout, cases[i].options
		}
		if got := all(newReader(t, l, tt.format, tt.in, o)); !slices.Equal(got, []string{"fails: " + tt.want + ends}) {
			t.Errorf("%s: %.300q: %.300q", tt.format, tt.in, got)
		}
	}
}

// A last line without a line break is read as it is, though memory moves when the input ends.
func TestLastLine(t *testing.T) {
	long := strings.Repeat("note", 100)
	for name, in := range map[string]string{
		"ndjson": `{"host":"a","time":"2026-01-02T03:04:05Z","value":1}` + "\n" + `{"host":"b","time":"2026-01-02T03:04:05Z","value":2,"note":"` + long + `"}`,
		"csv":    "host,time,value,note\nb,2026-01-02T03:04:05Z,2," + long,
	} {
		if got := all(newReader(t, resolve(t), name, in, format.ReaderOptions{})); !strings.HasPrefix(got[len(got)-1], "line 2: ") || len(got) > 2 {
			t.Errorf("%q", got)
		}
	}
}

// Tables are aligned, and fit a terminal.
func TestTable(t *testing.T) {
	l := resolve(t)
	events := []dynamic.Event{
		{Series: []any{"a"}, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Values: []any{1.5, int64(7), "a note that is quite long", nil, nil, "busy"}},
		{Series: []any{"bbbbbbbbbbbb\x1b[1m"}, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Values: []any{-1234.0, nil, "漢字", []byte{1}, `{"a":1}`, "idle"}},
	}
	for _, tt := range []struct {
		options format.WriterOptions
		hidden  []string
		want    string
	}{
		{format.WriterOptions{}, nil, `host                 time                            value  count  note                       raw   extra    state
a                    2026-01-02T03:04:05Z              1.5      7  a note that is quite long                 busy
bbbbbbbbbbbb\x1b[1m  2026-01-02T03:04:05.000000006Z  -1234         漢字                       AQ==  {"a":1}  idle
`},
		{format.WriterOptions{Width: 100, Color: true}, nil, "\x1b[1mhost             time                            value  count  note             raw   extra    state\x1b[0m\n" +
			`a                2026-01-02T03:04:05Z              1.5      7  a note that is…                 busy
bbbbbbbbbbbb\x…  2026-01-02T03:04:05.000000006Z  -1234         漢字             AQ==  {"a":1}  idle
`},
		{format.WriterOptions{Width: 60}, []string{"note", "raw", "extra", "state"}, `host      time                            value  count
a         2026-01-02T03:04:05Z              1.5      7
bbbbbbb…  2026-01-02T03:04:05.000000006Z  -1234
`},
	} {
		table := format.NewTable(format.Columns(l), tt.options)
		text := table.Begin(nil)
		for i := range events {
			text = table.Append(text, &events[i])
		}
		text = table.End(text)
		assert.Same(t, tt.want, string(text), tt.options)
		assert.Same(t, tt.hidden, table.Hidden(), tt.options)
	}
}

// What parses, is written in one way, and parses as that again.
func FuzzNDJSON(f *testing.F) {
	l := resolve(f)
	f.Add([]byte(`{"host":"a","time":"2026-01-02T03:04:05.000000001Z","value":1.5,"extra":{"a":[1,"}"]},"raw":"-_8="}`))
	f.Add([]byte(`{"host":"\ud834\udd1e","time":"2026-01-02T03:04:05Z","value":"-Infinity","count":"5","state":"busy"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, _, err := newReader(t, l, "ndjson", string(line), format.ReaderOptions{}).Next()
		if err != nil {
			return
		}
		text := format.NewNDJSON(format.Columns(l)).Append(nil, &e)
		again, _, err := newReader(t, l, "ndjson", string(text), format.ReaderOptions{}).Next()
		must(t, err, line, text)
		if twice := format.NewNDJSON(format.Columns(l)).Append(nil, &again); !bytes.Equal(text, twice) {
			t.Fatalf("%q is %q, and then %q", line, text, twice)
		}
		csv := format.NewCSV(format.Columns(l))
		r, err := format.Find("csv").Read(bytes.NewReader(csv.Append(csv.Begin(nil), &e)), l, format.ReaderOptions{})
		must(t, err)
		again, _, err = r.Next()
		must(t, err, csv.Append(nil, &e))
	})
}

// A row key of another program may contain bytes that are not UTF-8, which JSON cannot.
func TestNDJSONIsUTF8(t *testing.T) {
	l := resolve(t)
	e := &dynamic.Event{Series: []any{"a\xff"}, Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Values: make([]any, len(l.Fields))}
	got := string(format.NewNDJSON(format.Columns(l)).Append(nil, e))
	assert.Contains(t, "\"host\":\"a\ufffd\"", got)
}

// A record of the smallest items is refused before they take memory: tags, fields, labels, words, cells and
// members. The class of fault: bytes of a line are bounded, and what is made of each of them is not.
func TestSmallestItems(t *testing.T) {
	const most = 100_000
	size := testlong.Pick(1<<20, 64<<20)
	done := map[string]bool{}
	for _, c := range formatCases(t) {
		for name, item := range smallest[c.format.Name] {
			if name = c.format.Name + ": " + name; done[name] {
				continue
			}
			done[name] = true
			line := item.begin + strings.Repeat(item.item, (size-1-len(item.begin)-len(item.end))/len(item.item)) + item.end
			if !c.format.Scans() {
				if got := all(newReader(t, c.layout, c.format.Name, line, format.ReaderOptions{IgnoreUnknown: true})); len(got) != 1 || !strings.HasPrefix(got[0], "1:") {
					t.Errorf("%s: %.300q", name, got)
				}
				continue
			}
			s, err := c.format.Scan(strings.NewReader(line+"\n"), format.ReaderOptions{})
			var r format.Record
			for err == nil {
				err = s.Scan(&r)
			}
			if _, refused := errors.AsType[*format.InputError](err); !refused || len(r.Values) > most || cap(r.Values) > 2*most {
				t.Errorf("%s: %d values, memory for %d, %.300v", name, len(r.Values), cap(r.Values), err)
			}
		}
	}
}

// smallest are records of the smallest items, by format.
var smallest = map[string]map[string]struct{ begin, item, end string }{
	"influx":      {"tags": {"m", ",a=b", " f=1"}, "fields": {"m f=1", ",a=1", ""}},
	"prometheus":  {"labels": {"m{", `a="b",`, "} 1"}},
	"openmetrics": {"labels": {"m{", `a="b",`, "} 1"}, "exemplar": {"m 1 # {", `a="b",`, "} 1"}},
	"opentsdb":    {"tags": {"put m 1 1", " a=b", ""}, "words": {"", "a ", ""}},
	"csv":         {"header": {"a", ",", ""}, "names": {"a", ",b", ""}},
	"cassandra":   {"header": {"a", ",", ""}},
	"ndjson":      {"members": {`{"z":0`, `,"":0`, "}"}, "arrays": {`{"z":[0`, ",0", "]}"}, "depth": {`{"z":`, "[", "}"}},
}

// An input of another system that is not read is named, and nothing of it is an event. The class of fault: what the
// file says of itself is not asked.
func TestForeign(t *testing.T) {
	cases := formatCases(t)
	for _, tt := range []struct{ format, in, want string }{
		{"csv", "#group,false,false\n#datatype,string,long\n,result,table\n", "annotated CSV of InfluxDB"},
		{"csv", "#datatype,string,long\n", "influxd inspect export-lp"},
		{"ndjson", `{"metric":{"__name__":"up"},"values":[1],"timestamps":[1772366400000]}`, "/api/v1/export/csv"},
		{"ndjson", `{"metric": {"__name__": "up"}, "values": [1]}`, "/api/v1/export/csv"},
		{"ndjson", `{"results":[{"series":[]}]}`, "-format csv"},
		{"ndjson", `{"status":"success","data":{}}`, "promtool tsdb dump-openmetrics"},
		{"csv", "PAR1\x15\x04", "--format parquet"},
		{"ndjson", `{"Label":"CPU \"user\"","Datapoints":[]}`, "get-metric-statistics: it has no data points"},
		{"csv", "{\n    \"Datapoints\": [],\n    \"Label\": \"CPU\"\n}", "get-metric-statistics: it has no data points"},
		{"ndjson", `{"Messages": [], "MetricDataResults": []}`, "get-metric-data: it has no data points"},
		{"csv", `{"MetricDataResults": [ ], "Messages": []}`, "get-metric-data: it has no data points"},
		{"csv", "{\n    \"Datapoints\" : [\n  {\n\"Timestamp\": \"2026-03-01T12:00:00Z\"}]}\n", "get-metric-statistics"},
		{"ndjson", "{\"MetricDataResults\": [" + strings.Repeat(" ", 65<<20) + "]}", "get-metric-data"},
		{"ndjson", "{\n \"Messages\": [],\n \"MetricDataResults\": []}", "get-metric-data"},
		{"ndjson", `{"Label":"CPU","Points":[]}`, "the schema has no such value \"Label\""},
		{"prometheus", "# UNIT a_seconds seconds\na 1 1772366400\n# EOF\n", "fails: it has the format of OpenMetrics, with times in seconds: add --format openmetrics"},
		{"prometheus", "up 1 1772366400\n# EOF\n", `1:6: time: "1772366400" is a time in 1970, in ms: want --time-unit s`},
		{"prometheus", `{__name__="h"} {count:12, sum:18.4, (0.5,1]:2} 1772366400123`, "native histograms are not read"},
		{"influx", "cpu,host=a user=1 1772366400\n", `1:19: time: "1772366400" is a time in 1970, in ns`},
		{"influx", "cpu,host=a user=1 1772366400000\n", "in 1970"},
	} {
		l := resolve(t)
		if i := slices.IndexFunc(cases, func(c formatCase) bool { return c.format.Name == tt.format && c.format.Metric != "" }); i >= 0 {
			l = cases[i].layout
		}
		r, err := format.Find(tt.format).Read(strings.NewReader(tt.in), l, format.ReaderOptions{})
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.Join(all(r), "\n")
		}
		if !strings.Contains(got, tt.want) || strings.Contains(got, "interface {}") {
			t.Errorf("%s: %q: %s, want %s", tt.format, tt.in, got, tt.want)
		}
	}
}

// A time without a zone says so, whatever its form. The class of fault: an error asks for another form, and the file
// is right.
func TestZoneless(t *testing.T) {
	for _, at := range []string{"2026-03-01", "2026-03-01 12:00:00", "2026-03-01T12:00:00", "2026-03-01 12:00:00.123"} {
		for name, in := range map[string]string{
			"csv": "host,value,time\na,1," + at + "\n", "ndjson": `{"host":"a","value":1,"time":"` + at + `"}`,
		} {
			if got := all(newReader(t, resolve(t), name, in, format.ReaderOptions{})); len(got) != 1 || !strings.Contains(got[0], "has no time zone: want an offset, as in 2021-03-05T12:00:00Z, or --zone") {
				t.Errorf("%s: %s: %q", name, at, got)
			}
			if got := all(newReader(t, resolve(t), name, in, format.ReaderOptions{Zone: time.UTC})); len(got) != 1 || !strings.Contains(got[0], ": 2026-03-01T") {
				t.Errorf("%s in UTC: %s: %q", name, at, got)
			}
		}
	}
	for layout, text := range map[string]string{"2.1.2006 15:04 UTC": "1.3.2026 12:00 UTC", "2.1.2006 15:04 -07": "1.3.2026 13:00 +01"} {
		if at, ok := format.ParseTime([]byte(text), format.ReaderOptions{Layout: layout}); !ok || at.Hour() != 12 {
			t.Errorf("%s: %v, %v", layout, at, ok)
		}
	}
}

// Digits beyond the nanosecond are refused, whatever the form of a time or a duration that is a text, unless they are zeros.
func TestFiner(t *testing.T) {
	for text, o := range map[string]format.ReaderOptions{
		"2021-03-05T12:00:00.123456789%sZ": {}, "2021-03-05 12:00:00.123456789%s": {Zone: time.UTC}, "2021-03-05 12:00:00,123456789%s+01": {},
		"5.3.2021 12:00:00.123456789%s": {Layout: "2.1.2006 15:04:05", Zone: time.UTC},
	} {
		for digits, finer := range map[string]bool{"": false, "0": false, "000": false, "1": true, "0001": true} {
			at, ok := format.ParseTime(fmt.Appendf(nil, text, digits), o)
			if ok == finer || !finer && at.Nanosecond() != 123456789 {
				t.Errorf(text+": %v, %v", digits, at, ok)
			}
		}
	}
	for text, finer := range map[string]bool{
		"1.000000001s": false, "1.0000000001s": true, "1.5ns": true, "1.50µs": false, "1.0005us": true, "1.00000000001m": true, "0.0000000001h": false,
		"1.0000000000001h": true, "1h0.5s1.5ns": true, "1.0ns": false, ".5h": false, "-1.12345678901234567890s": true,
	} {
		_, err := format.ParseText(&layout.Field{Type: schema.Duration}, []byte(text))
		assert.Same(t, err != nil, finer, text, err)
	}
}
